"""In-place operators and `out=`: writing into the memory of a tensor that exists already.

An in-place operator on `self` runs the out-of-place operator's kernel, writes the result into `self`, moves the
version, and makes the new node the function of `self`. Where that is not allowed, and what it means for views, is
autograd's business: see `core.slots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.core import modes, slots
from pullback.core.dispatch import NUMPY, Operator, is_constant, raw_arguments, run_kernel, survey
from pullback.core.errors import GradientError, InplaceError, OperatorError
from pullback.core.instruments import run_operator
from pullback.core.node import port
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Shape
from pullback.core.version import bump, counter_of


def inplace(op: Operator, args: Sequence[Any]) -> Any:
    """Run `op` and write its result into its first argument, which is returned."""
    state = modes.current()
    if op.quick and state.plain and _inplace_unrecorded(op, args, state):
        return args[0]
    if state.instruments:
        return run_operator(state.instruments, op.inplace_name, args, partial(_inplace_any, op, args))
    return _inplace_any(op, args)


def _inplace_any(op: Operator, args: Sequence[Any]) -> Any:
    target, level, records = _prepare(op, args)
    raws, lifted = raw_arguments(op, args, level)
    before = _as_it_was(target, copy=op.saves_self) if records else None
    if isinstance(target._array, Tensor):
        inplace(op, raws)  # at the lower level too, where the views of this tensor must see it
    elif type(target._array) is ndarray and f"{op.kernel}_" in NUMPY.kernels:
        _check_writeable(op, target._array)
        run_kernel(op, raws, args, f"{op.kernel}_")  # writes into the array itself
    else:
        _write(op, target, run_kernel(op, raws, args))
    bump(target, op.inplace_name)
    if records:
        _record(op, target, before, lifted)
    return target


def _inplace_unrecorded(op: Operator, args: Sequence[Any], state: modes.Modes) -> bool:
    """The common case of an optimiser's update, a ufunc on arrays that records nothing; says whether it was one."""
    kernel = NUMPY.kernels[op.kernel]
    target = args[0]
    if type(kernel) is not np.ufunc or type(target) is not Tensor:
        return False
    level, extra = target._level, target._extra
    recording = state.records_all or state.records(level)
    if extra is not None and (extra.inference or (recording and extra.base is not None)):
        return False
    raws = list(args)
    for position, _ in op.tensors:
        x = args[position]
        if type(x) is Tensor:
            if x._level != level or (recording and x._requires_grad):
                return False
            raws[position] = x._array
        elif not is_constant(x):
            return False
    data: Any = target._array
    if not data.flags.writeable:
        return False
    try:
        kernel(*raws, out=data)
    except (TypeError, ValueError):
        return False  # nothing was written; the general way says what is wrong
    bump(target, op.inplace_name)
    return True


def mutate(op: Operator, args: Sequence[Any]) -> Tensor:
    """Run an operator whose kernel itself writes into its first argument, which is returned."""
    instruments = modes.current().instruments
    if instruments:
        return run_operator(instruments, op.name, args, partial(_mutate_any, op, args))  # type: ignore[no-any-return]
    return _mutate_any(op, args)


def _mutate_any(op: Operator, args: Sequence[Any]) -> Tensor:
    target, level, records = _prepare(op, args)
    raws, lifted = raw_arguments(op, args, level)
    before = _as_it_was(target, copy=op.saves_self) if records else None
    run_kernel(op, raws, args)
    bump(target, op.name)
    if records and op.record is not None:
        _record(op, target, before, lifted)
    return target


def _prepare(op: Operator, args: Sequence[Any]) -> tuple[Tensor, int, bool]:
    """(target, level, whether a node is recorded) after all checks."""
    target = args[op.tensors[0][0]]
    if not isinstance(target, Tensor):
        raise TypeError(f"{op.name}_ writes into a Tensor, got {type(target).__name__}.")
    level, tensors = survey(op, args)
    if target._level != level:
        raise InplaceError(
            f"{op.name}_ would write a value that is being differentiated (level {level}) into a tensor of level "
            f"{target._level}, which cannot hold its derivative. Use the out-of-place form."
        )
    wanted = any(t._requires_grad and t._level == level for t in tensors)
    wanted = wanted and target._array.dtype.kind in "fc"  # whole numbers have no derivative
    records = op.record is not None and wanted and modes.current().records(level)
    slots.check_inplace(target, op.name, records)
    for instrument in modes.current().instruments:
        instrument.mutating(target, op.name)
    return target, level, records


def _as_it_was(target: Tensor, copy: bool) -> Tensor:
    """`target` before the write, as the argument that the node saves: same place in the graph, old value."""
    data = target._array
    if copy and isinstance(data, (ndarray, Tensor)):
        data = data.copy() if isinstance(data, ndarray) else data.clone()
    before = wrap(data, target._level)
    before._fn = port(target)
    before._requires_grad = before._fn is not None
    return before


def _write(op: Operator, target: Tensor, result: Any) -> None:
    data = target._array
    if not isinstance(data, ndarray):
        if result.shape != data.shape:
            raise _shape_error(op, data, result.shape)
        target._array = result  # an array without memory of its own (a tracer) is replaced
        return
    _check_writeable(op, data)
    if np.shape(result) != data.shape:
        raise _shape_error(op, data, np.shape(result))
    dtype = np.asarray(result).dtype
    if not np.can_cast(dtype, data.dtype, casting="same_kind"):
        raise OperatorError(
            f"{op.name}_: result type {dtype} can't be cast to the tensor's dtype {data.dtype}; use the out-of-place "
            "form."
        )
    np.copyto(data, result, casting="same_kind")


def _check_writeable(op: Operator, data: ndarray) -> None:
    if not data.flags.writeable:
        raise InplaceError(
            f"{op.name}_ cannot write into a read-only array (a broadcast view has one memory for many elements); "
            "work on a clone()."
        )


def _shape_error(op: Operator, data: Any, shape: Shape) -> OperatorError:
    return OperatorError(
        f"{op.name}_: output with shape {tuple(data.shape)} doesn't match the broadcast shape {tuple(shape)}; an "
        "in-place operator cannot change the shape."
    )


def _record(op: Operator, target: Tensor, before: Any, lifted: Sequence[Any]) -> None:
    """Make a node of the write the function of `target`."""
    out = wrap(target._array, target._level)
    out._counter = counter_of(target)
    args = [before if x is target else x for x in lifted]
    op.record(out, *args)  # type: ignore[misc]  # where there is none nothing is recorded
    for instrument in modes.current().instruments:
        instrument.recorded(out._fn.node(), target._level)
    slots.rebase_history(target, out._fn, before._fn, f"{op.name}_")


def assign(target: Tensor, value: Any) -> Tensor:
    """Write `value` into `target` as in-place operators do; returns it."""
    return target.copy_(value)  # type: ignore[no-any-return]


def write_out(op: Operator, args: Sequence[Any], out: Any) -> Any:
    """Run `op` and write its result into `out`, which is returned; nothing is recorded."""
    from_graph = [a for a in survey(op, args)[1] if a._requires_grad]
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for target in outs:
        if not isinstance(target, Tensor):
            raise TypeError(f"{op.name}(out=...) must be a Tensor, got {type(target).__name__}.")
    touched = any(o._requires_grad or (o._is_view() and o._base._requires_grad) for o in outs)
    if modes.current().records(0) and (from_graph or touched):
        raise GradientError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad. Leave out= away, or call it under no_grad()."
        )
    raws, _ = raw_arguments(op, args, 0)
    results = run_kernel(op, raws, args)
    for target, result in zip(outs, results if op.multi else (results,), strict=True):
        for instrument in modes.current().instruments:
            instrument.mutating(target, op.name)
        _write(op, target, result)
        bump(target, f"{op.name}(out=...)")
    return out
