"""The elementary functions are within two units in the last place, and right at special numbers."""

import zlib

import mpmath
import numpy as np
import pytest

from pullback.compiler.native.functions import FUNCTIONS
from tests.compiler.native.interpreter import CONTRACTION
from tests.compiler.native.sweeps import DTYPES, compiled, errors, interpreted, numbers, special
from tools import polynomials

WIDE = np.longdouble
needs_wide = pytest.mark.skipif(np.finfo(WIDE).nmant < 63, reason="long double is double here: there is no reference")

# name: (reference in long double, range of usual arguments)
REFERENCES = {
    "exp": (np.exp, (-760, 720)),
    "exp2": (np.exp2, (-1100, 1030)),
    "expm1": (np.expm1, (-50, 720)),
    "log": (np.log, (0, 3)),
    "log2": (np.log2, (0, 3)),
    "log10": (np.log10, (0, 3)),
    "log1p": (np.log1p, (-1, 3)),
    "sin": (np.sin, (-30, 30)),
    "cos": (np.cos, (-30, 30)),
    "tan": (np.tan, (-30, 30)),
    "sinh": (np.sinh, (-3, 3)),
    "cosh": (np.cosh, (-720, 720)),
    "tanh": (np.tanh, (-20, 20)),
    "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)),
    "atan": (np.arctan, (-6, 6)),
    "asinh": (np.arcsinh, (-5, 5)),
    "acosh": (np.arccosh, (1, 5)),
    "atanh": (np.arctanh, (-1, 1)),
    "cbrt": (np.cbrt, (-10, 10)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0, 10)),
    "sigmoid": (lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))), (-750, 40)),
    "softplus": (lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), (-750, 40)),
    "atan2": (np.arctan2, (-100, 100)),
    "hypot": (np.hypot, (-100, 100)),
    "pow": (np.power, (0, 100)),
}
PAIRS = ("atan2", "hypot", "pow")
# Units in the last place; where one rounding after the other is felt, more.
UNITS = {"sigmoid": 2.0, "softplus": 1.8, "expm1": 1.7, "pow": 1.7}
USUAL = 1.6


def _arguments(name, bits, size):
    """Numbers of all sizes, of the usual range and around 0, and special ones."""
    random, dtype = np.random.default_rng(zlib.crc32(name.encode())), DTYPES[bits]
    low, high = REFERENCES[name][1]
    if bits == 32 and max(-low, high) > 700:
        low, high = low / 7, high / 7
    many = numbers(bits, size)
    usual = random.uniform(low, high, size).astype(dtype)
    around = (random.uniform(-1, 1, size) * 10.0 ** random.uniform(-6, 6, size)).astype(dtype)
    if name not in PAIRS:
        return [np.concatenate([many, usual, around, special(bits)])]
    pairs = [x.ravel() for x in np.meshgrid(special(bits), special(bits))]
    if name == "pow":  # whose result is in range
        limit = 744 if bits == 64 else 103
        other = limit / np.log(np.maximum(np.abs(around), 1e-30).astype(float)) * random.uniform(-1, 1, size)
        near = 1 + around.astype(float) * 1e-8
        last = limit / np.log(np.where(near == 1, 1.1, np.abs(near).astype(dtype))) * random.uniform(-1, 1, size)
        firsts, lasts = (
            (many, np.abs(around), np.abs(near), np.round(around)),
            (other, other, last, np.round(usual / 10)),
        )
    else:
        other = around.astype(float) * random.uniform(-2, 2, size)
        firsts, lasts = (many, usual, around), (numbers(bits, size, 1), random.uniform(low, high, size), other)
    return [
        np.concatenate([x.astype(dtype) for x in (*some, edge)])
        for some, edge in zip((firsts, lasts), pairs, strict=True)
    ]


def _check(found, exact, limit, args):
    distance = errors(found, exact)
    worst = int(np.argmax(distance))
    assert distance[worst] <= limit, (distance[worst], [float(x[worst]) for x in args], found[worst], exact[worst])


def _reference(name, args):
    with np.errstate(all="ignore"):
        return REFERENCES[name][0](*(x.astype(WIDE) for x in args))


@needs_wide
@pytest.mark.parametrize("contraction", CONTRACTION)
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_are_near_the_exact_numbers(name, bits, contraction):
    args = _arguments(name, bits, 1000)
    found = interpreted(FUNCTIONS[name], args, contraction)
    _check(found, _reference(name, args), UNITS.get(name, USUAL), args)


@needs_wide
@pytest.mark.slow
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sweeps_of_machine_code_are_near_the_exact_numbers(name, bits, tool):
    args = _arguments(name, bits, 2**20 // 3)
    exact = _reference(name, args)
    vectors = compiled(tool, FUNCTIONS[name], args, 512 // bits)
    _check(vectors, exact, 2.0, args)
    scalars = compiled(tool, FUNCTIONS[name], args, 1)
    _check(scalars, exact, 2.0, args)  # of these, compilers fuse other sums


# -- what long double has not ------------------------------------------------------------------------------------------
def _erfcx(x):
    if x < 50:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    return mpmath.nsum(lambda k: (-1) ** k * mpmath.fac2(2 * k - 1) / (2 * x * x) ** k, [0, 20]) / (
        x * mpmath.sqrt(mpmath.pi)
    )


MPMATH = {
    "erf": (mpmath.erf, (-7, 7), 2.0),
    "erfc": (mpmath.erfc, (-6, 28), 2.2),
    "erfcx": (_erfcx, (-5, 60), 2.4),
    "lgamma": (lambda x: mpmath.loggamma(x).real, (0.01, 40), 3.2),
    "digamma": (mpmath.digamma, (0.01, 40), 3.5),
    "trigamma": (lambda x: mpmath.psi(1, x), (0.01, 40), 2.5),
    "normal_cdf": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, (-39, 9), 2.2),
}


def _in_wide(x):
    """An mpmath number in long double, subnormal ones too."""
    if not mpmath.isfinite(x) or x == 0:
        return WIDE(float(x))
    significand, exponent = mpmath.frexp(x)
    first = float(significand)
    return np.ldexp(WIDE(first) + WIDE(float(significand - mpmath.mpf(first))), int(exponent))


@needs_wide
@pytest.mark.parametrize("contraction", CONTRACTION)
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", MPMATH)
def test_special_functions_are_near_the_exact_numbers(name, bits, contraction):
    function, (low, high), limit = MPMATH[name]
    random = np.random.default_rng(5)
    scale = 1 if bits == 64 else 0.4
    usual, around = random.uniform(low, high, 150) * scale, random.uniform(-2, 2, 100)
    tiny = random.uniform(-1, 1, 50) * 10.0 ** random.uniform(-20, 0, 50)
    x = np.concatenate([usual, around, tiny]).astype(DTYPES[bits])
    x = np.abs(x) if low > 0 else x
    with mpmath.workprec(200):
        exact = np.array([_in_wide(function(mpmath.mpf(float(number)))) for number in x])
    _check(interpreted(FUNCTIONS[name], [x], contraction), exact, limit, [x])


@pytest.mark.parametrize("bits", [64, 32])
def test_special_functions_at_special_numbers(bits):
    dtype = DTYPES[bits]
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)
    wanted = {
        "erf": [0, -0.0, 1, -1, np.nan],
        "erfc": [1, 1, 0, 2, np.nan],
        "erfcx": [1, 1, 0, np.inf, np.nan],
        "normal_cdf": [0.5, 0.5, 1, 0, np.nan],
        "lgamma": [np.inf, np.inf, np.inf, np.inf, np.nan],
        "digamma": [-np.inf, np.inf, np.inf, np.nan, np.nan],
        "sinc": [1, 1, 0, 0, np.nan],
        "log_sigmoid": np.array([-np.log(2), -np.log(2), 0, -np.inf, np.nan], dtype),
    }
    for name, values in wanted.items():
        found = interpreted(FUNCTIONS[name], [x])
        assert repr(found.tolist()) == repr(np.array(values, dtype).tolist()), name


# -- exact ones --------------------------------------------------------------------------------------------------------
def _same(found, want):
    return ((found == want) & (np.signbit(found) == np.signbit(want))) | (np.isnan(found) & np.isnan(want))


EXACT = ["fmod", "remainder", "floor_divide", "maximum", "minimum", "fmax", "fmin", "heaviside", "copysign"]


def _check_same(name, x, y, found):
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    wrong = np.flatnonzero(~_same(found, want))[:5]
    assert not wrong.size, [(float(x[k]), float(y[k]), float(found[k]), float(want[k])) for k in wrong]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", EXACT)
def test_remainders_and_choices_are_exact(name, bits, tool):
    edges = [x.ravel() for x in np.meshgrid(special(bits), special(bits))]
    x, y = (np.concatenate([edge, numbers(bits, 1000, k)]) for k, edge in enumerate(edges))
    for lanes in (1, 256 // bits):
        _check_same(name, x, y, compiled(tool, FUNCTIONS[name], [x, y], lanes))


@pytest.mark.parametrize("contraction", CONTRACTION)
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", EXACT)
def test_remainders_and_choices_are_exact_however_sums_are_contracted(name, bits, contraction):
    random, dtype = np.random.default_rng(2), DTYPES[bits]
    x, y = random.uniform(-100, 100, 2000).astype(dtype), random.uniform(-3, 3, 2000).astype(dtype)
    _check_same(name, x, y, interpreted(FUNCTIONS[name], [x, y], contraction))


@pytest.mark.parametrize("bits", [64, 32])
def test_whole_logarithms_are_exact(bits):
    k = np.arange(-126 if bits == 32 else -1022, 127)
    assert (interpreted(FUNCTIONS["log2"], [np.ldexp(DTYPES[bits].type(1), k)]) == k).all()
    assert (interpreted(FUNCTIONS["exp2"], [k.astype(DTYPES[bits])]) == np.ldexp(DTYPES[bits].type(1), k)).all()
    tens = 10 ** np.arange(11 if bits == 32 else 23, dtype=float)
    assert (interpreted(FUNCTIONS["log10"], [tens.astype(DTYPES[bits])]) == np.arange(tens.size)).all()


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_huge_angles_and_quotients_go_lane_by_lane(tool, lanes):
    x = np.array([0.5, 1e22, -1e300, np.inf, 3.5e6, -0.0, np.nan])
    with np.errstate(invalid="ignore"):
        for name in ("sin", "cos", "tan"):
            np.testing.assert_array_max_ulp(compiled(tool, FUNCTIONS[name], [x], lanes), getattr(np, name)(x), 2)
        y = np.array([0.3, 0.7, 5e-324, 2.0, 1e-300, 3.0, 1.0])
        np.testing.assert_array_equal(compiled(tool, FUNCTIONS["fmod"], [x, y], lanes), np.fmod(x, y))


def test_coefficients_are_those_that_the_tool_writes():
    with mpmath.workprec(1500):
        assert polynomials.written() == polynomials.TARGET.read_text()
