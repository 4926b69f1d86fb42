"""Matrix equations and systems of a structure: Sylvester, Lyapunov, Riccati, bands, Toeplitz."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import IMPLICIT, scipy_rule
from pullback.interop.operands import array, floating
from pullback.scipy.rules.linalg import operators
from pullback.scipy.rules.linalg.dense import toeplitz
from pullback.scipy.rules.linalg.factorisations import adjoint
from pullback.scipy.rules.linalg.spectra import dense_of_band
from pullback.scipy.rules.linalg.stacks import over_stacks
from pullback.scipy.rules.sparse.pattern import Pattern
from pullback.scipy.rules.sparse.solving import solution


def _together(*matrices: object) -> list[AnyArray]:
    """Of one dtype, floating-point, as LAPACK wants them."""
    found = [floating(array(x)) for x in matrices]
    dtype = np.result_type(*[x.dtype for x in found])
    return [x.astype(dtype) for x in found]


@scipy_rule("scipy.linalg.solve_sylvester")
@over_stacks(a=2, b=2, q=2)
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> AnyArray:
    """The X with a X + X b = q."""
    return operators.sylvester(*_together(a, b, q))


@scipy_rule("scipy.linalg.solve_continuous_lyapunov", "scipy.linalg.solve_lyapunov")
@over_stacks(a=2, q=2)
def solve_continuous_lyapunov(a: AnyArray, q: AnyArray) -> AnyArray:
    """The X with a X + X a^H = q."""
    a, q = _together(a, q)
    return operators.sylvester(a, adjoint(a), q)


def _reduced(a: Any, b: Any, q: Any, r: Any, e: ArrayLike | None, s: ArrayLike | None) -> tuple[Any, ...]:
    """The equation without e and s: Z = e^H X e solves that of e^-1 a, e^-1 b, with a - b r^-1 s^H, q - s r^-1 s^H."""
    a, b, q, r = _together(a, b, q, r)
    if s is not None:
        s = array(s)
        feedback = np.linalg.solve(r, adjoint(s))
        a, q = a - b @ feedback, q - s @ feedback
    if e is not None:
        e = array(e)
        a, b = np.linalg.solve(e, a), np.linalg.solve(e, b)
    return *_together(a, b, q, r), e


def _restored(Z: AnyArray, e: Any) -> AnyArray:
    if e is None:
        return Z
    return adjoint(np.linalg.solve(adjoint(e), adjoint(np.linalg.solve(adjoint(e), Z))))


@scipy_rule("scipy.linalg.solve_continuous_are")
@over_stacks(a=2, b=2, q=2, r=2, e=2, s=2)
def solve_continuous_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> AnyArray:
    """The stabilising solution of the continuous algebraic Riccati equation."""
    *reduced, e = _reduced(a, b, q, r, e, s)
    return _restored(operators.continuous_are(*reduced), e)


@scipy_rule("scipy.linalg.solve_discrete_are")
@over_stacks(a=2, b=2, q=2, r=2, e=2, s=2)
def solve_discrete_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> AnyArray:
    """The stabilising solution of the discrete algebraic Riccati equation."""
    *reduced, e = _reduced(a, b, q, r, e, s)
    return _restored(operators.discrete_are(*reduced), e)


IMPLICIT.update(("scipy.linalg.solve_continuous_are", "scipy.linalg.solve_discrete_are"))


class Bands:
    """How a system is solved whose entries lie on a few diagonals: by LAPACK's banded solvers."""

    def __init__(self, below: int, above: int, positive: bool = False) -> None:
        self.below, self.above, self.positive = below, above, positive

    @property
    def adjoint(self) -> Bands:
        """For the conjugate transpose."""
        return Bands(self.above, self.below, self.positive)

    @property
    def again(self) -> Bands:
        """For another right-hand side."""
        return self

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The solution."""
        rows, cols = pattern.rows, pattern.cols
        band = np.zeros((self.below + self.above + 1, pattern.shape[1]), values.dtype)
        np.add.at(band, (self.above + rows - cols, cols), values)
        if self.positive:
            return scipy.linalg.solveh_banded(band[self.above :], b, lower=True)
        return scipy.linalg.solve_banded((self.below, self.above), band, b)


def _band_pattern(n: int, below: int, above: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Pattern]:
    """Row in the band and column of each element that is in the matrix, and their pattern."""
    r, j = np.indices((below + above + 1, n))
    i = r + j - above
    inside = (i >= 0) & (i < n)
    return r[inside], j[inside], Pattern(i[inside], j[inside], (n, n))


@scipy_rule("scipy.linalg.solve_banded")
def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyArray:
    """The solution of a x = b, for the diagonals of a."""
    below, above = (int(x) for x in l_and_u)
    return _solve_banded(below, above, ab, b)


@over_stacks(ab=2, b="1|2")
def _solve_banded(below: int, above: int, ab: ArrayLike, b: ArrayLike) -> AnyArray:
    ab, b = array(ab), array(b)
    if ab.shape[-1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    if below + above + 1 != ab.shape[0]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({below + above + 1})"
            f" does not equal ab.shape[0] ({ab.shape[0]})"
        )
    r, j, pattern = _band_pattern(ab.shape[1], below, above)
    return solution(ab[r, j], b, pattern, Bands(below, above))


@scipy_rule("scipy.linalg.solveh_banded")
@over_stacks(ab=2, b="1|2")
def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> AnyArray:
    """The solution of a x = b, for a Hermitian positive definite band."""
    ab, b = array(ab), array(b)
    if ab.shape[-1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    depth, n = ab.shape[0] - 1, ab.shape[1]
    r, j, half = _band_pattern(n, depth, 0) if lower else _band_pattern(n, 0, depth)
    off = half.rows != half.cols
    values = ab[r, j]
    values = np.where(off, values, np.real(values))
    pattern = Pattern(
        np.concatenate([half.rows, half.cols[off]]), np.concatenate([half.cols, half.rows[off]]), half.shape
    )
    return solution(np.concatenate([values, np.conj(values[off])]), b, pattern, Bands(depth, depth, True))


@scipy_rule("scipy.linalg.cholesky_banded")
@over_stacks(ab=2)
def cholesky_banded(
    ab: ArrayLike, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> AnyArray:
    """The Cholesky factor of a band, as a band; computed as that of the whole matrix."""
    ab = floating(array(ab))
    depth, n = ab.shape[0] - 1, ab.shape[1]
    factor = np.linalg.cholesky(dense_of_band(ab, lower), upper=not lower)
    r, j = np.indices((depth + 1, n))
    i = r + j if lower else r + j - depth
    inside = (i >= 0) & (i < n)
    return np.where(inside, factor[np.where(inside, i, 0), j], ab)


@scipy_rule("scipy.linalg.cho_solve_banded")
def cho_solve_banded(
    cb_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> AnyArray:
    """The solution of a x = b, from the banded Cholesky factor of a."""
    cb, lower = cb_and_lower
    return _cho_solve_banded(cb, b, lower)


@over_stacks(cb=2, b="1|2")
def _cho_solve_banded(cb: ArrayLike, b: ArrayLike, lower: bool) -> AnyArray:
    cb, b = array(cb), array(b)
    if cb.shape[-1] != b.shape[0]:
        raise ValueError("shapes of cb and b are not compatible.")
    depth, n = cb.shape[0] - 1, cb.shape[1]
    below, above = (depth, 0) if lower else (0, depth)
    r, j, pattern = _band_pattern(n, below, above)
    values = cb[r, j]
    factor, other = (values, pattern, Bands(below, above)), (np.conj(values), pattern.T, Bands(above, below))
    for data, places, method in (factor, other) if lower else (other, factor):
        b = solution(data, b, places, method)
    return b


@scipy_rule("scipy.linalg.solve_toeplitz")
def solve_toeplitz(
    c_or_cr: ArrayLike | tuple[ArrayLike, ArrayLike], b: ArrayLike, check_finite: bool = True
) -> AnyArray:
    """The solution of T x = b, by the whole Toeplitz matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return _solve_toeplitz(c, r, b)


@over_stacks(c=1, r=1, b="1|2")
def _solve_toeplitz(c: ArrayLike, r: ArrayLike, b: ArrayLike) -> AnyArray:
    return np.linalg.solve(toeplitz(c, r), array(b))


@scipy_rule("scipy.linalg.matmul_toeplitz")
def matmul_toeplitz(
    c_or_cr: ArrayLike | tuple[ArrayLike, ArrayLike],
    x: ArrayLike,
    check_finite: bool = False,
    workers: int | None = None,
) -> AnyArray:
    """T x, by Fourier transforms."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return _matmul_toeplitz(c, r, x)


@over_stacks(c=1, r=1, x="1|2")
def _matmul_toeplitz(c: ArrayLike, r: ArrayLike | None, x: ArrayLike) -> AnyArray:
    c, x = array(c), array(x)
    r = np.conj(c) if r is None else array(r)
    m, n = c.shape[0], r.shape[0]
    if x.shape[0] != n:
        raise ValueError(f"Incompatible dimensions: a Toeplitz matrix of shape ({m}, {n}) and x of {tuple(x.shape)}")
    round_ = np.concatenate([c, r[1:][::-1]])
    length = m + n - 1
    real = all(a.dtype.kind != "c" for a in (round_, x))
    columns = x[:, None] if x.ndim == 1 else x
    spectrum = np.fft.fft(round_)[:, None] * np.fft.fft(columns, length, axis=0)
    found = np.fft.ifft(spectrum, axis=0)[:m]
    found = np.real(found) if real else found
    return found[:, 0] if x.ndim == 1 else found
