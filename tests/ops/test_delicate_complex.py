"""Holomorphic functions beside their branch points, at huge and at tiny numbers, against mpmath."""

import mpmath
import numpy as np
import pytest
from mpmath import mp

import pullback as pb


def logistic(z):
    return 1 / (1 + mp.exp(-z))


def logistic_slope(z):
    return 1 / (2 + mp.exp(z) + mp.exp(-z))


HUGE = (1e155 + 1e155j, -1e200 + 1e199j, 1e300 - 1e300j)
NEAR = (1e-9 + 1j, 1e-9 - 1j)
HOLOMORPHIC = [
    ("log1p", pb.log1p, lambda z: mp.log(1 + z), lambda z: 1 / (1 + z), (1e-8 + 1e-8j, 1e-20 + 1e-22j, 1e-300j)),
    ("logaddexp", lambda z: pb.logaddexp(z, pb.tensor(0j)), lambda z: mp.log(1 + mp.exp(z)), logistic, (-20 + 1j, 40j)),
    ("asin", pb.asin, mp.asin, lambda z: 1 / mp.sqrt(1 - z) / mp.sqrt(1 + z), (1e-20 + 1e-22j, *HUGE)),
    ("acos", pb.acos, mp.acos, lambda z: -1 / mp.sqrt(1 - z) / mp.sqrt(1 + z), (1e-20 + 1e-22j, *HUGE)),
    ("asinh", pb.asinh, mp.asinh, lambda z: 1 / mp.sqrt(1 + 1j * z) / mp.sqrt(1 - 1j * z), (*NEAR, *HUGE)),
    ("acosh", pb.acosh, mp.acosh, lambda z: 1 / mp.sqrt(z - 1) / mp.sqrt(z + 1), (2 - 1e-10j, *HUGE)),
    ("atan", pb.atan, mp.atan, lambda z: 1 / (1 + z * z), (*NEAR, *HUGE)),
    ("atanh", pb.atanh, mp.atanh, lambda z: 1 / (1 - z) / (1 + z), (1 + 1e-9j, *HUGE)),
    ("tanh", pb.tanh, mp.tanh, lambda z: 1 / mp.cosh(z) ** 2, (800 + 1j, -800 + 1j)),
    ("sigmoid", pb.sigmoid, logistic, logistic_slope, (800 + 1j, -800 + 1j, -40 + 2j)),
    ("z**-1", lambda z: z**-1, lambda z: 1 / z, lambda z: -1 / z**2, HUGE),
    ("z**-2", lambda z: z**-2, lambda z: 1 / z**2, lambda z: -2 / z**3, HUGE),
]


@pytest.mark.parametrize(
    ("function", "closed", "slope", "z"),
    [pytest.param(f, v, s, z, id=f"{name} at {z}") for name, f, v, s, points in HOLOMORPHIC for z in points],
)
def test_holomorphic_functions_at_complex_numbers(function, closed, slope, z):
    leaf = pb.tensor(z, requires_grad=True)
    with np.errstate(over="ignore", invalid="ignore"):  # NumPy says so of z**-2, before a better way is taken
        value = function(leaf)
        (grad,) = pb.autograd.grad(value, leaf, pb.ones_like(value))
    with mpmath.workdps(700):
        turn = 2j * mp.pi  # a logarithm is known up to whole turns
        expected, off = closed(mp.mpc(z)), mp.mpc(value.item())
        expected += turn * mp.nint((off - expected).imag / (2 * mp.pi))
        for found, wanted in ((off, expected), (mp.conj(mp.mpc(grad.item())), slope(mp.mpc(z)))):
            assert abs(found - wanted) <= 1e-12 * abs(wanted) + 1e-307


SIDES = [complex(x, y) for x, y in [(2.5, 0.0), (2.5, -0.0), (-2.5, 0.0), (-2.5, -0.0), (0.5, -0.0)]]
SIDES += [complex(x, y) for x, y in [(0.0, 2.5), (-0.0, 2.5), (0.0, -2.5), (-0.0, -2.5)]]


@pytest.mark.parametrize("name", ["asin", "acos", "asinh", "acosh", "atanh", "sqrt", "log"])
@pytest.mark.parametrize("z", SIDES, ids=str)
def test_the_slope_on_a_branch_cut_is_that_of_the_side_that_the_sign_of_zero_tells(name, z):
    function, h = getattr(pb, name), 1e-6
    if z.imag == 0:  # along the axis, on which the cut lies: so the zero keeps its sign
        steps, along = [complex(z.real + h, z.imag), complex(z.real - h, z.imag)], h
    else:
        steps, along = [complex(z.real, z.imag + h), complex(z.real, z.imag - h)], 1j * h
    ahead, behind = (function(pb.tensor(w)).item() for w in steps)
    _, slope = pb.func.jvp(function, (pb.tensor(z),), (pb.tensor(1 + 0j),))
    assert slope.item() == pytest.approx((ahead - behind) / (2 * along), rel=1e-7)
