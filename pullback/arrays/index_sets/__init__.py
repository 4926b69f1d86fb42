"""Arrays of index sets, which find the sparsity of a Jacobian. Importing it registers the array type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.index_sets.array import IndexSets
from pullback.arrays.index_sets.kernels import SETS, unknown_numbers
from pullback.arrays.index_sets.store import Store
from pullback.core.array_type import STORED, ArrayType, register_array_type
from pullback.core.errors import UnsupportedError


class IndexSetsType(ArrayType):
    """They are tangents: there are no numbers to read, but memory to write into and to share."""

    rank = STORED
    computes_masks = False  # any number may stand anywhere

    def lift_constant(self, x: IndexSets, constant: Any) -> IndexSets:
        """Empty sets; in the memory of the constant if that is zeros, so that views of it are views of the sets."""
        if np.count_nonzero(constant):
            return IndexSets(np.zeros(constant.shape, np.int64), x.store, constant.dtype)
        if constant.itemsize < np.dtype(np.int64).itemsize:
            raise UnsupportedError(
                f"sparsity: a value that depends on the input is written into an array of dtype {constant.dtype}, "
                "beside which index sets have no room. Make the array in float64 (np.zeros_like of the argument, "
                "which comes in float64)."
            )
        return IndexSets(constant.real.view(np.int64), x.store, constant.dtype)

    def holding(self, x: IndexSets, arrays: Sequence[np.ndarray]) -> list[IndexSets]:
        return [self.lift_constant(x, array) for array in arrays]

    def copy(self, x: IndexSets) -> IndexSets:
        return IndexSets(x.ids.copy(), x.store, x.dtype)

    def assign(self, name: str, x: IndexSets, value: Any) -> IndexSets:
        x[...] = value
        return x

    def check(self, examine: Any, arrays: Sequence[Any]) -> None:
        """There is nothing to examine: what is refused for certain numbers is refused where there are some."""

    def read(self, x: IndexSets, why: str) -> np.ndarray:
        raise unknown_numbers(why)

    def memory(self, x: IndexSets) -> np.ndarray:
        return x.ids


register_array_type(IndexSets, IndexSetsType(SETS))

__all__: Sequence[str] = ["IndexSets", "Store"]
