"""Functions of matrices: logarithm, roots, powers, and what a user's function makes of the eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.errors import LinAlgError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, ops
from pullback.scipy.rules.linalg import operators
from pullback.scipy.rules.linalg.stacks import over_stacks


@scipy_rule("scipy.linalg.expm_frechet")
@over_stacks(A=2, E=2)
def expm_frechet(
    A: ArrayLike, E: ArrayLike, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Arrays:
    """The exponential and its derivative along E: the corner of exp((A E; 0 A))."""
    A, E = array(A), array(E)
    n = A.shape[0]
    block = np.block([[A, E], [np.zeros((n, n)), A]])
    found = ops.linalg_matrix_exp(block)
    return (found[:n, :n], found[:n, n:]) if compute_expm else found[:n, n:]


def _off_the_cut(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function`, but not on the negative real axis, where rounding decides on which side of its jump a value is."""

    def checked(A: AnyArray) -> AnyArray:
        w = np.linalg.eigvals(A)
        on = (w.real <= 0) & (np.abs(w.imag) <= 1e-6 * np.abs(w))
        if on.any():
            raise LinAlgError(
                f"scipy.linalg.{function.__name__}: an eigenvalue ({w[on][0]:.6g}) is on the negative real axis or 0, "
                "where the principal branch has no derivative."
            )
        return function(A)

    return checked


_LOGM, _SQRTM = _off_the_cut(scipy.linalg.logm), _off_the_cut(scipy.linalg.sqrtm)


@scipy_rule("scipy.linalg.logm")
@over_stacks(A=2)
def logm(A: ArrayLike, *unused: object, **options: object) -> AnyArray:
    """The principal logarithm."""
    return operators.matrix_map(floating(array(A)), _LOGM)


@scipy_rule("scipy.linalg.sqrtm")
@over_stacks(A=2)
def sqrtm(A: ArrayLike, *unused: object, **options: object) -> AnyArray:
    """The principal square root."""
    return operators.matrix_map(floating(array(A)), _SQRTM)


@scipy_rule("scipy.linalg.fractional_matrix_power")
@over_stacks(A=2)
def fractional_matrix_power(A: ArrayLike, t: AnyArray | float) -> AnyArray:
    """exp(t log A); a product for whole t."""
    if not at_stake(t) and float(t) == int(t):
        return ops.linalg_matrix_power(floating(array(A)), int(t))
    return ops.linalg_matrix_exp(logm(A) * t)


@scipy_rule("scipy.linalg.signm")
@over_stacks(A=2)
def signm(A: ArrayLike, *unused: object, **options: object) -> AnyArray:
    """A (A^2)^(-1/2)."""
    A = array(A)
    return np.linalg.solve(sqrtm(A @ A), A)


@scipy_rule("scipy.linalg.funm")
@over_stacks(A=2)
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> AnyArray | tuple[AnyArray, float]:
    """V f(w) V^-1 with the eigenvalues w and eigenvectors V, which must be distinct."""
    A = array(A)
    w, V = ops.linalg_eig(floating(A))
    found = (V * func(w)) @ np.linalg.inv(V)
    plain = _is_real(A, func)
    found = np.real(found) if plain else found
    return found if disp else (found, 0.0)


def _is_real(A: AnyArray, func: Callable[..., Any]) -> bool:
    """True if SciPy gives a real matrix: of a real one, by a function that is real there."""
    if A.dtype.kind == "c":
        return False
    probe = np.array([0.3 + 0.4j, 0.3 - 0.4j])
    first, second = np.asarray(func(probe))
    return bool(np.isclose(first, np.conj(second)))
