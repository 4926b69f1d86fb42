"""compiled_autograd: backwards of graphs of one shape run as programs, and mean what the engine means."""

import threading

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import BackwardTwiceError, SavedTensorModifiedError

F = pb.nn.functional
RNG = np.random.default_rng(0)


def backwards(function, points, compiled):
    """The gradients at each point, of leaves made anew."""
    found = []
    for point in points:
        leaves = [pb.tensor(x.copy(), requires_grad=True) for x in point]
        loss = function(*leaves)
        if compiled is None:
            loss.backward()
        else:
            with compiled:
                loss.backward()
        found.append([None if x.grad is None else x.grad.numpy() for x in leaves])
    return found


def perceptron(w, v, b):
    return (pb.tanh(pb.tensor(X) @ w + b) @ v).square().mean()


def with_a_mask(w, v, b):
    with np.errstate(invalid="ignore"):
        root = w.sqrt()
    return pb.where(w > 0, root, w * 2).sum() + v[v > 0].log().sum()


def by_numbers(w, v, b):
    return w.max() * v.norm() + (w.prod() if w.sum() > 0 else w.amin())


def with_indices(w, v, b):
    return (w[[0, 2, 2]] * w[1:, :3].sum() + w.T[1, :3].flip(0).unsqueeze(1)).sum() + b[0] ** 2


def several_results(w, v, b):
    values, order = w.sort(0)
    return (values * order).sum() + sum(part.prod() for part in b.split(2)) + pb.linalg.slogdet(w[:4, :4])[1]


def shared(w, v, b):
    return (w * w).sum() + (w @ w.T).sum() + (b + b).exp().sum()


def unused(w, v, b):
    return (w.detach() * 2).sum() + b.sin().sum() + 0 * v.sum()


X = RNG.normal(size=(8, 6))
POINTS = [(RNG.normal(size=(6, 5)), RNG.normal(size=(5, 1)), RNG.normal(size=5)) for _ in range(16)]
PROGRAMS = [perceptron, with_a_mask, by_numbers, with_indices, several_results, shared, unused]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_engine_at_every_point(program):
    compiled = pb.compiled_autograd()
    expected = backwards(program, POINTS, None)
    for found, right in zip(backwards(program, POINTS, compiled), expected, strict=True):
        for g, e in zip(found, right, strict=True):
            assert (g is None) == (e is None)
            if g is not None:
                np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-14)
    assert compiled._compiled > len(POINTS) // 2 or compiled._eager


def test_a_program_runs_for_other_numbers_and_another_shape_has_another_one():
    compiled = pb.compiled_autograd()
    backwards(perceptron, POINTS, compiled)
    assert repr(compiled).startswith("<compiled_autograd: 13 backwards of 1 shape of graph compiled")
    wider = [(RNG.normal(size=(6, 4)), RNG.normal(size=(4, 1)), RNG.normal(size=4))] * 3
    np.testing.assert_array_equal(
        backwards(perceptron, wider, compiled)[2][0], backwards(perceptron, wider, None)[2][0]
    )
    assert "2 shapes" in repr(compiled)


@pytest.mark.parametrize("number", [0.5, 2, True, -0.0])
def test_a_number_in_the_graph_belongs_to_its_shape(number):
    compiled = pb.compiled_autograd()
    for factor in (3.0, number, 3.0, number) * 4:
        x = pb.ones(3, requires_grad=True)
        with compiled:
            (x.sin() * factor).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.cos(1.0) * factor, rtol=1e-6)


def test_gradients_are_added_and_given_to_callers():
    compiled, before = pb.compiled_autograd(), np.geterr()
    x, y = pb.ones(3, requires_grad=True), pb.ones(3, requires_grad=True)
    for k in range(1, 15):
        with compiled:
            (x.exp() * y).sum().backward()
            (g,) = pb.autograd.grad((x * x * y).sum(), (y,))
        np.testing.assert_allclose(x.grad.numpy(), k * np.e, rtol=1e-6)
        assert g.tolist() == [1, 1, 1]
        held = x.grad
    assert held is x.grad
    assert np.geterr() == before
    for _ in range(8):
        x.grad = y.grad = None
        with compiled:
            (x.exp() * y).sum().backward(inputs=[y])
        assert x.grad is None
        assert y.grad is not None


def test_a_leaf_may_stand_for_two_be_frozen_or_not_be_reached():
    compiled = pb.compiled_autograd()
    for k in range(30):
        a = pb.tensor([1.0, 2.0], requires_grad=True)
        b = a if k % 7 == 6 or k > 20 else pb.tensor([1.0, 2.0])
        b.requires_grad_(b is a or k % 5 != 4)
        other = pb.ones(1, requires_grad=True)
        with compiled:
            (a * b).sum().backward()
            assert pb.autograd.grad(a.exp().sum(), [other], allow_unused=True) == (None,)
        assert a.grad.tolist() == ([2, 4] if b is a else [1, 2])
    unpacked = []
    x = pb.ones(3, requires_grad=True)
    hooks = pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t)
    for block in (compiled, compiled, compiled, hooks):
        with block:
            loss = (x.exp() * x.sin()).sum()
        with compiled:
            loss.backward()
    assert len(unpacked) == 4


def test_graphs_are_let_go_and_writes_are_found():
    compiled = pb.compiled_autograd()
    for _ in range(14):
        x = pb.ones(3, requires_grad=True)
        y = (x.sin() * x).sum()
        with compiled:
            y.backward(retain_graph=True)
            y.backward()
            with pytest.raises(BackwardTwiceError):
                y.backward()
        z = x.exp()
        w = (z * z).sum()
        z.add_(1)
        with compiled, pytest.raises(SavedTensorModifiedError):
            w.backward()


class Doubled(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_what_looks_on_sees_what_it_sees_without():
    compiled, seen = pb.compiled_autograd(), []

    def hooked(x):
        y = x.sin()
        y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
        return y.sum()

    def retained(x):
        y = x * 3
        y.retain_grad()
        seen.append(y)
        return y.sum()

    for program, slope in ((hooked, 2.0), (retained, 3.0), (lambda x: Doubled.apply(x).sum(), 2.0)):
        for _ in range(8):
            x = pb.zeros(2, requires_grad=True)
            with compiled:
                program(x).backward()
            assert x.grad.tolist() == [slope, slope]
    assert seen[:8] == [[1.0, 1.0]] * 8
    assert all(y.grad.tolist() == [1.0, 1.0] for y in seen[8:])
    assert "has hooks, or its gradient is retained" in repr(compiled)
    x = pb.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 5)
    with compiled:
        (x * 2).sum().backward()
    assert x.grad.tolist() == [10, 10]
    x = pb.ones(2, requires_grad=True)
    with compiled:
        (g,) = pb.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    assert x.grad.tolist() == [6, 6]
    with compiled, pb.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        (pb.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()


def test_a_decorator_other_threads_and_blocks_in_each_other():
    outer, inner = pb.compiled_autograd(), pb.compiled_autograd()

    @inner
    def step(x):
        x.sin().sum().backward()

    with outer:
        for _ in range(3):
            step(pb.ones(2, requires_grad=True))
        thread = threading.Thread(target=lambda: pb.ones(2, requires_grad=True).sin().sum().backward())
        thread.start()
        thread.join()
        pb.func.grad(lambda x: x.sin().sum())(pb.ones(2))
    assert (outer._compiled, inner._compiled) == (0, 3)
    pb.ones(2, requires_grad=True).sin().sum().backward()
    assert (outer._compiled, inner._compiled) == (0, 3)


def test_too_many_shapes_run_as_they_are():
    compiled = pb.compiled_autograd()
    for n in range(1, 68):
        x = pb.ones(n, requires_grad=True)
        with compiled:
            x.sin().sum().backward()
        assert x.grad.shape == (n,)
    assert "3 as they are (there were graphs of 64 other shapes)" in repr(compiled)
