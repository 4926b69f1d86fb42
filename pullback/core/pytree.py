"""Trees of arrays: nested dicts, lists and tuples taken apart and put together again."""

from __future__ import annotations

from typing import Any, TypeAlias

Tree: TypeAlias = Any  # a leaf, None, or a dict, list or tuple of trees
# None, the number of a leaf, or (dict or list, the class of the container, its parts).
Structure: TypeAlias = Any


def flatten(tree: Tree) -> tuple[list[Any], Structure]:
    """(leaves in order, structure). Dicts go by sorted keys when they can be sorted, else in their own order."""
    leaves: list[Any] = []
    return leaves, _take_apart(tree, leaves)


def _take_apart(tree: Tree, leaves: list[Any]) -> Structure:
    if isinstance(tree, dict):
        return dict, type(tree), {key: _take_apart(value, leaves) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return list, type(tree), [_take_apart(value, leaves) for value in tree]
    if tree is None:
        return None
    leaves.append(tree)
    return len(leaves) - 1


def unflatten(structure: Structure, leaves: list[Any]) -> Tree:
    """The tree of this structure with other leaves."""
    if structure is None:
        return None
    if isinstance(structure, int):
        return leaves[structure]
    sort, kind, parts = structure
    if sort is dict:
        return kind((key, unflatten(part, leaves)) for key, part in parts.items())
    items = [unflatten(part, leaves) for part in parts]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)
