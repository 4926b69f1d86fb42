"""Maps: kernels that work element by element, by the rules of `native.pointwise`, and whole numbers, as indices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pullback.arrays.traced.graph import ONE, Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.code import Code, Type
from pullback.compiler.native.code import Value as Computed
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.lowering import BOOL, FLOATS, RULES, STATUS, WHOLE, Lowering, lowers
from pullback.compiler.native.pointwise import RULES as POINTWISE
from pullback.compiler.native.pointwise import NoRuleError

_WHOLE: Final = frozenset({"add", "sub", "mul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "where"})  # of indices
_MIN, _MAX = np.iinfo(WHOLE).min, np.iinfo(WHOLE).max
_TAKEN: Final = (Value, bool, int, float, str, type(None))


def _is_truth(lowering: Lowering, x: Any) -> bool:
    """True for bools, and for 0 and 1 beside them."""
    number = lowering.number(x)
    return type(x) is Value if number is None else number in (0, 1)


def _other_bools(c: Code, t: Type, a: Any, b: Any) -> Any:
    first, second = (x if isinstance(x, Computed) else c.number(bool(x), t.to("m")) for x in (a, b))
    return first ^ second


def _equal_bools(c: Code, t: Type, a: Any, b: Any) -> Any:
    return ~_other_bools(c, t, a, b)


def _compared(step: Step) -> int | None:
    """The bits of the numbers that are compared, to which those of constants count too; None of bools."""
    dtypes = [x.dtype for x in step.args if type(x) is Value or issubclass(type(x), np.generic)]
    return max((64 if x.kind in "iu" else FLOATS.get(x, 0) for x in dtypes), default=0) or None


def _map(lowering: Lowering, step: Step) -> bool:
    result, given = step.results[0], [x.item() if issubclass(type(x), np.generic) else x for x in step.args]
    if step.form is not ONE or not all(type(x) in _TAKEN for x in given):
        return False
    dtypes = {x.dtype for x in given if type(x) is Value}
    if STATUS in dtypes and result.dtype == BOOL:
        dtypes = {WHOLE if dtype == STATUS else dtype for dtype in dtypes}
    name = str(step.what)
    if WHOLE in dtypes | {result.dtype} and result.dtype in (WHOLE, BOOL):
        if name not in _WHOLE or not dtypes <= {WHOLE, BOOL}:
            return False
        if any(type(x) is float or (type(x) is int and not _MIN <= x <= _MAX) for x in given):
            return False
    else:
        if name in ("eq", "ne") and dtypes == {BOOL} and all(_is_truth(lowering, x) for x in given):
            masks = ("equal bools", _equal_bools) if name == "eq" else ("other bools", _other_bools)
            return lowering.gives(step, lowering.map(*masks, given, result))
        if not dtypes <= {*FLOATS, BOOL, WHOLE} or not (result.dtype in FLOATS or result.dtype == BOOL):
            return False
        if WHOLE in dtypes and not dtypes & set(FLOATS) and name not in _OF_FLOATS:
            return False
        if not dtypes & set(FLOATS) and result.dtype == BOOL and step.what not in _OF_BOOLS:
            return False  # NumPy takes bools for whole numbers
    try:
        bits = _compared(step) if result.dtype == BOOL else None
        return lowering.gives(step, lowering.map(name, POINTWISE[name], given, result, bits=bits))
    except NoRuleError:
        return False


_OF_FLOATS: Final = frozenset({"add", "sub", "mul", "div", "pow", "neg", "sqrt", "exp", "log", "sin", "cos", "tanh"})
_OF_BOOLS: Final = frozenset({
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not", "where",
})  # fmt: skip
RULES.update(dict.fromkeys(POINTWISE, _map))


@lowers("binary_cross_entropy_elements")
def _binary_cross_entropy(lowering: Lowering, step: Step) -> bool:
    """-(t log p + (1 - t) log(1 - p)), each logarithm at least -100, of p between 0 and 1."""
    x, target = step.args
    result = step.results[0]
    if result.dtype not in FLOATS or not all(type(y) is Value and y.dtype == result.dtype for y in (x, target)):
        return False
    outside = lambda c, t, x: ~((x >= 0.0) & (x <= 1.0))  # noqa: E731
    lowering.check(lowering.map("not within 0 and 1", outside, [x], shape=x.shape, dtype=BOOL))

    def rule(c: Code, t: Type, p: Any, target: Any) -> Any:
        least = c.number(-100.0, t)
        log_p, log_q = FUNCTIONS["log"](c, p), FUNCTIONS["log1p"](c, -p)
        log_p, log_q = (c.sel(y < least, least, y) for y in (log_p, log_q))
        return (target - 1.0) * log_q - target * log_p

    return lowering.gives(step, lowering.map("binary cross entropy", rule, [x, target], result))


@lowers("clone", "contiguous", "to_copy")
def _copy(lowering: Lowering, step: Step) -> bool:
    x, result = step.args[0], step.results[0]
    known = {*FLOATS, BOOL} if result.dtype != WHOLE else {WHOLE}
    if type(x) is not Value or x.dtype not in known or result.dtype not in known or x.shape != result.shape:
        return False
    if result.dtype == BOOL and x.dtype != BOOL:
        return False
    name, rule = ("number", simple.number) if x.dtype == BOOL and result.dtype != BOOL else ("copy", simple.copy)
    return lowering.gives(step, lowering.map(name, rule, [x], result))


@lowers("copy")
def _copied(lowering: Lowering, step: Step) -> bool:
    """The source in the place of a target, whose numbers do not matter."""
    target, source, result = step.args[0], step.args[1], step.results[0]
    if type(source) is not Value or len(step.args) > 2 or source.dtype not in FLOATS or result.dtype not in FLOATS:
        return False
    if type(target) is not Value or target.dtype != result.dtype:
        return False
    return lowering.gives(step, lowering.map("copy", simple.copy, [lowering.window(source)], result))


@lowers("zeros_like", "ones_like", "zeros", "ones", "new_zeros", "new_ones")
def _filled(lowering: Lowering, step: Step) -> bool:
    result = step.results[0]
    if result.dtype not in FLOATS:
        return False
    value = float("ones" in str(step.what))
    return lowering.gives(step, lowering.map("fill", simple.fill, [value], result))


@lowers("full", "full_like", "new_full")
def _full(lowering: Lowering, step: Step) -> bool:
    value, result = lowering.number(step.args[2 if step.what == "new_full" else 1]), step.results[0]
    if value is None or result.dtype not in FLOATS:
        return False
    return lowering.gives(step, lowering.map("fill", simple.fill, [float(value)], result))
