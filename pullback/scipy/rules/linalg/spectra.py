"""scipy.linalg's eigenvalues and eigenvectors, of general and of Hermitian matrices, alone or in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays
from pullback.interop.adapters.decompositions import mirrored
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, frozen, ops
from pullback.scipy.rules.linalg.factorisations import adjoint, known, phases_towards
from pullback.scipy.rules.linalg.stacks import over_stacks
from pullback.scipy.rules.orders import order_like


@scipy_rule("scipy.linalg.eigvals")
def eigvals(
    a: ArrayLike,
    b: ArrayLike | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """The eigenvalues of a, or of a with respect to b."""
    return eig(a, b, False, False, homogeneous_eigvals=homogeneous_eigvals)


@scipy_rule("scipy.linalg.eig")
@over_stacks(a=2, b=2)
def eig(
    a: ArrayLike,
    b: ArrayLike | None = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Arrays:
    """Eigenvalues, and the left and right eigenvectors that are asked for, each of length 1."""
    if homogeneous_eigvals:
        raise UnsupportedError(
            "scipy.linalg.eig: homogeneous_eigvals has no rule. Leave it out: the quotients, which eig gives, have one."
        )
    a = floating(array(a))
    b = None if b is None else floating(array(b))
    matrix = a if b is None else np.linalg.solve(b, a)
    plain = _found(scipy.linalg.eig, (a,) if b is None else (a, b), left=True, right=True)
    if not (left or right):
        return _ordered(ops.linalg_eigvals(matrix), plain and plain[0])
    w, V = ops.linalg_eig(matrix)
    if plain is not None:
        order = order_like(frozen(w, "eig"), plain[0])
        w, V = w[order], V[:, order]
    found = [w]
    if left:
        vl = np.linalg.inv(V)
        found.append(_like(_unit(adjoint(vl if b is None else vl @ np.linalg.inv(b))), plain and plain[1]))
    if right:
        found.append(_like(V, plain and plain[2]))
    return tuple(found)


def _found(function: Callable[..., Any], matrices: tuple[AnyArray, ...], **options: object) -> Any:
    if not all(map(known, matrices)):
        return None
    return function(*[frozen(x, "eig") for x in matrices], **options)


def _ordered(values: AnyArray, theirs: AnyArray | None) -> AnyArray:
    return values if theirs is None else values[order_like(frozen(values, "eig"), theirs)]


def _unit(V: AnyArray) -> AnyArray:
    return V / np.sqrt(np.sum(np.abs(V) ** 2, axis=0))


def _like(V: AnyArray, theirs: Any) -> AnyArray:
    """The vectors in SciPy's phases, and real where SciPy's are."""
    if theirs is None:
        return V
    V = V * phases_towards(V, theirs, 0)
    return V if theirs.dtype.kind == "c" else np.real(V)


@scipy_rule("scipy.linalg.eigh")
@over_stacks(a=2, b=2)
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Arrays:
    """Eigenvalues in ascending order and the eigenvectors, of a Hermitian a, or of a with respect to b."""
    if type not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    options = {"lower": lower, "subset_by_index": subset_by_index, "subset_by_value": subset_by_value, "driver": driver}
    given: tuple[Any, ...] = (floating(array(a)),) if b is None else (floating(array(a)), floating(array(b)))
    a = mirrored(given[0], lower)
    if b is None:
        found = _hermitian_pairs(a, eigvals_only, subset_by_index, subset_by_value)
        if eigvals_only:
            return found
        plain = _found(scipy.linalg.eigh, given, **options)
        return found[0], _like(found[1], plain and plain[1])
    L = ops.linalg_cholesky(mirrored(given[1], lower))
    if type == 1:
        half = ops.linalg_solve_triangular(L, a, upper=False)
        matrix = adjoint(ops.linalg_solve_triangular(L, adjoint(half), upper=False))
    else:
        matrix = adjoint(L) @ a @ L
    matrix = (matrix + adjoint(matrix)) / 2
    found = _hermitian_pairs(matrix, eigvals_only, subset_by_index, subset_by_value)
    if eigvals_only:
        return found
    w, y = found
    V = L @ y if type == 3 else ops.linalg_solve_triangular(adjoint(L), y, upper=True)
    plain = _found(scipy.linalg.eigh, given, type=type, **options)
    return w, _like(V, plain and plain[1])


@scipy_rule("scipy.linalg.eigvalsh")
def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues in ascending order."""
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )


def _hermitian_pairs(
    a: AnyArray, eigvals_only: bool, by_index: Sequence[int] | None, by_value: Sequence[float] | None
) -> Any:
    if eigvals_only:
        w = ops.linalg_eigvalsh(a)
        return w[_chosen(w, by_index, by_value)]
    w, V = ops.linalg_eigh(a)
    chosen = _chosen(w, by_index, by_value)
    return w[chosen], V[:, chosen]


def _chosen(
    w: AnyArray, by_index: Sequence[int] | None, by_value: Sequence[float] | None
) -> slice | np.ndarray[Any, Any]:
    if by_index is not None and by_value is not None:
        raise ValueError("Either index or value subset can be requested.")
    if by_index is not None:
        first, last = (int(x) for x in by_index)
        if not 0 <= first <= last < w.shape[0]:
            raise ValueError(f"Requested eigenvalue indices are not valid. Valid range is [0, {w.shape[0] - 1}]")
        return slice(first, last + 1)
    if by_value is not None:
        low, high = (float(frozen(x, "eigh")) for x in by_value)
        if low >= high:
            raise ValueError(f"Requested eigenvalue bounds are not valid, got ({low}, {high})")
        values = frozen(w, "eigh")
        inside = np.flatnonzero((values > low) & (values <= high))
        return slice(inside[0], inside[-1] + 1) if len(inside) else slice(0, 0)
    return slice(None)


def dense_of_band(band: AnyArray, lower: bool) -> AnyArray:
    """The Hermitian matrix of a band as SciPy stores it."""
    depth, n = band.shape
    i, j = np.indices((n, n))
    distance = i - j if lower else j - i
    inside = (distance >= 0) & (distance < depth)
    rows = np.where(inside, distance if lower else depth - 1 - distance, 0)
    return mirrored(band[rows, j] * inside, lower)


@scipy_rule("scipy.linalg.eig_banded")
@over_stacks(a_band=2)
def eig_banded(
    a_band: AnyArray,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Arrays:
    """Eigenvalues and eigenvectors of a band; computed as those of the whole matrix."""
    by_index, by_value = _selection(select, select_range)
    a = dense_of_band(floating(array(a_band)), lower)
    found = _hermitian_pairs(a, eigvals_only, by_index, by_value)
    if eigvals_only:
        return found
    options = {"select": select, "select_range": select_range, "max_ev": max_ev}
    plain = _found(scipy.linalg.eig_banded, (a_band,), lower=lower, **options)
    return found[0], _like(found[1], plain and plain[1])


@scipy_rule("scipy.linalg.eigvals_banded")
def eigvals_banded(
    a_band: AnyArray,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues of a band."""
    return eig_banded(a_band, lower, True, False, select, select_range)


@scipy_rule("scipy.linalg.eigh_tridiagonal")
@over_stacks(d=1, e=1)
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Arrays:
    """Eigenvalues and eigenvectors of a real tridiagonal matrix; computed as those of the whole matrix."""
    by_index, by_value = _selection(select, select_range)
    d, e = floating(array(d)), floating(array(e))
    band = np.stack([d, np.concatenate([e, np.zeros(1)])])
    found = _hermitian_pairs(dense_of_band(band, True), eigvals_only, by_index, by_value)
    if eigvals_only:
        return found
    options = {"select": select, "select_range": select_range, "lapack_driver": lapack_driver}
    plain = _found(scipy.linalg.eigh_tridiagonal, (d, e), **options)
    return found[0], _like(found[1], plain and plain[1])


@scipy_rule("scipy.linalg.eigvalsh_tridiagonal")
def eigvalsh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues of a real tridiagonal matrix."""
    return eigh_tridiagonal(d, e, True, select, select_range)


def _selection(
    select: str | int, limits: Any,
) -> tuple[Sequence[int] | None, Sequence[float] | None]:  # fmt: skip
    if select in ("a", "all", 0):
        return None, None
    if select in ("v", "value", 1):
        return None, limits
    if select in ("i", "index", 2):
        return limits, None
    raise ValueError("invalid argument for select")
