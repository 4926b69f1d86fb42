"""BatchedArray: an array for each element of a batch, in one array whose first dimension nobody sees."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pullback.arrays.batched.batch import Batch
from pullback.core.types import DType, RawArray, Shape
from pullback.dispatch.mixed import Arithmetic, on_wrapped


class BatchedArray(Arithmetic):
    """The arrays `values[0]`, `values[1]`, ... as one array of their shape.

    Parameters
    ----------
    values : array of any type, of shape (batch.size, ...)
        An ndarray, a Tensor of a lower level, an array of another transform.
    batch : Batch
    """

    __slots__ = ("__weakref__", "batch", "values")

    values: Any
    batch: Batch

    def __init__(self, values: RawArray, batch: Batch) -> None:
        self.values, self.batch = values, batch

    def __repr__(self) -> str:
        shown = np.array2string(self.values, separator=", ") if type(self.values) is np.ndarray else repr(self.values)
        return f"batched({shown})"

    # -- what it tells of itself: as each of its arrays would -------------------------------------------------
    @property
    def shape(self) -> Shape:
        """Tuple of dimensions, without that of the batch."""
        return self.values.shape[1:]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """NumPy dtype."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of dimensions, without that of the batch."""
        return self.values.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements of each of its arrays."""
        return prod(self.values.shape[1:])

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.values.dtype.itemsize  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Any:
        """The same numbers in another dtype."""
        return on_wrapped(lambda tensor: tensor.to(dtype), self)

    def __deepcopy__(self, memo: dict[int, Any]) -> BatchedArray:
        raise TypeError("an array of a batch belongs to its call of vmap and cannot be copied out of it.")
