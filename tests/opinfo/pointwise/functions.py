"""OpInfo records of the operators of the area pointwise."""

import math
import warnings

import numpy as np
import scipy.special

from pullback.core.errors import ComplexToRealWarning
from pullback.testing.opinfo.core import FLOATS, Limit, Make, OpInfo, Raises, Sample, weakly
from pullback.testing.opinfo.samples import T, broadcasting, broadcasting_pairs, cases, on, unary

__all__ = ["OPINFOS"]

WHOLE = tuple(range(-5, 6))  # where the rounding functions jump
HALVES = tuple(n + 0.5 for n in range(-5, 5))
BIT_DTYPES = (np.int64, np.bool)
POSITIVE = unary(low=0.3, high=2.5)
INSIDE = unary(low=-0.9, high=0.9)


def mismatch(name):
    """The refusal of two shapes that do not broadcast."""
    return [Raises(RuntimeError, (name, "(2,)", "(3,)"), (np.ones(2, np.int64), np.ones(3, np.int64)))]


def binary(name, reference, samples=None, *, numbers=True, errors=(), **how):
    """A record of an operator of two arguments that broadcast.

    `numbers`: whether plain numbers may stand for tensors: True, False, or "last" for all but the first argument.
    """
    errors = [*errors, *mismatch(name)]
    if numbers is False:
        errors.append(Raises(TypeError, (name, "Tensor", "float"), (np.ones(2), 2.0)))
    if numbers is not True:
        errors.append(Raises(TypeError, (name, "Tensor", "float"), (2.0, np.ones(2))))
    samples = samples or broadcasting_pairs(numbers=numbers is True)
    if numbers == "last":
        samples = with_last_number(samples)
    return OpInfo(name, reference, samples, errors=errors, **how)


def with_last_number(samples):
    """The samples, and a call in which the last argument is a number."""

    def more(make: Make):
        yield from samples(make)
        yield Sample(make((3,), low=2, high=4), make((), low=2, high=4).item()).named("last_is_a_number")

    return more


def unordered(name, *more, count=2):
    """The refusal of complex arguments, which have no order."""
    return [Raises(RuntimeError, (name, "complex", "no order"), (np.ones(2, complex),) * count + more)]


def tie(because, grad=(0.5, 0.5)):
    """The gradient where two arguments are equal."""
    return [Limit(at=(1.0, 1.0), value=1.0, grad=grad, because=because)]


ARITHMETIC = [
    binary("add", np.add, complex=True),
    OpInfo("add", lambda x, y, alpha: x + alpha * y, broadcasting_pairs(alpha=2), complex=True, variant="alpha"),
    binary("sub", np.subtract, complex=True),
    OpInfo("sub", lambda x, y, alpha: x - alpha * y, broadcasting_pairs(alpha=2), complex=True, variant="alpha"),
    binary("rsub", lambda x, y: np.subtract(y, x), numbers="last", complex=True),
    OpInfo(
        "rsub",
        lambda x, y, alpha: y - alpha * x,
        broadcasting_pairs(alpha=2, numbers=False),
        complex=True,
        variant="alpha",
    ),
    binary("mul", np.multiply, complex=True, aliases=["multiply"]),
    binary(
        "div",
        np.true_divide,
        broadcasting_pairs(right={"away_from": 0}),
        complex=True,
        limits=[Limit(at=(1e-300, 1e-200), grad=(1e200, -1e100), because="other**2 vanishes, the answer does not")],
    ),
    OpInfo(
        "div",
        lambda x, y, **_: np.floor_divide(x, y),
        broadcasting_pairs(left={"low": 1, "high": 9}, right={"low": 2, "high": 4}, rounding_mode="floor"),
        variant="floor",
        errors=[Raises(RuntimeError, ("div", "rounding_mode", "up"), (np.ones(2), 2.0), {"rounding_mode": "up"})],
    ),
    OpInfo(
        "div",
        lambda x, y, **_: np.trunc(x / y).astype(np.result_type(x, y)),
        broadcasting_pairs(left={"low": -9, "high": -1}, right={"low": 2, "high": 4}, rounding_mode="trunc"),
        variant="trunc",
    ),
    OpInfo(
        "div",
        lambda x, y, **_: x / y,
        broadcasting_pairs(right={"away_from": 0}, rounding_mode=None),
        complex=True,
        variant="unrounded",
    ),
    binary(
        "floor_divide", np.floor_divide, broadcasting_pairs(left={"low": 1, "high": 9}, right={"low": 2, "high": 4})
    ),
    binary("remainder", np.remainder, broadcasting_pairs(left={"low": -9, "high": -1}, right={"low": 2, "high": 4})),
    binary(
        "fmod",
        np.fmod,
        broadcasting_pairs(left={"low": -9, "high": -1}, right={"low": 2, "high": 4}, numbers=False),
        numbers="last",
    ),
    OpInfo("neg", np.negative, unary(), complex=True, errors=[Raises(TypeError, ("neg", "bool"), (np.array([True]),))]),
    OpInfo("positive", np.positive, unary(), complex=True),
    OpInfo(
        "addcmul",
        lambda x, a, b, value=1: x + value * a * b,
        lambda make: [*broadcasting(3, numbers=False)(make), *broadcasting(3, numbers=False, value=3)(make)],
        complex=True,
    ),
    OpInfo(
        "addcdiv",
        lambda x, a, b, value=1: x + value * (a / b),
        lambda make: [
            *broadcasting(3, numbers=False, each=[{}, {}, {"away_from": 0}])(make),
            *broadcasting(3, numbers=False, each=[{}, {}, {"away_from": 0}], value=3)(make),
        ],
        complex=True,
    ),
    OpInfo(
        "lerp",
        lambda x, end, weight: x + weight * (end - x),
        broadcasting(3, numbers=False),
        dtypes=(*FLOATS, np.complex128),
        limits=[Limit(at=(1e16, 1.0, 1.0), value=1.0, because="weight 1 gives the end, not what cancelled")],
    ),
    OpInfo(
        "lerp",
        lambda x, end, weight: x + weight * (end - x),
        lambda make: [Sample(make((3,)), make((3,)), weight) for weight in (0.3, 0.7)],
        dtypes=(*FLOATS, np.complex128),
        variant="number",
    ),
]


def powers(make: Make):
    """Bases and exponents of every kind that a power distinguishes."""
    yield from broadcasting_pairs(left={"low": 0.5, "high": 2.5}, right={"low": 0, "high": 3})(make)
    for exponent in (0, 1, 2, 3, 4, 7):
        yield Sample(make((2, 3)), exponent)
    if make.dtype.kind != "i":
        for exponent in (-1, -2, 0.5, 1.5, -0.5):
            yield Sample(make((4,), low=0.5, high=2.5), exponent)


POWERS = [
    binary(
        "pow",
        np.power,
        powers,
        complex=True,
        limits=[
            Limit(at=(0.0, 0.0), value=1.0, grad=(0.0, 0.0), because="x**0 is 1 for every x; 0**y is 0 for y > 0"),
            Limit(at=(0.0, 1.0), value=0.0, grad=(1.0, 0.0), because="x**1 is x"),
            Limit(at=(0.0, 2.0), value=0.0, grad=(0.0, 0.0), because="0 * log(0) is 0 here"),
            Limit(at=(0.0,), kwargs={"exponent": 0}, value=1.0, grad=(0.0,), second=(0.0,), because="constant"),
            Limit(at=(0.0,), kwargs={"exponent": 2}, value=0.0, grad=(0.0,), second=(2.0,), because="a parabola"),
            Limit(at=(-2.0,), kwargs={"exponent": 3}, value=-8.0, grad=(12.0,), second=(-12.0,), because="a cubic"),
            Limit(at=(2.0, 0.0), value=1.0, grad=(0.0, math.log(2)), second=(0.5, 0.5 + math.log(2) ** 2),
                  because="the mixed second derivative at exponent 0 is 1 / x"),
        ],
    ),
    OpInfo("float_power", np.float_power, unary(2.5, low=0.3, high=2.5), dtypes=(np.float64, np.int64, np.complex128)),
    OpInfo("square", np.square, unary(), complex=True),
    OpInfo(
        "sqrt", np.sqrt, POSITIVE, complex=True, limits=[Limit(at=(0.0,), grad=(math.inf,), because="vertical at 0")]
    ),
    OpInfo("cbrt", np.cbrt, unary(away_from=0), limits=[Limit(at=(0.0,), grad=(math.inf,), because="vertical at 0")]),
    OpInfo("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE, complex=True),
    OpInfo("reciprocal", lambda x: 1 / x, unary(away_from=0, shapes=((), (3,), (2, 3), (0,)), low=1), complex=True),
]  # fmt: skip

SHARE = "two equal infinities share the gradient"
EXPONENTIAL = [
    OpInfo("exp", np.exp, unary(), complex=True),
    OpInfo("exp2", lambda x: 2.0**x, unary(), complex=True),
    OpInfo("expm1", np.expm1, unary(), complex=True),
    OpInfo("log", np.log, POSITIVE, complex=True),
    OpInfo("log2", np.log2, POSITIVE, complex=True),
    OpInfo("log10", np.log10, POSITIVE, complex=True),
    OpInfo("log1p", np.log1p, POSITIVE, complex=True, limits=[Limit((1e-20,), (1.0,), 1e-20, because="log1p(x) ~ x")]),
    binary(
        "logaddexp",
        lambda x, y: np.log(np.exp(x) + np.exp(y)),
        broadcasting_pairs(low=-1.5, high=1.5, numbers=False),
        numbers=False,
        complex=True,
        limits=[
            Limit(at=(-math.inf, -math.inf), value=-math.inf, grad=(0.5, 0.5), because=SHARE),
            Limit(at=(math.inf, math.inf), value=math.inf, grad=(0.5, 0.5), because=SHARE),
            Limit(at=(1e4, 0.0), value=1e4, grad=(1.0, 0.0), because="exp overflows, the answer does not"),
            Limit(at=(1.0, -math.inf), value=1.0, grad=(1.0, 0.0), because="log(e + 0)"),
        ],
    ),
    binary(
        "logaddexp2",
        np.logaddexp2,
        numbers=False,
        limits=[Limit(at=(-math.inf, -math.inf), value=-math.inf, grad=(0.5, 0.5), because=SHARE)],
    ),
    binary(
        "xlogy",
        weakly(scipy.special.xlogy),
        broadcasting_pairs(right={"low": 0.3, "high": 2.5}),
        limits=[
            Limit(at=(0.0, 0.0), value=0.0, grad=(0.0, 0.0), because="0 * log(y) is 0 for every y"),
            Limit(at=(0.0, 2.0), value=0.0, grad=(math.log(2), 0.0), second=(0.5, 0.5), because="log(y) * dx"),
        ],
        errors=[Raises(RuntimeError, ("xlogy", "complex"), (np.ones(2, complex), np.ones(2)))],
    ),
    OpInfo(
        "sigmoid",
        lambda x: 1 / (1 + np.exp(-x)),
        unary(),
        complex=True,
        limits=[
            Limit(at=(1000.0,), value=1.0, grad=(0.0,), because="flat"),
            Limit(at=(-1000.0,), value=0.0, grad=(0.0,), because="exp(1000) overflows, the answer does not"),
            Limit(at=(-1000 + 1j,), value=0.0, grad=(0.0,), because="as for real numbers"),
        ],
    ),
    OpInfo("erf", scipy.special.erf, unary(), complex=True),
    OpInfo("erfc", scipy.special.erfc, unary(), complex=True,
           limits=[Limit(at=(1e200,), grad=(-0.0,), because="exp(-inf)")]),
]  # fmt: skip

NO_DIRECTION = "no direction at the origin: 0 by convention"
SQUARES = "squares overflow, the answer does not"
X1 = 1 - 2.0**-40  # 1 - X1 and 1 + X1 are exact
NEAR_ONE = (1 - X1) * (1 + X1)
TRIGONOMETRIC = [
    OpInfo("sin", np.sin, unary(), complex=True),
    OpInfo("cos", np.cos, unary(), complex=True),
    OpInfo("tan", np.tan, INSIDE, complex=True),
    OpInfo(
        "asin", np.arcsin, INSIDE, complex=True,
        limits=[Limit((X1,), (NEAR_ONE**-0.5,), because="1 - x*x cancels near 1, (1 - x)(1 + x) does not", rtol=1e-15)],
    ),
    OpInfo(
        "acos", np.arccos, INSIDE, complex=True,
        limits=[Limit((X1,), (-(NEAR_ONE**-0.5),), because="as for asin", rtol=1e-15)],
    ),
    OpInfo("atan", np.arctan, unary(), complex=True),
    binary(
        "atan2", np.arctan2, broadcasting_pairs(left={"away_from": 0}, numbers=False), numbers=False,
        limits=[
            Limit(at=(0.0, 0.0), grad=(0.0, 0.0), second=(0.0, 0.0), because=NO_DIRECTION),
            Limit(at=(1e200, 1e200), grad=(5e-201, -5e-201), because=SQUARES),
        ],
    ),
    OpInfo("sinh", np.sinh, unary(), complex=True),
    OpInfo("cosh", np.cosh, unary(), complex=True),
    OpInfo("tanh", np.tanh, unary(), complex=True, limits=[Limit((1000.0,), (0.0,), 1.0, because="flat")]),
    OpInfo(
        "asinh", np.arcsinh, unary(), complex=True,
        limits=[Limit(at=(1e200,), grad=(1e-200,), because=SQUARES)],
    ),
    OpInfo(
        "acosh", np.arccosh, unary(low=1.5, high=3), complex=True,
        limits=[Limit(at=(1e200,), grad=(1e-200,), because=SQUARES)],
    ),
    OpInfo(
        "atanh", np.arctanh, unary(low=-0.9, high=0.9), complex=True,
        limits=[Limit((X1,), (1 / NEAR_ONE,), because="as for asin", rtol=1e-15)],
    ),
    binary(
        "hypot", np.hypot, broadcasting_pairs(left={"away_from": 0}, numbers=False), numbers=False,
        limits=[
            Limit(at=(0.0, 0.0), grad=(0.0, 0.0), second=(0.0, 0.0), because=NO_DIRECTION),
            Limit(at=(1e200, 1e200), grad=(0.5**0.5, 0.5**0.5), because=SQUARES),
        ],
    ),
    OpInfo("deg2rad", np.deg2rad, unary()),
    OpInfo("rad2deg", np.rad2deg, unary()),
]  # fmt: skip

OFF_ZERO = unary(away_from=0)
COMPLEX = [
    OpInfo("conj", np.conjugate, unary(), complex=True),
    OpInfo("conjugate", np.conjugate, unary(), complex=True),
    OpInfo("conj_physical", np.conjugate, unary(), complex=True),
    OpInfo("real", np.real, unary(), complex=True),
    OpInfo("imag", np.imag, unary(), dtypes=(np.complex128,), errors=[Raises(RuntimeError, ("imag",), (np.ones(2),))]),
    OpInfo(
        "angle", np.angle, OFF_ZERO, complex=True,
        limits=[
            Limit(at=(0j,), grad=(0j,), because=NO_DIRECTION),
            Limit(at=(1e200 + 0j,), grad=(1e-200j,), because=SQUARES),
        ],
    ),
    OpInfo(
        "complex", lambda x, y: x + 1j * y, broadcasting_pairs(numbers=False), dtypes=FLOATS,
        errors=[Raises(RuntimeError, ("complex", "float64", "float32"), (np.ones(2), np.ones(2, np.float32)))],
    ),
    OpInfo("polar", lambda r, phi: r * np.exp(1j * phi), broadcasting_pairs(numbers=False), dtypes=FLOATS),
]  # fmt: skip

FLAT = "the subgradient 0 at the kink"
SIZE_AND_SIGN = [
    OpInfo(
        "abs", np.abs, OFF_ZERO, complex=True, aliases=["absolute"],
        limits=[Limit((0.0,), (0.0,), because=FLAT), Limit((0j,), (0j,), because=FLAT)],
    ),
    OpInfo("sign", np.sign, OFF_ZERO, errors=[Raises(RuntimeError, ("sign", "sgn"), (np.ones(2, complex),))]),
    OpInfo("sgn", np.sign, OFF_ZERO, complex=True, limits=[Limit(at=(0j,), grad=(0j,), because=NO_DIRECTION)]),
    binary(
        "copysign", np.copysign, broadcasting_pairs(away_from=0, numbers=False), numbers="last",
        limits=[Limit(at=(0.0, -1.0), value=-0.0, grad=(0.0, 0.0), because=FLAT)],
    ),
    *(
        OpInfo(name, reference, unary(away_from=away),
               errors=[Raises((RuntimeError, TypeError), (name, "complex"), (np.ones(2, complex),))])
        for name, reference, away in (("floor", np.floor, WHOLE), ("ceil", np.ceil, WHOLE), ("trunc", np.trunc, WHOLE),
                                      ("round", np.round, HALVES))
    ),
    OpInfo("round", np.round, unary(decimals=-1), variant="decimals"),
    OpInfo("frac", lambda x: x - np.trunc(x), unary(away_from=WHOLE)),
]  # fmt: skip


def limited(make: Make):
    """Calls of clamp with numbers, tensors and one side open."""
    for shape in ((), (3,), (2, 3), (0,)):
        yield Sample(make(shape, away_from=(-1, 2)), -1, 2)
        yield Sample(make(shape, away_from=-1), min=-1)
        yield Sample(make(shape, away_from=2), max=2)
        yield Sample(make(shape), make((1,), low=-2, high=0), make((), low=1, high=3))
    yield Sample(make((2, 3)), make((3,)), make((2, 1))).named("limits_may_cross")
    yield Sample(make((2, 3), noncontiguous=True), make((3,)), None).named("every_second")


CHOICES = [
    OpInfo(
        "clamp",
        np.clip,
        limited,
        limits=[
            Limit(at=(1.0,), kwargs={"min": 1.0}, value=1.0, grad=(1.0,), because="the bounds belong to the inside"),
            Limit(at=(1.0,), kwargs={"max": 1.0}, value=1.0, grad=(1.0,), because="the bounds belong to the inside"),
            Limit(at=(2.0, 3.0, 1.0), value=1.0, grad=(0.0, 0.0, 1.0), because="where min > max the result is max"),
        ],
        errors=[Raises(RuntimeError, ("clamp", "min", "max"), (np.ones(2),)), *unordered("clamp", 0, 1, count=1)],
    ),
    binary("clamp_min", np.maximum, numbers="last", errors=unordered("clamp_min", 0, count=1)),
    binary("clamp_max", np.minimum, numbers="last", errors=unordered("clamp_max", 0, count=1)),
    OpInfo(
        "relu",
        lambda x: np.maximum(x, 0),
        OFF_ZERO,
        limits=[Limit((0.0,), (0.0,), 0.0, because=FLAT), Limit((math.nan,), value=math.nan, because="nan stays")],
        errors=[Raises(RuntimeError, ("relu", "bool"), (np.array([True]),)), *unordered("relu", count=1)],
    ),
    binary("maximum", np.maximum, numbers=False, limits=tie("equal arguments share the gradient"),
           errors=unordered("maximum")),
    binary("minimum", np.minimum, numbers=False, limits=tie("equal arguments share the gradient"),
           errors=unordered("minimum")),
    binary("fmax", np.fmax, numbers=False, errors=unordered("fmax"),
           limits=[*tie("the first of two equal ones", (1.0, 0.0)),
                   Limit((1.0, math.nan), (1.0, 0.0), 1.0, because="nan is no argument")]),
    binary("fmin", np.fmin, numbers=False, errors=unordered("fmin"),
           limits=[*tie("the first of two equal ones", (1.0, 0.0)),
                   Limit((math.nan, 1.0), (0.0, 1.0), 1.0, because="nan is no argument")]),
    OpInfo(
        "where",
        np.where,
        lambda make: [
            Sample(make.mask(()), make(()), make(())),
            Sample(make.mask((3,)), make((2, 1)), make(())),
            Sample(make.mask((2, 3)), make((3,)), make((2, 3))),
            Sample(make.mask((3,)), make((3,)), 0),
            Sample(make.mask((3,)), 1.5, make((3,))),
            Sample(make.mask((0,)), make((0,)), make((1,))),
        ],
        complex=True,
        inplace=False,
        limits=[Limit((True, 1.0, math.nan), (None, 1.0, 0.0), 1.0, because="what is not chosen does not count")],
        errors=[Raises(RuntimeError, ("where", "condition", "float64"), (np.ones(2), np.ones(2), np.ones(2)))],
    ),
    OpInfo(
        "nan_to_num",
        np.nan_to_num,
        lambda make: [*unary()(make), Sample(make.of([1, 2, 3]) * 1, 0.0, 5.0, -5.0)],
        limits=[
            Limit((math.nan,), (0.0,), 0.0, because="a constant in its place"),
            Limit((math.inf,), (0.0,), because="a constant in its place"),
        ],
        errors=[Raises(RuntimeError, ("nan_to_num", "complex"), (np.ones(2, complex),))],
    ),
]  # fmt: skip

LIKELY_EQUAL = broadcasting_pairs(low=0, high=2, numbers=False)
COMPARISONS = [
    *(
        binary(name, reference, numbers="last", order=0, complex=True)
        for name, reference in (("eq", np.equal), ("ne", np.not_equal))
    ),
    *(
        binary(name, reference, numbers="last", order=0, errors=unordered(name))
        for name, reference in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal))
    ),
    *(
        binary(name, reference, LIKELY_EQUAL, numbers=False, order=0, dtypes=(*BIT_DTYPES, np.float64, np.complex128))
        for name, reference in (("logical_and", np.logical_and), ("logical_or", np.logical_or),
                                ("logical_xor", np.logical_xor))
    ),
    OpInfo("logical_not", np.logical_not, unary(low=0, high=2), order=0,
           dtypes=(np.float64, np.int64, np.bool, np.complex128)),
    *(
        binary(name, reference, broadcasting_pairs(numbers=False), order=0, dtypes=BIT_DTYPES, errors=[
            Raises(TypeError, (name, "float64"), (np.ones(2), np.ones(2)))])
        for name, reference in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                                ("bitwise_xor", np.bitwise_xor))
    ),
    OpInfo("bitwise_not", np.invert, unary(), order=0, dtypes=BIT_DTYPES),
    binary("bitwise_left_shift", np.left_shift, broadcasting_pairs(low=0, high=6), order=0, dtypes=(np.int64,)),
    binary("bitwise_right_shift", np.right_shift, broadcasting_pairs(low=0, high=6), order=0, dtypes=(np.int64,)),
]  # fmt: skip


def with_specials(make: Make):
    """Numbers among nan and infinities."""
    yield Sample(make((2, 3)))
    yield Sample(make(()))
    if make.dtype.kind in "fc":
        yield Sample(make.of([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0]))


def nearly_equal(make: Make):
    """Pairs that are close, or are not."""
    x = make((3,))
    yield Sample(x, x * 1)
    yield Sample(x, x + 1)
    yield Sample(x, make((2, 3)))


TESTS = [
    *(
        OpInfo(name, reference, with_specials, order=0, complex=name in ("isnan", "isinf", "isfinite", "isreal"))
        for name, reference in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite),
                                ("isreal", np.isreal), ("signbit", np.signbit))
    ),
    *(
        OpInfo(name, reference, with_specials, order=0, dtypes=FLOATS,
               errors=[Raises(RuntimeError, (name, "complex"), (np.ones(2, complex),))])
        for name, reference in (("isposinf", np.isposinf), ("isneginf", np.isneginf))
    ),
    OpInfo("equal", np.array_equal, nearly_equal, order=0, complex=True),
    OpInfo("allclose", np.allclose, nearly_equal, order=0, complex=True),
    OpInfo("isclose", np.isclose, nearly_equal, order=0, complex=True, errors=[
        Raises(RuntimeError, ("isclose", "rtol"), (np.ones(2), np.ones(2)), {"rtol": -1.0})]),
]  # fmt: skip


def real_part_in(x, dtype):
    """`x` as a real dtype, which for a complex one warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComplexToRealWarning)
        return x.to(dtype)


DTYPE_TESTS = [
    OpInfo("is_complex", np.iscomplexobj, unary(shapes=((2,),)), order=0, complex=True),
    OpInfo("is_floating_point", np.isrealobj, unary(shapes=((2,),)), order=0, dtypes=(*FLOATS, np.complex128)),
    OpInfo("is_conj", lambda x: False, unary(shapes=((2,),)), order=0, complex=True),
    OpInfo("is_neg", lambda x: False, unary(shapes=((2,),)), order=0, complex=True),
    OpInfo("resolve_conj", lambda x: x, unary(), complex=True),
    OpInfo("resolve_neg", lambda x: x, unary(), complex=True),
]


def _with_diagonal(x, value, wrap=False):
    """A copy with a number where all indices are equal."""
    x = x.copy()
    np.fill_diagonal(x, value, wrap)
    return x


CASTS_AND_COPIES = [
    OpInfo("to", lambda x, dtype: x.astype(dtype), unary(np.complex128), complex=True),
    OpInfo("to", lambda x, dtype: x.real.astype(dtype), unary(np.float64), complex=True, variant="float64",
           call=real_part_in),
    OpInfo("to", lambda x, dtype: x.astype(dtype), unary(np.float32), order=0, variant="float32"),
    OpInfo("clone", np.array, unary(), complex=True),
    OpInfo("clone", lambda x, memory_format: np.array(x), unary(memory_format="contiguous_format"), complex=True,
           variant="contiguous_format",
           errors=[Raises(TypeError, ("memory_format", "'wide'"), (np.ones(2),), {"memory_format": "wide"})]),
    OpInfo("copy_", lambda x, src: np.broadcast_to(src, x.shape), cases(on((2, 3), T((2, 3))), on((2, 3), T((3,)))),
           call=lambda x, src: x.clone().copy_(src), complex=True),
    OpInfo("fill", np.full_like, cases(on((2, 3), 2), on((2, 3), 0.5), on((), True), on((2, 3), T(())), on((0, 2), 1)),
           complex=True,
           errors=[Raises(RuntimeError, ("fill", "(2,)"), (np.ones(2), np.ones(2))),
                   Raises(RuntimeError, ("fill", "complex"), (np.ones(2), 1j))]),
    OpInfo("fill_diagonal_", _with_diagonal, cases(on((3, 3), 2), on((2, 3), 0.5), on((7, 3), 2, wrap=True),
                                                  on((5, 2), 2), on((2, 2, 2), 2), on((0, 3), 2)),
           call=lambda x, *args, **how: x.clone().fill_diagonal_(*args, **how), complex=True,
           errors=[Raises(RuntimeError, ("fill_diagonal_", "(3,)"), (np.ones(3), 1)),
                   Raises(RuntimeError, ("fill_diagonal_", "(2, 3, 2)"), (np.ones((2, 3, 2)), 1)),
                   Raises(RuntimeError, ("fill_diagonal_", "complex"), (np.ones((2, 2)), 1j))]),
    OpInfo("zero_", np.zeros_like, unary(), call=lambda x: x.clone().zero_(), complex=True),
]  # fmt: skip

OPINFOS = [
    *ARITHMETIC, *POWERS, *EXPONENTIAL, *TRIGONOMETRIC, *COMPLEX, *SIZE_AND_SIGN, *CHOICES, *COMPARISONS, *TESTS,
    *DTYPE_TESTS, *CASTS_AND_COPIES,
]  # fmt: skip
