"""Products of matrices: by loops and by BLAS, whichever way they lie, with leading dimensions."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from pullback.compiler.native import entry, matrices
from pullback.compiler.native.code import Module, Type
from pullback.compiler.native.matrices import Matrices

RNG = np.random.default_rng(2)
LANES = [Type("f", 64), Type("f", 64, 4), Type("f", 64, 8), Type("f", 32, 16)]


@pytest.fixture(scope="module")
def libraries(tool):
    ways = {False: None, True: matrices.by_blocks}
    return {
        (type_, blocks): tool.build(Module([matrices.kernel(type_, way)]), None)
        for type_ in LANES
        for blocks, way in ways.items()
    }


@pytest.fixture
def product(tool, libraries, monkeypatch):
    def compute(type_, a, b, by, adds=None):
        limit, library = -1 if by == "blas" else 10**9, libraries[type_, by == "blocks"]
        monkeypatch.setattr(matrices, "SMALL", limit)
        monkeypatch.setattr(matrices, "SMALL_APART", limit)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        left, right = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
        c = np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
        args = [Matrices(k, 0, x.shape, x.strides) for k, x in enumerate((left, right, c), start=1)]
        if adds is not None:  # the result is the second of the inputs, which is written into
            args = [args[0], args[1], args[2]._replace(base=4)]
        data = matrices.data(*args, a.dtype, adds is not None)
        steps = np.array([2 + len(data), library.address(f"dot_f{type_.bits}"), *data])
        given = [a, b] if adds is None else [a, b, c, adds]
        f = entry.made(
            [entry.Form.of(x) for x in given], [entry.Form.of(c)] if adds is None else [], [], 0, steps,
            keep=library, tool=tool,
        )  # fmt: skip
        found = f(*given)
        return found[0] if adds is None else adds

    return compute


def _matrix(shape, dtype, transposed):
    made = RNG.standard_normal((*shape[:-2], *shape[:-3:-1]) if transposed else shape).astype(dtype)
    return made.swapaxes(-1, -2) if transposed else made


def _close(found, a, b, plus=0.0):
    wanted = a.astype(float) @ b.astype(float) + plus
    bound = (
        (np.abs(a).astype(float) @ np.abs(b).astype(float) + np.abs(plus)) * (a.shape[-1] + 2) * np.finfo(a.dtype).eps
    )
    assert np.all(np.abs(found - wanted) <= bound)


@pytest.mark.parametrize("by", ["loops", "blocks", "blas"])
@pytest.mark.parametrize("type_", LANES, ids=lambda x: f"f{x.bits}x{x.lanes}")
def test_products_however_they_lie(product, type_, by):
    sizes = itertools.product((1, 2, 9), (1, 3, 16), (1, 7, 8, 17))
    for (m, k, n), first, second in itertools.product(sizes, (False, True), (False, True)):
        a, b = _matrix((m, k), f"f{type_.bits // 8}", first), _matrix((k, n), f"f{type_.bits // 8}", second)
        _close(product(type_, a, b, by), a, b)


@pytest.mark.parametrize("by", ["loops", "blocks", "blas"])
def test_leading_dimensions_are_broadcast(product, by):
    a, b = RNG.standard_normal((4, 1, 3, 5)), RNG.standard_normal((2, 5, 6))
    _close(product(LANES[2], a, b, by), a, b)
    _close(product(LANES[2], a[:, 0, ::2], b[:1, :, :4], by), a[:, 0, ::2], b[:1, :, :4])
    assert product(LANES[2], a[:0], b, by).shape == (0, 2, 3, 6)


@pytest.mark.parametrize("by", ["loops", "blocks", "blas"])
def test_nothing_is_added_to_nothing(product, by):
    """A sum of no products is zero."""
    found = product(LANES[2], np.zeros((2, 0)), np.zeros((0, 3)), by)
    np.testing.assert_array_equal(found, np.zeros((2, 3)))


@pytest.mark.parametrize("by", ["loops", "blocks", "blas"])
def test_a_product_may_be_added(product, by):
    for type_ in LANES[2:]:
        dtype = f"f{type_.bits // 8}"
        a, b, c = (RNG.standard_normal(shape).astype(dtype) for shape in ((3, 5), (5, 9), (3, 9)))
        before = c.astype(float)
        _close(product(type_, a, b, by, adds=c), a, b, before)


def test_not_a_number_is_kept(product):
    a, b = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 5))
    a[1, 2] = np.nan
    for by in (False, True):
        np.testing.assert_array_equal(np.isnan(product(LANES[2], a, b, by)), np.isnan(a @ b))


def test_scipy_is_imported_by_programs_with_large_products():
    text = """
import sys, numpy as np
from pullback.compiler.native.matrices import Matrices, data
def of(n): return data(*[Matrices(k, 0, (n, n), (8 * n, 8)) for k in (1, 2, 3)], np.dtype(float))
loaded = "scipy.linalg.cython_blas" in sys.modules
of(4)
assert ("scipy.linalg.cython_blas" in sys.modules) == loaded
assert of(40)[0]
"""
    subprocess.run([sys.executable, "-c", text], check=True)
