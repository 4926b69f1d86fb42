"""Types of SciPy's sparse matrices, for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array, sparray, spmatrix

# Whole numbers that say where entries are: never a Tensor.
Places: TypeAlias = "np.ndarray[Any, np.dtype[np.integer[Any]]]"
# A matrix of SciPy's own.
Genuine: TypeAlias = "sparray | spmatrix"
# The formats by rows and by columns, in which a pattern is kept.
Compressed: TypeAlias = "csr_array | csc_array"
