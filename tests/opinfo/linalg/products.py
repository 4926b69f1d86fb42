"""OpInfo records of the operators of the area linalg."""

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Raises, Sample, refused
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

X = np.ones((2, 3))


def info(name, reference, samples, naming=None, **how):
    """A record; `naming` are what the refusal of operands (2, 3) and (2, 3) must name."""
    errors = [*how.pop("errors", ()), *([Raises(RuntimeError, (name, *naming), (X, X))] if naming else ())]
    return OpInfo(name, reference, samples, complex=True, errors=errors, **how)


def blended(product):
    """beta * self + alpha * product(a, b)."""
    return lambda x, a, b, beta=1, alpha=1: (0 if beta == 0 else beta * x) + alpha * product(a, b)


def blends(shape, *others):
    """Samples of the add... family: plain, scaled, self broadcast, self ignored."""
    operands = [T(s) for s in others]
    return cases(
        on(shape, *operands),
        on(shape, *operands, beta=2, alpha=3),
        on((1,), *operands, beta=3, alpha=1),
        on((), *operands),
        on(shape, *operands, beta=0),
    )


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """One diagonal after the other."""
    size = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], size, size), x.dtype)
    for i in range(x.shape[-1]):
        out[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def cross(x, y, dim=None):
    """np.cross, by default along the first dimension of size 3."""
    dim = x.shape.index(3) if dim is None else dim
    return np.cross(x, y, axis=dim)


PRODUCTS = [
    info("mm", np.matmul, cases(on((2, 3), T((3, 4))), on((2, 0), T((0, 2))), noncontiguous=True), ("(2, 3)",)),
    info(
        "bmm",
        np.matmul,
        cases(on((2, 2, 3), T((2, 3, 2))), on((0, 2, 3), T((0, 3, 2)))),
        ("3 dimensions",),
        errors=[refused(RuntimeError, ("bmm", "batches"), np.ones((2, 2, 2)), np.ones((1, 2, 2)))],
    ),
    info(
        "matmul",
        np.matmul,
        cases(
            on((3,), T((3,))), on((2, 3), T((3,))), on((3,), T((3, 2))), on((2, 3), T((3, 2))), on((2, 2, 3), T((3,))),
            on((3,), T((2, 3, 2))), on((2, 2, 3), T((3, 2))), on((2, 3), T((2, 3, 2))), on((2, 1, 2, 3), T((2, 3, 2))),
            on((2, 2, 0), T((0, 2))), noncontiguous=True,
        ),
        ("(2, 3)",),
    ),
    info("mv", np.matmul, cases(on((2, 3), T((3,))), noncontiguous=True), ("1 dimensions", "(2, 3)")),
    info("dot", np.dot, cases(on((3,), T((3,))), on((0,), T((0,)))), ("1 dimensions",)),
    info("vdot", np.vdot, cases(on((3,), T((3,)))), ("1 dimensions",)),
    info("inner", np.inner, cases(on((3,), T((3,))), on((2, 3), T((3,))), on((2, 3), T((2, 2, 3))), on((), T((2,))))),
    info("outer", np.outer, cases(on((2,), T((3,))), on((2,), T((0,)))), ("1 dimensions",)),
    info("kron", np.kron, cases(on((2,), T((3,))), on((2, 2), T((1, 3))), on((2, 2), T((2,))), on((), T((2,))))),
    info(
        "cross",
        cross,
        cases(on((3,), T((3,))), on((2, 3), T((2, 3))), on((3, 2), T((3, 2)), 0), on((1, 3), T((2, 3)), -1)),
        errors=[refused(RuntimeError, ("cross", "(2, 2)"), np.ones((2, 2)), np.ones((2, 2)))],
    ),
    info(
        "tensordot",
        lambda a, b, dims=2, axes=None: np.tensordot(a, b, dims if axes is None else axes),
        cases(
            on((2, 3, 2), T((3, 2, 2))), on((2, 3), T((3, 2)), 1), on((2,), T((2,)), 0),
            on((2, 3), T((2, 3)), ([0, 1], [0, 1])), on((2, 3, 2), T((2, 2, 3)), ([0, 1], [-2, 2])),
            on((2, 3), T((3, 2)), axes=1), on((2, 3), T((2, 3)), axes=((1, 0), (1, 0))),
        ),
        errors=[
            refused(RuntimeError, ("tensordot", "(2, 3)"), X, X, 1),
            refused(RuntimeError, ("tensordot", "pair up"), X, X, ([0], [0, 1])),
            refused(TypeError, ("tensordot", "axes is NumPy's name of dims"), X, X, 1, axes=1),
        ],
    ),
]  # fmt: skip

SUMS = [
    info("addmm", blended(np.matmul), blends((2, 2), (2, 3), (3, 2)), inplace=False),
    info("addmv", blended(np.matmul), blends((2,), (2, 3), (3,))),
    info("addr", blended(np.outer), blends((2, 3), (2,), (3,))),
    info("addbmm", blended(lambda a, b: np.matmul(a, b).sum(0)), blends((2, 2), (2, 2, 3), (2, 3, 2))),
    info("baddbmm", blended(np.matmul), blends((2, 2, 2), (2, 2, 3), (2, 3, 2))),
    info(
        "addmm",
        blended(np.matmul),
        cases(on((2, 2), T((2, 3)), T((3, 2)), beta=2)),
        variant="inplace",
        inplace=True,
        errors=[refused(RuntimeError, ("addmm", "(3,)"), np.ones(3), np.ones((2, 2)), np.ones((2, 2)))],
    ),
]

DIAGONALS = [
    info(
        "trace", np.trace, cases(on((2, 2)), on((2, 3))), errors=[refused(RuntimeError, ("trace", "(2,)"), np.ones(2))]
    ),
    info(
        "diag",
        np.diag,
        cases(on((3,)), on((2,), 1), on((2, 3)), on((2, 3), 1), on((2, 3), -1)),
        errors=[refused(RuntimeError, ("diag",), np.ones(()))],
    ),
    info(
        "diag_embed",
        diag_embed,
        cases(on((2,)), on((2, 3), 1), on((2, 2), -1, 0, 2), on((2, 2), 0, -1, 0)),
        errors=[
            refused(RuntimeError, ("diag_embed", "1 and 1"), X, 0, 1, 1),
            refused(IndexError, ("diag_embed",), X, 0, 9),
        ],
    ),
    info("diagflat", np.diagflat, cases(on((2,)), on((2, 2), 1), on(()))),
]

EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("ij,jk", (2, 3), (3, 2)),
    ("i->", (3,)),
    ("ij->ji", (2, 3)),
    ("ii->i", (2, 2)),
    ("ii", (2, 2)),
    ("iij->j", (2, 2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("bi,bi->b", (2, 3), (2, 3)),
    ("ij,ij->ij", (2, 3), (1, 3)),
    ("ij,ij->", (2, 3), (2, 1)),
    ("...ij,...jk->...ik", (2, 1, 2), (2, 2, 2)),
    ("...i", (2, 3)),
    ("ab,bc,cd->ad", (2, 3), (3, 2), (2, 2)),
    ("a,a,a->a", (2,), (2,), (2,)),
    ("ij,k->", (2, 2), (2,)),
    ("bhqd,bhkd->bhqk", (1, 2, 2, 2), (1, 2, 3, 2)),
    ("ij,jkl,lm,mi->k", (2, 2), (2, 2, 2), (2, 2), (2, 2)),
)

EINSUM = [
    info(
        "einsum",
        np.einsum,
        cases(*(Sample(equation, *map(T, shapes)).named(equation) for equation, *shapes in EQUATIONS)),
        errors=[
            refused(RuntimeError, ("einsum", "ij,jk"), "ij,jk", np.ones((2, 3)), np.ones((2, 2))),
            refused(RuntimeError, ("einsum", "2 operands"), "ij,jk", np.ones((2, 3))),
            refused(RuntimeError, ("einsum", "'k'"), "ij->k", X),
            refused(RuntimeError, ("einsum", "(2, 3)"), "ijk->i", X),
            refused(RuntimeError, ("einsum",), "i!j->i", X),
        ],
    ),
]  # fmt: skip

OPINFOS = [*PRODUCTS, *SUMS, *DIAGONALS, *EINSUM]
