"""Rules for NumPy's pointwise kernels: what each computes of one element, on the loop IR.

A rule is rule(code, type, *arguments). `type` is that of the numbers it computes with. An argument is a value of that
type, a mask where the array is one of bools, or what the kernel takes besides arrays: a Python number, a string, None.
The result is a value of that type, or a mask. A rule agrees with its kernel to two units in the last place for each
function in it, and gives the same for zeros, infinities and NaN.

What has no rule, or whose rule raises `NoRuleError` for these arguments, is left to NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pullback.compiler.native.code import Code, Type, Value
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.functions.division import floor_divide
from pullback.compiler.native.functions.error_function import erfcx, normal_cdf
from pullback.compiler.native.functions.exponential import between, exp, exp2, sigmoid
from pullback.compiler.native.functions.floats import INF, copysign, format_of, is_nan, sign_of
from pullback.compiler.native.functions.gamma import digamma, trigamma
from pullback.compiler.native.functions.inverse import atanh
from pullback.compiler.native.functions.logarithms import log, log1p
from pullback.compiler.native.functions.powers import MOST_PRODUCTS, hypot, rsqrt, whole_power
from pullback.compiler.native.functions.powers import power as any_power
from pullback.compiler.native.functions.selecting import maximum, minimum, sign
from pullback.compiler.native.functions.trigonometric import sinc_derivative

Argument: TypeAlias = Any
Rule: TypeAlias = Callable[..., Value]

_HALF_ROOT: Final = math.sqrt(0.5)
_ROOT_TWO_OVER_PI: Final = math.sqrt(2 / math.pi)


class NoRuleError(Exception):
    """These arguments have no rule, and the kernel is called."""


def number(c: Code, t: Type, x: Argument) -> Value:
    """A value of the type: of a value, a mask or a Python number."""
    if not isinstance(x, Value):
        if not issubclass(type(x), (int, float)):
            raise NoRuleError(f"{x!r} is no real number")
        return c.number(x, t)
    return c.sel(x, c.number(1.0, t), c.number(0.0, t)) if x.type.kind == "m" else x


def condition(c: Code, x: Argument) -> Value:
    """A mask of where an argument is not 0."""
    if not isinstance(x, Value):
        raise NoRuleError("a condition that is no array")
    return x if x.type.kind == "m" else x.ne(0.0)


def of_numbers(rule: Callable[..., Value], count: int | None = None) -> Rule:
    """A rule of (code, *values) as one of (code, type, *arguments); from `count` on these stay as they are."""

    def made(c: Code, t: Type, *args: Argument) -> Value:
        end = len(args) if count is None else count
        return rule(c, *(number(c, t, x) for x in args[:end]), *args[end:])

    return made


def of_conditions(rule: Callable[..., Value]) -> Rule:
    """A rule of (code, *masks) as one of (code, type, *arguments)."""
    return lambda c, t, *args: rule(c, *(condition(c, x) for x in args))


def of_masks(rule: Callable[..., Value]) -> Rule:
    """The same for bools alone: of whole numbers the kernel takes the bits."""

    def made(c: Code, t: Type, *args: Argument) -> Value:
        masks = [x for x in args if isinstance(x, Value)]
        if not masks or not all(x.type.kind == "m" if isinstance(x, Value) else type(x) is bool for x in args):
            raise NoRuleError("bits of whole numbers")
        return rule(c, *(x if isinstance(x, Value) else c.number(x, masks[0].type) for x in args))

    return made


# -- arithmetic --------------------------------------------------------------------------------------------------------
def _scaled(c: Code, x: Value, by: float) -> Value:
    return x if by == 1 else x * _finite(by)


def _finite(x: Argument) -> float:
    if issubclass(type(x), bool) or not issubclass(type(x), (int, float)):
        raise NoRuleError(f"{x!r} is no real number")
    return float(x)


def rsub(c: Code, x: Value, other: Value, alpha: float = 1) -> Value:
    """other - alpha x."""
    return other - _scaled(c, x, alpha)


def addcmul(c: Code, x: Value, a: Value, b: Value, value: float = 1) -> Value:
    """x + value a b."""
    return x + _scaled(c, a * b, value)


def addcdiv(c: Code, x: Value, a: Value, b: Value, value: float = 1) -> Value:
    """x + value a / b."""
    return x + _scaled(c, a / b, value)


def add_alpha(c: Code, x: Value, other: Value, alpha: float) -> Value:
    """x + alpha other."""
    return x + _scaled(c, other, alpha)


def sub_alpha(c: Code, x: Value, other: Value, alpha: float) -> Value:
    """x - alpha other."""
    return x - _scaled(c, other, alpha)


def div_rounded(c: Code, x: Value, other: Value, rounding_mode: str | None) -> Value:
    """x / other, rounded as it says."""
    if rounding_mode == "floor":
        return floor_divide(c, x, other)
    quotient = x / other
    return quotient if rounding_mode is None else c.unary("trunc", quotient)


def lerp(c: Code, x: Value, end: Value, weight: Value) -> Value:
    """x + weight (end - x), from whichever end is nearer."""
    span = end - x
    return c.sel(c.unary("abs", weight) < 0.5, x + weight * span, end - span * (1.0 - weight))


def power(c: Code, t: Type, x: Argument, exponent: Argument) -> Value:
    """x ** exponent, by products for small whole exponents."""
    x = number(c, t, x)
    if issubclass(type(exponent), (int, float)):
        if math.isfinite(exponent) and exponent == int(exponent) and abs(exponent) <= MOST_PRODUCTS:
            return whole_power(c, x, int(exponent))
        if exponent == 0.5:
            return c.unary("sqrt", x)
    return any_power(c, x, number(c, t, exponent))


def rounded(c: Code, x: Value, decimals: int = 0) -> Value:
    """To so many places, halves to even."""
    if decimals == 0:
        return c.unary("rint", x)
    if abs(decimals) > 22:
        raise NoRuleError("so many places")  # 10**22 is the last power of ten that is a double
    tens = 10.0 ** abs(decimals)
    return c.unary("rint", x * tens) / tens if decimals > 0 else c.unary("rint", x / tens) * tens


def angle(c: Code, x: Value) -> Value:
    """0 or pi; NaN of NaN."""
    return c.sel(is_nan(c, x), x, c.sel(signbit(c, x), math.pi, c.like(0.0, x)))


# -- choices and comparisons -------------------------------------------------------------------------------------------
def signbit(c: Code, x: Value) -> Value:
    """A mask of where the bit of the sign is set."""
    return sign_of(c, x).ne(0)


def where(c: Code, t: Type, mask: Argument, x: Argument, other: Argument) -> Value:
    """x where the mask holds; of truth values a mask."""
    held = condition(c, mask)
    if all(y.type.kind == "m" if isinstance(y, Value) else type(y) is bool for y in (x, other)):
        first, second = (c.like(y, held) for y in (x, other))
        return (held & first) | (~held & second)
    return c.sel(held, number(c, t, x), number(c, t, other))


def clamp(c: Code, t: Type, x: Argument, low: Argument = None, high: Argument = None) -> Value:
    """Within [low, high]; high where low is larger."""
    x = number(c, t, x)
    if low is not None:
        x = maximum(c, x, number(c, t, low))
    return x if high is None else minimum(c, x, number(c, t, high))


def relu(c: Code, x: Value) -> Value:
    """max(x, 0); NaN stays."""
    return c.sel(x <= 0.0, c.like(0.0, x), x)


def nan_to_num(
    c: Code, x: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """x with others in the place of NaN and infinities."""
    largest = format_of(x).largest
    x = c.sel(is_nan(c, x), 0.0 if nan is None else _finite(nan), x)
    x = c.sel(x.eq(INF), largest if posinf is None else _finite(posinf), x)
    return c.sel(x.eq(-INF), -largest if neginf is None else _finite(neginf), x)


def isclose(c: Code, x: Value, y: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Value:
    """|x - y| <= atol + rtol |y| of finite numbers, or equal ones."""
    size = c.unary("abs", y)
    close = (c.unary("abs", x - y) <= size * _finite(rtol) + _finite(atol)) & (size < INF) | x.eq(y)
    return close | (is_nan(c, x) & is_nan(c, y)) if equal_nan else close


# -- functions ---------------------------------------------------------------------------------------------------------
def logaddexp2(c: Code, x: Value, y: Value) -> Value:
    """log2(2**x + 2**y), without overflow."""
    high = c.sel(x > y, x, y)
    beside = log1p(c, exp2(c, -c.unary("abs", x - y))) * (1 / math.log(2))
    return c.sel(x.eq(y), high + 1.0, high + beside)


def xlogy(c: Code, x: Value, y: Value) -> Value:
    """x log(y), 0 where x is 0 unless y is NaN."""
    return c.sel(x.eq(0.0) & ~is_nan(c, y), 0.0, x * log(c, y))


def xlog1py(c: Code, x: Value, y: Value) -> Value:
    """x log(1 + y), 0 where x is 0 unless y is NaN."""
    return c.sel(x.eq(0.0) & ~is_nan(c, y), 0.0, x * log1p(c, y))


def entr(c: Code, x: Value) -> Value:
    """-x log(x), 0 at 0, -inf below."""
    return c.sel(x.eq(0.0), 0.0, c.sel(x < 0.0, -INF, -x * log(c, x)))


def logit(c: Code, x: Value, eps: float | None = None) -> Value:
    """log(x / (1 - x)), of x within [eps, 1 - eps] if that is given."""
    if eps is not None and eps >= 0:
        x = minimum(c, maximum(c, x, c.like(float(eps), x)), c.like(1 - float(eps), x))
    near = x * 2.0 - 1.0  # exact between 1/4 and 1, and logit(x) = 2 atanh(2 x - 1)
    return c.sel(c.unary("abs", near) < 0.5, atanh(c, near) * 2.0, log(c, x / (1.0 - x)))


def log_ndtr(c: Code, x: Value) -> Value:
    """The logarithm of the normal distribution function."""
    upper = log1p(c, -normal_cdf(c, -x))
    lower = log(c, erfcx(c, c.sel(x < 0.0, x, 0.0) * -_HALF_ROOT) * 0.5) - x * 0.5 * x
    return c.sel(x > -1.0, upper, lower)


def inverse_mills(c: Code, x: Value) -> Value:
    """The normal density over the distribution function."""
    # far down it is -x, where erfcx has no digits left
    return c.sel(x < -1e10, -x, _ROOT_TWO_OVER_PI / erfcx(c, x * -_HALF_ROOT))


def polygamma(c: Code, t: Type, n: int, x: Argument) -> Value:
    """The n-th derivative of digamma, for n = 0 and 1."""
    if n not in (0, 1):
        raise NoRuleError("a derivative of higher order")
    return (digamma, trigamma)[n](c, number(c, t, x))


# -- activations -------------------------------------------------------------------------------------------------------
def softplus(c: Code, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    beta = _finite(beta)
    scaled = x * beta
    threshold = min(_finite(threshold), 50.0)
    soft = log1p(c, exp(c, between(c, scaled, -INF, threshold)))
    return c.sel(scaled > threshold, x, soft if beta == 1 else soft / beta)


def softsign(c: Code, x: Value) -> Value:
    """x / (1 + |x|), 1 in modulus at infinity."""
    size = c.unary("abs", x)
    return c.sel(size.eq(INF), copysign(c, c.like(1.0, x), x), x / (size + 1.0))


def _gelu_bounded(c: Code, x: Value) -> Value:
    """x, but where the distribution function is 0: no infinity times zero."""
    return between(c, x, -40.0, INF)


def _by_tanh(c: Code, x: Value) -> Value:
    """exp(-2 u) + 1 for u = sqrt(2/pi) (x + 0.044715 x**3)."""
    inner = c.fma(x * x, -2 * _ROOT_TWO_OVER_PI * 0.044715, -2 * _ROOT_TWO_OVER_PI)
    return exp(c, inner * x) + 1.0


def gelu(c: Code, x: Value, approximate: str = "none") -> Value:
    """x times the normal distribution function of x, or an approximation of that."""
    bounded = _gelu_bounded(c, x)
    return bounded * normal_cdf(c, x) if approximate == "none" else bounded / _by_tanh(c, x)


def gelu_backward(c: Code, grad: Value, x: Value, _output: Value, approximate: str = "none") -> Value:
    """grad times the derivative of gelu at x."""
    within = between(c, x, -40.0, 40.0)
    square = within * within
    if approximate == "none":
        density = exp(c, square * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad * c.fma(within, density, normal_cdf(c, within))
    cdf = 1.0 / _by_tanh(c, within)
    slope = c.fma(square, 3 * 0.044715, 1.0) * (2 * _ROOT_TWO_OVER_PI)
    return grad * c.fma(within * slope, cdf * (1.0 - cdf), cdf)


# -- derivatives -------------------------------------------------------------------------------------------------------
def hypot_slope(c: Code, x: Value, other: Value, norm: Value) -> Value:
    """x / norm, 0 where norm is 0; 1 in modulus along an infinite side."""
    slope = x / c.sel(norm.eq(0.0), INF, norm)
    along, beside = (c.unary("abs", side).eq(INF) for side in (x, other))
    limit = c.sel(along, copysign(c, c.sel(beside, _HALF_ROOT, c.like(1.0, x)), x), 0.0)
    return c.sel(along | beside, limit, slope)


def _unary(op: str) -> Rule:
    return of_numbers(lambda c, x: c.unary(op, x))


def _comparison(compare: Callable[[Value, Value], Value]) -> Rule:
    return of_numbers(lambda _, x, y: compare(x, y))


# The functions that are called as their kernels are.
_SAME: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "digamma", "erf",
    "erfc",
    "erfcx", "exp", "exp2", "expm1", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot", "lgamma", "log",
    "log10",
    "log1p", "log2", "logaddexp", "maximum", "minimum", "remainder", "rsqrt", "sigmoid", "sign", "sin", "sinc",
    "sinh", "tan", "tanh",
)  # fmt: skip

RULES: Final[dict[str, Rule]] = {
    # arithmetic
    "add": of_numbers(lambda _, x, y: x + y),
    "sub": of_numbers(lambda _, x, y: x - y),
    "rsub": of_numbers(rsub, 2),
    "mul": of_numbers(lambda _, x, y: x * y),
    "div": of_numbers(lambda _, x, y: x / y),
    "neg": of_numbers(lambda _, x: -x),
    "addcmul": of_numbers(addcmul, 3),
    "addcdiv": of_numbers(addcdiv, 3),
    "add_alpha": of_numbers(add_alpha, 2),
    "sub_alpha": of_numbers(sub_alpha, 2),
    "div_rounded": of_numbers(div_rounded, 2),
    "lerp": of_numbers(lerp),
    "pow": power,
    "float_power": of_numbers(any_power),
    "square": of_numbers(lambda _, x: x * x),
    "sqrt": _unary("sqrt"),
    "reciprocal": of_numbers(lambda _, x: 1.0 / x),
    "abs": _unary("abs"),
    "floor": _unary("floor"),
    "ceil": _unary("ceil"),
    "trunc": _unary("trunc"),
    "round": of_numbers(rounded, 1),
    "frac": of_numbers(lambda c, x: x - c.unary("trunc", x)),
    "conj": of_numbers(lambda _, x: x),
    "angle": of_numbers(angle),
    "deg2rad": of_numbers(lambda _, x: x * (math.pi / 180)),
    "rad2deg": of_numbers(lambda _, x: x * (180 / math.pi)),
    "sgn": of_numbers(sign),
    # choices and comparisons
    "where": where,
    "clamp": clamp,
    "clamp_min": of_numbers(maximum),
    "clamp_max": of_numbers(minimum),
    "relu": of_numbers(relu),
    "nan_to_num": of_numbers(nan_to_num, 1),
    "eq": _comparison(lambda x, y: x.eq(y)),
    "ne": _comparison(lambda x, y: x.ne(y)),
    "lt": _comparison(lambda x, y: x < y),
    "le": _comparison(lambda x, y: x <= y),
    "gt": _comparison(lambda x, y: x > y),
    "ge": _comparison(lambda x, y: x >= y),
    "isclose": of_numbers(isclose, 2),
    "isnan": of_numbers(is_nan),
    "isinf": of_numbers(lambda c, x: c.unary("abs", x).eq(INF)),
    "isfinite": of_numbers(lambda c, x: c.unary("abs", x) < INF),
    "isposinf": of_numbers(lambda _, x: x.eq(INF)),
    "isneginf": of_numbers(lambda _, x: x.eq(-INF)),
    "signbit": of_numbers(signbit),
    "logical_and": of_conditions(lambda _, x, y: x & y),
    "logical_or": of_conditions(lambda _, x, y: x | y),
    "logical_xor": of_conditions(lambda _, x, y: x ^ y),
    "logical_not": of_conditions(lambda _, x: ~x),
    "bitwise_and": of_masks(lambda _, x, y: x & y),
    "bitwise_or": of_masks(lambda _, x, y: x | y),
    "bitwise_xor": of_masks(lambda _, x, y: x ^ y),
    "bitwise_not": of_masks(lambda _, x: ~x),
    # functions
    **{name: of_numbers(FUNCTIONS[name]) for name in _SAME},
    "logistic": of_numbers(sigmoid),
    "ndtr": of_numbers(normal_cdf),
    "log_ndtr": of_numbers(log_ndtr),
    "inverse_mills": of_numbers(inverse_mills),
    "logaddexp2": of_numbers(logaddexp2),
    "xlogy": of_numbers(xlogy),
    "xlog1py": of_numbers(xlog1py),
    "entr": of_numbers(entr),
    "logit": of_numbers(logit, 1),
    "polygamma": polygamma,
    "digamma_derivative": lambda c, t, x, n: polygamma(c, t, n, x),
    "sinc_derivative": of_numbers(sinc_derivative, 1),
    # activations
    "gelu": of_numbers(gelu, 1),
    "gelu_backward": of_numbers(gelu_backward, 3),
    "softplus": of_numbers(softplus, 1),
    "softsign": of_numbers(softsign),
    # derivatives
    "asin_slope": of_numbers(lambda c, x: rsqrt(c, (1.0 - x) * (x + 1.0))),
    "acosh_slope": of_numbers(lambda c, x: rsqrt(c, x - 1.0) * rsqrt(c, x + 1.0)),
    "asinh_slope": of_numbers(lambda c, x: 1.0 / hypot(c, x, c.like(1.0, x))),
    "atanh_slope": of_numbers(lambda _, x: 1.0 / ((1.0 - x) * (x + 1.0))),
    "atan_slope": of_numbers(lambda _, x: 1.0 / (x * x + 1.0)),
    "times_complement": of_numbers(lambda _, x: x * (1.0 - x)),
    "hypot_slope": of_numbers(hypot_slope),
}
