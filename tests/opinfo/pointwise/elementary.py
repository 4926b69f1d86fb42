"""OpInfo records of logit, sinc, steps, and of the binary digits of numbers."""

import math

import numpy as np
import scipy.special

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import broadcasting_pairs, unary

__all__ = ["OPINFOS"]

PAIRS = broadcasting_pairs(numbers=False)
APART = broadcasting_pairs(numbers=False, left={"low": 1, "high": 2}, right={"low": 3, "high": 4})
DIVISORS = broadcasting_pairs(numbers=False, low=-9, high=9)
A_THIRD = math.pi**2 / 3
COMPLEX = np.ones(2, complex)


def numbers_refused(name):
    """The refusal of plain numbers for tensors."""
    return [Raises(TypeError, (name, "Tensor", "float"), (np.ones(2), 2.0))]


def sinc_derivative(x, order):
    """By spherical Bessel functions: sinc(x) = j_0(pi x)."""
    z = math.pi * np.abs(x)
    j = [scipy.special.spherical_jn(n, z) for n in range(3)]
    first, second = -math.pi * j[1] * np.sign(x), math.pi**2 * (2 * j[2] - j[0]) / 3
    return (first if order == 1 else second).astype(x.dtype)


def exponents(make):
    """Fractional exponents, differentiable, and whole ones."""
    yield from PAIRS(make)
    yield Sample(make((2, 3)), np.array([-2, 0, 9])).named("whole")


def halves(make):
    """Steps at zeros, where the second argument is the value."""
    yield Sample(np.array([-1, 0, 2]).astype(make.dtype), make((3,)))
    yield Sample(make((2, 3), low=1, high=3), make((3,)))
    yield Sample(make((), low=-3, high=-1), make(()))
    yield Sample(make((0,)), make((0,)))


OPINFOS = [
    OpInfo("logit", lambda x: np.log(x / (1 - x)), unary(low=0.1, high=0.9), dtypes=FLOATS,
           limits=[Limit(at=(1e-300,), value=math.log(1e-300), grad=(1e300,), because="log(x) near 0"),
                   Limit(at=(0.0,), value=-math.inf, grad=(math.inf,), because="vertical at 0"),
                   Limit(at=(1.5,), value=math.nan, grad=(math.nan,), because="no value beyond 1")],
           errors=[Raises(RuntimeError, ("logit", "complex"), (COMPLEX,))]),
    OpInfo("logit", lambda x, eps: scipy.special.logit(np.clip(x, eps, 1 - eps)),
           unary(0.2, low=0.05, high=0.95, away_from=(0.2, 0.8)), dtypes=FLOATS, variant="eps",
           limits=[Limit(at=(0.0,), kwargs={"eps": 0.25}, value=-math.log(3), grad=(0.0,), second=(0.0,),
                         because="constant below eps"),
                   Limit(at=(0.25,), kwargs={"eps": 0.25}, value=-math.log(3), grad=(16 / 3,),
                         because="1 / (x (1 - x))")]),
    OpInfo("sinc", np.sinc, unary(), complex=True,
           limits=[Limit(at=(0.0,), value=1.0, grad=(0.0,), second=(-A_THIRD,), because="1 - (pi x)**2 / 6 + ..."),
                   Limit(at=(1e-8,), value=1.0, grad=(-A_THIRD * 1e-8,), second=(-A_THIRD,), because="the same series"),
                   Limit(at=(1e15,), value=0.0, grad=(1e-15,), because="sin(pi n) is 0, its slope pi if n is even"),
                   Limit(at=(math.inf,), value=0.0, grad=(0.0,), because="the limit")]),
    OpInfo("sinc_derivative", sinc_derivative, unary(1), dtypes=FLOATS),
    OpInfo("logistic", lambda x: 1 / (1 + np.exp(-x)), unary(), dtypes=FLOATS, complex=True),
    OpInfo("asin_slope", lambda x: (1 - x * x) ** -0.5, unary(low=-0.9, high=0.9), dtypes=FLOATS, complex=True),
    OpInfo("acosh_slope", lambda x: (x - 1) ** -0.5 * (x + 1) ** -0.5, unary(low=2, high=3), dtypes=FLOATS,
           complex=True),
    OpInfo("asinh_slope", lambda x: (1 + x * x) ** -0.5, unary(low=-0.9, high=0.9), dtypes=FLOATS, complex=True),
    OpInfo("atanh_slope", lambda x: 1 / (1 - x * x), unary(low=-0.9, high=0.9), dtypes=FLOATS, complex=True),
    OpInfo("times_complement", lambda x: x * (1 - x), unary(), complex=True),
    OpInfo("atan_slope", lambda x: 1 / (1 + x * x), unary(low=-0.9, high=0.9), dtypes=FLOATS, complex=True),
    OpInfo("hypot_slope", lambda x, y: x / np.hypot(x, y), broadcasting_pairs(low=1, high=3, numbers=False),
           dtypes=FLOATS, call=lambda x, y: TENSOR.hypot_slope(x, y, TENSOR.hypot(x, y).detach())),
    OpInfo("sinc_derivative", sinc_derivative, unary(2), dtypes=FLOATS, variant="second"),
    OpInfo("frexp", np.frexp, unary(away_from=(0, 0.5, 1, 2, 4)), dtypes=FLOATS,
           limits=[Limit(at=(2.0**-1074,), value=(0.5, -1073), because="subnormal numbers too")],
           errors=[Raises(TypeError, ("frexp", "complex128"), (COMPLEX,))]),
    OpInfo("ldexp", lambda x, n: x * np.exp2(n), exponents,
           complex=True, check_dtype=False, errors=numbers_refused("ldexp"),
           limits=[Limit(at=(2.0**-1000, np.array(1100)), value=2.0**100,
                         because="2**1100 overflows, the result does not")]),
    OpInfo("gcd", np.gcd, DIVISORS, dtypes=(np.int64,), order=0, errors=[
        Raises(TypeError, ("gcd", "float64"), (np.ones(2), np.ones(2)))]),
    OpInfo("lcm", np.lcm, DIVISORS, dtypes=(np.int64,), order=0, errors=[
        Raises(TypeError, ("lcm", "float64"), (np.ones(2), np.ones(2)))]),
    OpInfo("heaviside", lambda x, v: np.heaviside(x, v).astype(x.dtype), halves,
           limits=[Limit(at=(0.0, 0.5), value=0.5, grad=(0.0, 1.0), because="the value at 0"),
                   Limit(at=(2.0, 0.5), value=1.0, grad=(0.0, 0.0), because="a jump's gradient is that of its sides")],
           errors=[Raises(RuntimeError, ("heaviside", "complex"), (COMPLEX, COMPLEX)), *numbers_refused("heaviside")]),
    OpInfo("nextafter", np.nextafter, APART, dtypes=FLOATS, errors=numbers_refused("nextafter"),
           limits=[Limit(at=(1.0, 2.0), value=1 + 2.0**-52, grad=(1.0, 0.0), because="a step from self"),
                   Limit(at=(1.0, 1.0), value=1.0, grad=(0.0, 0.0), because="as PyTorch")]),
]  # fmt: skip
