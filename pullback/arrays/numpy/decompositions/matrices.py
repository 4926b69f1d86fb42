"""Checks of matrix arguments, and loops over batches, for the kernels of matrices.

NumPy's functions take batches. LAPACK's that NumPy does not have are called once a matrix: a loop over matrices, never
over elements. Of many small matrices, `small` does at once what needs no decision for each matrix by itself.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.core.errors import LinAlgError, OperatorError


@loops("arguments")
def require_matrices(name, square=False, **operands):
    """Refuse operands that are not (batches of) floating-point matrices."""
    for argument, x in operands.items():
        if x.ndim < 2:
            raise OperatorError(f"{name}: {argument} must have at least 2 dimensions, got shape {x.shape}")
        if square and x.shape[-1] != x.shape[-2]:
            raise OperatorError(f"{name}: {argument} must be batches of square matrices, got shape {x.shape}")
        require_floating(name, **{argument: x})


@loops("arguments")
def require_floating(name, **operands):
    """Refuse operands that LAPACK does not compute with."""
    for argument, x in operands.items():
        if x.dtype.kind not in "fc" or x.dtype.itemsize < 4:
            raise OperatorError(
                f"{name}: {argument} must be floating point or complex (float32 or wider), got {x.dtype}; "
                "convert it, for example with .to(float)"
            )


@loops("arguments")
def matrices_of(*arrays):
    """The batch shape of arrays after broadcasting, and each as one stack of matrices."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    stacks = []
    for x in arrays:
        wide = x if x.shape[:-2] == batch else np.broadcast_to(x, batch + x.shape[-2:])
        stacks.append(wide.reshape(math.prod(batch), *x.shape[-2:]) if batch else wide[None])
    return batch, stacks


def svd(A, **how):
    """np.linalg.svd, but nan for each matrix with inf or nan: LAPACK's gesdd may never come back from one."""
    finite = np.isfinite(A)
    if finite.all():
        return np.linalg.svd(A, **how)
    lost = ~finite.all((-2, -1))
    found = np.linalg.svd(np.where(lost[..., None, None], A.dtype.type(0), A), **how)
    if isinstance(found, np.ndarray):  # of values alone
        found[lost] = math.nan
        return found
    U, S, Vh = found
    U[lost] = S[lost] = Vh[lost] = math.nan
    return U, S, Vh


def adjoint(x):
    """The conjugate transpose of each matrix, a view of real ones."""
    flipped = x.swapaxes(-1, -2)
    return flipped.conj() if x.dtype.kind == "c" else flipped


def refuse_failures(name, info, problem):
    """Raise for the first matrix of a batch whose `info` is not 0; `problem` may speak of {info}."""
    if not info.any():
        return
    first = int(np.flatnonzero(info)[0])
    place = f" (batch element {first})" if info.ndim else ""
    raise LinAlgError(f"{name}{place}: {problem.format(info=int(info.flat[first]))}")


def mirrored(a, lower):
    """One triangle, and its conjugate in the other: only this triangle is read, nor the diagonal's imaginary part."""
    if a.shape[-1:] != a.shape[-2:-1]:
        raise LinAlgError(f"square matrices are needed, got shape {a.shape}")
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
