"""Schedulers that multiply the rate."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from pullback.explain.calls import shown
from pullback.optim.lr_scheduler.base import LRScheduler, by_group, check_length
from pullback.optim.optimizer import Optimizer


class _ByFactor(LRScheduler):
    """A rate that is the first one times a factor, apart from a least rate."""

    least: float = 0.0
    _begins_by_factor = False  # True if a scheduler that goes on changes the rate at once

    def _factor(self, epoch: int) -> float:
        """Return what the first rate is multiplied by."""
        raise NotImplementedError

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        if self._is_initial and epoch and not self._begins_by_factor:
            return now
        before, factor = 1.0 if epoch == 0 else self._factor(epoch - 1), self._factor(epoch)
        if before == factor:
            return now
        if abs(before) < 1e-12:  # the factor has been 0: the rate of now says no more how long the first one was
            return now + (base - self.least) * (factor - before)
        return self.least + (now - self.least) * (factor / before)


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch, or one function a group.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable, or sequence of callables with one a group
        Takes the number of the epoch and gives a factor.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    ValueError
        There are not as many functions as groups.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.3333, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.lr_lambdas = by_group(lr_lambda, optimizer, "lr_lambda")
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"{type(self).__name__}: lr_lambda is a function of the epoch, or one a group, "
                    f"got {shown(function)}"
                )
        super().__init__(optimizer, last_epoch)

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return float(base * self.lr_lambdas[group](epoch))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": [_attributes(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        functions = self.lr_lambdas
        super().load_state_dict({"lr_lambdas": [None] * len(functions), **state_dict})
        for function, kept in zip(functions, self.lr_lambdas, strict=True):
            vars(function).update(kept or {})
        self.lr_lambdas = functions


def _attributes(function: Callable[[int], float]) -> dict[str, Any] | None:
    """The attributes of an object that can be called; of functions, None."""
    return None if isinstance(function, FunctionType) else dict(getattr(function, "__dict__", {}))


class MultiplicativeLR(LambdaLR):
    """The rate before times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable, or sequence of callables with one a group
        Takes the number of the epoch and gives a factor.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    ValueError
        There are not as many functions as groups.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.9)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.9, 0.81, 0.729]
    """

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return now if self._is_initial or epoch == 0 else float(now * self.lr_lambdas[group](epoch))


class StepLR(_ByFactor):
    """The first rate times gamma ** (epoch // step_size).

    Parameters
    ----------
    optimizer : Optimizer
    step_size : int
        After how many epochs the rate is multiplied again.
    gamma : float, default 0.1
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.
    ValueError
        `step_size` is below 1.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    _begins_by_factor = True

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        check_length("StepLR", "step_size", step_size)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """The first rate times gamma ** n, where n milestones have been reached.

    Parameters
    ----------
    optimizer : Optimizer
    milestones : iterable of int
        The epochs in which the rate is multiplied.
    gamma : float, default 0.1
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    _begins_by_factor = True

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        try:
            self.milestones = sorted(milestones)
            bisect_right(self.milestones, 0)
        except TypeError:
            raise TypeError(f"MultiStepLR: milestones is a list of ints, got {shown(milestones)}") from None
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** bisect_right(self.milestones, epoch)


class ConstantLR(_ByFactor):
    """The first rate times `factor` in the first `total_iters` epochs, the first rate from then on.

    Parameters
    ----------
    optimizer : Optimizer
    factor : float, default 1/3
    total_iters : int, default 5
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.5, 0.5, 1.0, 1.0]
    """

    _begins_by_factor = True

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        # It begins by the factor, and is undone when epoch `total_iters` comes: never if that is 0, as in PyTorch.
        return 1.0 if 0 < self.total_iters <= epoch else self.first_factor


class LinearLR(_ByFactor):
    """The first rate times a factor that goes along a straight line for `total_iters` epochs, and then stays.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor : float, default 1/3
    end_factor : float, default 1
    total_iters : int, default 5
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.
    ValueError
        A factor is not between 0 and 1, or `total_iters` is below 1.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=4)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.2, 0.4, 0.6, 0.8, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: factors are above 0 and at most 1, not {start_factor} and {end_factor}")
        check_length("LinearLR", "total_iters", total_iters)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class ExponentialLR(_ByFactor):
    """The first rate times gamma ** epoch.

    Parameters
    ----------
    optimizer : Optimizer
    gamma : float
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.9, 0.81, 0.729]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return now if self._is_initial or epoch == 0 else now * self.gamma


class PolynomialLR(_ByFactor):
    """The first rate times (1 - epoch / total_iters) ** power, 0 from `total_iters` on.

    Parameters
    ----------
    optimizer : Optimizer
    total_iters : int, default 5
    power : float, default 1
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.
    ValueError
        `total_iters` is below 1.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        check_length("PolynomialLR", "total_iters", total_iters)
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingLR(_ByFactor):
    """Half a cosine from the first rate to `eta_min` in `T_max` epochs, and back [1]_.

    Parameters
    ----------
    optimizer : Optimizer
    T_max : int
        Epochs of the way down.
    eta_min : float, default 0
        The least rate.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer, there is no argument of that name, or one is of another kind.
    ValueError
        `T_max` is below 1.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.8536, 0.5, 0.1464, 0.0, 0.1464]

    References
    ----------
    .. [1] Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, ICLR 2017.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        check_length("CosineAnnealingLR", "T_max", T_max)
        self.T_max, self.eta_min, self.least = T_max, eta_min, eta_min
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2
