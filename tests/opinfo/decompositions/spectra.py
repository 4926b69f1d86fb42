"""OpInfo records of what eigenvalues and singular values pull back, and of functions of Hermitian matrices.

The first are given the decomposition that they are slopes of; here it is found anew wherever the matrix moves.
"""

import numpy as np
import scipy.linalg

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import Sample
from tests.opinfo.decompositions.solves import adjoint, each, either

__all__ = ["OPINFOS"]


class Exponential:
    """exp and its derivatives, which are exp."""

    def at(self, x, order):
        """The same at every order."""
        return np.exp(x)

    def __repr__(self):
        return "exp"


EXP = Exponential()
SPREAD = np.diag(np.arange(3.0))


def hermitian_part(a):
    """With eigenvalues kept apart."""
    return (a + adjoint(a)) * 0.5 + SPREAD.astype(a.dtype)


def of_hermitian(operator):
    """An operator of a Hermitian matrix and its eigenvectors."""

    def call(a, other):
        a = hermitian_part(a)
        values, vectors = TENSOR.linalg_eigh(a)
        return operator(a, other, values, vectors, adjoint(vectors), True)

    return call


def of_general(operator):
    """An operator of a matrix and its eigenvectors."""

    def call(a, other):
        values, vectors = TENSOR.linalg_eig(a)
        return operator(a, other, values, vectors, TENSOR.linalg_inv(vectors), False)

    return call


def of_oblong(operator):
    """An operator of a matrix and its singular vectors."""

    def call(a, other):
        return operator(a, other, *TENSOR.linalg_svd(a, full_matrices=False))

    return call


def slopes_of_eigenvalues(a, slopes):
    """V diag(slopes) V^H by numpy."""
    vectors = np.linalg.eigh(hermitian_part(a))[1]
    return (vectors * slopes[..., None, :]) @ adjoint(vectors)


def tangents_of_eigenvalues(a, tangent):
    """Re diag(V^H tangent V) by numpy."""
    vectors = np.linalg.eigh(hermitian_part(a))[1]
    return (vectors.conj() * (tangent @ vectors)).sum(-2).real


def slopes_of_general_eigenvalues(a, slopes):
    """V^-H diag(slopes) V^H by numpy."""
    vectors = np.linalg.eig(a)[1]
    return (adjoint(np.linalg.inv(vectors)) * slopes[..., None, :]) @ adjoint(vectors)


def tangents_of_general_eigenvalues(a, tangent):
    """diag(V^-1 tangent V) by numpy."""
    vectors = np.linalg.eig(a)[1]
    return np.diagonal(np.linalg.inv(vectors) @ tangent @ vectors, 0, -2, -1) + 0j


def slopes_of_singular_values(a, slopes):
    """U diag(slopes) V^H by numpy."""
    U, _, Vh = np.linalg.svd(a, full_matrices=False)
    return (U * slopes[..., None, :]) @ Vh


def tangents_of_singular_values(a, tangent):
    """Re diag(U^H tangent V) by numpy."""
    U, _, Vh = np.linalg.svd(a, full_matrices=False)
    return (U.conj() * (tangent @ adjoint(Vh))).sum(-2).real


def real(make, shape):
    """Numbers of the real dtype that belongs to `make`'s."""
    return np.ascontiguousarray(make(shape).real)


def with_slopes(make):
    """A matrix, a batch, oblong where the record takes that; and a number for each value."""
    yield Sample(make((3, 3)), real(make, (3,)))
    yield Sample(make((2, 3, 3)), real(make, (2, 3)))


def oblong_with_slopes(make):
    """Tall and wide."""
    yield Sample(make((3, 2)), real(make, (2,)))
    yield Sample(make((2, 2, 3)), real(make, (2, 2)))


def with_complex_slopes(make):
    """Eigenvalues of a general matrix have complex slopes."""
    yield Sample(make((3, 3)), make((3,)) + 0j)


def with_tangent(make):
    """A matrix and a direction."""
    yield Sample(make((3, 3)), make((3, 3)))


def oblong_with_tangent(make):
    """Tall and wide."""
    yield Sample(make((3, 2)), make((3, 2)))
    yield Sample(make((2, 3)), make((2, 3)))


@each
def exponential(a, E=None, G=None):
    """exp of the Hermitian part and its derivatives along such: corners of exponentials of block matrices."""
    a, zero = hermitian_part(a), np.zeros_like(a)
    if E is None:
        return scipy.linalg.expm(a)
    E = (E + adjoint(E)) / 2
    if G is None:
        return scipy.linalg.expm(np.block([[a, E], [zero, a]]))[:3, 3:]
    G = (G + adjoint(G)) / 2
    rows = [[a, E, G, zero], [zero, a, zero, G], [zero, zero, a, E], [zero, zero, zero, a]]
    return scipy.linalg.expm(np.block(rows))[:3, 9:]


def directions(count):
    """A matrix and directions."""

    def samples(make):
        for batch in ((), (2,)):
            a, *rest = (make((*batch, 3, 3), low=-0.5, high=0.5) for _ in range(count + 1))
            # The derivative of the second by the matrix is not implemented.
            yield Sample(a if count < 2 else np.array(a), *rest)

    return samples


def of_map(operator):
    """A derivative of exp at a Hermitian matrix."""

    def call(a, *directions):
        a = hermitian_part(a)
        return operator(a, *directions, *TENSOR.linalg_eigh(a), EXP)

    return call


LOOSE = {"numbers": (1e-3, 1e-4), "check_dtype": False}
OPINFOS = [
    either("eigenvalue_slope", slopes_of_eigenvalues, with_slopes, call=of_hermitian(TENSOR.eigenvalue_slope), **LOOSE),
    either(
        "eigenvalue_slope",
        slopes_of_general_eigenvalues,
        with_complex_slopes,
        variant="general",
        call=of_general(TENSOR.eigenvalue_slope),
        **LOOSE,
    ),
    either(
        "eigenvalue_tangent",
        tangents_of_eigenvalues,
        with_tangent,
        call=of_hermitian(TENSOR.eigenvalue_tangent),
        **LOOSE,
    ),
    either(
        "eigenvalue_tangent",
        tangents_of_general_eigenvalues,
        with_tangent,
        variant="general",
        call=of_general(TENSOR.eigenvalue_tangent),
        **LOOSE,
    ),
    either(
        "singular_value_slope",
        slopes_of_singular_values,
        oblong_with_slopes,
        call=of_oblong(TENSOR.singular_value_slope),
        **LOOSE,
    ),
    either(
        "singular_value_tangent",
        tangents_of_singular_values,
        oblong_with_tangent,
        call=of_oblong(TENSOR.singular_value_tangent),
        **LOOSE,
    ),
    either(
        "hermitian_map",
        exponential,
        directions(0),
        call=lambda a: TENSOR.hermitian_map(hermitian_part(a), EXP)[0],
        **LOOSE,
    ),
    either(
        "hermitian_map_slope", exponential, directions(1), call=of_map(TENSOR.hermitian_map_slope), order=1, **LOOSE
    ),
    either(
        "hermitian_map_curve", exponential, directions(2), call=of_map(TENSOR.hermitian_map_curve), order=1, **LOOSE
    ),
]
