"""Python's math inside of compiled functions: its functions by the rules, its errors, and its integers."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError

POINTS = [np.array(x) for x in (1.2, 0.7, 2.5, 1.9, 3.1)]


def of_rules(x):
    return math.sin(x) * math.log(x) + math.atan2(x, 2.0) + math.hypot(x, 1.0, 2.0) + math.fsum([x, x * x])


@pytest.mark.parametrize("transform", [lambda f: f, pb.func.value_and_grad, pb.func.hessian])
def test_functions_go_to_their_rules(transform):
    f = transform(of_rules)
    made = pb.compile(f)
    with pb.adopt():
        for x in POINTS:
            np.testing.assert_allclose(made(x), f(x), rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert (len(variants.programs), variants.candidates) == (1, [])


def test_an_argument_outside_of_the_domain_is_refused_at_its_call():
    made = pb.compile(lambda x: math.log(x) + math.sqrt(x))
    with pb.adopt():
        for x in POINTS:
            made(x)
        with pytest.raises(ValueError, match=r"domain error|positive"):
            made(np.array(-1.0))
        assert made(POINTS[0]) == pytest.approx(math.log(1.2) + math.sqrt(1.2))
    (variants,) = made._by_signature.values()
    assert (len(variants.programs), variants.candidates) == (1, [])


def test_integers_lead_to_a_program_for_each():
    made = pb.compile(pb.func.value_and_grad(lambda x: x ** math.floor(x) if math.isfinite(x) else 0 * x))
    with pb.adopt():
        for x in [*POINTS, *POINTS, *POINTS]:
            value, slope = made(x)
            n = math.floor(x)
            assert (value, slope) == pytest.approx((x**n, n * x ** (n - 1)))
    (variants,) = made._by_signature.values()
    assert len(variants.programs) >= 2
    assert variants.eager is None


def by_math(x):
    return math.sin(x[0]) * x[1]


def by_buffer(x):
    z = np.zeros(2)
    z[0] = x[0] * x[1]
    return (z * z).sum()


@pytest.mark.parametrize("function", [by_math, by_buffer, lambda x: np.array([x[0], x[1]]).sum()])
def test_what_is_refused_without_adopt_is_refused_at_every_call(function):
    x = np.array([0.5, 1.0])
    compiled, derivative = pb.compile(function), pb.compile(pb.func.grad(function))
    for _ in range(5):
        assert compiled(x) == function(x)
        with pytest.raises(DetachingError):
            derivative(x)
    with pb.adopt():
        for _ in range(5):
            np.testing.assert_allclose(derivative(x), pb.func.grad(function)(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: math.exp(s) * x,
        lambda s, x: (2 * math.exp(s) + 1.0) * x,
        lambda s, x: math.sqrt(x[0]) * x,
        lambda s, x: np.exp(s) * x,
        lambda s, x: math.exp(s) * x.astype(float),
        lambda s, x: math.exp(s) * np.sin(s),
        lambda s, x: np.array([math.exp(x[0]), 2.0]),
        lambda s, x: math.exp(x[0]) * (x > 0),
        lambda s, x: (math.exp(s) * np.arange(3)) * x,
        lambda s, x: np.where(x > 1, math.exp(s), x),
        lambda s, x: np.float64(2) * math.exp(s) * x,
    ],
)
@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_numbers_of_math_do_not_count_for_the_dtype(function):
    s, x = np.array(0.5), np.float32([1.7, 1.0, 0.3])
    compiled = pb.compile(function)
    for _ in range(3):
        found, expected = compiled(s, x), function(s, x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-7 if found.dtype == np.float32 else 1e-14)
    assert sum(len(y.programs) for y in compiled._by_signature.values()) == 1
