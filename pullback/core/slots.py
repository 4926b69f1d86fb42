"""Places where upper floors register what the core must call but cannot know.

`pullback.autograd` and `pullback.ops` fill these when they are imported; until then each raises.
"""


def _unfilled(*_):
    raise RuntimeError("pullback is not fully imported: use `import pullback`, not one of its inner modules alone.")


refresh_view = _unfilled  # (view) -> Node, Port or None: the function of a view whose base may have changed
call_node = _unfilled  # (node, grads) -> tuple of Tensors: run one node by hand
check_inplace = _unfilled  # (tensor, operator name): raises where an in-place operation is not allowed
show_saved = _unfilled  # (node, name) -> what the node saved under that name, as a user sees it
rebase_history = _unfilled  # (tensor, node, operator name): the tensor was modified in place by that node
