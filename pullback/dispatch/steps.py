"""The steps in which an operator runs: prepare, kernel, wrap, record, view. `dispatch.pipeline` puts them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pullback.core import modes
from pullback.core.array_face import is_single, show_as_array, wrap_as
from pullback.core.array_type import NUMPY, REGISTERED, STORED, is_constant, kernel_for, type_of
from pullback.core.cuts import WATCHED, called_by_user, note_operator
from pullback.core.errors import type_name
from pullback.core.observers import run_kernel
from pullback.core.tensor import Tensor, mark_inference, ndarray, wrap
from pullback.core.types import RawArray
from pullback.core.version import counter_inside
from pullback.dispatch.call_errors import explain, refuse_argument
from pullback.dispatch.operator import Operator
from pullback.dispatch.outer_levels import constant_part
from pullback.graph.view import describe_view, make_view, shares_memory


# -- prepare ----------------------------------------------------------------------------------------------------------
class Prepared(NamedTuple):
    """The arguments of one run of an operator."""

    args: Sequence[Any]  # as the array types among them want them
    level: int  # the highest among the tensors, -1 if there are none
    tensors: list[Tensor]
    raws: list[Any]  # the arguments as the kernel takes them
    saved: list[Any]  # the arguments as a node saves them


BARE = -2  # the level where an array of a registered type stands in no Tensor: a formula's


def prepare(op: Operator, args: Sequence[Any]) -> Prepared:
    """The arguments for the kernel and for the node, as the array types among them want them."""
    level, tensors = survey(op, args)
    if level == BARE:
        return Prepared(args, level, tensors, args, args)  # type: ignore[arg-type]  # nothing is done to them
    adapted = adapt(op, args, level, tensors)
    if adapted is not args:
        args = adapted
        level, tensors = survey(op, args)
    if op.view and type(args[0]) is ndarray and args[0].dtype.kind in "biu":
        args = (args[0].copy(), *args[1:])  # a node may save the view, and must not save the caller's index or mask
    raws, saved = lower(op, args, level)
    return Prepared(args, level, tensors, raws, saved)


def survey(op: Operator, args: Sequence[Any], called: str | None = None) -> tuple[int, list[Tensor]]:
    """(highest level among the tensor arguments or -1, those tensors); refuses what is no array.

    `called` is what the user wrote if that is not the operator's name. Arrays of registered types that stand there
    bare, in a formula, are BARE; beside Tensors those of another storage are constants.
    """
    level, bare = -1, False
    tensors: list[Tensor] = []
    given = [(name, args[position]) for position, name in op.tensors]
    for position, name in op.lists:
        given += [(name, x) for x in _sequence(op, name, args[position])]
    for name, x in given:
        if isinstance(x, Tensor):
            tensors.append(x)
            level = max(level, x._level)
        elif not (may_be_none(op, name) if x is None else is_constant(x)):
            if called is None and type(x) in REGISTERED:
                return BARE, []
            refuse_argument(called or op.shown, name, x)
        elif type(x) in REGISTERED:
            bare = True
    return BARE if bare and not tensors and called is None else level, tensors


def adapt(op: Operator, args: Sequence[Any], level: int, tensors: Sequence[Tensor]) -> Sequence[Any]:
    """The arguments, as the array types that Tensors of the innermost level are around want them."""
    if not REGISTERED:
        return args
    for x in tensors:
        if x._level == level and type(x._array) in REGISTERED:
            return REGISTERED[type(x._array)].prepare(op, args, level)
    return args


def lower(op: Operator, args: Sequence[Any], level: int) -> tuple[list[Any], list[Any]]:
    """(arguments as a kernel at `level` takes them, arguments as a node there saves them)."""
    raws, saved = list(args), list(args)
    for position, _ in op.tensors:
        x = args[position]
        if isinstance(x, Tensor) and x._level == level:
            raws[position] = x._array
        else:
            raws[position], saved[position] = _lowered(x, level)
    for position, _ in op.lists:
        pairs = [_lowered(x, level) for x in args[position]]
        raws[position], saved[position] = [p[0] for p in pairs], tuple(p[1] for p in pairs)
    return raws, saved


def _lowered(x: Any, level: int) -> tuple[Any, Any]:
    """(what a kernel at `level` computes with, what the node there saves) for one argument."""
    if not isinstance(x, Tensor):
        return x, x
    if x._level == level:
        return x._array, x
    raw = constant_part(x)  # a constant at its own level too: the kernel may as well see the array
    return raw, lift(x, level, raw)


def lift(x: Tensor, level: int, raw: RawArray | None = None) -> Tensor:
    """A tensor of a lower level as a constant of `level` around `raw` (default: `x`, still differentiable at its own).

    Saving and checking it then work as for any other tensor: the counter is shared, so a modification is noticed.
    """
    lifted = wrap_as(x, x if raw is None else raw, level)
    lifted._counter = counter_inside(x)
    return lifted


def array_arguments(op: Operator, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each argument that should be an array, those in lists too, with its name."""
    for position, name in op.tensors:
        yield name, args[position]
    for position, name in op.lists:
        for x in _sequence(op, name, args[position]):
            yield name, x


def _sequence(op: Operator, name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)) or (isinstance(value, (Tensor, ndarray)) and value.ndim):
        return value
    raise TypeError(f"{op.shown}(): argument {name!r} must be a list or tuple of Tensors, got {type_name(value)}.")


def flat_arguments(op: Operator, raws: Sequence[Any]) -> Iterator[Any]:
    """The raw arrays among the arguments, those in lists too."""
    for position, _ in op.tensors:
        yield raws[position]
    for position, _ in op.lists:
        yield from raws[position]


def may_be_none(op: Operator, name: str) -> bool:
    """True if an argument is declared as Tensor?, or a list of these: NumPy would take None for an object."""
    return name in op.optional


# -- kernel -----------------------------------------------------------------------------------------------------------
def kernel(
    op: Operator, raws: Sequence[Any], args: Sequence[Any], name: str | None = None, called: str | None = None
) -> Any:
    """Run the kernel on raw arguments; its errors name the operator and the arguments.

    `name` is that of another kernel than the operator's own, `called` what the user wrote if that is not its name.
    """
    if op.floating:
        raws = floated(op, list(raws))
    arrays = list(flat_arguments(op, raws))
    try:
        if op.holds and type_of(arrays).rank <= STORED:
            return NUMPY.kernels[op.kernel](*raws)
        return kernel_for(arrays, name or op.kernel)(*raws)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explain(op, args, error, called)  # noqa: B904


def watched_kernel(op: Operator, raws: Sequence[Any], args: Sequence[Any]) -> Any:
    """Run the kernel on raw arguments, under the eyes of observers if there are any."""
    observers = modes.current().observers
    if not observers:
        return kernel(op, raws, args)
    return run_kernel(observers, op.name, raws, partial(kernel, op, raws, args))


def floated(op: Operator, raws: list[Any]) -> list[Any]:
    """`raws` with its arrays in double precision if all are whole: of small ones NumPy makes half precision."""
    for position, _ in op.tensors:  # `is_whole`, which makes no generator of it
        x = raws[position]
        if x.dtype.kind not in "biu" if hasattr(x, "dtype") else not isinstance(x, int):
            return raws
    for position, _ in op.tensors:
        if hasattr(raws[position], "dtype"):
            raws[position] = raws[position].astype(np.float64)
    return raws


def is_whole(*raws: Any) -> bool:
    """True if all arguments are bools or integers, or arrays of them."""
    return all(x.dtype.kind in "biu" if hasattr(x, "dtype") else isinstance(x, int) for x in raws)


# -- wrap -------------------------------------------------------------------------------------------------------------
def wrapped(op: Operator, result: Any, level: int, arrays: bool = False) -> tuple[Any, tuple[Tensor, ...]]:
    """(what the caller gets: a Tensor, a named tuple or a tuple of these; the same as a plain tuple).

    With `arrays` they have NumPy's face.
    """
    make = array_result if arrays else wrap_result
    if op.multi is None and not op.returns_list:
        out = make(result, level, op.view)
        return out, (out,)
    each = tuple([make(r, level, op.view) for r in result])
    return op.multi(*each) if op.multi is not None else each, each


def wrap_result(raw: Any, level: int, view: bool = False) -> Tensor:
    """A fresh tensor around what a kernel returned; NumPy's scalars become 0-d arrays."""
    if type(raw) is not ndarray and not isinstance(raw, Tensor) and type(raw) not in REGISTERED:
        raw = np.asarray(raw)
    return wrap(raw, level)


def array_result(raw: Any, level: int, view: bool) -> Tensor:
    """The same with NumPy's face: a Scalar where the kernel returned a number, and not a view of an array."""
    return show_as_array(wrap_result(raw, level), not view and is_single(raw))  # type: ignore[no-any-return]


# -- record -----------------------------------------------------------------------------------------------------------
def record(op: Operator, outs: Any, each: Sequence[Tensor], given: Prepared) -> None:
    """Make a node the function of what was computed, if one of the arguments wants a gradient."""
    state, level = modes.current(), max(given.level, 0)
    if op.record is None or not state.records(level):
        return
    if any(t._requires_grad and t._level == level for t in given.tensors):
        op.record(outs, *given.saved)
        for observer in state.observers:
            if made := [out._fn.node() for out in each if out._fn is not None]:  # of whole numbers there is none
                observer.recorded(made[0], level)


def note_cut(op: Operator, args: Sequence[Any]) -> None:
    """Note, for transforms, an operator whose results, or some of them (indices), have no derivative.

    What only takes the shape of a tensor is none of these. What functions of ours drop, the user never saw.
    """
    if not WATCHED:
        return
    if op.record is None:
        cuts = not op.name.endswith("_like") and not op.name.startswith("new_")
    else:
        outputs = getattr(op.node, "differentiable_outputs", ())
        unseen = op.row is not None and op.row.internal and op.shown == op.name  # no user calls it
        cuts = op.multi is not None and not all(outputs) and not unseen and called_by_user(op.shown)
    if cuts:
        note_operator(op.shown, *(x for _, x in array_arguments(op, args)))


# -- view -------------------------------------------------------------------------------------------------------------
def tie_views(op: Operator, each: Sequence[Tensor], given: Prepared) -> None:
    """Tie results that share memory with the first argument to it."""
    first = op.tensors[0][0]
    source = given.saved[first]
    for nr, out in enumerate(each):
        if isinstance(source, Tensor) and shares_memory(out._array, given.raws[first]):
            describe_view(make_view(out, source), source, op, given.saved, nr)


def mark_each_inference(each: Sequence[Tensor]) -> None:
    """Mark what was computed in inference mode; a view has the mark from its base."""
    for out in each:
        if out._extra is None or out._extra.base is None:
            mark_inference(out)
