"""OpInfo records of Cholesky, LU, LDL and QR factors."""

import numpy as np
import scipy.linalg

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import matrices
from tests.opinfo.decompositions.solves import X, adjoint, either, regular

__all__ = ["OPINFOS"]

FREE = matrices(kind="any", sizes=((3, 3),), batches=((), (2,)))
OBLONG = matrices(kind="any", sizes=((3, 3), (3, 2), (2, 3)), batches=((), (2,)))


def positive(a):
    """A positive definite matrix of any."""
    return a @ adjoint(a) + np.eye(a.shape[-1], dtype=a.dtype)


def of_positive(function):
    """A function of a a^H + 1: gradients of Hermitian matrices are checked through what they are made of."""
    return lambda a, *args, **kwargs: function(positive(a), *args, **kwargs)


def upper_cholesky(a):
    """R with R^H R = a."""
    return adjoint(np.linalg.cholesky(a))


INDEFINITE = Raises(np.linalg.LinAlgError, ("cholesky", "not positive"), (np.diag([1.0, -1.0]),))

CHOLESKY = [
    either("linalg.cholesky", of_positive(np.linalg.cholesky), FREE, call=of_positive(TENSOR.linalg_cholesky)),
    either("linalg.cholesky", np.linalg.cholesky, lambda make: [Sample(np.eye(2, dtype=make.dtype))], "linalg.cholesky",
           "(2, 3)", errors=[INDEFINITE], variant="identity", order=0),
    either("linalg.cholesky", of_positive(upper_cholesky), FREE, variant="upper",
           call=of_positive(lambda a: TENSOR.linalg_cholesky(a, upper=True))),
    either("linalg.cholesky_ex", of_positive(lambda a: (np.linalg.cholesky(a), np.zeros(a.shape[:-2], np.int32))), FREE,
           call=of_positive(TENSOR.linalg_cholesky_ex)),
    either("cholesky", of_positive(np.linalg.cholesky), FREE, call=of_positive(TENSOR.cholesky)),
]  # fmt: skip


def with_factor(make):
    """Right-hand sides and Cholesky factors."""
    yield Sample(make((3, 2)), np.tril(regular(make((3, 3), low=-1, high=1))))
    yield Sample(make((2, 3, 1)), np.triu(regular(make((3, 3), low=-1, high=1))), True)


def factors_alone(make):
    """Cholesky factors."""
    yield Sample(make.of(np.tril(regular(make((2, 3, 3), low=-1, high=1)))))
    yield Sample(make.of(np.triu(regular(make((3, 3), low=-1, high=1)))), True)


def cholesky_solve(b, factor, upper=False):
    """Of the product of the factors."""
    return np.linalg.solve(adjoint(factor) @ factor if upper else factor @ adjoint(factor), b)


def cholesky_inverse(factor, upper=False):
    """Of the product of the factors."""
    return np.linalg.inv(adjoint(factor) @ factor if upper else factor @ adjoint(factor))


OF_CHOLESKY = [
    either("cholesky_solve", cholesky_solve, with_factor),
    either("cholesky_inverse", cholesky_inverse, factors_alone, "cholesky_inverse", "(2, 3)"),
]


def lu_factor(a):
    """scipy's factors and exchanges, these counted from 1."""
    if a.ndim == 3:
        return tuple(np.stack(parts) for parts in zip(*map(lu_factor, a), strict=True))
    LU, pivots, _ = scipy.linalg.get_lapack_funcs(("getrf",), (a,))[0](a)
    return LU, (pivots + 1).astype(np.int32)


def lu(a):
    """P, L, U by scipy."""
    if a.ndim == 3:
        return tuple(np.stack(parts) for parts in zip(*map(lu, a), strict=True))
    return tuple(x.astype(a.dtype) for x in scipy.linalg.lu(a))


def permutation(pivots, size):
    """Exchanges done one after the other."""
    rows = list(range(size))
    for i, other in enumerate(pivots):
        rows[i], rows[other - 1] = rows[other - 1], rows[i]
    return np.array(rows)


def packed(make):
    """LU and pivots."""
    pivots = np.array([2, 3, 3], np.int32)
    yield Sample(regular(make((3, 3), low=-1, high=1)), pivots)
    yield Sample(regular(make((2, 3, 3), low=-1, high=1)), np.stack([pivots, pivots]))


def unpacked(LU, pivots):
    """P, L, U of LU and pivots."""
    n = LU.shape[-1]
    rows = [permutation(p, n) for p in pivots.reshape(-1, n)]
    P = np.stack([np.eye(n, dtype=LU.dtype)[r].T for r in rows]).reshape(LU.shape)
    return P, np.tril(LU, -1) + np.eye(n, dtype=LU.dtype), np.triu(LU)


def lu_systems(*flags, swapped=False, **kwargs):
    """LU, pivots, a right-hand side."""

    def samples(make):
        for sample in packed(make):
            b = make((3, 2))
            yield Sample(b, *sample.args) if swapped else Sample(*sample.args, b, *flags, **kwargs)
        if not swapped:
            yield Sample(*sample.args, make((2, 3)), left=False, adjoint=True)

    return samples


def lu_solve(LU, pivots, B, left=True, adjoint=False):
    """Of the product of the factors."""
    P, L, U = unpacked(LU, pivots)
    A = P @ L @ U
    A = A.conj().swapaxes(-1, -2) if adjoint else A
    if left:
        return np.linalg.solve(A, B)
    return np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)


VECTOR, PIVOTS = np.ones(3), np.array([1, 2], np.int32)
LU = [
    either("linalg.lu_factor", lu_factor, OBLONG, errors=[Raises(RuntimeError, ("lu_factor", "(3,)"), (VECTOR,)),
           Raises(RuntimeError, ("lu_factor", "pivot"), (X,), {"pivot": False})]),
    either("linalg.lu_factor_ex", lambda a: (*lu_factor(a), np.zeros(a.shape[:-2], np.int32)), FREE),
    either("linalg.lu", lu, OBLONG),
    either("lu", lu_factor, FREE),
    either("lu_unpack", unpacked, packed),
    OpInfo("lu_permutation", permutation, lambda make: [Sample(np.array([3, 3, 3], np.int32), 4)],
           dtypes=(np.float64,), order=0),
    either("linalg.lu_solve", lu_solve, lu_systems(), numbers=(1e-4, 1e-4),
           errors=[Raises(RuntimeError, ("linalg.lu_solve", "B", "(3, 1)"), (np.eye(2), PIVOTS, np.ones((3, 1)))),
                   Raises(RuntimeError, ("linalg.lu_solve", "B", "(2,)"), (np.eye(2), PIVOTS, np.ones(2))),
                   Raises(RuntimeError, ("linalg.lu_solve", "columns", "(3, 1)"),
                          (np.eye(2), PIVOTS, np.ones((3, 1))), {"left": False}),
                   Raises(RuntimeError, ("pivots", "1 and 2", "0 to 1"),
                          (np.eye(2), PIVOTS - 1, np.ones((2, 1))))]),
    either("linalg.lu_solve", lu_solve, lu_systems(adjoint=True), variant="adjoint", numbers=(1e-4, 1e-4)),
    either("lu_solve", lambda b, LU, pivots: lu_solve(LU, pivots, b), lu_systems(swapped=True), numbers=(1e-4, 1e-4)),
]  # fmt: skip


def indefinite(make):
    """Symmetric matrices that need exchanges and blocks of two."""
    a = make((3, 3), low=-1, high=1)
    yield Sample((a + a.swapaxes(-1, -2)) * np.array([[0, 3, 1], [3, 0, 1], [1, 1, 5]], a.dtype))


def ldl_parts(LD, pivots, info=None):
    """The matrix that the factors solve with."""
    n = LD.shape[-1]
    return TENSOR.linalg_ldl_solve(LD, pivots, np.eye(n, dtype=LD.dtype))


def ldl_systems(make):
    """LD with pivots of one and of two, as LAPACK gives them."""
    LD = make.constant((3, 3), low=1, high=2)
    yield Sample(np.tril(LD), np.array([1, -3, -3], np.int32), make((3, 2)))
    yield Sample(np.tril(LD), np.array([3, 3, 3], np.int32), make((3, 1)))


def ldl_solve(LD, pivots, B):
    """By the definition in LAPACK's xSYTRF: A = T D T^T with T = P(1) L(1) P(2) L(2) ..., multiplied out."""
    n, k = len(LD), 0
    T, D = np.eye(n, dtype=LD.dtype), np.zeros_like(LD)
    while k < n:
        end = k + (1 if pivots[k] > 0 else 2)
        D[k:end, k:end] = np.tril(LD[k:end, k:end]) + np.tril(LD[k:end, k:end], -1).T
        P, L = np.eye(n, dtype=LD.dtype), np.eye(n, dtype=LD.dtype)
        exchanged = [end - 1, abs(int(pivots[end - 1])) - 1]
        P[exchanged] = P[exchanged[::-1]]
        L[end:, k:end] = LD[end:, k:end]
        T, k = T @ P @ L, end
    return np.linalg.solve(T @ D @ T.T, B)


NO_DERIVATIVE = "PyTorch has none either: LAPACK's compact form has no smooth derivative where pivots change"
LDL = [
    either("linalg.ldl_factor", np.linalg.inv, indefinite, observe=lambda r: ldl_parts(*r), order=0,
           numbers=(1e-4, 1e-4), because=NO_DERIVATIVE),
    either("linalg.ldl_factor_ex", np.linalg.inv, indefinite, observe=lambda r: ldl_parts(*r), order=0,
           numbers=(1e-4, 1e-4), because=NO_DERIVATIVE),
    either("linalg.ldl_solve", ldl_solve, ldl_systems, numbers=(1e-4, 1e-4)),
]  # fmt: skip


def qr_samples(*modes):
    """Square, tall, wide."""

    def samples(make):
        for mode in modes:
            for shape in ((3, 3), (2, 3)) if mode == "complete" else ((3, 3), (3, 2), (2, 3), (2, 3, 2)):
                yield Sample(make(shape), mode)

    return samples


def geqrf(a):
    """numpy's raw form."""
    h, tau = np.linalg.qr(a, "raw")
    return h.swapaxes(-1, -2), tau


def reflectors(*others, left=True):
    """Reflections and their factors, one of them 0."""

    def samples(make):
        for batch in ((), (2,)):
            tau = make((*batch, 2), low=0.5, high=1.5)
            tau[..., 1:] *= 0 if batch else 1
            yield Sample(make((*batch, 3, 2)), tau, *(make((*batch, *shape)) for shape in others))

    return samples


def householder_product(a, tau):
    """One reflection after the other."""
    m, n = a.shape[-2:]
    Q = np.broadcast_to(np.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))
    for i in range(tau.shape[-1]):
        v = np.concatenate([np.zeros_like(a[..., :i, i]), np.ones_like(a[..., :1, i]), a[..., i + 1 :, i]], -1)[
            ..., None
        ]
        Q = Q - tau[..., i, None, None] * (Q @ v) @ adjoint(v)
    return Q[..., :n]


def whole(a, tau):
    """All columns of the product."""
    m, n = a.shape[-2:]
    return householder_product(np.concatenate([a, np.zeros((*a.shape[:-1], m - n), a.dtype)], -1), tau)


QR = [
    either("linalg.qr", lambda a, mode: tuple(np.linalg.qr(a, mode)), qr_samples("reduced", "complete"),
           errors=[Raises(RuntimeError, ("qr", "'raw'"), (X, "raw"))], numbers=(1e-4, 1e-4)),
    either("qr", lambda a, some=True: tuple(np.linalg.qr(a)), FREE),
    either("geqrf", geqrf, OBLONG, order=0, because=NO_DERIVATIVE),
    either("linalg.householder_product", householder_product, reflectors(),
           errors=[Raises(RuntimeError, ("householder_product", "(2, 3)"), (X, np.ones(2)))]),
    either("orgqr", householder_product, reflectors()),
    either("ormqr", lambda a, tau, b: whole(a, tau) @ b, reflectors((3, 2)), numbers=(1e-4, 1e-4)),
]  # fmt: skip

OPINFOS = [*CHOLESKY, *OF_CHOLESKY, *LU, *LDL, *QR]
