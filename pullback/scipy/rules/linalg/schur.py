"""The real Schur form, A = Z T Z^T with Z orthogonal and T triangular but for blocks of two rows.

LAPACK makes the diagonal of each such block equal, so for distinct eigenvalues only signs are left to choose, and the
form is a smooth function of A. Its derivatives are those of Newton's method, begun at the solution: a step turns Z by
the rotations that make the lower part of Z^T A Z zero, and each doubles the number of derivatives that are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, frozen
from pullback.scipy.rules.linalg import operators
from pullback.scipy.rules.linalg.stacks import over_stacks

_STEPS = 2  # three derivatives


@scipy_rule("scipy.linalg.schur")
@over_stacks(a=2)
def schur(
    a: ArrayLike,
    output: str = "real",
    lwork: int | None = None,
    overwrite_a: bool = False,
    sort: str | Callable[..., Any] | None = None,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """T, Z and with `sort` the number of eigenvalues in front, of a real matrix with distinct eigenvalues."""
    a = floating(array(a))
    T, Z, *count = scipy.linalg.schur(frozen(a, "schur"), output, lwork, sort=sort, check_finite=check_finite)
    if T.dtype.kind == "c":
        raise UnsupportedError(
            "scipy.linalg.schur: the vectors of a complex form have phases that the matrix does not determine, so they "
            "have no derivative. Use eig, or output='real' for a real matrix."
        )
    starts = [i for i in range(len(T)) if i == 0 or not T[i, i - 1]]
    blocks = [slice(*ends) for ends in zip(starts, [*starts[1:], len(T)], strict=True)]
    _check_distinct(T)
    for _ in range(_STEPS):
        Z = _equal_diagonals(a, _triangular(a, Z, blocks), blocks)
    form = np.swapaxes(Z, -1, -2) @ a @ Z
    return np.where(T == 0, 0.0, form), Z, *count


def _check_distinct(T: AnyArray) -> None:
    values = np.linalg.eigvals(T)
    apart = np.abs(values[:, None] - values)[~np.eye(len(T), dtype=bool)]
    if np.min(apart, initial=np.inf) <= 1e-12 * np.max(np.abs(values), initial=0.0):
        raise UnsupportedError(
            "scipy.linalg.schur: an eigenvalue of the matrix is repeated, so the form has no derivative."
        )


def _triangular(a: AnyArray, Z: AnyArray, blocks: list[slice]) -> AnyArray:
    """Z turned by I + K, where K is skew and makes what is below the blocks of Z^T A Z zero, to the first order.

    With L the part of K below the blocks, it is that of T L - L T = -Z^T A Z below them: a Sylvester equation for each
    column of blocks, in turn.
    """
    n = a.shape[0]
    M = np.swapaxes(Z, -1, -2) @ a @ Z
    columns: list[Any] = []
    for block in blocks:
        below = slice(block.stop, n)
        if block.stop == n:
            columns.append(np.zeros((n, n - block.start)))
            break
        known = -M[below, block]
        if columns:
            known = known + np.concatenate(columns, 1)[below] @ M[: block.start, block]
        found = operators.sylvester(M[below, below], -M[block, block], known)
        columns.append(np.concatenate([np.zeros((block.stop, found.shape[1])), found]))
    L = np.concatenate(columns, 1)
    return _turned(Z, L - np.swapaxes(L, -1, -2))


def _turned(Z: AnyArray, K: AnyArray) -> AnyArray:
    """Z times Cayley's orthogonal matrix (I - K / 2)^-1 (I + K / 2), which is exp(K) to the second order."""
    one = np.eye(Z.shape[0])
    return Z @ np.linalg.solve(one - K / 2, one + K / 2)


def _equal_diagonals(a: AnyArray, Z: AnyArray, blocks: list[slice]) -> AnyArray:
    """Z with each pair of columns turned by the angle that makes the diagonal of their block equal."""
    pairs = [block.start for block in blocks if block.stop - block.start == 2]
    if not pairs:
        return Z
    first, second = np.array(pairs), np.array(pairs) + 1
    M = np.swapaxes(Z, -1, -2) @ a @ Z
    across = M[first, second] + M[second, first]
    size = np.abs(frozen(M[first, second], "schur"))
    if np.any(np.abs(frozen(across, "schur")) <= 1e-12 * size):
        raise UnsupportedError(
            "scipy.linalg.schur: a block (a b; -b a) is the same in every basis, so its vectors have no derivative."
        )
    angle = -0.5 * np.arctan((M[first, first] - M[second, second]) / across)
    n = a.shape[0]
    turns = np.zeros((len(pairs), n, n))
    counted = np.arange(len(pairs))
    turns[counted, first, second], turns[counted, second, first] = -1.0, 1.0
    planes = np.zeros((len(pairs), n, n))
    planes[counted, first, first] = planes[counted, second, second] = 1.0
    rotation = np.eye(n) + np.tensordot(np.cos(angle) - 1, planes, 1) + np.tensordot(np.sin(angle), turns, 1)
    return Z @ rotation
