"""autograd.functional in forward mode: columns agree with rows, in every nesting, and can be differentiated again."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import rosen_hess

import pullback as pb
from pullback.autograd.functional import hessian, jacobian

X, M = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def columns(func, inputs, **options):
    return jacobian(func, inputs, strategy="forward-mode", **options)


def curvature(func, inputs, **options):
    return hessian(func, inputs, outer_jacobian_strategy="forward-mode", **options)


def all_columns(vectorize, func, inputs, **options):
    return columns(func, inputs, vectorize=vectorize, **options)


def all_curvature(vectorize, func, inputs, **options):
    return curvature(func, inputs, vectorize=vectorize, **options)


BOTH = pytest.mark.parametrize("vectorize", [False, True])


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one.shape == other.shape
        assert one.requires_grad == other.requires_grad
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize(
    ("func", "inputs"),
    [
        (lambda x: x**2, X),
        (lambda x: (x**2,), (X,)),
        (lambda x: x**2, 3.0),
        (lambda x, m: m @ x**2, (X, M)),
        (lambda x, m: (m @ x**2, np.exp(x).sum(), m * m.sum()), (X, M)),
        (lambda x, m: (x * 2, pb.ones(3)), (X, M)),
        (lambda x: x[:0], X),
        (lambda x: x.sum(), np.ones((0, 2))),
    ],
)
def test_columns_are_the_rows_transposed(func, inputs, vectorize):
    assert_same(columns(func, inputs, vectorize=vectorize), jacobian(func, inputs))


@pytest.mark.parametrize(
    ("func", "inputs"),
    [
        (lambda x: (x**3).sum(), X),
        (lambda x: x.sum(), X),
        (lambda x, m: (np.exp(m) @ x**3).sum() * x[0], (X, M / 6)),
        (lambda x, m: (x**3).sum(), (X, M)),
    ],
)
@pytest.mark.parametrize("vectorize", [False, True])
def test_forward_over_reverse_is_reverse_over_reverse(func, inputs, vectorize):
    assert_same(curvature(func, inputs, vectorize=vectorize), hessian(func, inputs))


def test_hessian_of_rosenbrock():
    point = np.array([-1.2, 1.0, 0.3])
    found = curvature(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), point)
    np.testing.assert_allclose(found.numpy(), rosen_hess(point), rtol=1e-12)


@BOTH
def test_columns_have_the_outputs_dtype(vectorize):
    columns = partial(all_columns, vectorize)
    assert columns(lambda x: x.to(pb.float64) * 2, X.astype("float32")).dtype == pb.float64
    with pytest.warns(UserWarning, match="does not depend on input 0"):
        assert columns(lambda x: x > 0, X).tolist() == [[False, False]] * 2
    np.testing.assert_array_equal(columns(lambda x: x * 1j, X).numpy(), 1j * np.eye(2))
    np.testing.assert_array_equal(columns(lambda z: z * z, 1j * X).numpy(), np.diag(2j * X))  # not conjugated


@BOTH
def test_create_graph(vectorize):
    columns, curvature = partial(all_columns, vectorize), partial(all_curvature, vectorize)
    x = pb.tensor(X, requires_grad=True)
    assert pb.autograd.grad(columns(lambda x: x**3, x, create_graph=True).sum(), x)[0].tolist() == [6, 12]
    assert pb.autograd.grad(curvature(lambda x: (x**4).sum(), x, create_graph=True).sum(), x)[0].tolist() == [24, 48]
    assert not columns(lambda y: y * x, x).requires_grad
    with pb.no_grad():
        assert columns(lambda y: y * x, x, create_graph=True).requires_grad


@BOTH
def test_inside_a_gradient_transform(vectorize):
    columns, curvature = partial(all_columns, vectorize), partial(all_curvature, vectorize)
    found = pb.func.grad(lambda y: columns(lambda x: x**2 * y, X, create_graph=True).sum())(np.ones(2))
    np.testing.assert_allclose(found, 2 * X)
    found = pb.func.grad(lambda y: curvature(lambda x: (x**3).sum(), y, create_graph=True).sum())(X)
    np.testing.assert_allclose(found, [6, 6])


@BOTH
def test_forward_over_forward(vectorize):
    columns = partial(all_columns, vectorize)
    found = columns(lambda x: columns(lambda y: y**3, x, create_graph=True), X)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6 * X
    np.testing.assert_allclose(found.numpy(), expected)


def test_one_call_for_each_element_of_the_inputs():
    calls = []
    columns(lambda x, m: calls.append(1) or m @ x, (X, M))
    assert len(calls) == 8


def test_vectorized_it_is_one_call():
    calls = []
    columns(lambda x, m: calls.append(1) or m @ x, (X, M), vectorize=True)
    curvature(lambda x: calls.append(1) or (x**3).sum(), X, vectorize=True)
    assert len(calls) == 2


def test_vectorized_captured_tensors_get_gradients():
    c = pb.tensor(2.0, requires_grad=True)
    found = curvature(lambda x: (x**3).sum() * c, X, vectorize=True, create_graph=True)
    assert pb.autograd.grad(found.sum(), c)[0].item() == 18
    found = columns(lambda x: x**2 * c**2, X, vectorize=True, create_graph=True)
    assert pb.autograd.grad(found.sum(), c)[0].item() == 24


def test_vectorized_inside_vmap_and_itself():
    found = pb.func.vmap(lambda x: columns(lambda y: y**3 * x, x, vectorize=True))(M)
    np.testing.assert_allclose(found, [np.diag(3 * row**3) for row in M])
    found = columns(lambda x: columns(lambda y: y**3 * x, x, vectorize=True).sum(0), X, vectorize=True)
    np.testing.assert_allclose(found.numpy(), np.diag(9 * X**2))


def test_vectorized_a_zero_of_a_unit_vector_meets_no_infinite_slope():
    found = columns(lambda x: np.sqrt(x), np.array([0.0, 1.0]), vectorize=True)
    np.testing.assert_array_equal(found.numpy(), [[np.inf, 0], [0, 0.5]])


def test_vectorized_random_numbers_are_drawn_once():
    pb.manual_seed(0)
    found = columns(lambda x: pb.randn(2) * x, X, vectorize=True)
    pb.manual_seed(0)
    np.testing.assert_array_equal(found.numpy(), np.diag(pb.randn(2).numpy()))


def test_vectorized_without_a_rule_for_batches_columns_come_one_after_another():
    def func(x):
        return x.masked_select(pb.tensor([True, False]))  # its shape depends on values

    np.testing.assert_array_equal(columns(func, X, vectorize=True).numpy(), [[1, 0]])


def test_a_function_that_raises_leaves_no_level_behind():
    def fail(x):
        raise KeyError("mine")

    for vectorize in (False, True):
        with pytest.raises(KeyError, match="mine"):
            columns(fail, X, vectorize=vectorize)
    assert not pb.core.modes.current().level
    with pytest.raises(RuntimeError, match="no dual level"):
        pb.autograd.forward_ad.exit_dual_level()
