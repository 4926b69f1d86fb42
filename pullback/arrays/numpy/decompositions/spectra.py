"""Eigenvalues, singular values, determinants, exponentials of matrices."""

import numpy as np
import scipy.linalg

from pullback.arrays.numpy.decompositions.matrices import require_matrices, svd
from pullback.core.errors import LinAlgError, OperatorError


def _converged(function, name, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {error}; the input may hold inf or nan") from None


def linalg_eigh(self, UPLO="L"):
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    require_matrices("linalg.eigh", square=True, input=self)
    return tuple(_converged(np.linalg.eigh, "linalg.eigh", self, _triangle("eigh", UPLO)))


def linalg_eigvalsh(self, UPLO="L"):
    """Ascending eigenvalues of Hermitian matrices."""
    require_matrices("linalg.eigvalsh", square=True, input=self)
    return _converged(np.linalg.eigvalsh, "linalg.eigvalsh", self, _triangle("eigvalsh", UPLO))


def _triangle(name, UPLO):
    if UPLO.upper() not in ("L", "U"):
        raise OperatorError(f"linalg.{name}: UPLO must be 'L' or 'U', got {UPLO!r}")
    return UPLO.upper()


def linalg_eig(self):
    """Eigenvalues and eigenvectors, complex."""
    require_matrices("linalg.eig", square=True, input=self)
    values, vectors = _converged(np.linalg.eig, "linalg.eig", self)
    dtype = np.result_type(self.dtype, np.complex64)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def linalg_eigvals(self):
    """Eigenvalues, complex."""
    require_matrices("linalg.eigvals", square=True, input=self)
    values = _converged(np.linalg.eigvals, "linalg.eigvals", self)
    return values.astype(np.result_type(self.dtype, np.complex64), copy=False)


def linalg_svd(A, full_matrices=True, driver=None):
    """U, the singular values in descending order, V^H."""
    require_matrices("linalg.svd", A=A)
    _no_driver("linalg.svd", driver)
    return tuple(_converged(svd, "linalg.svd", A, full_matrices=full_matrices))


def linalg_svdvals(A, driver=None):
    """Singular values in descending order."""
    require_matrices("linalg.svdvals", A=A)
    _no_driver("linalg.svdvals", driver)
    return _converged(svd, "linalg.svdvals", A, compute_uv=False)


def _no_driver(operator, driver):
    """Refuse to choose: the drivers that PyTorch knows are CUDA's."""
    if driver is not None:
        raise RuntimeError(f"{operator}: driver must be None, which is LAPACK's gesdd here, but it is {driver!r}.")


def linalg_det(A):
    """Determinants."""
    require_matrices("linalg.det", square=True, A=A)
    return np.linalg.det(A)


def linalg_slogdet(A):
    """Sign (of modulus 1 or 0) and logarithm of the modulus of determinants."""
    require_matrices("linalg.slogdet", square=True, A=A)
    return tuple(np.linalg.slogdet(A))


def linalg_matrix_exp(self):
    """Exponentials of matrices, by scaling, Pade approximants and squaring.

    SciPy goes over a batch matrix by matrix, because it chooses the order and the scaling for each. One scaling by the
    norm alone would be faster, but loses the digits of matrices far from normal (Al-Mohy and Higham 2009), such as the
    block triangular ones by which `matrix_exp_slope` differentiates.
    """
    require_matrices("linalg.matrix_exp", square=True, input=self)
    return scipy.linalg.expm(self) if self.size else self.copy()


def adjugate(A):
    """det(A) A^-1, for singular A its limit: through the singular values, whose products need no division.

    A = U S V^H gives adj(A) = det(U V^H) V adj(S) U^H; adj(S) has the products of all other values on its diagonal.
    """
    inverse, det = _inverse_and_det(A)
    if inverse is not None:
        return det * inverse
    (U, S, Vh), phase = _turned(A)
    return (Vh.conj().swapaxes(-1, -2) * (phase * _products_but_one(S))[..., None, :]) @ U.conj().swapaxes(-1, -2)


def adjugate_slope(A, tangent):
    """The derivative of the adjugate at A along a tangent; right for singular A too.

    Between U and V, with tangent D: -D_ij times the product of the values but i, j off the diagonal, and on it the
    sums of D_jj times those products.
    """
    inverse, det = _inverse_and_det(A)
    if inverse is not None:
        moved = inverse @ tangent
        return det * (np.trace(moved, axis1=-2, axis2=-1)[..., None, None] * inverse - moved @ inverse)
    (U, S, Vh), phase = _turned(A)
    V, Uh = Vh.conj().swapaxes(-1, -2), U.conj().swapaxes(-1, -2)
    D = Uh @ tangent @ V
    pairs = _products_but_two(S)
    inner = -D * pairs
    i = np.arange(S.shape[-1])
    inner[..., i, i] = (pairs @ np.diagonal(D, 0, -2, -1)[..., None])[..., 0]
    return phase[..., None] * (V @ inner @ Uh)


def _inverse_and_det(A):
    """A^-1 and det(A) as a factor where every matrix is so far from singular that they are exact to most digits."""
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None, None
    with np.errstate(all="ignore"):
        det = np.linalg.det(A)[..., None, None]
        condition = _squared_length(A) * _squared_length(inverse)
    exact = np.isfinite(det).all() and (condition < np.finfo(A.dtype).eps ** -0.5).all()
    return (inverse, det) if exact else (None, None)


def _squared_length(A):
    """Of each matrix as a vector: Frobenius's norm squared, faster than others where there are many small matrices."""
    return np.einsum("...ij,...ij->...", A, A.conj()).real


def _turned(A):
    U, S, Vh = svd(A)
    return (U, S, Vh), (np.linalg.det(U) * np.linalg.det(Vh))[..., None]


def _products_but_one(S):
    """For each i the product of all S but S_i, by products from the left and from the right."""
    ones = np.ones_like(S[..., :1])
    before = np.concatenate([ones, np.cumprod(S[..., :-1], -1)], -1)
    behind = np.concatenate([np.cumprod(S[..., :0:-1], -1)[..., ::-1], ones], -1)
    return before[..., : S.shape[-1]] * behind[..., : S.shape[-1]]


def _products_but_two(S):
    """For i and j the product of all S but S_i and S_j; 0 for i = j."""
    n = S.shape[-1]
    if n <= 2:
        return np.broadcast_to(1 - np.eye(n, dtype=S.dtype), (*S.shape, n)).copy()
    left_out = np.broadcast_to(S[..., None, :], (*S.shape, n)).copy()
    i = np.arange(n)
    left_out[..., i, i] = 1  # row i: all values but S_i
    pairs = _products_but_one(left_out)
    pairs[..., i, i] = 0
    return pairs
