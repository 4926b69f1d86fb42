"""Value, first and second derivative where formulas lose digits: in tails, beside poles, at huge and tiny numbers.

The reference is the closed form, by mpmath with 60 digits at the very number that the operator is given.
"""

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import pullback as pb
from pullback.testing import assert_close

F = pb.nn.functional
RTOL = {np.float64: 1e-12, np.float32: 4e-6}
EXTREMES = {np.float64: (1e-300, 1e200), np.float32: (1e-30, 1e19)}  # numbers whose squares under- and overflow
BESIDE_ONE = {np.float64: 1 - 2.0**-53, np.float32: 1 - 2.0**-24}


@dataclass(frozen=True)
class Curve:
    """A function of one number, it and its derivatives in closed form, and where to look: numbers, or "tiny", ..."""

    name: str
    function: Any
    closed: tuple
    at: tuple


def number(point, dtype):
    """A point as a number that the dtype holds, or None where it has none such."""
    sign, name = (-1, point[1:]) if isinstance(point, str) and point[0] == "-" else (1, point)
    named = {"tiny": EXTREMES[dtype][0], "huge": EXTREMES[dtype][1], "beside one": BESIDE_ONE[dtype]}
    x = dtype(sign * named.get(name, name))
    return x if np.isfinite(x) and (x or not name) else None


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def logistic_slope(x):
    return 1 / (2 + mp.exp(x) + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def mirrored(closed):
    """The closed forms of x -> f(-x)."""
    value, first, second = closed
    return lambda x: value(-x), lambda x: -first(-x), lambda x: second(-x)


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def mills(x):
    return density(x) / mp.ncdf(x)


def log_ndtr(x):
    return mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x))


def branch(scale, alpha):
    """alpha (exp(x / scale) - 1) with its derivatives."""
    return (
        lambda x: alpha * mp.expm1(x / scale),
        lambda x: alpha / scale * mp.exp(x / scale),
        lambda x: alpha / scale**2 * mp.exp(x / scale),
    )


def gelu_tanh(x):
    return x * logistic(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))


def by_differences(f):
    """f with derivatives by mpmath's differences, for moderate arguments."""
    return f, lambda x: mp.diff(f, x), lambda x: mp.diff(f, x, 2)


def logarithm(base):
    return lambda x: mp.log(x, base), lambda x: 1 / (x * mp.log(base)), lambda x: -1 / (x * x * mp.log(base))


def root(x):
    """sqrt(1 - x**2)."""
    return mp.sqrt((1 - x) * (1 + x))


def like(x, value):
    """A constant of the dtype of x."""
    return pb.full_like(x, value)


SOFTPLUS = (softplus, logistic, logistic_slope)
MISS = mirrored(SOFTPLUS)
QUARTER = (lambda x: softplus(x) - x / 4, lambda x: logistic(x) * 3 / 4 - logistic(-x) / 4, logistic_slope)
LOGITS = F.binary_cross_entropy_with_logits
FAR = (-80, -40, -20, -1, 0.5, 20, 40, 80)
ARC = ("tiny", "-tiny", 1e-20, 1e-8, 0.5, -0.5, "beside one")

CURVES = [
    Curve("expm1", pb.expm1, (mp.expm1, mp.exp, mp.exp), (-80, -40, -20, 1e-20, 1)),
    Curve("elu", F.elu, branch(1, 1), (-80, -40, -1e-20)),
    Curve("celu", lambda x: F.celu(x, 2.0), branch(2, 2), (-80, -40)),
    Curve("log2", pb.log2, logarithm(2), ("tiny", "huge", 3)),
    Curve("log10", pb.log10, logarithm(10), ("tiny", "huge", 3)),
    Curve("logit", pb.logit, (lambda x: mp.log(x / (1 - x)), lambda x: 1 / (x * (1 - x)),
                              lambda x: (2 * x - 1) / (x * (1 - x)) ** 2), (1e-15, 0.5 + 2.0**-20, "beside one")),
    Curve("asin", pb.asin, (mp.asin, lambda x: 1 / root(x), lambda x: x / root(x) ** 3), ARC),
    Curve("acos", pb.acos, (mp.acos, lambda x: -1 / root(x), lambda x: -x / root(x) ** 3), ARC),
    Curve("atanh", pb.atanh, (mp.atanh, lambda x: 1 / root(x) ** 2, lambda x: 2 * x / root(x) ** 4), ARC),
    Curve("atan", pb.atan, (mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
          ("tiny", 1e-8, 1, 1e8, "huge")),
    Curve("asinh", pb.asinh, (mp.asinh, lambda x: (1 + x * x) ** -0.5, lambda x: -x * (1 + x * x) ** -1.5),
          ("tiny", 1, "huge", "-huge")),
    Curve("acosh", pb.acosh, (mp.acosh, lambda x: (x * x - 1) ** -0.5, lambda x: -x * (x * x - 1) ** -1.5),
          (1 + 2.0**-20, 2, "huge")),
    Curve("softplus", lambda x: F.softplus(x, threshold=1e9), SOFTPLUS, (*FAR, "-huge", "huge")),
    Curve("logsigmoid", lambda x: -F.logsigmoid(x), MISS, (*FAR, "-huge", "huge")),
    Curve("logaddexp", lambda x: pb.logaddexp(x, like(x, 0)), SOFTPLUS, (*FAR, "-huge", "huge")),
    Curve("soft margin loss", lambda x: F.soft_margin_loss(x, like(x, 1)), MISS, FAR),
    Curve("cross entropy of logits, 0", lambda x: LOGITS(x, like(x, 0)), SOFTPLUS, (*FAR, "-huge", "huge")),
    Curve("cross entropy of logits, 1", lambda x: LOGITS(x, like(x, 1)), MISS, (*FAR, "-huge", "huge")),
    Curve("cross entropy of logits, 1/4", lambda x: LOGITS(x, like(x, 0.25)), QUARTER, FAR),
    Curve("cross entropy of logits, weighted", lambda x: LOGITS(x, like(x, 0), pos_weight=like(x, 3)), SOFTPLUS, FAR),
    Curve("softsign", F.softsign, (lambda x: x / (1 + abs(x)), lambda x: (1 + abs(x)) ** -2,
                                   lambda x: -2 * mp.sign(x) * (1 + abs(x)) ** -3), ("tiny", 1e-8, -1, 1e8, -1e8)),
    Curve("hypot with 1", lambda x: pb.hypot(x, like(x, 1)),
          (lambda x: mp.hypot(x, 1), lambda x: x / mp.hypot(x, 1), lambda x: mp.hypot(x, 1) ** -3),
          ("tiny", 1e-8, 1, 1e4, -1e8)),
    Curve("gelu", F.gelu, (lambda x: x * mp.ncdf(x), lambda x: mp.ncdf(x) + x * density(x),
                           lambda x: (2 - x * x) * density(x)), ("tiny", "-tiny", -10, -1, 1, 10)),
    Curve("gelu by tanh", lambda x: F.gelu(x, approximate="tanh"), by_differences(gelu_tanh), (-4, -1, 1, 4)),
    Curve("log_ndtr", pb.special.log_ndtr, (log_ndtr, mills, lambda x: -mills(x) * (x + mills(x))),
          (-8, -1, 0, 1, 8)),
    Curve("huber loss", lambda x: F.huber_loss(x, like(x, 0)), (lambda x: x * x / 2, lambda x: x, lambda x: mp.one),
          (0, 1e-8, -0.5)),
    Curve("smooth l1 loss", lambda x: F.smooth_l1_loss(x, like(x, 0)),
          (lambda x: x * x / 2, lambda x: x, lambda x: mp.one), (0, 1e-8, -0.5)),
]  # fmt: skip

# What only double precision has room for.
WIDE = [
    Curve("hypot with 1e-200", lambda x: pb.hypot(x, like(x, 1e-200)),
          (lambda x: mp.hypot(x, 1e-200), lambda x: x / mp.hypot(x, 1e-200),
           lambda x: mp.mpf(1e-200) ** 2 / mp.hypot(x, 1e-200) ** 3), (1e-201, 1e-200, 1e-190)),
    Curve("atan far out", pb.atan, (mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2), (1e100,)),
    Curve("gelu by tanh, lower tail", lambda x: F.gelu(x, approximate="tanh"), by_differences(gelu_tanh), (-10, -12)),
    Curve("softplus, far", F.softplus, SOFTPLUS, (-300, -700)),
    Curve("log_ndtr, far", pb.special.log_ndtr,
          (log_ndtr, mills, lambda x: -mills(x) * (x + mills(x))), (-30, 27, 37)),
    Curve("i0 near overflow", pb.i0, (lambda x: mp.besseli(0, x), lambda x: mp.besseli(1, x),
                                      lambda x: mp.besseli(0, x) - mp.besseli(1, x) / x), (1e-310, 712, -712)),
]  # fmt: skip


def cases():
    for dtype in (np.float64, np.float32):
        for curve in CURVES + (WIDE if dtype is np.float64 else []):
            for point in curve.at:
                x = number(point, dtype)
                yield pytest.param(curve, x, id=f"{curve.name} at {point} {np.dtype(dtype)}")


@pytest.mark.parametrize(("curve", "x"), list(cases()))
def test_agrees_with_the_closed_form(curve, x):
    leaf = pb.tensor(x, dtype=x.dtype, requires_grad=True)
    value = curve.function(leaf)
    (first,) = pb.autograd.grad(value, leaf, create_graph=True)
    (second,) = pb.autograd.grad(first, leaf, allow_unused=True) if first.requires_grad else (None,)
    with mpmath.workdps(60):
        expected = [f(mp.mpf(float(x))) for f in curve.closed]
    limits = np.finfo(x.dtype)
    for order, (found, wanted) in enumerate(zip((value, first, second), expected, strict=True)):
        found = x.dtype.type(0) if found is None else found.detach().numpy()[()]
        assert found.dtype == x.dtype, order
        if abs(wanted) < limits.max:  # a derivative may overflow by itself
            assert math.isclose(found, wanted, rel_tol=RTOL[x.dtype.type], abs_tol=limits.tiny), (order, found, wanted)


AT_INFINITY = [
    (pb.atan, (math.pi / 2, 0, 0)),
    (pb.asinh, (math.inf, 0, 0)),
    (pb.acosh, (math.inf, 0, 0)),
    (F.softsign, (1, 0, 0)),
    (lambda x: pb.hypot(x, like(x, 1)), (math.inf, 1, 0)),
    (lambda x: pb.hypot(like(x, 1), x), (math.inf, 1, 0)),
    (F.gelu, (math.inf, 1, 0)),
    (pb.i0, (math.inf, math.inf, math.inf)),
    (pb.special.airy_ai, (0, 0, 0)),
    (pb.special.log_ndtr, (0, 0, 0)),
]


@pytest.mark.parametrize(("function", "limits"), AT_INFINITY, ids=lambda x: getattr(x, "__name__", None))
def test_limits_at_infinity(function, limits):
    x = pb.tensor(math.inf, requires_grad=True)
    value = function(x)
    (first,) = pb.autograd.grad(value, x, create_graph=True)
    (second,) = pb.autograd.grad(first, x)
    assert_close([value.item(), first.item(), second.item()], list(limits), rtol=1e-15, atol=0)


# -- functions that keep their result alone: exact up to the rounding of the steepest slope ----------------------------
@pytest.mark.parametrize("function", [pb.sigmoid, pb.tanh])
def test_slopes_from_results_are_exact_beside_the_steepest(function):
    x = pb.linspace(-40, 40, 4001).requires_grad_()
    (found,) = pb.autograd.grad(function(x).sum(), x)
    steep = 1 if function is pb.tanh else 2  # tanh(x) = 2 sigmoid(2 x) - 1
    half = np.abs(x.detach().numpy()) / steep
    expected = np.exp(-2 * half) / (1 + np.exp(-2 * half)) ** 2 * (4 if steep == 1 else 1)
    assert_close(found.numpy(), expected, rtol=0, atol=3e-16)


# -- functions of several numbers --------------------------------------------------------------------------------------
def gradient_of(function, values, **kwargs):
    x = pb.tensor(values, requires_grad=True, **kwargs)
    value = function(x)
    return value.detach().numpy(), pb.autograd.grad(value.sum(), x)[0].numpy()


@pytest.mark.parametrize("base", [0.0, 5e-324, -1e-310, 1e-300, 1e300, math.inf, -math.inf, math.nan])
def test_power_0_is_flat_everywhere(base):
    x = np.array([base, 2.0])
    for exponent in (0, 0.0, pb.zeros(2)):
        value, slope = gradient_of(lambda x, n=exponent: pb.pow(x, n), x)
        assert_close(value, [1.0, 1.0])
        assert_close(slope, [0.0, 0.0])


@pytest.mark.parametrize("value", [0.1, 0.3, 1e16 + 2, 1e-300])
@pytest.mark.parametrize("shape", [(3,), (7, 1), (2, 3)])
def test_std_of_constants_is_0_whatever_the_rounding_of_their_mean(value, shape):
    for dtype in (np.float64, np.float32):
        found, slope = gradient_of(pb.std, np.full(shape, value, dtype))
        assert found == 0
        assert not slope.any()
    columns = np.stack([np.full(5, value), np.arange(5.0)], 1)
    found, slope = gradient_of(lambda x: pb.std(x, 0), columns)
    assert_close(found, [0, np.std(np.arange(5.0), ddof=1)], rtol=1e-15, atol=0)
    assert not slope[:, 0].any()
    assert slope[:, 1].any()


@pytest.mark.parametrize("top", [0.0, 1e8, -1e15, 1e17, 1e300])
def test_slopes_of_logsumexp_sum_to_1(top):
    _, slope = gradient_of(lambda x: pb.logsumexp(x, 1), [[top, top], [top, -math.inf]])
    assert_close(slope, [[0.5, 0.5], [1.0, 0.0]], rtol=1e-15, atol=0)


def test_slope_of_logsumexp_keeps_its_digits_far_from_0():
    x = np.array([1e6, 1e6 + 1, 1e6 + 3])
    _, slope = gradient_of(lambda x: pb.logsumexp(x, 0), x)
    assert_close(slope, np.exp([-3.0, -2.0, 0.0]) / np.exp([-3.0, -2.0, 0.0]).sum(), rtol=1e-15, atol=0)


def test_norms_of_negative_order_are_flat_beside_a_zero():
    for zeros in ([1.0, 0.0, 2.0], [0.0, 0.0, 3.0]):
        x = pb.tensor(zeros, requires_grad=True)
        (first,) = pb.autograd.grad(pb.linalg.vector_norm(x, -1), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x)
        assert not first.detach().numpy().any()
        assert not second.numpy().any()


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e200])
def test_directions_do_not_depend_on_the_scale(scale):
    x = np.array([1.0, 2.0, -1.0])
    functions = {
        "cosine": lambda x: F.cosine_similarity(x, pb.tensor([1.0, 1.0, 1.0]), dim=0, eps=0.0),
        "normalize": lambda x: F.normalize(x, dim=0, eps=0.0)[0],
    }
    for name, function in functions.items():
        value, slope = gradient_of(function, x)
        scaled, scaled_slope = gradient_of(function, x * scale)
        assert_close(scaled, value, rtol=1e-14, atol=0, msg=name)
        assert_close(scaled_slope * scale, slope, rtol=1e-13, atol=1e-15, msg=name)


def test_renorm_of_huge_rows():
    value, slope = gradient_of(lambda x: pb.renorm(x, 2, 0, 1.0)[0, 0], [[1e200, 2e200, -1e200]])
    unit = np.array([1, 2, -1]) / math.sqrt(6)
    assert_close(value, unit[0], rtol=1e-14, atol=0)
    assert_close(slope[0] * 1e200, (np.array([1, 0, 0]) - unit[0] * unit) / math.sqrt(6), rtol=1e-13, atol=0)
