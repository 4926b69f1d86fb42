"""PyTorch's optimizers, with its names, defaults and numbers.

`optim.Adam(parameters)` writes each step into Tensors. `optim.Adam.functional()` makes the same steps as functions of
trees of arrays, which write into nothing.

The files of this package:

    rules.py        the formula of each step, written once for both forms
    optimizer.py    what all optimizers share: parameter groups, states, steps in place
    first_order.py  SGD, Adam, AdamW, RMSprop, Adagrad
    lbfgs.py        LBFGS
    line_search.py  the line search of LBFGS
    functional.py   the steps as functions
    lr_scheduler/   learning rates that change from epoch to epoch
"""

from pullback.core.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.optim import lr_scheduler
from pullback.optim.first_order import SGD, Adagrad, Adam, AdamW, RMSprop
from pullback.optim.functional import FunctionalOptimizer
from pullback.optim.lbfgs import LBFGS
from pullback.optim.optimizer import Optimizer

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "FunctionalOptimizer", "Optimizer", "RMSprop", "lr_scheduler"]

__getattr__ = _getter(__name__, _HOMES)
