"""Kernels on dual arrays: that of the components for the primals, the operator's rule for the tangents.

No kernel is written here by hand: each is made of a name when it is first asked for. Components may be arrays of any
type, and the table of theirs computes with them, so duals nest in duals and in Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pullback.arrays.dual.array import DualArray, duals_in
from pullback.arrays.dual.errors import MixedCotangentsError, no_forward_derivative
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.pairing import all_paired, like, overlap, unmoved
from pullback.arrays.dual.touched import SUMS, Case, mask_at, pushed, written
from pullback.arrays.dual.usual import usual
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.core import slots
from pullback.core.arguments import spread_lists
from pullback.core.array_type import TENSOR, OperatorTable, kernel_for, memory_of, table_of
from pullback.core.tensor import Tensor
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.operator import BY_KERNEL, FOUND
from pullback.dispatch.tangent_rules import Rule, rule_for


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
        found = partial(_run, name, rule)
        if name in BY_KERNEL:  # otherwise its area has yet to be loaded, by this call
            found = FOUND[name, arity] = usual(rule, name, found)
    return found


class DualTable(MixedTable):
    """The table of operators on dual arrays."""

    def __init__(self) -> None:
        super().__init__("dual")
        self.__dict__["kernels"] = DualKernels()


DUAL: OperatorTable = DualTable()


def highest(args: Sequence[Any]) -> ForwardLevel | None:
    """The innermost forward level among the arguments of a kernel."""
    found: ForwardLevel | None = None
    for dual in duals_in(args):
        if found is None or dual.level.number > found.number:
            found = dual.level
    return found


def _run(name: str, rule: Rule | None, *args: Any) -> Any:
    """The kernel `name` for calls with at least one dual argument."""
    level = highest(args)
    assert level is not None, "a kernel on duals runs where there is one"
    args = tuple([hoisted(x, level) for x in args])
    duals = [x for x in duals_in(args) if x.level.number == level.number]
    co, masked = any(x.co for x in duals), any(x.touched is not None for x in duals)
    if co and name in SUMS and not all(x.co for x in duals):
        raise MixedCotangentsError  # cotangents of different kinds: see `arrays.dual.boundary`
    primals, tangents = [primal_at(x, level) for x in args], [tangent_at(x, level) for x in args]
    given, moving = spread_lists(primals), [t for t in spread_lists(tangents) if t is not None]
    result = kernel_for(given, name)(*primals)
    if rule is None and (rule := rule_for(name, len(args))) is None:  # asked again: the call may have loaded its area
        # The zeros that a formula gives in place of a cotangent go on as one of its kind.
        return DualArray(result, None, level, True) if co and name == "zeros_like" else result
    if rule.function is None and moving:
        raise no_forward_derivative(rule.operator)
    if not any(_moves(tangents[i]) for i in rule.inputs):
        return unmoved(rule, result, level, co)
    for i, argument in rule.underived:
        if _moves(tangents[i]):
            raise no_forward_derivative(rule.operator, argument)
    outputs = [result] if rule.returns_list or rule.outputs == 1 else list(result)
    ops, masks = table_of((*given, *moving)), None
    found: Sequence[Any]
    before = warning_state()
    try:
        ignore_warnings()
        if co or not (masked or (level.masks and (rule.masking or (rule.placing and _places(rule, result, tangents))))):
            found = rule.push(primals, tangents, outputs, ops)  # of cotangents the backward keeps the masks
        else:
            masks = [mask_at(x, level.number) for x in args]
            found, masks = pushed(Case(rule, primals, tangents, masks, outputs), ops)
    except Exception as error:
        slots.formula_failed(error)
        raise
    finally:
        restore(before)
    if rule.mutates:
        return _after_write(args[0], result, found[0])
    return all_paired(rule, result, found, masks, duals, given, moving)


def hoisted(x: Any, level: ForwardLevel) -> Any:
    """One argument with the dual number of this level around the Tensors and duals that hold it, not inside of them.

    forward_ad puts it inside the Tensors of the transforms around, where func.jvp of Tensors has these inside.
    """
    if type(x) is list or type(x) is tuple:  # of arrays, or an index
        return [hoisted(y, level) for y in x] if any(isinstance(y, (Tensor, DualArray)) for y in x) else x
    if not isinstance(x, Tensor) and (type(x) is not DualArray or x.level.number >= level.number):
        return x
    parts = _split(x, level)
    return x if parts is None else DualArray(*parts[:2], level, parts[2])


def _split(x: Any, level: ForwardLevel) -> tuple[Any, Any, bool] | None:
    """(primal, tangent, whether it is a co-dual) of what holds a dual number of this level anywhere inside, or None."""
    if isinstance(x, Tensor):
        inside = _split(x._array, level)
        if inside is None:
            return None
        of = TENSOR.kernels
        return of["_fw_primal"](x, level), of["_fw_tangent"](x, level), inside[2]
    if type(x) is not DualArray:
        return None
    if x.level.number == level.number:
        return x.primal, x.tangent, x.co
    p, t = _split(x.primal, level), None if x.tangent is None else _split(x.tangent, level)
    if p is None and t is None:
        return None
    primal, moved, co = (x.primal, None, False) if p is None else p
    tangent, other, mark = (x.tangent, None, False) if t is None else t
    if moved is None:
        moved = table_of((primal,)).zeros_like(primal)
    return DualArray(primal, tangent, x.level, x.co), DualArray(moved, other, x.level, x.co), co or mark


def _places(rule: Rule, result: Any, tangents: Sequence[Any]) -> bool:
    """True if an element of the result may come from nothing that moves."""
    given = spread_lists([tangents[i] for i in rule.inputs])
    return any(t is None for t in given) or (
        type(result) is not list and getattr(result, "size", 0) > sum([t.size for t in given])
    )


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


def _after_write(target: DualArray, result: Any, tangent: Any) -> DualArray:
    """The target of a kernel that has written into its primal, with the tangent written too; or what replaces it."""
    if memory_of(target) is None:
        return DualArray(result, tangent, target.level, target.co)
    if target.tangent is not None:
        target.tangent[...] = tangent
    written(target, None)
    return target


__all__ = ["DUAL", "DualTable", "dual_kernel", "highest", "hoisted", "like", "overlap", "primal_at", "tangent_at"]
