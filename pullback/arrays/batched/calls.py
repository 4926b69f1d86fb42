"""Operators on Tensors around batched arrays in the usual case: one batch, nothing recorded at its level.

What is known of the operator is asked for once, when the function is made. What is unusual goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.kernels import find_rule
from pullback.core.array_face import AROUND_NDARRAYS, ARRAYS, NESTED, NestedArray, NestedScalar
from pullback.core.array_type import NUMERIC, NUMPY, SCALARS
from pullback.core.cuts import WATCHED
from pullback.core.late import ready
from pullback.core.modes import Modes
from pullback.core.tensor import NestedTensor, ndarray, new
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.steps import note_cut
from pullback.graph.view import describe_view, make_view, shares_memory

Call = Callable[..., Any]


def call_on_batched(op: Operator, arity: int) -> Call | None:
    """The function (modes, *arguments) -> result, or None where there is none."""
    positions = [position for position, _ in op.tensors]
    if op.multi is not None or op.returns_list or op.returns_value or op.mutates or op.lists:
        return None
    rule = find_rule(op.kernel, arity)
    if rule is None:
        return None
    run = ready(NUMPY.kernels[op.kernel]) if "pointwise" in op.tags else None
    if positions == [0]:
        return _of_one(op, rule, run)
    return _of_two(op, rule, run) if positions == [0, 1] and not op.view else None


def _of_one(op: Operator, rule: Call, run: Call | None) -> Call:
    """One tensor and any arguments more."""
    floating, view, unrecorded = op.floating, op.view, op.record is None

    def call(state: Modes, x: Any, *rest: Any) -> Any:
        kind = type(x)
        given = x._array if kind in NESTED else None
        if type(given) is not BatchedArray or x._requires_grad:
            return None
        batch, values = given.batch, given.values
        if not batch.open or (floating and values.dtype.kind not in "fc"):
            return None
        try:
            made = run(values, *rest) if run is not None and type(values) is ndarray else rule(batch, given, *rest)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, *rest), error)  # noqa: B904
        out = _wrapped(made, batch, x._level, kind is not NestedTensor, view)
        if unrecorded and WATCHED:
            note_cut(op, (x, *rest))
        if view and shares_memory(out._array.values, values):
            make_view(out, x)
            if type(values) is not ndarray:  # whose place in memory says which view it is
                describe_view(out, x, op, (x, *rest), 0)
        return out

    return call


def _of_two(op: Operator, rule: Call, run: Call | None) -> Call:
    """Two tensors, of which one may be the same for all, and any arguments more."""
    floating, unrecorded = op.floating, op.record is None

    def call(state: Modes, x: Any, y: Any, *rest: Any) -> Any:  # noqa: PLR0912 - the cases written out
        a, b = type(x), type(y)
        v, w = x._array if a in NESTED else None, y._array if b in NESTED else None
        if type(v) is BatchedArray:
            if x._requires_grad:
                return None
            batch, level = v.batch, x._level
            if type(w) is BatchedArray:
                if w.batch is not batch or y._level != level or y._requires_grad:
                    return None
            else:
                w = _constant(y, b, level)
        elif type(w) is BatchedArray:
            if y._requires_grad:
                return None
            batch, level = w.batch, y._level
            v = _constant(x, a, level)
        else:
            return None
        if v is None or w is None or not batch.open:
            return None
        if floating and (v if type(v) is BatchedArray else w).dtype.kind not in "fc":
            return None
        try:
            made = _on_values(run, v, w, rest) if run is not None else None
            if made is None:
                made = rule(batch, v, w, *rest)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, y, *rest), error)  # noqa: B904
        if unrecorded and WATCHED:
            note_cut(op, (x, y, *rest))
        return _wrapped(made, batch, level, a in ARRAYS or b in ARRAYS, False)

    return call


def _constant(x: Any, kind: type, level: int) -> Any:
    """Return what an argument that is the same for all is computed with, if that is a plain array or a number."""
    if kind in SCALARS:
        return x
    if kind is ndarray:
        return x if x.dtype.kind in NUMERIC else None
    return x._array if kind in AROUND_NDARRAYS and not x._requires_grad and x._level <= level else None


def _on_values(run: Call, v: Any, w: Any, rest: Any) -> Any:
    """A pointwise kernel on plain values whose dimensions fit as they are; None elsewhere."""
    if type(v) is BatchedArray:
        v = v.values
        if type(v) is not ndarray:
            return None
        if type(w) is BatchedArray:
            w = w.values
            return run(v, w, *rest) if type(w) is ndarray and v.ndim == w.ndim else None
        return run(v, w, *rest) if type(w) is not ndarray or w.ndim < v.ndim else None
    w = w.values
    return run(v, w, *rest) if type(w) is ndarray and (type(v) is not ndarray or v.ndim < w.ndim) else None


def _wrapped(made: Any, batch: Batch, level: int, array: bool, view: bool) -> Any:
    """A fresh tensor around the values that a rule gave, with NumPy's face if it is to be an `array`."""
    if type(made) is not BatchedArray:
        inside = new(BatchedArray)
        inside.values, inside.batch = made, batch
        made = inside
    out = new((NestedScalar if made.values.ndim == 1 and not view else NestedArray) if array else NestedTensor)
    out._array, out._level, out._requires_grad = made, level, False
    out._fn = out._counter = out._extra = None
    return out
