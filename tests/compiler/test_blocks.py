"""Programs that run by blocks: whatever the sizes of blocks, they give what the function gives."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import blocks
from pullback.compiler.program import Program
from pullback.compiler.tracing import trace

RNG = np.random.default_rng(5)


def fused(a, b):
    return np.sum(np.sin(a) * np.exp(a * -a / 2) + np.log(b * b + 1) * a)


def softmax(x, w):
    z = x @ w
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return -np.mean(np.log(e[:, 0] / np.sum(e, axis=1)))


def layer_norm(x, w):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    normal = centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return np.sum(normal * w[: x.shape[-1], 0] ** 2)


def distances(x, w):
    gap = x[:, None, :] - w.T
    return np.sum(np.sqrt(np.sum(gap**2, axis=2) + 1.0)) + np.sum(np.cumsum(gap, axis=1)[:, -1])


def windows(x, w):
    inner = x[:, 1:] * x[:, :-1] - x[:, ::2][:, :1]
    return np.sum(inner**3) + np.einsum("ij,ik->jk", x, inner).sum() + np.sum(np.where(x > 0, x, w[0, 0] * x))


def reduced(x, w):
    last = np.cross(x[:, :3], x[:, -3:])
    return np.sum(np.sum(x * x, axis=0) ** 2) + np.sum(np.max(x, axis=1)) + np.sum(last**2) * np.sum(w)


PROGRAMS = [fused, softmax, layer_norm, distances, windows, reduced]


@pytest.fixture(
    params=[(8, 64), (8, 8), (16, 200), (1, 1 << 17)], ids=lambda sizes: f"from {sizes[0]}, {sizes[1]} bytes"
)
def sizes(request, monkeypatch):
    smallest, size = request.param
    monkeypatch.setattr(blocks, "_SMALLEST", smallest)
    monkeypatch.setattr(blocks, "_BYTES", size)


def compared(function, arrays, others):
    """Trace at one point, run at another, and compare to rounding; gives the program."""
    program = Program(trace(arrays, 0, lambda given: function(*given), lambda array: False))
    for given in (arrays, others):
        found, expected = program.run(given, given), function(*given)
        for a, b in zip(pb.utils.pytree.tree_leaves(found), pb.utils.pytree.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    return program


@pytest.mark.parametrize("rows", [1, 7, 24])
@pytest.mark.parametrize("function", PROGRAMS)
def test_blocks_give_what_the_function_gives(function, rows, sizes):
    width = 5
    make = (
        (lambda: [RNG.standard_normal((rows, width)) for _ in "ab"])
        if function is fused
        else (lambda: [RNG.standard_normal((rows, width)), RNG.standard_normal((width, 4))])
    )
    for transform in (lambda f: f, pb.func.value_and_grad):
        compared(transform(function), make(), make())
    if rows == 7:  # a Hessian of many rows would take most of the time
        compared(pb.func.hessian(function), make(), make())


@pytest.mark.parametrize("function", PROGRAMS[1:])
def test_a_batch_by_blocks(function, sizes):
    def make():
        return [RNG.standard_normal((9, 4, 5)), RNG.standard_normal((9, 5, 4))]

    compared(pb.vmap(pb.func.grad(function, (0, 1))), make(), make())


def test_a_group_takes_in_the_whole_of_a_gradient(sizes):
    program = compared(
        pb.func.value_and_grad(fused, (0, 1)), *([RNG.standard_normal((40, 3)) for _ in "ab"] for _ in "ab")
    )
    assert program.plan.source.count("for i in range") == 1


def test_an_array_that_is_overwritten_by_blocks_is_not_read_through_a_view(sizes):
    def function(x):
        y = np.exp(x)
        return y * y[::-1] + y

    compared(function, [RNG.standard_normal((30, 4))], [RNG.standard_normal((30, 4))])


def mixture(x, means, factors):
    centred = x[:, None] - means
    spread = np.einsum("ijk,mik->mij", factors, centred) + means * centred
    inner = -0.5 * np.sum(spread**2, axis=2)
    top = np.max(inner, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(inner - top), axis=1)) + top[:, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_rows_lie_with_the_rows_last_where_most_steps_broadcast_them(dtype):
    x = RNG.normal(size=(2003, 5)).astype(dtype)
    means, factors = RNG.normal(size=(20, 5)).astype(dtype), RNG.normal(size=(20, 5, 5)).astype(dtype)
    gradient = pb.func.value_and_grad(mixture, (1, 2))
    compiled = pb.compile(gradient)
    for _ in range(6):
        found = compiled(x, means, factors)
    source = compiled.explain().source
    assert "rows_last(" in source
    assert "matmul(" in source
    assert "clone_(b" not in source  # a copy of a block, which nobody would write into
    expected = gradient(x, means, factors)
    tolerance = 1e-9 if dtype is np.float64 else 2e-3
    for a, b in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


def test_arrays_that_run_in_long_loops_lie_as_they_are_given():
    x, w = RNG.normal(size=(400, 40, 10)), RNG.normal(size=(40, 10))
    compiled = pb.compile(pb.func.value_and_grad(lambda w, x: np.sum(np.sin(x * w) * np.exp(-x * x))))
    for _ in range(6):
        compiled(w, x)
    source = compiled.explain().source
    assert "for i in" in source
    assert "rows_last" not in source
