"""All that a function can reach besides its arguments: Tensors, arrays, and all else, on which watches are set.

A program was traced in one state of the world. It may run again as long as nothing has changed that the function could
read: globals, variables of closures, defaults, attributes, items, the functions that it calls, and what these reach. No
code of the user's runs while that is looked up. What no watch can follow is refused, with the line of the user's code.

    reads.py    what code names
    walk.py     how what it names is found
    objects.py  how each kind of object is looked into
    kinds.py    which objects are constants, which a library's, and which nobody can follow
    watches.py  the watches
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from pullback.compiler.reach.objects import look_into
from pullback.compiler.reach.walk import Refusal, Site, TooMuchError, Walk
from pullback.compiler.reach.watches import Watches
from pullback.core.tensor import Tensor, ndarray


class Reach(NamedTuple):
    """All that a function can reach.

    Attributes
    ----------
    tensors : list of Tensor
        Each once.
    arrays : list of ndarray
        Each once. Their contents are watched on demand: see `Watches.arrays`.
    watches : Watches
    refused : list of Refusal
        Why it cannot be followed, unless this is empty.
    told : list of Refusal
        What only tells somebody something, which would be silent: `print`, loggers, warnings.
    namespaces : list of dict
        In which the code that it reaches looks up names.
    """

    tensors: list[Tensor]
    arrays: list[ndarray]
    watches: Watches
    refused: list[Refusal]
    told: list[Refusal]
    namespaces: list[dict[str, Any]]


def reach_of(f: Callable[..., Any], kinds: Iterable[type] = ()) -> Reach:
    """All that `f` can reach besides its arguments.

    Parameters
    ----------
    f : callable
    kinds : iterable of type
        The classes of its arguments: their methods are reached too, but nothing that the arguments hold.

    Returns
    -------
    Reach
    """
    walk = Walk()
    site = _site(f)
    try:
        walk.escaped(f, f"the {type(f).__name__}", site)
        for kind in kinds:
            walk.look_at_class(kind, site)
        while walk.todo or walk.look_by_name():
            look_into(walk, *walk.todo.popleft())
        walk.end()
    except TooMuchError as error:
        walk.refuse("the function", str(error), site)
    return Reach(walk.tensors, walk.arrays, walk.watches, [*walk.refused], [*walk.told], [*walk.namespaces.values()])


def _site(f: Any) -> Site:
    """The file and line of a function, or of what is called with an object."""
    while type(f) in (MethodType, functools.partial):
        f = f.__func__ if type(f) is MethodType else f.func
    if type(f) is not FunctionType:
        f = next((vars(base)["__call__"] for base in type(f).__mro__ if "__call__" in vars(base)), None)
    return (f.__code__.co_filename, f.__code__.co_firstlineno) if type(f) is FunctionType else ("", 0)
