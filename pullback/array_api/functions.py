"""NumPy's functions with Tensors for results, and those in which the standard asks for more than NumPy has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.core.annotations import DTypeObject
from pullback.core.factory import asarray
from pullback.core.tensor import Tensor, ndarray, note_made
from pullback.graph.journal import keep_writes


def tensors(found: Any) -> Any:
    """A result of NumPy's with Tensors in place of ndarrays and of NumPy's numbers."""
    if isinstance(found, Tensor) or issubclass(type(found), (ndarray, np.generic)):
        return tensor(found)
    if isinstance(found, (tuple, list)):
        items = [tensors(x) for x in found]
        return type(found)(*items) if hasattr(found, "_fields") else tuple(items)
    return found


def tensor(found: Any) -> Tensor:
    """An array of NumPy's, or one of its numbers, as a Tensor."""
    return fresh(found if isinstance(found, Tensor) else note_made(asarray(found)))


def fresh(result: Tensor) -> Tensor:
    """The same; libraries write into what they have computed, although the graph may need it."""
    if not (result._is_view() or (result.is_leaf and result.requires_grad)):
        keep_writes(result)
    return result


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of Tensors that has the name and the arguments of NumPy's."""

    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> object:
        return tensors(function(*args, **kwargs))

    called.__module__ = "pullback.array_api"
    called.__doc__ = f"The standard's `{function.__name__}`, of Tensors: https://data-apis.org/array-api/2025.12"
    return called


def astype(x: Tensor, dtype: DTypeObject, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """The array in another dtype; with `copy=False` itself where it has it."""
    if not copy and x.dtype == dtype:
        return x
    return fresh(x.to(dtype, copy=True))


def _of_integers_too(function: Callable[..., ndarray]) -> Callable[[Tensor], Tensor]:
    @functools.wraps(function)
    def called(x: Tensor, /) -> Tensor:
        return fresh(x.clone()) if x.dtype.kind in "iu" else tensor(function(x))

    return called


ceil, floor, trunc = _of_integers_too(np.ceil), _of_integers_too(np.floor), _of_integers_too(np.trunc)


def clip(x: Tensor, /, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Each element, or the bound beyond which it lies; in the dtype of x."""
    bounds: list[Any] = [b if b is None or isinstance(b, Tensor) else asarray(b) for b in (min, max)]
    bounds = [b if b is None or b.dtype == x.dtype else b.to(x.dtype) for b in bounds]
    return fresh(x.clone()) if bounds == [None, None] else tensor(np.clip(x, *bounds))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sorted along an axis; equal elements keep their order, in descending order too."""
    order: Any = argsort(x, axis=axis, descending=descending, stable=stable)
    return tensor(np.take_along_axis(x, order, axis=axis))


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort along an axis."""
    if not descending:
        return tensor(np.argsort(x, axis=axis, stable=True))
    count = x.shape[axis]
    backwards = np.flip(np.argsort(np.flip(x.detach(), axis=axis), axis=axis, stable=True), axis=axis)
    return tensor(count - 1 - backwards)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis."""
    return tuple(tensors(np.unstack(x, axis=axis)))


def isdtype(dtype: Any, kind: Any) -> bool:
    """True if a dtype is of a kind: "real floating", "integral", a dtype, or one of several."""
    return bool(np.isdtype(dtype, kind))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype to which arrays, dtypes and Python's numbers promote."""
    return np.result_type(*[x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes])


@dataclass(frozen=True)
class FloatLimits:
    """The result of `finfo`, in Python's numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating-point dtype, or of an array's."""
    found = np.finfo(type.dtype if isinstance(type, Tensor) else type)
    eps, most, least, normal = (float(x) for x in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatLimits(found.bits, eps, most, least, normal, found.dtype)


def nonzero(x: Tensor, /) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, an array for each dimension."""
    if not x.ndim:
        raise ValueError("nonzero: an array without dimensions has no indices; write xp.reshape(x, (1,)).")
    return tuple(tensors(np.nonzero(x)))


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of an array's."""
    return np.iinfo(type.dtype if isinstance(type, Tensor) else type)
