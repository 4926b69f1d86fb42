"""Elementary functions on the loop IR, without branches but for sin, cos and tan of huge numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.division import HUGE_QUOTIENT, floor_divide, fmod, huge_fmod, remainder
from pullback.compiler.native.functions.error_function import erf, erfc, erfcx, normal_cdf
from pullback.compiler.native.functions.exponential import exp, exp2, expm1, sigmoid
from pullback.compiler.native.functions.floats import copysign
from pullback.compiler.native.functions.gamma import digamma, lgamma, trigamma
from pullback.compiler.native.functions.hyperbolic import cosh, sinh, tanh
from pullback.compiler.native.functions.inverse import acos, acosh, asin, asinh, atan, atan2, atanh
from pullback.compiler.native.functions.logarithms import log, log1p, log2, log10, log_sigmoid, logaddexp, softplus
from pullback.compiler.native.functions.powers import cbrt, hypot, power, rsqrt
from pullback.compiler.native.functions.selecting import fmax, fmin, heaviside, maximum, minimum, sign
from pullback.compiler.native.functions.trigonometric import HUGE, cos, huge, sin, sinc, tan

FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "acos": acos, "acosh": acosh, "asin": asin, "asinh": asinh, "atan": atan, "atan2": atan2, "atanh": atanh,
    "cbrt": cbrt, "copysign": copysign, "cos": cos, "cosh": cosh, "digamma": digamma, "erf": erf, "erfc": erfc,
    "erfcx": erfcx, "exp": exp, "exp2": exp2, "expm1": expm1, "floor_divide": floor_divide, "fmax": fmax,
    "fmin": fmin, "fmod": fmod, "heaviside": heaviside, "hypot": hypot, "lgamma": lgamma, "log": log, "log10": log10,
    "log1p": log1p, "log2": log2, "log_sigmoid": log_sigmoid, "logaddexp": logaddexp, "maximum": maximum,
    "minimum": minimum, "normal_cdf": normal_cdf, "pow": power, "remainder": remainder, "rsqrt": rsqrt,
    "sigmoid": sigmoid, "sign": sign, "sin": sin, "sinc": sinc, "sinh": sinh, "softplus": softplus, "tan": tan,
    "tanh": tanh, "trigamma": trigamma,
}  # fmt: skip


def helpers(functions: Sequence[Code]) -> list[Code]:
    """The functions that a module needs before these, which call them."""
    made = (x for code in functions for x in code.statements() if isinstance(x, Value))
    called = {value.attr for value in made if value.op == "call"}
    found = [huge(name) for name, long in HUGE.items() if long in called]
    return [*found, huge_fmod()] if HUGE_QUOTIENT in called else found
