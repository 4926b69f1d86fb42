"""Types of what the rules of scipy.sparse take and give, for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array, sparray, spmatrix
    from scipy.sparse.linalg import LinearOperator

    from pullback.scipy.rules.sparse.pattern import Pattern
    from pullback.scipy.rules.sparse.sparse_array import Sparse

# Whole numbers that say where entries are: never a Tensor.
Places: TypeAlias = "np.ndarray[Any, np.dtype[np.integer[Any]]]"
# A matrix of SciPy's own.
Genuine: TypeAlias = "sparray | spmatrix"
# The formats by rows and by columns, in which a pattern is kept.
Compressed: TypeAlias = "csr_array | csc_array"
# What users give: a sparse matrix, or also a dense one, or also a function that multiplies.
SparseLike: TypeAlias = "Sparse | Genuine"
MatrixLike: TypeAlias = "SparseLike | ArrayLike"
OperatorLike: TypeAlias = "MatrixLike | LinearOperator"
# What rules give where SciPy gives a matrix of its own or an array.
Product: TypeAlias = "Sparse | AnyArray"


class Method(Protocol):
    """Protocol of how a linear system is solved: see `solvers`."""

    @property
    def adjoint(self) -> Method: ...

    @property
    def again(self) -> Method: ...

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The solution of A x = b."""
