"""Arrays of samples' own parts, with which a backward finds the gradients of each sample. Importing registers them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.batched.array import BatchedArray
from pullback.arrays.diagonal.array import DiagonalArray
from pullback.arrays.diagonal.kernels import DIAGONAL, SamplesMixed
from pullback.core.array_type import TRANSFORMED, ArrayType, register_array_type
from pullback.core.errors import ReadError


class DiagonalType(ArrayType):
    """They flow in a backward alone: nothing is written into them, and no number is shown."""

    rank = TRANSFORMED
    many = True

    def components(self, x: DiagonalArray) -> Iterable[tuple[frozenset[int], Any, str]]:
        yield frozenset(), x, "slices"

    def touched(self, x: DiagonalArray) -> Any:
        return DiagonalArray(x.values != 0, x.batch, x.dim, x.inner)

    def read(self, x: DiagonalArray, why: str) -> Any:
        raise ReadError(f"{why} looks at the numbers of a cotangent that stands for {x.batch.size} samples.")

    def accepts(self, x: DiagonalArray) -> bool:
        return False

    def all_touched(self, x: DiagonalArray) -> Any:
        return DiagonalArray(np.ones(x.shape, bool), x.batch, x.dim, x.inner)

    def lift_constant(self, x: DiagonalArray, constant: Any) -> Any:
        """Zeros, for undefined gradients, are the same for all; any other constant is each sample's own whole array."""
        if np.count_nonzero(constant):
            return BatchedArray(np.repeat(constant[None], x.batch.size, 0), x.batch)
        return constant


register_array_type(DiagonalArray, DiagonalType(DIAGONAL))

__all__: Sequence[str] = ["DiagonalArray", "SamplesMixed"]
