"""Schedulers made of schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from pullback.explain.calls import shown
from pullback.optim.lr_scheduler.base import LRScheduler, set_rate
from pullback.optim.optimizer import Optimizer
from pullback.optim.options import shown_dict


class _Compound(LRScheduler):
    """Keeps the states of the schedulers that it is made of."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not isinstance(state_dict, Mapping) or len(state_dict.get("_schedulers", ())) != len(self._schedulers):
            name = type(self).__name__
            raise TypeError(
                f"{name}.load_state_dict: give what state_dict() of a {name} of {len(self._schedulers)} schedulers "
                f"returned, not {shown_dict(state_dict)}"
            )
        own = {"last_epoch": state_dict["_schedulers"][-1]["last_epoch"], **state_dict}  # which PyTorch's may lack
        for scheduler, state in zip(self._schedulers, own.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(state)
        super().load_state_dict(own)


class SequentialLR(_Compound):
    """One scheduler after the other: the next begins at each of the `milestones`.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : sequence of LRScheduler
    milestones : sequence of int
        The epochs in which the second and the further ones begin.
    last_epoch : int, default -1
        As of `LRScheduler`.

    Raises
    ------
    TypeError
        `schedulers` is not a list of schedulers.
    ValueError
        The milestones are not one fewer than the schedulers, or these are of another optimizer.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> warm_up = pb.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> decay = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = pb.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.1, 0.1, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        _check_schedulers("SequentialLR", schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers have {len(schedulers) - 1} milestones between them, "
                f"not {len(milestones)}"
            )
        _of_one_optimizer("SequentialLR", schedulers, optimizer)
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        # Each scheduler has made its first step: what they set is undone, and only the first one's holds.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _undo_first_step(self)
        self._schedulers[0].step()
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """The states of its schedulers, its milestones and epoch, by PyTorch's names."""
        return {**super().state_dict(), "_milestones": list(self._milestones)}

    def step(self) -> None:
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:  # it begins, from the first rate
            for group in self.optimizer.param_groups:
                set_rate(group, group["initial_lr"])
            scheduler.last_epoch = -1
        scheduler.step()
        self._last_lr = self._rates()


class ChainedScheduler(_Compound):
    """Several schedulers at once, each changing what the one before it made.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
        All of one optimizer.
    optimizer : Optimizer, optional
        Theirs, said once more.

    Raises
    ------
    TypeError
        `schedulers` is not a list of schedulers.
    ValueError
        There is none, or they are of several optimizers.

    Examples
    --------
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> first = pb.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> second = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> scheduler = pb.optim.lr_scheduler.ChainedScheduler([first, second])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.1, 0.09, 0.81, 0.729]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        _check_schedulers("ChainedScheduler", schedulers)
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _of_one_optimizer("ChainedScheduler", schedulers, self.optimizer)
        self._schedulers, self.last_epoch = list(schedulers), schedulers[-1].last_epoch
        self._last_lr = self._rates()

    def step(self) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
        self.last_epoch += 1
        self._last_lr = self._rates()


def _undo_first_step(scheduler: LRScheduler) -> None:
    """Let those begin anew that a scheduler is made of; it counts no epoch itself while its parts do."""
    if isinstance(scheduler, _Compound):
        for part in scheduler._schedulers:
            _undo_first_step(part)
    else:
        scheduler.last_epoch -= 1


def _check_schedulers(name: str, schedulers: Any) -> None:
    if not isinstance(schedulers, Sequence) or not all(isinstance(x, LRScheduler) for x in schedulers):
        raise TypeError(f"{name}: schedulers is a list of LRSchedulers, got {shown(schedulers)}")
    if not schedulers:
        raise ValueError(f"{name}: there is no scheduler")


def _of_one_optimizer(name: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
        raise ValueError(f"{name}: its schedulers are of one optimizer")
