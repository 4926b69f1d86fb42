"""Kernels on dual arrays: that of the components for the primals, the operator's rule for the tangents.

No kernel is written here by hand: each is made of a name when it is first asked for. Components may be arrays of any
type, and the table of theirs computes with them, so duals nest in duals and in Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, duals_in
from pullback.arrays.dual.errors import MixedCotangentsError, no_forward_derivative
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.pairing import all_paired, like, overlap, unmoved
from pullback.arrays.dual.untouched import is_nothing, mask_at, pushed, still, written
from pullback.arrays.dual.usual import SUMS, usual
from pullback.arrays.numpy.quiet import hush, restore, warnings
from pullback.core.arguments import spread_lists
from pullback.core.dispatch import OperatorTable, register_array_type, table_of
from pullback.core.mixed import MixedTable
from pullback.core.operator import FOUND
from pullback.core.tangent_rules import Rule, rule_for

class DualKernels(dict[str, Callable[..., Any]]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        def kernel(*args: Any) -> Any:
            return dual_kernel(name, len(args))(*args)

        made = self[name] = kernel
        return made


def dual_kernel(name: str, arity: int) -> Callable[..., Any]:
    """The kernel of the operator overload with so many arguments."""
    found = FOUND.get((name, arity))
    if found is None:
        rule = rule_for(name, arity)
        in_general = partial(_run, name, rule)
        found = FOUND[name, arity] = in_general if rule is None else usual(rule, name, in_general)
    return found


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


def _run(name: str, rule: Rule | None, *args: Any) -> Any:
    """What kernel `name` gives for arguments of which at least one is dual."""
    level = highest(args)
    assert level is not None, "a kernel on duals runs where there is one"
    number, co, masked = level.number, False, False
    for dual in duals_in(args):
        if dual.level.number == number:
            co, masked = co or dual.co, masked or dual.untouched is not None
    if co and name in SUMS:
        _refuse_mixture(args, level)
    primals = [primal_at(x, level) for x in args]
    tangents = [tangent_at(x, level) for x in args]
    result = table_of(spread_lists(primals)).kernels[name](*primals)
    if rule is None:
        return result
    if rule.function is None and not any(_moves(tangents[i]) for i in range(len(args))):
        return unmoved(rule, result, level, co)
    if rule.function is None:
        raise no_forward_derivative(rule.operator)
    if not any(_moves(tangents[i]) for i in rule.inputs):
        return unmoved(rule, result, level, co)
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
    return all_paired(rule, result, found, masks, args, primals, tangents, level, co)


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
    """What the rule's function gives with the operators that compute with these components; with masks, masks too."""
    ops = table_of([*spread_lists(primals), *spread_lists(tangents)])
    before = warnings()
    try:
        hush()
        if masks is None:
            return rule.push(primals, tangents, outputs, ops)
        return pushed(rule, primals, tangents, masks, outputs, ops)
    finally:
        restore(before)


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


__all__ = ["DUAL", "DualTable", "dual_kernel", "highest", "like", "overlap", "primal_at", "tangent_at"]
