"""Kernels of the area decompositions: solves, factorisations, eigenvalues, norms."""

from pullback.arrays.numpy.decompositions.derivatives import (
    eigenvalue_slope, eigenvalue_tangent, singular_value_slope, singular_value_tangent,
)
from pullback.arrays.numpy.decompositions.factors import (
    geqrf, ldl_solve, linalg_cholesky_ex, linalg_ldl_factor_ex, linalg_lu_factor_ex, linalg_qr, lu_permutation,
)
from pullback.arrays.numpy.decompositions.functions import hermitian_map, hermitian_map_curve, hermitian_map_slope
from pullback.arrays.numpy.decompositions.lobpcg import lobpcg_pairs
from pullback.arrays.numpy.decompositions.matrices import mirrored, mirrored_backward
from pullback.arrays.numpy.decompositions.norms import cdist_rows, linalg_vector_norm, renorm
from pullback.arrays.numpy.decompositions.solves import (
    linalg_inv_ex, linalg_lstsq_matrices, linalg_pinv_matrices, linalg_solve_matrices, linalg_solve_triangular,
)
from pullback.arrays.numpy.decompositions.spectra import (
    adjugate, adjugate_slope, linalg_det, linalg_eig, linalg_eigh, linalg_eigvals, linalg_eigvalsh,
    linalg_matrix_exp, linalg_slogdet, linalg_svd, linalg_svdvals,
)
