"""PyTorch's optimizers, with its names, defaults and numbers: for Tensors in place, for trees of arrays as functions.

rules.py          the formula of each step, said once, for whatever holds numbers
optimizer.py      parameter groups, states, steps in place; what all have in common
first_order.py    SGD, Adam, AdamW, RMSprop, Adagrad
lbfgs.py          LBFGS, and in line_search.py its search along a direction
functional.py     the same steps without a Tensor: parameters in, parameters out
lr_scheduler.py   learning rates that change from epoch to epoch
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
