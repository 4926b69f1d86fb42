"""IndexSets: an array of which each element is the set of input elements on which it depends."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.index_sets.store import Store
from pullback.core.types import DType, Shape
from pullback.dispatch.mixed import Arithmetic

ndarray = np.ndarray


class IndexSets(Arithmetic):
    """A tangent that has no numbers, but tells from which input elements each of its elements may come.

    Parameters
    ----------
    ids : ndarray of int64
        The numbers of the sets in `store`. Views of an array are views of these.
    store : Store
    dtype : NumPy dtype
        Of the tangent that it stands for.
    """

    __slots__ = ("dtype", "ids", "store")

    ids: ndarray
    dtype: DType

    def __init__(self, ids: ndarray, store: Store, dtype: Any) -> None:
        self.ids, self.store, self.dtype = ids, store, np.dtype(dtype)

    @classmethod
    def identity(cls, store: Store, start: int, shape: Shape, dtype: Any) -> IndexSets:
        """Input elements `start`, `start` + 1, ...: each depends on itself."""
        count = int(np.prod(shape, dtype=np.int64))
        return cls(np.arange(start + 1, start + 1 + count).reshape(shape), store, dtype)

    @property
    def shape(self) -> Shape:
        """Tuple of dimensions."""
        return self.ids.shape

    @property
    def strides(self) -> Shape:
        """Strides of the numbers of the sets."""
        return self.ids.strides

    def __repr__(self) -> str:
        return f"IndexSets(shape={self.shape}, of {self.store.size} elements)"

    def __setitem__(self, index: Any, value: Any) -> None:
        self.ids[index] = value.ids if type(value) is IndexSets else 0
