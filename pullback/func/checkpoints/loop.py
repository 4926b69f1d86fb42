"""checkpointed_loop: a long loop, of which backward keeps few states and computes the others again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.checkpoint.frame import CheckpointError
from pullback.core import modes
from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.progress import Progress
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.checkpoints.schedule import on_disk, reversal, slots_for_two
from pullback.func.checkpoints.states import States, copied
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.by_sample import by_sample
from pullback.func.implicit.flat import Kept
from pullback.func.implicit.functions import plain, without_capture
from pullback.func.implicit.linear_maps import Leaves, Linearized, replaced, value_and_push
from pullback.func.left_behind import leave
from pullback.func.repeated import while_solving
from pullback.func.rules.calls import handed_out, levels_of, moves
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured


@named("func.checkpointed_loop")
def checkpointed_loop(
    step: Callable[..., Any],
    x0: Any,
    count: int,
    *args: Any,
    slots: int | None = None,
    disk_slots: int = 0,
    directory: Any = None,
) -> Any:
    """x after `count` steps x = step(x, k, *args), k = 0, 1, ..., of which backward keeps few.

    Parameters
    ----------
    step : callable
        `step(x, k, *args)`, written with NumPy's or pullback's functions: a tree like x, of the same shapes. It must do
        the same when it runs again.
    x0 : array, number, or tree of these
        The state at first.
    count : int
    *args
        Arrays or trees, and anything else that step wants.
    slots : int, optional
        How many states are kept at a time, x0 among them, besides the last ones. Without it, as few as let no step be
        computed more than three times in all (but for the last): about sqrt(2 count).
    disk_slots : int, default 0
        How many of these are kept in files: the ones least often used.
    directory : path, optional
        Where the files are, in a folder that is removed after backward. By default the system's for temporary files.

    Returns
    -------
    A tree like x0; differentiable by x0 and args.

    Raises
    ------
    RuntimeError
        step gives a tree of another structure, shapes or kinds of dtype than its state; it uses a variable that is
        differentiated and that is not an argument.
    CheckpointError
        In backward: step gave something else when it ran again. It is a RuntimeError, in `utils.checkpoint`.
    ValueError, TypeError
        `count` is negative; `slots` is below 1, or not above `disk_slots`.

    Notes
    -----
    Binomial checkpointing [1]_. To reverse n steps with s states takes n recorded steps, and r n - C(s + r, s + 1) that
    are not, r the smallest with C(s + r, s) >= n; no way takes fewer. Where memory for s states is had, time grows with
    the s-th root of n. Forward mode goes along, and keeps nothing. Forward over reverse (jvp of the
    gradient) keeps `slots` states with their tangents; reverse over reverse keeps all states.

    References
    ----------
    .. [1] A. Griewank and A. Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000, 19-45.

    Examples
    --------
    >>> import numpy as np
    >>> def step(x, k, rate):  # logistic growth, by Euler
    ...     return x + 0.01 * rate * x * (1 - x)
    >>> gradient = pb.func.grad(lambda rate: pb.func.checkpointed_loop(step, 0.1, 1000, rate, slots=8))(0.5)
    >>> round(gradient.item(), 6)
    0.539776
    """
    if not callable(step):
        raise TypeError(f"func.checkpointed_loop: step must be callable, got {type_name(step)}.")
    for name, number in (("count", count), ("slots", slots), ("disk_slots", disk_slots)):
        if not (isinstance(number, (int, np.integer)) or (name == "slots" and number is None)) or number is True:
            raise TypeError(f"func.checkpointed_loop: {name} must be an int, got {number!r}.")
    if count < 0:
        raise ValueError(f"func.checkpointed_loop: count must not be negative, got {count}.")
    slots = slots_for_two(count) if slots is None else int(slots)
    if slots < 1 or not 0 <= disk_slots < max(slots, 1):
        raise ValueError(
            f"func.checkpointed_loop: slots must be at least 1, and disk_slots fewer than slots, because x0 stays in "
            f"memory; got slots={slots}, disk_slots={disk_slots}."
        )
    loop = _Loop(step, x0, int(count), args)
    if not count:
        return x0
    loop.slots, loop.disk_slots, loop.directory = min(slots, loop.count), disk_slots, directory
    found = _checkpointed(loop, *loop.leaves())
    leave(loop.captured)
    return unflatten(loop.form, list(found))


class _Loop:
    """One call."""

    slots: int
    disk_slots: int
    directory: Any

    def __init__(self, step: Callable[..., Any], x0: Any, count: int, args: Any) -> None:
        self.count = count
        self.kept = Kept()  # what the first sweep has left for backward: states, and the last but one
        self.name = f"checkpointed_loop({getattr(step, '__name__', type(step).__name__)})"
        self.captured = Captured(self.name, step)
        state, self.form = flatten(x0)
        given, self.args = flatten(args)
        self.width, self._leaves = len(state), [*state, *given]
        self.shapes = [_shape(x) for x in state]
        self.moving = [i for i, x in enumerate(state) if _is_differentiable(x)]
        self.free = [i for i, x in enumerate(given) if moves(x) and x.dtype.kind in "fc"]
        self.recorded = bool(self.free) or any(map(moves, state))
        if self.recorded:
            self.captured.keep([x for x in self._leaves if isinstance(x, Tensor)])

    def leaves(self) -> Leaves:
        """State and arguments, which the caller keeps from now on."""
        leaves, self._leaves = self._leaves, []
        return leaves

    def split(self, leaves: Sequence[Any]) -> tuple[Leaves, Leaves]:
        """(state, args)."""
        return list(leaves[: self.width]), list(leaves[self.width :])

    def after(self, x: Leaves, k: int, args: Leaves) -> Leaves:
        """The state after step k."""
        found, form = flatten(self.captured.given()[0](unflatten(self.form, x), k, *unflatten(self.args, args)))
        if form == self.form:
            moving = [i for i, y in enumerate(found) if _is_differentiable(y)]
            if [_shape(y) for y in found] == self.shapes and moving == self.moving:
                return found
        raise GradientError(
            f"{self.name}: step {k} must return a state of the same structure, shapes and kinds of numbers (floating "
            f"point or not) as it takes. It takes {len(x)} leaves of shapes {self.shapes}, numbers {self.moving} of "
            f"which are floating point, and returns {len(found)} of shapes {[_shape(y) for y in found]}."
        )

    def states(self) -> States:
        """Room for states."""
        return States(on_disk(self.count, self.slots, self.disk_slots), self.directory)

    def advanced(self, x: Leaves, args: Leaves, begin: int, end: int, plain: bool = True) -> Leaves:
        """State `end`, from state `begin`; `plain` if nothing here is being differentiated."""
        for k in range(begin, end):
            x = self.after([handed_out(y) for y in x], k, [handed_out(y) for y in args])
            if plain:
                x = [without_capture(y, self.name, "step") for y in x]
        return x

    def compare(self, found: Leaves, before: Leaves, k: int) -> None:
        """Refuse a step that leads elsewhere when it runs again, as one with random numbers does."""
        for y, expected in zip(found, before, strict=False):  # args may come behind the state
            a, b = np.asarray(plain(y)), np.asarray(plain(expected))
            with np.errstate(invalid="ignore"):
                if (np.abs(a - b) <= np.finfo(b.dtype).eps ** 0.5 * np.abs(b).max(initial=0)).all():
                    continue
            if not np.array_equal(np.isfinite(a), np.isfinite(b)) or np.isfinite(b).all():
                raise CheckpointError(
                    f"{self.name}: step {k} gave another result when it ran again for backward (it differs by "
                    f"{np.abs(a - b).max():.3g}). It must depend only on its arguments: pass random numbers, and "
                    "whatever else changes, as arguments."
                )

    def linear(self, x: Leaves, k: int, args: Leaves) -> tuple[Callable[[Leaves], Leaves], Leaves, Leaves]:
        """(step k as a function of the leaves that have derivatives, these, a list where it leaves the state)."""
        many, whole = len(self.moving), [None] * self.width

        def step(point: Leaves) -> Leaves:
            state, given = replaced(x, self.moving, point[:many]), replaced(args, self.free, point[many:])
            whole[:] = self.after(state, k, given)
            return [whole[i] for i in self.moving]

        return step, [*(x[i] for i in self.moving), *(args[i] for i in self.free)], whole

    def reversed_step(self, k: Any, *leaves: Any) -> tuple[Leaves, Leaves]:
        """(what step k gives, the cotangents of what it takes); behind its leaves come the cotangents of its result."""
        x, rest = [*leaves[: self.width]], leaves[self.width :]
        args, pulled = [*rest[: len(rest) - len(self.moving)]], rest[len(rest) - len(self.moving) :]
        step, point, _ = self.linear(x, int(k) if type(k) is np.int64 else k, args)
        linearized = Linearized(step, point)
        return linearized.values, linearized.pull(pulled)


def _loop(loop: _Loop, *leaves: Any) -> Leaves:
    x, args = loop.split(leaves)
    loop.captured.begin()
    if loop.recorded:
        states = loop.states()
        with Progress(loop.name, loop.count) as progress:
            for what, k, to in reversal(loop.count, loop.slots):
                if what == "advance":
                    x = loop.advanced(x, args, k, to)
                    progress.update(to - k)
                elif what == "keep":
                    states.keep(to, k, x)
                elif what == "reverse":
                    break
        loop.kept.keep(leaves, (states, copied(x)))
        return loop.advanced(x, args, loop.count - 1, loop.count)
    return loop.advanced(x, args, 0, loop.count)


@adopting
def _vjp(cotangent: Leaves, result: Leaves, loop: _Loop, *leaves: Any) -> tuple[Any, ...]:
    loop.captured.renew()
    x0, args = loop.split(leaves)
    pulled = [cotangent[i] for i in loop.moving]
    given = [x for x in (*pulled, *leaves) if isinstance(x, Tensor)]
    slots = loop.count if any(map(_records, given)) else loop.slots  # what is recorded stays in memory anyway
    states, last = States(), None
    if not given:
        states, last = loop.kept.take(leaves) or (loop.states(), None)  # none are left for a second backward
    pull = loop.reversed_step if given else while_solving(loop.captured, loop.reversed_step)
    gathered: Leaves = [0.0] * len(loop.free)
    x, slot, after = x0, 0, [result[i] for i in loop.moving]  # what the step to be reversed has led to before
    progress = Progress(f"backward of {loop.name}", loop.count)
    for what, k, to in reversal(loop.count, slots, [*states.positions]):
        if what == "read":
            x, slot = [], to
        elif what == "keep":
            states.keep(to, k, x)
        elif what == "drop":
            states.drop(to)
        elif what == "advance" and last is not None and to == loop.count - 1:
            x = last
        else:
            x = x or (states.read(slot) if slot else x0)
            if what == "advance":
                x = loop.advanced(x, args, k, to, not given)
                continue
            values, found = pull(np.int64(k), *x, *args, *pulled)
            loop.compare(values, after, k)
            after = copied([x[i] for i in loop.moving])
            pulled, last = found[: len(loop.moving)], None
            gathered = [g + h for g, h in zip(gathered, found[len(loop.moving) :], strict=True)]
            progress.update()
    progress.close()
    by_args: Leaves = replaced([None] * len(args), loop.free, gathered)
    return None, *replaced([None] * loop.width, loop.moving, pulled), *by_args


@adopting
def _jvp(tangents: tuple[Any, ...], result: Leaves, loop: _Loop, *leaves: Any) -> Leaves:
    loop.captured.renew()
    x, args = loop.split(leaves)
    state, given = loop.split(tangents[1:])
    moved, others = [state[i] for i in loop.moving], [given[i] for i in loop.free]
    for k in range(loop.count):
        step, point, whole = loop.linear(x, k, args)
        values, moved = value_and_push(step, point, [*moved, *others])
        x = replaced([None if i in loop.moving else plain(y) for i, y in enumerate(whole)], loop.moving, values)
    return replaced([None] * loop.width, loop.moving, moved)


_loop.__name__ = "checkpointed_loop"  # of the node
_checkpointed = CustomFunction(_loop, _vjp, _jvp)
_checkpointed._rule.by_sample = by_sample
_checkpointed._rule.instead = "Its step takes one state at a time; make one state of the samples where that is too slow"


def _records(x: Tensor) -> bool:
    """True if operators on a Tensor are recorded, at its level or further out."""
    state = modes.current()
    return any(t._requires_grad and state.records(t._level) for t in levels_of(x))


def _shape(x: Any) -> tuple[int, ...] | None:
    """The shape of a leaf; None for what is no array or number."""
    if hasattr(x, "dtype"):
        return tuple(x.shape)
    return () if issubclass(type(x), (int, float, complex)) else None


def _is_differentiable(x: Any) -> bool:
    return issubclass(type(x), (float, complex)) or (hasattr(x, "dtype") and x.dtype.kind in "fc")
