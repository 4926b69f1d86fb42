"""Levels and kernel tables: how an operator finds the code that runs it.

The generated function of an operator handles the common case itself (tensors of one level around ndarrays, grad modes
plain). Everything else comes here: nested tensors, levels mixed, modes, constants of other types, lists of tensors.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from pullback.core import modes
from pullback.core.array_type import LEVELLED, NUMPY, REGISTERED, is_constant, table_of, type_of
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.devices import device_name
from pullback.core.errors import tuple_advice, type_name
from pullback.core.instruments import run_kernel as run_kernel_watched
from pullback.core.instruments import run_operator
from pullback.core.tensor import Tensor, extra_of, ndarray, wrap
from pullback.core.types import RawArray
from pullback.core.version import counter_of
from pullback.dispatch.operator import Operator
from pullback.graph.view import describe_view, make_view, shares_memory


def dispatch(op: Operator, args: Sequence[Any]) -> Any:
    """Run an operator on any mixture of arguments; the generated fast path is this, specialised."""
    state = modes.current()
    if op.quick and state.plain:
        result = _dispatch_arrays(op, args)
        if result is not None:
            return result
    if state.instruments:
        return run_operator(state.instruments, op.name, args, partial(_dispatch_any, op, args))
    return _dispatch_any(op, args)


def _dispatch_any(op: Operator, args: Sequence[Any]) -> Any:
    if REGISTERED:
        # Bare, in a formula: what comes is bare too. Beside Tensors an array of another storage is a constant.
        bare = [x for _, x in _array_arguments(op, args)]
        if any(type(x) in REGISTERED for x in bare) and type_of(bare).rank != LEVELLED:
            return run_kernel(op, args, args)
        args = prepared(op, args)
    if op.view and type(args[0]) is ndarray and args[0].dtype.kind in "biu":
        args = (args[0].copy(), *args[1:])  # a node may save the view, and must not save the caller's index or mask
    level, tensors = survey(op, args)
    raws, lifted = raw_arguments(op, args, level)
    instruments = modes.current().instruments
    if instruments:
        result = run_kernel_watched(instruments, op.name, raws, partial(run_kernel, op, raws, args))
    else:
        result = run_kernel(op, raws, args)
    if WATCHED:
        note_cut(op, args)
    if op.returns_value:
        return result
    return _finish(op, result, raws, lifted, max(level, 0), tensors)


def _dispatch_arrays(op: Operator, args: Sequence[Any]) -> Tensor | None:
    """The result for tensors of one level around ndarrays, and None for everything else."""
    raws = list(args)
    level, needs = -1, False
    for position, name in op.tensors:
        x = args[position]
        kind = type(x)
        if kind is Tensor:
            if x._level != level:
                if level >= 0:
                    return None
                level = x._level
            raws[position] = x._array
            needs = needs or x._requires_grad
        elif not (may_be_none(op, name) if x is None else is_constant(x)):
            return None
    if level < 0:
        return None
    if op.floating:
        floated(op, raws)
    try:
        result = NUMPY.kernels[op.kernel](*raws)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explain(op, args, error)  # noqa: B904
    out = wrap_result(result, level)
    if needs and op.record is not None and modes.current().records(level):
        op.record(out, *args)
    elif WATCHED:
        note_cut(op, args)
    return out


def note_cut(op: Operator, args: Sequence[Any]) -> None:
    """Note, for transforms, an operator whose results, or some of them (indices), have no derivative.

    What only takes the shape of a tensor is none of these.
    """
    if (op.record is None or op.multi is not None) and not op.name.endswith("_like") and not op.name.startswith("new_"):
        note_operator(op.name, *(x for _, x in _array_arguments(op, args)))


def prepared(op: Operator, args: Sequence[Any]) -> Sequence[Any]:
    """The arguments, as the array types that Tensors of the innermost level are around want them."""
    tensors = [x for _, x in _array_arguments(op, args) if isinstance(x, Tensor)]
    level = max((x._level for x in tensors), default=0)
    for x in tensors:
        if x._level == level and type(x._array) in REGISTERED:
            return REGISTERED[type(x._array)].prepare(op, args, level)
    return args


def run_kernel(
    op: Operator, raws: Sequence[Any], args: Sequence[Any], name: str | None = None, called: str | None = None
) -> Any:
    """What the kernel for these raw arguments returns; its errors name the operator and what it was given.

    `name` is that of another kernel than the operator's own, `called` what the user wrote if that is not its name.
    """
    if op.floating:
        raws = floated(op, list(raws))
    kernel = table_of(flat_arguments(op, raws)).kernels[name or op.kernel]
    try:
        return kernel(*raws)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explain(op, args, error, called)  # noqa: B904


def floated(op: Operator, raws: list[Any]) -> list[Any]:
    """`raws` with its arrays in double precision if all are whole: of small ones NumPy makes half precision."""
    if is_whole(*(raws[position] for position, _ in op.tensors)):
        for position, _ in op.tensors:
            if hasattr(raws[position], "dtype"):
                raws[position] = raws[position].astype(np.float64)
    return raws


def is_whole(*raws: Any) -> bool:
    """Whether all are bools or whole numbers, or arrays of them."""
    return all(x.dtype.kind in "biu" if hasattr(x, "dtype") else isinstance(x, int) for x in raws)


def raw_arguments(op: Operator, args: Sequence[Any], level: int) -> tuple[list[Any], list[Any]]:
    """(arguments as a kernel at `level` takes them, arguments as a node there saves them)."""
    raws, lifted = list(args), list(args)
    for position, _ in op.tensors:
        raws[position], lifted[position] = _lower(args[position], level)
    for position, _ in op.lists:
        pairs = [_lower(x, level) for x in args[position]]
        raws[position], lifted[position] = [p[0] for p in pairs], tuple(p[1] for p in pairs)
    return raws, lifted


def survey(op: Operator, args: Sequence[Any], called: str | None = None) -> tuple[int, list[Tensor]]:
    """(highest level among the tensor arguments or -1, those tensors); refuses what is no array.

    `called` is what the user wrote if that is not the operator's name.
    """
    level, tensors = -1, []
    for name, x in _array_arguments(op, args):
        if isinstance(x, Tensor):
            tensors.append(x)
            level = max(level, x._level)
        elif not (may_be_none(op, name) if x is None else is_constant(x)):
            refuse_argument(called or op.shown, name, x)
    return level, tensors


def may_be_none(op: Operator, name: str) -> bool:
    """Whether an argument is declared as Tensor?, or a list of these: NumPy would take None for an object."""
    return name in op.optional


def _array_arguments(op: Operator, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each argument that should be an array, those in lists too, with its name."""
    for position, name in op.tensors:
        yield name, args[position]
    for position, name in op.lists:
        for x in _sequence(op, name, args[position]):
            yield name, x


def _sequence(op: Operator, name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)) or (isinstance(value, Tensor) and value.ndim):
        return value
    if type(value) is ndarray and value.ndim:
        return value
    raise TypeError(f"{op.shown}(): argument {name!r} must be a list or tuple of Tensors, got {type_name(value)}.")


def results_class(name: str, fields: Sequence[str]) -> Any:
    """The named tuple of several results, which says what to write where it is taken for a Tensor."""
    kind: Any = namedtuple(name, fields)  # type: ignore[misc]
    setattr(kind, "__getattr__", _not_in_tuple)  # noqa: B010 - not of a class that mypy knows
    return kind


def _not_in_tuple(results: Any, name: str) -> NoReturn:
    """The `__getattr__` of named tuples of results: who writes `x.max(axis=1).sum()` means NumPy's max."""
    kind = type(results).__name__
    advice = tuple_advice(results) if hasattr(Tensor, name) else ""
    raise AttributeError(f"{kind!r} object has no attribute {name!r}.{advice}", name=name, obj=results)


def refuse_argument(called: str, name: str, x: object) -> NoReturn:
    """Raise the TypeError for an argument that is no array."""
    hint = ""
    if isinstance(x, (list, tuple)):
        hint = " Make a tensor of it first: pullback.tensor(...), or pullback.stack(...) if it holds Tensors."
    given = type_name(x)
    if hasattr(x, "_fields"):
        given, hint = f"the named tuple {given}", tuple_advice(x)
    if given.endswith(".Tensor"):
        hint = " Convert it first: pullback.from_dlpack(t.detach())."
    if type(x) is ndarray:
        given, hint = f"an ndarray of dtype {x.dtype}", " Convert it first: x.astype(float)."
    raise TypeError(f"{called}(): argument {name!r} must be a Tensor, an ndarray or a number, got {given}.{hint}")


def flat_arguments(op: Operator, raws: Sequence[Any]) -> Iterator[Any]:
    """The raw arrays among the arguments, those in lists too."""
    for position, _ in op.tensors:
        yield raws[position]
    for position, _ in op.lists:
        yield from raws[position]


def _lower(x: Any, level: int) -> tuple[Any, Any]:
    """(what a kernel at `level` computes with, what the node there saves) for one argument."""
    if not isinstance(x, Tensor):
        return x, x
    if x._level == level:
        return x._array, x
    raw: RawArray = x
    # A constant at its own level too: the kernel may as well see the array; not so one with rules of that level.
    while isinstance(raw, Tensor) and not raw._requires_grad and type(raw._array) not in REGISTERED:
        raw = raw._array
    return raw, lift(x, level, raw)


def lift(x: Tensor, level: int, raw: RawArray | None = None) -> Tensor:
    """A tensor of a lower level as a constant of `level` around `raw` (default: `x`, still differentiable at its own).

    Saving and checking it then work as for any other tensor: the counter is shared, so a modification is noticed.
    """
    lifted = wrap(x if raw is None else raw, level)
    lifted._counter = counter_of(x)
    return lifted


def _finish(
    op: Operator, result: Any, raws: Sequence[Any], lifted: Sequence[Any], level: int, tensors: Sequence[Tensor]
) -> Any:
    """Wrap what a kernel returned and record the node."""
    state = modes.current()
    outs: Any
    wrapped: tuple[Tensor, ...]
    if op.multi is None and not op.returns_list:
        outs = wrap_result(result, level)
        wrapped = (outs,)
    else:
        wrapped = tuple(wrap_result(r, level) for r in result)
        outs = op.multi(*wrapped) if op.multi is not None else wrapped
    if op.record is not None and state.records(level) and any(t._requires_grad and t._level == level for t in tensors):
        op.record(outs, *lifted)
        for instrument in state.instruments:
            if made := [out._fn.node() for out in wrapped if out._fn is not None]:  # of whole numbers there is none
                instrument.recorded(made[0], level)
    if op.view:
        source = lifted[op.tensors[0][0]]
        for nr, out in enumerate(wrapped):
            if isinstance(source, Tensor) and shares_memory(out._array, raws[op.tensors[0][0]]):
                describe_view(make_view(out, source), source, op, lifted, nr)
    if state.inference:
        for out in wrapped:
            if out._extra is None or out._extra.base is None:  # a view has it from its base
                extra_of(out).inference = True
    return outs


def wrap_result(raw: Any, level: int) -> Tensor:
    """A fresh tensor around what a kernel returned; NumPy's scalars become 0-d arrays."""
    if type(raw) is not ndarray and not isinstance(raw, Tensor) and type(raw) not in REGISTERED:
        raw = np.asarray(raw)
    return wrap(raw, level)


def explain(op: Operator, args: Sequence[Any], error: Exception, called: str | None = None) -> Exception:
    """The error to raise instead of a kernel's: it has the name of what was called and what that was given."""
    return explained(called or op.shown, op.signature, args, error, takes_over=True)


def explained(
    name: str, signature: str, args: Sequence[Any], error: Exception, *, takes_over: bool = False
) -> Exception:
    """`core.misuse.explained`, imported when the first call fails."""
    from pullback.core import misuse

    return misuse.explained(name, signature, args, error, takes_over)


def explained_call(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> Exception:
    """`core.misuse.explained_call`, imported when the first call fails."""
    from pullback.core import misuse

    return misuse.explained_call(name, function, args, kwargs, error)


def created(out: Any, device: Any, requires_grad: bool) -> Tensor:
    """A freshly made tensor with the options that every creation function takes."""
    device_name(device)
    state = modes.current()
    if not isinstance(out, Tensor):
        out = wrap_result(out, 0)  # formulas of every level make constants this way
    if state.inference:
        extra_of(out).inference = True
    return out if requires_grad is False else out.requires_grad_(requires_grad)  # type: ignore[no-any-return]
