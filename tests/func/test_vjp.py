"""func.vjp: one run, many cotangents; what it takes and gives, what it keeps, what it refuses."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.extend import IndependentResultWarning
from pullback.func import grad, jvp, vjp

X = np.array([0.3, 0.8, 1.2])


def f(x):
    return x**3 * np.sin(x[::-1])


def jacobian_of(f, x, step=1e-6):
    """By central differences."""
    return np.stack([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))], axis=-1)


def test_the_product_is_that_of_the_jacobian():
    y, vjp_fn = vjp(f, X)
    np.testing.assert_allclose(y, f(X), rtol=1e-15)
    for v in np.eye(3):
        (g,) = vjp_fn(v)
        np.testing.assert_allclose(g, v @ jacobian_of(f, X), rtol=1e-8)


def test_the_function_runs_once_for_many_cotangents():
    runs = []
    _, vjp_fn = vjp(lambda x: runs.append(1) or np.exp(x), X)
    results = [vjp_fn(v)[0] for v in (np.ones(3), 2 * np.ones(3), np.ones(3))]
    assert runs == [1]
    np.testing.assert_array_equal(results[1], 2 * results[0])
    np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.parametrize(
    ("primal", "kind"),
    [
        (X, np.ndarray),
        (np.array(2.0), np.ndarray),
        (2.0, np.float64),
        (np.float32(2.0), np.float32),
        (pb.tensor(X), pb.Tensor),
        (pb.tensor(2.0), pb.Tensor),
    ],
)
def test_gradients_are_of_the_kind_of_the_primal(primal, kind):
    y, vjp_fn = vjp(lambda x: x * x, primal)
    (g,) = vjp_fn(pb.ones_like(y) if kind is pb.Tensor else np.ones_like(y))
    assert type(g) is kind
    np.testing.assert_allclose(np.asarray(g), 2 * np.asarray(primal))
    assert np.asarray(g).dtype == np.asarray(primal).dtype


def test_trees_of_arguments_and_results():
    def tree(a, b):
        return {"p": a["w"] * b[0], "q": [a["w"].sum(), (b[1] ** 2,)]}

    y, vjp_fn = vjp(tree, {"w": X}, (2.0, np.array([1.0, 4.0])))
    assert type(y["q"][1]) is tuple
    a, b = vjp_fn({"p": np.ones(3), "q": [1.0, (np.array([1.0, 0.0]),)]})
    np.testing.assert_allclose(a["w"], [3.0, 3.0, 3.0])
    np.testing.assert_allclose(b[0], X.sum())
    np.testing.assert_allclose(b[1], [2.0, 0.0])


def test_none_in_a_cotangent_stands_for_zeros():
    _, vjp_fn = vjp(lambda x: (x * 2, {"a": x * 3}), X)
    np.testing.assert_allclose(vjp_fn((None, {"a": np.ones(3)}))[0], 3 * np.ones(3))
    np.testing.assert_allclose(vjp_fn((np.ones(3), None))[0], 2 * np.ones(3))
    np.testing.assert_array_equal(vjp_fn(None)[0], np.zeros(3))


def test_two_results_that_are_one_array_add_up():
    _, vjp_fn = vjp(lambda x: (x, x), X)
    np.testing.assert_allclose(vjp_fn((np.ones(3), 2 * np.ones(3)))[0], 3 * np.ones(3))


@pytest.mark.parametrize("argnums", [1, "y", -1])
def test_argnums_choose_what_is_differentiated(argnums):
    _, vjp_fn = vjp(lambda x, y: x * y, X, 2.0, argnums=argnums)
    np.testing.assert_allclose(vjp_fn(np.ones(3)), X.sum())
    _, vjp_fn = vjp(lambda x, y: x * y, 3, 2.0, argnums=(argnums,))  # an int that nothing varies along
    assert [float(g) for g in vjp_fn(1.0)] == [3.0]


def test_aux_is_given_back_as_it_is():
    def g(x):
        y = np.sin(x)
        return y, {"a": np.cos(x), "b": [y], "c": "text", "d": 3}

    y, vjp_fn, aux = vjp(g, X, has_aux=True)
    assert (type(aux["a"]), type(aux["b"][0]), aux["c"], aux["d"]) == (np.ndarray, np.ndarray, "text", 3)
    aux["b"][0][...] = 0  # the same numbers as the result, which the graph may keep
    np.testing.assert_array_equal(y, np.sin(X))
    np.testing.assert_allclose(vjp_fn(np.ones(3))[0], np.cos(X))
    for output in ([X, X], (X, X, X), X):
        with pytest.raises(RuntimeError, match=r"^func\.vjp: .*with has_aux=True the function must return a pair"):
            vjp(lambda x, output=output: output, X, has_aux=True)


# -- memory ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function", [np.exp, np.tanh, np.sqrt, lambda x: x, lambda x: x.reshape(3, 1), lambda x: x[:2]]
)
def test_results_and_gradients_are_the_users_to_write_into(function):
    x = X.copy()
    y, vjp_fn = vjp(function, x)
    v = np.ones_like(y)
    (g,) = vjp_fn(v)
    expected = g.copy()
    apart = [x, y, g, v]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(apart) for b in apart[:i])
    for array in apart:
        array[...] = 7.0
    np.testing.assert_array_equal(vjp_fn(np.ones_like(y))[0], expected)


def test_a_tensor_written_into_between_the_runs_is_an_error():
    x = pb.tensor(X)
    _, vjp_fn = vjp(lambda x: x**2, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*add_"):
        vjp_fn(pb.ones(3))
    c = pb.tensor(X)
    _, vjp_fn = vjp(lambda x: x * c, pb.tensor(X))
    c.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*mul_"):
        vjp_fn(pb.ones(3))


def test_a_write_into_the_value_is_no_matter():
    y, vjp_fn = vjp(lambda x: x.exp(), pb.tensor(X))
    y.zero_()
    np.testing.assert_allclose(vjp_fn(pb.ones(3))[0].numpy(), np.exp(X))


def test_code_that_writes_in_place_is_pulled_through_again_and_again():
    def march(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, 3):
            y[i] = y[i - 1] * x[i] + np.sin(y[i - 1])
        y *= y
        return y

    _, vjp_fn = vjp(march, X)
    expected = np.ones(3) @ jacobian_of(march, X)
    for _ in range(3):
        np.testing.assert_allclose(vjp_fn(np.ones(3))[0], expected, rtol=1e-7)


def test_the_graph_lives_as_long_as_the_map():
    nodes = []

    def g(x):
        y = np.exp(x)
        nodes.append(weakref.ref(y.grad_fn))
        return y * y

    gc.collect()
    gc.disable()  # by reference counts alone
    try:
        _, vjp_fn = vjp(g, X)
        assert nodes[0]() is not None
        del vjp_fn
        assert nodes[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, 0)[::2].T.copy().T])
def test_primals_and_cotangents_of_any_layout(layout):
    a = layout(np.arange(1.0, 7.0).reshape(3, 2))
    _, vjp_fn = vjp(lambda a: np.cumsum(a * a, axis=0), a)
    v = layout(np.arange(6.0).reshape(3, 2))
    np.testing.assert_allclose(vjp_fn(v)[0], 2 * a * np.cumsum(v[::-1], axis=0)[::-1])


def test_dtypes_may_differ():
    _, vjp_fn = vjp(lambda x, y: x * y, np.ones(2, np.float32), np.ones(2))
    gx, gy = vjp_fn(np.ones(2))
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)
    _, vjp_fn = vjp(lambda x: x * 2, np.ones(2, np.float32))
    assert vjp_fn(np.ones(2))[0].dtype == np.float32  # a cotangent of the same kind is converted


def test_complex_gradients_are_conjugate():
    z = np.array([1 + 2j, 0.5 - 1j])
    _, vjp_fn = vjp(lambda z: z**3, z)
    np.testing.assert_allclose(vjp_fn(np.ones(2) * 1j)[0], np.conj(3 * z**2) * 1j)


# -- modes -------------------------------------------------------------------------------------------------------------
def test_no_grad_around_decides_what_is_recorded_further_out():
    x = pb.tensor(X, requires_grad=True)
    with pb.no_grad():
        y, vjp_fn = vjp(lambda x: x**2, x)
        assert not vjp_fn(pb.ones(3))[0].requires_grad
    assert not y.requires_grad
    y, vjp_fn = vjp(lambda x: x**2, x)
    assert y.requires_grad
    np.testing.assert_allclose(pb.autograd.grad(y.sum(), x)[0].numpy(), 2 * X)
    (g,) = vjp_fn(pb.ones(3))
    np.testing.assert_allclose(pb.autograd.grad(g.sum(), x)[0].numpy(), [2.0, 2.0, 2.0])


def test_what_the_function_captures_is_differentiated_further_out():
    c = pb.tensor(2.0, requires_grad=True)
    y, vjp_fn = vjp(lambda x: c * c * x, X)
    (g,) = vjp_fn(np.ones(3))
    np.testing.assert_allclose(pb.autograd.grad(g.sum(), c, retain_graph=True)[0].item(), 12.0)
    np.testing.assert_allclose(pb.autograd.grad(y.sum(), c)[0].item(), 4 * X.sum())


def test_a_map_may_be_used_inside_other_transforms():
    _, vjp_fn = vjp(f, X)
    J, w = jacobian_of(f, X), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(grad(lambda v: (vjp_fn(v)[0] ** 2).sum())(w), 2 * J @ J.T @ w, rtol=1e-7)
    np.testing.assert_allclose(jvp(lambda v: vjp_fn(v)[0], (w,), (X,))[1], X @ J, rtol=1e-7)
    np.testing.assert_allclose(vjp(lambda v: vjp_fn(v)[0], w)[1](X)[0], J @ X, rtol=1e-7)
    np.testing.assert_allclose(pb.func.vmap(lambda v: vjp_fn(v)[0])(np.eye(3)), J, rtol=1e-7)


def test_a_map_that_leaves_the_transform_in_which_it_was_made_is_constant_there():
    maps = []

    def g(x):
        maps.append(vjp(np.sin, x)[1])
        return x.sum()

    grad(g)(X)
    np.testing.assert_allclose(np.asarray(maps[0](np.ones(3))[0]), np.cos(X))


# -- what depends on nothing -------------------------------------------------------------------------------------------
def test_an_argument_that_nothing_depends_on_is_named_once():
    _, vjp_fn = vjp(lambda x, unused: x * 2, X, 1.0)
    with pytest.warns(IndependentResultWarning, match=r"func\.vjp: .*does not depend on 'unused'"):
        assert vjp_fn(np.ones(3))[1] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vjp_fn(np.ones(3))[1] == 0.0


def test_a_cotangent_of_zeros_for_the_only_result_that_depends_is_no_cause_for_a_warning():
    _, vjp_fn = vjp(lambda x, y: (x * 2, y * 3), X, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vjp_fn((np.ones(3), None))[1] == 0.0


@pytest.mark.parametrize("output", [lambda x: np.ones(2), lambda x: 5.0, lambda x: pb.ones(2)])
def test_a_constant_function_has_gradients_of_zeros(output):
    y, vjp_fn = vjp(output, X)
    with pytest.warns(IndependentResultWarning):
        np.testing.assert_array_equal(vjp_fn(y * 1.0)[0], np.zeros(3))


# -- errors ------------------------------------------------------------------------------------------------------------
COTANGENTS = {
    "another structure": ((np.ones(3), np.ones(3)), RuntimeError, "must be a dict with the keys"),
    "keys": ({"a": np.ones(3)}, RuntimeError, r"must be a dict with the keys \['a', 'b'\]"),
    "a shape": ({"a": np.ones(2), "b": 1.0}, RuntimeError, r"the cotangent\['a'\] has shape \(2,\).*\(3,\)"),
    "a number": ({"a": 1.0, "b": 1.0}, RuntimeError, r"the cotangent\['a'\] has shape \(\).*\(3,\)"),
    "complex": ({"a": np.ones(3) * 1j, "b": 1.0}, RuntimeError, r"\['a'\] has dtype complex128.*float64.*astype"),
    "a complex number": ({"a": None, "b": 1j}, RuntimeError, r"\['b'\] has dtype complex128"),
    "whole numbers": ({"a": np.ones(3, int), "b": 1.0}, RuntimeError, r"\['a'\] has dtype int64.*astype\(float64\)"),
    "text": ({"a": "abc", "b": 1.0}, TypeError, r"\['a'\] is a str"),
}


@pytest.mark.parametrize(("cotangent", "error", "said"), COTANGENTS.values(), ids=COTANGENTS)
def test_a_cotangent_that_does_not_fit_is_named_by_its_place(cotangent, error, said):
    _, vjp_fn = vjp(lambda x: {"a": x * 2, "b": x.sum()}, X)
    with pytest.raises(error, match=rf"^vjp_fn: .*{said}"):
        vjp_fn(cotangent)


@pytest.mark.parametrize("output", [None, (), [], {}])
def test_a_function_that_returns_nothing_is_asked_for_its_return(output):
    with pytest.raises(RuntimeError, match=r"^func\.vjp: .*non-empty output.*Is a `return` missing\?"):
        vjp(lambda x: output, X)


def test_what_is_no_array_is_refused_with_its_place():
    with pytest.raises(
        TypeError, match=r"^func\.vjp: .*the function returned a str at \['a'\]; return arrays, or use has_aux"
    ):
        vjp(lambda x: {"a": "text", "b": x}, X)


CALLS = {
    "no function": (lambda: vjp(3, X), TypeError, r"must be callable, got int\. Write func\.vjp\(f, x\)"),
    "no primals": (lambda: vjp(np.sin), TypeError, r"there are no primals"),
    "an int": (lambda: vjp(np.sin, 1), TypeError, r"an int: pass a floating-point number \(2\.0 for 2\)"),
    "no such argument": (
        lambda: vjp(np.sin, X, argnums=1),
        IndexError,
        "argnums names argument 1, but only 1 positional",
    ),
    "no such name": (lambda: vjp(lambda x: x, X, argnums="y"), TypeError, r"the argument 'y'.*\(it gives 'x'\)"),
    "nothing": (lambda: vjp(lambda x: x, X, argnums=()), ValueError, "argnums must be non-empty, got an empty tuple"),
    "twice": (lambda: vjp(lambda x: x, X, argnums=(0, -1)), ValueError, "names an argument twice"),
    "by two names": (lambda: vjp(lambda x: x, X, argnums=(0, "x")), ValueError, "names an argument twice"),
}


@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_wrong_calls(call, error, said):
    with pytest.raises(error, match=rf"^func\.vjp: .*{said}"):
        call()


def test_the_map_says_of_what_it_is():
    assert repr(vjp(np.sin, X)[1]) == "<vjp_fn of sin>"


def test_linear_maps_name_themselves_where_they_are_called_wrongly():
    x = np.ones(2)
    for given, named in (((x, x), {}), ((), {}), ((x,), {"retain": True})):
        with pytest.raises(TypeError, match=r"^vjp_fn takes one cotangent.*vjp_fn\(\(a, b\)\)"):
            pb.func.vjp(np.sin, x)[1](*given, **named)
    with pytest.raises(TypeError, match=r"^jvp_fn takes the tangents by position, but got v by name"):
        pb.func.linearize(np.sin, x)[1](v=x)


def test_the_gradient_has_the_face_of_the_primal_whatever_the_cotangent_has():
    for primal in (np.ones(2), pb.ones(2)):
        vjp_fn = pb.func.vjp(pb.sin, primal)[1]
        for cotangent in (np.ones(2), pb.ones(2)):
            assert type(vjp_fn(cotangent)[0]) is type(primal)
