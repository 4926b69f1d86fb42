"""Kernels on Taylor series, made of the tangent rules alone.

Let y(t) = F(x(t)). The tangent rule of F gives y'(t) of x(t), x'(t) and y(t). Run on series instead of numbers it gives
the series of y', up to order K - 1, from those of x and y up to the same order; and y is the integral of y'. So what is
declared once for forward mode gives derivatives of every order. That y is needed up to order K - 1 is no circle: it is
found in the same way, one order lower, and only where the rule names the result.

Sums, products and quotients are what all rules are made of, and end the recursion:

    (a b)_k = sum over j of a_j b_(k - j)            q_k = (a_k - sum over j < k of q_j b_(k - j)) / b_0

An operator that only takes, moves and adds elements does so with each coefficient. See A. Griewank and A. Walther,
"Evaluating Derivatives" (2008), chapter 13.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from pullback.arrays.dual.errors import no_forward_derivative
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.arrays.taylor.array import TaylorArray, TaylorLevel
from pullback.core import slots
from pullback.core.arguments import spread_lists
from pullback.core.array_type import array_type, kernel_for, table_of
from pullback.core.errors import GradientError
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.tangent_rules import Rule, rule_for

Kernel = Callable[..., Any]
_VALUES = frozenset({int, float, complex, bool, str, type(None)})

# Linear in each of two arrays, their first arguments.
PRODUCTS = frozenset({"mul", "matmul", "mm", "bmm", "mv", "dot", "vdot", "outer", "cross", "einsum_pair"})
# Linear in all arrays together.
LINEAR = frozenset({"add", "sub", "neg", "conj", "conj_physical", "real", "imag", "to_copy", "expand", "setitem"})


class TaylorKernels(dict[str, Kernel]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Kernel:
        made = self[name] = partial(_run, name)
        return made


TAYLOR = MixedTable("taylor", TaylorKernels())


def _run(name: str, *args: Any) -> Any:
    series = [x for x in spread_lists(args) if type(x) is TaylorArray]
    level = max((x.level for x in series), key=lambda level: level.number)
    if not level.open:
        raise GradientError(
            "an array of a func.jet that has ended is used: return it from the function given to jet, or detach() it."
        )
    order = min(x.order for x in series if x.level is level)
    parts = [_series(x, level, order) for x in args]
    if level.found is not None:
        key = (name, *map(_identity, parts))
        if key not in level.found:
            level.found[key] = _computed(name, args, parts, order, level), parts  # which keeps the identities
        return level.found[key][0]
    level.found = {}
    try:
        return _computed(name, args, parts, order, level)
    finally:
        level.found = None


def _computed(name: str, args: Sequence[Any], parts: Sequence[Any], order: int, level: TaylorLevel) -> Any:
    constant = [_at(part, 0) for part in parts]
    rule = rule_for(name, len(args))
    moves = rule is not None and any(_moves(parts[i], order) for i in rule.inputs)
    if rule is not None and rule.mutates:
        constant[0] = array_type(constant[0]).copy(constant[0])
    first = kernel_for(spread_lists(constant), name)(*constant)
    if rule is None and (rule := rule_for(name, len(args))) is not None:  # its area has been loaded by this call
        moves = any(_moves(parts[i], order) for i in rule.inputs)
    if rule is None or not moves:
        return first
    if rule.function is None:
        raise no_forward_derivative(rule.operator)
    for i, argument in rule.underived:
        if _moves(parts[i], order):
            raise no_forward_derivative(rule.operator, argument)
    firsts = [first] if rule.returns_list or rule.outputs == 1 else list(first)
    before = warning_state()
    try:
        ignore_warnings()
        if name in PRODUCTS:
            higher = [_product(name, parts, k) for k in range(1, order + 1)]
        elif name == "div" and len(args) == 2:
            higher = _quotient(parts, first, order)
        elif name in LINEAR or rule.structural:
            higher = [_each(rule, constant, parts, firsts, k) for k in range(1, order + 1)]
        else:
            higher = _integrated(name, rule, parts, firsts, order, level)
    except Exception as error:
        slots.formula_failed(error)
        raise
    finally:
        restore(before)
    return _results(rule, first, firsts, higher, level)


# -- three kinds of operators ------------------------------------------------------------------------------------------
def _product(name: str, parts: Sequence[Any], k: int) -> Any:
    a, b, *rest = parts
    others = [_at(part, 0) for part in rest]
    terms = []
    for j in range(k + 1):
        x, y = _at(a, j), _at(b, k - j)
        if x is not None and y is not None:
            terms.append(kernel_for((x, y), name)(x, y, *others))
    return [_sum(terms)]


def _quotient(parts: Sequence[Any], first: Any, order: int) -> list[Any]:
    a, b = parts
    found = [first]
    for k in range(1, order + 1):
        terms = [] if _at(a, k) is None else [_at(a, k)]
        pairs = [(found[j], _at(b, k - j)) for j in range(k)]
        terms += [-_times(x, y) for x, y in pairs if x is not None and y is not None]
        found.append(kernel_for((total, b[0]), "div")(total, b[0]) if (total := _sum(terms)) is not None else None)
    return [[x] for x in found[1:]]


def _each(rule: Rule, constant: Sequence[Any], parts: Sequence[Any], outputs: Sequence[Any], k: int) -> Any:
    """Its slope does not change along the curve, so each coefficient goes through the rule alone."""
    tangents = [_at(part, k) for part in parts]
    if not any(t is not None for i in rule.inputs for t in spread_lists([tangents[i]])):
        return [None] * len(rule.moving)
    flat = [x for x in (*spread_lists(constant), *spread_lists(tangents)) if x is not None]
    return rule.push(constant, tangents, outputs, table_of(flat))


def _integrated(
    name: str, rule: Rule, parts: Sequence[Any], firsts: Sequence[Any], order: int, level: TaylorLevel
) -> list[Any]:
    """The series of y' by the tangent rule, and so that of y."""
    primals = [_cut(part, order - 1, level) for part in parts]
    tangents = [_slope(part, order, level) for part in parts]
    outputs = firsts
    if order > 1 and _names_result(rule) and any(_moves(part, order - 1) for part in parts):
        found = _run(name, *primals)
        found = [found] if rule.returns_list or rule.outputs == 1 else found
        outputs = [found[i] if i in rule.moving else x for i, x in enumerate(firsts)]  # others, masks say, stand still
    flat = [x for x in (*spread_lists(primals), *spread_lists(tangents), *spread_lists(outputs)) if x is not None]
    slopes = rule.push(primals, tangents, outputs, table_of(flat))
    higher = []
    for k in range(order):
        row = [_at(_each_series(x, level, order - 1), k) for x in slopes]
        higher.append([_over(x, k + 1) for x in row])
    return higher


def _each_series(x: Any, level: TaylorLevel, order: int) -> Any:
    return [_each_series(y, level, order) for y in x] if isinstance(x, (list, tuple)) else _series(x, level, order)


def _over(x: Any, k: int) -> Any:
    if type(x) is list:
        return [_over(y, k) for y in x]
    return x if x is None or k == 1 else _times(x, x.dtype.type(1 / k))


def _names_result(rule: Rule) -> bool:
    """True if a tangent rule looks at the outputs that move."""
    return _named(rule.function, 1 if rule.returns_list else rule.outputs, rule.moving)


@cache
def _named(function: Any, outputs: int, moving: Sequence[int]) -> bool:
    takes = getattr(function, "takes", None)  # of a rule that is made of slopes
    if takes is not None:
        return bool(takes)
    code = function.__code__
    last = code.co_varnames[: code.co_argcount][-outputs:]
    wanted = {last[i] for i in moving}
    return any(wanted.intersection(_names(i.argval)) for i in dis.get_instructions(code) if i.opname.startswith("LOAD"))


def _names(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)  # some instructions load two


# -- series ------------------------------------------------------------------------------------------------------------
def _series(x: Any, level: TaylorLevel, order: int) -> Any:
    """The coefficients of an argument at this level, those in a list one by one; None for what is no array."""
    if isinstance(x, (list, tuple)) and any(type(y) is TaylorArray for y in x):
        return [_series(y, level, order) for y in x]
    if type(x) is TaylorArray and x.level is level:
        return (*x.coefficients[: order + 1], *[None] * (order - x.order))
    return (x, *[None] * order)


def _identity(series: Any) -> Any:
    """Return what tells two arguments apart: the arrays themselves, the values of what is no array."""
    if type(series) is list:
        return tuple(map(_identity, series))
    first = series[0]
    if type(first) in _VALUES:
        return type(first), first
    return tuple(map(id, series))


def _at(series: Any, k: int) -> Any:
    return [_at(y, k) for y in series] if type(series) is list else series[k]


def _moves(series: Any, order: int) -> bool:
    if type(series) is list:
        return any(_moves(y, order) for y in series)
    return any(x is not None for x in series[1 : order + 1])


def _made(coefficients: Sequence[Any], level: TaylorLevel) -> Any:
    if all(x is None for x in coefficients[1:]):
        return coefficients[0]
    return TaylorArray(coefficients, level)


def _cut(series: Any, order: int, level: TaylorLevel) -> Any:
    """The series up to a lower order."""
    return [_cut(y, order, level) for y in series] if type(series) is list else _made(series[: order + 1], level)


def _slope(series: Any, order: int, level: TaylorLevel) -> Any:
    """The series of the derivative, None if that is zero."""
    if type(series) is list:
        return [_slope(y, order, level) for y in series]
    if not _moves(series, order):
        return None
    found = [None if x is None else _times(x, x.dtype.type(k)) if k > 1 else x for k, x in enumerate(series) if k]
    if found[0] is None:
        found[0] = table_of((series[0],)).zeros_like(series[0])
    return _made(found, level)


def _results(rule: Rule, first: Any, firsts: Sequence[Any], higher: Sequence[Any], level: TaylorLevel) -> Any:
    if rule.returns_list:
        rows = [row[0] if row[0] is not None else [None] * len(first) for row in higher]
        return [_made([_array(x), *[_like(x, row[i]) for row in rows]], level) for i, x in enumerate(first)]
    made = list(firsts)
    for nr, i in enumerate(rule.moving):
        made[i] = _made([_array(firsts[i]), *[_like(firsts[i], row[nr]) for row in higher]], level)
    return made[0] if rule.outputs == 1 else tuple(made)


def _array(x: Any) -> Any:
    return np.asarray(x) if issubclass(type(x), np.generic) else x


def _like(first: Any, x: Any) -> Any:
    """A coefficient in the shape and dtype of the first."""
    if x is None:
        return None
    x = _array(x)
    if x.shape != first.shape:
        x = table_of((x, first)).expand(x, tuple(first.shape))
    return x if x.dtype == first.dtype else table_of((x, first)).to(x, first.dtype)


def _sum(terms: Sequence[Any]) -> Any:
    if not terms:
        return None
    total = terms[0]
    for x in terms[1:]:
        total = kernel_for((total, x), "add")(total, x)
    return total


def _times(x: Any, y: Any) -> Any:
    return kernel_for((x, y), "mul")(x, y)
