"""Sparse Jacobians and Hessians: their patterns, colorings of these, and their values."""

from pullback.func.sparse.coloring import Coloring, color_hessian, color_jacobian
from pullback.func.sparse.derivatives import sparse_hessian, sparse_jacobian
from pullback.func.sparse.pattern import hessian_sparsity, jacobian_sparsity

__all__ = [
    "Coloring",
    "color_hessian",
    "color_jacobian",
    "hessian_sparsity",
    "jacobian_sparsity",
    "sparse_hessian",
    "sparse_jacobian",
]
