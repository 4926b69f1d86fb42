"""custom_vjp and custom_jvp: right in every transform and every mixture of these, or refused by name."""

import functools
import math
import pickle
import weakref

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.special

import pullback as pb
from pullback.autograd import forward_ad, gradcheck, gradgradcheck
from pullback.core.array_face import Array, Scalar
from pullback.func import grad, hessian, jvp, vmap
from pullback.utils.checkpoint import checkpoint
from tests.func.test_nesting import INNER, OUTER, V, X, value
from tests.func.test_nesting import f as nested_f

A = np.array([[2.0, 1.0], [0.5, 4.0]])
B = np.array([1.0, 2.0])


@pb.custom_vjp
def solve(a, b):
    assert type(a) is np.ndarray, type(a)
    assert type(b) is np.ndarray, type(b)
    return scipy.linalg.solve(a, b)


@solve.defvjp
def solve_vjp(cotangent, x, a, b):
    y = solve(a.T, cotangent)
    return -np.outer(y, x), y


@pb.custom_jvp
def scaled(x):
    assert type(x) in (np.ndarray, np.float64, np.float32, float), type(x)
    return scipy.special.erfcx(x)


@scaled.defjvp
def scaled_jvp(tangents, y, x):
    return tangents[0] * (2 * x * y - 2 / np.sqrt(np.pi))


waves = pb.custom_vjp(lambda x: (np.sin(x), np.cos(x)), vjp=lambda g, y, x: g[0] * y[1] - g[1] * y[0])


def inverse_forward(a):
    inverse = scipy.linalg.inv(a) if type(a) is np.ndarray else np.linalg.inv(a)
    return inverse, (inverse, "aside")


inverse = pb.custom_vjp(scipy.linalg.inv)
inverse.defvjp(inverse_forward, lambda kept, g: -kept[0].T @ g @ kept[0].T)

CASES = {
    "vjp": (solve, (A, B)),
    "jvp": (scaled, (np.array([0.3, -0.7]),)),
    "two results": (waves, (np.array([0.3, -0.7]),)),
    "one of two results": (lambda x: waves(x)[1], (np.array([0.3, -0.7]),)),
    "forward and backward": (inverse, (A,)),
    "no dimension": (scaled, (np.array(0.3),)),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_agree_with_differences(case):
    function, arrays = CASES[case]
    inputs = [pb.tensor(x, requires_grad=True) for x in arrays]
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs, check_fwd_over_rev=True)


def test_without_tensors_it_is_the_function_itself():
    kept = []

    @pb.custom_vjp
    def f(x, *, scale=1):
        kept[:] = [x, scale]
        x *= scale
        return kept

    x = np.ones(2)
    assert f(x, scale=3) is kept
    assert kept[0] is x
    assert x.tolist() == [3, 3]
    assert f.__name__ == "f"
    assert f.__wrapped__([1], scale=2) is kept


# -- every way to differentiate inside every other -----------------------------------------------------------------
def product(x):
    return x**3 * np.sin(x[::-1])


def product_vjp(g, y, x):
    return g * 3 * x**2 * np.sin(x[::-1]) + (g * x**3 * np.cos(x[::-1]))[::-1]


def product_jvp(tangents, y, x):
    (t,) = tangents
    return t * 3 * x**2 * np.sin(x[::-1]) + x**3 * np.cos(x[::-1]) * t[::-1]


RULES = {
    "vjp": {"vjp": product_vjp},
    "jvp": {"jvp": product_jvp},
    "both": {"vjp": product_vjp, "jvp": product_jvp},
}


NESTED = [name for name in OUTER if not name.startswith("autograd")]


@pytest.mark.parametrize("outer", NESTED)
@pytest.mark.parametrize("inner", ["func.grad", "func.jvp", "forward_ad", "hessian", "vjp"])
@pytest.mark.parametrize("rule", RULES)
def test_rules_in_every_transform_inside_every_other(rule, inner, outer):
    custom = pb.custom_vjp(product, **RULES[rule])

    def f(x, scale=1.0):
        return custom(x).sum() * scale

    found, expected = (
        OUTER[outer](lambda x, g=g: INNER[inner](g, x), pb.tensor(X, requires_grad=True)) for g in (f, nested_f)
    )
    np.testing.assert_allclose(value(found), value(expected))
    assert type(found) is type(expected)
    if (outer, inner) != ("func.jvp", "forward_ad"):  # where the tensors are left that the transform is to see
        np.testing.assert_allclose(value(OUTER[outer](lambda x: INNER[inner](f, x), X)), value(expected))


@pytest.mark.parametrize("rule", RULES)
def test_third_derivatives(rule):
    custom = pb.custom_vjp(product, **RULES[rule])
    along = lambda f: lambda x: (grad(f)(x) * V).sum()  # noqa: E731
    result = along(along(along(lambda x: custom(x).sum())))(X)
    np.testing.assert_allclose(result, along(along(along(nested_f)))(X))


@pytest.mark.parametrize("rule", [{"vjp": lambda g, y, x: g}, {"jvp": lambda t, y, x: t[0]}])
def test_the_rule_serves_all_levels_where_it_is_not_the_functions_derivative(rule):
    step = pb.custom_vjp(np.round, **rule)
    second = grad(grad(lambda x: step(x) ** 3))
    assert second(2.3) == 12.0
    assert jvp(grad(lambda x: step(x) ** 3), (2.3,), (1.0,))[1] == 12.0
    assert grad(lambda x: jvp(lambda y: step(y) ** 3, (x,), (1.0,))[1])(2.3) == 12.0
    x = pb.tensor(2.3, requires_grad=True)
    (once,) = pb.autograd.grad(step(x) ** 3, x, create_graph=True)
    assert pb.autograd.grad(once, x)[0] == 12.0


def test_arguments_of_several_levels():
    cube = pb.custom_vjp(lambda a, b: a * b * b, vjp=lambda g, y, a, b: (g * b * b, 2 * g * a * b))
    assert np.isclose(grad(lambda a: grad(lambda b: cube(a, b))(3.0) * a)(2.0), 24)  # of 2 a b a
    assert np.isclose(grad(lambda a: grad(lambda b: cube(b, a))(3.0) * a)(2.0), 12)  # of a**3
    assert np.isclose(jvp(lambda a: jvp(lambda b: cube(b, b), (a,), (1.0,))[1] * a, (2.0,), (1.0,))[1], 72 - 36)


# -- what users' functions get, and what callers get back -----------------------------------------------------------
def test_functions_and_rules_get_plain_arrays_and_numbers_and_may_write_into_none():
    seen = []

    def note(*given):
        for x in given:
            seen.append(type(x))
            if type(x) is np.ndarray:
                with pytest.raises(ValueError, match="read-only"):
                    x[...] = 0

    @functools.partial(pb.custom_vjp, vjp=lambda g, y, x, s: note(g, y, x, s) or (g * s, (g * x).sum()))
    def f(x, s):
        note(x, s)
        return x * s

    x, s = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(3.0, requires_grad=True)
    f(x, s).sum().backward()
    assert seen == [np.ndarray, np.float64, np.ndarray, np.ndarray, np.ndarray, np.float64]
    assert (x.grad.tolist(), s.grad.item()) == ([3, 3], 3)
    seen.clear()
    grad(lambda x: f(x, 3.0).sum())(B)
    assert seen == [np.ndarray, float, np.ndarray, np.ndarray, np.ndarray, float]


def test_rules_that_are_differentiated_get_arrays_whatever_the_caller_has():
    seen = []

    def rule(g, y, x):
        seen.extend([type(g), type(y), type(x)])
        return 2 * g * x

    square = pb.custom_vjp(lambda x: x**2, vjp=rule)
    x = pb.tensor([1.0, 3.0], requires_grad=True)
    (once,) = pb.autograd.grad(square(x).sum(), x, create_graph=True)
    assert seen == [Array, Array, Array]
    assert type(once) is pb.Tensor
    assert pb.autograd.grad(once.sum(), x)[0].tolist() == [2, 2]


def test_what_is_made_like_a_constant_may_hold_what_is_differentiated():
    def rule(g, y, x, w):
        out = np.zeros_like(w)
        for i in range(2):
            out[i] = g[i] * w[i] * 2 * x[i]
        return out, None

    f = pb.custom_vjp(lambda x, w: w * x**2, vjp=rule)
    result = grad(lambda x: (grad(lambda x: f(x, B).sum())(x) * V).sum())(X)
    np.testing.assert_allclose(result, 2 * B * V)


def test_results_wear_the_face_of_the_arguments():
    kinds = []
    f = pb.custom_vjp(
        lambda x: {"array": x * 2, "number": x.sum(), "float": float(x.sum()), "plain": np.array(1.0), "n": 3},
        vjp=lambda g, y, x: 2 * g["array"] + g["number"] + g["float"],
    )

    def g(x):
        found = f(x)
        kinds[:] = [type(found[key]) for key in ("array", "number", "float", "plain", "n")]
        return found["array"].sum() + found["number"] * 3 + found["float"]

    assert grad(g)(B).tolist() == [6, 6]
    assert kinds == [Array, Scalar, Scalar, Array, int]
    assert grad(g)(pb.tensor(B)).tolist() == [6, 6]
    assert {*kinds[:4]} == {pb.Tensor}
    assert kinds[4] is int


def test_transforms_of_tensors_give_tensors():
    f = pb.custom_vjp(np.sin, vjp=lambda g, y, x: g * np.cos(x))
    x, v = pb.tensor(B), pb.ones_like(pb.tensor(B))
    value, pull = pb.func.vjp(f, x)
    found = [*pb.func.jvp(f, (x,), (v,)), value, *pull(v), pb.func.jacfwd(f)(x), pb.func.jacrev(f)(x)]
    found += pb.func.value_and_grad(lambda x: f(x).sum())(x)
    assert {*map(type, found)} == {pb.Tensor}
    found = [*pb.func.jvp(f, (B,), (B,)), *pb.func.value_and_grad(lambda x: f(x).sum())(B), pb.func.jacrev(f)(B)]
    assert not any(isinstance(y, pb.Tensor) for y in found)


@pytest.mark.parametrize(("shape", "dtype"), [((), np.float64), ((2,), np.float32), ((0, 3), np.float64)])
def test_gradients_have_the_dtype_of_the_argument(shape, dtype):
    total = pb.custom_vjp(lambda x: np.asarray(x, float).sum(), vjp=lambda g, y, x: np.full(np.shape(x), g))
    x = pb.ones(shape, dtype=dtype, requires_grad=True)
    total(x).backward()
    assert (x.grad.shape, x.grad.dtype) == (shape, dtype)
    assert (x.grad == 1).all()


def test_trees_keywords_and_arguments_without_gradient():
    @pb.custom_vjp
    def layer(kind, params, x, scale=2.0, *, offset=0.0):
        assert kind == "linear"
        return {"out": params["w"] @ x * scale + offset, "count": 3, "pair": [params["b"][0], (x.sum(), None)]}

    @layer.defvjp
    def layer_vjp(g, y, kind, params, x, scale=2.0, *, offset=0.0):
        assert g["count"] is None
        assert (y["count"], offset) == (3, 1.0)
        w = np.outer(g["out"], x) * scale
        return None, {"w": w, "b": [g["pair"][0]]}, params["w"].T @ g["out"] * scale + g["pair"][1][0], None

    params = {"w": np.arange(6.0).reshape(2, 3), "b": [np.array([5.0])]}

    def loss(params, x, **how):
        found = layer("linear", params, x, **how, offset=1.0)
        return (found["out"] ** 2).sum() + 3 * found["pair"][0].sum() + found["pair"][1][0]

    def plain(params, x, scale=2.0):
        return ((params["w"] @ x * scale + 1) ** 2).sum() + 3 * params["b"][0].sum() + x.sum()

    x = np.array([1.0, -1.0, 2.0])
    for how in ({}, {"scale": 0.5}):
        found, expected = (grad(h, argnums=(0, 1))(params, x, **how) for h in (loss, plain))
        np.testing.assert_allclose(found[0]["w"], expected[0]["w"])
        np.testing.assert_allclose(found[0]["b"][0], expected[0]["b"][0])
        np.testing.assert_allclose(found[1], expected[1])
    swapped = grad(lambda x: layer(x=x, params=params, kind="linear", offset=1.0)["out"].sum())(x)
    np.testing.assert_allclose(swapped, params["w"].sum(axis=0) * 2)
    with pytest.raises(
        RuntimeError, match=r"layer: the argument 'offset', given by keyword only, is being diff.*detach"
    ):
        grad(lambda o: layer("linear", params, x, offset=o)["out"].sum())(1.0)
    with pytest.raises(TypeError, match=r"layer: missing a required argument: 'params'; it is layer\(kind, params"):
        layer("linear", x=pb.ones(1))


def test_defaults_are_passed_only_where_an_argument_stands_behind_them():
    seen = []

    def rule(g, y, x, p=2, q=3.0):
        seen.append((p, q))
        return g * p * q, None, g * p * x

    f = pb.custom_vjp(lambda x, p=2, q=3.0: p * x * q, vjp=rule)
    assert grad(f)(1.0) == 6
    assert grad(lambda q: f(1.0, q=q))(1.0) == 2
    assert grad(lambda x: f(x, 7))(1.0) == 21
    assert [(p, float(q)) for p, q in seen] == [(2, 3), (2, 1), (7, 3)]


def test_ufuncs_library_functions_methods_and_any_number_of_arguments():
    bessel = pb.custom_vjp(scipy.special.jv, vjp=lambda g, y, n, x: (None, g * scipy.special.jvp(n, x)))
    assert np.isclose(grad(lambda x: bessel(2, x))(1.5), scipy.special.jvp(2, 1.5))

    def rule(g, x, a, b, lower=False):
        y = scipy.linalg.solve(a.T, g, lower=not lower)
        return -np.outer(y, x), y

    wrapped = pb.custom_vjp(scipy.linalg.solve, vjp=rule)
    assert gradcheck(wrapped, (pb.tensor(A, requires_grad=True), pb.tensor(B, requires_grad=True)))

    class Model:
        def __init__(self, k):
            self.k = k

        @pb.custom_vjp
        def energy(self, x):
            return self.k * x**2

        @energy.defvjp
        def energy_vjp(g, y, self, x):
            return None, g * 2 * self.k * x

    assert grad(Model(3.0).energy)(2.0) == 12
    assert grad(grad(Model(3.0).energy))(2.0) == 6
    total = pb.custom_vjp(lambda *xs: sum(xs), vjp=lambda g, y, *xs: [g] * len(xs))
    assert grad(lambda x: total(x, 2 * x, 1.0))(1.0) == 3


def test_complex_numbers_follow_the_convention_of_operators():
    z = pb.tensor([1 + 2j, 0.3 - 1j], requires_grad=True)
    square = pb.custom_vjp(lambda z: z * z, vjp=lambda g, y, z: g * 2 * np.conj(z))
    power = pb.custom_jvp(lambda z: np.abs(z) ** 2, jvp=lambda t, y, z: 2 * (np.conj(z) * t[0]).real)
    for function in (square, power):
        assert gradcheck(function, (z,), check_forward_ad=True)
        assert gradgradcheck(function, (z,))


def test_gradients_of_broadcast_arguments_are_summed():
    mul = pb.custom_vjp(lambda a, b: a * b, vjp=lambda g, y, a, b: (g * b, g * a))
    inputs = [pb.tensor(np.arange(1.0, 4.0), requires_grad=True), pb.tensor(np.ones((2, 1)) * 3, requires_grad=True)]
    assert gradcheck(mul, inputs, check_forward_ad=True)
    assert gradgradcheck(mul, inputs)


# -- compiled code --------------------------------------------------------------------------------------------------
@pb.custom_vjp
def expm(a):
    return scipy.linalg.expm(a)


@expm.defvjp
def expm_vjp(g, y, a):
    return scipy.linalg.expm_frechet(a.T, g, compute_expm=False)


def by_number(convert):
    return pb.custom_vjp(lambda x: np.sin(x), vjp=lambda g, y, x: g * math.cos(convert(x)))


LEAVING = {
    "scipy": (expm, A, "scipy.linalg.expm_frechet"),
    "float": (by_number(float), 0.5, r"float"),
    "math": (by_number(lambda x: x), 0.5, r"math.cos|float\(\)"),
    "item": (by_number(lambda x: x.item()), 0.5, r"item\(\) at .*test_custom_rules.py|math.cos|float\(\)"),
    "tolist": (by_number(lambda x: x.tolist()), 0.5, r"tolist\(\) at .*test_custom_rules.py|math.cos|float\(\)"),
}


@pytest.mark.filterwarnings("ignore:.*out of the graph")
@pytest.mark.parametrize("case", LEAVING)
def test_a_vjp_that_leaves_for_compiled_code_has_no_second_derivative_and_says_so(case):
    function, at, culprit = LEAVING[case]
    f = lambda x: function(x).sum()  # noqa: E731
    x = pb.tensor(at, requires_grad=True)
    assert gradcheck(function, (x,))
    names = (
        rf"(?s)^(func.jvp.*)?{function.__name__}: its vjp cannot be differentiated.*({culprit}).*pullback.custom_vjp"
    )
    y = f(x)
    for differentiate in (
        lambda: grad(lambda x: grad(f)(x).sum())(at),
        lambda: jvp(grad(f), (at,), (at,)),
        lambda: grad(lambda x: pb.autograd.grad(f(x), x, create_graph=True)[0].sum())(at),
        lambda: pb.autograd.grad(y, x, create_graph=True),
    ):
        with pytest.raises(RuntimeError, match=names):
            differentiate()


def test_forward_mode_by_a_vjp_takes_compiled_code_that_meets_no_cotangent():
    f = pb.custom_vjp(lambda x: scipy.special.erfcx(x), vjp=lambda g, y, x: g * scipy.special.erfcx(x) * x)
    assert np.isclose(jvp(f, (0.5,), (2.0,))[1], scipy.special.erfcx(0.5))
    with pytest.raises(RuntimeError, match=r"expm: its vjp cannot be diff.*there is no jvp \(@expm.defjvp\), so it is"):
        jvp(expm, (A,), (A,))
    both = pb.custom_vjp(scipy.linalg.expm, expm_vjp, jvp=lambda t, y, a: scipy.linalg.expm_frechet(a, t[0])[1])
    expected = (scipy.linalg.expm(A * (1 + 1e-6)) - scipy.linalg.expm(A * (1 - 1e-6))) / 2e-6
    np.testing.assert_allclose(jvp(both, (A,), (A,))[1], expected, rtol=1e-6)
    with pytest.raises(RuntimeError, match=r"expm: its jvp cannot be differentiated.*itself being differentiated"):
        grad(lambda a: jvp(both, (a,), (A,))[1].sum())(A)


def test_other_errors_of_rules_keep_their_type():
    def rule(g, y, x):
        raise ValueError("no such slope")

    f = pb.custom_vjp(lambda x: x, vjp=rule)
    with pytest.raises(ValueError, match="no such slope") as caught:
        grad(grad(f))(1.0)
    assert any("vjp of <lambda>, which runs on Tensors" in note for note in caught.value.__notes__)


# -- what does not fit is refused -----------------------------------------------------------------------------------
WRONG = {
    "one": (lambda g, y, a, b: g * b, r"mul: its vjp returned .*expected a tuple of 2.*\(a, b\).*got an ndarray"),
    "three": (lambda g, y, a, b: (g, g, g), r"mul: its vjp returned .*expected a tuple of 2.*got 3 in a tuple"),
    "none": (lambda g, y, a, b: None, r"mul: its vjp returned .*expected a tuple of 2.*got a NoneType"),
    "shape": (lambda g, y, a, b: (np.ones(4), g), r"gradient of a must have shape \(3,\), got shape \(4,\)"),
    "small": (lambda g, y, a, b: (g, 1.0), r"gradient of b must have shape \(2, 3\), got shape \(\)"),
    "complex": (lambda g, y, a, b: (g * 1j, g), r"gradient of a must be real \(float64\), got.*complex128.*real part"),
    "objects": (lambda g, y, a, b: (np.array([None] * 3), g), r"gradient of a must be of dtype float64, got dtype obj"),
    "text": (
        lambda g, y, a, b: ("x", g),
        r"gradient of a must be an array of shape \(3,\) and dtype float64, got a str",
    ),
    "list": (lambda g, y, a, b: ([1.0, 2.0, 3.0], g), r"gradient of a must be an array of shape \(3,\).*got a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_gradient_that_does_not_fit_is_refused(case):
    rule, message = WRONG[case]

    @pb.custom_vjp(vjp=rule)
    def mul(a, b):
        return a * b

    with pytest.raises(RuntimeError, match=message):
        grad(lambda a, b: mul(a, b).sum(), argnums=(0, 1))(np.ones(3), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        ({"w": 1.0}, r"of p must be a dict with the keys \['w', 'b'\], got one with \['w'\]"),
        ([1.0, 2.0], r"of p must be a dict with the keys \['w', 'b'\], got a list"),
        ({"w": 1.0, "b": 2.0}, r"of p\['b'\] must be a list of 2, got a float"),
        ({"w": 1.0, "b": [1.0]}, r"of p\['b'\] must be a list of 2, got one of 1"),
        ({"w": 1.0, "b": [1.0, "x"]}, r"of p\['b'\]\[1\] must be an array of shape \(\) and dtype float64, got a str"),
    ],
)
def test_a_gradient_of_another_structure_is_refused(gradient, message):
    @pb.custom_vjp(vjp=lambda g, y, p: gradient)
    def f(p):
        return p["w"] * p["b"][1]

    with pytest.raises(RuntimeError, match=f"the vjp of f: the gradient {message}"):
        grad(f)({"w": 1.0, "b": [2.0, 3.0]})


@pytest.mark.parametrize(
    ("tangent", "message"),
    [
        (np.ones(3), r"the jvp of f: the tangent of the result\[0\] must have shape \(2,\), got shape \(3,\)"),
        (np.ones(2) * 1j, r"the jvp of f: the tangent of the result\[0\] must be real"),
        ("x", r"the jvp of f: the tangent of the result\[0\] must be an array"),
    ],
)
def test_a_tangent_that_does_not_fit_is_refused(tangent, message):
    @pb.custom_jvp(jvp=lambda t, y, x: (tangent, None))
    def f(x):
        return x * 2, x

    with pytest.raises((RuntimeError, TypeError), match=message):
        jvp(f, (B,), (B,))


def test_none_is_no_gradient_and_func_grad_warns():
    f = pb.custom_vjp(lambda a, b: a * b, vjp=lambda g, y, a, b: (None, g * a))
    a, b = pb.ones(2, requires_grad=True), pb.ones(2, requires_grad=True)
    f(a, b).sum().backward()
    assert a.grad is None
    assert b.grad.tolist() == [1, 1]
    here = rf"the vjp of <lambda> \(.*test_custom_rules.py:{f._rule.vjp.__code__.co_firstlineno}\) returned None where"
    with pytest.warns(pb.extend.IndependentResultWarning, match=here):
        assert grad(lambda a: f(a, B).sum())(B).tolist() == [0, 0]


def test_a_function_without_rule_is_refused_where_it_is_differentiated():
    @pb.custom_vjp
    def f(x):
        return x + 1

    assert f(1.0) == 2
    assert f(pb.ones(1)).tolist() == [2]
    with pb.no_grad():
        assert f(pb.ones(1, requires_grad=True)).tolist() == [2]
    for differentiate in (grad(f), lambda x: jvp(f, (x,), (x,)), lambda x: f(pb.tensor(x, requires_grad=True))):
        with pytest.raises(RuntimeError, match=r"f has no derivative yet.*@f\.defvjp.*@f\.defjvp"):
            differentiate(1.0)


def captured(w):
    return pb.custom_vjp(lambda x: x * w, vjp=lambda g, y, x: g, jvp=lambda t, y, x: t[0])


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda: captured(pb.tensor(2.0, requires_grad=True))(pb.tensor(1.0, requires_grad=True)),
        lambda: grad(lambda w: captured(w)(w * 1))(1.0),
        lambda: grad(lambda w: grad(captured(w))(2.0))(1.0),
        lambda: grad(lambda w: grad(captured(w))(w * 1))(1.0),
        lambda: grad(lambda w: grad(lambda v: captured(v)(v * w))(2.0))(1.0),
        lambda: grad(lambda w: grad(lambda v: grad(captured(v))(w))(w))(1.0),
        lambda: jvp(lambda w: captured(w)(w), (1.0,), (1.0,)),
        lambda: jvp(lambda w: grad(captured(w))(2.0), (1.0,), (1.0,)),
    ],
)
def test_a_captured_variable_that_is_differentiated_is_refused(differentiate):
    with pytest.raises(RuntimeError, match=r"result depends on a Tensor that is being diff.* Pass it as an argument"):
        differentiate()


def test_a_function_may_compute_with_operators_on_what_it_gets():
    f = pb.custom_vjp(lambda x: pb.sin(x), vjp=lambda g, y, x: pb.cos(x) * g)
    assert np.isclose(grad(f)(0.5), np.cos(0.5))
    assert np.isclose(grad(grad(f))(0.5), -np.sin(0.5))


@pytest.mark.parametrize("into", ["argument", "cotangent", "result"])
def test_writing_into_what_others_need_is_refused_and_explained(into):
    def rule(g, y, x):
        {"cotangent": g, "result": y}[into][...] *= 2
        return g

    @pb.custom_vjp(vjp=rule)
    def f(x):
        if into == "argument":
            x += 1
        return x * 2

    with pytest.raises(ValueError, match="read-only") as caught:
        grad(lambda x: f(x).sum())(B)
    assert any("The arguments of f and of its rules are read-only" in note for note in caught.value.__notes__)


# -- memory, versions, hooks ----------------------------------------------------------------------------------------
def test_results_and_gradients_share_memory_with_nobody():
    same = pb.custom_vjp(lambda x: (x, x[::-1], x), vjp=lambda g, y, x: g[0] + g[1][::-1] + g[2])
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pb.no_grad():
        results = same(x)
        for y in results:
            y.mul_(5)
    assert x.tolist() == [1, 2]
    assert [y.tolist() for y in results] == [[5, 10], [10, 5], [5, 10]]
    sum(same(x)).sum().backward()
    assert x.grad.tolist() == [3, 3]

    both = pb.custom_vjp(lambda a, b: a + b, vjp=lambda g, y, a, b: (g, g))
    a, b, start = pb.ones(2, requires_grad=True), pb.ones(2, requires_grad=True), pb.ones(2)
    both(a, b).backward(start)
    a.grad.add_(1)
    assert (b.grad.tolist(), start.tolist()) == ([1, 1], [1, 1])

    back = pb.custom_vjp(lambda x: x * 1, vjp=lambda g, y, x: x)  # its argument as the gradient
    a.grad = None
    back(a).sum().backward()
    a.grad.add_(1)
    assert a.tolist() == [1, 1]


def test_writes_between_forward_and_backward_are_noticed():
    def differentiated(function, write):
        x = pb.tensor(A, requires_grad=True)
        a = x * 1
        y = function(a)
        write(a, y)
        (g,) = pb.autograd.grad(y.sum(), x)
        return g

    for write in (lambda a, y: a.add_(1), lambda a, y: y.mul_(2)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            differentiated(lambda a: solve(a, B), write)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        differentiated(inverse, lambda a, y: y.mul_(2))  # the result is among the residuals
    kept = differentiated(inverse, lambda a, y: a.add_(1))  # the argument is not
    np.testing.assert_allclose(kept.numpy(), differentiated(inverse, lambda a, y: None).numpy())


def test_forward_runs_once_and_again_only_for_a_second_derivative():
    runs = []

    def forward(x):
        runs.append(type(x))
        return np.sin(x), np.cos(x)

    f = pb.custom_vjp(np.sin)
    f.defvjp(forward, lambda slope, g: g * slope)
    x = pb.tensor([0.5], requires_grad=True)
    y = f(x)
    y.sum().backward(retain_graph=True)
    assert runs == [np.ndarray]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    assert np.isclose(grad(grad(f))(0.5), -np.sin(0.5))
    assert gradgradcheck(f, (x,))  # of one level, where the residuals are at hand
    compiled = pb.custom_vjp(scipy.special.erfcx)
    compiled.defvjp(lambda x: (math.erfc(x), x), lambda x, g: g * x)
    with pytest.raises(RuntimeError, match="erfcx: its forward cannot be differentiated"):
        grad(grad(compiled))(0.5)
    compiled.defvjp(lambda x: x, lambda x, g: g)
    with pytest.raises(RuntimeError, match=r"erfcx: its forward must return a pair \(result, residuals\), got a"):
        grad(compiled)(0.5)


def test_constant_arguments_that_change_later_do_not_change_the_gradient():
    pick = pb.custom_vjp(
        lambda x, i: x[i], vjp=lambda g, y, x, i: (np.bincount(i, g, len(x)) if type(g) is np.ndarray else 0, None)
    )
    x, index = pb.ones(3, requires_grad=True), np.array([0, 0])
    y = pick(x, index)
    index[:] = 2
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 0]


def test_reference_counting_frees_a_graph_with_rules():
    for function in (solve, inverse, waves, scaled):
        a = pb.tensor(A, requires_grad=True)
        results = function(a, B) if function is solve else function(a)
        y = results[0] if isinstance(results, tuple) else results
        node = weakref.ref(y.grad_fn)
        del results, y
        assert node() is None, function


def test_arguments_are_let_go_of_after_backward():
    x = pb.tensor(A, requires_grad=True)
    a = x * 1
    y = solve(a, B)
    argument = weakref.ref(a)
    del a
    y.sum().backward()
    assert argument() is None


def test_hooks_on_saved_tensors_and_checkpoints():
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    expected = pb.autograd.grad((waves(x)[0] * waves(x)[1]).sum(), x)[0]
    for around in (
        lambda f: pb.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), pb.from_numpy)(f)(x),
        lambda f: checkpoint(f, x, use_reentrant=True),
        lambda f: checkpoint(f, x, use_reentrant=False),
    ):
        x.grad = None
        around(lambda x: (waves(x)[0] * waves(x)[1]).sum()).backward()
        assert np.allclose(x.grad, expected)


def test_names_and_pickles():
    assert solve(pb.tensor(A, requires_grad=True), B).grad_fn.name() == "solveBackward"
    assert pickle.loads(pickle.dumps(solve)) is solve
    assert repr(solve) == "<solve with custom rules>"
    with pytest.raises(TypeError, match=r"vjp must be callable, got a? ?str"):
        pb.custom_vjp(np.sin, "cos")
    with pytest.raises(TypeError, match="the function must be callable, got int"):
        pb.custom_jvp(3)


# -- memory that a function or a rule uses again ----------------------------------------------------------------------
WORKSPACE, POINT = np.zeros(3), np.array([1.0, 0.5, -0.3])


def into_workspace(x):
    return np.exp(x, out=WORKSPACE)


def result_is_workspace():
    return pb.custom_vjp(into_workspace, lambda g, y, x: g * y)


def part_is_workspace():
    f = pb.custom_vjp(lambda x: [into_workspace(x)[:], {"rest": 0.0}], lambda g, y, x: g[0] * y[0])
    return lambda x: f(x)[0]


def residual_is_workspace():
    f = pb.custom_vjp(into_workspace)
    f.defvjp(lambda x: (np.exp(x), (into_workspace(x), 1.0)), lambda kept, g: g * kept[0])
    return f


def gradient_is_workspace():
    return pb.custom_vjp(np.exp, lambda g, y, x: np.multiply(g, y, out=WORKSPACE) if type(g) is np.ndarray else g * y)


def tangent_is_workspace():
    return pb.custom_jvp(
        np.exp, lambda t, y, x: np.multiply(t[0], y, out=WORKSPACE) if type(t[0]) is np.ndarray else t[0] * y
    )


@pytest.mark.parametrize(
    "rule",
    [result_is_workspace, part_is_workspace, residual_is_workspace, gradient_is_workspace, tangent_is_workspace],
)
def test_a_workspace_that_is_used_again(rule):
    f = rule()

    def of_two(a, b):
        return np.sum(f(a) + 5 * f(2 * b)) + np.sum(f(0.5 * a) * f(b))

    def plain(a, b):
        return np.sum(np.exp(a) + 5 * np.exp(2 * b)) + np.sum(np.exp(0.5 * a) * np.exp(b))

    arguments = POINT, POINT[::-1].copy()
    for found, expected in zip(grad(of_two, (0, 1))(*arguments), grad(plain, (0, 1))(*arguments), strict=True):
        np.testing.assert_allclose(found, expected)
    if rule is not residual_is_workspace:  # whose forward is compiled code
        tangents = POINT * 2, POINT + 1
        np.testing.assert_allclose(jvp(of_two, arguments, tangents)[1], jvp(plain, arguments, tangents)[1])


@pytest.mark.parametrize("size", [3, 200])
def test_a_plain_argument_may_be_filled_anew(size):
    times = pb.custom_vjp(lambda x, b: x * b, lambda g, y, x, b: (g * b, None))

    def f(x):
        b, s = np.zeros((size, size)), 0.0
        for k in range(3):
            b[:] = k + 1
            s = s + np.sum(times(x, b) ** 2)
        return s

    x = np.ones((size, size))
    np.testing.assert_array_equal(grad(f)(x), 28 * x)
    np.testing.assert_array_equal(grad(lambda x: np.sum(grad(f)(x)))(x), 28 * x)


def test_a_change_of_a_large_plain_argument_is_an_error():
    times = pb.custom_vjp(lambda x, b: x * b, lambda g, y, x, b: (g * b, None))
    b = np.ones((300, 300))

    def f(x, change):
        y = times(x, b)
        b[7, 9] += change
        return y.sum()

    np.testing.assert_array_equal(grad(f)(b, 0.0), b)
    with pytest.raises(RuntimeError, match="saved the ndarray"):
        grad(f)(b, 1e-3)


@pytest.mark.parametrize("also", [None, lambda t, y, x: 2 * x * t[0]], ids=["vjp", "both"])
@pytest.mark.parametrize("outer", [grad, lambda f: lambda x: jvp(grad(f), (x,), (np.ones(4),))[1]])
def test_a_write_after_the_call_does_not_change_what_forward_mode_recorded(also, outer):
    square = pb.custom_vjp(lambda x: x**2, lambda g, y, x: 2 * g * x, jvp=also)

    def f(x):
        y = x * 1.0
        y[0] = 0.3
        b = square(y)
        y[2] = 1.5
        return b.sum()

    found = grad(lambda x: jvp(f, (x,), (np.ones(4),))[1])(np.ones(4))
    np.testing.assert_array_equal(found, [0, 2, 2, 2])
    np.testing.assert_array_equal(outer(f)(np.ones(4)), [0, 2, 2, 2])


SAME = {
    "argument": (lambda x: x, lambda g, y, x: 2 * g),
    "view": (lambda x: x[1:], lambda g, y, x: np.concatenate([[0.0], 2 * g])),
    "one_of_several": (lambda x: (x.sum(), x[1:]), lambda g, y, x: g[0] + np.concatenate([[0.0], g[1]])),
}


@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("written", ["argument", "a_view_of_it", "result"])
@pytest.mark.parametrize(
    "differentiate",
    [grad, lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: grad(lambda x: grad(f)(x).sum())],
    ids=["grad", "jvp", "grad of grad"],
)
def test_a_write_into_what_numpy_aliases_is_refused(case, written, differentiate):
    function, vjp = SAME[case]
    same = pb.custom_vjp(function, vjp)

    def f(x, writes=True):
        x = x * 1.0
        y = same(x)
        y = y[1] if case == "one_of_several" else y
        if writes:
            ({"argument": x, "a_view_of_it": x[1:], "result": y}[written])[-1] = 7.0
        return (x * x).sum() + (y * y).sum()

    with pytest.raises(RuntimeError, match=r"share memory in NumPy.*return x\.copy\(\)"):
        differentiate(f)(np.arange(1.0, 4))
    differentiate(functools.partial(f, writes=False))(np.arange(1.0, 4))


def test_a_write_beside_a_function_that_returns_a_copy_is_allowed():
    same = pb.custom_vjp(lambda x: x.copy(), lambda g, y, x: 2 * g)

    def f(x):
        x = x * 1.0
        y = same(x)
        y[0], x[1] = 7.0, 5.0
        return (x * x).sum() + (y * y).sum()

    np.testing.assert_array_equal(grad(f)(np.arange(1.0, 4)), [2, 8, 18])


# -- results and rules that are of no use ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: (a for a in x), "a generator"),
        (lambda x: map(float, x), "a map"),
        (lambda x: [x, scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)], "a CubicSpline"),
    ],
)
def test_a_result_without_arrays_is_refused_where_it_is_differentiated(function, what):
    f = pb.custom_vjp(function, lambda g, y, x: x)

    def used(x):
        f(x)
        return x.sum()

    for differentiate in (grad(used), lambda x: jvp(used, (x,), (x,))):
        with pytest.raises(TypeError, match=f"returned {what}, through which no gradient flows; return arrays"):
            differentiate(POINT)
    used(pb.tensor(POINT))  # where nothing is differentiated, it may return what it likes


@pytest.mark.parametrize(
    "rule",
    [
        lambda g, y, x: 2 * x,
        lambda g, y, x: g + 1,
        lambda g, y, x: None,
        lambda g, y, x: g**2,  # and more that give 0 for 0
        lambda g, y, x: np.abs(g) * x,
        lambda g, y, x: np.sign(g) * x,
        lambda g, y, x: np.clip(g, -1, 1),
        lambda g, y, x: np.where(g > 0, g * 2, 0.0),
        lambda g, y, x: g / np.sqrt(1e-300 + np.sum(g * g)),
    ],
)
def test_what_is_not_linear_is_not_transposed(rule):
    f = pb.custom_vjp(lambda x: x * 2, rule)
    with pytest.raises(RuntimeError, match=r"its vjp must be transposed, which is not possible.*@<lambda>\.defjvp"):
        jvp(f, (POINT,), (POINT,))
    f = pb.custom_jvp(lambda x: x * 2, lambda t, y, x: rule(t[0], y, x))
    with pytest.raises(RuntimeError, match=r"its jvp must be transposed, which is not possible.*@<lambda>\.defvjp"):
        grad(lambda x: f(x).sum())(POINT)


def test_a_rule_is_tried_for_being_linear_once():
    tried = []

    def rule(g, y, x):
        tried.append(type(g))
        return g * 2

    f = pb.custom_vjp(lambda x: x * 2, rule)
    for times in (4, 5, 6):
        np.testing.assert_array_equal(jvp(f, (POINT,), (POINT,))[1], 2 * POINT)
        assert len(tried) == times
    f.defvjp(lambda g, y, x: g * g)
    with pytest.raises(RuntimeError, match="its vjp must be transposed, which is not possible"):
        jvp(f, (POINT,), (POINT,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_what_an_iterative_solver_gives_is_linear_enough(dtype):
    def rule(g, y, x):
        return g * 2 * (1 + 1e-5 * np.tanh(np.abs(g)))

    f = pb.custom_vjp(lambda x: x * 2, rule)
    x = np.array([0.5, 1e-12, 3e8], dtype)
    np.testing.assert_allclose(jvp(f, (x,), (x,))[1], 2 * x, rtol=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_rule_of_zeros_is_transposed():
    zero = pb.custom_vjp(np.sign, lambda g, y, x: np.zeros(3))
    np.testing.assert_array_equal(jvp(zero, (POINT,), (POINT,))[1], np.zeros(3))
    zero = pb.custom_jvp(np.sign, lambda t, y, x: np.zeros(3))
    np.testing.assert_array_equal(grad(lambda x: zero(x).sum())(POINT), np.zeros(3))


def test_a_rule_of_another_number_of_arguments_is_explained():
    def called(f, differentiate, match):
        with pytest.raises(TypeError, match=match):
            differentiate(f)

    def reverse(f):
        return grad(lambda x: np.sum(f(x, 2.0)))(POINT)

    def forward(f):
        return jvp(lambda x: f(x, 2.0), (POINT,), (POINT,))

    def power(x, n):
        return x**n

    short = pb.custom_vjp(power, lambda g, y, x: g)
    message = (
        r"power: its vjp is called with \(cotangent, result, x, n\), but <lambda>\(g, y, x\) does not take these 4"
    )
    called(short, reverse, message)
    called(short, forward, message)
    called(pb.custom_jvp(power, lambda t, y: t), forward, r"its jvp is called with \(tangents, result, x, n\)")
    pair = pb.custom_vjp(power)
    pair.defvjp(lambda x, n: (x**n, x), lambda g: g)
    called(pair, reverse, r"its backward is called with \(residuals, cotangent\), but <lambda>\(g\)")


@pytest.mark.parametrize("outer", ["grad", "jvp"])
def test_the_function_runs_once_however_many_transforms_differentiate_it(outer):
    calls = []

    def function(x):
        calls.append(x)
        return np.sin(x)

    f = pb.custom_vjp(function, lambda cotangent, y, x: cotangent * np.cos(x))
    g = pb.func.grad(pb.func.grad(f))
    third = pb.func.grad(g)(1.0) if outer == "grad" else pb.func.jvp(g, (1.0,), (1.0,))[1]
    assert third == pytest.approx(-np.cos(1.0))
    assert len(calls) == 1


# -- a vjp for each argument ------------------------------------------------------------------------------------------
def product_by_argument(ran, **named):
    product = pb.custom_vjp(lambda a, b, power=1: a * b**power, **named)
    product.defvjps(
        lambda g, y, a, b, power=1: ran.append("a") or g * b**power,
        lambda g, y, a, b, power=1: ran.append("b") or g * a * power * b ** (power - 1),
    )
    return product


WANTED = {
    "the first": (lambda f: grad(f)(2.0, 3.0), 3.0, {"a"}),
    "the second": (lambda f: grad(f, argnums=1)(2.0, 3.0), 2.0, {"b"}),
    "both": (lambda f: sum(grad(f, argnums=(0, 1))(2.0, 3.0)), 5.0, {"a", "b"}),
    "by keyword": (lambda f: grad(lambda b: f(2.0, power=3, b=b))(3.0), 54.0, {"b"}),
    "forward mode": (lambda f: jvp(lambda b: f(2.0, b), (3.0,), (1.0,))[1], 2.0, {"b"}),
    "a second derivative": (lambda f: hessian(lambda b: f(2.0, b, power=3))(3.0), 36.0, {"b"}),
    "vmap": (lambda f: vmap(grad(f))(np.ones(2), np.array([3.0, 4.0])).sum(), 7.0, {"a"}),
    "of Tensors": (lambda f: pb.autograd.grad(f(2.0, LEAF), LEAF)[0].item(), 2.0, {"b"}),
}
LEAF = pb.tensor(3.0, requires_grad=True)


@pytest.mark.filterwarnings("ignore:vmap")
@pytest.mark.parametrize(("way", "expected", "meant"), WANTED.values(), ids=WANTED)
def test_only_the_vjps_of_arguments_whose_gradient_is_wanted_run(way, expected, meant):
    ran = []
    assert way(product_by_argument(ran)) == pytest.approx(expected)
    assert set(ran) == meant


def test_vjps_by_argument_take_trees_and_none():
    f = pb.custom_vjp(lambda p, k: p["x"] * p["y"][0] * k)
    f.defvjps(lambda g, y, p, k: {"x": g * p["y"][0] * k, "y": [g * p["x"] * k]}, None)
    assert grad(f)({"x": 2.0, "y": [3.0]}, 5.0) == {"x": 15.0, "y": [10.0]}
    with pytest.warns(pb.extend.IndependentResultWarning):
        assert grad(f, argnums=1)({"x": 2.0, "y": [3.0]}, 5.0) == 0


def test_an_argument_without_a_vjp_of_its_own_is_refused_where_it_is_differentiated():
    f = pb.custom_vjp(lambda a, b: a * b)
    f.defvjps(lambda g, y, a, b: g * a, argnums=[1])
    assert grad(f, argnums=1)(2.0, 3.0) == 2.0
    with pytest.raises(RuntimeError, match=r"no vjp for the argument 'a'.*defvjps"):
        grad(f)(2.0, 3.0)
    f.defjvp(lambda tangents, y, a, b: tangents[0] * b + tangents[1] * a)
    assert jvp(f, (2.0, 3.0), (1.0, 1.0))[1] == 5.0
    with pytest.raises(RuntimeError, match=r"no vjp for the argument 'a'.*defvjps"):
        grad(f)(2.0, 3.0)
    f.defvjp(lambda g, y, a, b: (g * b, g * a))  # in the place of both
    assert grad(f)(2.0, 3.0) == 3.0


def test_vjps_by_argument_that_do_not_fit_are_refused():
    f = pb.custom_vjp(lambda a, b: a * b)
    with pytest.raises(TypeError, match="vjp must be callable, got int"):
        f.defvjps(1)
    for argnums in ((0, 1), (0.0,), ()):
        with pytest.raises(TypeError, match="argnums must be 1 different positions"):
            f.defvjps(np.multiply, argnums=argnums)
    with pytest.raises(TypeError, match="argnums must be 2 different positions"):
        f.defvjps(np.multiply, np.multiply, argnums=(1, 1))
    f.defvjps(lambda g: g)
    with pytest.raises(TypeError, match=r"its vjp is called with \(cotangent, result, a, b\)"):
        grad(f)(2.0, 3.0)
    f.defvjps(lambda g, y, a, b: np.ones(3))
    with pytest.raises(RuntimeError, match=r"the gradient of a must have shape \(2,\), got shape \(3,\)"):
        grad(lambda a: f(a, 3.0).sum())(np.ones(2))


# -- copies that may be written into ----------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["vjp", "jvp", "forward and backward"])
def test_writable_hands_out_copies_and_nobody_sees_what_is_written(form):
    def in_place(x, s):
        assert x.flags.writeable
        assert x.flags.c_contiguous
        x *= s
        return x

    def rule(g, y, x, s):
        for array in (g, y, x):
            array *= s
        return g, None

    if form == "jvp":
        f = pb.custom_jvp(in_place, lambda t, *given: rule(t[0], *given)[0], writable=True)
        assert jvp(lambda x: f(x, 3.0), (np.ones(2),), (np.ones(2),))[1].tolist() == [3.0, 3.0]
        return
    f = pb.custom_vjp(in_place, writable=True)
    if form == "vjp":
        f.defvjp(rule)
    else:
        f.defvjp(lambda x, s: (in_place(x, s), s), lambda s, g: (g.__imul__(s), None))
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    t = pb.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(f(x, 3.0), 3 * np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(grad(lambda x: f(x.T, 3.0).sum())(x), np.full((2, 2), 3.0))
    f(t, 3.0).sum().backward()
    assert t.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert t.tolist() == x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_without_writable_a_write_says_how_to_ask_for_it():
    f = pb.custom_vjp(lambda x: x.__imul__(2), lambda g, y, x: 2 * g)
    with pytest.raises(ValueError, match="read-only") as caught:
        grad(lambda x: f(x).sum())(np.ones(2))
    assert "writable=True" in "".join(caught.value.__notes__)


def test_a_vjp_that_reads_what_the_function_has_stored_is_refused_in_a_second_derivative():
    memo, weights = {}, np.array([3.0, 3.0])
    stored = pb.custom_vjp(
        lambda x: (memo.update(slope=3 * np.asarray(x) ** 2), x**3)[1], lambda g, y, x: g * memo["slope"]
    )
    constant = pb.custom_vjp(lambda x: weights * x**3 / 3, lambda g, y, x: g * weights * x**2)
    at = np.array([2.0, -1.0])
    for f in (stored, constant):
        nested = lambda x, f=f: pb.func.grad(lambda x: pb.func.grad(lambda x: f(x).sum())(x).sum())(x)  # noqa: E731
        x = pb.tensor(at, requires_grad=True)
        (slope,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
        np.testing.assert_allclose(slope.detach().numpy(), 3 * at**2)
        if f is constant:
            np.testing.assert_allclose(nested(at), 6 * at)
            np.testing.assert_allclose(pb.autograd.grad(slope.sum(), x)[0].numpy(), 6 * at)
        else:
            match = r"twice through .*its vjp reads a variable outside"
            with pytest.raises(RuntimeError, match=match):
                nested(at)
            with pytest.raises(RuntimeError, match=match):
                slope.sum().backward()


class Product(pb.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        ctx.save_for_forward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

    @staticmethod
    def jvp(ctx, s, t):
        a, b = ctx.saved_tensors
        return (0 if s is None else s * b) + (0 if t is None else a * t)


PRODUCTS = {
    "Function": Product.apply,
    "custom_vjp": pb.custom_vjp(lambda a, b: a * b, vjp=lambda g, y, a, b: (g * b, g * a)),
    "custom_jvp": pb.custom_jvp(lambda a, b: a * b, jvp=lambda t, y, a, b: t[0] * b + a * t[1]),
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("around", ["before", "after", "of itself"])
@pytest.mark.parametrize("transform", ["grad", "backward", "jvp of grad"])
def test_rules_in_a_forward_level_inside_of_a_gradient(transform, around, product):
    at, k, v, of = pb.tensor([0.5, 0.25]), pb.tensor([2.0, 3.0]), pb.ones(2), PRODUCTS[product]

    def pushed(x):
        with forward_ad.dual_level():
            a = forward_ad.make_dual(x * 1.0 if transform == "backward" else x, v)
            y = {"before": lambda: of(a, k) * a, "after": lambda: of(a**2, k), "of itself": lambda: of(a, a) * k}[
                around
            ]()
            return forward_ad.unpack_dual(y).tangent.sum()  # 2 a k v

    if transform == "grad":
        assert grad(pushed)(at).tolist() == [4.0, 6.0]
    elif transform == "backward":
        x = at.clone().requires_grad_()
        pushed(x).backward()
        assert x.grad.tolist() == [4.0, 6.0]
    else:
        value, tangent = jvp(grad(lambda x: (pushed(x) * x).sum()), (at,), (pb.tensor([1.0, 0.0]),))
        # sum_i 2 k_i x_i sum_j x_j: by x_i it is 2 k_i s + 2 k.x, and along e_0 that moves by 2 k_i + 2 k_0
        assert value.tolist() == [2 * k_i * 0.75 + 2 * 1.75 for k_i in (2.0, 3.0)]
        assert tangent.tolist() == [8.0, 10.0]
