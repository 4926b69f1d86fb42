"""Kernels of the area linalg: products of vectors and matrices."""

from pullback.arrays.numpy.linalg.products import (
    addmm, baddbmm, bmm, cross, diag_embed, dot, einsum_pair, matmul, mm, mv, outer, trace, vdot,
)
