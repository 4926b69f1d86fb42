"""Trees of arrays: nested containers taken apart into leaves and put together again.

Containers are dict, list, tuple, namedtuples, their subclasses, and the classes that users register; None is an empty
one. Everything else is a leaf. A container comes back in its own class, with what it holds beside its items.
"""

from __future__ import annotations

import contextlib
import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from pullback.core.array_type import is_array, numbers_of
from pullback.core.errors import type_name, with_article
from pullback.core.tensor import Tensor

Tree: TypeAlias = Any  # a leaf, None, or a container of trees
# None, the number of a leaf, or (dict or list, what makes the container from its items, their structures).
Structure: TypeAlias = Any
Flatten: TypeAlias = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten: TypeAlias = Callable[[list[Any], Any], Any]

_PLAIN = frozenset({dict, list, tuple, OrderedDict})
_SURE = frozenset({np.ndarray, Tensor})  # leaves beyond doubt
_LEAVES = (Tensor, np.ndarray, np.generic, int, float, complex, str, bytes, type(None))
_REGISTERED: dict[type, tuple[Flatten, Unflatten]] = {}


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten) -> None:
    """Make a class a container of trees, for everything that takes trees: `func.grad`, `func.jvp`, `checkpoint`, ...

    Parameters
    ----------
    cls : class
        It alone: a subclass is another class, and registered for itself. Not the class of an array or a number.
    flatten_fn : callable
        Of an instance: gives (children, context), the trees in it in order and what else makes it up. Contexts of
        equal structures are equal.
    unflatten_fn : callable
        Of (children, context): gives an instance with those children, which may be arrays of another type, Tensors,
        or anything that stands for an array meanwhile. So it should look into none of them.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        The class is registered already, or is one of Python's containers.
    TypeError
        `cls` is not a class, its instances are leaves, or the functions are not callable.

    Examples
    --------
    >>> import numpy as np
    >>> from pullback.utils.pytree import register_pytree_node
    >>> class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    >>> register_pytree_node(Line, lambda x: ((x.slope, x.offset), None), lambda children, _: Line(*children))
    >>> gradient = pb.func.grad(lambda line: line.slope * 3 + line.offset)(Line(2.0, 1.0))
    >>> type(gradient).__name__, float(gradient.slope)
    ('Line', 3.0)
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node: cls must be a class, got {type_name(cls)}.")
    if issubclass(cls, _LEAVES):
        raise TypeError(f"register_pytree_node: a {cls.__name__} is a leaf, and cannot be a container too.")
    for name, given in (("flatten_fn", flatten_fn), ("unflatten_fn", unflatten_fn)):
        if not callable(given):
            raise TypeError(f"register_pytree_node: {name} must be callable, got {type_name(given)}.")
    if cls in _PLAIN or _REGISTERED.setdefault(cls, entry := (flatten_fn, unflatten_fn)) is not entry:
        raise ValueError(f"register_pytree_node: {cls.__name__} is registered already.")


class TreeSpec:
    """How a tree is built, without its leaves. Equal for trees that differ in their leaves alone.

    Parameters
    ----------
    Made by `tree_flatten`.

    Attributes
    ----------
    num_leaves : int

    Examples
    --------
    >>> from pullback.utils.pytree import tree_flatten
    >>> leaves, spec = tree_flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> spec
    TreeSpec({'w': [*['w'][0], *['w'][1]], 'b': *['b']})
    >>> spec.num_leaves, spec == tree_flatten({"w": [0.0, 0.0], "b": 0.0})[1]
    (3, True)
    """

    __slots__ = ("_structure", "num_leaves")

    def __init__(self, structure: Structure, num_leaves: int) -> None:
        self._structure, self.num_leaves = structure, num_leaves

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._structure == other._structure

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        leaves = [_Shown(path) for path in paths_of(self._structure)]
        return f"TreeSpec({unflatten(self._structure, leaves)!r})"


class _Shown(str):
    """A path to a leaf, shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"*{self}"


def tree_flatten(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """(the leaves of a tree in order, how it is built).

    Parameters
    ----------
    tree : dict, list, tuple, or instance of a registered class, with trees in it; or a leaf
        Dicts go by sorted keys if these can be sorted, else in their own order, as an OrderedDict always does. None has
        no leaves.
    is_leaf : callable, optional
        Of each container: whether it is to be a leaf.

    Returns
    -------
    (list, TreeSpec)

    Raises
    ------
    TypeError
        A container contains itself.

    Examples
    --------
    >>> from pullback.utils.pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> leaves
    [3.0, 1.0, 2.0]
    >>> tree_unflatten([x + 1 for x in leaves], spec)
    {'w': [2.0, 3.0], 'b': 4.0}
    """
    leaves: list[Any] = []
    structure = _take_apart(tree, leaves, (), is_leaf)
    return leaves, TreeSpec(structure, len(leaves))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Tree:
    """The tree that is built as `treespec` says, with these leaves.

    Parameters
    ----------
    leaves : iterable
        As many as the tree has places for, in the order of `tree_flatten`.
    treespec : TreeSpec
        From `tree_flatten`.

    Returns
    -------
    tree

    Raises
    ------
    ValueError
        There are more leaves, or fewer, than it has places for.
    TypeError
        `leaves` is not an iterable, `treespec` is not a TreeSpec, or the function of a registered class gives something
        of another class.

    Examples
    --------
    >>> from pullback.utils.pytree import tree_flatten, tree_unflatten
    >>> _, spec = tree_flatten(("a", ["b", "c"]))
    >>> tree_unflatten([1, 2, 3], spec)
    (1, [2, 3])
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten: treespec must be what tree_flatten gave, got {type_name(treespec)}; leaves come first."
        )
    if not isinstance(leaves, Iterable):
        raise TypeError(f"tree_unflatten: the leaves are a list of what tree_flatten gave, got {type_name(leaves)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: the tree has {treespec.num_leaves} leaves, but {len(leaves)} were given.")
    return unflatten(treespec._structure, leaves)


def tree_leaves(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree in order.

    Parameters
    ----------
    tree : tree
    is_leaf : callable, optional
        Both as of `tree_flatten`.

    Returns
    -------
    list

    Raises
    ------
    TypeError
        A container contains itself.

    Examples
    --------
    >>> from pullback.utils.pytree import tree_leaves
    >>> tree_leaves({"w": [1.0, 2.0], "b": None})
    [1.0, 2.0]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_map(
    function: Callable[..., Any], tree: Tree, *rests: Tree, is_leaf: Callable[[Any], bool] | None = None
) -> Tree:
    """The tree with function(leaf, ...) in place of each leaf; further trees of the same structure give the rest.

    Parameters
    ----------
    function : callable
        Of as many leaves as there are trees.
    tree, *rests : tree
        Built alike.
    is_leaf : callable, optional
        As of `tree_flatten`.

    Returns
    -------
    tree
        Built as `tree`.

    Raises
    ------
    TypeError
        `function` cannot be called.
    ValueError
        The trees are built differently.

    Examples
    --------
    >>> from pullback.utils.pytree import tree_map
    >>> tree_map(lambda x, step: x - 0.5 * step, {"w": 2.0, "b": [1.0]}, {"w": 4.0, "b": [0.0]})
    {'w': 0.0, 'b': [1.0]}
    """
    if not callable(function):
        raise TypeError(f"tree_map: the function comes first, then the trees; got {type_name(function)}.")
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        further, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise ValueError(f"tree_map: the trees are built differently: {spec} and {other}.")
        columns.append(further)
    return unflatten(spec._structure, [function(*found) for found in zip(*columns, strict=True)])


def flatten(tree: Tree) -> tuple[list[Any], Structure]:
    """(leaves in order, structure): `tree_flatten` for the package's own use."""
    if type(tree) in _SURE:
        return [tree], 0
    leaves: list[Any] = []
    return leaves, _take_apart(tree, leaves, (), None)


class _Like:
    """Stands for a class whose containers are not made of their items alone: makes others as a copy is made."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        # Of a tuple what it holds beside its items is enough, and keeps no leaf alive.
        self.kind, self.beside = type(tree), None
        if isinstance(tree, tuple):
            self.tree, self.beside = None, dict(getattr(tree, "__dict__", ()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Like) and self.kind is other.kind

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, items: Any) -> Any:
        kind = self.kind
        if self.beside is not None:
            made = tuple.__new__(kind, items)  # not by the class, which may want other arguments
            if self.beside:
                vars(made).update(self.beside)
            return made
        made = copy.copy(self.tree)
        if type(made) is not kind:
            raise TypeError(f"a {kind.__name__} cannot be rebuilt with other leaves; pass a dict, list or tuple.")
        if isinstance(made, dict):
            dict.update(made, items)
        else:
            list.__setitem__(made, slice(None), items)
        return made


class _Registered:
    """Makes instances of a registered class."""

    def __init__(self, cls: type, unflatten_fn: Unflatten, context: Any) -> None:
        self.cls, self.unflatten, self.context = cls, unflatten_fn, context

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Registered) and self.cls is other.cls and self._same_context(other.context)

    __hash__ = None  # type: ignore[assignment]

    def _same_context(self, other: Any) -> bool:
        try:
            return _same(self.context, other)
        except (ValueError, RuntimeError) as error:  # the truth value of an array or Tensor, in a class of the user's
            raise TypeError(
                f"the contexts of two {self.cls.__name__} cannot be compared ({error}); let the flatten_fn give one "
                "whose == is True or False, or give the arrays in it as children."
            ) from error

    def __call__(self, items: list[Any]) -> Any:
        made = self.unflatten(items, self.context)
        if type(made) is not self.cls:
            name = self.cls.__name__
            raise TypeError(f"the unflatten_fn of {name} gave {type_name(made)}; it must make a {name} again.")
        return made


def _same(a: Any, b: Any) -> bool:
    """True if two contexts are equal; arrays in them are if their dtypes, shapes and numbers are, NaN for NaN."""
    if a is b:
        return True
    if is_array(a) or is_array(b):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        x, y = numbers_of(a), numbers_of(b)
        return x is not None and y is not None and bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))
    if type(a) is type(b) and type(a) in (list, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if type(a) is type(b) is dict:
        return a.keys() == b.keys() and all(_same(x, b[key]) for key, x in a.items())
    return bool(a == b)


def _kind(tree: Any) -> Any:
    return type(tree) if type(tree) in _PLAIN else _Like(tree)


def _take_apart(
    tree: Tree, leaves: list[Any], around: tuple[int, ...], is_leaf: Callable[[Any], bool] | None
) -> Structure:
    registered = _REGISTERED.get(type(tree))
    if registered is None and not isinstance(tree, (dict, list, tuple)):
        if tree is None:
            return None
    elif is_leaf is None or not is_leaf(tree):
        if id(tree) in around:
            raise TypeError(f"a {type(tree).__name__} contains itself, so it is not a tree of arrays.")
        around = (*around, id(tree))
        if registered is None and isinstance(tree, dict):
            return dict, _kind(tree), _items(tree, leaves, around, is_leaf)
        if registered is None:
            make, children = _kind(tree), list(tree)
        else:
            children, context = _children(tree, registered[0])
            make = _Registered(type(tree), registered[1], context)
        return list, make, [_take_apart(child, leaves, around, is_leaf) for child in children]
    leaves.append(tree)
    return len(leaves) - 1


def _items(
    tree: dict[Any, Any], leaves: list[Any], around: tuple[int, ...], is_leaf: Callable[[Any], bool] | None
) -> dict[Any, Structure]:
    """The structures of a dict's values, in its own order; the leaves are numbered in that of the keys."""
    found = dict(tree)
    keys: Iterable[Any] = list(found)
    if not isinstance(tree, OrderedDict):
        with contextlib.suppress(TypeError):  # of keys of several types
            keys = sorted(found)
    for key in keys:
        child = found[key]
        if type(child) in _SURE:  # at once, for there may be hundreds
            found[key] = len(leaves)
            leaves.append(child)
        else:
            found[key] = _take_apart(child, leaves, around, is_leaf)
    return found


def _children(tree: Any, flatten_fn: Flatten) -> tuple[list[Any], Any]:
    found = flatten_fn(tree)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Iterable):
        raise TypeError(
            f"the flatten_fn of {type(tree).__name__} must give a pair (children, context), got {type_name(found)}."
        )
    return list(found[0]), found[1]


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
    return kind(items)


def leaves_like(
    tree: Tree, structure: Structure, path: str = "", prefixes: tuple[type, ...] = ()
) -> Iterator[tuple[int, Any, str]]:
    """(number, leaf, path) of each leaf of a tree that is built as `structure` says; None may stand for a part of it.

    An instance of `prefixes` may stand for a part too, for each of its leaves. A list will do for a tuple. Raises a
    ValueError that begins with the path where it is built differently.
    """
    if tree is None:
        return
    if isinstance(structure, int):
        yield structure, tree, path
        return
    if isinstance(tree, prefixes):
        yield from ((number, tree, path + rest) for number, rest in _paths(structure))
        return
    if structure is None:
        raise ValueError(f"{path} must be None, got {with_article(tree)}.")
    sort, kind, parts = structure
    name = _name_of(kind)
    if sort is dict:
        keys = list(parts)
        if not isinstance(tree, dict) or tree.keys() != parts.keys():
            got = f"one with {list(tree)}" if isinstance(tree, dict) else with_article(tree)
            raise ValueError(f"{path} must be a {name} with the keys {keys}, got {got}.")
        children = [tree[key] for key in keys]
    else:
        keys = list(range(len(parts)))
        if type(tree) in _REGISTERED and type(tree).__name__ == name:
            children = _children(tree, _REGISTERED[type(tree)][0])[0]
        elif isinstance(tree, (list, tuple)) and not isinstance(kind, _Registered):
            children = list(tree)
        else:
            raise ValueError(f"{path} must be a {name} of {len(parts)}, got {with_article(tree)}.")
        if len(children) != len(parts):
            raise ValueError(f"{path} must be a {name} of {len(parts)}, got one of {len(children)}.")
        parts = dict(enumerate(parts))
    for key, child in zip(keys, children, strict=True):
        yield from leaves_like(child, parts[key], f"{path}[{key!r}]", prefixes)


def _name_of(kind: Any) -> str:
    """The name of the class that a structure's container has."""
    cls: type = kind.cls if isinstance(kind, _Registered) else kind.kind if isinstance(kind, _Like) else kind
    return cls.__name__


def paths_of(structure: Structure) -> Iterator[str]:
    """How each leaf is reached from the tree, in the order of the leaves: "['w'][0]"."""
    return (path for _, path in sorted(_paths(structure)))


def _paths(structure: Structure) -> Iterator[tuple[int, str]]:
    if isinstance(structure, int):
        yield structure, ""
    elif structure is not None:
        parts = structure[2]
        for key, part in parts.items() if isinstance(parts, dict) else enumerate(parts):
            yield from ((number, f"[{key!r}]{rest}") for number, rest in _paths(part))
