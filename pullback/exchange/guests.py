"""A function of another library as one of ndarrays, with that library's derivatives as its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from pullback.core.errors import with_article
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.func.rules.custom import CustomFunction

Function = Callable[..., Any]


class Library(Protocol):
    """Says what a library must give for its functions to be guests here. `f` is a function of its arrays."""

    def enter(self, x: object) -> object:
        """Its array for an ndarray or NumPy's number."""

    def leave(self, x: object) -> object:
        """The ndarray for one of its arrays; anything else as it is."""

    def plain(self, f: Function) -> Function:
        """`f` where nothing is differentiated."""

    def vjp(self, f: Function) -> Function:
        """(cotangent, *args) -> the gradients of the arguments; differentiable by the library in its turn."""

    def jvp(self, f: Function) -> Function:
        """(tangents, *args) -> the tangent of the result; differentiable in its turn."""

    def vmap(self, f: Function, in_dims: Sequence[int | None]) -> Function:
        """`f` of batches: 0 or None for each argument."""


def guest(library: Library, f: Function, name: str) -> CustomFunction:
    """`f` as a function of ndarrays that is differentiable here, to every order that the library has.

    Its rules are guests themselves: the library's own derivatives of `f`, which have rules in their turn.
    """

    def function(*args: object) -> object:
        return _each(library.leave, library.plain(f)(*_each(library.enter, args)))

    def vjp(cotangent: object, result: object, *args: object) -> object:
        of_moving, moving, back = _apart(library, f, args)
        cotangents = _beside(result, cotangent)
        derived = guest(library, lambda cts, *xs: tuple(library.vjp(of_moving)(cts, *xs)), name)
        return back(derived(tuple(cotangents), *moving))

    def jvp(tangents: object, result: object, *args: object) -> object:
        of_moving, moving, _ = _apart(library, f, args)
        return guest(library, library.jvp(of_moving), name)(tuple(_beside(args, tangents)), *moving)

    def vmap(info: object, in_dims: Sequence[int | None], *args: object) -> tuple[Any, int]:
        return guest(library, library.vmap(f, in_dims), name)(*args), 0

    function.__name__ = function.__qualname__ = name
    made = CustomFunction(function, vjp, jvp)
    made.defvmap(vmap)
    return made


def as_guest(library: Library, f: Function, args: Sequence[object], kwargs: dict[str, object], name: str) -> object:
    """`f(*args, **kwargs)`, a guest: keyword arguments too are differentiated."""
    count, names = len(args), tuple(kwargs)

    def by_place(*xs: object) -> object:
        return f(*xs[:count], **dict(zip(names, xs[count:], strict=True)))

    return guest(library, by_place if names else f, name)(*args, *kwargs.values())


def check_callable(name: str, function: object) -> None:
    """Refuse what is no function, such as the value of one."""
    if not callable(function):
        raise TypeError(f"{name}: takes a function, got {with_article(function)}. Write pullback.{name}(f)(x).")


def moves(x: object) -> bool:
    """True if a leaf is an array, or one of NumPy's numbers, that can be differentiated."""
    return getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


def _apart(library: Library, f: Function, args: Sequence[object]) -> tuple[Function, list[Any], Function]:
    """`f` of the leaves that can be differentiated, these, and what gives their gradients the arguments' form."""
    leaves, structure = flatten(args)

    def put_back(xs: Iterable[object], others: Function) -> Any:
        parts = iter(xs)
        return unflatten(structure, [next(parts) if moves(x) else others(x) for x in leaves])

    def of_moving(*xs: object) -> object:
        return f(*put_back(xs, library.enter))

    return of_moving, [x for x in leaves if moves(x)], lambda found: put_back(found, lambda x: None)


def _beside(tree: object, derivatives: object) -> list[Any]:
    """The derivatives of the leaves that can be differentiated, from a tree that has None for others."""
    leaves, structure = flatten(tree)
    found = {number: d for number, d, _ in leaves_like(derivatives, structure)}
    return [found.get(i, np.zeros_like(x)) for i, x in enumerate(leaves) if moves(x)]


def _each(change: Function, tree: object) -> Any:
    leaves, structure = flatten(tree)
    return unflatten(structure, [change(x) for x in leaves])
