"""The quick way of an operator on tensors of one level around others than ndarrays.

Around tensors of a lower level, as in a gradient of a gradient, or arrays of a registered type that wants nothing
done before an operator runs. It is `dispatch.pipeline` for the usual case: tensors of one level, numbers and ndarrays
beside them, one result. It returns None for what is unusual, which the pipeline then runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import slots
from pullback.core.array_face import ARRAYS, Array, NestedScalar, Scalar
from pullback.core.array_type import LEVELLED, NUMERIC, REGISTERED, SCALARS, ArrayType, kernel_for
from pullback.core.cuts import WATCHED
from pullback.core.modes import Modes
from pullback.core.tensor import NestedTensor, Tensor, ndarray
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.steps import Prepared, array_result, floated, note_cut, tie_views, wrap_result

TENSOR_CLASSES = ARRAYS | {Tensor, NestedTensor}


def call_on_nested(op: Operator, around: type, described: ArrayType) -> Callable[..., Any] | None:  # noqa: C901 - the steps written out for speed
    """The function (modes, *arguments) -> result or None for tensors around one type; None where there is none."""
    if op.lists or op.multi is not None or op.returns_list or op.returns_value or op.mutates or op.holds:
        return None
    positions = [position for position, _ in op.tensors]
    name, kernels, record, view, floating = op.kernel, described.kernels, op.record, op.view, op.floating
    low = described.rank < LEVELLED  # a Tensor beside such an array computes
    inner = slots.array_call(op, around) if around in (Array, Scalar) else None

    def call(state: Modes, *args: Any) -> Any:
        raws = list(args)
        level, needs, arrays = -1, False, False
        for position in positions:
            x = args[position]
            kind = type(x)
            if kind in TENSOR_CLASSES:
                if level < 0:
                    level = x._level
                elif x._level != level:
                    return None
                raws[position] = raw = x._array
                if (inside := type(raw)) is not around and (inside in REGISTERED or (low and inside in TENSOR_CLASSES)):
                    return None
                needs, arrays = needs or x._requires_grad, arrays or kind in ARRAYS
            elif kind not in SCALARS and (kind is not ndarray or x.dtype.kind not in NUMERIC):
                return None
        if view and (level < 0 or type(args[0]) not in TENSOR_CLASSES or type(args[0]) is NestedScalar):
            return None
        try:
            kernel = inner or (kernels[name] if name in kernels else kernel_for(raws, name))
            result = kernel(*(floated(op, raws) if floating else raws))
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, args, error)  # noqa: B904
        out = (array_result if arrays else wrap_result)(result, level, view)
        if record is None:
            if WATCHED:
                note_cut(op, args)
        elif needs and state.records(level):
            record(out, *args)
        if view:
            tie_views(op, (out,), Prepared(args, level, [], raws, list(args)))
        return out

    return call
