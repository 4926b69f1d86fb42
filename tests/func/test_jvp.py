"""func.jvp, alone and nested with itself and with func.grad."""

import numpy as np
import pytest

import pullback as pb
from pullback.extend import IndependentResultWarning
from pullback.func import grad, jvp
from pullback.testing import assert_close

X, V = np.array([0.3, 1.2, -0.7]), np.array([1.0, -2.0, 0.5])


def f(x):
    return np.sum(np.sin(x) * x**2)


HESSIAN = np.diag(-np.sin(X) * X**2 + 4 * X * np.cos(X) + 2 * np.sin(X))


def along(function, x):
    """The derivative of a function of a number."""
    return jvp(function, (x,), (np.float64(1.0),))[1]


def test_arrays_in_and_arrays_out():
    value, tangent = jvp(np.sin, (X,), (V,))
    assert type(value) is np.ndarray
    assert type(tangent) is np.ndarray
    assert_close(value, np.sin(X))
    assert_close(tangent, np.cos(X) * V)


def test_several_arguments_and_trees():
    (value, (total,)), (dvalue, (dtotal,)) = jvp(
        lambda d, y: ({"z": d["x"] * y}, [y.sum()]), ({"x": X}, V), ({"x": V}, X)
    )
    assert_close(value["z"], X * V)
    assert_close(dvalue["z"], V * V + X * X)
    assert_close(np.asarray(total), np.sum(V))
    assert_close(np.asarray(dtotal), np.sum(X))


def test_has_aux():
    _value, tangent, aux = jvp(lambda x: (x * 2, {"inside": x + 1, "note": None}), (X,), (V,), has_aux=True)
    assert_close(tangent, 2 * V)
    assert_close(aux["inside"], X + 1)
    assert type(aux["inside"]) is np.ndarray


def test_an_output_that_does_not_depend():
    with pytest.warns(IndependentResultWarning, match="func.jvp: .* does not depend on 'x'"):
        _value, tangent = jvp(lambda x: np.ones(2), (X,), (V,))
    assert_close(tangent, np.zeros(2))
    with pytest.raises(RuntimeError, match="strict=True output 0 must depend on the primals"):
        jvp(lambda x: np.ones(2), (X,), (V,), strict=True)


def test_hessian_vector_products_agree():
    assert_close(jvp(grad(f), (X,), (V,))[1], HESSIAN @ V)
    assert_close(grad(lambda x: jvp(f, (x,), (V,))[1])(X), HESSIAN @ V)
    assert_close(np.asarray(jvp(lambda x: jvp(f, (x,), (V,))[1], (X,), (V,))[1]), V @ HESSIAN @ V)


def test_third_derivatives_agree():
    by_forward = grad(lambda x: jvp(lambda y: jvp(f, (y,), (V,))[1], (x,), (V,))[1])(X)
    by_mixture = jvp(grad(lambda x: jvp(f, (x,), (V,))[1]), (X,), (V,))[1]
    by_reverse = grad(lambda x: np.sum(jvp(grad(f), (x,), (V,))[1] * V))(X)
    assert_close(by_forward, by_mixture)
    assert_close(by_forward, by_reverse)


def test_perturbations_are_not_confused():
    assert along(lambda x: x * along(lambda y: x + y, np.float64(1.0)), np.float64(3.0)) == 1.0
    assert along(lambda x: x * along(lambda y: x * y, np.float64(1.0)), np.float64(3.0)) == 6.0
    assert grad(lambda x: x * along(lambda y: x * y, np.float64(1.0)))(np.float64(3.0)) == 6.0
    assert along(lambda x: x * grad(lambda y: x * y)(np.float64(1.0)), np.float64(3.0)) == 6.0


def test_a_captured_tensor_is_differentiated_at_its_own_level():
    w = pb.tensor(2.0, requires_grad=True)
    value, tangent = jvp(lambda x: (x * w) ** 2, (np.float64(3.0),), (np.float64(1.0),))
    assert value.item() == 36.0
    assert tangent.item() == 24.0
    assert pb.autograd.grad(tangent, w)[0].item() == 24.0  # d/dw (2 x w**2)


def test_tensors_as_primals_and_tangents():
    x, v = pb.tensor(X, requires_grad=True), pb.tensor(V, requires_grad=True)
    _value, tangent = jvp(lambda x: x**3, (x,), (v,))
    gx, gv = pb.autograd.grad(tangent.sum(), (x, v))
    assert_close(gx, 6 * X * V)
    assert_close(gv, 3 * X**2)


def test_inside_a_dual_level():
    from pullback.autograd import forward_ad

    with forward_ad.dual_level():
        d = forward_ad.make_dual(pb.tensor(X), pb.tensor(V))
        inner = jvp(lambda y: d * y * y, (X,), (V,))[1]
        assert_close(forward_ad.unpack_dual(inner).tangent, V * 2 * X * V)


def test_in_place_inside():
    def doubled(x):
        y = pb.zeros(3) + x
        y[0] *= 2
        y += x
        return y

    assert_close(jvp(doubled, (X,), (V,))[1], V + V * np.array([2, 1, 1]))


def test_nested_writes_in_place_give_tensors_for_tensors():
    def square(x):
        y = x * 1
        return y.mul_(x)

    x, one = pb.full((2,), 3.0), pb.ones(2)
    first, second = jvp(lambda x: jvp(square, (x,), (one,))[1], (x,), (one,))
    assert type(first) is type(second) is pb.Tensor
    assert (first.tolist(), second.tolist()) == ([6.0, 6.0], [2.0, 2.0])


def test_a_tensor_that_leaks_out_is_a_constant():
    leaked = []
    jvp(lambda x: leaked.append(x) or x, (X,), (V,))
    assert_close(jvp(lambda x: x * leaked[0], (X,), (V,))[1], V * X)


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (X, (V,), TypeError, r"primals to be a tuple of arguments, got ndarray; write \(x,\) for one"),
        ((X,), V, TypeError, "tangents to be a tuple of arguments"),
        ((), (), RuntimeError, "there are no primals"),
        ((X,), (V, V), RuntimeError, "primals and tangents have different structures"),
        ((X,), (V[:2],), RuntimeError, r"primal 0 has shape \(3,\) and dtype float64, its tangent \(2,\)"),
        ((X,), (V.astype("f4"),), RuntimeError, "its tangent .* float32; they must agree"),
        ((np.arange(3),), (np.arange(3),), TypeError, r"primal 0 has dtype int64.*\.astype\(float\)"),
        (("x",), ("x",), TypeError, "primal 0 is a str: pass an array, a floating-point number, or a dict"),
    ],
)
def test_what_does_not_fit_is_refused(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        jvp(np.sin, primals, tangents)


def test_a_function_must_return_arrays():
    with pytest.raises(TypeError, match="the function returned a str; return arrays, or use has_aux"):
        jvp(lambda x: "x", (X,), (V,))
    with pytest.raises(RuntimeError, match="has_aux=True the function must return a pair"):
        jvp(lambda x: x, (X,), (V,), has_aux=True)


def test_duals_made_inside_come_out_in_tensors():
    from pullback.autograd import forward_ad

    with forward_ad.dual_level():
        v = pb.tensor(V)
        for found in (
            grad(lambda x: (forward_ad.make_dual(x, v) ** 3).sum())(X),
            jvp(lambda x: (forward_ad.make_dual(x, v)) ** 3, (X,), (np.ones(3),))[1],
        ):
            assert isinstance(found, pb.Tensor)
            primal, tangent = forward_ad.unpack_dual(found)
            assert_close(primal, 3 * X**2)
            assert_close(tangent, 6 * X * V)


@pytest.mark.parametrize("requires", ["nothing", "the primal", "the direction"])
@pytest.mark.parametrize("push", ["jvp", "linearize", "vmap of linearize"])
def test_a_function_that_writes_into_its_tensor_leaves_the_direction_alone(push, requires):
    def f(a):
        a.neg_()
        return a * 1.5

    x = pb.tensor([1.0, 2.0], requires_grad=requires == "the primal") * 1.0
    v = pb.ones(2, requires_grad=requires == "the direction") * 1.0
    if push == "jvp":
        found = [pb.func.jvp(f, (x * 1.0,), (v,))[1] for _ in range(2)]
    else:
        _, jvp_fn = pb.func.linearize(f, x)
        if push == "linearize":
            found = [jvp_fn(v), jvp_fn(v)]
        else:
            found = [pb.func.vmap(jvp_fn)(pb.stack([v, v]))[0] for _ in range(2)]
    assert v.tolist() == [1.0, 1.0]
    assert [t.tolist() for t in found] == [[-1.5, -1.5]] * 2


@pytest.mark.parametrize(
    ("x", "v"),
    [
        (pb.ones(3), np.ones(3)),
        (np.ones(3), pb.ones(3)),
        (pb.ones(3, requires_grad=True) * 1, pb.ones(3)),
        (pb.ones(3), pb.ones(3)),
    ],
)
def test_draws_in_place_are_written_whatever_the_primal_is_made_of(x, v):
    def f(x, y):
        x.bernoulli_(0)
        return x, x * y

    values, tangents = pb.func.jvp(f, (x, np.ones(3)), (v, np.ones(3)))
    for found in (*values, *tangents):
        assert found.tolist() == [0.0, 0.0, 0.0]
