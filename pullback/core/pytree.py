"""Trees of arrays: nested dicts, lists and tuples taken apart and put together again."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, TypeAlias

Tree: TypeAlias = Any  # a leaf, None, or a dict, list or tuple of trees
# None, the number of a leaf, or (dict or list, the class of the container, its parts).
Structure: TypeAlias = Any


def flatten(tree: Tree) -> tuple[list[Any], Structure]:
    """(leaves in order, structure). Dicts go by sorted keys when they can be sorted, else in their own order."""
    leaves: list[Any] = []
    return leaves, _take_apart(tree, leaves, ())


class _Like:
    """Stands for a class whose containers are not made of their items alone: makes others as a copy is made."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Like) and type(self.tree) is type(other.tree)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, items: Any) -> Any:
        kind = type(self.tree)
        if isinstance(self.tree, tuple):
            made = tuple.__new__(kind, items)
            if hasattr(self.tree, "__dict__"):
                vars(made).update(vars(self.tree))
            return made
        made = copy.copy(self.tree)
        if type(made) is not kind:
            raise TypeError(f"a {kind.__name__} cannot be rebuilt with other leaves; pass a dict, list or tuple.")
        if isinstance(made, dict):
            dict.update(made, items)
        else:
            list.__setitem__(made, slice(None), items)
        return made


_PLAIN = frozenset({dict, list, tuple, OrderedDict})


def _kind(tree: Any) -> Any:
    kind = type(tree)
    return kind if kind in _PLAIN or (isinstance(tree, tuple) and hasattr(kind, "_fields")) else _Like(tree)


def _take_apart(tree: Tree, leaves: list[Any], around: tuple[int, ...]) -> Structure:
    if isinstance(tree, (dict, list, tuple)):
        if id(tree) in around:
            raise TypeError(f"a {type(tree).__name__} contains itself, so it is not a tree of arrays.")
        around = (*around, id(tree))
        if isinstance(tree, dict):
            return dict, _kind(tree), {key: _take_apart(value, leaves, around) for key, value in tree.items()}
        return list, _kind(tree), [_take_apart(value, leaves, around) for value in tree]
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
