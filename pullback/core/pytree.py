"""Trees of arrays: nested dicts, lists and tuples taken apart and put together again."""

from __future__ import annotations

from collections.abc import Iterator
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


def paths_of(structure: Structure) -> Iterator[str]:
    """How each leaf is reached from the tree, in order: "['w'][0]"."""
    if isinstance(structure, int):
        yield ""
    elif structure is not None:
        parts = structure[2]
        for key, part in parts.items() if isinstance(parts, dict) else enumerate(parts):
            yield from (f"[{key!r}]{rest}" for rest in paths_of(part))
