"""Levels: a Tensor around a Tensor. Nesting gives higher derivatives, and perturbations stay apart."""

import copy
import pickle

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph
from pullback.core.errors import IndependentResultWarning
from pullback.core.tensor import extra_of, wrap

grad = pb.func.grad


def leaf_of(level, data):
    leaf = wrap(data, level)
    leaf._requires_grad = True
    extra_of(leaf)
    return leaf


# -- higher derivatives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.3, 1.7, -2.0])
def test_nested_gradients_of_a_polynomial(x):
    def f(x):
        return x**5 - 2 * x**3

    assert np.isclose(grad(f)(x), 5 * x**4 - 6 * x**2)
    assert np.isclose(grad(grad(f))(x), 20 * x**3 - 12 * x)
    assert np.isclose(grad(grad(grad(f)))(x), 60 * x**2 - 12)
    assert np.isclose(grad(grad(grad(grad(f))))(x), 120 * x)


def test_nested_gradients_of_transcendental_functions():
    x = 0.7
    assert np.isclose(grad(grad(pb.sin))(x), -np.sin(x))
    assert np.isclose(grad(grad(grad(pb.sin)))(x), -np.cos(x))
    assert np.isclose(grad(grad(grad(lambda x: pb.exp(2 * x))))(x), 8 * np.exp(2 * x))
    assert np.isclose(grad(grad(pb.tanh))(x), -2 * np.tanh(x) / np.cosh(x) ** 2)
    assert np.isclose(grad(grad(pb.log))(x), -1 / x**2)


def test_a_tensor_around_a_tensor_by_hand():
    inner = pb.tensor(2.0, requires_grad=True)
    outer = leaf_of(1, inner)
    y = outer**3
    assert y._level == 1
    (first,) = pb.autograd.grad(y, outer)
    assert first._array.requires_grad
    first._array.backward()
    assert inner.grad.item() == 12.0  # 6 x


def test_hessian_vector_product_by_reverse_over_reverse():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    v = np.array([1.0, -1.0])

    def f(x):
        return (x * pb.mv(pb.from_numpy(A), x)).sum() / 2 + (x**3).sum()

    x = np.array([0.5, -1.5])
    product = grad(lambda x: (grad(f)(x) * pb.from_numpy(v)).sum())(x)
    assert np.allclose(product, A @ v + 6 * x * v)


def test_backward_through_a_transform_reaches_eager_tensors():
    x = pb.tensor(2.0, requires_grad=True)
    y = grad(lambda z: z**3 * x)(x)  # 3 z^2 x at z = x: 3 x^3
    assert y.requires_grad
    y.backward()
    assert x.grad.item() == 36.0  # 9 x^2: both roles of x count


def test_create_graph_inside_a_transform():
    def f(x):
        (g,) = pb.autograd.grad(x**3, x, create_graph=True)
        return g * x  # 3 x^3

    assert grad(f)(2.0) == 36.0


# -- perturbation confusion ------------------------------------------------------------------------------------


def test_the_classic_example():
    # d/dx [x * d/dy (x + y)] = 1, not 2
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0


def test_a_closed_over_variable_is_a_constant_inside():
    # d/dx [ d/dy (x y^2) at y = x ] = d/dx 2 x^2 = 4 x
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0) == 12.0
    # d/dx [ d/dy (x^2 y) at y = 5 ] = 2 x
    assert grad(lambda x: grad(lambda y: x * x * y)(5.0))(3.0) == 6.0


def test_an_inner_function_that_ignores_its_argument():
    with pytest.warns(IndependentResultWarning, match="does not depend on 'y'"):
        assert grad(lambda x: grad(lambda y: x * x)(x))(3.0) == 0.0
    with pytest.warns(IndependentResultWarning, match="does not depend on 'y'"):
        assert grad(lambda x: x + grad(lambda y: x * x)(x))(3.0) == 1.0


def test_three_levels_side_by_side():
    # d/dx d/dy d/dz (x y z)^2 = 8 x y z
    f = lambda x: grad(lambda y: grad(lambda z: (x * y * z) ** 2)(5.0))(3.0)  # noqa: E731
    assert grad(f)(2.0) == 8 * 2 * 3 * 5


def test_detach_leaves_the_outer_levels_too():
    with pytest.warns(pb.extend.IndependentResultWarning, match=r"detach\(\) at"):
        assert grad(lambda x: grad(lambda y: y.detach() * y)(x))(3.0) == 0.0
    assert grad(lambda x: grad(lambda y: (y.detach() + y * y) * y)(x))(3.0) == 18.0  # of c + 3 y**2
    assert grad(lambda x: grad(lambda y: y.detach() * x * y)(x))(3.0) == 3.0  # what it is beside keeps its own


def test_an_inner_result_that_leaks_stays_differentiable_outside():
    kept = []

    def inner(y):
        kept.append(y * y)
        return y

    def outer(x):
        grad(inner)(x)
        return x

    assert grad(outer)(2.0) == 1.0
    assert kept[0]._level == 2


# -- modes, in-place operations, views -------------------------------------------------------------------------


def test_a_recorded_array_beside_a_tensor_of_a_lower_level_is_a_constant():
    graph, numbers = Graph(), np.array([1.0, 2.0])

    def recorded():
        return TracedArray(graph.input(numbers), numbers)

    assert type((wrap(recorded(), 2) * wrap(recorded(), 2))._array) is TracedArray
    lower = wrap(recorded(), 1).requires_grad_()
    assert (wrap(recorded(), 2) * wrap(lower, 2))._array.requires_grad


def test_in_place_at_a_level():
    def f(x):
        y = x * 1
        y *= x
        y += 2 * x
        y[0] = y[0].clone() * x[1]
        return y.sum()

    # y0 = (x0^2 + 2 x0) x1, y1 = x1^2 + 2 x1
    assert np.allclose(grad(f)(np.array([2.0, 3.0])), [(2 * 2 + 2) * 3, 8 + 2 * 3 + 2])


def test_in_place_at_a_nested_level():
    def f(x):
        y = x * 1
        y *= x * x
        return y.sum()  # x^3

    assert np.isclose(grad(grad(f))(2.0), 12.0)
    assert np.isclose(grad(grad(grad(f)))(2.0), 6.0)


def test_setitem_at_a_nested_level():
    def f(x):
        y = pb.stack([x, x])
        y[0] = x**3
        return (y * y).sum()  # x^6 + x^2

    assert np.isclose(grad(f)(2.0), 6 * 2**5 + 4)
    assert np.isclose(grad(grad(f))(2.0), 30 * 2**4 + 2)


def test_writing_into_a_view_at_a_nested_level():
    def f(x):
        y = pb.stack([x, x]) * 1
        v = y[0, ...]
        v *= x * x
        return y.sum()  # x^3 + x

    assert np.isclose(grad(f)(2.0), 13.0)
    assert np.isclose(grad(grad(f))(2.0), 12.0)


def test_writing_into_a_constant_view_at_a_nested_level_changes_its_base():
    def f(x, c):
        y = pb.stack([c, c]) * (x * 0 + 1).detach()
        y[:1].add_(10)
        return (y * x).sum()  # (c + 10) x + c x

    assert np.isclose(grad(lambda x: f(x, 2.0 * pb.ones(())))(2.0), 14.0)
    assert np.isclose(grad(lambda c: grad(lambda x: f(x, c))(c))(2.0), 2.0)


def test_a_tensor_from_outside_cannot_take_a_higher_value_in_place():
    outside = pb.zeros(2)

    def f(x):
        outside[0] = x
        return outside.sum()

    with pytest.raises(RuntimeError, match=r"level 1.*level 0.*out-of-place"):
        grad(f)(2.0)
    assert not outside.any()


def test_a_tensor_that_is_made_inside_takes_it():
    def f(x):
        y = pb.zeros(2)
        y[0] = x * x
        return y.sum()

    assert grad(f)(2.0) == 4.0


def test_a_higher_leaf_cannot_be_written_into():
    with pytest.raises(RuntimeError, match="leaf Variable"):
        grad(lambda x: x.add_(1))(2.0)


def test_a_modified_saved_tensor_is_noticed_at_every_level():
    def f(x):
        y = x * 1
        z = y.sin()
        y.add_(1)
        return z

    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        grad(f)(pb.tensor(2.0))
    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        grad(grad(f))(pb.tensor(2.0))


def test_a_lower_tensor_that_was_saved_at_a_higher_level_is_watched():
    c = pb.tensor(3.0)

    def f(x):
        y = x * c
        c.add_(1)
        return y

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(f)(2.0)


# -- custom Functions ------------------------------------------------------------------------------------------


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class CubeByNumPy(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.from_numpy(np.asarray(x.detach().numpy() ** 3))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def test_custom_function_at_a_level():
    assert grad(Cube.apply)(2.0) == 12.0
    assert grad(lambda x: Cube.apply(x * x))(2.0) == 6 * 2.0**5


def test_custom_function_at_nested_levels():
    assert grad(grad(Cube.apply))(2.0) == 12.0
    assert grad(grad(grad(Cube.apply)))(2.0) == 6.0


def test_custom_function_with_arguments_of_two_levels():
    class Product(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    # d/dx [ d/dy (x y * y) at y = x ] with the product inside: 4 x
    assert grad(lambda x: grad(lambda y: Product.apply(x, y) * y)(x))(3.0) == 12.0


def test_numpy_inside_forward_works_at_one_level_and_is_refused_at_two():
    assert grad(CubeByNumPy.apply)(2.0) == 12.0
    refused = r"CubeByNumPyBackward: detach\(\) at .*test_levels.py:\d+ leaves the graphs of all.*custom_vjp"
    with pytest.raises(RuntimeError, match=refused):
        grad(grad(CubeByNumPy.apply))(2.0)
    with pytest.raises(RuntimeError, match=refused):
        pb.func.jvp(lambda x: pb.func.grad(CubeByNumPy.apply)(x), (2.0,), (1.0,))
    x = pb.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=refused):
        grad(CubeByNumPy.apply)(x)


# -- what leaves a level ---------------------------------------------------------------------------------------


def test_numpy_of_a_constant_that_is_differentiated_outside_is_refused():
    def f(x):
        pb.func.grad(lambda y: (x.detach().numpy(), y)[1])(1.0)
        return x

    assert grad(f)(2.0) == 1.0  # at its own level x.detach() is a constant
    with pytest.raises(RuntimeError, match="requires grad"):
        grad(lambda x: grad(lambda y: ((y.detach() * x).numpy(), y)[1])(x))(2.0)


def test_a_tensor_of_a_level_never_becomes_an_array_by_accident():
    with pytest.raises(RuntimeError, match="lose its gradient"):
        grad(lambda x: (np.array([x, x]), x)[1])(2.0)
    with pytest.raises(RuntimeError, match="lose its gradient"):
        grad(lambda x: grad(lambda y: (np.array([y.detach() * x, 1.0]), y)[1])(x))(2.0)


def test_cotangent_of_a_higher_level_than_the_graph():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x**2

    def f(v):
        (product,) = pb.autograd.grad(y, x, v, retain_graph=True)
        return (product * product).sum()  # sum (2 x v)^2

    v = np.array([3.0, 4.0])
    assert np.allclose(grad(f)(v), 8 * np.array([1.0, 4.0]) * v)


def test_results_at_level_zero_are_arrays_or_numbers():
    value, gradient = pb.func.value_and_grad(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    assert value == 5.0
    assert type(gradient) is np.ndarray
    assert type(grad(lambda x: x * x)(3.0)) is np.ndarray or isinstance(grad(lambda x: x * x)(3.0), float)


def test_copying_numbers_out_of_a_level_is_refused():
    with pytest.raises(RuntimeError, match=r"lose the gradient.*clone\(\)"):
        grad(lambda x: pb.tensor(x) * x)(2.0)


def test_copies_at_nested_levels_keep_the_outer_derivative_or_refuse():
    def inner(copied):
        return lambda x: grad(lambda z: copied(z.detach() * x) * z)(x)

    for copied in (lambda z: z.clone(), copy.copy, copy.deepcopy):
        assert grad(lambda x: copied(x.detach()) * x)(2.0) == 2.0  # noqa: B023 - called at once
        assert grad(inner(copied))(2.0) == 2.0
    refused = lambda z: pickle.loads(pickle.dumps(z))  # noqa: E731
    assert grad(lambda x: refused(x.detach()) * x)(2.0) == 2.0
    with pytest.raises(RuntimeError):
        grad(inner(refused))(2.0)


def test_gradients_of_several_arguments_share_no_memory():
    a, b = grad(lambda x, y: ((x + y) ** 2).sum(), argnums=(0, 1))(np.ones(3), np.ones(3))
    assert not np.shares_memory(a, b)


def test_hooks_at_a_level():
    weights = pb.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        y = x * 2
        y.register_hook(lambda g: pb.tensor([3.0, 5.0]))
        return y.sin().sum()

    assert grad(f)(np.ones(2)).tolist() == [6, 10]

    def outside(x):
        y = x * 2
        y.register_hook(lambda g: weights)  # differentiable further out
        return y.sin().sum()

    gradient = grad(outside)(np.ones(2))
    gradient.sum().backward()
    assert weights.grad.tolist() == [2, 2]


def test_a_forward_that_uses_a_higher_level_behind_the_back_is_refused():
    w = pb.tensor(2.0, requires_grad=True)

    def f(x):
        class Hidden(pb.autograd.Function):
            @staticmethod
            def forward(ctx, y):
                return y * x

            @staticmethod
            def backward(ctx, g):
                return g

        return Hidden.apply(w) * x

    with pytest.raises(RuntimeError, match=r"HiddenBackward.*level 1.*argument"):
        grad(f)(3.0)
