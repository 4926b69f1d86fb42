"""Calls of operators on Tensors around dual arrays in the usual case: tensors of one level, and constants.

As with `arrays.dual.usual` there is a function for each of the usual shapes of operators. It returns None for what is
unusual, which `dispatch.pipeline` then runs: levels closed or mixed, plain tensors that require grad beside dual ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import OPERATORS
from pullback.arrays.dual.kernels import dual_kernel
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
from pullback.core.tensor import NestedTensor, ndarray, new
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.steps import Prepared, note_cut, tie_views, wrap_result
from pullback.graph.view import describe_view, make_view, shares_memory

Call = Callable[..., Any]


def call_on_duals(op: Operator, arity: int) -> Call | None:
    """The function (modes, *arguments) -> result, or None where there is none."""
    if op in OPERATORS or op.returns_value or op.mutates:
        return None
    kernel = dual_kernel(op.kernel, arity)
    positions = [position for position, _ in op.tensors]
    if op.multi is None and not (op.lists or op.returns_list):
        if positions == [0]:
            return _of_one(op, kernel)
        if positions == [0, 1] and not op.view:
            return _of_two(op, kernel)
    return _of_any(op, kernel)


def _of_one(op: Operator, kernel: Call) -> Call:
    """One tensor and any arguments more."""
    record, view = op.record, op.view

    def call(state: Modes, x: Any, *rest: Any) -> Any:
        kind = type(x)
        dual = x._array if kind in NESTED else None
        if type(dual) is not DualArray or not dual.level.open or (view and kind is NestedScalar):
            return None
        try:
            made = kernel(dual, *rest)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, *rest), error)  # noqa: B904
        out = _wrapped(made, x._level, kind is not NestedTensor, view)
        if record is None:
            if WATCHED:
                note_cut(op, (x, *rest))
        elif x._requires_grad and state.records(x._level):
            record(out, x, *rest)
        if view and (shares_memory(made.primal, dual.primal) if type(made) is DualArray else shares_memory(made, dual)):
            make_view(out, x)
            if type(dual.primal) is not ndarray:  # whose place in memory says which view it is
                describe_view(out, x, op, (x, *rest), 0)
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
        try:
            made = kernel(v, w, *rest)
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


def _of_any(op: Operator, kernel: Call) -> Call:  # noqa: C901 - one pass over all arguments
    """Any tensors, and lists of them, and any results."""
    record, multi, view, single = op.record, op.multi, op.view, op.multi is None and not op.returns_list
    places = [(position, False, name in op.optional) for position, name in op.tensors]
    places += [(position, True, name in op.optional) for position, name in op.lists]

    def call(state: Modes, *args: Any) -> Any:  # noqa: C901, PLR0912
        raws = list(args)
        top: Any = None
        level = -1
        needs, arrays, tensors = False, False, []
        for position, listed, optional in places:
            x = args[position]
            if listed and type(x) is not list and type(x) is not tuple:
                return None
            items = []
            for y in x if listed else (x,):
                kind = type(y)
                arrays = arrays or kind in ARRAYS
                if kind in NESTED:
                    dual = y._array
                    if type(dual) is not DualArray:
                        return None
                    if top is None:
                        top = dual.level
                    if dual.level is not top or (y._level != level and level >= 0):
                        return None
                    level = y._level
                    needs = needs or y._requires_grad
                    tensors.append(y)
                    items.append(dual)
                elif kind in AROUND_NDARRAYS:
                    if y._requires_grad or (y._level != level and level >= 0):
                        return None
                    level = y._level
                    items.append(y._array)
                elif kind in SCALARS or (kind is ndarray and y.dtype.kind in NUMERIC) or (y is None and optional):
                    items.append(y)
                else:
                    return None
            raws[position] = items if listed else items[0]
        if top is None or not top.open or (view and type(args[0]) is NestedScalar):
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
            tie_views(op, (out,) if single else out, Prepared(args, level, tensors, raws, list(args)))
        return out

    return call


def _wrapped(made: Any, level: int, array: bool, view: bool = False) -> Any:
    """A fresh tensor around what a kernel made, with NumPy's face if it is to be an `array`."""
    if type(made) is not DualArray:
        out = wrap_result(made, level)
        return show_as_array(out, not view and is_single(made)) if array else out
    out = new((NestedScalar if not view and not made.ndim else NestedArray) if array else NestedTensor)
    out._array, out._level, out._requires_grad = made, level, False
    out._fn = out._counter = out._extra = None
    return out
