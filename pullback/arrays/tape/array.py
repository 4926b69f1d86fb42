"""TapeArray: an array that is not known yet, and the tape on which the kernels that it goes through are written.

A function that computes nothing but with known arrays beside unknown ones, as the tangent of a linearised function
does, is written down while it runs on one sample of the unknown arrays, which gives every shape and dtype. Then it runs
on any others without Python code of the user's and without the rules: kernel after kernel. What is known is kept as it
is, as a constant of the tape.

The numbers of an unknown array are told to nobody but the rules of structural zeros, for which those of the sample do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import count
from typing import Any

import numpy as np

from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.core.array_face import ARRAYS, wrap_array, wrap_as
from pullback.core.array_type import (
    NUMPY,
    REGISTERED,
    TRANSFORMED,
    ArrayType,
    array_type,
    check,
    is_array,
    kernel_for,
    layout_of,
    memory_of,
    numbers_of,
    register_array_type,
)
from pullback.core.errors import InplaceError, ReadError
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.mixed import Arithmetic, MixedTable
from pullback.dispatch.outer_levels import constant_part
from pullback.dispatch.targets import write_array
from pullback.graph.view import make_view

_NUMBERS = count()
_NUMBER = -1


class Tape:
    """A record of computations on unknown arrays: instructions, each with the places of its arguments and results.

    `replay(arrays)` computes it again. Memory is what it was: a view of an array is a view of it again, and what was
    written into an array is written again.
    """

    __slots__ = ("_kept_places", "_steps", "forms", "inputs", "instructions", "number", "places", "plain", "writes")

    def __init__(self) -> None:
        self.number = next(_NUMBERS)  # of two tapes, the newer is the inner one
        self.places = 0
        self.plain = True  # whether all that is known is plain numbers and ndarrays
        self.inputs: list[tuple[int, ...] | None] = []  # the strides of the samples, by which views are views
        self.forms: list[Any] = []  # the samples that are of levels and batches, whose numbers may be written
        self.writes = False
        # (kernel's name or function, arguments, the positions of unknown ones with their places, how many results: None
        # for a single one, _NUMBER for one that NumPy gives as a number, 0 for a write)
        self.instructions: list[tuple[Any, tuple[Any, ...], Sequence[Any], int | None]] = []
        self._steps: list[tuple[Any, tuple[Any, ...], Sequence[Any], int | None, Sequence[int]]] = []
        self._kept_places: frozenset[int] | None = None  # those that the steps were made for

    # -- writing ------------------------------------------------------------------------------------------------------
    def enter(self, sample: Any) -> TapeArray:
        """An unknown array in the form of `sample`: the next argument of `replay`."""
        assert not self.instructions, "all arguments come before what is computed of them"
        plain = type(sample) is ndarray
        self.inputs.append(sample.strides if plain else None)
        self.plain = self.plain and plain
        if isinstance(sample, Tensor):
            self.forms.append(sample.detach())
        return self._placed(sample)

    def _placed(self, sample: Any) -> TapeArray:
        self.places += 1
        return TapeArray(self, self.places - 1, sample)

    def compute(self, name: str, args: tuple[Any, ...]) -> Any:
        """Run a kernel on arguments among which are arrays of this tape, and write it down."""
        sampled = [self._sampled(x) for x in args]
        if name == "storage_geometry":  # which is that of the sample
            return kernel_for(sampled, name)(*sampled)
        result = kernel_for([y for x in sampled for y in _spread(x)], name)(*sampled)
        if type(result) is ndarray:
            self._write(name, args, None)
            return self._placed(result)
        if issubclass(type(result), (list, tuple)):
            self._write(name, args, len(result))
            found = map(self._placed, result)
            return list(found) if type(result) is list else tuple(found)
        if issubclass(type(result), np.generic):
            self._write(name, args, _NUMBER)
            return self._placed(np.asarray(result))
        if not is_array(result):  # of `equal`, say
            raise ReadError(f"{name} looks at the numbers of a tangent, which are not known yet; use func.jvp.")
        self._write(name, args, None)
        return self._placed(result)

    def apply(self, function: Callable[..., Sequence[Any]], args: Sequence[Any]) -> list[TapeArray | None]:
        """Run a function that is linear in the arrays of this tape, and write it down: it gives arrays, some None."""

        def arrays(*given: Any) -> list[Any]:
            return [np.asarray(x) if issubclass(type(x), np.generic) else x for x in function(*given)]

        result = arrays(*[self._sampled(x) for x in args])
        self._write(arrays, tuple(args), len(result))
        placed = [None if x is None else TapeArray(self, self.places + i, x) for i, x in enumerate(result)]
        self.places += len(result)
        return placed

    def assign(self, target: TapeArray, value: Any) -> None:
        """Let `target` hold `value` from here on."""
        try:
            _assign(target.sample, self._sampled(value))
        except InplaceError as error:
            raise InplaceError(f"{error} In func.linearize that is so for tangents; func.jvp can hold it.") from None
        self._write(_assign, (target, value), 0)
        self.writes = True

    def examine(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        """Let `examine` look at arrays among which are unknown ones, whenever their numbers come."""
        self._write(partial(check, examine), tuple(arrays), 0)

    def enter_memory(self, arrays: Sequence[ndarray], like: TapeArray) -> list[TapeArray]:
        """A known array, and parts of it, into which `like` will be written; others see nothing of that."""
        low, high = np.lib.array_utils.byte_bounds(arrays[0])
        layouts = tuple((x.shape, x.dtype, x.__array_interface__["data"][0] - low, x.strides) for x in arrays)
        memory = np.zeros(max(high - low, 1), np.uint8)
        _under(memory, *layouts[0])[...] = arrays[0]
        self._write(_memory, (memory, layouts, like), len(arrays))
        return [self._placed(x) for x in _memory(memory, layouts, like.sample)]

    def _write(self, what: Any, args: tuple[Any, ...], several: int | None) -> None:
        known: list[Any] = []
        unknown: list[Any] = []
        for i, x in enumerate(args):
            if self._holds(x):
                unknown.append((i, self._place_of(x)))
                known.append(None)
            else:
                known.append(_kept(x))
                self.plain = self.plain and all(type(y) is ndarray for y in _spread(x) if is_array(y))
        self.instructions.append((what, tuple(known), tuple(unknown), several))

    def _holds(self, x: Any) -> bool:
        if type(x) is TapeArray:
            return x.tape is self
        return type(x) in (list, tuple) and any(map(self._holds, x))

    def _sampled(self, x: Any) -> Any:
        if type(x) is TapeArray:
            return x.sample if x.tape is self else x
        return type(x)(map(self._sampled, x)) if type(x) in (list, tuple) else x

    def _place_of(self, x: Any) -> Any:
        """The place of an unknown array; of a list among which there are some, a list of places and (known,)."""
        if type(x) in (list, tuple):
            return [y.place if self._holds(y) else (_kept(y),) for y in x]
        return x.place

    # -- reading ------------------------------------------------------------------------------------------------------
    def replay(self, arrays: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
        """The arrays at the wanted places of the tape, computed of these arguments.

        Every other one is let go after its last use, so that its memory, which is in the cache, serves the next.
        """
        if self._kept_places != (places := frozenset(wanted)):
            self._steps, self._kept_places = list(self._with_last_uses(places)), places
        found: list[Any] = list(map(_laid_out, arrays, self.inputs))
        if self.writes:
            forms = [*self.forms, *[x for x in arrays if isinstance(x, Tensor)]]
            found = [reduce(_beside, forms, x) for x in found]
        plain = NUMPY.kernels if self.plain and all(type(x) is ndarray for x in arrays) else None
        before = warning_state()
        try:
            ignore_warnings()
            args: list[Any] = []
            for what, known, unknown, several, last in self._steps:
                args[:] = known
                for i, place in unknown:
                    args[i] = (
                        found[place] if type(place) is int else [found[p] if type(p) is int else p[0] for p in place]
                    )
                if type(what) is not str:
                    result = what(*args)
                elif plain is not None:
                    result = plain[what](*args)
                else:
                    result = kernel_for([y for x in args for y in _spread(x)], what)(*args)
                if several is None:
                    found.append(result)
                elif several is _NUMBER:
                    found.append(np.asarray(result) if plain is not None else result)
                elif several:
                    found.extend(result)
                for place in last:
                    found[place] = None
                args.clear()
                result = None
        finally:
            restore(before)
        return [found[place] for place in wanted]

    def _with_last_uses(self, kept: frozenset[int]) -> Iterator[Any]:
        """The instructions, each with the places that nothing reads after it."""
        made, after, steps = self.places, set(kept), list[Any]()
        for what, known, unknown, several in reversed(self.instructions):
            count = 1 if several is None or several is _NUMBER else several
            made -= count
            used = [p for _, place in unknown for p in (place if type(place) is list else (place,)) if type(p) is int]
            results = range(made, made + count)
            if count and after.isdisjoint(results):  # nobody has read them since, or will
                steps.append((_nothing, (count,), (), count, results))
                continue
            touched = {*used, *results}
            if what == "clone" and not self.writes and used[0] < len(self.inputs):
                what = _as_it_is  # a copy in case that it is written into; the sample was one, laid out like this
            steps.append((what, known, unknown, several, tuple(touched - after)))
            after |= touched
        return iter(steps[::-1])


def _nothing(count: int) -> tuple[None, ...]:
    return (None,) * count


def _as_it_is(x: Any, *_: Any) -> Any:
    return x


def _spread(x: Any) -> Sequence[Any]:
    return x if type(x) in (list, tuple) else (x,)


def _laid_out(x: Any, strides: tuple[int, ...] | None) -> Any:
    """An argument in the order of memory that the sample had."""
    if type(x) is not ndarray or x.strides == strides or not x.size:
        return x
    made = np.ndarray(x.shape, x.dtype, np.empty(x.nbytes, np.uint8), 0, strides)
    made[...] = x
    return made


def _beside(x: Any, like: Any) -> Any:
    """An argument such that what is as `like` can be written into it, or into a copy: a constant of its levels."""
    if type(x) in REGISTERED:
        return x  # an array of another transform holds outer levels in its parts
    if isinstance(like, Tensor):
        if not isinstance(x, Tensor) or x._level < like._level:
            wrapped = wrap_array if type(like) in ARRAYS else wrap
            return wrapped(_beside(constant_part(x), like._array), like._level)
        if x._level > like._level or x._requires_grad:
            return x
        inside = _beside(x._array, like._array)
        return x if inside is x._array else wrap_as(x, inside, x._level)
    kind = array_type(like)
    if kind.values(like) is not like:  # a dual array, which its targets become by themselves
        return _beside(x, kind.values(like))
    return kind.lift_constant(like, x) if array_type(x).rank < kind.rank else x


def _assign(target: Any, value: Any) -> None:
    if isinstance(target, Tensor):
        target.copy_(value)
    elif type(target) is ndarray:
        write_array("an in-place operator", target, value)
    else:
        array_type(target).assign("copy_", target, value)


def _memory(memory: ndarray, layouts: Sequence[Any], like: Any) -> Sequence[Any]:
    """Arrays in a copy of this memory, such that one such as `like` can be written into them."""
    memory = memory.copy()
    return _holding(like, [_under(memory, *layout) for layout in layouts])


def _under(memory: ndarray, shape: Any, dtype: Any, offset: int, strides: Any) -> ndarray:
    return np.ndarray(shape, dtype, memory, offset, strides)


def _holding(like: Any, arrays: Sequence[Any]) -> Sequence[Any]:
    if not isinstance(like, Tensor):
        return array_type(like).holding(like, arrays)
    wrapped = wrap_array if type(like) in ARRAYS else wrap
    first, *views = [wrapped(x, like._level) for x in _holding(like._array, arrays)]
    return [first, *[make_view(view, first) for view in views]]


def _kept(x: Any) -> Any:
    """A known argument, safe from later writes by its owner."""
    if type(x) in (list, tuple):
        return type(x)(map(_kept, x))
    return array_type(x).copy(x) if is_array(x) else x


class TapeArray(Arithmetic):
    """An array that is not known yet: a place on a tape, with the shape and dtype of a sample."""

    __slots__ = ("dtype", "place", "sample", "shape", "tape")

    def __init__(self, tape: Tape, place: int, sample: Any) -> None:
        self.tape, self.place, self.sample = tape, place, sample
        self.shape, self.dtype = tuple(sample.shape), sample.dtype

    def __repr__(self) -> str:
        return f"TapeArray(place={self.place}, shape={self.shape}, dtype={self.dtype})"


def _newest(args: Sequence[Any]) -> Tape:
    """The innermost tape of the unknown arrays among these arguments."""
    tapes = {y.tape for x in args for y in _spread(x) if type(y) is TapeArray}
    return max(tapes, key=lambda tape: tape.number)


class _Kernels(dict[str, Callable[..., Any]]):
    """Kernels on arrays of a tape, each made when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        def kernel(*args: Any) -> Any:
            return _newest(args).compute(name, args)

        self[name] = kernel
        return kernel


class TapeType(ArrayType):
    """Arrays that are not known yet."""

    rank = TRANSFORMED

    def carries_derivative(self, x: TapeArray) -> bool:
        return True  # what a custom rule makes of it is written down as well

    def sample(self, x: TapeArray) -> Any:
        return numbers_of(x.sample)

    def check(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        _newest(arrays).examine(examine, arrays)

    def memory(self, x: TapeArray) -> ndarray | None:
        return memory_of(x.sample)

    def layout(self, x: Any) -> ndarray | None:
        return layout_of(x.sample)

    def accepts(self, x: TapeArray) -> bool:
        return False  # it belongs to a level, which the Tensors around it know

    def copy(self, x: TapeArray) -> Any:
        return x.tape.compute("clone", (x, None))

    def assign(self, name: str, x: TapeArray, value: Any) -> TapeArray:
        x.tape.assign(x, value)
        return x

    def holding(self, x: TapeArray, arrays: Sequence[ndarray]) -> Sequence[TapeArray]:
        return x.tape.enter_memory(arrays, x)


TAPE = MixedTable("tape", _Kernels())
register_array_type(TapeArray, TapeType(TAPE))
