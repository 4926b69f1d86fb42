"""A scheduler that is told how good each epoch was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pullback.core.tensor import Tensor
from pullback.explain.calls import declared, fits, shown
from pullback.optim.lr_scheduler.base import LRScheduler, by_group
from pullback.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when what `step(metrics)` is given has not improved for more than `patience` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    mode : {"min", "max"}
        Whether less or more is better.
    factor : float, default 0.1
        What the rate is multiplied by.
    patience : int, default 10
        How many epochs without improvement are borne.
    threshold : float, default 1e-4
        What counts as an improvement: by that part of the best ("rel"), or by that much ("abs").
    threshold_mode : {"rel", "abs"}
    cooldown : int, default 0
        How many epochs do not count after the rate was lowered.
    min_lr : float, or sequence of float with one a group; default 0
    eps : float, default 1e-8
        A change of the rate that is smaller is not made.

    Raises
    ------
    ValueError
        `factor` is 1 or above, or a mode is unknown.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | Sequence[float] = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor is below 1, not {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau: mode is 'min' or 'max', threshold_mode 'rel' or 'abs', "
                f"not {mode!r}, {threshold_mode!r}"
            )
        self.mode, self.factor, self.patience, self.eps = mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs = by_group(min_lr, optimizer, "min_lr")
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.optimizer, self.last_epoch = optimizer, 0
        self._last_lr = self._rates()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Go on to the next epoch, of which `metrics` says how good it was.

        Parameters
        ----------
        metrics : number, or Tensor of one element
            A loss, say.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            `metrics` is no single number.
        """
        value = _number(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            rates = zip(self._rates(), self.min_lrs, strict=True)
            lowered = ((now, max(now * self.factor, least)) for now, least in rates)
            self._set(new if now - new > self.eps else now for now, new in lowered)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _is_better(self, value: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * (value - self.best) > self.threshold
        return sign * (value - self.best * (1 + sign * self.threshold)) > 0


def _number(metrics: Any) -> float:
    if not fits(metrics, _METRICS) or isinstance(metrics, bool):
        if getattr(metrics, "size", 0) == 1 or (isinstance(metrics, Tensor) and metrics.numel() == 1):
            return float(metrics.reshape(()))
        raise TypeError(
            f"ReduceLROnPlateau.step: metrics is a number that says how good the epoch was, got {shown(metrics)}: "
            "give loss.item(), or a mean"
        )
    return float(metrics)


(_METRICS,) = declared("float metrics")
