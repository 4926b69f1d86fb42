"""Learning rates that change from epoch to epoch, under the names of torch.optim.lr_scheduler.

A scheduler changes the option "lr" in the groups of an optimizer at each call of its `step()`. Most schedulers multiply
it by a factor, so several can act on one optimizer.
"""

from pullback.optim.lr_scheduler.base import LRScheduler
from pullback.optim.lr_scheduler.compound import ChainedScheduler, SequentialLR
from pullback.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from pullback.optim.lr_scheduler.factors import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from pullback.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
