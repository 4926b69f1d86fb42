"""Trees of arrays: taken apart, mapped, put together again, and classes of one's own among their containers."""

from pullback.core.pytree import TreeSpec, register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_unflatten
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["TreeSpec", "register_pytree_node", "tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]

__getattr__ = _getter(__name__, _HOMES)
