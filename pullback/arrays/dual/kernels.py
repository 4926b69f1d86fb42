"""Kernels on dual arrays: that of the components for the primals, the operator's rule for the tangents.

No kernel is written here by hand: each is made of a name when it is first asked for. Components may be arrays of any
type, and the table of theirs computes with them, so duals nest in duals and in Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, duals_in, plain_part
from pullback.arrays.dual.errors import MixedCotangentsError, no_forward_derivative
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.numpy.quiet import calm, careful, is_careful, restore, silence, warnings
from pullback.arrays.zero_directions import settled
from pullback.core.arguments import spread_lists
from pullback.core.dispatch import NUMBERS, OperatorTable, register_array_type, table_of
from pullback.core.mixed import MixedTable
from pullback.core.tangent_rules import Rule, rule_for
from pullback.core.tensor import Tensor, ndarray

_SUMS = frozenset({"add", "sub"})


class DualKernels(dict[str, Callable[..., Any]]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        made = self[name] = partial(_run, name)
        return made


class DualTable(MixedTable):
    """The table of operators on dual arrays."""

    def __init__(self) -> None:
        super().__init__("dual")
        self.__dict__["kernels"] = DualKernels()


DUAL: OperatorTable = DualTable()
register_array_type(DualArray, DUAL)


def highest(args: Sequence[Any]) -> ForwardLevel | None:
    """The innermost forward level among the arguments of a kernel."""
    found: ForwardLevel | None = None
    for dual in duals_in(args):
        if found is None or dual.level.number > found.number:
            found = dual.level
    return found


def _run(name: str, *args: Any) -> Any:
    """What kernel `name` gives for arguments of which at least one is dual."""
    level = highest(args)
    assert level is not None, "a kernel on duals runs where there is one"
    co = any(dual.co and dual.level.number == level.number for dual in duals_in(args))
    if co and name in _SUMS:
        _refuse_mixture(args, level)
    primals = [primal_at(x, level) for x in args]
    tangents = [tangent_at(x, level) for x in args]
    result = table_of(spread_lists(primals)).kernels[name](*primals)
    rule = rule_for(name, len(args))
    if rule is None:
        return result
    if rule.function is None and not any(_moves(tangents[i]) for i in range(len(args))):
        return _unmoved(rule, result, level, co)
    if rule.function is None:
        raise no_forward_derivative(rule.operator)
    if not any(_moves(tangents[i]) for i in rule.inputs):
        return _unmoved(rule, result, level, co)
    for i, argument in rule.underived:
        if _moves(tangents[i]):
            raise no_forward_derivative(rule.operator, argument)
    outputs = [result] if rule.returns_list or rule.outputs == 1 else list(result)
    found = _tangents(rule, primals, tangents, outputs)
    if rule.mutates:
        return _after_write(args[0], found[0])
    return _paired(rule, result, found, primals, tangents, level, co)


def primal_at(x: Any, level: ForwardLevel) -> Any:
    """The primal at `level` of one argument of a kernel, or of each in a list; a constant's is itself."""
    if type(x) is DualArray:
        return x.primal if x.level.number == level.number else x
    if (type(x) is list or type(x) is tuple) and any(type(y) is DualArray for y in x):
        return [primal_at(y, level) for y in x]
    return x


def tangent_at(x: Any, level: ForwardLevel) -> Any:
    """The tangent, None where there is none."""
    if type(x) is DualArray:
        return x.tangent if x.level.number == level.number else None
    if type(x) is list or type(x) is tuple:
        return [tangent_at(y, level) for y in x]
    return None


def _moves(tangent: Any) -> bool:
    return any(t is not None for t in tangent) if type(tangent) is list else tangent is not None


def _tangents(rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """Call the rule's function with the operators that compute with these components."""
    values: list[Any] = []
    for i, primal in enumerate(primals):
        values.append(np.asarray(primal) if i in rule.tensors and type(primal) in NUMBERS else primal)
        if i in rule.inputs:
            values.append(tangents[i])
    assert rule.function is not None, "asked before"
    ops = table_of([*spread_lists(primals), *spread_lists(tangents)])
    before = warnings()
    stays = is_careful()
    try:
        silence()
        found = rule.function(*values, *outputs, ops=ops)
        return _settled(rule, found, tangents, ops) if careful and is_careful() else found
    finally:
        restore(before)
        if careful and not stays:
            calm()


def _settled(rule: Rule, found: tuple[Any, ...], tangents: Sequence[Any], ops: OperatorTable) -> tuple[Any, ...]:
    """The tangents of an element-by-element operator, 0 where all those of its arguments are."""
    directions = [t for t in (tangents[i] for i in rule.inputs) if t is not None]
    if not rule.pointwise or any(t.shape not in ((), f.shape) for t in directions for f in found if f is not None):
        return found
    return tuple(None if f is None else settled(f, directions, ops) for f in found)


def _unmoved(rule: Rule, result: Any, level: ForwardLevel, co: bool) -> Any:
    """What a kernel gives where every tangent is zero: duals still, so that whoever expects one finds one."""
    if rule.mutates:
        return result

    def dual(x: Any) -> Any:
        return DualArray(_array(x), None, level, co) if x.dtype.kind in "fc" else x

    if rule.returns_list:
        return [dual(x) for x in result]
    if rule.outputs == 1:
        return dual(result)
    return tuple(dual(x) if i in rule.moving else x for i, x in enumerate(result))


def _paired(
    rule: Rule,
    result: Any,
    found: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    level: ForwardLevel,
    co: bool,
) -> Any:
    """The results of a kernel with their tangents."""

    def dual(primal: Any, tangent: Any) -> Any:
        if primal.dtype.kind not in "fc":
            return primal
        primal = _array(primal)
        if tangent is None:
            return DualArray(primal, None, level, co)
        tangent, apart = _fitted(_array(tangent), primal, primals, tangents)
        return DualArray(primal, tangent, level, co, apart)

    if rule.returns_list:
        return [dual(p, t) for p, t in zip(result, found[0], strict=True)]
    if rule.outputs == 1:
        return dual(result, found[0])
    by_position = dict(zip(rule.moving, found, strict=True))
    return tuple(dual(p, by_position[i]) if i in by_position else p for i, p in enumerate(result))


def _array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, np.generic) else x


def _fitted(tangent: Any, primal: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, bool]:
    """(the tangent in the shape, dtype and layout of the primal, whether it is apart from memory the primal shares).

    A primal that is a view must have a tangent that is one; any other a tangent that nobody else holds. Only then may
    both be written into.
    """
    ops = table_of((tangent, primal))
    if tangent.shape != primal.shape:
        tangent = ops.expand(tangent, primal.shape)
    if tangent.dtype != primal.dtype:
        tangent = ops.to(tangent, primal.dtype)
    plain = type(primal) is ndarray and type(tangent) is ndarray
    whole, moved = (primal, tangent) if plain else (plain_part(primal), plain_part(tangent))
    view = any(overlap(whole, p if plain else plain_part(p)) for p in spread_lists(primals))
    shared = any(overlap(moved, plain_part(t)) for t in spread_lists(tangents) if t is not None)
    if view:
        return tangent, plain and not shared
    if plain and tangent.strides != primal.strides:
        return like(tangent, primal), False
    return (ops.clone(tangent) if shared else tangent), False


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays may share memory."""
    if type(a) is not ndarray or type(b) is not ndarray:
        return False
    return a is b or (a.size > 0 and np.may_share_memory(a, b))


def like(tangent: ndarray, primal: ndarray) -> ndarray:
    """A copy of the tangent in the layout of the primal, so that what is a view of one is a view of the other."""
    out = np.empty_like(primal)
    np.copyto(out, tangent)
    return out


def _after_write(target: DualArray, tangent: Any) -> DualArray:
    """The target of a kernel that has written into its primal, with the tangent written too."""
    if target.tangent is not None:
        target.tangent[...] = tangent
    return target


def _refuse_mixture(args: Sequence[Any], level: ForwardLevel) -> None:
    """A cotangent of the tangent's kind cannot be added to one of the other kind: see `arrays.dual.boundary`."""
    for dual in duals_in(args):
        if dual.level.number == level.number and not dual.co:
            raise MixedCotangentsError


__all__ = ["DUAL", "DualTable", "Tensor", "highest", "like", "overlap", "primal_at", "tangent_at"]
