"""The standard's extension for linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.array_api.functions import of_numpy as _of_numpy

_NAMES = (
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
)  # fmt: skip
globals().update({name: _of_numpy(getattr(np.linalg, name)) for name in _NAMES})
__all__ = ["eig", "eigvals"]
__all__ += list(_NAMES)


def eig(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors, complex also where all of them are real."""
    found = np.linalg.eig(x)
    return type(found)(*[y.to(_complex_dtype(x)) for y in found])


def eigvals(x: Any, /) -> Any:
    """Eigenvalues, complex also where all of them are real."""
    found: Any = np.linalg.eigvals(x)
    return found.to(_complex_dtype(x))


def _complex_dtype(x: Any) -> Any:
    return np.result_type(x.dtype, np.complex64)
