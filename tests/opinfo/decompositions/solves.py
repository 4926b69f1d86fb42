"""OpInfo records of inverses and solves."""

import numpy as np
import scipy.linalg

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, matrices, on

__all__ = ["OPINFOS", "adjoint", "each", "either"]

X = np.ones((2, 3))
REGULAR = matrices(kind="well_conditioned", sizes=((3, 3),), batches=((), (2,), (0,)))


def adjoint(a):
    """The conjugate transpose, of ndarrays and Tensors."""
    return a.conj().swapaxes(-1, -2)


def each(function):
    """A function of single matrices over a batch."""

    def batched(a, *others, **kwargs):
        if a.ndim == 2:
            return function(a, *others, **kwargs)
        return np.stack([batched(x, *(o[i] for o in others), **kwargs) for i, x in enumerate(a)])

    return batched


def either(name, reference, samples, *naming, **how):
    """A record over real and complex matrices; `naming` is what the refusal of a matrix (2, 3) must name."""
    refusals = [Raises(RuntimeError, naming, (X,))] if naming else []
    how["errors"] = [*how.get("errors", ()), *refusals]
    return OpInfo(name, reference, samples, dtypes=FLOATS, complex=True, **how)


def regular(a):
    """`a` with a diagonal that keeps it from being singular."""
    return a + 3 * np.eye(a.shape[-1], dtype=a.dtype)


def systems(*rest, vectors=True, **kwargs):
    """A regular matrix and right-hand sides: matrices, vectors, batches that broadcast."""

    def samples(make):
        def matrix(*batch):
            return regular(make((*batch, 3, 3), low=-1, high=1))

        yield Sample(matrix(), make((3, 2)), *rest, **kwargs)
        yield Sample(matrix(2), make((3, 2)), *rest, **kwargs)
        yield Sample(matrix(), make((2, 3, 1)), *rest, **kwargs)
        yield Sample(matrix(), make((3, 0)), *rest, **kwargs)
        if vectors:
            yield Sample(matrix(), make((3,)), *rest, **kwargs)
            yield Sample(matrix(2), make((2, 3)), *rest, **kwargs)

    return samples


def solve(A, B, left=True, **_):
    """numpy.linalg.solve with vectors as PyTorch takes them, and from the left."""
    if not left:
        return np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)
    vector = B.ndim == 1 or B.shape == A.shape[:-1]
    return np.linalg.solve(A, B[..., None])[..., 0] if vector else np.linalg.solve(A, B)


def solved_from_right(make):
    """X A = B."""
    yield Sample(regular(make((3, 3), low=-1, high=1)), make((2, 3)), left=False)


def no_pivots(A):
    """What `info` is for regular matrices."""
    return np.zeros(A.shape[:-2], np.int32)


def both(*makers):
    """The samples of several makers."""
    return lambda make: (sample for maker in makers for sample in maker(make))


def triangular(make):
    """Either triangle, either side, unit diagonals, batches."""
    for upper, left, unit in ((True, True, False), (False, True, True), (True, False, False), (False, False, False)):
        shape = (3, 2) if left else (2, 3)
        how = {"upper": upper, "left": left, "unitriangular": unit}
        yield Sample(regular(make((3, 3), low=-1, high=1)), make(shape), **how)
    yield Sample(regular(make((2, 2, 2), low=-1, high=1)), make((2, 1)), upper=False)
    yield Sample(regular(make((2, 2), low=-1, high=1)).T, make((3, 2, 1)), upper=True)
    yield Sample(make((0, 2, 2)), make((0, 2, 0)), upper=True)


def solve_triangular(A, B, upper, left=True, unitriangular=False):
    """By the general solver."""
    A = np.triu(A) if upper else np.tril(A)
    if unitriangular:
        A = A - np.einsum("...ii->...i", A)[..., None] * np.eye(A.shape[-1], dtype=A.dtype) + np.eye(A.shape[-1])
    return solve(A.astype(B.dtype), B, left) if B.size else B


def old_triangular(make):
    """triangular_solve's order of arguments."""
    for flags in ((), (False,), (True, True), (False, True, True)):
        yield Sample(make((3, 2)), regular(make((3, 3), low=-1, high=1)), *flags)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """By scipy."""
    return scipy.linalg.solve_triangular(A, b, int(transpose), not upper, unitriangular), A


def pinv_samples(make):
    """Tall, wide, of lower rank; tolerances."""
    yield Sample(make((3, 2)))
    yield Sample(make((2, 2, 3)))
    yield Sample(make((0, 3)))
    yield Sample(make((2, 2)) + 3 * np.eye(2, dtype=make.dtype), rtol=1e-3)


def tall_systems(*drivers):
    """Least squares: more rows, more columns, vectors."""

    def samples(make):
        for driver in drivers:
            yield Sample(make((3, 2)), make((3, 2)), driver=driver)
        yield Sample(make((2, 3)), make((2, 1)))
        yield Sample(make((2, 3, 2)), make((2, 3)))

    return samples


def lstsq(A, b, rcond=None, driver=None):
    """By numpy, a matrix at a time."""
    if A.ndim == 3:
        found = [lstsq(x, y, rcond, driver) for x, y in zip(A, b, strict=True)]
        return tuple(np.stack(parts) if i in (0, 2) else parts[0] for i, parts in enumerate(zip(*found, strict=True)))
    x, residuals, rank, values = np.linalg.lstsq(A, b)
    nothing = values[:0]
    return (
        x,
        np.asarray(residuals) if driver in ("gels", "gelsd") else nothing,
        np.zeros(0, np.int64) if driver == "gels" else np.array(rank, np.int64),
        values if driver == "gelsd" else nothing,
    )


SQUARE = ("square", "(2, 3)")
SINGULAR = Raises(np.linalg.LinAlgError, ("singular",), (np.zeros((2, 2)),))
UNFIT = Raises(RuntimeError, ("solve", "(3, 3)", "(2, 2)"), (np.eye(3), np.ones((2, 2))))
RIGHT = np.ones((3, 1))

INVERSES = [
    either("linalg.inv", np.linalg.inv, REGULAR, "linalg.inv", *SQUARE, errors=[SINGULAR]),
    either("inverse", np.linalg.inv, REGULAR, "linalg.inv", *SQUARE, errors=[SINGULAR]),
    either("linalg.inv_ex", lambda a: (np.linalg.inv(a), no_pivots(a)), REGULAR, "linalg.inv", *SQUARE),
    either("linalg.pinv", np.linalg.pinv, pinv_samples, numbers=(1e-4, 1e-5),
           errors=[Raises(RuntimeError, ("linalg.pinv", "2 dimensions"), (np.ones(3),))]),
    either("linalg.pinv", lambda a: np.linalg.pinv(a + adjoint(a), hermitian=True), REGULAR, variant="hermitian",
           call=lambda a: TENSOR.linalg_pinv(a + adjoint(a), hermitian=True), numbers=(1e-4, 1e-5)),
    either("pinverse", np.linalg.pinv, matrices(kind="any", sizes=((3, 2),), batches=((), (2,))), numbers=(1e-4, 1e-5)),
    either("linalg_pinv_matrices", np.linalg.pinv, matrices(kind="any", sizes=((2, 3),), batches=((),)),
           numbers=(1e-4, 1e-5)),
    either("linalg.tensorinv", np.linalg.tensorinv, cases(on((2, 2, 4)), on((4, 2, 2), 1)), numbers=(1e-3, 1e-3),
           gradcheck={"atol": 1e-3, "rtol": 1e-2},
           errors=[Raises(RuntimeError, ("tensorinv", "(2, 3)"), (X,), {"ind": 1})]),
]  # fmt: skip

SOLVES = [
    either("linalg.solve", solve, both(systems(), solved_from_right), errors=[UNFIT]),
    either("linalg.solve_ex", lambda A, B, **k: (solve(A, B, **k), no_pivots(A)), systems(), errors=[UNFIT]),
    either("linalg_solve_matrices", lambda A, B: (np.linalg.solve(A, B), no_pivots(A)), systems(vectors=False)),
    either("linalg.solve_triangular", solve_triangular, triangular,
           errors=[Raises(RuntimeError, ("solve_triangular", "(2, 2)"), (np.eye(2), RIGHT), {"upper": True})]),
    either("triangular_solve", triangular_solve, old_triangular),
    either("linalg.tensorsolve", np.linalg.tensorsolve, cases(on((2, 3, 6), T((2, 3)))), numbers=(1e-3, 1e-3),
           gradcheck={"atol": 1e-3, "rtol": 1e-2},
           errors=[Raises(RuntimeError, ("tensorsolve", "(2, 3)"), (X, np.ones(2)))]),
    either("linalg.lstsq", lstsq, tall_systems("gels", None), numbers=(1e-4, 1e-4),
           errors=[Raises(RuntimeError, ("lstsq", "'best'"), (X, np.ones((2, 1))), {"driver": "best"}),
                   Raises(RuntimeError, ("lstsq", "(2, 3)", "(3, 1)"), (X, RIGHT))]),
    either("linalg.lstsq", lstsq, cases(on((3, 2), T((3, 2)), driver="gelsd")), numbers=(1e-4, 1e-4), variant="gelsd",
           order=0),
    either("linalg_lstsq_matrices", lstsq, cases(on((3, 2), T((3, 1)))), numbers=(1e-4, 1e-4)),
]  # fmt: skip


OPINFOS = [*INVERSES, *SOLVES]
