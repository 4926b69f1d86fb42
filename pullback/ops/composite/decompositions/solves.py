"""Solves and inverses of the primitives for matrices: vectors, right-hand sides to the left, factors."""

from pullback.core.errors import OperatorError
from pullback.ops.formulas.decompositions.solves import adjoint_of

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def linalg_inv(A, *, ops):
    """The inverse."""
    return ops.linalg_inv_ex(A, check_errors=True)[0]


def inverse(self, *, ops):
    """The inverse."""
    return ops.linalg_inv_ex(self, check_errors=True)[0]


def linalg_solve(A, B, *, left=True, ops):
    """X with A X = B, or X A = B."""
    return linalg_solve_ex(A, B, left=left, check_errors=True, ops=ops)[0]


def linalg_solve_ex(A, B, *, left=True, check_errors=False, ops):
    """The solution, and where a pivot of A is zero."""
    vector = _is_vector(A, B)
    if not left:
        if vector:
            raise OperatorError(f"linalg.solve: left=False needs a matrix B, got shape {tuple(B.shape)}")
        A, B = ops.transpose(A, -2, -1), ops.transpose(B, -2, -1)
    if vector:
        B = ops.unsqueeze(B, -1)
    X, info = ops.linalg_solve_matrices(A, B, check_errors)
    X = ops.squeeze(X, -1) if vector else X
    return X if left else ops.transpose(X, -2, -1), info


def _is_vector(A, B):
    """True if B is one vector for each matrix, or one for all."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


def linalg_lstsq(self, b, rcond=None, *, driver=None, ops):
    """Least squares, with vectors."""
    if driver is not None and driver not in _DRIVERS:
        raise OperatorError(f"linalg.lstsq: driver must be one of {_DRIVERS}, got {driver!r}")
    if self.ndim < 2 or b.ndim < 1 or not 0 <= self.ndim - b.ndim <= 1:
        raise OperatorError(
            "linalg.lstsq: input must have at least 2 dimensions and b as many or one less, "
            f"got shapes {tuple(self.shape)} and {tuple(b.shape)}"
        )
    vector = _is_vector(self, b)
    if self.dtype != b.dtype:
        raise OperatorError(f"linalg.lstsq: input and b must have the same dtype, got {self.dtype} and {b.dtype}")
    if self.shape[-2] != b.shape[-1 if vector else -2]:
        raise OperatorError(
            f"linalg.lstsq: input and b must have the same number of rows, got shapes {tuple(self.shape)} and "
            f"{tuple(b.shape)}"
        )
    found = ops.linalg_lstsq_matrices(self, ops.unsqueeze(b, -1) if vector else b, rcond, driver)
    return ops.squeeze(found[0], -1) if vector else found[0], *found[1:]


def linalg_pinv(self, rcond=None, hermitian=False, *, atol=None, rtol=None, ops):
    """The pseudoinverse; tolerances may be numbers or one for each matrix."""
    return ops.linalg_pinv_matrices(self, _plain(atol), _plain(rcond if rtol is None else rtol), hermitian)


def pinverse(self, rcond=1e-15, *, ops):
    """The pseudoinverse."""
    return ops.linalg_pinv_matrices(self, None, rcond)


def _plain(x):
    """A tolerance as a number or an ndarray, without a graph."""
    return x.detach().numpy() if hasattr(x, "detach") else x


def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False, *, ops):
    """X with A X = self, or A^T X = self; and A."""
    coefficients = A
    if transpose:
        A, upper = ops.transpose(A, -2, -1), not upper
    X = ops.linalg_solve_triangular(A, self, upper=upper, unitriangular=unitriangular)
    return X, ops.clone(coefficients)


def cholesky_solve(self, input2, upper=False, *, ops):
    """X with L L^H X = self."""
    lower = adjoint_of(input2, ops=ops) if upper else input2
    X = ops.linalg_solve_triangular(lower, self, upper=False)
    return ops.linalg_solve_triangular(adjoint_of(lower, ops=ops), X, upper=True)


def cholesky_inverse(self, upper=False, *, ops):
    """(L L^H)^-1 = L^-H L^-1."""
    if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
        raise OperatorError(
            f"cholesky_inverse: input must be batches of square matrices, got shape {tuple(self.shape)}"
        )
    lower = adjoint_of(self, ops=ops) if upper else self
    root = ops.linalg_solve_triangular(lower, ops.eye(self.shape[-1], dtype=self.dtype), upper=False)
    return ops.matmul(adjoint_of(root, ops=ops), root)


def linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False, ops):
    """X with A X = B (A^H X = B, X A = B), of the factors of A = P L U."""
    if LU.ndim < 2 or LU.shape[-1] != LU.shape[-2]:
        raise OperatorError(f"linalg.lu_solve: LU must be batches of square matrices, got shape {tuple(LU.shape)}")
    if pivots.dtype.kind != "i" or tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise OperatorError(
            f"linalg.lu_solve: pivots must be integers of shape {tuple(LU.shape[:-1])}, "
            f"got {pivots.dtype}{list(pivots.shape)}"
        )
    if B.ndim < 2 or B.shape[-2 if left else -1] != LU.shape[-1]:
        raise OperatorError(
            f"linalg.lu_solve: B must be batches of matrices of {LU.shape[-1]} {'rows' if left else 'columns'}, as LU "
            f"of shape {tuple(LU.shape)} has, got shape {tuple(B.shape)}"
        )
    if not left:
        B = adjoint_of(B, ops=ops)
        return adjoint_of(linalg_lu_solve(LU, pivots, B, adjoint=not adjoint, ops=ops), ops=ops)
    order = ops.lu_permutation(pivots, LU.shape[-1])
    if not adjoint:
        Y = ops.linalg_solve_triangular(LU, _rows(B, order, ops), upper=False, unitriangular=True)
        return ops.linalg_solve_triangular(LU, Y, upper=True)
    flipped = adjoint_of(LU, ops=ops)
    Y = ops.linalg_solve_triangular(flipped, B, upper=False)
    Y = ops.linalg_solve_triangular(flipped, Y, upper=True, unitriangular=True)
    return _rows(Y, ops.argsort(order, -1), ops)


def _rows(x, order, ops):
    """Rows in another order; batches broadcast."""
    ndim = max(x.ndim, order.ndim + 1)
    x = ops.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))
    order = ops.reshape(order, (1,) * (ndim - 1 - order.ndim) + tuple(order.shape))
    return ops.take_along_dim(x, ops.unsqueeze(order, -1), -2)


def lu_solve(self, LU_data, LU_pivots, *, ops):
    """X with A X = self."""
    return linalg_lu_solve(LU_data, LU_pivots, self, ops=ops)


def linalg_tensorinv(self, ind=2, *, ops):
    """The inverse of the map from the last dimensions to the first `ind`."""
    if ind <= 0:
        raise OperatorError(f"linalg.tensorinv: ind must be positive, got {ind}")
    first, last = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    rows, columns = _product(first), _product(last)
    if rows != columns:
        raise OperatorError(
            f"linalg.tensorinv: the first {ind} dimensions of {tuple(self.shape)} must have as many "
            "elements as the others"
        )
    return ops.reshape(linalg_inv(ops.reshape(self, (rows, columns)), ops=ops), last + first)


def linalg_tensorsolve(self, other, dims=None, *, ops):
    """X with tensordot(self, X, X.ndim) = other; dims of self are moved to its end first."""
    if dims is not None:
        dims = [d % self.ndim for d in dims]
        self = ops.permute(self, [d for d in range(self.ndim) if d not in dims] + dims)
    shape = tuple(self.shape[other.ndim :])
    if _product(shape) != _product(self.shape[: other.ndim]):
        raise OperatorError(
            f"linalg.tensorsolve: the first {other.ndim} dimensions of {tuple(self.shape)} must have as many "
            "elements as the others"
        )
    matrix = ops.reshape(self, (_product(other.shape), _product(shape)))
    return ops.reshape(linalg_solve(matrix, ops.reshape(other, (-1,)), ops=ops), shape)


def _product(sizes):
    total = 1
    for n in sizes:
        total *= n
    return total
