"""Maps: kernels that work element by element, by the rules of `native.pointwise`, and whole numbers, as indices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pullback.arrays.traced.graph import ONE, Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.code import Code, Type
from pullback.compiler.native.code import Value as Computed
from pullback.compiler.native.lowering import BOOL, FLOATS, RULES, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Window
from pullback.compiler.native.pointwise import RULES as POINTWISE
from pullback.compiler.native.pointwise import NoRuleError

_WHOLE: Final = frozenset({"add", "sub", "mul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "where"})  # of indices
_MIN, _MAX = np.iinfo(WHOLE).min, np.iinfo(WHOLE).max
_TAKEN: Final = (Value, bool, int, float, str, type(None))


def _compared(step: Step) -> int | None:
    """The bits of the numbers that are compared, to which those of constants count too; None of bools."""
    dtypes = [x.dtype for x in step.args if type(x) is Value or issubclass(type(x), np.generic)]
    return max((64 if x.kind in "iu" else FLOATS.get(x, 0) for x in dtypes), default=0) or None


def _map(lowering: Lowering, step: Step) -> bool:
    result, given = step.results[0], [x.item() if issubclass(type(x), np.generic) else x for x in step.args]
    if step.form is not ONE or not all(type(x) in _TAKEN for x in given):
        return False
    dtypes = {x.dtype for x in given if type(x) is Value}
    name = str(step.what)
    if WHOLE in dtypes and result.dtype == np.float64 and name in _OF_FLOATS:
        # A whole number among others, as the counter of a loop, is the nearest of these.
        given = [_as_floats(lowering, x, result.dtype) for x in given]
        dtypes = {x.dtype if type(x) is Value else x.node.dtype for x in given if type(x) in (Value, Window)}
    if WHOLE in dtypes or result.dtype == WHOLE:
        if name not in _WHOLE or not dtypes <= {WHOLE, BOOL} or result.dtype not in (WHOLE, BOOL):
            return False
        if any(type(x) is float or (type(x) is int and not _MIN <= x <= _MAX) for x in given):
            return False
    else:
        if not dtypes <= {*FLOATS, BOOL} or not (result.dtype in FLOATS or result.dtype == BOOL):
            return False
        if not dtypes & set(FLOATS) and result.dtype == BOOL and step.what not in _OF_BOOLS:
            return False  # NumPy takes bools for whole numbers
    try:
        bits = _compared(step) if result.dtype == BOOL else None
        return lowering.gives(step, lowering.map(name, POINTWISE[name], given, result, bits=bits))
    except NoRuleError:
        return False


def _as_floats(lowering: Lowering, x: Any, dtype: Any) -> Any:
    if type(x) is not Value or x.dtype != WHOLE:
        return x
    return lowering.map("tofloat", _nearest, [lowering.window(x)], shape=x.shape, dtype=dtype)


def _nearest(c: Code, t: Type, x: Any) -> Any:
    return x if isinstance(x, Computed) else c.number(float(x), t)


_OF_FLOATS: Final = frozenset({"add", "sub", "mul", "div", "pow", "neg", "sqrt", "exp", "log", "sin", "cos", "tanh"})
_OF_BOOLS: Final = frozenset({
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not", "where",
})  # fmt: skip
RULES.update(dict.fromkeys(POINTWISE, _map))


@lowers("clone", "contiguous", "to_copy")
def _copy(lowering: Lowering, step: Step) -> bool:
    x, result = step.args[0], step.results[0]
    known = {*FLOATS, BOOL}
    if type(x) is not Value or x.dtype not in known or result.dtype not in known or x.shape != result.shape:
        return False
    if result.dtype == BOOL and x.dtype != BOOL:
        return False
    name, rule = ("number", _number) if x.dtype == BOOL and result.dtype != BOOL else ("copy", simple.copy)
    return lowering.gives(step, lowering.map(name, rule, [x], result))


def _number(c: Code, t: Type, x: Any) -> Any:
    return c.sel(x, c.number(1.0, t), 0.0)


@lowers("copy")
def _copied(lowering: Lowering, step: Step) -> bool:
    """The source in the place of a target, whose numbers do not matter."""
    target, source, result = step.args[0], step.args[1], step.results[0]
    if type(source) is not Value or len(step.args) > 2 or source.dtype not in FLOATS or result.dtype not in FLOATS:
        return False
    if type(target) is not Value or target.dtype != result.dtype:
        return False
    return lowering.gives(step, lowering.map("copy", simple.copy, [lowering.window(source)], result))


@lowers("zeros_like", "ones_like", "zeros", "ones")
def _filled(lowering: Lowering, step: Step) -> bool:
    result = step.results[0]
    if result.dtype not in FLOATS:
        return False
    value = float(str(step.what).startswith("ones"))
    return lowering.gives(step, lowering.map("fill", simple.fill, [value], result))
