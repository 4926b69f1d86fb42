"""DiagonalArray: an array for each sample, of which nothing but the sample's own part differs from zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.core.types import DType, Shape
from pullback.dispatch.mixed import Arithmetic, on_wrapped

ndarray = np.ndarray


class DiagonalArray(Arithmetic):
    """For each sample b of a batch an array of the shape of `values`: `values` where they belong to b, 0 elsewhere.

    What belongs to which sample, the place along one dimension tells: place i to sample (i // inner) % batch.size. So
    the arrays of all samples are held in the memory of one, and their sum is `values`.

    Parameters
    ----------
    values : ndarray
    batch : Batch
    dim : int
        The dimension of `values` along which samples follow one another, from the front.
    inner : int
        How many places in a row belong to one sample.
    """

    __slots__ = ("batch", "dim", "inner", "values")

    values: ndarray

    def __init__(self, values: ndarray, batch: Batch, dim: int, inner: int = 1) -> None:
        self.values, self.batch, self.dim, self.inner = values, batch, dim, inner

    def __repr__(self) -> str:
        return f"DiagonalArray(shape={self.shape}, samples along dimension {self.dim})"

    @property
    def shape(self) -> Shape:
        """Tuple of dimensions of the array of one sample."""
        return self.values.shape

    @property
    def dtype(self) -> DType:
        """NumPy dtype."""
        return self.values.dtype

    @property
    def slices(self) -> ndarray:
        """Return each sample's part, samples first: the other dimensions are as in `values`, `dim` is shorter."""
        return sliced(self.values, self.dim, self.inner, self.batch.size)

    def whole(self) -> BatchedArray:
        """The array of each sample, zeros and all."""
        count = self.batch.size
        found = np.zeros((count, *self.shape), self.dtype)
        owners = (np.arange(self.shape[self.dim]) // self.inner) % count
        parts = np.moveaxis(found, self.dim + 1, 1)  # a view: (sample, place, ...)
        parts[owners, np.arange(owners.size)] = np.moveaxis(self.values, self.dim, 0)
        return BatchedArray(found, self.batch)

    def astype(self, dtype: Any) -> Any:
        """The same numbers in another dtype."""
        return on_wrapped(lambda tensor: tensor.to(dtype), self)


def sliced(values: ndarray, dim: int, inner: int, count: int) -> ndarray:
    """An array cut along `dim` into the parts of so many samples: they are the first dimension of the result."""
    before, size, after = values.shape[:dim], values.shape[dim], values.shape[dim + 1 :]
    outer = size // (count * inner)
    parts = np.moveaxis(values.reshape((*before, outer, count, inner, *after)), dim + 1, 0)
    return parts.reshape((count, *before, outer * inner, *after))
