"""func.jet: derivatives of high order along curves, against mpmath and nested forward mode."""

import warnings

import mpmath
import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor
from pullback.func import grad, jet, jvp
from pullback.testing.opinfo.calls import flat_tensors, function_of, replaced, seeded, to_tensors, twins
from tests.opinfo.records import OPINFOS

assert_close = np.testing.assert_allclose
DERIVED = [info for info in OPINFOS if info.order >= 1]
ORDER = 7
FUNCTIONS = {
    "exp": (np.exp, mpmath.exp),
    "log": (np.log, mpmath.log),
    "sin": (np.sin, mpmath.sin),
    "cos": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "arcsin": (np.arcsin, mpmath.asin),
    "arctan": (np.arctan, mpmath.atan),
    "sinh": (np.sinh, mpmath.sinh),
    "tanh": (np.tanh, mpmath.tanh),
    "arcsinh": (np.arcsinh, mpmath.asinh),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "square": (np.square, lambda x: x**2),
    "cube": (lambda x: x**3, lambda x: x**3),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf("2.5")),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x),
    "self power": (lambda x: x**x, lambda x: x**x),
    "exponential of base 2": (lambda x: 2**x, lambda x: mpmath.mpf(2) ** x),
    "erf": (pb.erf, mpmath.erf),
    "log gamma": (pb.lgamma, mpmath.loggamma),
    "arctan2": (lambda x: np.arctan2(x, 1 + x * x), lambda x: mpmath.atan(x / (1 + x * x))),
    "composite": (
        lambda x: np.exp(np.sin(x) * x) / np.sqrt(1 + x * x),
        lambda x: mpmath.exp(mpmath.sin(x) * x) / mpmath.sqrt(1 + x * x),
    ),
    "matrix": (
        lambda x: np.linalg.solve(np.array([[2.0, 1.0], [1.0, 3.0]]) * np.exp(x), np.array([1.0, 2.0]) * x)[0],
        lambda x: x * mpmath.exp(-x) / 5,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_numbers(name):
    function, exact = FUNCTIONS[name]
    x = 0.37
    with mpmath.workdps(40):
        expected = [float(mpmath.diff(exact, mpmath.mpf(x), k)) for k in range(1, ORDER + 1)]
    value, found = jet(function, (x,), ([1.0] + [None] * (ORDER - 1),))
    assert_close(float(value), float(exact(x)), rtol=1e-14)
    assert_close([float(d) for d in found], expected, rtol=1e-12, atol=1e-12)


def along(function, order):
    """Derivatives 1 to `order` of a function of a number, by nested forward mode."""

    def derivative(g):
        return lambda t: jvp(g, (t,), (np.float64(1.0),))[1]

    found = []
    for _ in range(order):
        function = derivative(function)
        found.append(function(np.float64(0.0)))
    return found


@pytest.mark.parametrize("series", [[None, 1.0], [None, None, 2.0], [1.0, None, 3.0], [0.5, None]])
def test_none_is_zero(series):
    matrix, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -2.0])
    for function in (
        lambda b: np.linalg.solve(matrix, b * b),
        lambda b: np.hypot(b, 1.0),
        np.exp,
        lambda b: b / (b + 3),
    ):
        given = [None if c is None else c * np.ones(2) for c in series]
        zeros = [np.zeros(2) if c is None else c for c in given]
        for found, expected in zip(jet(function, (b,), (given,))[1], jet(function, (b,), (zeros,))[1], strict=True):
            assert_close(found, expected, rtol=1e-12)


def test_curves_that_bend():
    x, v, w = (np.array(a) for a in ([0.3, 1.2], [1.0, -2.0], [0.5, 0.25]))
    f = lambda x: np.sum(np.sin(x) * x[::-1] ** 2)  # noqa: E731
    _, found = jet(f, (x,), ([v, w, None],))
    assert_close(found, along(lambda t: f(x + t * v + t**2 * w / 2), 3), rtol=1e-12)


def plain_of(x):
    return x.numpy() if isinstance(x, Tensor) else x


@pytest.mark.parametrize("info", DERIVED, ids=lambda info: info.full_name)
def test_every_operator_against_nested_forward_mode(info):
    rng = np.random.default_rng(0)
    for sample in twins(info, info.grad_dtypes[0])[0:6]:
        sample = sample[0]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = to_tensors((sample.args, sample.kwargs), requires_grad=True)
            inputs = [t for t in flat_tensors(tree) if t.requires_grad]
            if not 0 < sum(t.size for t in inputs) <= 60:
                continue
            directions = [0.1 * rng.standard_normal(t.shape).astype(t.dtype) for t in inputs]

            def function(*given, tree=tree, inputs=inputs):
                seeded(info)
                args, kwargs = replaced(tree, inputs, given)
                return [t for t in flat_tensors(function_of(info)(*args, **kwargs)) if t.dtype.kind in "fc"]

            plain = tuple(t.detach() for t in inputs)

            def nested(*given, directions=directions, function=function):
                return jvp(function, given, tuple(map(pb.tensor, directions)))[1]

            try:
                expected = [nested(*plain), jvp(nested, plain, tuple(map(pb.tensor, directions)))[1]]
            except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
                continue
            _, found = jet(function, plain, tuple([pb.tensor(d), None] for d in directions))
        for order in range(2):
            for a, b in zip(found[order], expected[order], strict=True):
                assert_close(plain_of(a), plain_of(b), rtol=1e-8, atol=1e-9, err_msg=f"{order + 1} {sample}")


def test_nests_with_other_transforms():
    x = 0.7
    third = lambda x: jet(lambda y: np.sin(y) * y, (x,), ([1.0, None, None],))[1][2]  # noqa: E731
    exact = lambda x: -3 * np.sin(x) - x * np.cos(x)  # noqa: E731 - (x sin x)'''
    assert_close(third(x), exact(x))
    fourth = lambda x: -4 * np.cos(x) + x * np.sin(x)  # noqa: E731
    assert_close(grad(third)(x), fourth(x))
    assert_close(jvp(third, (x,), (1.0,))[1], fourth(x))
    _, found = jet(lambda y: grad(lambda z: np.sin(z) * z)(y), (x,), ([1.0, None],))
    assert_close(found[1], exact(x))
    _, found = jet(third, (x,), ([1.0],))
    assert_close(found[0], fourth(x))


def test_perturbations_stay_apart():
    inner = lambda x: jet(lambda y: x * y**2, (3.0,), ([1.0, None],))[1]  # noqa: E731 - [6 x, 2 x]
    _, found = jet(lambda x: x * inner(x)[0], (2.0,), ([1.0, None],))  # 6 x**2
    assert_close(found, [24.0, 12.0])


def test_code_that_writes():
    def program(x):
        y = x.copy()
        y[0], y[1] = y[1], y[0]
        y[2] *= y[0]
        z = y[1:]
        z += 1
        return np.sum(y**3)

    x, v = np.array([0.3, 1.2, -0.5]), np.array([1.0, 2.0, 3.0])
    _, found = jet(program, (x,), ([v, None, None],))
    assert_close(found, along(lambda t: program(x + t * v), 3), rtol=1e-12)


def test_buffers_under_adopt():
    def program(x):
        y = np.zeros(4)
        y[0] = x
        for i in range(1, 4):
            y[i] = np.sin(y[i - 1]) * x
        return y

    with pb.adopt():
        _, found = jet(program, (0.8,), ([1.0, None],))
        assert_close(found[0], jvp(program, (0.8,), (1.0,))[1])
        assert_close(found[1], jvp(lambda x: jvp(program, (x,), (1.0,))[1], (0.8,), (1.0,))[1])


def accumulated(x):
    z = np.zeros((3, 3), order="F")
    top, column = z[:2], z.T[0]
    for i in range(3):
        z[i, :] += x ** (i + 1)
    top[:, 1:] += x[0]
    row = z[1]
    row[2] *= x[1]
    z.T[0] -= x
    return np.sum(np.sin(z) * np.arange(9.0).reshape(3, 3)) + np.sum(column * top[0])


def assembled(x):
    K, ke = np.zeros((4, 4)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    for k in range(3):
        K[k : k + 2, k : k + 2] += x[k] * ke
    flat = K.reshape(-1)
    flat[::5] += 1
    return np.linalg.solve(K, np.ones(4)) @ np.arange(4.0)


@pytest.mark.parametrize("program", [accumulated, assembled])
def test_buffers_with_views(program):
    x, v = np.array([0.3, 1.2, 0.5]), np.array([1.0, -2.0, 0.5])
    with pb.adopt():
        value, found = jet(program, (x,), ([v, None, None],))
        assert_close(value, program(x))
        assert_close(found, along(lambda t: program(x + t * v), 3), rtol=1e-10)


def test_gradients_of_code_that_writes():
    def program(x):
        u = x.copy()
        w = np.sin(u[1:])
        u[0] = 2.0
        u[1:] = w * u[:-1]
        return np.sum(u**2)

    x, v = np.array([0.3, 1.2, 0.5]), np.array([1.0, -2.0, 0.5])
    _, found = jet(grad(program), (x,), ([v, None],))
    assert_close(found, along(lambda t: grad(program)(x + t * v), 2), rtol=1e-12)


def test_trees_in_and_out():
    given = {"a": np.array([1.0, 2.0]), "b": 3.0}
    value, found = jet(
        lambda p: (p["a"] * p["b"], {"c": p["b"] ** 2}), (given,), ([{"a": np.ones(2), "b": 1.0}, None],)
    )
    assert_close(value[0], [3.0, 6.0])
    assert_close(found[0][0], [4.0, 5.0])
    assert_close(found[1][1]["c"], 2.0)


def test_a_result_that_does_not_depend():
    with pytest.warns(pb.extend.IndependentResultWarning):
        value, found = jet(lambda x: np.ones(2), (1.0,), ([1.0, None],))
    np.testing.assert_array_equal(value, 1)
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: jet(np.sin, 1.0, ([1.0],)), TypeError, "tuple"),
        (lambda: jet(np.sin, (1.0,), [1.0]), TypeError, "tuple"),
        (lambda: jet(np.sin, (1.0,), (1.0,)), TypeError, "list of derivatives"),
        (lambda: jet(np.sin, (1.0,), ([1.0], [1.0])), GradientError, "1 primals and 2 series"),
        (lambda: jet(np.add, (1.0, 2.0), ([1.0], [1.0, None])), GradientError, "different lengths"),
        (lambda: jet(np.sin, (np.ones(2),), ([np.ones(3)],)), GradientError, r"\(2,\).*\(3,\)"),
        (lambda: jet(np.sin, (1,), ([1.0],)), TypeError, "floating"),
        (lambda: jet(np.sin, ([1.0],), ([1.0],)), GradientError, "structure"),
        (lambda: jet(lambda x: "no", (1.0,), ([1.0],)), TypeError, "return arrays"),
        (lambda: jet(lambda x: None, (1.0,), ([1.0],)), (GradientError, TypeError), "return"),
        (lambda: jet(3, (1.0,), ([1.0],)), TypeError, "callable"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_array_of_a_jet_that_has_ended():
    kept = []
    jet(lambda x: kept.append(x) or x, (1.0,), ([1.0],))
    with pytest.raises(GradientError, match="has ended"):
        np.sin(kept[0])


def test_numbers_are_not_had_without_their_derivative():
    with pytest.raises((TypeError, RuntimeError)):
        jet(lambda x: float(np.sin(x)), (1.0,), ([1.0],))
    with pytest.raises((TypeError, RuntimeError)):
        jet(lambda x: x.detach().numpy() * x.numpy(), (pb.ones(2),), ([pb.ones(2)],))


@pb.custom_jvp
def sine(x):
    return np.sin(x)


@sine.defjvp
def sine_jvp(tangents, result, x):
    return sine(x + np.pi / 2) * tangents[0]


@pb.custom_vjp
def exponential(x):
    return np.exp(x)


exponential.defvjp(lambda x: (np.exp(x), np.exp(x)), lambda residual, cotangent: (cotangent * residual,))


@pb.custom_vjp
def product(x, y, *, scale=1.0):
    return {"scaled": x * y * scale, "counted": np.int64(3)}


@product.defvjp
def product_vjp(cotangent, result, x, y, *, scale=1.0):
    return cotangent["scaled"] * y * scale, cotangent["scaled"] * x * scale


class Power(pb.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def jvp(ctx, t, _):
        (x,) = ctx.saved_tensors
        return t * ctx.n * x ** (ctx.n - 1)


@pb.func.custom_root(lambda y, x: y**3 - x)
def cube_root(_, x):
    return np.cbrt(x)


CUSTOM = {
    "jvp": (sine, np.sin),
    "vjp with residuals": (exponential, np.exp),
    "two arguments": (lambda x: product(x, x * x, scale=2.0)["scaled"], lambda x: 2 * x**3),
    "a constant": (lambda x: product(x, 2.0)["scaled"], lambda x: 2 * x),
    "one in another": (lambda x: sine(exponential(x) * x), lambda x: np.sin(np.exp(x) * x)),
    "its gradient": (lambda x: grad(lambda y: sine(y * x).sum())(x), lambda x: np.cos(x * x) * x),
    "its tangent": (lambda x: jvp(exponential, (x * x,), (x,))[1], lambda x: np.exp(x * x) * x),
    "Function": (lambda x: Power.apply(x, 5), lambda x: x**5),
    "implicit": (lambda x: cube_root(None, x * x), lambda x: np.cbrt(x * x)),
    "beside others": (lambda x: exponential(x) + sine(x) * x, lambda x: np.exp(x) + np.sin(x) * x),
    "one that is straight": (lambda x: product(2.0, x)["scaled"], lambda x: 2 * x),
}


@pytest.mark.parametrize("of", [float, np.array, pb.tensor])
@pytest.mark.parametrize("name", CUSTOM)
def test_custom_rules(name, of):
    function, plain = CUSTOM[name]
    x = of(0.7) if of is float else of([0.7, 0.3], dtype=float)
    one = x * 0 + 1
    series = [one, 0.5 * one, None, -1.5 * one]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, found = jet(function, (x,), (series,))
    expected, derivatives = jet(plain, (x,), (series,))
    assert type(value) is type(expected)
    for own, other in zip((value, *found), (expected, *derivatives), strict=True):
        assert_close(own, other, rtol=1e-9, atol=1e-12)


CURVES = {
    "the slope is zero": [None, 1.0],
    "zero as a number": [0.0, 1.0, 0.5],
    "zero at first": [None, None, 1.0],
    "straight": [1.0, None, None, None],
    "no move": [None, None],
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("name", CUSTOM)
@pytest.mark.filterwarnings("ignore")
def test_custom_rules_along_curves_whose_derivatives_vanish(name, curve):
    function, plain = CUSTOM[name]
    x = np.array([0.7, 0.3])
    series = [None if d is None else np.full(2, d) for d in CURVES[curve]]
    _, found = jet(function, (x,), (series,))
    _, expected = jet(plain, (x,), (series,))
    assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_the_gradient_of_a_cotangent_that_begins_to_move():
    # The cotangent is 0 at t = 0 and has a derivative: nothing structural about it.
    def pulled(c):
        return pb.func.vjp(np.sin, np.array([0.5, 1.0]))[1](c)[0]

    _, (first, second) = jet(pulled, (np.zeros(2),), ([np.array([1.0, 0.0]), np.array([0.0, 3.0])],))
    assert_close(first, [np.cos(0.5), 0.0])
    assert_close(second, [0.0, 3 * np.cos(1.0)])


def test_custom_rules_nest():
    def third(x):
        return jet(sine, (x,), ([np.ones_like(x), None, None],))[1][2]

    x = np.array([0.7, 0.2])
    assert_close(third(x), -np.cos(x), rtol=1e-12)
    assert_close(grad(lambda x: third(x).sum())(x), np.sin(x), rtol=1e-12)
    assert_close(jet(third, (x,), ([np.ones(2), None],))[1][1], np.cos(x), rtol=1e-12)
    with pytest.warns(UserWarning, match="one sample after the other"):
        assert_close(pb.func.vmap(third)(x), -np.cos(x), rtol=1e-12)


@pb.custom_jvp
def same(x):
    return x


same.defjvp(lambda tangents, result, x: tangents[0])


class Flat(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def jvp(ctx, t):
        return t.view(-1)


class Doubled(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


class ByBackwardAlone(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (same, RuntimeError, r"return x\.copy\(\)"),
        (Flat.apply, GradientError, "Flat: forward returns"),
        (Doubled.apply, RuntimeError, "Doubled: forward"),
        (ByBackwardAlone.apply, NotImplementedError, "ByBackwardAlone"),
    ],
    ids=["custom_jvp", "view", "in place", "no jvp"],
)
def test_what_custom_rules_cannot_do_along_curves(function, error, words, order):
    def program(x):
        z = x * x
        y = function(z)
        y *= 3.0
        return z + y

    with pytest.raises(error, match=words):
        jet(program, (np.array([2.0]),), ([np.ones(1)] + [None] * (order - 1),))


def test_a_function_with_the_ctx_of_one_level_runs_on_batches_of_curves():
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            ctx.save_for_forward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            return 2 * a * g

        @staticmethod
        def jvp(ctx, t):
            (a,) = ctx.saved_tensors
            return 2 * a * t

    x = pb.tensor([0.5, 2.0])
    value, (first, second) = pb.func.vmap(lambda s: pb.func.jet(Square.apply, (s,), ([s, s],)))(x)
    assert value.tolist() == [0.25, 4.0]
    assert first.tolist() == [0.5, 8.0]
    assert second.tolist() == [1.0, 16.0]
