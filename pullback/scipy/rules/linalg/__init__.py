"""scipy.linalg.

dense.py             solving, inverting, Cholesky, norms
factorisations.py    LU, QR, SVD, pseudoinverses, least squares
spectra.py           eigenvalues and eigenvectors
schur.py             the real Schur form
equations.py         matrix equations, bands, Toeplitz matrices
matrix_functions.py  logarithm, roots, functions of matrices
stacks.py            stacks of matrices
"""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, runs_as_it_stands
from pullback.scipy.rules.linalg import (  # noqa: F401 - which enter their rules
    dense,
    equations,
    factorisations,
    matrix_functions,
    schur,
    spectra,
)

runs_as_it_stands(
    *(f"scipy.linalg.{name}" for name in (
        "block_diag", "cdf2rdf", "companion", "convolution_matrix", "coshm", "cosm", "diagsvd", "fiedler",
        "fiedler_companion", "khatri_rao", "leslie", "null_space", "orth", "sinhm", "sinm", "solve_circulant",
        "solve_discrete_lyapunov", "subspace_angles", "tanhm", "tanm",
    ))
)  # fmt: skip
gives_no_gradient(
    *(f"scipy.linalg.{name}" for name in (
        "bandwidth", "dft", "find_best_blas_type", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal",
        "ishermitian", "issymmetric", "pascal",
    ))
)  # fmt: skip
