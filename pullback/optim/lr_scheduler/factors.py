"""Schedulers that multiply the rate."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from pullback.optim.lr_scheduler.base import LRScheduler, by_group
from pullback.optim.optimizer import Optimizer


class _ByFactor(LRScheduler):
    """A rate that is the first one times a factor, apart from a least rate."""

    least: float = 0.0

    def factor(self, epoch: int) -> float:
        """What the first rate is multiplied by."""
        raise NotImplementedError

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        before, factor = 1.0 if epoch == 0 else self.factor(epoch - 1), self.factor(epoch)
        if before == factor:
            return now
        if abs(before) < 1e-12:  # the factor has been 0: the rate of now says no more how long the first one was
            return now + (base - self.least) * (factor - before)
        return self.least + (now - self.least) * (factor / before)


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch, or one function a group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self._functions = by_group(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return float(base * self._functions[group](epoch))


class MultiplicativeLR(LambdaLR):
    """The rate before times a function of the epoch."""

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return float(now * self._functions[group](epoch)) if epoch else now


class StepLR(_ByFactor):
    """gamma ** (epoch // step_size)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """gamma ** (how many of the milestones have been reached)."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return self.gamma ** bisect_right(self.milestones, epoch)


class ConstantLR(_ByFactor):
    """`factor` in the first `total_iters` epochs, 1 from then on."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return self.first_factor if epoch < self.total_iters else 1.0


class LinearLR(_ByFactor):
    """From `start_factor` to `end_factor` along a straight line of `total_iters` epochs."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: factors are above 0 and at most 1, not {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class ExponentialLR(_ByFactor):
    """gamma ** epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        return now * self.gamma if epoch else now


class PolynomialLR(_ByFactor):
    """(1 - epoch / total_iters) ** power, 0 from `total_iters` on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingLR(_ByFactor):
    """Half a cosine from the first rate to `eta_min` in `T_max` epochs, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min, self.least = T_max, eta_min, eta_min
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2
