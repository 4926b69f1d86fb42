"""In-place operators that write nothing, but make a tensor another view of its memory: `squeeze_`, `t_`, `as_strided_`.

The tensor takes over the array that the out-of-place operator makes of it, and that operator's node. Its version moves
although no number has changed, because a node that saved it would find another shape. Its base, and the views of it,
stay what they are: they find each other by their places in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import modes
from pullback.core.array_type import array_type
from pullback.core.errors import InplaceError, type_name
from pullback.core.tensor import Tensor, wrap
from pullback.core.version import bump, counter_of
from pullback.graph.inplace_nodes import continue_history
from pullback.graph.inplace_rules import check_inplace
from pullback.graph.node import edge_to
from pullback.graph.replay import follow_base


def become_view(target: Tensor, name: str, function: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Make `target` itself the view `function(target, *args, **kwargs)`; `name` is the operator's. Returns `target`."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}_ changes the shape of a Tensor, got {type_name(target)}.")
    records = target._requires_grad and modes.current().records(target._level)
    check_inplace(target, f"{name}_", records)
    array_type(target._array).become_view(f"{name}_", target)
    # What is computed gets a node in every mode, for its function gives gradients of the old shape.
    computed = target._requires_grad and target.grad_fn is not None
    if target._requires_grad and not computed:
        _check_nothing_leads_here(target, name)
    before = wrap(target._array, target._level)
    before._counter = counter_of(target)
    if computed:
        before._fn, before._requires_grad = edge_to(target), True
    state = modes.current()
    outside = modes.set_modes(state.with_inference(False)) if computed and not state.records(target._level) else state
    try:
        after = function(before, *args, **kwargs)
    finally:
        modes.restore(outside)
    bump(target, f"{name}_")
    target._array = after._array
    extra = target._extra
    if extra is not None:
        steps = after._extra.steps if after._extra is not None else None
        if extra.steps is not None:
            extra.steps = None if steps is None else (*extra.steps, *steps)
        elif extra.views:
            follow_base(target, steps)
    if computed:
        continue_history(target, after._fn)
    return target


def _check_nothing_leads_here(target: Tensor, name: str) -> None:
    """Refuse a change of shape that a gradient on its way to `target` would not know of."""
    extra = target._extra
    if extra is None:
        return
    if extra.grad is not None or (extra.accumulator is not None and extra.accumulator() is not None):
        held = "its .grad has" if extra.grad is not None else "a graph recorded before leads to it in"
        raise InplaceError(
            f"{name}_: this leaf requires grad, and {held} the old shape. Set .grad = None and let go of what was "
            "computed from it first, or use the out-of-place form."
        )
