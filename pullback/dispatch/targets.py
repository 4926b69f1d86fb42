"""The targets of in-place operators and of `out=`: may they be written into, what do they hold, and the write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from pullback.core import cuts, modes
from pullback.core.array_type import REGISTERED, STORED, array_type, carries_derivative, memory_of, read, type_of
from pullback.core.errors import DtypeError, GradientError, InplaceError, OperatorError, ReadOnlyError, type_name
from pullback.core.tensor import Tensor, extra_of, hold, ndarray, wrap
from pullback.core.types import Shape
from pullback.core.version import InferenceCounter, counter_of
from pullback.dispatch.operator import Operator
from pullback.dispatch.outer_levels import constant_part
from pullback.dispatch.steps import adapt, survey
from pullback.graph.inplace_rules import check_inplace, refuse_inference
from pullback.graph.node import edge_to
from pullback.graph.replay import spread_write
from pullback.graph.strides import overlaps_itself
from pullback.graph.view import base_of, live_views, make_view


# -- in place ---------------------------------------------------------------------------------------------------------
def admit(op: Operator, args: Sequence[Any]) -> tuple[Tensor, int, list[Tensor], bool]:
    """(target, level, the tensors of the arguments, whether a node is recorded) after all checks."""
    name, target = op.inplace_name, args[op.tensors[0][0]]
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}() writes into argument 'input', which must be a Tensor, got {type_name(target)}.")
    level, tensors = survey(op, args, name)
    if target._level != level and not _rise(target, level, tensors):
        raise type_of([x._array for x in tensors if x._level == level]).unwritable(name, target, level)
    wanted = any(t._requires_grad and t._level == level for t in tensors)
    wanted = wanted and target._array.dtype.kind in "fc"  # whole numbers have no derivative
    records = op.record is not None and wanted and modes.current().records(level)
    check_inplace(target, name, records)
    for observer in modes.current().observers:
        observer.mutating(target, op.name)
    return target, level, tensors, records


def _rise(target: Tensor, level: int, tensors: Sequence[Tensor]) -> bool:
    """Let a tensor that was made inside the transform of that level, and its views, be of this level; says whether.

    What a creation function makes is of level 0, wherever it is called, since most of it only is computed with. What
    was made outside is not changed: it would carry a derivative out of the transform. It comes to be around arrays
    where the values, among `tensors`, are, so that it has their face.
    """
    owner = base_of(target)
    owner = target if owner is None else owner
    inside = () if owner._extra is None else owner._extra.made_in
    if not any(run.level == level for run in cuts.runs() if run in inside):
        return False
    # A base that requires grad does not know its views, which have its counter: it and the call here hold that twice.
    if owner._requires_grad and owner._counter is not None and sys.getrefcount(owner._counter) > 2:
        return False
    views = live_views(owner)
    plain = all(memory_of(x._array) is x._array and not x._requires_grad for x in (owner, *views))
    if any(x._requires_grad or (memory_of(x._array) is None and x._extra.steps is None) for x in views):  # type: ignore[union-attr]  # views have one
        return False  # what they share would be apart
    if plain and not any(_has_tensor_face(x) for x in tensors if x._level == level):
        for x in (owner, *views):
            x._level = level
        return True
    before = _within(owner, level)
    extra_of(before).made_in = inside
    for view in views:
        make_view(lower := _within(view, level), before)
        lower._extra.steps = view._extra.steps  # type: ignore[union-attr]  # views have one
    return True


def _has_tensor_face(x: Any) -> bool:
    """True if the innermost array is a Tensor outside of all transforms."""
    while (inside := array_type(x).values(x)) is not x:
        if isinstance(x, Tensor) and not x._level:
            return True
        x = inside
    return False


def _within(x: Tensor, level: int) -> Tensor:
    """Lift `x` itself to `level`, around a tensor like what it was, which is returned."""
    before = _as_it_was(x, copy=False)
    before._counter = counter_of(x)
    hold(x, before)
    x._level, x._fn, x._requires_grad = level, None, False
    return before


def with_room(
    op: Operator, args: Sequence[Any], target: Tensor, level: int, tensors: Sequence[Tensor]
) -> Sequence[Any]:
    """The arguments, with a target that can hold what the array types among them compute."""
    kind = type_of([x._array for x in tensors if x._level == level])
    return adapt(op, args, level, tensors) if kind.prepare_target(op.inplace_name, target, args, level) else args


def values_before(op: Operator, target: Tensor, args: Sequence[Any]) -> list[Any]:
    """The arguments as the node saves them: the target, and what shares its memory, with the values they had before."""
    given = list(args)
    before = None
    counter = counter_of(target)
    for place, (position, _) in enumerate(op.tensors):
        x = args[position]
        if x is target:
            if before is None:
                others = op.tensors[1:]
                before = _as_it_was(target, copy=op.saves_self or any(args[p] is target for p, _ in others))
            given[position] = before
        elif place and isinstance(x, Tensor) and x._counter is counter:
            given[position] = _as_it_was(x, copy=True)
        else:
            edge_to(x)  # raises for a view that is of no use any more: now, and not when something was written
    for position, _ in op.lists:
        for x in args[position]:
            edge_to(x)
    if any(_made_in_inference(y) for x in args for y in (x if type(x) in (list, tuple) else (x,))):
        op.record(wrap(target._array, target._level), *given)  # type: ignore[misc]  # raises if it saves that: now too
    return given


def _made_in_inference(x: Any) -> bool:
    return isinstance(x, Tensor) and type(x._counter) is InferenceCounter


def _as_it_was(target: Tensor, copy: bool) -> Tensor:
    """`target` before the write, as the argument that the node saves: same place in the graph, old value."""
    data = target._array
    before = wrap(array_type(data).copy(data) if copy else data, target._level)
    before._fn = edge_to(target)
    before._requires_grad = before._fn is not None
    return before


def write_result(op: Operator, target: Tensor, result: Any, records: bool = True) -> None:
    """Write what `op` has computed into the array of `target`."""
    data: Any = target._array
    if not issubclass(type(data), ndarray):
        if np.shape(result) != data.shape:
            raise shape_error(op.inplace_name, data, np.shape(result))
        replace(target, assigned(op.inplace_name, data, result))
        return
    write_array(op.inplace_name, data if data.flags.writeable else once_in_memory(op, target, records), result)


def assigned(name: str, data: Any, value: Any) -> Any:
    """Return the result of the in-place operator of that name: the array `data`, written into, or what replaces it."""
    described = array_type(data)
    if described.rank == STORED and described.memory(data) is not None:
        value = constant_part(value)
        if isinstance(value, Tensor):
            raise outer_derivative_error(name)
    return described.assign(name, data, value)


def outer_derivative_error(name: str) -> InplaceError:
    """The error for a value whose derivative the memory of an array cannot hold."""
    return InplaceError(
        f"{name} would write a value that an outer transform is differentiating into an array, which cannot hold "
        "its derivative. Use the out-of-place form."
    )


def replace(target: Tensor, now: Any) -> None:
    """Let `target` be around its array after a write: another one, where the type has no memory (a tracer)."""
    if now is not target._array:
        target._array = now
        spread_write(target)


def write_array(name: str, data: ndarray, result: Any) -> None:
    """Write what the in-place operator of that name has computed into an ndarray."""
    if type(result) in REGISTERED:
        if data.dtype.kind in "fc" and carries_derivative(result):
            raise outer_derivative_error(name)
        result = array_type(result).values(result)  # into whole numbers, which have no derivative
    if isinstance(result, Tensor):
        raise outer_derivative_error(name)
    if type(result) in REGISTERED:
        result = read(result, f"{name}, which writes into an ndarray,")
    check_writeable(name, data)
    if np.shape(result) != data.shape:
        raise shape_error(name, data, np.shape(result))
    dtype = np.asarray(result).dtype
    if not np.can_cast(dtype, data.dtype, casting="same_kind"):
        raise dtype_error(name, dtype, data.dtype)
    np.copyto(data, result, casting="same_kind")


def check_writeable(name: str, data: ndarray, of_expanded: bool = False) -> None:
    """Refuse to write into a read-only array; `of_expanded`: it may be a part of what expand() has given."""
    if data.flags.writeable:
        return
    if of_expanded or overlaps_itself(data):
        raise ReadOnlyError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location: "
            f"{name} cannot write into a read-only array, such as expand() gives, where one place in memory stands for "
            "many elements: call clone() first, as in x.expand(...).clone(), and take slices of that."
        )
    raise ReadOnlyError(
        f"assignment destination is read-only: {name} cannot write into an array that NumPy gives for reading alone, "
        "such as x.diagonal(), or that setflags(write=False) closed: write into x by an index "
        "(np.fill_diagonal(x, v)), or into a copy."
    )


def once_in_memory(op: Operator, target: Tensor, records: bool, index: Any = ()) -> ndarray:
    """A writeable array in the place of a read-only one, such as expand() gives, if the write changes no place twice.

    A row of x.expand(n, 3) is one, though other rows show it too. In a graph its gradient is another matter.
    """
    base, data = base_of(target), cast("ndarray", target._array)
    index = index if isinstance(index, tuple) else (index,)
    basic = all(i is None or i is ... or type(i) in (int, slice) for i in index)
    expanded = type(target) is Tensor and base is not None and type(base._array) is ndarray
    expanded = expanded and base._array.flags.writeable  # type: ignore[union-attr]
    if expanded and not records and basic:
        place = data[index if ... in index else (*index, ...)]
        if not overlaps_itself(place):
            data = data.view()
            data.flags.writeable = True
    check_writeable(op.inplace_name, data, expanded)
    return data


def shape_error(name: str, data: Any, shape: Shape) -> OperatorError:
    """The error for a result whose shape is not that of the target."""
    return OperatorError(
        f"{name}: output with shape {tuple(data.shape)} doesn't match the broadcast shape {tuple(shape)}; an "
        "in-place operator cannot change the shape."
    )


def dtype_error(name: str, dtype: Any, held: Any) -> DtypeError:
    """The error for a result that the dtype of the target cannot hold."""
    return DtypeError(
        f"{name}: result type {dtype} can't be cast to the desired output type {held}, the tensor's dtype; use the "
        "out-of-place form."
    )


# -- out= --------------------------------------------------------------------------------------------------------------
def out_targets(name: str, out: Any) -> Sequence[Any]:
    """The Tensors given as `out`."""
    targets = out if isinstance(out, (tuple, list)) else (out,)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(out=...) must be a Tensor, got {type_name(target)}.")
    return targets


def refuse_graph(name: str, from_graph: bool, targets: Sequence[Tensor]) -> None:
    """Refuse a write that would have to be recorded."""
    if modes.current().records(0) and (from_graph or any(map(_in_graph, targets))):
        raise GradientError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad. Omit out=, or call it under no_grad()."
        )
    for target in targets:
        refuse_inference(target, f"{name}(out=...)")


def _in_graph(target: Tensor) -> bool:
    """True if a change of the target would have to be recorded."""
    return target._requires_grad or (target._base is not None and target._base._requires_grad)


def refuse_tangents(name: str, arrays: Sequence[Any]) -> None:
    """Refuse arguments whose tangent would be lost."""
    if any(map(carries_derivative, arrays)):
        raise GradientError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function: "
            f"{name}(): functions with out=... arguments don't support forward-mode differentiation, but one of the "
            "arguments has a tangent. Omit out=, or write t.detach()."
        )


def check_out(name: str, targets: Sequence[Tensor], results: Sequence[Any], out: Any) -> None:
    """Refuse, before anything is written, what cannot hold the results: in number, shape, dtype or memory."""
    if len(targets) != len(results):
        given = f"a tuple of {len(out)} Tensors" if isinstance(out, (tuple, list)) else "one Tensor"
        wanted = f"a tuple of {len(results)} Tensors" if len(results) > 1 else "one Tensor"
        raise TypeError(f"{name}(out=...) must be {wanted}, got {given}.")
    for target, result in zip(targets, results, strict=True):
        memory = memory_of(target)
        strides = () if memory is None else memory.strides
        if target.size and any(step == 0 and n > 1 for step, n in zip(strides, target.shape, strict=False)):
            raise OperatorError(
                f"{name}(out=...): several elements of out (shape {tuple(target.shape)}) share one place in memory; "
                "give a clone() of it."
            )
        shape, dtype = np.shape(result), getattr(result, "dtype", None) or np.asarray(result).dtype
        if shape != target.shape:
            raise OperatorError(
                f"{name}(out=...): the result has shape {tuple(shape)}, but out has {tuple(target.shape)}, and the "
                f"memory of an array has a fixed size; give out=pullback.empty({tuple(shape)})."
            )
        if not np.can_cast(dtype, target.dtype, casting="same_kind"):
            raise OperatorError(
                f"{name}(out=...): result type {dtype} can't be cast to the dtype {target.dtype} of out; give out a "
                f"dtype that can hold it, such as {dtype}."
            )
