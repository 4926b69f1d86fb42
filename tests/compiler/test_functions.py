"""Users' Functions inside of compiled functions: those made of operators, and those that leave for NumPy."""

import numpy as np
import pytest
import scipy.special

import pullback as pb
from pullback.arrays.traced.calls import PlainCall

POINTS = [np.array(x) for x in ([1.0, 2.0], [1.5, 1.0], [0.3, 0.5], [2.0, 2.5], [0.9, 1.1])]


class Erfcx(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = pb.tensor(scipy.special.erfcx(x.numpy()))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * (2 * x * y - 2 / np.sqrt(np.pi))


class Scaled(pb.autograd.Function):  # with a setting, and two results
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        numbers = x.numpy()
        return pb.tensor(numbers * factor), pb.tensor(np.sort(numbers))

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient * ctx.factor, None


class OfOperators(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.cos()


def erfcx(x):
    return (Erfcx.apply(pb.as_tensor(x)) ** 2).sum()


def scaled(x):
    first, second = Scaled.apply(pb.as_tensor(x) * 2, 3.0)
    return (first * second.detach()).sum()


def of_operators(x):
    return OfOperators.apply(pb.as_tensor(x)).sum()


@pytest.mark.parametrize("f", [erfcx, scaled, of_operators])
def test_a_function_and_its_backward(f):
    f = pb.func.value_and_grad(f)
    made = pb.compile(f)
    for x in [*POINTS, *POINTS]:
        for a, b in zip(made(pb.tensor(x)), f(pb.tensor(x)), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert (len(variants.programs), variants.candidates) == (1, [])


def test_one_of_operators_leaves_no_call():
    made = pb.compile(pb.func.grad(of_operators))
    for x in POINTS:
        made(x)
    (variants,) = made._by_signature.values()
    assert not [step for step in variants.programs[0].plan.steps if type(step.what) is PlainCall]


def test_what_writes_into_its_argument_runs_eagerly():
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2.0 + 0 * float(x.sum()))
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    def f(x):
        return Doubled.apply(x * 1.0).sum()

    made = pb.compile(pb.func.grad(f))
    with pytest.warns(pb.compiler.CompileWarning):
        np.testing.assert_array_equal(made(pb.tensor(POINTS[0])).numpy(), [2.0, 2.0])
    for x in POINTS:
        np.testing.assert_array_equal(made(pb.tensor(x)).numpy(), [2.0, 2.0])


def test_a_second_derivative_runs_eagerly():
    made = pb.compile(pb.func.grad(lambda x: pb.func.grad(erfcx)(x).sum()))
    expected = pb.func.grad(lambda x: pb.func.grad(erfcx)(x).sum())
    for x in POINTS:
        try:
            known = expected(pb.tensor(x))
        except RuntimeError as error:
            with pytest.raises(type(error)):
                made(pb.tensor(x))
        else:
            np.testing.assert_allclose(made(pb.tensor(x)).numpy(), known.numpy())


def test_one_that_draws_draws_what_it_draws_eagerly():
    class Noisy(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.noise = pb.rand(2) * float(x.sum() > 0)
            return x * ctx.noise

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.noise

    f, results = pb.func.grad(lambda x: Noisy.apply(x).sum()), []
    for run in (pb.compile(f), f):
        pb.manual_seed(4)
        results.append([run(pb.tensor(x)).numpy() for x in POINTS])
    np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.parametrize("effect", ["gradient", "buffer"])
def test_what_changes_tensors_around_it_runs_eagerly(effect):
    weight, count = pb.tensor([2.0, 3.0], requires_grad=True), pb.zeros(1)

    class Effect(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if effect == "buffer":
                count.add_(1.0)
            else:
                with pb.enable_grad():
                    (weight * float(x.sum())).sum().backward()
            return x * float(x.sum())

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    made = pb.compile(lambda x: Effect.apply(x * 1.0).sum())
    with pytest.warns(pb.compiler.CompileWarning, match="of a Tensor around|into a Tensor around"):
        made(pb.tensor(POINTS[0]))
    for x in POINTS:
        made(pb.tensor(x))
    sums = sum(x.sum() for x in (POINTS[0], *POINTS))
    if effect == "buffer":
        assert count.item() == 6.0
    else:
        np.testing.assert_allclose(weight.grad.numpy(), [sums, sums])
