"""Places where upper floors register what the core must call but cannot know.

`pullback.autograd` and `pullback.ops` fill these when they are imported; until then each raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _unfilled(*_: object) -> NoReturn:
    raise RuntimeError("pullback is not fully imported: use `import pullback`, not one of its inner modules alone.")


# (view) -> Node, Port or None: the function of a view whose base may have changed
refresh_view: Callable[..., Any] = _unfilled
# (node, grads) -> tuple of Tensors: run one node by hand
call_node: Callable[..., tuple[Any, ...]] = _unfilled
# (tensor, operator name, whether a node is recorded): raises where an in-place operation is not allowed
check_inplace: Callable[..., None] = _unfilled
# (node, name) -> what the node saved under that name, as a user sees it
show_saved: Callable[..., Any] = _unfilled
# (tensor, node, its function before, operator name): the tensor was modified in place by that node
rebase_history: Callable[..., None] = _unfilled
# (tensor, node): the tensor has become the view of itself that this node made
continue_history: Callable[..., None] = _unfilled
