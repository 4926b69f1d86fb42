"""Custom Functions: what backward may return, what is refused, and once_differentiable."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def returning(value):
    class Returns(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2 + y

        @staticmethod
        def backward(ctx, g):
            return value(g)

    return Returns


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (lambda g: g, RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, g, g), RuntimeError, r"incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (), RuntimeError, r"incorrect number of gradients \(expected 2, got 0\)"),
        (lambda g: None, RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (3.0, g), TypeError, "float as gradient 0"),
        (lambda g: (g, np.ones(2)), TypeError, "ndarray as gradient 1"),
        (lambda g: (g.sum(), g), RuntimeError, r"ReturnsBackward returned an invalid gradient.*\(\).*\(2,\)"),
        (lambda g: (pb.ones(3), g), RuntimeError, r"invalid gradient.*\(3,\).*\(2,\)"),
        (lambda g: (g[:1], g), RuntimeError, r"invalid gradient.*\(1,\).*\(2,\)"),
    ],
)
@pytest.mark.parametrize("create_graph", [True, False])
def test_what_backward_must_not_return(value, error, match, create_graph):
    x, y = leaf(), leaf()
    out = returning(value).apply(x, y)
    with pytest.raises(error, match=match):
        out.sum().backward(create_graph=create_graph)
    assert x.grad is None
    assert y.grad is None


def test_trailing_none_gradients_are_harmless():
    x, y = leaf(), leaf()
    returning(lambda g: (g * 2, g, None, None)).apply(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2], [1, 1])


def test_a_gradient_for_an_input_that_wants_none_is_ignored():
    x = leaf()
    returning(lambda g: (g * 2, g)).apply(x, pb.ones(2)).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_none_for_an_input_means_no_gradient():
    x, y = leaf(), leaf()
    returning(lambda g: (None, g)).apply(x, y).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1, 1]


def test_gradients_come_in_the_dtype_of_the_input():
    x = pb.ones(2, dtype=pb.float32, requires_grad=True)
    y = leaf()
    returning(lambda g: (g * 2, g.to(pb.float32))).apply(x, y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)


def test_returning_the_same_gradient_twice_does_not_alias():
    x, y = leaf(), leaf()
    returning(lambda g: (g, g)).apply(x, y).sum().backward()
    x.grad.mul_(0)
    assert y.grad.tolist() == [1, 1]


def test_a_gradient_that_the_function_keeps_is_not_taken_over():
    kept = pb.full((2,), 3.0)
    x, y = leaf(), leaf()
    returning(lambda g: (kept, g)).apply(x, y).sum().backward()
    returning(lambda g: (kept, g)).apply(x, y).sum().backward()
    assert kept.tolist() == [3, 3]
    assert x.grad.tolist() == [6, 6]


def test_the_same_tensor_as_several_arguments():
    x = leaf()
    returning(lambda g: (2 * g, g)).apply(x, x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_missing_methods_say_so():
    class NoForward(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="forward"):
        NoForward.apply(leaf())
    y = NoBackward.apply(leaf())
    with pytest.raises(NotImplementedError, match="backward"):
        y.sum().backward()


def test_a_function_is_not_instantiated():
    with pytest.warns(DeprecationWarning, match=r"should not be instantiated.*Returns\.apply") as said:
        made = returning(lambda g: g)(leaf())
    assert said[0].filename == __file__
    with pytest.raises(TypeError, match=r"Legacy autograd function.*Returns\.apply"):
        made(leaf())


def test_methods_of_an_object_of_a_function_are_plain_methods():
    class Old(Function):
        def forward(self, x):
            return 3 * x

    x = leaf()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        y = Old().forward(x)
    y.sum().backward()  # by the operators in it
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_exception_in_forward_leaves_the_mode_alone():
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError

    with pytest.raises(KeyError):
        Fails.apply(leaf())
    assert pb.is_grad_enabled()


def test_a_gradient_for_an_argument_that_is_no_tensor_is_refused():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g * 3, g

    with pytest.raises(RuntimeError, match=r"gradient for argument 1.*not a Tensor; return None"):
        Scaled.apply(leaf(), 3).sum().backward()


# -- once_differentiable ---------------------------------------------------------------------------------------


class OnceSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        """Its doc."""
        assert not pb.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return pb.from_numpy(2 * x.detach().numpy() * g.detach().numpy())


def test_once_differentiable_gives_first_derivatives():
    x = leaf()
    OnceSquare.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert OnceSquare.backward.__doc__ == "Its doc."


def test_once_differentiable_refuses_second_derivatives():
    x = leaf()
    y = OnceSquare.apply(x * 3)
    (g,) = pb.autograd.grad((y * x).sum(), x, create_graph=True)
    assert g.tolist() == [27, 108]  # d 9 x^3
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_once_differentiable_refuses_only_where_the_derivative_depends_on_something():
    x = leaf()
    (g,) = pb.autograd.grad(OnceSquare.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):  # the cotangent was a constant, but x was not
        g.sum().backward()


def test_once_differentiable_shows_the_arguments_and_raises_for_the_gradient_too():
    x, v = leaf(), leaf()
    (g,) = pb.autograd.grad(OnceSquare.apply(x * 3), x, v.exp(), create_graph=True)
    error = g.grad_fn.next_functions[0][0]
    assert error.name() == "Error"
    assert [node.name() for node, _ in error.next_functions] == ["MulBackward0"]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        pb.autograd.grad(g.sum(), v)


def test_once_differentiable_with_none_and_several_gradients():
    class Two(Function):
        @staticmethod
        def forward(ctx, a, b, n):
            return a * n + b

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 3, g, None

    a, b = leaf(), leaf()
    ga, gb = pb.autograd.grad((Two.apply(a, b, 3) * a).sum(), [a, b], create_graph=True)
    assert (ga.tolist(), gb.tolist()) == ([3 * 1 + 4, 3 * 2 + 8], [1, 2])
    with pytest.raises(RuntimeError, match="once_differentiable"):
        ga.sum().backward()
