"""OpInfo records of eigenvalues, singular values, determinants and functions of matrices."""

import numpy as np
import scipy.linalg

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import Limit, Raises, Sample
from pullback.testing.opinfo.samples import cases, matrices, on
from tests.opinfo.decompositions.solves import X, adjoint, each, either

__all__ = ["OPINFOS"]

FREE = matrices(kind="any", sizes=((3, 3),), batches=((), (2,)))
OBLONG = matrices(kind="any", sizes=((3, 3), (3, 2), (2, 3)), batches=((),))
BATCH = matrices(kind="any", sizes=((2, 3),), batches=((2,),))
REGULAR = matrices(kind="well_conditioned", sizes=((3, 3),), batches=((), (2,)))
SQUARE = ("square", "(2, 3)")
EYE, ZERO, RANK_ONE = np.eye(2), np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])
LOOSE = {"numbers": (1e-3, 1e-4)}


def hermitian(function):
    """A function of a + a^H, so that each element's difference quotient stays among Hermitian matrices."""
    return lambda a: function(a + adjoint(a) + np.diag(np.arange(a.shape[-1])).astype(a.dtype))


def projectors(found):
    """Eigenvalues and the squared moduli of the vectors' elements, which no phase changes."""
    values, vectors = found
    return values, (vectors * vectors.conj()).real


def without_gauge(found):
    """Singular values, projectors on single vectors, and a product of both kinds of vectors."""
    U, S, Vh = found
    k = S.shape[-1]
    U, Vh = U[..., :k], Vh[..., :k, :]
    return S, (U * U.conj()).real, (Vh * Vh.conj()).real, U[..., :1] @ Vh[..., :1, :]


def spans(found):
    """Projectors on the spaces that all vectors span, and what is left of full matrices."""
    U, S, Vh = found
    k = S.shape[-1]
    return S, U[..., k:] @ adjoint(U[..., k:]), adjoint(Vh[..., k:, :]) @ Vh[..., k:, :]


def part(a, lower):
    """A triangle without its diagonal, and the diagonal's real part."""
    return (np.tril(a, -1) if lower else np.triu(a, 1)), np.where(np.eye(a.shape[-1]), a.real, 0)


def of_triangle(a, lower):
    triangle, diagonal = part(a, lower)
    return triangle + adjoint(triangle) + diagonal


def to_triangle(slope, lower):
    triangle, diagonal = part(slope + adjoint(slope), lower)
    return triangle + diagonal / 2


def triangles(make):
    for lower in (True, False):
        yield Sample(make((3, 3)), lower)
        yield Sample(make((2, 3, 3)), lower)


def sorted_out(name):
    """The refusal of matrices that are not square."""
    return name, *SQUARE


EIGEN = [
    either("mirrored", of_triangle, triangles, errors=[Raises(RuntimeError, SQUARE, (X, True))], **LOOSE),
    either("mirrored_backward", to_triangle, triangles, **LOOSE),
    either(
        "linalg.eigh",
        hermitian(lambda a: projectors(np.linalg.eigh(a))),
        FREE,
        call=hermitian(TENSOR.linalg_eigh),
        observe=projectors,
        **LOOSE,
    ),
    either(
        "linalg.eigh",
        np.linalg.eigvalsh,
        lambda make: [Sample(np.eye(2, dtype=make.dtype))],
        "linalg.eigh",
        *SQUARE,
        variant="values",
        order=0,
        observe=lambda found: found[0],
    ),
    either("linalg.eigvalsh", hermitian(np.linalg.eigvalsh), FREE, call=hermitian(TENSOR.linalg_eigvalsh), **LOOSE),
    either(
        "linalg.eigvalsh",
        np.linalg.eigvalsh,
        lambda make: [Sample(np.eye(2, dtype=make.dtype))],
        *sorted_out("linalg.eigvalsh"),
        variant="equal",
        order=0,
        limits=[Limit(at=(EYE,), grad=(EYE,), because="the trace, whose slope is the identity")],
    ),
    either(
        "linalg.eig",
        lambda a: projectors([x + 0j for x in np.linalg.eig(a)]),
        FREE,
        *sorted_out("linalg.eig"),
        observe=projectors,
        check_dtype=False,
        **LOOSE,
    ),
    either(
        "linalg.eigvals",
        lambda a: np.linalg.eigvals(a) + 0j,
        FREE,
        *sorted_out("linalg.eigvals"),
        check_dtype=False,
        **LOOSE,
    ),
]

NO_MATRIX = Raises(RuntimeError, ("linalg.svd", "(3,)"), (np.ones(3),))
NO_DRIVER = Raises(RuntimeError, ("driver", "'gesvd'"), (np.eye(2),), {"driver": "gesvd"})


def thin(function):
    """The svd without the vectors beyond the shorter side."""
    return lambda a: function(a, full_matrices=False)


def low_rank(q):
    """Matrices of which all singular values are asked for, so that the random projection loses nothing."""

    def samples(make):
        yield Sample(make((3, q)), q)
        yield Sample(make((2, 4, q)), q)

    return samples


def usv(a):
    """U, S, V by numpy."""
    U, S, Vh = np.linalg.svd(a, full_matrices=False)
    return U, S, adjoint(Vh)


def product(found):
    """U S V^H."""
    U, S, V = found
    return (U * S[..., None, :]) @ adjoint(V)


SINGULAR_VALUES = [
    either(
        "linalg.svd",
        lambda a: without_gauge(np.linalg.svd(a, full_matrices=False)),
        OBLONG,
        errors=[NO_MATRIX],
        call=thin(TENSOR.linalg_svd),
        observe=without_gauge,
        **LOOSE,
    ),
    either(
        "linalg.svd",
        lambda a: spans(np.linalg.svd(a)),
        BATCH,
        variant="full",
        observe=spans,
        **LOOSE,
        errors=[NO_DRIVER],
    ),
    either(
        "linalg.svdvals",
        lambda a: np.linalg.svd(a, compute_uv=False),
        OBLONG,
        **LOOSE,
        errors=[NO_DRIVER],
        limits=[
            Limit(at=(EYE,), grad=(EYE,), because="the nuclear norm at the identity"),
            Limit(at=(ZERO,), grad=(ZERO,), because="a norm at 0: the subgradient of least norm"),
        ],
    ),
    either("svd", lambda a: product(usv(a)), OBLONG, observe=product, **LOOSE),
    either("svd_lowrank", None, low_rank(2), random=True, observe=product, because="random: shape and dtype only"),
    either("pca_lowrank", None, low_rank(2), random=True, observe=product, because="random: shape and dtype only"),
]


def slope_of_adjugate(a, t):
    """By the product rule, of a regular matrix."""
    inverse, det = np.linalg.inv(a), np.linalg.det(a)
    return det * (np.trace(inverse @ t) * inverse - inverse @ t @ inverse)


def two_matrices(make):
    """A regular matrix and a tangent."""
    yield Sample(make((3, 3)) + 3 * np.eye(3, dtype=make.dtype), make((3, 3)))


ADJUGATE = np.array([[4.0, -2.0], [-2.0, 1.0]])
SINGULAR = [
    Limit(
        at=(RANK_ONE,),
        value=0.0,
        grad=(ADJUGATE,),
        second=(EYE[::-1] * -1 + EYE,),
        atol=1e-12,
        because="d det = tr(adj(A) dA), here of rank 1; the adjugate of a 2x2 matrix is linear",
    ),
    Limit(at=(np.zeros((3, 3)),), value=0.0, grad=(np.zeros((3, 3)),), because="the adjugate of 0 is 0"),
    Limit(
        at=(np.diag([2.0, 3.0, 0.0]),), grad=(np.diag([0.0, 0.0, 6.0]),), atol=1e-12, because="products of the others"
    ),
]
DETERMINANTS = [
    either("linalg.det", np.linalg.det, FREE, *sorted_out("linalg.det"), limits=SINGULAR, **LOOSE),
    either("det", np.linalg.det, FREE, *sorted_out("det"), **LOOSE),
    either("linalg.slogdet", lambda a: tuple(np.linalg.slogdet(a)), REGULAR, *sorted_out("linalg.slogdet"), **LOOSE),
    either("slogdet", lambda a: tuple(np.linalg.slogdet(a)), REGULAR, *sorted_out("slogdet"), **LOOSE),
    either("logdet", lambda a: np.log(np.linalg.det(a)), REGULAR, *sorted_out("logdet"), **LOOSE),
    either("adjugate", lambda a: np.linalg.inv(a) * np.linalg.det(a)[..., None, None], REGULAR, **LOOSE),
    either("adjugate_slope", slope_of_adjugate, two_matrices, **LOOSE),
]


def ranks(make):
    """Of full and lower rank, with tolerances."""
    yield Sample(make((3, 3)))
    yield Sample(make((2, 3, 1)) @ make((2, 1, 3)))
    yield Sample(np.diag(np.array([3.0, 1.0, 0.1])).astype(make.dtype).view(type(make(1))), atol=0.5)
    yield Sample(np.diag(np.array([3.0, 1.0, 0.1])).astype(make.dtype).view(type(make(1))), rtol=0.5)


def rank(a, atol=None, rtol=None):
    """By numpy."""
    if atol is not None:
        return np.asarray(np.linalg.matrix_rank(a, tol=atol))
    return np.asarray(np.linalg.matrix_rank(a, rtol=rtol))


def powers(*exponents):
    """Powers of a regular matrix."""
    return cases(*(on((3, 3), n) for n in exponents), on((2, 2, 2), 2))


POWER_ERRORS = [Raises(RuntimeError, ("matrix_power", *SQUARE), (X, 2))]
CONDITIONS = cases(on((3, 3)), on((2, 3)), on((2, 2), -2), *(on((2, 2), p) for p in (1, -1, np.inf, "fro", "nuc")))
FUNCTIONS = [
    either("linalg.matrix_exp", each(scipy.linalg.expm), FREE, *sorted_out("linalg.matrix_exp"), **LOOSE),
    either("matrix_exp", each(scipy.linalg.expm), FREE, *sorted_out("matrix_exp"), **LOOSE),
    either(
        "linalg.matrix_power",
        np.linalg.matrix_power,
        powers(1, 3, -2),
        errors=POWER_ERRORS,
        **LOOSE,
        gradcheck={"rtol": 1e-2, "atol": 1e-3},
    ),
    either("linalg.matrix_power", np.linalg.matrix_power, powers(0), variant="identity", order=0, out=False),
    either("matrix_power", np.linalg.matrix_power, powers(2), errors=POWER_ERRORS, **LOOSE),
    either("linalg.matrix_rank", rank, ranks, order=0),
    either(
        "linalg.cond",
        lambda a, p=None: np.real(np.linalg.cond(a, p)),  # NumPy 2.0 gives complex numbers for complex matrices
        CONDITIONS,
        **LOOSE,
        gradcheck={"rtol": 1e-2, "atol": 1e-3},
        errors=[Raises(RuntimeError, ("linalg.cond", *SQUARE), (X, 1))],
    ),
]

OPINFOS = [*EIGEN, *SINGULAR_VALUES, *DETERMINANTS, *FUNCTIONS]
