"""OpInfo records of lobpcg, against complete decompositions by SciPy."""

import numpy as np
import scipy.linalg

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import Plain, Raises, Sample
from tests.opinfo.decompositions.solves import adjoint, either

__all__ = ["OPINFOS"]

START = np.random.default_rng(0).standard_normal((9, 2))
EXACT = {"tol": 1e-15, "niter": 200}  # as near as rounding lets it come, so that differences of results mean something


def projectors(found):
    """The values and u u^H of each vector, which no sign or phase changes."""
    values, vectors = found
    columns = vectors.swapaxes(-1, -2)
    return values, columns[..., None] * columns.conj()[..., None, :]


def complete(A, k=1, B=None, X=None, largest=True, **_):
    """Of all eigenpairs of the Hermitian part those at the wanted end, observed."""
    A, B = ((M if M is None else (M + adjoint(M)) / 2) for M in (A, B))
    if A.ndim == 3:
        return tuple(np.stack(parts) for parts in zip(*(complete(a, k, B, largest=largest) for a in A), strict=True))
    values, vectors = scipy.linalg.eigh(A, B)
    chosen = slice(None, -k - 1, -1) if largest else slice(k)
    return projectors((values[chosen], vectors[:, chosen]))


def pairs(A, B, X, iK, k, niter, tol, largest):
    """The same with the arguments of the primitive."""
    return complete(A, k, B, largest=largest)


def samples(make):
    """Either end, a batch, a generalised problem, a preconditioner."""
    spread = np.diag(np.arange(9.0)).astype(make.dtype)  # keeps the eigenvalues apart
    yield Sample(make((9, 9), low=-1, high=1) + spread, 2, X=Plain(START), **EXACT)
    yield Sample(make((2, 9, 9), low=-1, high=1) + spread, 1, X=Plain(START), largest=False, **EXACT)
    weight = make((9, 9), low=-0.2, high=0.2) + 3 * np.eye(9, dtype=make.dtype)
    yield Sample(make((9, 9), low=-1, high=1) + spread, 2, B=weight, X=Plain(START), largest=False, **EXACT)
    inverse = Plain(np.diag(1 / np.arange(2.0, 11.0)))
    yield Sample(make((9, 9), low=-1, high=1) + spread, 1, X=Plain(START), iK=inverse, largest=False, **EXACT)


def primitive(make):
    """The primitive takes what lobpcg has made Hermitian."""
    for sample in samples(make):
        if sample.args[0].ndim == 2:
            kwargs = sample.kwargs
            largest = kwargs.get("largest", True)
            rest = (kwargs["X"], kwargs.get("iK"), sample.args[1], kwargs["niter"], kwargs["tol"], largest)
            yield Sample(sample.args[0], kwargs.get("B"), *rest)


def of_hermitian_parts(A, B, *rest):
    """The primitive as a function of matrices each element of which may move by itself."""
    A, B = ((M if M is None else (M + adjoint(M)) * 0.5) for M in (A, B))
    return TENSOR.lobpcg_pairs(A, B, *rest)


REFUSED = [
    Raises(RuntimeError, ("lobpcg", "tracker", "ortho_iparams"), (np.eye(9),), {"tracker": print, "ortho_iparams": {}}),
    Raises(RuntimeError, ("lobpcg", "method", "'best'"), (np.eye(9),), {"method": "best"}),
    Raises(RuntimeError, ("lobpcg", "10 eigenpairs", "(9, 9)"), (np.eye(9), 10)),
    Raises(RuntimeError, ("lobpcg", "B", "(9, 9)", "(2, 2)"), (np.eye(9),), {"B": np.eye(2)}),
]
LOOSE = {"numbers": (1e-3, 1e-3), "observe": projectors, "check_dtype": False}
OPINFOS = [
    either("lobpcg", complete, samples, "lobpcg", "square", "(2, 3)", errors=REFUSED, **LOOSE),
    either("lobpcg_pairs", pairs, primitive, call=of_hermitian_parts, **LOOSE),
]
