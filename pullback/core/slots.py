"""Slots: functions of upper layers that the core must call, which those layers register here.

`pullback.graph`, `pullback.autograd` and `pullback.ops` fill these when they are imported; until then each raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _unfilled(*_: object) -> NoReturn:
    raise RuntimeError("pullback is not fully imported: use `import pullback`, not one of its inner modules alone.")


# (view) -> Node, OutputEdge or None: the function of a view whose base may have changed
refresh_view: Callable[..., Any] = _unfilled
# (node, grads) -> tuple of Tensors: run one node by hand
call_node: Callable[..., tuple[Any, ...]] = _unfilled
# (node, name) -> what the node saved under that name, as a user sees it
show_saved: Callable[..., Any] = _unfilled
# (node, name) -> what the node saved under that name, not unpacked, for hooks of its own
raw_saved: Callable[..., Any] = _unfilled
# (tensor): a computed tensor is about to lose its function or its memory; its views must keep theirs
part_from_views: Callable[..., None] = _unfilled
# (error): tells, with an error that came out of a formula, which formula it was
formula_failed: Callable[[Exception], None] = _unfilled
# () -> (the tangent functions, the inputs that they ignore), both by operator: see dispatch.tangent_rules
tangents: Callable[[], Any] = _unfilled
# (operator, class) -> what runs it in the common case on Arrays or Scalars, or None: see ops.array_calls
array_call: Callable[..., Any] = _unfilled
# (function of NumPy or SciPy, rule) -> a block in which calls of the function on our tensors run the rule
replaced: Callable[..., Any] = _unfilled
# (error) -> error: that of another library about one of our tensors in our words, any other as it is
explain_foreign: Callable[[Exception], Exception] = _unfilled
# () -> a context manager in which `adopt()` is in force, or None where it is already
adopt_meanwhile: Callable[..., Any] = _unfilled
# (value) -> the function or module of another library for which `adopt()` has put it, or the value itself
genuine: Callable[[Any], Any] = _unfilled
