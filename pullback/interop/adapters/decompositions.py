"""np.linalg's solves, factorisations, eigenvalues and norms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.array_type import array_type, check, innermost
from pullback.core.errors import LinAlgError, UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Axes, NoValue, Out
from pullback.interop.operands import array, deliver, floating, frozen, is_hidden, needs_grad, only, ops
from pullback.interop.registry import rule

_NOT_GIVEN = np._NoValue
_ONE = np.eye(1)
# NumPy's tuples with names, which have no public home.
EighResult: Callable[..., tuple[AnyArray, AnyArray]]
EigResult: Callable[..., tuple[AnyArray, AnyArray]]
QRResult: Callable[..., tuple[AnyArray, AnyArray]]
SlogdetResult: Callable[..., tuple[AnyArray, AnyArray]]
SVDResult: Callable[..., tuple[AnyArray, AnyArray, AnyArray]]
EighResult, EigResult, QRResult, SlogdetResult, SVDResult = (
    type(getattr(np.linalg, name)(_ONE)) for name in ("eigh", "eig", "qr", "slogdet", "svd")
)


def matrix(x: ArrayLike) -> AnyArray:
    """`x` as a Tensor or ndarray of floating-point numbers."""
    return floating(array(x))


def mirrored(x: ArrayLike, lower: bool = True) -> AnyArray:
    """The Hermitian matrices of which LAPACK reads one triangle: no element of the other moves the result.

    Our operators, as PyTorch's, take the derivative among Hermitian matrices instead: half of it for each triangle.
    """
    return ops.mirrored(matrix(x), bool(lower))


@rule("linalg.inv")
def inv(a: ArrayLike) -> AnyArray:
    """np.linalg.inv."""
    return ops.linalg_inv(matrix(a))


@rule("linalg.solve")
def solve(a: ArrayLike, b: ArrayLike) -> AnyArray:
    """np.linalg.solve: b is one vector only if it has one dimension."""
    a, b = matrix(a), matrix(b)
    return ops.linalg_solve(a, b[:, None])[..., 0] if b.ndim == 1 else ops.linalg_solve_matrices(a, b, True)[0]


@rule("linalg.tensorsolve")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> AnyArray:
    """np.linalg.tensorsolve."""
    return ops.linalg_tensorsolve(matrix(a), matrix(b), None if axes is None else list(axes))


@rule("linalg.tensorinv")
def tensorinv(a: ArrayLike, ind: int = 2) -> AnyArray:
    """np.linalg.tensorinv."""
    return ops.linalg_tensorinv(matrix(a), ind)


@rule("linalg.pinv")
def pinv(
    a: ArrayLike,
    rcond: float | AnyArray | NoValue | None = None,
    hermitian: bool = False,
    *,
    rtol: float | AnyArray | NoValue | None = _NOT_GIVEN,
) -> AnyArray:
    """np.linalg.pinv, whose cutoff is 1e-15 unless rtol=None asks for the one of the dtype."""
    if rcond is None:
        rcond = 1e-15 if rtol is _NOT_GIVEN else rtol
    elif rtol is not _NOT_GIVEN:
        raise ValueError("np.linalg.pinv: rcond and rtol mean the same; give one of them.")
    a, rtol = mirrored(a) if hermitian else matrix(a), None if rcond is None else frozen(rcond, "rcond")
    _refuse_truncation("pinv", a, rtol)
    return ops.linalg_pinv(a, hermitian=hermitian, rtol=rtol)


def _refuse_truncation(name: str, a: AnyArray, rcond: float | AnyArray | None) -> None:
    """Refuse a cutoff that drops singular values other than zeros: the derivative is that of the whole matrix."""
    if rcond is None or not needs_grad(a) or not a.size:
        return
    check(functools.partial(_examine_cutoff, name, rcond), a)


def _examine_cutoff(name: str, rcond: float | AnyArray | None, a: AnyArray) -> None:
    s = np.linalg.svd(a, compute_uv=False)
    largest = s[..., :1]
    zero = max(a.shape[-2:]) * np.finfo(s.dtype).eps * largest
    if np.any((s > zero) & (s <= np.asarray(rcond)[..., None] * largest)):
        raise UnsupportedError(
            f"np.linalg.{name}: rcond={rcond!r} drops singular values that are not zero, and there is no rule for the "
            "derivative of what is left. Use np.linalg.svd and cut the factors yourself, or omit rcond."
        )


@rule("linalg.lstsq")
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Any, ...]:
    """np.linalg.lstsq: solution, residuals, rank, singular values."""
    a, b = matrix(a), matrix(b)
    if rcond is not None and rcond >= 1:
        rcond = -1.0  # LAPACK takes the precision of the dtype for what is not between 0 and 1
    _refuse_truncation("lstsq", a, rcond)
    x, residuals, rank, values = ops.linalg_lstsq_matrices(a, b[:, None] if b.ndim == 1 else b, rcond, "gelsd")
    x = x[..., 0] if b.ndim == 1 else x
    values = svdvals(a) if needs_grad(a) else values  # LAPACK's have no derivative of their own
    return x, residuals, rank if is_hidden(rank) else int(frozen(rank, "linalg.lstsq")), values


@rule("linalg.cholesky")
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> AnyArray:
    """np.linalg.cholesky."""
    return ops.linalg_cholesky(mirrored(a, not upper), upper=upper)


@rule("linalg.qr")
def qr(a: ArrayLike, mode: str = "reduced") -> Arrays:
    """np.linalg.qr."""
    a = matrix(a)
    if mode == "raw":
        h, tau = ops.geqrf(a)
        return ops.transpose(h, -2, -1), tau
    only("linalg.qr", "mode", mode, ("reduced", "complete", "r"), "the other modes are not differentiable")
    if mode == "r":
        return ops.linalg_qr(a, "reduced")[1]
    return QRResult(*ops.linalg_qr(a, mode))


@rule("linalg.svd")
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Arrays:
    """np.linalg.svd."""
    a = matrix(a)
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    return SVDResult(*ops.linalg_svd(a, full_matrices)) if compute_uv else ops.linalg_svdvals(a)


def _svd_of_hermitian(a: AnyArray, compute_uv: bool) -> Arrays:
    """The eigenvalues' sizes, the largest first; their signs go to the right vectors."""
    if not compute_uv:
        return ops.flip(np.sort(np.abs(eigvalsh(a))), (-1,))
    values, vectors = eigh(a)
    known: Any = values
    known = known.detach() if is_hidden(values) else frozen(values, "linalg.svd")
    order = np.flip(np.argsort(np.abs(known)), -1)
    values = np.take_along_axis(values, order, -1)
    vectors = np.take_along_axis(vectors, order[..., None, :], -1)
    right = np.conjugate(np.matrix_transpose(vectors * np.sign(values)[..., None, :]))
    return SVDResult(vectors, np.abs(values), right)


@rule("linalg.svdvals")
def svdvals(x: ArrayLike, /) -> AnyArray:
    """np.linalg.svdvals."""
    return ops.linalg_svdvals(matrix(x))


@rule("linalg.eigh")
def eigh(a: ArrayLike, UPLO: str = "L") -> tuple[AnyArray, AnyArray]:
    """np.linalg.eigh."""
    return EighResult(*ops.linalg_eigh(mirrored(a, UPLO in ("L", "l")), UPLO))


@rule("linalg.eigvalsh")
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> AnyArray:
    """np.linalg.eigvalsh."""
    return ops.linalg_eigvalsh(mirrored(a, UPLO in ("L", "l")), UPLO)


@rule("linalg.eig")
def eig(a: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """np.linalg.eig: real where the eigenvalues of a real matrix all are."""
    a = matrix(a)
    values, vectors = ops.linalg_eig(a)
    return EigResult(*((ops.real(values), ops.real(vectors)) if _all_real(a, values) else (values, vectors)))


@rule("linalg.eigvals")
def eigvals(a: ArrayLike) -> AnyArray:
    """np.linalg.eigvals: real where all of a real matrix are."""
    a = matrix(a)
    values = ops.linalg_eigvals(a)
    return ops.real(values) if _all_real(a, values) else values


def _all_real(a: AnyArray, values: AnyArray) -> bool:
    """True if the result is real, as NumPy decides by the values; of many samples at once it is complex."""
    if a.dtype.kind == "c" or array_type(innermost(values)).many:
        return False
    if is_hidden(values):  # and recorded
        return not bool(ops.any(ops.ne(ops.imag(values), 0)))
    return not frozen(values, "linalg.eigvals").imag.any()


@rule("linalg.det")
def det(a: ArrayLike) -> AnyArray:
    """np.linalg.det."""
    return ops.linalg_det(matrix(a))


@rule("linalg.slogdet")
def slogdet(a: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """np.linalg.slogdet."""
    return SlogdetResult(*ops.linalg_slogdet(matrix(a)))


@rule("linalg.matrix_power")
def matrix_power(a: ArrayLike, n: int) -> ArrayLike:
    """np.linalg.matrix_power; of integers too, unless n is negative."""
    only("linalg.matrix_power", "n", isinstance(n, (int, np.integer)), (True,), "it must be an integer")
    if n == 1:
        return a
    return ops.linalg_matrix_power(matrix(a) if n < 0 else array(a), int(n))


@rule("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> AnyArray:
    """np.linalg.matrix_rank, a constant."""
    if is_hidden(A, tol, rtol):
        check(_examine_finite, A)
        if A.ndim < 2:
            return ops.to(ops.any(A != 0), np.dtype(int))
        cutoffs = {"atol": tol, "rtol": 0.0} if tol is not None else {"rtol": rtol}
        return ops.linalg_matrix_rank(matrix(A), hermitian=hermitian, **cutoffs)
    A = frozen(A, "linalg.matrix_rank")
    _examine_finite(A)
    rank: AnyArray = np.linalg.matrix_rank(A, tol, hermitian, rtol=rtol)
    return rank


def _examine_finite(A: AnyArray) -> None:
    if not np.isfinite(A).all():  # LAPACK may never come back from it
        raise LinAlgError("np.linalg.matrix_rank: a matrix with inf or nan in it has no rank; np.isfinite shows where.")


@rule("linalg.cond")
def cond(x: ArrayLike, p: str | float | None = None) -> AnyArray:
    """np.linalg.cond."""
    return ops.linalg_cond(matrix(x), p)


@rule("linalg.norm")
def norm(x: ArrayLike, ord: str | float | None = None, axis: Axes = None, keepdims: bool = False) -> AnyArray:
    """np.linalg.norm."""
    return ops.linalg_norm(matrix(x), ord, _dims(axis), keepdims)


@rule("linalg.vector_norm")
def vector_norm(x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: str | float = 2) -> AnyArray:
    """np.linalg.vector_norm."""
    return ops.linalg_vector_norm(matrix(x), ord, _dims(axis), keepdims)


@rule("linalg.matrix_norm")
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: str | float = "fro") -> AnyArray:
    """np.linalg.matrix_norm."""
    return ops.linalg_matrix_norm(matrix(x), ord, [-2, -1], keepdims)


@rule("linalg.multi_dot")
def multi_dot(arrays: Sequence[ArrayLike], *, out: Out = None) -> AnyArray:
    """np.linalg.multi_dot."""
    result = ops.linalg_multi_dot([array(x) for x in arrays])
    return deliver("linalg.multi_dot", result, out)


def _dims(axis: Axes) -> Axes:
    return list(axis) if isinstance(axis, (list, tuple)) else axis
