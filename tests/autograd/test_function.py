"""Custom Functions: both styles of forward, everything ctx offers, saved tensors, and their life."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class SquareApart(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class ExpOfOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


# -- forward ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [Square, SquareApart])
def test_both_styles_of_forward(function):
    x = leaf()
    y = function.apply(x)
    assert y.tolist() == [1, 4]
    assert y.requires_grad
    assert y.grad_fn.name() == f"{function.__name__}Backward"
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


@pytest.mark.parametrize("function", [Square, SquareApart, ExpOfOutput])
def test_second_and_third_derivatives(function):
    x = leaf(0.5, 1.5)
    y = function.apply(x)
    results = []
    for _ in range(3):
        (y,) = pb.autograd.grad(y.sum(), x, create_graph=True, materialize_grads=True)
        results.append(y.tolist())
        if not y.requires_grad:
            break
    a = np.array([0.5, 1.5])
    expected = [np.exp(a)] * 3 if function is ExpOfOutput else [2 * a, np.full(2, 2.0), np.zeros(2)]
    for got, want in zip(results, expected, strict=False):
        assert np.allclose(got, want)


def test_nothing_is_recorded_without_need():
    assert not Square.apply(pb.ones(2)).requires_grad
    with pb.no_grad():
        y = Square.apply(leaf())
    assert not y.requires_grad
    assert y.grad_fn is None


def test_forward_records_nothing_of_its_own():
    seen = []

    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((pb.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    Looks.apply(leaf())
    assert seen == [(False, True, False)]
    assert pb.is_grad_enabled()


def test_numpy_inside_forward_and_backward():
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            array = x.detach().numpy()
            ctx.cosine = np.cos(array)
            return pb.from_numpy(np.sin(array))

        @staticmethod
        def backward(ctx, g):
            return pb.from_numpy(ctx.cosine * g.numpy())

    x = leaf(0.3, 0.4)
    Sine.apply(x).sum().backward()
    assert np.allclose(x.grad.numpy(), np.cos([0.3, 0.4]))


def test_arguments_that_are_no_tensors():
    class Power(Function):
        @staticmethod
        def forward(ctx, x, n, name, options):
            ctx.save_for_backward(x)
            ctx.n = n
            assert (name, options) == ("cube", {"a": [1]})
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False, False, False)
            return g * ctx.n * x ** (ctx.n - 1), None, None, None

    x = leaf()
    Power.apply(x, 3, "cube", {"a": [1]}).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_needs_input_grad():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None, None

    x = leaf()
    Product.apply(x, pb.ones(2), 3).sum().backward()
    Product.apply(pb.ones(2), x, None).sum().backward()
    assert seen == [(True, False, False), (False, True, False)]
    assert x.grad.tolist() == [2, 2]


def test_several_outputs_and_undefined_gradients_as_zeros():
    seen = []

    class SinCos(Function):
        @staticmethod
        def forward(ctx, x):
            s, c = x.sin(), x.cos()
            ctx.save_for_backward(s, c)
            return s, c

        @staticmethod
        def backward(ctx, gs, gc):
            s, c = ctx.saved_tensors
            seen.append((gs.tolist(), gc.tolist()))
            return gs * c - gc * s

    x = leaf(0.5)
    s, c = SinCos.apply(x)
    assert (s.output_nr, c.output_nr) == (0, 1)
    assert s.grad_fn is c.grad_fn
    c.backward(retain_graph=True)
    assert np.isclose(x.grad.item(), -np.sin(0.5))
    x.grad = None
    (s * 2 + c * 3).backward()
    assert np.isclose(x.grad.item(), 2 * np.cos(0.5) - 3 * np.sin(0.5))
    assert seen == [([0.0], [1.0]), ([2.0], [3.0])]
    x.grad = None
    s, c = SinCos.apply(x)
    (g,) = pb.autograd.grad(s * c, x, create_graph=True)  # cos 2x
    g.backward()
    assert np.isclose(g.item(), np.cos(1.0))
    assert np.isclose(x.grad.item(), -2 * np.sin(1.0))


def test_undefined_gradients_as_none():
    seen = []

    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b and b.tolist()))
            return None if b is None else b * 3

    x = leaf(1.0)
    _, b = Pair.apply(x)
    b.backward()
    assert seen == [(None, [1.0])]
    assert x.grad.tolist() == [3]


@pytest.mark.parametrize("materialize", [True, False])
def test_backward_runs_where_every_gradient_is_undefined(materialize):
    seen = []

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(None if grad is None else grad.item())
            return grad

    class Cut(Double):
        @staticmethod
        def backward(ctx, grad):
            return None

    Cut.apply(Double.apply(leaf(1.0))).backward()
    assert seen == [0.0 if materialize else None]


def test_outputs_that_are_no_tensors_pass_through():
    class WithNumber(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 5, "text", None

        @staticmethod
        def backward(ctx, g, *others):
            assert others == (None, None, None)
            return g * 2

    x = leaf()
    y, five, text, nothing = WithNumber.apply(x)
    assert (five, text, nothing) == (5, "text", None)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_list_of_outputs_is_refused():
    class Listed(Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx, *gs):
            return gs[0]

    with pytest.raises(TypeError, match=r"Listed.*list.*tuple"):
        Listed.apply(leaf())


def test_an_output_may_be_marked_non_differentiable():
    seen = []

    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            doubled, marked = x * 2, x * 3
            ctx.mark_non_differentiable(marked)
            return doubled, marked

        @staticmethod
        def backward(ctx, g, unused):
            seen.append(unused.tolist())
            return g * 2

    x = leaf()
    y, marked = Sorted.apply(x)
    assert y.requires_grad
    assert not marked.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert seen == [[0, 0]]


def test_integer_outputs_have_no_gradient():
    class Ranks(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, pb.argsort(x)

        @staticmethod
        def backward(ctx, g, unused):
            return g * 2

    x = leaf()
    y, ranks = Ranks.apply(x)
    assert not ranks.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_complex_inputs_and_outputs():
    class Conj(Function):
        @staticmethod
        def forward(ctx, z):
            return z.conj()

        @staticmethod
        def backward(ctx, g):
            return g.conj()

    z = pb.tensor([1 + 2j], requires_grad=True)
    Conj.apply(z).backward(pb.tensor([3 + 4j]))
    assert z.grad.tolist() == [3 - 4j]


# -- saved tensors ---------------------------------------------------------------------------------------------


def test_inputs_outputs_intermediates_and_none_can_be_saved():
    class Everything(Function):
        @staticmethod
        def forward(ctx, x):
            middle = x + 1
            y = middle * middle
            ctx.save_for_backward(x, None, middle, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, nothing, middle, y = ctx.saved_tensors
            assert nothing is None
            assert np.allclose(y.tolist(), ((x + 1) ** 2).tolist())
            return g * 2 * middle

    x = leaf()
    Everything.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_a_saved_input_is_the_input_and_a_saved_output_has_this_node():
    seen = []

    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g * 2

    x = leaf()
    out = Looks.apply(x)
    out.sum().backward()
    assert seen[0] is x
    assert seen[1].grad_fn is out.grad_fn


def test_only_tensors_can_be_saved():
    class SavesNumber(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x

    with pytest.raises(TypeError, match=r"argument 1 is of type int.*ctx"):
        SavesNumber.apply(leaf())


def test_a_saved_tensor_that_was_modified_is_noticed():
    x = leaf()
    y = x * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"SquareBackward.*at version 0, but add_ has modified it"):
        z.sum().backward()
    assert x.grad is None


def test_a_saved_output_that_was_modified_is_noticed():
    z = ExpOfOutput.apply(leaf())
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"ExpOfOutputBackward.*add_"):
        z.sum().backward()


def test_saved_tensors_are_released_after_backward():
    z = Square.apply(leaf()).sum()
    z.backward()
    with pytest.raises(RuntimeError, match=r"second time.*SquareBackward"):
        z.backward()


def test_saved_tensors_stay_with_retain_graph():
    x = leaf()
    z = Square.apply(x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [4, 8]


def test_nothing_is_kept_when_nothing_is_recorded():
    c = pb.ones(2)
    kept = weakref.ref(c)
    gc.disable()
    try:
        y = Square.apply(c)
        del c
        assert kept() is None
    finally:
        gc.enable()
    assert y.tolist() == [1, 1]


# -- life ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [Square, SquareApart, ExpOfOutput])
@pytest.mark.parametrize("ran", [True, False])
def test_ctx_is_freed_without_the_garbage_collector(function, ran):
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = function.apply(x * 1)
        gone = [weakref.ref(y.grad_fn), weakref.ref(y)]
        if ran:
            y.sum().backward()
        del y
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


def test_ctx_carries_whatever_forward_puts_on_it():
    class Carries(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.anything = {"a": 1}
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.anything == {"a": 1}
            return g * 2

    y = Carries.apply(leaf())
    assert y.grad_fn.anything == {"a": 1}
    y.sum().backward()


def test_functions_inside_functions():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Square.apply(x) * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Square.apply(x) * 0 + 4 * x * g

    x = leaf()
    (g,) = pb.autograd.grad(Outer.apply(x).sum(), x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [4, 8]
    assert x.grad.tolist() == [4, 4]


@pytest.mark.parametrize("wrong", [2.0, [1.0], "a"])
@pytest.mark.parametrize("error", [RuntimeError, TypeError])
def test_a_backward_that_returns_no_tensor_is_an_error_of_both_kinds(wrong, error):
    class Wrong(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return wrong

    with pytest.raises(error, match=r"returned an? .* as gradient 0; expected a Tensor or None"):
        Wrong.apply(pb.ones(1, requires_grad=True)).backward()
