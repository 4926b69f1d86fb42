"""NumPy's functions on sets of numbers: which elements stay is constant, their values are differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Axis
from pullback.core.tensor import Tensor
from pullback.interop.operands import array, astype, axes_of, frozen, ops, tensor_of
from pullback.interop.registry import numpy_object, rule


@rule("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Axis = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # NumPy's name; from NumPy 2.3 on
) -> Any:
    """np.unique; the gradient of a value goes to its first occurrence."""
    ar = array(ar)
    plain = frozen(ar, "unique")
    _, index, inverse, counts = np.unique(plain, True, True, True, axis, equal_nan=equal_nan)
    if axis is None:
        ar, axis = ops.reshape(ar, (-1,)), 0
    results: list[AnyArray] = [ops.index_select(ar, axes_of(axis, ar.ndim)[0], index)]
    wanted = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    results += [tensor_of(extra) for asked, extra in wanted if asked]
    return tuple(results) if len(results) > 1 else results[0]


@rule("unique_values")
def unique_values(x: ArrayLike) -> AnyArray:
    """np.unique_values."""
    found: AnyArray = unique(x, equal_nan=False)
    return found


def _with_names(name: str, **asked: bool) -> None:
    """The rule of np.unique_all and the like, whose results have names."""
    function = numpy_object(name)
    kind: Any = None if function is None else type(function(np.zeros(1)))

    @rule(name)
    def run(x: ArrayLike) -> tuple[AnyArray, ...]:
        found: tuple[AnyArray, ...] = kind(*unique(x, equal_nan=False, **asked))
        return found


_with_names("unique_all", return_index=True, return_inverse=True, return_counts=True)
_with_names("unique_counts", return_counts=True)
_with_names("unique_inverse", return_inverse=True)


def _taken(ar: AnyArray, index: Any) -> AnyArray:
    """These elements of a vector, as a Tensor even if it is plain."""
    result: AnyArray = np.take(ar, index)
    return result if isinstance(result, Tensor) else tensor_of(result)


@rule("union1d")
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> AnyArray:
    """np.union1d."""
    found: AnyArray = unique(np.concatenate([array(ar1), array(ar2)], axis=None))
    return found


@rule("intersect1d")
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """np.intersect1d: the elements of the first."""
    ar1, ar2 = np.ravel(array(ar1)), np.ravel(array(ar2))
    known = np.intersect1d(frozen(ar1, "intersect1d"), frozen(ar2, "intersect1d"), assume_unique, return_indices=True)
    result = astype(_taken(ar1, known[1]), known[0].dtype)
    return (result, *map(tensor_of, known[1:])) if return_indices else result


@rule("setdiff1d")
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> AnyArray:
    """np.setdiff1d: the elements of the first that the second has not."""
    ar1 = np.ravel(array(ar1))
    ar1 = ar1 if assume_unique else np.unique(ar1)
    kept = np.isin(frozen(ar1, "setdiff1d"), frozen(array(ar2), "setdiff1d"), assume_unique=True, invert=True)
    return _taken(ar1, np.flatnonzero(kept))


@rule("setxor1d")
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> AnyArray:
    """np.setxor1d: the elements that only one of the two has."""
    parts = [array(ar1), array(ar2)]
    joined = np.concatenate(parts if assume_unique else [np.unique(p) for p in parts], axis=None)
    plain = frozen(joined, "setxor1d")
    order = np.argsort(plain)
    new = np.concatenate([[True], plain[order][1:] != plain[order][:-1], [True]])
    return _taken(joined, order[new[1:] & new[:-1]] if len(plain) else order)
