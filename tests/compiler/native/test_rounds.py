"""Loops in machine code: all rounds of a step that is a program by one call, forward and backward."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import cond, fori_loop, grad, hessian, jvp, scan, value_and_grad, vmap, while_loop
from pullback.func.loops import run
from tests.compiler.conftest import native_compiler

RNG = np.random.default_rng(3)
W, X = RNG.normal(size=(4, 4)) * 0.4, RNG.normal(size=(60, 4))


@pytest.fixture
def native(monkeypatch):
    """Steps run in machine code from now on; gives the loops that have run, with how they did."""
    if (name := native_compiler()) is None:
        pytest.skip("there is neither llvmlite nor a C compiler")
    monkeypatch.setenv("PULLBACK_COMPILER", name)
    loops, made = [], run.Loop.run
    monkeypatch.setattr(run.Loop, "run", lambda loop: loops.append(loop) or made(loop))
    return loops


def recurrent(W, x):
    return np.sum(scan(lambda c, x: (np.tanh(c @ W + x), np.sum(c * x)), np.zeros(4), x)[1])


def backwards(W, x):
    return np.sum(scan(lambda c, x: (np.tanh(c @ W + x), c), np.zeros(4), x, reverse=True)[1] * X)


def of_a_tree(W, x):
    def step(c, x):
        return {"a": c["a"] * 0.9 + x, "b": np.sin(c["a"]) @ W}, (c["a"], c["b"])

    c, (a, b) = scan(step, {"a": np.zeros(4), "b": np.ones(4)}, x)
    return np.sum(c["a"]) + np.sum(c["b"]) + np.sum(a * b)


def counted(W, x):
    return np.sum(fori_loop(0, 60, lambda i, c: np.sin(c @ W) / (i + 1.0) + x[0] * 0.1, np.ones(4)))


def of_a_number(W, x):
    return fori_loop(0, 60, lambda i, c: c * 0.99 + np.sin(c) * W[0, 0], 1.0) + 0 * np.sum(x)


def ended_by_a_test(W, x):
    def body(c):
        return c * 1.05 + np.abs(c @ W) * 0.01 + x[0] * 1e-3

    return np.sum(while_loop(lambda c: np.sum(c * c) < 1e3, body, np.ones(4)))


def with_few_carries(W, x):
    return np.sum(scan(lambda c, x: (np.tanh(c @ W + x), c), np.zeros(4), x, slots=5)[1])


def of_two_ways(W, x):
    def step(c, x):
        return cond(np.sum(c) > 0, lambda c: np.sin(c @ W) + x, lambda c: np.cos(c) - x, c), c

    return np.sum(scan(step, np.ones(4), x)[1])


def one_in_another(W, x):
    return np.sum(scan(lambda c, x: (fori_loop(0, 3, lambda i, d: np.sin(d @ W) + x, c), c), np.ones(4), x)[1])


LOOPS = [
    recurrent, backwards, of_a_tree, counted, of_a_number, ended_by_a_test, with_few_carries, of_two_ways,
    one_in_another,
]  # fmt: skip
TRANSFORMS = {
    "jvp": lambda f: lambda W, x: jvp(f, (W, x), (W * 0.5, x * 0.1)),
    "vmap of grad": lambda f: lambda W, x: vmap(grad(lambda a: f(W * a, x)))(np.array([0.9, 1.1])),
    "jvp of grad": lambda f: lambda W, x: jvp(grad(lambda W: f(W, x)), (W,), (W * 0.3,))[1],
}


def numbers(tree):
    return np.concatenate([np.ravel(leaf) for leaf in pb.utils.pytree.tree_leaves(tree)])


def by_numpy(f, monkeypatch):
    """What f gives where loops run in Python."""
    with monkeypatch.context() as without:
        without.setenv("PULLBACK_COMPILER", "none")
        return numbers(f(W, X))


@pytest.mark.parametrize("f", LOOPS)
def test_loops_give_in_machine_code_what_they_give_in_python(f, native, monkeypatch):
    both = value_and_grad(f, argnums=(0, 1))
    expected = by_numpy(both, monkeypatch)
    for _ in range(2):
        np.testing.assert_allclose(numbers(both(W, X)), expected, rtol=1e-10, atol=1e-10)
    if f is not one_in_another:
        ways = {"forward": "in machine code"} | ({} if f is with_few_carries else {"backward": "in machine code"})
        assert native[-1].runs == ways


@pytest.mark.parametrize("what", ["jvp", "vmap of grad", "jvp of grad"])
def test_other_derivatives_of_compiled_loops_are_those_of_python(what, native, monkeypatch):
    transformed = TRANSFORMS[what](of_two_ways)
    expected = by_numpy(transformed, monkeypatch)
    compiled = pb.compile(transformed)
    for _ in range(3):
        np.testing.assert_allclose(numbers(compiled(W, X)), expected, rtol=1e-10, atol=1e-10)


def test_the_carries_of_a_loop_without_a_derivative_are_not_kept(native):
    compiled = pb.compile(lambda x: scan(lambda c, x: (np.sin(c) + x, c * x), np.ones(4), x)[0])
    for _ in range(4):
        found = compiled(X)
    expected = np.ones(4)
    for x in X:
        expected = np.sin(expected) + x
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_result_that_stands_twice_has_memory_of_its_own(native):
    def f(W):
        return scan(lambda c, x: ((d := np.tanh(c @ W + x)), d), np.zeros(4), X)

    def value(W):
        return np.sum(f(W)[0]) + np.sum(f(W)[1] ** 2)

    expected = value_and_grad(value)(W)
    for _ in range(2):
        found = value_and_grad(value)(W)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12)


def test_an_infinite_slope_behind_a_mask_gives_zero(native):
    def f(x, a):
        return np.sum(scan(lambda c, x: (np.where(x > 0, np.sqrt(x) * c, c), c), np.ones(3), x)[1] * a)

    x = np.abs(X[:, :3])
    x[40] = 0.0
    gradient = grad(f)
    for _ in range(3):
        found = gradient(x, 0.1)
    assert np.isfinite(found).all()
    assert (found[40] == 0).all()


def test_an_index_out_of_range_is_the_same_error(native):
    def f(c, x):
        return fori_loop(0, 60, lambda i, c: np.sin(c) + x[i] * c, c)

    compiled = pb.compile(grad(lambda c, x: np.sum(f(c, x))))
    for _ in range(3):
        compiled(np.ones(4), X)
    with pytest.raises(IndexError):
        compiled(np.ones(4), X[:50])


def test_a_while_loop_stops_at_its_limit(native):
    def f(c):
        return while_loop(lambda c: c < 1e9, lambda c: c * 1.001, c, max_steps=100)

    with pytest.raises(RuntimeError, match="max_steps=100"):
        grad(f)(1.0)


def test_a_while_loop_is_longer_than_the_room_for_its_carries(native):
    def f(a):
        return while_loop(lambda c: c[1] < 3000.0, lambda c: (c[0] * a, c[1] + 1.0), (1.0, 0.0))[0]

    for _ in range(2):
        found = value_and_grad(f)(1.0001)
    np.testing.assert_allclose(found, (1.0001**3000, 3000 * 1.0001**2999), rtol=1e-10)


def test_random_numbers_keep_a_loop_in_python(native):
    draws = np.random.default_rng(0)

    def f(a):
        return np.sum(scan(lambda c, x: (c * a + draws.normal(), c), 1.0, np.zeros(60))[1])

    with pytest.raises(pb.utils.checkpoint.CheckpointError):
        grad(f)(0.5)


def test_a_step_that_keeps_a_log_runs_in_python(native):
    log = []

    def step(c, x):
        log.append(1)
        return c * 0.5 + x, c

    pb.func.vjp(lambda x: scan(step, 0.0, x)[0], np.zeros(60))
    assert log == [1] * 60


def test_second_derivatives_of_a_loop_are_those_of_the_formula(native):
    def f(x):
        return fori_loop(0, 50, lambda i, y: y * x, 1.0)

    for _ in range(2):
        np.testing.assert_allclose(hessian(f)(1.01), 50 * 49 * 1.01**48, rtol=1e-12)


def test_explain_tells_how_a_loop_runs(native):
    compiled = pb.compile(value_and_grad(recurrent))
    for _ in range(3):
        compiled(W, X)
    assert "scan(<lambda>), 60 steps: forward in machine code, backward in machine code" in str(compiled.explain())
