"""scipy.linalg's factorisations, by the operators: LU, QR, SVD and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.array_type import numbers_of
from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.interop.adapters.decompositions import mirrored
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, frozen, ops
from pullback.scipy.rules.linalg.stacks import over_stacks


def adjoint(x: AnyArray) -> AnyArray:
    """x^H."""
    return np.conj(np.swapaxes(x, -1, -2))


def known(x: AnyArray) -> bool:
    """True if the numbers of an array are at hand: inside of `vmap` they are not."""
    return not isinstance(x, Tensor) or numbers_of(x) is not None


def phases_towards(ours: AnyArray, theirs: AnyArray, axis: int) -> Any:
    """The constant phases that turn vectors of ours into SciPy's, which has another choice of them."""
    if not known(ours):
        return 1.0
    overlap = np.sum(np.conj(frozen(ours, "conj")) * theirs, axis=axis, keepdims=True)
    size = np.abs(overlap)
    return np.where(size > 0, overlap / np.where(size > 0, size, 1), 1.0)


@scipy_rule("scipy.linalg.lu_factor")
@over_stacks(a=2)
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[AnyArray, AnyArray]:
    """Both factors in one matrix, and the exchanges of rows."""
    factors, pivots = ops.linalg_lu_factor(floating(array(a)))
    return factors, frozen(pivots, "lu_factor") - 1


@scipy_rule("scipy.linalg.lu_solve")
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyArray:
    """The solution x of a x = b, a^T x = b or a^H x = b."""
    lu, piv = lu_and_piv
    return _lu_solve(lu, piv, b, trans)


@over_stacks(lu=2, piv=1, b="1|2")
def _lu_solve(lu: ArrayLike, piv: ArrayLike, b: ArrayLike, trans: int) -> AnyArray:
    lu, b = array(lu), array(b)
    if lu.shape[0] != b.shape[0]:
        raise ValueError(f"Shapes of lu {tuple(lu.shape)} and b {tuple(b.shape)} are incompatible")
    if trans not in (0, 1, 2):
        raise ValueError("illegal value in argument trans: 0, 1 or 2")
    sides = b[:, None] if b.ndim == 1 else b
    sides = np.conj(sides) if trans == 1 else sides
    dtype = np.result_type(lu.dtype, sides.dtype, np.float32)
    pivots = (np.asarray(frozen(piv, "lu_solve")) + 1).astype(np.int32)
    x: AnyArray = ops.linalg_lu_solve(lu.astype(dtype), pivots, sides.astype(dtype), adjoint=trans > 0)
    x = np.conj(x) if trans == 1 else x
    return x[:, 0] if b.ndim == 1 else x


@scipy_rule("scipy.linalg.lu")
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[AnyArray, ...]:
    """P, L and U; P L and U; or the permutation as indices."""
    P, L, U = ops.linalg_lu(floating(array(a)))
    if permute_l:
        return P @ L, U
    P = frozen(P, "lu") if known(P) else P
    return np.argmax(P, -1).astype(np.int32) if p_indices else np.real(P), L, U


@scipy_rule("scipy.linalg.ldl")
@over_stacks(A=2)
def ldl(
    A: AnyArray | float,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The factors L, D and the permutation, where D is diagonal: its blocks of two have no rule."""
    A = floating(array(A))
    _, d, perm = scipy.linalg.ldl(frozen(A, "ldl"), lower, hermitian)
    if np.any(d != np.diag(np.diag(d))):
        raise UnsupportedError("scipy.linalg.ldl: D has blocks of 2 x 2 here, which have no rule. Use scipy.linalg.lu.")
    order = perm if lower else perm[::-1]
    part = np.tril(A, -1) if lower else np.triu(A, 1)
    mirrored = np.conj(part) if hermitian else part
    diagonal = np.eye(len(d)) * (np.real(A) if hermitian else A)
    full = (part + np.swapaxes(mirrored, -1, -2) + diagonal)[order][:, order]
    columns, D = [], []
    for k in range(len(d)):  # one step of elimination each
        D.append(full[k, k])
        columns.append(np.where(np.arange(len(d)) < k, 0, full[:, k] / full[k, k]))
        full = full - columns[-1][:, None] * full[k]
    L, pivots = np.stack(columns, 1), np.stack(D)
    if not lower:
        L, pivots = L[::-1, ::-1], pivots[::-1]
    return L[np.argsort(perm)], np.eye(len(d)) * pivots, perm


@scipy_rule("scipy.linalg.qr")
@over_stacks(a=2)
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[AnyArray, AnyArray]:
    """Q and R; R alone for mode "r"; with the permutation of the columns if pivoting."""
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    if mode == "raw":
        raise UnsupportedError('scipy.linalg.qr: mode "raw" has no rule; give mode="economic".')
    a = floating(array(a))
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (scipy.linalg.qr(frozen(a, "qr"), mode="r", pivoting=True)[1],)
        a = a[:, order[0]]
    if mode == "r":
        R: AnyArray = ops.linalg_qr(a, "reduced")[1]
        missing = a.shape[0] - R.shape[0]
        if missing > 0:
            R = np.concatenate([R, np.zeros((missing, a.shape[1]), R.dtype)])
        return (R, *order)
    if mode != "economic" and a.shape[0] > a.shape[1]:
        raise UnsupportedError(
            'scipy.linalg.qr: with more rows than columns the last columns of Q are arbitrary; give mode="economic".'
        )
    return (*ops.linalg_qr(a, "reduced" if mode == "economic" else "complete"), *order)


@scipy_rule("scipy.linalg.rq")
@over_stacks(a=2)
def rq(
    a: ArrayLike, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full", check_finite: bool = True
) -> AnyArray | tuple[AnyArray, ...]:
    """R and Q with R Q = a; R alone for mode "r"."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    a = floating(array(a))
    if a.shape[0] != a.shape[1] and mode != "economic":
        raise UnsupportedError('scipy.linalg.rq: for a matrix that is not square, only mode="economic" has a rule.')
    _, *found = scipy.linalg.rq(frozen(a, "rq"), mode="economic" if mode == "economic" else "full")
    Q, R = ops.linalg_qr(adjoint(a[::-1]), "reduced" if mode == "economic" else "complete")
    R, Q = adjoint(R)[::-1, ::-1], adjoint(Q)[::-1]
    turn = phases_towards(Q, found[0], 1)
    R = R * np.conj(np.swapaxes(turn, 0, 1)) if known(a) else R
    return R if mode == "r" else (R, Q * turn)


@scipy_rule("scipy.linalg.qr_multiply")
@over_stacks(a=2, c="1|2")
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> AnyArray | tuple[AnyArray, ...]:
    """c Q, or Q c for mode "left", and R."""
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but got '{mode}'")
    Q, *rest = qr(a, mode="economic", pivoting=pivoting)
    Q = np.conj(Q) if conjugate else Q
    c = array(c)
    return (Q @ c if mode == "left" else c @ Q, *rest)


@scipy_rule("scipy.linalg.svd")
@over_stacks(a=2)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> AnyArray | tuple[AnyArray, ...]:
    """U, s and V^H, or s alone."""
    if not compute_uv:
        return svdvals(a)
    a = floating(array(a))
    U, s, Vh = ops.linalg_svd(a, full_matrices)
    if not known(a):
        return U, s, Vh
    u, _, vh = scipy.linalg.svd(frozen(a, "svd"), full_matrices, lapack_driver=lapack_driver)
    turn, other = phases_towards(U, u, 0), phases_towards(Vh, vh, 1)
    k = s.shape[0]
    other = np.concatenate([np.conj(turn[0, :k, None]), other[k:]])
    return U * turn, s, Vh * other


@scipy_rule("scipy.linalg.svdvals")
def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> AnyArray:
    """The singular values."""
    return ops.linalg_svdvals(floating(array(a)))


@scipy_rule("scipy.linalg.polar")
@over_stacks(a=2)
def polar(a: ArrayLike, side: str = "right") -> tuple[AnyArray, AnyArray]:
    """u with orthonormal columns or rows, and p, Hermitian."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = floating(array(a))
    w, _, vh = ops.linalg_svd(a, False)
    u = w @ vh
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, (p + adjoint(p)) / 2


@scipy_rule("scipy.linalg.orthogonal_procrustes")
@over_stacks(A=2, B=2)
def orthogonal_procrustes(A: ArrayLike, B: ArrayLike, check_finite: bool = True) -> tuple[AnyArray, AnyArray]:
    """The orthogonal R for which A R is nearest to B, and the sum of the singular values of A^T B."""
    A, B = array(A), array(B)
    if A.ndim != 2 or A.shape != B.shape:
        raise ValueError(f"the shapes of A and B differ ({tuple(A.shape)} vs {tuple(B.shape)})")
    product = (B.T @ np.conj(A)).T
    u, _, vh = ops.linalg_svd(product)
    return u @ vh, np.sum(ops.linalg_svdvals(product))


def _cut(values: AnyArray, shape: tuple[int, int], atol: float | None, rtol: float | None) -> float:
    if (atol or 0) < 0 or (rtol or 0) < 0:
        raise ValueError("atol and rtol values must be positive.")
    rtol = max(shape) * np.finfo(values.dtype).eps if rtol is None else rtol
    return float((atol or 0.0) + np.max(values, initial=0.0) * rtol)


@scipy_rule("scipy.linalg.pinv")
@over_stacks(a=2)
def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudoinverse, and the rank if asked for."""
    a = floating(array(a))
    s = scipy.linalg.svdvals(frozen(a, "pinv"))
    cut = _cut(s, a.shape, atol, rtol)
    found = ops.linalg_pinv(a, atol=cut, rtol=0.0)
    return (found, int(np.sum(s > cut))) if return_rank else found


@scipy_rule("scipy.linalg.pinvh")
@over_stacks(a=2)
def pinvh(
    a: ArrayLike,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudoinverse of a Hermitian matrix, and the rank if asked for."""
    a = mirrored(floating(array(a)), lower)
    s = np.abs(scipy.linalg.eigvalsh(frozen(a, "pinvh")))
    cut = _cut(s, a.shape, atol, rtol)
    found = ops.linalg_pinv(a, hermitian=True, atol=cut, rtol=0.0)
    return (found, int(np.sum(s > cut))) if return_rank else found


@scipy_rule("scipy.linalg.lstsq")
@over_stacks(a=2, b="1|2")
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Any, ...]:
    """The solution of least squares, the sum of squares, the rank and the singular values."""
    a, b = floating(array(a)), floating(array(b))
    if a.ndim != 2 or a.shape[0] != b.shape[0]:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({a.shape[0]} != {b.shape[0]}).")
    _, residues, rank, s = scipy.linalg.lstsq(frozen(a, "lstsq"), frozen(b, "lstsq"), cond, lapack_driver=lapack_driver)
    cond = np.finfo(a.dtype).eps if cond is None else cond
    dtype = np.result_type(a.dtype, b.dtype)
    x = ops.linalg_pinv(a.astype(dtype), atol=0.0, rtol=float(cond)) @ b if rank < min(a.shape) else None
    if x is None:
        column = b.ndim == 1
        x = ops.linalg_lstsq(a.astype(dtype), (b[:, None] if column else b).astype(dtype), rcond=float(cond))[0]
        x = x[:, 0] if column else x
    if np.size(residues):
        residues = np.sum(np.abs(b - a @ x) ** 2, axis=0)
    return x, residues, rank, None if s is None else svdvals(a)
