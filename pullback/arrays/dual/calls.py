"""Calls of operators on Tensors around dual arrays in the usual case: tensors of one level, and constants.

As with `arrays.dual.usual` there is a function for each of the usual shapes of operators. It returns None for what is
unusual, which `dispatch.pipeline` then runs: levels closed or mixed, plain tensors that require grad beside dual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import OPERATORS
from pullback.arrays.dual.kernels import dual_kernel
from pullback.arrays.dual.plain_calls import plainly
from pullback.core.array_face import (
    AROUND_NDARRAYS,
    ARRAYS,
    NESTED,
    NestedArray,
    NestedScalar,
    is_single,
    show_as_array,
)
from pullback.core.array_type import NUMERIC, SCALARS
from pullback.core.cuts import WATCHED
from pullback.core.modes import Modes
from pullback.core.tensor import NestedTensor, Tensor, ndarray, new
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.steps import note_cut, wrap_result
from pullback.graph.view import describe_view, make_view, several_views, shares_memory

Call = Callable[..., Any]


def call_on_duals(op: Operator, arity: int) -> Call | None:
    """The function (modes, *arguments) -> result, or None where there is none."""
    if op in OPERATORS or op.returns_value or op.mutates:
        return None
    kernel = dual_kernel(op.kernel, arity)
    positions = [position for position, _ in op.tensors]
    if op.multi is None and not (op.lists or op.returns_list):
        if positions == [0]:
            return plainly(op, arity, _of_one(op, kernel))
        if positions == [0, 1] and not op.view:
            return plainly(op, arity, _of_two(op, kernel))
    in_any = _of_any(op, kernel)
    lists = [position for position, _ in op.lists]
    if lists == [0] and not positions and not op.view and op.multi is None and not op.returns_list:
        return _of_list(op, kernel, in_any)
    if positions == [0] and not lists:
        return _of_several(op, kernel, in_any)
    return in_any


def _of_one(op: Operator, kernel: Call) -> Call:
    """One tensor and any arguments more."""
    record, view = op.record, op.view

    def call(state: Modes, x: Any, *rest: Any) -> Any:
        kind = type(x)
        dual = x._array if kind in NESTED else None
        if type(dual) is not DualArray or not dual.level.open:
            return None
        try:
            made = kernel(dual, *rest) if rest else kernel(dual)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, *rest), error)  # noqa: B904
        out = _wrapped(made, x._level, kind is not NestedTensor, view)
        if record is None:
            if WATCHED:
                note_cut(op, (x, *rest))
        elif x._requires_grad and state.records(x._level):
            record(out, x, *rest)
        if view:
            if type(made) is not DualArray or type(dual.primal) is not ndarray:
                _tie(op, (x, *rest), (out,), (made,))
            elif shares_memory(made.primal, dual.primal):
                make_view(out, x)
        return out

    return call


def _of_two(op: Operator, kernel: Call) -> Call:  # noqa: C901 - the cases written out
    """Two tensors, of which one may be a constant, and any arguments more."""
    record = op.record

    def call(state: Modes, x: Any, y: Any, *rest: Any) -> Any:  # noqa: C901, PLR0912
        a, b = type(x), type(y)
        if a in NESTED:
            v, level = x._array, x._level
            if type(v) is not DualArray or not v.level.open:
                return None
            needs = x._requires_grad
            if b in NESTED:
                w = y._array
                if type(w) is not DualArray or w.level is not v.level or y._level != level:
                    return None
                needs = needs or y._requires_grad
            elif b in AROUND_NDARRAYS and not y._requires_grad and y._level == level:
                w = y._array
            elif b in SCALARS or (b is ndarray and y.dtype.kind in NUMERIC):
                w = y
            else:
                return None
        else:
            if b not in NESTED:
                return None
            w, level, needs = y._array, y._level, y._requires_grad
            if type(w) is not DualArray or not w.level.open:
                return None
            if a in AROUND_NDARRAYS and not x._requires_grad and x._level == level:
                v = x._array
            elif a in SCALARS or (a is ndarray and x.dtype.kind in NUMERIC):
                v = x
            else:
                return None
        if needs and _are_nested((v, w)):
            return None
        try:
            made = kernel(v, w, *rest) if rest else kernel(v, w)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, y, *rest), error)  # noqa: B904
        out = _wrapped(made, level, a in ARRAYS or b in ARRAYS)
        if record is None:
            if WATCHED:
                note_cut(op, (x, y, *rest))
        elif needs and state.records(level):
            record(out, x, y, *rest)
        return out

    return call


def _of_several(op: Operator, kernel: Call, in_any: Call) -> Call:
    """One tensor and any arguments more, several results."""
    record, multi, view = op.record, op.multi, op.view
    origin = several_views(op.name) if op.returns_list else None

    def call(state: Modes, x: Any, *rest: Any) -> Any:
        kind, dual = type(x), getattr(x, "_array", None)
        if kind not in NESTED or type(dual) is not DualArray or not dual.level.open:
            return None
        if view and type(dual.primal) is not ndarray:
            return in_any(state, x, *rest)
        try:
            made = kernel(dual, *rest)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, *rest), error)  # noqa: B904
        level, arrays = x._level, kind is not NestedTensor
        outs = []
        for part in made:
            own: Any = _FACES.get(type(part))  # `_wrapped` written out
            if arrays or own is None:
                outs.append(_wrapped(part, level, arrays, view))
                continue
            own = new(own)
            own._array, own._level, own._requires_grad = part, level, False
            own._fn = own._counter = own._extra = None
            outs.append(own)
        out: Any = tuple(outs) if multi is None else tuple.__new__(multi, outs)  # `_make` written out
        if WATCHED:
            note_cut(op, (x, *rest))
        if record is not None and x._requires_grad and state.records(level):
            record(out, x, *rest)
        if view:
            for own, part in zip(out, made, strict=True):
                inside = part.primal if type(part) is DualArray else part
                if inside.base is dual.primal or shares_memory(inside, dual.primal):
                    extra: Any = make_view(own, x)._extra
                    if extra.made_by is None:
                        extra.made_by = origin
        return out

    return call


def _of_list(op: Operator, kernel: Call, in_any: Call) -> Call:
    """A list of tensors, of which some may be constants, and any arguments more, one result."""
    record = op.record

    def call(state: Modes, xs: Any, *rest: Any) -> Any:
        if (type(xs) is not list and type(xs) is not tuple) or not xs:
            return in_any(state, xs, *rest)
        raws: list[Any] = []
        top: Any = None
        level, needs, arrays = -1, False, False
        for x in xs:
            kind = type(x)
            if kind in NESTED:
                raw = x._array
                if type(raw) is not DualArray or (raw.level is not top and top is not None):
                    return in_any(state, xs, *rest)
                top, needs, arrays = raw.level, needs or x._requires_grad, arrays or kind is not NestedTensor
            elif kind in AROUND_NDARRAYS and not x._requires_grad:
                raw, arrays = x._array, arrays or kind in ARRAYS
            else:
                return in_any(state, xs, *rest)
            if x._level != level and level >= 0:
                return in_any(state, xs, *rest)
            level = x._level
            raws.append(raw)
        if top is None or not top.open or (needs and _are_nested(raws)):
            return None
        try:
            made = kernel(raws, *rest)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (xs, *rest), error)  # noqa: B904
        out = _wrapped(made, level, arrays)
        if WATCHED and record is None:
            note_cut(op, (xs, *rest))
        if needs and record is not None and state.records(level):
            record(out, xs, *rest)
        return out

    return call


def _of_any(op: Operator, kernel: Call) -> Call:
    """Any tensors, and lists of them, and any results."""
    record, multi, view, single = op.record, op.multi, op.view, op.multi is None and not op.returns_list
    places = [(position, False, name in op.optional) for position, name in op.tensors]
    places += [(position, True, name in op.optional) for position, name in op.lists]

    def call(state: Modes, *args: Any) -> Any:
        found = _unwrapped(args, places)
        if found is None:
            return None
        raws, top, level, needs, arrays = found
        if top is None or not top.open or (needs and _are_nested(raws)):
            return None
        try:
            made = kernel(*raws)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, args, error)  # noqa: B904
        if single:
            out = _wrapped(made, level, arrays, view)
        else:
            out = tuple([_wrapped(x, level, arrays, view) for x in made])
            out = out if multi is None else multi._make(out)
        if WATCHED and (record is None or not single):
            note_cut(op, args)
        if needs and record is not None and state.records(level):
            record(out, *args)
        if view:
            _tie(op, args, (out,) if single else out, (made,) if single else made)
        return out

    return call


# (arguments for the kernel, the forward level of the duals, the level of the tensors, whether one requires grad, and
# whether one has NumPy's face)
_Unwrapped = tuple[list[Any], Any, int, bool, bool]


@lru_cache(maxsize=256)
def _each(count: int, optional: bool) -> Sequence[tuple[int, bool, bool]]:
    """The places in a list."""
    return [(i, False, optional) for i in range(count)]


def _unwrapped(args: Sequence[Any], places: Sequence[tuple[int, bool, bool]]) -> _Unwrapped | None:
    """The arrays in the tensors in these places (are there lists, may there be None); None for what is unusual."""
    raws = list(args)
    top: Any = None
    level, needs, arrays = -1, False, False
    for position, listed, optional in places:
        x = args[position]
        kind = type(x)
        if kind in NESTED:
            raw, own = x._array, x._level
            if type(raw) is not DualArray or (raw.level is not top and top is not None):
                return None
            top = raw.level
            needs = needs or x._requires_grad
        elif kind in AROUND_NDARRAYS:
            if x._requires_grad:
                return None
            raw, own = x._array, x._level
        elif listed and (kind is list or kind is tuple):
            part = _unwrapped(x, _each(len(x), optional))
            if part is None or (part[1] is not top and top is not None is not part[1]):
                return None
            raw, own, kind = part[0], part[2], NestedArray if part[4] else NestedTensor
            top, needs = part[1] or top, needs or part[3]
        elif kind in SCALARS or (kind is ndarray and x.dtype.kind in NUMERIC) or (x is None and optional):
            continue
        else:
            return None
        if own != level and own >= 0:  # that of a list of numbers is -1
            if level >= 0:
                return None
            level = own
        if kind in ARRAYS:
            arrays = True
        raws[position] = raw
    return raws, top, level, needs, arrays


def _are_nested(raws: Iterable[Any]) -> bool:
    """True if a dual array among these is around another, so that one beside it may have to be made dual there too."""
    for x in raws:
        if type(x) is DualArray and (type(x.primal) is DualArray or type(x.tangent) is DualArray):
            return True
        if type(x) is list and _are_nested(x):
            return True
    return False


def _tie(op: Operator, args: Sequence[Any], outs: Sequence[Tensor], made: Sequence[Any]) -> None:
    """Tie the results of a view operator that share memory with its first argument to that."""
    source: Any = args[0]
    inside = source._array.primal
    origin = several_views(op.name) if op.returns_list else None
    for nr, (out, x) in enumerate(zip(outs, made, strict=True)):
        if shares_memory(x.primal, inside) if type(x) is DualArray else shares_memory(x, source._array):
            extra: Any = make_view(out, source)._extra
            if type(inside) is not ndarray:  # whose place in memory says which view it is
                describe_view(out, source, op, args, nr)
            elif origin is not None and extra.made_by is None:
                extra.made_by = origin


_FACES: dict[type, type[Tensor]] = {DualArray: NestedTensor, ndarray: Tensor}


def _wrapped(made: Any, level: int, array: bool, view: bool = False) -> Any:
    """A fresh tensor around what a kernel made, with NumPy's face if it is to be an `array`."""
    if type(made) is not DualArray:
        out = wrap_result(made, level)
        return show_as_array(out, not view and is_single(made)) if array else out
    out = new((NestedScalar if not view and not made.ndim else NestedArray) if array else NestedTensor)
    out._array, out._level, out._requires_grad = made, level, False
    out._fn = out._counter = out._extra = None
    return out
