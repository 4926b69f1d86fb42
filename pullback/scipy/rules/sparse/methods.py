"""Methods of SciPy's own sparse matrices and linear operators, where a tensor is the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array
from pullback.scipy.rules.sparse.sparse_array import Product, is_sparse, sparse

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.types import Genuine


def _method_rule(name: str) -> None:
    def rule(self: Genuine, other: ArrayLike) -> Product:
        return getattr(sparse(self), name)(other)

    scipy_rule(f"scipy.sparse._methods.{name}")(rule)


for _name in (
    "__add__", "__matmul__", "__mul__", "__radd__", "__rmatmul__", "__rmul__", "__rsub__", "__sub__", "__truediv__",
    "dot", "multiply",
):  # fmt: skip
    _method_rule(_name)


def _product_rule(name: str, adjoint: bool) -> Callable[..., Any]:
    def rule(self: LinearOperator, x: ArrayLike) -> Product:
        x = array(x)
        size = self.shape[0] if adjoint else self.shape[1]
        if x.ndim not in (1, 2) or x.shape[0] != size:
            raise ValueError(f"{name}: dimension mismatch of an operator of shape {self.shape} and {tuple(x.shape)}")
        if type(self).__module__.startswith("scipy.") and hasattr(self, "A"):  # that of a matrix
            matrix = sparse(self.A) if is_sparse(self.A) else self.A
            return (np.conj(matrix.T) if adjoint and not is_sparse(matrix) else matrix.H if adjoint else matrix) @ x
        found = array(getattr(self, f"_{name}")(x))
        if name in ("matmat", "rmatmat"):
            return found
        return found.reshape(-1, 1) if x.ndim == 2 else found.reshape(-1)

    return scipy_rule(f"scipy.sparse.linalg._methods.{name}")(rule)


_matvec = _product_rule("matvec", adjoint=False)
_matmat = _product_rule("matmat", adjoint=False)
_product_rule("rmatvec", adjoint=True)
_product_rule("rmatmat", adjoint=True)


@scipy_rule("scipy.sparse.linalg._methods.dot")
def dot(self: LinearOperator, x: ArrayLike) -> AnyArray:
    """A product with a number is an operator; a vector or a matrix goes through it."""
    x = array(x)
    if x.ndim == 0:
        raise ValueError("an operator times a tensor without dimensions has no rule: multiply its result instead")
    return _matvec(self, x) if x.ndim == 1 else _matmat(self, x)
