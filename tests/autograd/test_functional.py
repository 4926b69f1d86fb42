"""autograd.functional: values against closed forms, the nesting of results, inputs of every kind."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod

import pullback as pb
from pullback.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

POINT = np.array([-1.2, 1.0, 0.3, 2.0])
DIRECTION = np.array([1.0, -2.0, 0.5, 3.0])


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def close(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def shapes(result):
    return tuple(shapes(r) for r in result) if isinstance(result, tuple) else tuple(result.shape)


# -- values ----------------------------------------------------------------------------------------------------------
def test_gradient_and_hessian_of_rosenbrock():
    value, gradient = vjp(rosenbrock, POINT)
    close(value, rosen(POINT))
    close(gradient, rosen_der(POINT))
    close(jacobian(rosenbrock, POINT), rosen_der(POINT))
    close(hessian(rosenbrock, POINT), rosen_hess(POINT))


@pytest.mark.parametrize("product", [hvp, vhp])
def test_hessian_products_of_rosenbrock(product):
    value, found = product(rosenbrock, POINT, DIRECTION)
    close(value, rosen(POINT))
    close(found, rosen_hess_prod(POINT, DIRECTION))


def test_products_of_a_linear_map():
    A = np.arange(6.0).reshape(2, 3)
    x, u, v = np.ones(3), np.array([1.0, 10.0]), np.array([1.0, 2.0, 3.0])
    close(jacobian(lambda x: A @ x, x), A)
    close(vjp(lambda x: A @ x, x, u)[1], u @ A)
    close(jvp(lambda x: A @ x, x, v)[1], A @ v)
    close(jvp(lambda x: A @ x, x, v)[0], A @ x)


def test_hessian_blocks_of_two_inputs():
    x, y = np.array([1.0, 2.0]), np.array([[3.0]])

    def f(x, y):
        return (x**2 * y).sum()

    (xx, xy), (yx, yy) = hessian(f, (x, y))
    close(xx, np.diag([6.0, 6.0]))
    close(xy, (2 * x).reshape(2, 1, 1))
    close(yx, (2 * x).reshape(1, 1, 2))
    close(yy, np.zeros((1, 1, 1, 1)))
    for product in (hvp, vhp):
        _, (px, py) = product(f, (x, y), (np.array([1.0, 10.0]), np.array([[100.0]])))
        close(px, 6 * np.array([1.0, 10.0]) + 2 * x * 100)
        close(py, [[2 * x @ [1.0, 10.0]]])


def test_complex_numbers_follow_the_conjugate_convention():
    z, v = np.array([1 + 2j, 0.5 - 1j]), np.array([1j, 2.0])
    close(vjp(lambda z: 1j * z**2, z, v)[1], np.conj(2j * z) * v)
    close(jvp(lambda z: 1j * z**2, z, v)[1], 2j * z * v)
    close(jacobian(lambda z: (z * z.conj()).real, z), np.diag(2 * z))
    close(jacobian(lambda z: 1j * z**2, z, vectorize=True), np.diag(np.conj(2j * z)))
    for product in (hvp, vhp):  # the gradient of |z|^2 is 2 z
        close(product(lambda z: (z * z.conj()).real.sum(), z, v)[1], 2 * v)


def test_vectorize_changes_no_number():
    def f(x, m):
        return m @ x**2, (x * m).sum()

    point = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    for one, other in zip(jacobian(f, point), jacobian(f, point, vectorize=True), strict=True):
        for a, b in zip(one, other, strict=True):
            close(a, b.numpy())
    close(hessian(rosenbrock, POINT, vectorize=True), rosen_hess(POINT))


def test_numbers_agree_with_differences():
    def f(x, m):
        return np.exp(np.sin(m) @ x) * x[0]

    def column(m):
        return jacobian(f, (x, m))[0]

    rng = np.random.default_rng(0)
    x, m, direction = rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    h = 1e-6
    slope = (column(m + h * direction).numpy() - column(m - h * direction).numpy()) / (2 * h)
    _, derivative = jvp(lambda m: jacobian(f, (x, m), create_graph=True)[0], m, direction)
    np.testing.assert_allclose(derivative.numpy(), slope, rtol=1e-7, atol=1e-8)


# -- nesting and shapes ----------------------------------------------------------------------------------------------
X, M = np.ones(3), np.ones((2, 3))


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (lambda x: x * x, X, (3, 3)),
        (lambda x: x * x, (X,), ((3, 3),)),
        (lambda x: (x * x,), X, ((3, 3),)),
        (lambda x: (x * x,), (X,), (((3, 3),),)),
        (lambda x, m: m @ x, (X, M), ((2, 3), (2, 2, 3))),
        (lambda x, m: (m @ x, x.sum()), (X, M), (((2, 3), (2, 2, 3)), ((3,), (2, 3)))),
        (lambda s: s.expand(2, 3), 1.5, (2, 3)),
        (lambda s: s**2, 1.5, ()),
        (lambda x: x[:0], X, (0, 3)),
        (lambda x: x.sum(), np.ones((0, 2)), (0, 2)),
    ],
)
def test_nesting_of_jacobians(function, inputs, expected):
    assert shapes(jacobian(function, inputs)) == expected


def test_nesting_of_hessians():
    assert shapes(hessian(lambda x: (x**2).sum(), X)) == (3, 3)
    assert shapes(hessian(lambda x: (x**2).sum(), (X,))) == (((3, 3),),)
    assert shapes(hessian(lambda x, m: (m @ x).sum(), (X, M))) == (((3, 3), (3, 2, 3)), ((2, 3, 3), (2, 3, 2, 3)))
    assert shapes(hessian(lambda x: (x**2).sum().reshape(1, 1), X)) == (3, 3)


def test_nesting_of_products():
    def f(x, m):
        return m @ x, x.sum()

    outputs, found = vjp(f, (X, M), (np.ones(2), 1.0))
    assert shapes((outputs, found)) == (((2,), ()), ((3,), (2, 3)))
    outputs, found = jvp(f, (X, M), (X, M))
    assert shapes((outputs, found)) == (((2,), ()), ((2,), ()))
    output, found = vhp(lambda x: x.sum(), (X,), (X,))
    assert shapes((output, found)) == ((), ((3,),))
    output, found = hvp(lambda x: x.sum(), X, X)
    assert shapes((output, found)) == ((), (3,))


def test_a_single_v_may_stand_in_a_tuple():
    close(vjp(lambda x: x * 2, X, (X,))[1], 2 * X)
    close(vjp(lambda x: (x * 2,), X, X)[1], 2 * X)


@pytest.mark.parametrize("product", [vjp, jvp, hvp, vhp])
@pytest.mark.parametrize("point", [3.0, np.array(3.0), np.array([[3.0]]), np.float64(3), pb.tensor(3.0)])
def test_v_may_be_left_out_for_one_element(product, point):
    value, found = product(lambda x: x**3, point)
    assert value.item() == 27
    assert found.item() == {vjp: 27, jvp: 27, hvp: 18, vhp: 18}[product]


# -- kinds of inputs -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_tensors_of_the_inputs_dtype(dtype):
    x = X.astype(dtype)
    for result in (jacobian(np.sin, x), vjp(np.sin, x, X)[1], jvp(np.sin, x, X)[1], hessian(rosenbrock, x)):
        assert type(result) is pb.Tensor
        assert result.dtype == dtype
        assert not result.requires_grad


def test_an_integer_v_is_converted():
    close(vjp(np.sin, np.zeros(2), np.array([1, 2]))[1], [1.0, 2.0])


def test_arrays_are_not_copied():
    seen = []
    jacobian(lambda x: seen.append(x.detach().numpy()) or x * 2, X)
    assert np.shares_memory(seen[0], X)


def test_the_function_runs_once_for_all_rows():
    calls = []
    jacobian(lambda x: calls.append(1) or x**2, X)
    hessian(lambda x: calls.append(1) or (x**2).sum(), X)
    assert len(calls) == 2


def test_the_standard_basis_has_the_columns_of_each_tensor():
    tensors = (pb.ones(2), pb.tensor(1.0), pb.ones(3, dtype=pb.float32))
    parts = pb.autograd.functional._construct_standard_basis_for(tensors, (2, 1, 3))
    assert [part.dtype for part in parts] == [x.dtype for x in tensors]
    assert np.array_equal(np.concatenate([part.numpy() for part in parts], axis=1), np.eye(6))
