"""NumPy's ufuncs, as adopted modules see them while a transform runs: `np.sin([x[0], 1.0])`.

A ufunc asks each of its arguments whose it is, and not what is in a list. So views show dispatchers in place of ufuncs
where tensors may be about, in a transform of whatever thread, and the ufuncs themselves, which cost nothing, otherwise.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.cuts import transform_runs
from pullback.interop.adopt.dispatchers import REFUSALS, Dispatcher, joined_list
from pullback.interop.adopt.state import State
from pullback.interop.unseen import unseen

_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def _method(name: str) -> Any:
    return functools.cached_property(lambda self: Ufunc(getattr(self.genuine, name)))


class Ufunc(Dispatcher):
    """A ufunc, or one of its methods, that takes lists of our tensors."""

    __slots__ = ()
    reduce, accumulate, reduceat, outer, at = map(_method, _METHODS)

    def __init__(self, genuine: Callable[..., Any]) -> None:
        super().__init__(genuine)
        for name in _METHODS:
            self.__dict__.pop(name, None)  # the ufunc's own, which the class has too

    @unseen
    def __call__(self, *args: object, **kwargs: object) -> Any:
        try:
            return self.genuine(*args, **kwargs)
        except REFUSALS:
            joined = [joined_list(x) for x in args]
            if all(x is y for x, y in zip(joined, args, strict=True)):
                raise
        return self.genuine(*joined, **kwargs)


_NAMES = tuple(name for name, value in vars(np).items() if type(value) is np.ufunc)


def kinds(view: type) -> tuple[type, type]:
    """The classes of a view of NumPy outside of transforms and inside, where dispatchers hide the ufuncs.

    A view has the dispatchers in slots, of which the class inside alone knows the public names. So to hide the ufuncs
    is to set the view's `__class__`, which takes 50 ns, and neither class makes a look-up slower.
    """
    outside: Any = type(view.__name__, (view,), {"__slots__": tuple(f"_{name}" for name in _NAMES)})
    names = {name: vars(outside)[f"_{name}"] for name in _NAMES}
    return outside, type(view.__name__, (outside,), {"__slots__": (), **names})


_become = object.__dict__["__class__"].__set__  # not as a program sets what it likes on a view


class Switch:
    """Gives the view of NumPy the class of inside while a transform runs, and that of outside otherwise."""

    def __init__(self, view: Any, outside: type, inside: type) -> None:
        self.view, self.outside, self.inside = view, outside, inside
        self.filled = False
        self.lock = threading.RLock()  # of which a signal's handler, which may run a transform, is no other holder

    @unseen
    def __call__(self) -> Any:
        """Bring the view in line with what runs."""
        with self.lock:
            kind = self.inside if State.on and transform_runs() else self.outside
            if type(self.view) is not kind:
                if not self.filled:
                    self._fill()
                _become(self.view, kind)

    def _fill(self) -> None:
        made = {ufunc: Ufunc(ufunc) for ufunc in {getattr(np, name) for name in _NAMES}}
        for name in _NAMES:
            vars(self.outside)[f"_{name}"].__set__(self.view, made[getattr(np, name)])
        self.filled = True

    def forget(self, name: str) -> None:
        """A program has set this name itself."""
        with self.lock:
            if name in vars(self.inside):
                delattr(self.inside, name)
