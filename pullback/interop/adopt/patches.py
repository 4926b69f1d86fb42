"""Methods of NumPy and SciPy that are replaced in place, so that objects made before have them too: `np.r_`.

Each calls the genuine method, unless our tensors are among the arguments or may come out of a function that it calls:
then a clone of it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.call_site import is_users_file
from pullback.core.errors import UnsupportedError
from pullback.interop.adopt.clones import clone, twin
from pullback.interop.adopt.dispatchers import at_stake, first_tensor
from pullback.interop.adoption import DISTRIBUTION_METHODS, State
from pullback.interop.operands import frozen

_genuine: dict[tuple[type, str], Any] = {}  # what stood in the class before


def apply_patches() -> None:
    """Replace the methods of what has been imported."""
    if State.on:
        for owner, name, replaced in _patches():
            if (owner, name) not in _genuine:
                _genuine[owner, name] = method = vars(owner)[name]
                patch = replaced(method)
                patch.genuine = method
                setattr(owner, name, patch)


def undo_patches() -> None:
    """Put the genuine methods back."""
    while _genuine:
        (owner, name), method = _genuine.popitem()
        setattr(owner, name, method)


def _patches() -> Iterator[tuple[type, str, Callable[[Any], Any]]]:
    """The class, the method and what makes the replacement."""
    yield type(np.r_).__mro__[1], "__getitem__", _of_key
    yield np.vectorize, "__call__", _of_callback
    distributions = sys.modules.get("scipy.stats._distn_infrastructure")
    continuous = vars(distributions).get("rv_continuous") if distributions is not None else None
    if continuous is not None:
        for name in DISTRIBUTION_METHODS:
            yield continuous, name, _of_distribution


def _of_key(method: Callable[..., Any]) -> Callable[..., Any]:
    """`np.r_[...]`; a text is a matrix of the caller's variables, so the caller's frame must be next to the method."""
    cloned = clone(method)

    @functools.wraps(method)
    def called(self: Any, key: Any) -> Any:
        if isinstance(key, str):
            caller = sys._getframe(1)
            return np.bmat(key, caller.f_globals, caller.f_locals)
        return (method if first_tensor(key if type(key) is tuple else (key,)) is None else cloned)(self, key)

    return called


def _of_distribution(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a distribution; that of a twin where one of our tensors is among the arguments."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if first_tensor(args, kwargs) is None:
            return method(self, *args, **kwargs)
        shapes = [*args[1 : 1 + self.numargs], *(x for name, x in kwargs.items() if name not in ("x", "loc", "scale"))]
        if any(at_stake(shape) and not np.all(frozen(shape, "all")) for shape in shapes):
            raise UnsupportedError(
                f"scipy.stats.{self.name}.{method.__name__}: a shape parameter that is being differentiated is exactly "
                "0, where SciPy may take another formula that does not depend on it. Move it away from 0."
            )
        return getattr(twin(self), method.__name__)(*args, **kwargs)

    return called


_NO_CODE = compile("", "", "exec")  # stands for that of a function in C, or of an object that can be called


def _of_callback(method: Callable[..., Any]) -> Callable[..., Any]:
    """`np.vectorize(f)(...)`; that of a twin inside a transform, where a user's f may give one of our tensors."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        inside = modes.current().level and is_users_file(getattr(self.pyfunc, "__code__", _NO_CODE).co_filename)
        if self.pyfunc is not np._NoValue and (inside or first_tensor(args, kwargs) is not None):
            return twin(self)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return called
