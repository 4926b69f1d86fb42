"""PyTorch's optimizers, with its names, defaults and numbers.

`optim.Adam(parameters)` writes each step into Tensors. `optim.Adam.functional()` makes the same steps as functions of
trees of arrays, which write into nothing.

The files of this package:

    rules.py        the formula of each step, written once for both forms
    optimizer.py    what all optimizers share: parameter groups, states, steps in place
    by_rule.py      optimizers whose step is such a formula:
    first_order.py  SGD, ASGD, Rprop, RMSprop, Adagrad, Adadelta
    adam_family.py  Adam, AdamW, Adamax, NAdam, RAdam
    lbfgs.py        LBFGS
    line_search.py  the line search of LBFGS
    functional.py   the steps as functions
    lr_scheduler/   learning rates that change from epoch to epoch
"""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.optim import lr_scheduler
from pullback.optim.adam_family import Adam, Adamax, AdamW, NAdam, RAdam
from pullback.optim.first_order import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
from pullback.optim.functional import FunctionalOptimizer
from pullback.optim.lbfgs import LBFGS
from pullback.optim.optimizer import Optimizer

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "FunctionalOptimizer",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]

__getattr__ = _getter(__name__, _HOMES)
