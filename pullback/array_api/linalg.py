"""The standard's extension for linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.array_api.functions import of_numpy as _of_numpy
from pullback.core.tensor import Tensor
from pullback.core.types import DType

_NAMES = (
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
)  # fmt: skip
globals().update({name: _of_numpy(getattr(np.linalg, name)) for name in _NAMES})
__all__ = ["eig", "eigvals"]
__all__ += list(_NAMES)


def eig(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors, complex also where all of them are real."""
    found = np.linalg.eig(x)
    return type(found)(*[y.to(_complex_dtype(x)) for y in found])


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues, complex also where all of them are real."""
    found: Any = np.linalg.eigvals(x)
    values: Tensor = found.to(_complex_dtype(x))
    return values


def _complex_dtype(x: Tensor) -> DType:
    return np.result_type(x.dtype, np.complex64)
