"""func.hvp and func.vhp: the Hessian times a vector."""

import warnings

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.extend import IndependentResultWarning
from pullback.func import grad, hessian, hvp, jvp, vhp

X, V = np.array([3.0, 5.0, -1.0]), np.array([1.0, -2.0, 0.5])
BOTH = pytest.mark.parametrize("product", [hvp, vhp], ids=["hvp", "vhp"])


def f(x):
    return x[0] * x[1] ** 2 + np.sin(x[2]) * x[0]


def H(x):
    return np.array([[0, 2 * x[1], np.cos(x[2])], [2 * x[1], 2 * x[0], 0], [np.cos(x[2]), 0, -np.sin(x[2]) * x[0]]])


@BOTH
def test_it_is_the_hessian_times_the_vector(product):
    found = product(f, X, V)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, H(X) @ V)
    np.testing.assert_allclose(hessian(f)(X), H(X))


@BOTH
def test_several_arguments_come_in_a_tuple(product):
    def g(p, y):
        return (np.sin(p["w"]) * y).sum()

    (dp, dy) = product(g, ({"w": X}, V), ({"w": V}, X))
    np.testing.assert_allclose(dp["w"], -np.sin(X) * V * V + np.cos(X) * X)
    np.testing.assert_allclose(dy, np.cos(X) * V)
    assert [type(x) for x in product(lambda x: f(x), (X,), (V,))] == [np.ndarray]


@BOTH
def test_numbers_tensors_and_aux(product):
    slope = product(lambda x: x**3, 2.0, 1.0)
    assert (type(slope), slope) == (np.float64, 12.0)
    x = pb.tensor(X, requires_grad=True)
    found = product(lambda x: (x**4).sum(), x, pb.tensor(V))
    np.testing.assert_allclose(found.detach().numpy(), 12 * X**2 * V)
    np.testing.assert_allclose(pb.autograd.grad(found.sum(), x)[0].numpy(), 24 * X * V)
    found, aux = product(lambda x: ((x**3).sum(), {"a": x * 2, "b": "text"}), X, V, has_aux=True)
    np.testing.assert_allclose(found, 6 * X * V)
    np.testing.assert_allclose(aux["a"], 2 * X)
    assert aux["b"] == "text"


@BOTH
def test_nested(product):
    def g(x):
        return (x**4).sum()

    np.testing.assert_allclose(grad(lambda x: product(g, x, V).sum())(X), 24 * X * V)
    np.testing.assert_allclose(jvp(lambda x: product(g, x, V), (X,), (V,))[1], 24 * X * V**2)
    np.testing.assert_allclose(product(lambda x: (product(g, x, V) * V).sum(), X, V), 24 * V**3)
    np.testing.assert_allclose(pb.func.vmap(lambda v: product(g, X, v))(np.eye(3)), np.diag(12 * X**2))


@BOTH
def test_a_linear_function_has_none_and_a_constant_is_named(product):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(product(np.sum, X, V), np.zeros(3))
    with pytest.warns(IndependentResultWarning, match=rf"func\.{product.__name__}"):
        np.testing.assert_array_equal(product(lambda x: 1.0, X, V), np.zeros(3))


CALLS = {
    "a vector returned": (lambda p: p(np.sin, X, V), RuntimeError, r"a real scalar, .* shape \(3,\)"),
    "a shape": (lambda p: p(f, X, V[:2]), RuntimeError, r"shape .*\(2,\)|shape \(2,\)"),
    "a tuple and none": (lambda p: p(f, (X,), V), RuntimeError, "must either both be tuples"),
    "no function": (lambda p: p(3, X, V), TypeError, r"Write func\.\w+\(f, x, v\)"),
    "whole numbers": (lambda p: p(f, X.astype(int), V), (TypeError, RuntimeError), r"int64.*\.astype\(float\)"),
}


@BOTH
@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_wrong_calls(product, call, error, said):
    with pytest.raises(error, match=rf"func\.{product.__name__}.*({said})"):
        call(product)


def test_newton_with_conjugate_gradients():
    def rosenbrock(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = scipy.optimize.minimize(
        rosenbrock,
        np.zeros(5),
        jac=grad(rosenbrock),
        hessp=lambda x, p: hvp(rosenbrock, x, p),
        method="trust-ncg",
        options={"gtol": 1e-10},
    )
    np.testing.assert_allclose(found.x, np.ones(5), rtol=1e-8)


@pytest.mark.parametrize("product", [pb.func.hvp, pb.func.vhp])
@pytest.mark.parametrize("empty", [{}, [], ({},)])
def test_arguments_without_an_array_are_named(product, empty):
    with pytest.raises(RuntimeError, match=r"the arguments hold no array to differentiate, got"):
        product(lambda p: np.float64(0.0), empty, empty)


@BOTH
def test_a_vector_of_whole_numbers_is_one_of_numbers(product):
    for vector in (np.array([1, 0, 2], np.int8), np.array([True, False, True])):
        found = product(f, X, vector)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, H(X) @ vector)


@BOTH
def test_trust_constr_gets_products_with_the_hessian(product):
    def rosenbrock(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    products = {"hessp": lambda x, p: product(rosenbrock, x, p), "method": "trust-constr"}
    found = scipy.optimize.minimize(pb.func.value_and_grad(rosenbrock), np.array([1.3, 0.7]), jac=True, **products)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
