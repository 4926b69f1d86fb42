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
from pullback.arrays.dual.untouched import is_nothing, mask_at, pushed, relate, still, written
from pullback.arrays.numpy.quiet import hush, restore, warnings
from pullback.core import slots
from pullback.core.arguments import spread_lists
from pullback.core.array_type import NUMBERS, OperatorTable, register_array_type, table_of
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.tangent_rules import Rule, rule_for

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
    """The kernel `name` for calls with at least one dual argument."""
    level = highest(args)
    assert level is not None, "a kernel on duals runs where there is one"
    number, co, masked = level.number, False, False
    for dual in duals_in(args):
        if dual.level.number == number:
            co, masked = co or dual.co, masked or dual.untouched is not None
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
    masks = None
    if masked or rule.masking or (rule.placing and _places(rule, result, tangents)):
        found, masks = _masked_tangents(rule, args, number, primals, tangents, outputs, co)
    else:
        found = _tangents(rule, primals, tangents, outputs, None)
    if rule.mutates:
        return _after_write(args[0], found[0])
    return _paired(rule, result, found, masks, args, primals, tangents, level, co)


def _places(rule: Rule, result: Any, tangents: Sequence[Any]) -> bool:
    """Whether an element of the result may come from nothing that moves."""
    given = spread_lists([tangents[i] for i in rule.inputs])
    return any(t is None for t in given) or (
        type(result) is not list and getattr(result, "size", 0) > sum(t.size for t in given)
    )


def _masked_tangents(
    rule: Rule,
    args: Sequence[Any],
    number: int,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    outputs: Sequence[Any],
    co: bool,
) -> tuple[Sequence[Any], list[Any] | None]:
    """The tangents and their masks, where there are masks, or may be from here on."""
    if co:  # cotangents, whose masks the backward keeps
        return _tangents(rule, primals, tangents, outputs, None), None
    masks = [mask_at(x, number) for x in args]
    if rule.pointwise or rule.structural:
        return _tangents(rule, primals, tangents, outputs, masks)
    moving = [None if still(mask) else t for t, mask in zip(tangents, masks, strict=True)]
    if any(_moves(moving[i]) for i in rule.inputs):
        return _tangents(rule, primals, moving, outputs, None), None
    found = _tangents(rule, primals, tangents, outputs, None)
    wanted = outputs[0] if rule.returns_list else [outputs[i] for i in rule.moving]
    parts = found[0] if rule.returns_list else found
    if not all(is_nothing(x) for x in parts):  # a rule may make numbers of nothing
        return found, None
    zeros = [table_of((x,)).zeros_like(x) for x in wanted]
    return ([zeros] if rule.returns_list else zeros), [np.ones(x.shape, bool) for x in wanted]


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


def _tangents(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    outputs: Sequence[Any],
    masks: Sequence[Any] | None,
) -> Any:
    """Call the rule's function, with the operators for these components; with masks, return masks too."""
    ops = table_of([*spread_lists(primals), *spread_lists(tangents)])
    before = warnings()
    try:
        hush()
        if masks is None:
            return _push(rule, primals, tangents, outputs, ops)
        return pushed(rule, primals, tangents, masks, outputs, partial(_push, rule), ops)
    except Exception as error:
        slots.formula_failed(error)
        raise
    finally:
        restore(before)


def _push(
    rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any], ops: OperatorTable
) -> tuple[Any, ...]:
    """Call the rule's function."""
    values: list[Any] = []
    for i, primal in enumerate(primals):
        values.append(np.asarray(primal) if i in rule.tensors and type(primal) in NUMBERS else primal)
        if i in rule.inputs:
            values.append(tangents[i])
    assert rule.function is not None, "asked before"
    return rule.function(*values, *outputs, ops=ops)


def _unmoved(rule: Rule, result: Any, level: ForwardLevel, co: bool) -> Any:
    """The result of a kernel where every tangent is zero: still duals, for callers that expect them."""
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
    masks: Sequence[Any] | None,
    args: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    level: ForwardLevel,
    co: bool,
) -> Any:
    """The results of a kernel with their tangents."""

    def dual(primal: Any, tangent: Any, mask: Any) -> Any:
        if primal.dtype.kind not in "fc":
            return primal
        primal = _array(primal)
        if tangent is None:
            return DualArray(primal, None, level, co)
        tangent, view, apart = _fitted(_array(tangent), primal, primals, tangents)
        made = DualArray(primal, tangent, level, co, apart, mask)
        if view:
            for x in duals_in(args):
                if x.level.number == level.number:
                    relate(made, x)
        return made

    if rule.returns_list:
        masks = [None] * len(result) if masks is None else masks
        return [dual(p, t, m) for p, t, m in zip(result, found[0], masks, strict=True)]
    if rule.outputs == 1:
        return dual(result, found[0], None if masks is None else masks[0])
    masks = [None] * len(found) if masks is None else masks
    by_position = {i: (t, m) for i, t, m in zip(rule.moving, found, masks, strict=True)}
    return tuple(dual(p, *by_position[i]) if i in by_position else p for i, p in enumerate(result))


def _array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, np.generic) else x


def _fitted(tangent: Any, primal: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, bool, bool]:
    """(the tangent in the shape, dtype and layout of the primal, whether that is a view, whether the tangent is none).

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
        return tangent, True, plain and not shared
    if plain and tangent.strides != primal.strides:
        return like(tangent, primal), False, False
    return (ops.clone(tangent) if shared else tangent), False, False


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
    written(target, None)
    return target


def _refuse_mixture(args: Sequence[Any], level: ForwardLevel) -> None:
    """A cotangent of the tangent's kind cannot be added to one of the other kind: see `arrays.dual.boundary`."""
    for dual in duals_in(args):
        if dual.level.number == level.number and not dual.co:
            raise MixedCotangentsError


__all__ = ["DUAL", "DualTable", "Tensor", "highest", "like", "overlap", "primal_at", "tangent_at"]
