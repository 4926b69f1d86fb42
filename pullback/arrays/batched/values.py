"""The tools of rules: the values of the arguments with the batch dimension in front, and kernels on these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.core.arguments import spread_lists
from pullback.core.array_type import AS_IT_IS, NUMPY, SCALARS, attribute, kernel_for
from pullback.core.dims import wrap_dim, wrap_dims
from pullback.core.tensor import ndarray
from pullback.core.types import Shape

FEW, MANY = 32, 256  # elements of a sample, samples: from where on values lie in columns
_IN_TUPLES = (int, slice)  # of dimensions, or an index


def run(name: str, *args: Any) -> Any:
    """The kernel of that name for arrays of these types."""
    for x in args:
        if type(x) not in AS_IT_IS and not (type(x) is tuple and (not x or type(x[0]) in _IN_TUPLES)):
            return kernel_for(spread_lists(args), name)(*args)
    return NUMPY.kernels[name](*args)


def is_batched(batch: Batch, x: Any) -> bool:
    """True if `x` has a value for each element of the batch; an array of another batch is a constant in this one."""
    return type(x) is BatchedArray and x.batch is batch


def rank_of(x: Any) -> int:
    """The number of dimensions that the program sees."""
    if type(x) is BatchedArray:
        return x.values.ndim - 1  # type: ignore[no-any-return]
    return x.ndim if type(x) is ndarray else int(attribute(x, "ndim"))


def shape_of(x: Any) -> Shape:
    """The shape that the program sees."""
    if type(x) is BatchedArray:
        return x.values.shape[1:]  # type: ignore[no-any-return]
    return x.shape if type(x) is ndarray else tuple(attribute(x, "shape"))


def aligned(batch: Batch, x: Any, rank: int) -> Any:
    """The values with the dimensions of size 1 behind that of the batch that make `rank` dimensions; others as is."""
    if not is_batched(batch, x):
        return x
    values = x.values
    missing = rank + 1 - values.ndim
    return values.reshape((values.shape[0], *(1,) * missing, *values.shape[1:])) if missing > 0 else values


def everywhere(batch: Batch, x: Any, rank: int = 0) -> Any:
    """The same, and what is not batched repeated for each element; numbers become arrays. None stays."""
    if x is None or is_batched(batch, x):
        return aligned(batch, x, rank)
    shape = shape_of(x)
    shape = ((1,) * (rank - len(shape))) + shape
    return run("expand", run("reshape", as_array(x), shape), (batch.size, *shape), False)


def in_columns(values: Any) -> bool:
    """True if these are values of many samples, each element beside that of the next sample (see `boundary.enter`)."""
    return (
        type(values) is ndarray
        and values.ndim > 1
        and values.strides[0] == values.itemsize
        and max(values.strides) > values.itemsize
    )


def as_array(x: Any) -> Any:
    """A number as an ndarray; an array as it is."""
    return np.asarray(x) if type(x) in SCALARS else x


def shifted(dim: int, rank: int, name: str) -> int:
    """A dimension that the program names, among those of the values."""
    return wrap_dim(dim, rank, name) + 1


def all_shifted(dims: Any, rank: int, name: str) -> Sequence[int]:
    """The same of one dimension or several, as a tuple."""
    return tuple(dim + 1 for dim in wrap_dims(dims, rank, name))
