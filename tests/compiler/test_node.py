"""A compiled function of Tensors that require grad: one node, with a program for backward."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import variants
from pullback.core.errors import BackwardTwiceError, SavedTensorModifiedError

RNG = np.random.default_rng(11)


def two(x, w):
    return pb.tanh(x @ w).sum(0), (x * x).mean()


def assert_close(found, expected):
    """To the rounding of the numbers: 1 - tanh**2 keeps few digits where it is small."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


def leaves():
    return [pb.tensor(RNG.standard_normal(s), requires_grad=True) for s in ((4, 3), (3, 2))]


def warm(function, calls=5):
    compiled = pb.compile(function)
    for _ in range(calls):
        compiled(*leaves())
    return compiled


def gradients(function, tensors, use=lambda a, b: a.sum() * b):
    for x in tensors:
        x.grad = None
    use(*function(*tensors)).backward()
    return [x.grad.numpy() for x in tensors]


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 6])
def test_gradients_are_those_of_the_function(calls):
    compiled = warm(two, calls)
    tensors = leaves()
    for found, expected in zip(gradients(compiled, tensors), gradients(two, tensors), strict=True):
        assert_close(found, expected)


def test_there_is_one_node():
    a, b = warm(two)(*leaves())
    assert a.grad_fn is b.grad_fn
    assert a.grad_fn.name() == "CompiledBackward"
    assert [node.name() for node, _ in a.grad_fn.next_functions] == ["AccumulateGrad"] * 2


@pytest.mark.parametrize("use", [lambda a, b: a[0], lambda a, b: b * 2])
def test_an_output_without_gradient(use):
    compiled, tensors = warm(two), leaves()
    for x in tensors:
        x.grad = None
    found = pb.autograd.grad(use(*compiled(*tensors)), tensors, allow_unused=True)
    expected = pb.autograd.grad(use(*two(*tensors)), tensors, allow_unused=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), np.zeros(a.shape) if b is None else b.numpy(), atol=1e-14)


def test_only_what_requires_grad_gets_one():
    compiled = pb.compile(two)
    for _ in range(5):
        x, w = leaves()
        x = x.detach()
        compiled(x, w)[0].sum().backward()
        expected = w.detach().requires_grad_()
        two(x, expected)[0].sum().backward()
        assert_close(w.grad.numpy(), expected.grad.numpy())
        assert x.grad is None


def test_nothing_is_recorded_under_no_grad():
    compiled, tensors = warm(two), leaves()
    with pb.no_grad():
        for _ in range(4):
            assert not any(y.requires_grad for y in compiled(*tensors))


def test_a_backward_of_a_backward():
    compiled, (x, w) = warm(two), leaves()

    def second(function):
        a, b = function(x, w)
        (g,) = pb.autograd.grad((a * a).sum() + b**2, x, create_graph=True)
        return pb.autograd.grad((g * g).sum(), (x, w))

    for found, expected in zip(second(compiled), second(two), strict=True):
        assert_close(found.numpy(), expected.numpy())


def test_a_second_backward_is_refused_as_ever():
    _, b = warm(two)(*leaves())
    b.backward()
    with pytest.raises(BackwardTwiceError):
        b.backward()


def test_an_argument_written_into_since_is_noticed():
    compiled, (x, w) = warm(two), leaves()
    x = x * 1.0
    a, _ = compiled(x, w)
    with pb.no_grad():
        x.mul_(2.0)
    with pytest.raises(SavedTensorModifiedError):
        a.sum().backward()


@pytest.mark.parametrize("transform", ["grad", "hessian", "jacfwd", "jacrev", "jvp", "vmap", "hvp"])
def test_transforms_of_a_compiled_function(transform):
    def rosen(x):
        d, e = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
        return (100.0 * d * d + e * e).sum()

    apply = {
        "jvp": lambda f: lambda x: pb.func.jvp(f, (x,), (x + 1.0,))[1],
        "vmap": lambda f: lambda x: pb.vmap(pb.func.grad(f))(np.stack([x, x + 1.0])),
        "hvp": lambda f: lambda x: pb.func.hvp(f, x, x),
    }.get(transform) or getattr(pb.func, transform)
    compiled = pb.compile(rosen)
    for _ in range(5):
        x = RNG.standard_normal(6)
        assert_close(apply(compiled)(x), apply(rosen)(x))
        assert_close(compiled(x), rosen(x))


def test_a_backward_that_is_recorded_has_the_numbers_that_were_drawn():
    compiled = pb.compile(lambda x: x**2 * pb.rand(3))
    for _ in range(4):
        x = pb.ones(3, requires_grad=True)
        y = compiled(x)
        (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
        np.testing.assert_allclose(slope.detach().numpy(), 2 * y.detach().numpy())
        assert not np.allclose(compiled(x).detach().numpy(), y.detach().numpy())


def test_rows_of_cotangents_at_once():
    compiled, (x, w) = warm(two), leaves()
    rows = pb.eye(2)
    found, expected = (
        pb.autograd.grad(function(x, w)[0], w, rows, is_grads_batched=True)[0].numpy() for function in (compiled, two)
    )
    assert_close(found, expected)


def test_hooks_and_leaves_inside_a_larger_graph():
    compiled, (x, w) = warm(two), leaves()
    seen = []
    y = x * 2.0
    y.register_hook(lambda g: seen.append(g.numpy().copy()))
    (compiled(y, w)[0] ** 2).sum().backward()
    found = x.grad.numpy().copy()
    x.grad = w.grad = None
    (two(x * 2.0, w)[0] ** 2).sum().backward()
    assert_close(found, x.grad.numpy())
    assert_close(seen[0] * 2.0, found)


def test_the_two_traces_make_one_program(monkeypatch):
    made = []
    genuine = variants.DifferentiableProgram
    monkeypatch.setattr(variants, "DifferentiableProgram", lambda *args: made.append(args) or genuine(*args))
    compiled = warm(two, 3)
    assert len(made) == 1
    assert "1 program" in repr(compiled)
