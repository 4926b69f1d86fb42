"""A step that runs over and over, as one differentiable function: the loops of this folder are calls of it.

Forward runs the steps on plain numbers and keeps what they carry: all of it, or as little as `schedule` says. Backward
runs one step at a time again, records it, and pulls back through it. So memory holds the carries and the graph of one
step. The rules are made of the steps themselves, so that they have derivatives of every order, in both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.autograd.checkpoint.frame import CheckpointError
from pullback.core import modes
from pullback.core.array_face import program_run
from pullback.core.array_type import TENSOR, array_type
from pullback.core.errors import GradientError, ReadError
from pullback.core.progress import Progress
from pullback.core.tensor import Tensor
from pullback.func.batching import vmap
from pullback.func.closures import Captures
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.by_sample import by_sample
from pullback.func.implicit.flat import Kept
from pullback.func.implicit.functions import plain, without_capture
from pullback.func.implicit.linear_maps import Leaves, Linearized, replaced, value_and_push, zeros
from pullback.func.left_behind import leave
from pullback.func.loops.rounds import Sweep, bare
from pullback.func.loops.schedule import on_disk, reversal
from pullback.func.loops.states import States, copied
from pullback.func.repeated import Repeated, programs_of, while_solving
from pullback.func.rules.calls import handed_out, levels_of, moves
from pullback.func.rules.custom import CustomFunction

_MANY = 1000  # steps that pay for programs which serve one call alone
Step = Callable[[Leaves, int, Leaves, Leaves], "tuple[Leaves, Leaves]"]  # (carry, k, x, args) -> (carry, y)


class Loop:
    """One call, in leaves: `carry` goes from step to step, step k takes the k-th slice of `xs`, all take `args`.

    Parameters
    ----------
    captured : Captures
        The user's functions; what they hold and is differentiated is the last of the args.
    step : callable
        A step, of leaves.
    count : int or None
        How many steps there are; None if `test` says so.
    form : hashable
        Equal for loops whose steps take and give trees alike, and call the user's functions alike; None for no other.
    test : callable, optional
        `test(carry, args)` is true if there is another step.
    """

    slots: int | None = None  # how many carries are kept at a time; None: all
    disk_slots = 0
    directory: Any = None
    together = False  # whether it has run on a batch as a whole
    limit: int | None = None  # of steps, where a test ends it
    ended_at = 0  # after how many steps
    y_moving: Sequence[int] = ()

    def __init__(
        self,
        name: str,
        captured: Captures,
        step: Step,
        carry: Leaves,
        xs: Leaves,
        args: Leaves,
        count: int | None,
        *,
        form: Hashable,
        test: Any = None,
        backwards: bool = False,
    ) -> None:
        self.name, self.captured, self._step, self.test, self._form = name, captured, step, test, form
        self.count, self.backwards = count, backwards
        self.runs: dict[str, str] = {}  # how each sweep ran, in words
        self.kept = Kept()  # what the first sweep has left for backward: carries, and the last but one
        self.width, self.x_width = len(carry), len(xs)
        self._leaves = [*carry, *xs, *args]
        self.shapes = [shape_of(x) for x in carry]
        self.moving = [i for i, x in enumerate(carry) if _is_differentiable(x)]
        self.whole = [i for i, x in enumerate(carry) if type(x) is int]  # which a program takes as NumPy's
        self.x_moving = [i for i, x in enumerate(xs) if moves(x) and x.dtype.kind in "fc"]
        self.free = [i for i, x in enumerate(args) if moves(x) and x.dtype.kind in "fc"]
        self.recorded = any(map(moves, (*carry, *xs, *args)))
        tensors = [x for x in self._leaves if isinstance(x, Tensor)]
        # Forward mode keeps no carries. What a trace records may be differentiated by whoever runs it.
        self.goes_back = self.recorded and any(
            t._requires_grad or array_type(t._array).records_calls(t._array) for x in tensors for t in levels_of(x)
        )

    def likeness(self, what: str) -> Hashable | None:
        """A value that is equal for loops whose steps do the same in this sweep; None if none tells."""
        if self._form is None or (functions := self.captured.likeness()) is None:
            return None
        form = what, self.name, self._form, self.width, self.x_width, (*self.shapes,)
        places = self.moving, self.x_moving, self.free, self.y_moving
        return (*form, *map(tuple, places), functions)

    def run(self) -> tuple[Leaves, Leaves]:
        """(the carry after the last step, the y of all steps)."""
        if self.recorded:
            self.captured.keep([x for x in self._leaves if isinstance(x, Tensor)])
        leaves, self._leaves = self._leaves, []  # the node keeps them from now on
        found = _looped_by_rule(self, *leaves)
        leave(self.captured)
        return found[: self.width], found[self.width :]

    def split(self, leaves: Sequence[Any]) -> tuple[Leaves, Leaves, Leaves]:
        """(carry, xs, args)."""
        m = self.width + self.x_width
        return list(leaves[: self.width]), list(leaves[self.width : m]), list(leaves[m:])

    def slices(self, xs: Leaves, k: int) -> Leaves:
        """The parts of xs that step k takes."""
        return [x[self.place(k)] for x in xs]

    def place(self, k: int) -> int:
        """Where step k finds its x, and leaves its y."""
        return self.count - 1 - k if self.backwards else k  # type: ignore[operator]  # with xs or ys it is known

    def step(self, carry: Leaves, k: int, x: Leaves, args: Leaves) -> tuple[Leaves, Leaves]:
        """(the carry after step k, its y); in a batch the samples that have ended stay what they are."""
        found, y = self._step(carry, k, x, args)
        if self.together and self.test is not None:
            there = self.test(carry, args)
            found = [chosen(there, new, old) for new, old in zip(found, carry, strict=True)]
        return found, y

    def after(self, carry: Leaves, k: int, x: Leaves, args: Leaves) -> tuple[Leaves, Leaves]:
        """Do step k, and check what it gives."""
        found, y = self.step(carry, k, x, args)
        moving = [i for i, part in enumerate(found) if _is_differentiable(part)]
        if [shape_of(part) for part in found] != self.shapes or moving != self.moving:
            raise GradientError(
                f"{self.name}: step {k} must return a carry of the same shapes and kinds of numbers (floating point or "
                f"not) as it takes. It takes leaves of shapes {self.shapes}, numbers {self.moving} of which are "
                f"floating point, and returns shapes {[shape_of(part) for part in found]}, numbers {moving}."
            )
        return found, y

    def check_y(self, y: Leaves, k: int) -> None:
        """Refuse a y of other shapes or dtypes than that of the first step."""
        forms = [(shape_of(part), np.asarray(part).dtype) for part in y]
        if k == 0:
            self._y_forms, self.y_moving = forms, [i for i, part in enumerate(y) if _is_differentiable(part)]
        elif forms != self._y_forms:
            raise GradientError(
                f"{self.name}: step {k} must return a y of the same shapes and dtypes as step 0, which has returned "
                f"{_shown(self._y_forms)}; it returns {_shown(forms)}."
            )

    def goes_on(self, carry: Leaves, k: int, args: Leaves) -> bool:
        """True if there is a step k."""
        if self.test is None:
            return k < self.count  # type: ignore[operator]  # it is known, where there is no test
        if not self.test(carry, args):
            return False
        if self.limit is not None and k >= self.limit:
            raise GradientError(f"{self.name}: the test is still true after max_steps={self.limit} steps.")
        return True

    def steps(self, carry: Leaves, args: Leaves, is_plain: bool) -> int:
        """How many steps there are."""
        if self.count is not None:
            return self.count
        k = 0
        while self.goes_on(carry, k, args):
            carry = self.advanced(carry, [], args, k, k + 1, is_plain)
            k += 1
        return k

    def called(self, k: Any, *leaves: Any) -> tuple[Leaves, Leaves]:
        """Return what step k gives, of plain leaves as a program takes them."""
        carry, x, args = self.split(leaves)
        return self.plainly(replaced(carry, self.whole, [_as_int(carry[i]) for i in self.whole]), _as_int(k), x, args)

    def program_step(self, k: Any, *leaves: Any) -> tuple[Leaves, ...]:
        """Return what step k gives, and whether another one comes if the test says so; it becomes a program."""
        carry, x, args = self.split(leaves)
        carry = replaced(carry, self.whole, [_as_int(carry[i]) for i in self.whole])
        found, y = self.after(carry, _as_int(k), x, args)
        return (found, y) if self.test is None else (found, y, [self.test(found, args)])

    def plainly(self, carry: Leaves, k: int, x: Leaves, args: Leaves) -> tuple[Leaves, Leaves]:
        """A step on plain numbers; the args are handed out already, the same ones to all steps."""
        found, y = self.after([handed_out(part) for part in carry], k, [handed_out(part) for part in x], args)
        return [without_capture(z, self.name, "step") for z in found], [
            without_capture(z, self.name, "step") for z in y
        ]

    def advanced(
        self, carry: Leaves, xs: Leaves, args: Leaves, begin: int, end: int, is_plain: bool, ahead: Sweep | None = None
    ) -> Leaves:
        """The carry before step `end`, from that before step `begin`."""
        args = [handed_out(part) for part in args] if is_plain else args
        if ahead is not None:
            done, carry, _ = ahead.forward(begin, end, carry, xs, args, [], keeps=False)
            begin += done
        for k in range(begin, end):
            advance = self.plainly if is_plain else self.after
            carry, _ = advance(carry, k, self.slices(xs, k), args)
        return carry

    @contextmanager
    def forward_sweep(self) -> Iterator[Sweep | None]:
        """Steps in machine code, where a derivative is wanted or the user has compiled the function around."""
        if not (self.recorded or program_run.get() is not None):
            yield None
            return
        with programs_of(self.likeness("forward")) as loan:
            if loan is None and (self.count or 0) < _MANY:  # to be compiled at each call
                yield None
                return
            step = while_solving(self.captured, self.called, self.program_step, loan, for_rounds=True)
            yield Sweep(self, step, "forward")

    def states(self) -> States:
        """Room for carries."""
        if self.slots is None or self.count is None:
            return States()
        return States(on_disk(self.count, self.slots, self.disk_slots), self.directory)

    def compare(self, found: Leaves, before: Leaves, k: int) -> None:
        """Refuse a step that leads elsewhere when it runs again, as one with random numbers does."""
        for y, expected in zip(found, before, strict=False):  # y's come behind the carry
            numbers = plain(y), plain(expected)
            if any(isinstance(x, Tensor) for x in numbers):
                continue  # of a batch
            a, b = map(np.asarray, numbers)
            with np.errstate(invalid="ignore"):
                if (np.abs(a - b) <= np.finfo(b.dtype).eps ** 0.5 * np.abs(b).max(initial=0)).all():
                    continue
            if not np.array_equal(np.isfinite(a), np.isfinite(b)) or np.isfinite(b).all():
                raise CheckpointError(
                    f"{self.name}: step {k} gave another result when it ran again for backward (it differs by "
                    f"{np.abs(a - b).max():.3g}). It must depend only on its arguments: pass random numbers, and "
                    "whatever else changes, as arguments."
                )

    def linear(
        self, carry: Leaves, k: int, x: Leaves, args: Leaves
    ) -> tuple[Callable[[Leaves], Leaves], Leaves, tuple[Leaves, Leaves]]:
        """(step k as a function of the leaves with derivatives, these, lists where it leaves all that it gives)."""
        n, m = len(self.moving), len(self.moving) + len(self.x_moving)
        whole: tuple[Leaves, Leaves] = [], []

        def step(point: Leaves) -> Leaves:
            whole[0][:], whole[1][:] = self.after(
                replaced(carry, self.moving, point[:n]),
                k,
                replaced(x, self.x_moving, point[n:m]),
                replaced(args, self.free, point[m:]),
            )
            return [*(whole[0][i] for i in self.moving), *(whole[1][i] for i in self.y_moving)]

        points = [*(carry[i] for i in self.moving), *(x[i] for i in self.x_moving), *(args[i] for i in self.free)]
        return step, points, whole

    def with_numpys(self, carry: Leaves) -> Leaves:
        """The carry with NumPy's numbers for Python's whole ones: a program takes these for inputs."""
        return replaced(
            carry, self.whole, [np.int64(x) if type(x) is int else x for x in map(carry.__getitem__, self.whole)]
        )

    def pull(self, k: Any, *leaves: Any) -> list[Leaves]:
        """The same as of plain leaves: a loop inside of the step gives Tensors where it is recorded."""
        return [[*map(handed_out, found)] for found in self.reversed_step(k, *leaves)]

    def reversed_step(self, k: Any, *leaves: Any) -> tuple[Leaves, Leaves, Leaves, Leaves]:
        """(what of the carry after step k is differentiated, the cotangents of its carry, its x, and the args).

        Behind its leaves come the cotangents of its result, and those of the args from the steps behind it, to which
        its own are added.
        """
        end = len(leaves) - len(self.free)
        given = end - len(self.moving) - len(self.y_moving)
        carry, x, args = self.split(leaves[:given])
        carry = replaced(carry, self.whole, [_as_int(carry[i]) for i in self.whole])
        step, point, _ = self.linear(carry, _as_int(k), x, args)
        linearized = Linearized(step, point)
        n, m = len(self.moving), len(self.moving) + len(self.x_moving)
        found = linearized.pull(leaves[given:end])
        return (
            linearized.values[:n],
            found[:n],
            found[n:m],
            [g + h for g, h in zip(leaves[end:], found[m:], strict=True)],
        )


class Rows:
    """Leaves of all steps, each in its place along a first dimension.

    Attributes
    ----------
    whole : list of ndarray or None
        The arrays, in which others may leave rows too; None as long as there is none, or where rows are recorded.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: dict[int, Leaves] = {}  # the leaves; of those that are in the whole arrays none
        self.whole: Leaves | None = None

    def put(self, place: int, leaves: Leaves) -> None:
        """Take the leaves of one step."""
        is_plain = not any(isinstance(x, Tensor) for x in leaves)
        if is_plain and not self._rows:
            self.whole = [np.empty((self._count, *np.shape(x)), np.asarray(x).dtype) for x in leaves]
        elif not is_plain and self.whole is not None:  # the first that is differentiated or batched
            self._rows = {k: [x[k] for x in self.whole] for k in self._rows}
            self.whole = None
        self._rows[place] = leaves if self.whole is None else []
        for whole, x in zip(self.whole or (), leaves, strict=False):
            whole[place] = x

    def arrays(self) -> Leaves:
        """The arrays: recorded, if the leaves are."""
        if self.whole is not None:
            return self.whole
        rows = [self._rows[k] for k in sorted(self._rows)]
        return [TENSOR.stack(list(column), 0) for column in zip(*rows, strict=True)]


def _looped(loop: Loop, *leaves: Any) -> Leaves:
    carry, xs, args = loop.split(leaves)
    args = [handed_out(part) for part in args]
    loop.captured.begin()
    states, last, k = loop.states(), None, 0
    ys = Rows(loop.count or 0)
    keeps = _places_to_keep(loop) if loop.goes_back else frozenset()
    with Progress(loop.name, loop.count) as progress, loop.forward_sweep() as sweep:
        while loop.goes_on(carry, k, args):
            if sweep is not None and k:
                done, carry, rows = sweep.forward(
                    k, _end(loop, k, keeps), carry, xs, args, ys.whole or [], keeps is None
                )
                if rows is not None:
                    states.keep_rows(k, done, rows)
                if done:
                    k += done
                    progress.update(done)
                    continue
            if k and (keeps is None or k in keeps):
                states.keep(len(states.positions), k, carry)
            if loop.goes_back and k + 1 == loop.count:
                last = copied(carry)
            x = loop.slices(xs, k)
            if sweep is None or not k:  # the first step tells of the structure of y
                carry, y = loop.plainly(carry, k, x, args)
            else:
                carry, y = sweep.step(k, carry, x, args)
            loop.check_y(y, k)
            if y:
                ys.put(loop.place(k), y)
            k += 1
            progress.update()
    loop.ended_at = k
    if loop.goes_back:
        loop.kept.keep(leaves, (states, last, k))
    return [*carry, *ys.arrays()]


def _end(loop: Loop, k: int, keeps: Set[int] | None) -> int | None:
    """The step before which the next carry is kept, or the last but one is wanted; None if a test ends the loop."""
    if not keeps:
        return loop.count
    assert loop.count is not None
    return min((place for place in keeps if place > k), default=loop.count - 1)


def _places_to_keep(loop: Loop) -> Set[int] | None:
    """Before which steps the carry is kept in the first sweep; None for all."""
    if loop.slots is None or loop.count is None:
        return None
    places = set()
    for what, k, _ in reversal(loop.count, loop.slots):
        if what == "keep":
            places.add(k)
        elif what == "reverse":
            break
    return places


@adopting
def _vjp(cotangent: Leaves, result: Leaves, loop: Loop, *leaves: Any) -> tuple[Any, ...]:
    loop.captured.renew()
    if any(isinstance(x, Tensor) for x in (*cotangent, *leaves)):
        return _reversed(cotangent, result, loop, loop.reversed_step, None, *leaves)
    with programs_of(loop.likeness("backward")) as loan:
        pull = while_solving(loop.captured, loop.pull, loan=loan)
        if loop.slots is None:
            return _reversed(cotangent, result, loop, pull, None, *leaves)
        with loop.forward_sweep() as ahead:
            return _reversed(cotangent, result, loop, pull, ahead, *leaves)


def _reversed(
    cotangent: Leaves, result: Leaves, loop: Loop, pull: Any, ahead: Sweep | None, *leaves: Any
) -> tuple[Any, ...]:
    x0, xs, args = loop.split(leaves)
    pulled = [cotangent[i] for i in loop.moving]
    by_y = [cotangent[loop.width + i] for i in loop.y_moving]
    given = [x for x in (*pulled, *by_y, *leaves) if isinstance(x, Tensor)]
    states, last, count = (None if given else loop.kept.take(leaves)) or (None, None, loop.steps(x0, args, not given))
    if states is None:  # none are left for a second backward
        states = States() if given else loop.states()
    slots = count if loop.slots is None or any(map(_records, given)) else loop.slots
    sweep = Sweep(loop, pull, "backward") if isinstance(pull, Repeated) else None
    gathered: Leaves = [0.0 if count and sweep is None else zeros(args[i]) for i in loop.free]
    by_x = Rows(count)
    carry, slot, after = x0, 0, [result[i] for i in loop.moving]  # what the step to be reversed has led to before
    progress = Progress(f"backward of {loop.name}", count)
    schedule = reversal(count, max(slots, 1), [*states.positions])
    while (action := next(schedule, None)) is not None:
        what, k, to = action
        if what == "read":
            carry, slot = [], to
        elif what == "keep":
            states.keep(to, k, carry)
        elif what == "drop":
            states.drop(to)
        elif what == "advance" and last is not None and to == count - 1:
            carry = last
        elif what == "advance":
            carry = loop.advanced(carry or _start(states, slot, x0), xs, args, k, to, not given, ahead)
        elif (
            sweep is not None
            and to < count
            and (row := states.row(slot)) is not None
            and (found := sweep.backward(k, row[0], row[1], xs, args, pulled, by_y, gathered, by_x.whole or []))[0]
        ):
            done, pulled, gathered = found
            after = [row[0].at(row[1] + 1 - done)[i] for i in loop.moving]
            states.drop_rows(slot, done)
            progress.update(done)
            schedule = reversal(k + 1 - done, max(slots, 1), [*states.positions])
        else:
            carry, place = carry or _start(states, slot, x0), loop.place(k)
            given_by = [*pulled, *(g[place] for g in by_y), *gathered]
            point = [*loop.with_numpys(carry), *loop.slices(xs, k), *args, *given_by]
            values, pulled, by_place, gathered = pull(np.int64(k), *map(bare, point))
            loop.compare(values, after, k)
            after, last = copied([carry[i] for i in loop.moving]), None
            if loop.x_moving:
                by_x.put(place, by_place)
            progress.update()
    progress.close()
    return (
        None,
        *replaced([None] * loop.width, loop.moving, pulled),
        *replaced([None] * loop.x_width, loop.x_moving, by_x.arrays() if count else [None] * len(loop.x_moving)),
        *replaced([None] * len(args), loop.free, gathered),
    )


def _start(states: States, slot: int, x0: Leaves) -> Leaves:
    """The state in a slot; in the first one it is that at the beginning."""
    return states.read(slot) if slot else x0


@adopting
def _jvp(tangents: tuple[Any, ...], result: Leaves, loop: Loop, *leaves: Any) -> Leaves:
    loop.captured.renew()
    carry, xs, args = loop.split(leaves)
    by_carry, by_xs, by_args = loop.split(tangents[1:])
    moved, others = [by_carry[i] for i in loop.moving], [by_args[i] for i in loop.free]
    ys, k, count = Rows(loop.count or 0), 0, loop.count if loop.together else None
    while loop.goes_on(carry, k, args) if count is None else k < count:
        place = loop.place(k)
        step, point, (whole, _) = loop.linear(carry, k, loop.slices(xs, k), args)
        directions = [*moved, *(by_xs[i][place] for i in loop.x_moving), *others]
        values, pushed = value_and_push(step, point, directions)
        moved = pushed[: len(loop.moving)]
        carry = replaced(
            [None if i in loop.moving else plain(y) for i, y in enumerate(whole)],
            loop.moving,
            values[: len(loop.moving)],
        )
        if loop.y_moving:
            ys.put(place, pushed[len(loop.moving) :])
        k += 1
    return [
        *replaced([None] * loop.width, loop.moving, moved),
        *replaced([None] * (len(result) - loop.width), loop.y_moving, ys.arrays()),
    ]


def _of_samples(info: Any, dims: Any, loop: Loop, *leaves: Any) -> Any:
    """All samples of a batch at once: a loop whose step is the vmap of the step."""
    size, (of_carry, of_xs, of_args) = info.batch_size, loop.split(dims[1:])
    if not size:
        return NotImplemented
    carry, xs, args = loop.split(leaves)
    arrays = [i for i, x in enumerate(carry) if shape_of(x) is not None]  # each of which comes to be batched
    carry = [
        x if d is not None or i not in arrays else _repeated(x, size)
        for i, (x, d) in enumerate(zip(carry, of_carry, strict=True))
    ]
    xs = [x if d is None else _moved(x) for x, d in zip(xs, of_xs, strict=True)]
    of_carry = [0 if i in arrays else None for i in range(loop.width)]
    others: Leaves = []

    def step(carry: Leaves, k: int, x: Leaves, args: Leaves) -> tuple[Leaves, Leaves]:
        def of_sample(carry: Leaves, x: Leaves, args: Leaves) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            others[:], y = loop.step(carry, k, x, args)
            return tuple(others[i] for i in arrays), tuple(y)

        in_dims = (of_carry, of_xs, of_args)
        found, y = vmap(of_sample, in_dims, randomness=info.randomness)(carry, x, args)
        return replaced(others, arrays, found), list(y)

    def test(carry: Leaves, args: Leaves) -> Any:
        return np.any(plain(vmap(loop.test, (of_carry, of_args))(carry, args)))  # in an outer batch one for each sample

    together = Loop(
        loop.name, loop.captured, step, carry, xs, args, loop.count,
        form=None, test=loop.test and test, backwards=loop.backwards,
    )  # fmt: skip
    together.slots, together.disk_slots, together.directory = loop.slots, loop.disk_slots, loop.directory
    together.limit, loop.together = loop.limit, True
    try:
        found = _looped_by_rule(together, *carry, *xs, *args)
    except ReadError:  # a step that needs numbers runs for each sample by itself
        loop.together = False
        return NotImplemented
    loop.count = loop.ended_at = together.ended_at
    loop.y_moving = together.y_moving
    return found, [*of_carry, *[1] * (len(found) - loop.width)]


def _repeated(x: Any, size: int) -> Any:
    """A leaf once for each sample, in front."""
    if isinstance(x, Tensor):
        return TENSOR.expand(x, (size, *x.shape), False)
    return np.repeat(np.asarray(x)[None], size, 0)


def _moved(x: Any) -> Any:
    """The samples second: the first dimension is that of the steps."""
    return TENSOR.movedim(x, 0, 1) if isinstance(x, Tensor) else np.moveaxis(x, 0, 1)


def _as_int(x: Any) -> Any:
    return int(x) if type(x) is np.int64 else x


def _records(x: Tensor) -> bool:
    """True if operators on a Tensor are recorded, at its level or further out."""
    state = modes.current()
    return any(t._requires_grad and state.records(t._level) for t in levels_of(x))


def _shown(forms: Sequence[tuple[Any, Any]]) -> str:
    return ", ".join(f"{dtype}{shape}" for shape, dtype in forms) or "nothing"


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition is true, else `y`; a leaf that is no array is `x`."""
    if not isinstance(condition, Tensor):
        return x if condition else y
    if shape_of(x) is None:
        return x
    return TENSOR.where(condition, x, y)


def shape_of(x: Any) -> tuple[int, ...] | None:
    """The shape of a leaf; None for what is no array or number."""
    if hasattr(x, "dtype"):
        return tuple(x.shape)
    return () if issubclass(type(x), (int, float, complex)) else None


def _is_differentiable(x: Any) -> bool:
    return issubclass(type(x), (float, complex)) or (hasattr(x, "dtype") and x.dtype.kind in "fc")


_looped.__name__ = "loop"  # of the node
_looped_by_rule = CustomFunction(_looped, _vjp, _jvp)
_looped_by_rule._rule.vmap = _of_samples
_looped_by_rule._rule.by_sample = by_sample
_looped_by_rule._rule.takes_batches = lambda args: next(x for x in args if isinstance(x, Loop)).together
_looped_by_rule._rule.instead = (
    "Its step looks at numbers, of which each sample has its own: choose by np.where, and not by `if`"
)
