"""Results of composites: written into an existing tensor (in place, `out=`) or returned as a new one."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.devices import device_name
from pullback.core.tensor import Tensor, mark_inference, note_made, set_requires_grad
from pullback.dispatch.operator import OPERATORS, Operator
from pullback.dispatch.pipeline import inplace
from pullback.dispatch.steps import wrap_result
from pullback.dispatch.targets import check_out, dtype_error, out_targets, refuse_graph, refuse_tangents, shape_error


def created(out: Any, device: Any, requires_grad: bool) -> Tensor:
    """A freshly made tensor with the options that every creation function takes."""
    device_name(device)
    state = modes.current()
    if not isinstance(out, Tensor):
        out = wrap_result(out, 0)  # formulas of every level make constants this way
    if state.inference:
        mark_inference(out)
    note_made(out)
    return out if requires_grad is False else set_requires_grad(out, requires_grad)


def assign(target: Tensor, value: Any, name: str) -> Tensor:
    """Write the result of a composite operator into `target`, which is returned; `name` is what the user called."""
    if isinstance(target, Tensor):
        if np.shape(value) != target.shape:
            raise shape_error(name, target, np.shape(value))
        dtype = value.dtype if isinstance(value, Tensor) else np.asarray(value).dtype
        if not np.can_cast(dtype, target.dtype, casting="same_kind"):
            raise dtype_error(name, dtype, target.dtype)
    return copy_into(target, value, name)


def assign_out(out: Any, values: Any, name: str) -> Any:
    """Write what a composite operator has computed into `out`, which is returned."""
    results = values if isinstance(values, (tuple, list)) else (values,)
    targets = out_targets(name, out)
    refuse_graph(name, any(isinstance(v, Tensor) and v._requires_grad for v in results), targets)
    refuse_tangents(name, [v._array for v in (*results, *targets) if isinstance(v, Tensor)])
    check_out(name, targets, results, out)
    for target, value in zip(targets, results, strict=True):
        copy_into(target, value, f"{name}(out=...)")
    return out


def copy_into(target: Tensor, value: Any, name: str) -> Tensor:
    """Copy a value into `target`, which is returned; errors and graphs show it as the operator `name`."""
    return inplace(_copying(name), (target, value))  # type: ignore[no-any-return]


@cache
def _copying(name: str) -> Operator:
    """The operator `copy`, under the name of the one that makes the values."""
    made = copy(OPERATORS["copy"])
    made.name = made.shown = made.inplace_name = name
    return made
