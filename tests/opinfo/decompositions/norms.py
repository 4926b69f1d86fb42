"""OpInfo records of norms, distances, products of chains of matrices, covariance."""

import numpy as np
import scipy.linalg
import scipy.spatial.distance

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on
from tests.opinfo.decompositions.solves import X, either

__all__ = ["OPINFOS"]

LOOSE = {"numbers": (1e-4, 1e-5)}
ZEROS = np.zeros(3)


def vector_norm(x, ord=2, dim=None, keepdim=False):
    """numpy's, of any number of dimensions."""
    axes = tuple(range(x.ndim)) if dim is None else dim
    sizes = np.abs(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(sizes, axes, keepdims=keepdim)
    if ord == 0:
        return np.sum(sizes != 0, axes, keepdims=keepdim).astype(sizes.dtype)
    return np.sum(sizes**ord, axes, keepdims=keepdim) ** (1 / ord)


ORDERS = (2, 0, 1, 3, 0.5, -1, np.inf, -np.inf)
VECTORS = cases(
    *(on((2, 3), p) for p in ORDERS), on(()), on((2, 3, 2), 2, (0, 2)), on((2, 3), 3, 1, True), on((2, 3), 1, (0,)),
    on((0, 2), 2, 0), noncontiguous=False,
)  # fmt: skip
HUGE, TINY = np.array([3e200, 4e200]), np.array([3e-200, 4e-200])
LIMITS = [
    Limit(at=(ZEROS,), value=0.0, grad=(ZEROS,), because="no direction at 0: the subgradient of least norm"),
    Limit(at=(ZEROS,), kwargs={"ord": 0.5}, grad=(ZEROS,), because="no direction at 0"),
    Limit(at=(ZEROS,), kwargs={"ord": np.inf}, grad=(ZEROS,), because="no direction at 0"),
    Limit(at=(HUGE,), value=5e200, grad=(np.array([0.6, 0.8]),), because="squares overflow, the norm does not"),
    Limit(at=(TINY,), value=5e-200, grad=(np.array([0.6, 0.8]),), because="squares vanish, the norm does not"),
    Limit(
        at=(np.array([2.0, -2.0, 1.0]),),
        kwargs={"ord": np.inf},
        grad=(np.array([0.5, -0.5, 0.0]),),
        because="the largest share the slope",
    ),
]
NOT_FLOATING = Raises(RuntimeError, ("vector_norm", "int64"), (np.ones(2, np.int64),))
NO_ORDER = Raises(TypeError, ("vector_norm", "ord", "'fro'"), (np.ones(2), "fro"))


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False):
    """numpy's."""
    return np.linalg.norm(a, ord, dim, keepdim)


def norm(x, ord=None, dim=None):
    """numpy's."""
    return np.linalg.norm(x, ord, dim)


MATRICES = cases(
    *(on((2, 3), p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)), on((2, 3, 2), "nuc", (0, 2), True),
    on((3, 2, 2), 1, (2, 0)),
)  # fmt: skip
NORMS = [
    either("linalg.vector_norm", vector_norm, VECTORS, limits=LIMITS, errors=[NOT_FLOATING, NO_ORDER], **LOOSE),
    either(
        "linalg.matrix_norm",
        matrix_norm,
        MATRICES,
        **LOOSE,
        limits=[
            Limit(at=(np.eye(2),), kwargs={"ord": 2}, grad=(np.eye(2) / 2,), because="equal values share"),
            Limit(at=(np.zeros((2, 2)),), kwargs={"ord": "nuc"}, grad=(np.zeros((2, 2)),), because="0 at 0"),
        ],
        errors=[
            Raises(RuntimeError, ("matrix_norm", "(3,)"), (ZEROS,)),
            Raises(RuntimeError, ("matrix_norm", "'max'"), (X, "max")),
        ],
    ),
    either(
        "linalg.norm",
        norm,
        cases(
            on((3,)), on((3,), 1), on((2, 3), "nuc"), on((2, 3)), on((2, 3), 3, dim=1), on((2, 3), np.inf, dim=(0, 1))
        ),
        **LOOSE,
        errors=[Raises(RuntimeError, ("linalg.norm", "(2, 2, 2)"), (np.ones((2, 2, 2)), 1))],
    ),
    either(
        "norm",
        lambda x, p="fro", **k: matrix_norm(x, "nuc") if p == "nuc" else vector_norm(x, 2 if p == "fro" else p, **k),
        cases(
            on((2, 3)), on((2, 3), "nuc"), on((2, 3), 1), on((2, 3), 3, dim=1), on((2, 3), 2, dim=(0, 1), keepdim=True)
        ),
        errors=[Raises(RuntimeError, ("norm", "'max'"), (X, "max"))],
        **LOOSE,
    ),
    either("dist", lambda x, y, p=2: vector_norm(x - y, p), cases(on((2, 3), T((3,))), on((3,), T((3,)), 1)), **LOOSE),
]


def renorm(x, p, dim, maxnorm):
    """Slice after slice."""
    out = np.moveaxis(x.copy(), dim, 0)
    for part in out:
        size = vector_norm(part, p)
        if size > maxnorm:
            part *= maxnorm / (size + 1e-7)
    return np.moveaxis(out, 0, dim)


def cdist(x, y, p=2.0):
    """By all differences."""
    return (
        vector_norm(x[..., :, None, :] - y[..., None, :, :], p, -1)
        if x.shape[-1]
        else np.zeros((len(x), len(y)), x.dtype)
    )


def pdist(x, p=2.0):
    """By scipy."""
    return np.array([vector_norm(x[i] - x[j], p) for i in range(len(x)) for j in range(i + 1, len(x))], x.dtype)


def real(name, reference, samples, **how):
    """A record over real arrays."""
    return OpInfo(name, reference, samples, dtypes=FLOATS, **how)


ROWS = cases(
    *(on((2, 3), T((3, 3)), p) for p in (2.0, 0.0, 1.0, 3.0, np.inf)),
    on((2, 2, 3), T((1, 3, 3))),
    on((2, 0), T((3, 0))),
)
PAIRS = cases(on((3, 2)), on((3, 2), 1.0), on((3, 2), 3.0), on((1, 2)))
SAME = np.array([[1.0, 2.0]])
FLAT = Raises(RuntimeError, ("pdist", "[3]"), (ZEROS,))
DISTANCES = [
    either(
        "renorm",
        renorm,
        cases(on((2, 3), 2, 0, 1.0), on((2, 3, 2), 1, -1, 2.0), on((2, 3), 3, 1, 100.0)),
        **LOOSE,
        errors=[
            Raises(RuntimeError, ("renorm", "p"), (X, 0, 0, 1.0)),
            Raises(RuntimeError, ("renorm", "(3,)"), (ZEROS, 2, 0, 1.0)),
        ],
    ),
    real(
        "cdist",
        cdist,
        ROWS,
        **LOOSE,
        limits=[Limit(at=(SAME, SAME), value=[[0.0]], grad=(0.0, 0.0), because="equal rows: no direction")],
        errors=[Raises(RuntimeError, ("cdist", "(2, 3)", "(2, 2)"), (X, np.ones((2, 2))))],
    ),
    real("cdist_rows", cdist, cases(on((2, 3), T((3, 3)))), **LOOSE),
    real("pdist", pdist, PAIRS, errors=[FLAT], **LOOSE),
    real("nn.functional.pdist", pdist, PAIRS, errors=[FLAT], **LOOSE),
]


def vander(x, N=None):
    """Increasing powers, batched."""
    return (x[..., None] ** np.arange(x.shape[-1] if N is None else N)).astype(x.dtype)


def wide(x):
    """As a matrix product sees a vector at either end."""
    return np.linalg.multi_dot(x)


def blocks(*tensors):
    """By scipy."""
    return scipy.linalg.block_diag(*tensors)


CHAIN = cases(
    on([(2, 3), (3, 2)]),
    on([(2, 3), (3, 2), (2, 4)]),
    on([(3,), (3, 2), (2, 2), (2,)]),
    on([(2, 4), (4, 1), (1, 3), (3, 2)]),
)
PRODUCTS = [
    either("linalg.matmul", np.matmul, cases(on((2, 3), T((3, 2))), on((2, 2, 3), T((3,))))),
    either(
        "linalg.multi_dot",
        wide,
        CHAIN,
        errors=[
            Raises(RuntimeError, ("multi_dot", "(2, 3)"), ([X, X],)),
            Raises(RuntimeError, ("multi_dot", "two"), ([X],)),
        ],
        **LOOSE,
    ),
    either(
        "chain_matmul",
        lambda *m: np.linalg.multi_dot(m),
        lambda make: [Sample(make((2, 3)), make((3, 2)), make((2, 1)))],
        **LOOSE,
    ),
    either(
        "linalg.vecdot",
        lambda x, y, dim=-1: np.sum(x.conj() * y, dim),
        cases(on((2, 3), T((3,))), on((2, 3), T((2, 1)), dim=0)),
    ),
    either(
        "linalg.cross",
        lambda x, y, dim=-1: np.cross(x, y, axis=dim),
        cases(on((2, 3), T((1, 3))), on((3, 2), T((3, 2)), dim=0)),
        errors=[Raises(RuntimeError, ("linalg.cross", "(3,)"), (X, ZEROS))],
    ),
    either(
        "linalg.diagonal",
        lambda a, offset=0, dim1=-2, dim2=-1: np.diagonal(a, offset, dim1, dim2),
        cases(on((2, 2, 3)), on((3, 3), offset=1), on((2, 3, 2), dim1=0, dim2=2)),
    ),
    either(
        "linalg.vander",
        vander,
        cases(on((3,)), on((2, 3), N=4)),
        **LOOSE,
        errors=[
            Raises(RuntimeError, ("vander", "N"), (ZEROS,), {"N": 1}),
            Raises(RuntimeError, ("vander", "N", "(1,)"), (np.ones(1),)),
        ],
    ),
    either(
        "vander",
        lambda x, *how: np.vander(x, *how).astype(x.dtype),
        cases(on((3,)), on((2,), 3, True), on((2,), 0)),
        errors=[Raises(RuntimeError, ("vander", "(2, 3)"), (X,))],
        **LOOSE,
    ),
    either(
        "block_diag",
        blocks,
        lambda make: [Sample(make((2, 1)), make((3,)), make(()))],
        errors=[Raises(RuntimeError, ("block_diag", "(1, 1, 1)"), (np.ones((1, 1, 1)),))],
    ),
]


def cov(x, correction=1, fweights=None, aweights=None):
    """numpy's."""
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights).astype(x.dtype)


def observations(make):
    """Variables in rows; weights."""
    yield Sample(make((2, 4)))
    yield Sample(make((4,)), correction=0)
    yield Sample(make((2, 3)), fweights=np.array([1, 2, 3]))
    yield Sample(
        make((2, 3)), aweights=make((3,), np.float64, low=0.5, high=1.0).real.astype(np.empty(0, make.dtype).real.dtype)
    )


STATISTICS = [
    either(
        "cov", cov, observations, errors=[Raises(RuntimeError, ("cov", "(1, 1, 1)"), (np.ones((1, 1, 1)),))], **LOOSE
    ),
    either("corrcoef", np.corrcoef, cases(on((2, 4)), on((3, 5))), check_dtype=False, **LOOSE),
]

OPINFOS = [*NORMS, *DISTANCES, *PRODUCTS, *STATISTICS]
