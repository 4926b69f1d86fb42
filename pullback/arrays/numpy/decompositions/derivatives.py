"""Slopes and tangents of eigenvalues and singular values, of the vectors that a decomposition has found already."""

from pullback.arrays.numpy.decompositions.matrices import adjoint


def eigenvalue_slope(A, slopes, values, vectors, inverse, hermitian):
    """W^H diag(slopes) V^H for the vectors V and W = V^-1: the gradient of a loss of the eigenvalues."""
    return (adjoint(inverse) * slopes[..., None, :]) @ adjoint(vectors)


def eigenvalue_tangent(A, tangent, values, vectors, inverse, hermitian):
    """diag(W dA V): the tangents of the eigenvalues."""
    found = (inverse.swapaxes(-1, -2) * (tangent @ vectors)).sum(-2)
    return found.real if hermitian else found


def singular_value_slope(A, slopes, U, S, Vh):
    """U diag(slopes) V^H: the gradient of a loss of the singular values."""
    return (U * slopes[..., None, :]) @ Vh


def singular_value_tangent(A, tangent, U, S, Vh):
    """Re diag(U^H dA V): the tangents of the singular values."""
    return (U.conj() * (tangent @ adjoint(Vh))).sum(-2).real
