"""The quick way of an operator on tensors of one level around others than ndarrays.

Around tensors of a lower level, as in a gradient of a gradient, or arrays of a registered type that wants nothing
done before an operator runs. It is `dispatch.pipeline` for the usual case: tensors of one level, numbers and ndarrays
beside them, one result. It returns None for what is unusual, which the pipeline then runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import slots
from pullback.core.array_face import (
    ARRAYS,
    SCALAR_FACES,
    Array,
    NestedArray,
    NestedScalar,
    Scalar,
    as_given,
    wrap_array,
)
from pullback.core.array_type import LEVELLED, NUMERIC, REGISTERED, SCALARS, ArrayType, kernel_for
from pullback.core.cuts import WATCHED, called_by_name
from pullback.core.modes import Modes, current
from pullback.core.tensor import NestedTensor, Tensor, ndarray, new
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.steps import array_result, floated, note_cut, wrap_result
from pullback.graph.view import describe_view, make_view, shares_memory

TENSOR_CLASSES = ARRAYS | {Tensor, NestedTensor}


def call_on_nested(op: Operator, around: type, described: ArrayType) -> Callable[..., Any] | None:  # noqa: C901, PLR0915 - the steps written out for speed
    """The function (modes, *arguments) -> result or None for tensors around one type; None where there is none."""
    if op.lists or op.multi is not None or op.returns_list or op.returns_value or op.mutates or op.holds:
        return None
    positions = [position for position, _ in op.tensors]
    name, kernels, record, view = op.kernel, described.kernels, op.record, op.view
    registered = around in REGISTERED
    floating = op.floating and registered  # the operator on Tensors sees to that itself
    stands = described.for_ndarrays
    low = described.rank < LEVELLED  # a Tensor beside such an array computes
    faces: dict[type, type] = dict.fromkeys([*TENSOR_CLASSES, around], NestedTensor)
    array_faces: dict[type, type] = {
        kind: NestedScalar if kind in SCALAR_FACES and not view else NestedArray for kind in ARRAYS
    }
    array_faces.setdefault(around, NestedArray)
    numbers = registered and not view  # without dimensions they show as NumPy's
    inner = slots.array_call(op, around) if around in (Array, Scalar) else None

    def call(state: Modes, *args: Any) -> Any:  # noqa: C901, PLR0912 - as above
        raws = list(args)
        level, needs, arrays, tensors, mixed = -1, False, False, False, False
        for position in positions:
            x = args[position]
            kind = type(x)
            if kind in TENSOR_CLASSES:
                raws[position] = raw = x._array
                inside = type(raw)
                if level < 0:
                    level = x._level
                elif x._level != level:
                    # One of level 0 that stands for an ndarray is a constant of the others' level, as an ndarray is.
                    lower, higher = (level, x._level) if level < x._level else (x._level, level)
                    if lower or not stands or inside is not around or view:
                        return None
                    level, mixed = higher, True
                if inside is not around and (inside in REGISTERED or (low and inside in TENSOR_CLASSES)):
                    return None
                needs = needs or x._requires_grad
                if kind in ARRAYS:
                    arrays = True
                elif not tensors:  # the masks of a backward have no face
                    tensors = not state.level or raw.dtype.kind != "b"
            elif kind not in SCALARS and (kind is not ndarray or x.dtype.kind not in NUMERIC):
                return None
        if mixed:
            lifted = None if tensors else _lifted(args, positions, level)
            if lifted is None:
                return None
            args = lifted
        if view and (level < 0 or type(args[0]) not in TENSOR_CLASSES):
            return None
        try:
            kernel: Any = inner or (kernels[name] if name in kernels else kernel_for(raws, name))
            # Of NumPy's own arrays NumPy decides, which makes half precision of small whole numbers.
            floats = floating and (tensors or not arrays or level or not described.for_ndarrays)
            result = kernel(*(floated(op, raws) if floats else raws))
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, args, error)  # noqa: B904
        if arrays and not level and described.for_ndarrays and (tensors or called_by_name()):
            arrays = False  # of ndarrays, for which these stand, the operator makes Tensors
        face = (array_faces if arrays else faces).get(type(result))
        if face is NestedArray and numbers and not result.shape:
            face = NestedScalar
        if face is None:
            out: Any = (array_result if arrays else wrap_result)(result, level, view)
        else:  # the same written out
            out = new(face)
            out._array, out._level, out._requires_grad = result, level, False
            out._fn = out._counter = out._extra = None
        if record is None:
            if WATCHED:
                note_cut(op, args)
        elif needs and (state.records_all or state.records(level)):
            record(out, *args)
        if view and shares_memory(result, raws[0]):
            describe_view(make_view(out, args[0]), args[0], op, args, 0)
        return out

    return call


def _lifted(args: Sequence[Any], positions: Sequence[int], level: int) -> tuple[Any, ...] | None:
    """The arguments with Arrays that stand for ndarrays as constants of a level; None if one is another's."""
    lifted = list(args)
    for position in positions:
        x = args[position]
        if type(x) in ARRAYS and x._level != level:
            if (raw := as_given(x)) is x:
                return None
            lifted[position] = wrap_array(raw, level, type(x) in SCALAR_FACES)
    return tuple(lifted)


def on_nested(
    op: Operator, general: Callable[..., Any], failed: Callable[..., Any], swapped: bool = False
) -> Callable[..., Any]:
    """A method behind one of Python's operators, for nested Tensors: the usual case at once, all else by `general`.

    `failed(op, args)` says, in the handler of an error, what is wrong. With `swapped` the Tensor is the right operand.
    """
    calls = op.calls
    if len(op.tensors) == 1:

        def alone(self: Any) -> Any:
            call = calls.get(type(self._array))
            if call is None or not (state := current()).plain:
                return general(self)
            try:
                out = call(state, self)
            except Exception:  # noqa: BLE001 - `failed` raises it
                return failed(op, (self,))
            return general(self) if out is None else out

        return alone

    def beside(self: Any, other: Any) -> Any:
        call = calls.get(type(self._array))
        if call is None or not (state := current()).plain:
            return general(self, other)
        try:
            out = call(state, other, self) if swapped else call(state, self, other)
        except Exception:  # noqa: BLE001 - `failed` raises it
            return failed(op, (other, self) if swapped else (self, other))
        return general(self, other) if out is None else out

    return beside
