"""The kernels: SciPy's functions of matrices and its solvers of matrix equations, of stacks one by one."""

import numpy as np
import scipy.linalg


def _of_stacks(function, *matrices):
    if matrices[0].ndim == 2:
        return function(*matrices)
    front = matrices[0].shape[:-2]
    flat = [x.reshape(-1, *x.shape[-2:]) for x in matrices]
    found = np.stack([function(*each) for each in zip(*flat, strict=True)])
    return found.reshape(front + found.shape[1:])


def mirrored(a, lower):
    """One triangle, and its conjugate in the other: only this triangle is read, nor the diagonal's imaginary part."""
    other = a.swapaxes(-1, -2)
    strict = _below_diagonal(a.shape[-1]) if lower else _below_diagonal(a.shape[-1]).T
    if a.dtype.kind != "c":
        return np.where(strict, a, other)
    made = np.where(strict, a, other.conj())
    _diagonal(made)[...] = _diagonal(a).real
    return made


def mirrored_backward(slope, lower):
    """The triangle of slope + slope^H, and the diagonal's real part once."""
    strict = _below_diagonal(slope.shape[-1]) if lower else _below_diagonal(slope.shape[-1]).T
    made = np.where(strict, slope + slope.swapaxes(-1, -2).conj(), slope.dtype.type(0))
    _diagonal(made)[...] = _diagonal(slope).real
    return made


def _below_diagonal(n):
    return np.tri(n, k=-1, dtype=bool)


def _diagonal(a):
    return np.einsum("...ii->...i", a)  # a view


def matrix_map(A, function):
    """The function of a matrix."""
    return _of_stacks(function, A)


def sylvester(A, B, Q):
    """A X + X B = Q."""
    return _of_stacks(scipy.linalg.solve_sylvester, A, B, Q)


def continuous_are(A, B, Q, R):
    """The continuous algebraic Riccati equation."""
    return _of_stacks(scipy.linalg.solve_continuous_are, A, B, Q, R)


def discrete_are(A, B, Q, R):
    """The discrete algebraic Riccati equation."""
    return _of_stacks(scipy.linalg.solve_discrete_are, A, B, Q, R)
