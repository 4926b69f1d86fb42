"""Schedulers that rise and fall again and again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from pullback.optim.lr_scheduler.base import LRScheduler, by_group, check_length
from pullback.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine in `T_0` epochs, begun anew with periods `T_mult` times as long [1]_.

    `step(epoch)` takes fractions of an epoch.

    Parameters
    ----------
    optimizer : Optimizer
    T_0 : int
        Epochs of the first period.
    T_mult : int, default 1
        How many times as long each period is as the one before.
    eta_min : float, default 0
        The least rate.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    ValueError
        `T_0` or `T_mult` is below 1.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> rates = []
    >>> for _ in range(7):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 1.0, 0.8536, 0.5, 0.1464, 1.0]

    References
    ----------
    .. [1] Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, ICLR 2017.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ValueError(f"CosineAnnealingWarmRestarts: T_0 and T_mult are at least 1, not {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to `epoch`."""
        at = self.last_epoch + 1 if epoch is None else epoch
        if at < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts.step: epoch is at least 0, not {epoch}")
        self.last_epoch = math.floor(at)
        self.T_i, self.T_cur = self.T_0, at
        while self.T_cur >= self.T_i:
            if self.T_mult == 1:
                self.T_cur %= self.T_i
            else:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self._set(self.get_lr())

    def get_lr(self) -> list[float]:
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class _WithMomentum(LRScheduler):
    """A rate that moves between bounds, with the momentum (or the first beta) moving the other way."""

    cycle_momentum: bool

    def _set_momentum(self, momenta: Iterable[float]) -> None:
        for group, momentum in zip(self.optimizer.param_groups, momenta, strict=True):
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum

    def _need_momentum(self, optimizer: Optimizer) -> None:
        if not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError(
                f"{type(self).__name__}: {type(optimizer).__name__} has no momentum: give cycle_momentum=False"
            )


class CyclicLR(_WithMomentum):
    """Up and down between two rates [1]_.

    The height is that of `mode`: "triangular", "triangular2" (halved each time), "exp_range" (times gamma ** epoch), or
    `scale_fn` of the cycle's number or of the epoch (`scale_mode`).

    Parameters
    ----------
    optimizer : Optimizer
    base_lr, max_lr : float, or sequence of float with one a group
        The bounds; the cycle begins at `base_lr`.
    step_size_up : int, default 2000
        Steps of the way up.
    step_size_down : int, optional
        Steps of the way down, by default as many.
    mode : {"triangular", "triangular2", "exp_range"}
        How the height changes from cycle to cycle.
    gamma : float, default 1
        Of "exp_range".
    scale_fn : callable, optional
        The height, in place of `mode`.
    scale_mode : {"cycle", "iterations"}
        What `scale_fn` is given: the number of the cycle, or that of the step.
    cycle_momentum : bool, default True
        Whether the momentum (or the first beta) goes the other way.
    base_momentum, max_momentum : float, or sequence of float; default 0.8, 0.9
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    ValueError
        `mode` is unknown, or the optimizer has no momentum to cycle.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.1, 0.3, 0.5, 0.3, 0.1, 0.3]

    References
    ----------
    .. [1] Smith, Cyclical learning rates for training neural networks, WACV 2017.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | Sequence[float], max_lr: float | Sequence[float],
        step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8, max_momentum: float | Sequence[float] = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        scales: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda cycle: 1.0, "cycle"),
            "triangular2": (lambda cycle: 0.5 ** (cycle - 1), "cycle"),
            "exp_range": (lambda epoch: gamma**epoch, "iterations"),
        }
        if mode not in scales and scale_fn is None:
            raise ValueError(f"CyclicLR: mode is one of {', '.join(scales)}, not {mode!r}")
        self._scale, self.scale_mode = (scale_fn, scale_mode) if scale_fn else scales[mode]
        self.max_lrs = by_group(max_lr, optimizer, "max_lr")
        self.total_size = step_size_up + (step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = step_size_up / self.total_size
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._need_momentum(optimizer)
            self.base_momentums = by_group(base_momentum, optimizer, "base_momentum")
            self.max_momentums = by_group(max_momentum, optimizer, "max_momentum")
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, by_group(base_lr, optimizer, "base_lr"), strict=True):
                group["initial_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            self._set_momentum(top - (top - base) * height for base, top in bounds)
        return [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs, strict=True)]


class OneCycleLR(_WithMomentum):
    """Up to `max_lr`, then down to far below the start, in `total_steps` steps [1]_.

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float, or sequence of float with one a group
    total_steps : int, optional
        By default `epochs` * `steps_per_epoch`.
    epochs, steps_per_epoch : int, optional
    pct_start : float, default 0.3
        Which part of the steps goes up.
    anneal_strategy : {"cos", "linear"}
    cycle_momentum : bool, default True
        Whether the momentum (or the first beta) goes the other way.
    base_momentum, max_momentum : float, or sequence of float; default 0.85, 0.95
    div_factor : float, default 25
        The first rate is max_lr / div_factor.
    final_div_factor : float, default 1e4
        The last rate is the first divided by this.
    three_phase : bool, default False
        Go down to the first rate as slowly as up, and then to the last.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    ValueError
        Neither `total_steps` nor both of its factors are given, `pct_start` is not between 0 and 1, the strategy is
        unknown, more steps are made than `total_steps`, or the optimizer has no momentum to cycle.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = pb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=6, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.04, 0.9944, 0.8117, 0.4626, 0.1335, 0.0]

    References
    ----------
    .. [1] Smith and Topin, Super-convergence: very fast training of neural networks, arXiv:1708.07120, 2017.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        check_length("OneCycleLR", "total_steps", total_steps)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start is a part of the steps, between 0 and 1, not {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps, self.anneal_strategy, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        up = pct_start * total_steps - 1
        # Each phase: the step with which it ends, and which of (start, top, end) its rate goes from and to. The
        # momentum goes from its top to its base while the rate rises.
        self.phases = (
            [(up, 0, 1), (2 * pct_start * total_steps - 2, 1, 0), (total_steps - 1, 0, 2)]
            if three_phase
            else [(up, 0, 1), (total_steps - 1, 1, 2)]
        )
        if cycle_momentum:
            self._need_momentum(optimizer)
            self.base_momentums = by_group(base_momentum, optimizer, "base_momentum")
            self.max_momentums = by_group(max_momentum, optimizer, "max_momentum")
        self.rates = [
            (top / div_factor, top, top / div_factor / final_div_factor)
            for top in by_group(max_lr, optimizer, "max_lr")
        ]
        if last_epoch == -1:
            for group, rates in zip(optimizer.param_groups, self.rates, strict=True):
                group["initial_lr"] = rates[0]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR.step: there are {self.total_steps} steps, and this is one more")
        began = 0.0
        for ends, source, goal in self.phases:  # noqa: B007
            if self.last_epoch <= ends or ends == self.total_steps - 1:
                break
            began = ends
        part = (self.last_epoch - began) / (ends - began) if ends > began else 1.0  # a phase may have no length
        if self.cycle_momentum:
            momenta = ((top, base, top) for base, top in zip(self.base_momentums, self.max_momentums, strict=True))
            self._set_momentum(self._between(m[source], m[goal], part) for m in momenta)
        return [self._between(rates[source], rates[goal], part) for rates in self.rates]

    def _between(self, start: float, end: float, part: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))
