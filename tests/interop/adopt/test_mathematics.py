"""`math` and `cmath` on our tensors: values, slopes and errors."""

import cmath
import math

import numpy as np
import pytest

import pullback as pb
from pullback.interop.adopt import mathematics
from pullback.interop.adopt.rules import CMATH, MATH

plain = [math, cmath]  # adopt() reaches names, not lists


@pytest.fixture(autouse=True)
def _adopted(adopted):
    pass


# Arguments for functions that do not take one number in (0, 1).
ARGUMENTS = {
    "acosh": (1.7,), "atan2": (0.3, -0.8), "copysign": (0.3, -2.0), "fma": (0.3, 0.7, 2.0), "fmod": (5.3, 0.7),
    "frexp": (5.3,), "gamma": (-1.3,), "hypot": (0.3, 0.7, 1.1), "ldexp": (0.3, 3), "lgamma": (2.7,), "log": (0.3, 2.5),
    "modf": (5.3,), "pow": (0.7, 2.3), "remainder": (5.3, 0.7),
}  # fmt: skip
OF_LISTS = {
    "dist": ([0.3, 0.7], [1.0, 0.2]),
    "fsum": ([0.3, 0.7],),
    "prod": ([0.3, 0.7],),
    "sumprod": ([0.3, 0.7], [2.0, 0.5]),
}


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", sorted(name for name in MATH - OF_LISTS.keys() if hasattr(math, name)))
def test_slope_of_a_function_of_numbers(name):
    function, genuine = getattr(math, name), getattr(plain[0], name)
    args = ARGUMENTS.get(name, (0.3,))
    assert function is not genuine
    for i, x in enumerate(args):
        if isinstance(x, int):
            continue

        def f(x, i=i, function=function):
            return first(function(*args[:i], x, *args[i + 1 :]))

        value, slope = pb.func.value_and_grad(f)(x)
        assert value == pytest.approx(f(x, function=genuine), rel=1e-14)
        expected = (f(x + 1e-6, function=genuine) - f(x - 1e-6, function=genuine)) / 2e-6
        assert slope == pytest.approx(expected, rel=1e-7, abs=1e-9)
        assert pb.func.jvp(f, (x,), (1.0,))[1] == pytest.approx(expected, rel=1e-7, abs=1e-9)
        assert first(function(*args)) == first(genuine(*args))


@pytest.mark.parametrize("name", sorted(name for name in OF_LISTS if hasattr(math, name)))
def test_slope_of_a_function_of_lists(name):
    function, genuine, (values, *others) = getattr(math, name), getattr(plain[0], name), OF_LISTS[name]
    slopes = pb.func.grad(lambda x: function([x[0], x[1]], *others))(np.array(values))
    for i in range(2):
        shifted = [[v + step * (j == i) for j, v in enumerate(values)] for step in (1e-6, -1e-6)]
        expected = (genuine(shifted[0], *others) - genuine(shifted[1], *others)) / 2e-6
        assert slopes[i] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", sorted(CMATH - {"polar"}))
def test_slope_of_a_complex_function(name):
    function, genuine = getattr(cmath, name), getattr(plain[1], name)

    def f(x, function=function):
        z = function(x * 0.7, x) if name == "rect" else function(x * (0.7 + 0.4j)) + 0j
        return z.real + 2 * z.imag

    value, slope = pb.func.value_and_grad(f)(0.8)
    assert value == pytest.approx(f(0.8, genuine), rel=1e-13)
    assert slope == pytest.approx((f(0.8 + 1e-6, genuine) - f(0.8 - 1e-6, genuine)) / 2e-6, rel=1e-6, abs=1e-9)


def test_complex_root_of_a_negative_number_and_polar():
    assert pb.func.grad(lambda x: cmath.sqrt(-x).imag)(4.0) == pytest.approx(0.25)
    assert pb.func.grad(lambda x: cmath.polar(x * (3 + 4j))[0] + cmath.polar(x * 1j)[1])(1.0) == pytest.approx(5.0)


@pytest.mark.filterwarnings("ignore::pullback.extend.IndependentResultWarning")
def test_what_is_constant_between_jumps_gives_pythons_plain_answer():
    def f(x):
        assert math.floor(x) == 2
        assert type(math.floor(x)) is int
        assert (math.ceil(x), math.trunc(-x), math.isnan(x), math.isclose(x, 2.0, rel_tol=1.0)) == (3, -2, False, True)
        return x * math.floor(x) + math.modf(x)[1] * x + math.frexp(x)[1]

    assert pb.func.grad(f)(2.5) == 4.0


def test_iterators_are_run_through_once():
    seen = []

    def f(x):
        total = math.fsum(seen.append(i) or v**2 for i, v in enumerate(x))
        assert math.prod(v for v in [2.0, 3.0]) == 6.0
        return total * math.prod((v for v in x), start=2)

    slopes = pb.func.grad(f)(np.array([0.5, 2.0]))
    np.testing.assert_allclose(slopes, [2 * (2 * 0.5 * 1.0 + 4.25 * 2.0), 2 * (2 * 2.0 * 1.0 + 4.25 * 0.5)])
    assert seen == [0, 1]


def test_what_carries_no_gradient_gives_a_plain_number():
    def f(x):
        assert type(math.exp(np.zeros(2)[0])) is float
        assert type(math.nextafter(np.zeros(2)[0], 3.0)) is float
        with pb.no_grad():
            assert type(math.exp(x)) is float
        return x

    pb.func.grad(f)(1.0)


def test_errors_are_pythons():
    for call, kind in (
        (lambda x: math.sqrt(-x), ValueError),
        (lambda x: math.log(x - x), ValueError),
        (lambda x: math.exp(1000 * x), OverflowError),
        (lambda x: math.acos(2 * x), ValueError),
        (lambda x: math.sqrt(np.array([x, x])), TypeError),
    ):
        with pytest.raises(kind):
            pb.func.grad(call)(2.0)
    with pytest.raises(TypeError, match="must be real number"):
        math.sqrt("two")
    with pytest.raises(TypeError, match="exactly one argument"):
        math.sqrt()


def test_what_has_no_rule_is_refused_by_name():
    with pytest.raises(RuntimeError, match=r"math\.nextafter has no rule(.|\n)*test_mathematics"):
        pb.func.grad(lambda x: math.nextafter(x, 3.0))(2.0)


def test_the_table_of_names_is_that_of_rules():
    assert frozenset(mathematics.MATH) == MATH
    assert frozenset(mathematics.CMATH) == CMATH
    assert all(hasattr(math, name) for name in MATH - {"cbrt", "exp2", "sumprod", "fma"})
