"""Places where upper floors register what the core must call but cannot know.

`pullback.autograd` and `pullback.ops` fill these when they are imported; until then each raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _unfilled(*_: object) -> NoReturn:
    raise RuntimeError("pullback is not fully imported: use `import pullback`, not one of its inner modules alone.")


refresh_view: Callable[..., Any] = _unfilled  # (view) -> Node, Port or None: the function of a view whose base may have changed
call_node: Callable[..., Any] = _unfilled  # (node, grads) -> tuple of Tensors: run one node by hand
check_inplace: Callable[..., None] = _unfilled  # (tensor, operator name): raises where an in-place operation is not allowed
show_saved: Callable[..., Any] = _unfilled  # (node, name) -> what the node saved under that name, as a user sees it
rebase_history: Callable[..., None] = _unfilled  # (tensor, node, operator name): the tensor was modified in place by that node
