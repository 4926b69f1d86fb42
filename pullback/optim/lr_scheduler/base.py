"""The common part of all schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pullback.core.tensor import Tensor
from pullback.explain.calls import shown
from pullback.optim.optimizer import Optimizer
from pullback.optim.options import checked, shown_dict


class LRScheduler:
    """Base of schedulers. A subclass says in `rate` how a group's rate follows from the one before.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int, default -1
        The epoch after which to go on; -1 begins, and sets the "initial_lr" of each group. A rate that follows from the
        one before is at first that of the group, as in PyTorch: it is that of the next epoch if the optimizer's state
        was kept after a step of the scheduler.

    Raises
    ------
    TypeError
        `optimizer` is not an Optimizer.
    KeyError
        One goes on with an optimizer whose groups have no "initial_lr".

    Examples
    --------
    >>> class Halving(pb.optim.lr_scheduler.LRScheduler):
    ...     def rate(self, now, base, epoch, group):
    ...         return now if epoch == 0 else now / 2
    >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _is_initial = False  # True while __init__ makes its first step

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("pullback.optim"):
            cls.__init__ = checked(cls.__init__, Optimizer=Optimizer)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: give a pullback.optim.Optimizer, not {shown(optimizer)}")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self._is_initial = True
        for group, before in zip(optimizer.param_groups[1:], optimizer.param_groups, strict=False):
            if isinstance(group["lr"], Tensor) and group["lr"] is before["lr"]:  # each has its own from now on
                group["lr"] = group["lr"].clone()
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate_of(group))
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: last_epoch={last_epoch} needs 'initial_lr' in group {i}")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """The rates of the epoch `last_epoch`, by group, which `step` sets. PyTorch's schedulers override it.

        Returns
        -------
        list of float

        Examples
        --------
        >>> class Harmonic(pb.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / (1 + self.last_epoch) for base in self.base_lrs]
        >>> scheduler = Harmonic(pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0))
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
        """
        groups = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [self.rate(rate_of(group), base, self.last_epoch, i) for i, (group, base) in enumerate(groups)]

    def rate(self, now: float, base: float, epoch: int, group: int) -> float:
        """The rate of a group in `epoch`, from the rate `now` of the epoch before and that of the start.

        Parameters
        ----------
        now : float
            The rate of the epoch before.
        base : float
            The rate of the start.
        epoch : int
            From 0 on.
        group : int
            The number of the group.

        Returns
        -------
        float

        Raises
        ------
        NotImplementedError
            A subclass has neither this nor a `get_lr` or a `step` of its own.

        Examples
        --------
        >>> class Linear(pb.optim.lr_scheduler.LRScheduler):
        ...     def rate(self, now, base, epoch, group):
        ...         return base * (1 - epoch / 10)
        >>> scheduler = Linear(pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0))
        >>> scheduler.rate(1.0, 1.0, 5, 0)
        0.5
        """
        name = type(self).__name__
        raise NotImplementedError(
            f"{name}: write rate(self, now, base, epoch, group) in it, which gives the rate of one group, or "
            "PyTorch's get_lr(self), which gives those of all"
        )

    def step(self) -> None:
        """Go on to the next epoch.

        Returns
        -------
        None

        Examples
        --------
        >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        self.last_epoch += 1
        self._set(self.get_lr())

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, by group; after `load_state_dict`, those of the state.

        Returns
        -------
        list of float

        Examples
        --------
        >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler.get_last_lr()
        [1.0]
        """
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of functions that were given, nothing.

        Returns
        -------
        dict

        Examples
        --------
        >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler.step()
        >>> scheduler.state_dict()
        {'gamma': 0.5, 'last_epoch': 1, 'base_lrs': [1.0], '_last_lr': [0.5]}
        """
        kept = {k: v for k, v in vars(self).items() if k != "optimizer" and not k.startswith("_")}
        return {**kept, "_last_lr": self.get_last_lr()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from where `state_dict()` was taken.

        Parameters
        ----------
        state_dict : dict
            From `state_dict()` of a scheduler made in the same way.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            It is not a state of this class.

        Examples
        --------
        >>> optimizer = pb.optim.SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler.step()
        >>> kept = scheduler.state_dict()
        >>> again = pb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> again.load_state_dict(kept)
        >>> again.last_epoch
        1
        """
        if not isinstance(state_dict, Mapping) or "last_epoch" not in state_dict:
            name = type(self).__name__
            raise TypeError(
                f"{name}.load_state_dict: give what {name}.state_dict() returned, not {shown_dict(state_dict)}"
            )
        vars(self).update(state_dict)

    def _set(self, rates: Iterable[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[float]:
        return [rate_of(group) for group in self.optimizer.param_groups]


def rate_of(group: dict[str, Any]) -> float:
    """The rate of a group as a number."""
    rate = group["lr"]
    return rate.item() if isinstance(rate, Tensor) else rate  # type: ignore[no-any-return]


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Let a group have a rate: a Tensor stays, as in PyTorch, so that a compiled step reads it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def check_length(name: str, option: str, epochs: int) -> None:
    """Refuse a length below one epoch, by which nobody can divide."""
    if epochs < 1:
        raise ValueError(f"{name}: {option} is at least 1, not {epochs}")


def by_group(value: Any, optimizer: Optimizer, name: str) -> list[Any]:
    """One value a group, from one for all or a list of them."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name}: {len(value)} values for {groups} groups of parameters")
    return list(value)
