"""`out=`: results go into tensors that exist already. Nothing is recorded, so nothing there may require grad."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_type import carries_derivative, memory_of
from pullback.core.errors import GradientError, OperatorError, type_name
from pullback.core.tensor import Tensor
from pullback.core.version import bump
from pullback.dispatch.mutation import copy_into, run_watched, write_result
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import flat_arguments, raw_arguments, run_kernel, survey


def write_out(op: Operator, args: Sequence[Any], out: Any) -> Any:
    """Run `op` and write its result into `out`, which is returned."""
    instruments = modes.current().instruments
    if instruments:
        return run_watched(instruments, op.name, args, partial(_write_out, op, args, out))
    return _write_out(op, args, out)


def _write_out(op: Operator, args: Sequence[Any], out: Any) -> Any:
    from_graph = any(a._requires_grad for a in survey(op, args)[1])
    targets = _targets(op.shown, out)
    _refuse_graph(op.shown, from_graph, targets)
    raws, _ = raw_arguments(op, args, 0)
    _refuse_tangents(op.shown, list(flat_arguments(op, raws)))
    results = run_kernel(op, raws, args)
    results = results if op.multi is not None or op.returns_list else (results,)
    _check_fit(op.shown, targets, results, out)
    for target, result in zip(targets, results, strict=True):
        for instrument in modes.current().instruments:
            instrument.mutating(target, op.name)
        write_result(op, target, result)
        bump(target, f"{op.shown}(out=...)")
    return out


def assign_out(out: Any, values: Any, name: str) -> Any:
    """Write what a composite operator has computed into `out`, which is returned."""
    results = values if isinstance(values, (tuple, list)) else (values,)
    targets = _targets(name, out)
    _refuse_graph(name, any(isinstance(v, Tensor) and v._requires_grad for v in results), targets)
    _refuse_tangents(name, [v._array for v in results if isinstance(v, Tensor)])
    _check_fit(name, targets, results, out)
    for target, value in zip(targets, results, strict=True):
        copy_into(target, value, f"{name}(out=...)")
    return out


def _targets(name: str, out: Any) -> Sequence[Any]:
    targets = out if isinstance(out, (tuple, list)) else (out,)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(out=...) must be a Tensor, got {type_name(target)}.")
    return targets


def _refuse_graph(name: str, from_graph: bool, targets: Sequence[Tensor]) -> None:
    """Refuse a write that would have to be recorded."""
    if modes.current().records(0) and (from_graph or any(map(_in_graph, targets))):
        raise GradientError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad. Leave out= away, or call it under no_grad()."
        )


def _in_graph(target: Tensor) -> bool:
    """Whether a change of the target would have to be recorded."""
    return target._requires_grad or (target._base is not None and target._base._requires_grad)


def _refuse_tangents(name: str, arrays: Sequence[Any]) -> None:
    if any(map(carries_derivative, arrays)):
        raise GradientError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function: "
            f"{name}(): functions with out=... arguments don't support forward-mode differentiation, but one of the "
            "arguments has a tangent. Leave out= away, or write t.detach()."
        )


def _check_fit(name: str, targets: Sequence[Tensor], results: Sequence[Any], out: Any) -> None:
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
