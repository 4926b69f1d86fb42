"""Errors of calls on Arrays: NumPy's own, where it refuses the call on plain arrays too."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core.array_face import SCALAR_FACES, Array
from pullback.core.array_type import numbers_of
from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import Index
from pullback.core.tensor import Tensor
from pullback.interop.registry import numpy_object

_NOTHING: Mapping[str, Any] = {}
# What a call would do a second time.
_WRITES_FILES = frozenset(map(numpy_object, ("save", "savetxt", "savez", "savez_compressed")))


class _UnknownError(Exception):
    """The numbers of an argument are not at hand, or it is a function, which is not to be called again."""


def raise_as_numpy(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] = _NOTHING,
    ours: Exception | None = None,
) -> None:
    """Raise the error that NumPy raises for the same call on copies of the numbers, if it raises one.

    `ours` stays the error, for its better text, where it is caught by whoever catches NumPy's.
    """
    if function in _WRITES_FILES:
        return
    try:
        on_numbers(function, args, kwargs)
    except Exception as refusal:
        public = next(kind for kind in type(refusal).__mro__ if not kind.__module__.startswith("numpy._core"))
        if ours is None or not isinstance(ours, public):
            raise refusal from None


def refused_as_numpy(method: Callable[..., Any], call: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The method, with NumPy's errors where NumPy refuses the same call; `call(x, ...)` stands for `x.method(...)`."""
    name = method.__name__

    def on_plain(x: Any, *args: object, **kwargs: object) -> object:
        return getattr(x, name)(*args, **kwargs)

    @functools.wraps(method)
    def refusing(self: Array, *args: object, **kwargs: object) -> object:
        try:
            return method(self, *args, **kwargs)
        except UnsupportedError:
            raise  # with its remedy
        except Exception as error:
            raise_as_numpy(call or on_plain, (self, *args), kwargs, error)
            raise

    return refusing


def write_as_far_as_numpy(self: Array, index: Index, value: object) -> None:
    """Write what NumPy has written before it finds an element that is no number: `x[:3] = [1.0, None, "x"]`."""
    numbers: Any = None if numbers_of(self) is None else np.array(numbers_of(self))
    if numbers is None or not self.size:
        return
    before = numbers.copy()
    try:
        on_numbers(lambda i, v: operator.setitem(numbers, i, v), (index, value), {})
    except (TypeError, ValueError):
        changed = (numbers != before) & ~(np.isnan(numbers) & np.isnan(before))
        if changed.any():
            self[changed] = numbers[changed]


def on_numbers(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], warn: bool = False) -> Any:
    """Return what the function of NumPy gives for copies of the numbers; None where they are not at hand."""
    try:
        args, kwargs = _plain(tuple(args)), _plain(dict(kwargs))
    except _UnknownError:
        return None
    if warn:
        return function(*args, **kwargs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def _plain(x: Any) -> Any:
    if issubclass(type(x), Tensor):
        numbers = numbers_of(x)
        if numbers is None:
            raise _UnknownError
        return numbers[()] if type(x) in SCALAR_FACES else np.array(numbers)
    if type(x) is np.ndarray:
        return x.copy()
    if type(x) is list or type(x) is tuple:
        return type(x)(map(_plain, x))
    if type(x) is dict:
        return {key: _plain(value) for key, value in x.items()}
    if callable(x) and not isinstance(x, type):
        raise _UnknownError
    return x
