"""autograd.functional: what the results are connected to, what stays a constant, and differentiating them again."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from pullback.extend import IndependentResultWarning

X = np.ones(3)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def close(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


# -- what is connected, and what is not ------------------------------------------------------------------------------
def test_an_unused_input_gets_zeros():
    x, y = np.array([1.0, 2.0]), np.ones(3)
    close(jacobian(lambda x, y: x * 2, (x, y))[1], np.zeros((2, 3)))
    close(vjp(lambda x, y: x.sum(), (x, y))[1][1], np.zeros(3))
    close(jvp(lambda x: (x * 2, x > 0), x, x)[1][1], [False, False])
    close(hessian(lambda x: x.sum(), x), np.zeros((2, 2)))
    close(vhp(lambda x: x.sum(), x, x)[1], [0, 0])


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda x: jacobian(lambda x: pb.ones(2), x), r"another variable"),
        (lambda x: jacobian(lambda x: pb.ones(2), x, strategy="forward-mode"), r"another variable"),
        (lambda x: jacobian(lambda x: x > 0, x), r"gt at .*test_functional_graphs.py:\d+ left the graph"),
        (lambda x: jvp(lambda x: x.detach(), x, x)[1], r"detach\(\) at .*test_functional_graphs.py:\d+ left the graph"),
        (lambda x: hvp(lambda x: pb.tensor(1.0), x, x)[1], r"another variable"),
    ],
)
def test_a_result_that_does_not_depend_on_the_inputs_gives_zeros_and_says_so(call, why):
    with pytest.warns(IndependentResultWarning, match=rf"functional\.\w+: .* does not depend on input 0.*{why}"):
        found = call(np.array([1.0, 2.0]))
    assert not found.numpy().any()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_captured_tensor_is_a_constant(create_graph):
    x = leaf()
    close(jacobian(lambda y: x * y, x, create_graph=create_graph), np.diag([1.0, 2.0]))
    close(jacobian(lambda y, z: y + 2 * z, (x, x), create_graph=create_graph)[1], 2 * np.eye(2))
    assert x.grad is None
    assert x.requires_grad


def test_the_callers_modes_do_not_matter():
    x = leaf()
    with pb.no_grad():
        close(jacobian(lambda x: x**2, x), np.diag([2.0, 4.0]))
        close(jvp(lambda x: x**2, x, x)[1], [2.0, 8.0])
        recorded = hessian(lambda x: (x**3).sum(), x, create_graph=True)
        assert not pb.is_grad_enabled()
    assert recorded.requires_grad
    close(pb.autograd.grad(recorded.sum(), x)[0], [6.0, 6.0])


def test_modes_are_restored_when_the_function_raises():
    def fail(x):
        raise KeyError("mine")

    with pb.no_grad():
        for function in (jacobian, hessian, vjp):
            with pytest.raises(KeyError, match="mine"):
                function(fail, X)
            assert not pb.is_grad_enabled()


def test_graphs_outside_survive():
    w = leaf()
    scaled = w.exp()
    jacobian(lambda x: x * scaled, X[:2])
    vjp(lambda x: x * scaled, X[:2], X[:2])
    scaled.sum().backward()
    close(w.grad, np.exp([1.0, 2.0]))


def test_in_place_work_inside_the_function():
    def f(x):
        y = x.clone()
        y *= x
        y[0] = y[1] * 3
        return y

    close(jacobian(f, np.array([1.0, 2.0])), [[0, 12], [0, 4]])
    close(hessian(lambda x: (f(x) ** 2).sum(), np.array([1.0, 2.0])), [[0, 0], [0, 480]])


@pytest.mark.parametrize("create_graph", [False, True])
def test_inputs_cannot_be_modified_in_place(create_graph):
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf"):
        jacobian(lambda x: x.mul_(2), x, create_graph=create_graph)
    close(x, [1.0, 2.0])


# -- results that are differentiated again ---------------------------------------------------------------------------
def test_without_create_graph_results_have_no_history():
    x, v = leaf(), leaf()
    results = [jacobian(rosenbrock, x), hessian(rosenbrock, x), *vjp(rosenbrock, x), *hvp(rosenbrock, x, v)]
    results += [*vhp(rosenbrock, x, v), *jvp(rosenbrock, x, v)]
    assert not any(r.requires_grad for r in results)


def test_jacobian_is_differentiable():
    x = leaf()
    rows = jacobian(lambda x: x**3, x, create_graph=True)
    close(pb.autograd.grad(rows.sum(), x)[0], [6.0, 12.0])
    w = leaf(3.0, 4.0)
    rows = jacobian(lambda x: x**2 * w, X[:2], create_graph=True)
    close(pb.autograd.grad(rows.sum(), w)[0], [2.0, 2.0])


def test_hessian_is_differentiable():
    x = leaf()
    close(pb.autograd.grad(hessian(lambda x: (x**4).sum(), x, create_graph=True).sum(), x)[0], [24.0, 48.0])


@pytest.mark.parametrize(
    ("product", "by_x", "by_v"),
    [(jvp, [6, 60], [3, 12]), (vjp, [30, 60], [15]), (hvp, [6, 30], [6, 12]), (vhp, [6, 30], [6, 12])],
)
def test_products_are_differentiable_in_inputs_and_v(product, by_x, by_v):
    def f(x):
        return x**3 if product is jvp else (x**3).sum()

    x, v = leaf(), leaf(1.0, 5.0)
    if product is vjp:
        v = pb.tensor(5.0, requires_grad=True)
    value, found = product(f, x, v, create_graph=True)
    gx, gv = pb.autograd.grad(found.sum(), (x, v), retain_graph=True)
    close(gx, by_x)
    close(gv, by_v if product is not vjp else 15)
    close(pb.autograd.grad(value.sum(), x)[0], [3.0, 12.0])


def test_third_derivative_by_nesting():
    third = jacobian(lambda x: hessian(lambda y: (y**4).sum(), x, create_graph=True), X[:2])
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = expected[1, 1, 1] = 24
    close(third, expected)


@pytest.mark.parametrize("kind", [np.array, pb.tensor])
def test_inputs_of_a_lower_level_than_what_is_captured(kind):
    found = pb.func.grad(lambda y: hessian(lambda x: (x**3 * y).sum(), kind([1.0, 2.0]), create_graph=True).sum())(
        X[:2]
    )
    np.testing.assert_allclose(found, [6.0, 12.0])


def test_inside_a_gradient_transform():
    y = np.array([3.0, 4.0])
    grad = pb.func.grad
    found = grad(lambda y: hvp(lambda x: (x**3).sum(), y, y, create_graph=True)[1].sum())(y)
    np.testing.assert_allclose(found, 12 * y)
    with pb.no_grad():
        found = grad(lambda y: jvp(lambda x: x**3, y, y, create_graph=True)[1].sum())(y)
    np.testing.assert_allclose(found, 9 * y**2)
    np.testing.assert_array_equal(grad(lambda y: jacobian(lambda x: x**2, y).sum())(y), [2, 2])  # create_graph or not


def test_inputs_of_a_lower_level_stay_differentiable_there():
    x = leaf()
    found = pb.func.grad(lambda y: jacobian(lambda x: x**2 * y, x, create_graph=True).sum())(np.ones(2))
    close(found, [2.0, 4.0])
    close(pb.autograd.grad(found.sum(), x)[0], [2.0, 2.0])
