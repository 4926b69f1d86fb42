"""Puts together what a kernel gave and what its rule gave: the results of an operator on dual arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, plain_part
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.touched import relate
from pullback.core.array_type import table_of
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.tangent_rules import Rule
from pullback.graph.strides import overlaps_itself
from pullback.graph.view import shares_memory


def unmoved(rule: Rule, result: Any, level: ForwardLevel, co: bool) -> Any:
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


def all_paired(
    rule: Rule,
    result: Any,
    found: Sequence[Any],
    masks: Sequence[Any] | None,
    duals: Sequence[DualArray],
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """The results of a kernel with their tangents; the rest is as in `paired`."""
    if rule.outputs == 1 and not rule.returns_list:
        return paired(result, found[0], None if masks is None else masks[0], duals, primals, tangents)
    if rule.returns_list:
        found = found[0]
    masks = [None] * len(found) if masks is None else masks
    if rule.returns_list:
        return [paired(p, t, m, duals, primals, tangents) for p, t, m in zip(result, found, masks, strict=True)]
    by_position = {i: (t, m) for i, t, m in zip(rule.moving, found, masks, strict=True)}
    return tuple(
        paired(p, *by_position[i], duals, primals, tangents) if i in by_position else p for i, p in enumerate(result)
    )


def paired(
    primal: Any,
    tangent: Any,
    mask: Any,
    duals: Sequence[DualArray],
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """One result with its tangent, computed from these duals and other arrays; `primals` and `tangents` are theirs."""
    if primal.dtype.kind not in "fc":
        return primal
    level, co = duals[0].level, any(x.co for x in duals)
    primal = _array(primal)
    if tangent is None:
        return DualArray(primal, None, level, co)
    tangent = _as_given(_array(tangent), (*primals, *tangents))
    tangent, view, apart = _fitted(tangent, primal, primals, tangents)
    made = DualArray(primal, tangent, level, co, apart or (view and any(x.apart for x in duals)), mask)
    if view:
        for x in duals:
            relate(made, x)
    return made


def paired_view(x: DualArray, primal: ndarray, tangent: ndarray, mask: Any) -> DualArray:
    """The same for what a view operator has made of the plain arrays of `x`, of one shape and dtype."""
    if not shares_memory(primal, x.primal):
        return paired(primal, tangent, mask, (x,), (x.primal,), (x.tangent,))  # type: ignore[no-any-return]
    apart = x.apart or not (shares_memory(tangent, x.tangent) or overlap(tangent, x.tangent))
    made = DualArray(primal, tangent, x.level, x.co, apart, mask)
    relate(made, x)
    return made


def _as_given(tangent: Any, given: Iterable[Any]) -> Any:
    """A tangent without the Tensor that a rule for Tensors has put around what it made of ndarrays alone."""
    if type(tangent) is not Tensor or tangent._requires_grad:
        return tangent
    return tangent if any(isinstance(x, Tensor) and x._level == tangent._level for x in given) else tangent._array


def _array(x: Any) -> Any:
    return np.asarray(x) if issubclass(type(x), np.generic) else x


def _fitted(tangent: Any, primal: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, bool, bool]:
    """(the tangent in the shape, dtype and layout of the primal, whether that is a view, whether the tangent is none).

    A primal that is a view must have a tangent that is one; any other a tangent that nobody else holds. Only then may
    both be written into.
    """
    if tangent.shape != primal.shape:
        tangent = table_of((tangent,)).expand(tangent, primal.shape)
    if tangent.dtype != primal.dtype:
        tangent = table_of((tangent,)).to(tangent, primal.dtype)
    shared = meets(tangent, tangents)
    plain = type(primal) is ndarray and type(tangent) is ndarray
    if meets(primal, primals):
        return tangent, True, not shared
    if plain and tangent.strides != primal.strides:
        return like(tangent, primal), False, False
    if not plain and len(primal.shape) > 1:
        tangent = in_layout_of(primal, tangent)
        shared = meets(tangent, tangents)
    return (table_of((tangent,)).clone(tangent) if shared or _repeats(tangent) else tangent), False, False


def in_layout_of(primal: Any, tangent: Any) -> Any:
    """A tangent that is no ndarray, or a copy of it, in the layout of the primal.

    Else a reshape that is a view of the one would be a copy of the other.
    """
    memory, found = plain_part(primal), plain_part(tangent)
    if type(memory) is not ndarray or type(found) is not ndarray or memory.strides == found.strides:
        return tangent
    if not memory.ndim == found.ndim == len(primal.shape):  # samples have dimensions of their own there
        return tangent
    axes = sorted(range(memory.ndim), key=lambda axis: -memory.strides[axis])
    ops = table_of((tangent,))
    made = ops.reshape(ops.permute(tangent, tuple(axes)), (-1,))  # a copy in C's order
    made = ops.reshape(made, tuple(primal.shape[axis] for axis in axes))
    return ops.permute(made, tuple(sorted(range(memory.ndim), key=axes.__getitem__)))


def _repeats(tangent: Any) -> bool:
    """True if elements of a tangent share memory, as a broadcast one's do, so that it could not be written into."""
    memory = plain_part(tangent)
    return type(memory) is ndarray and not memory.flags.forc and overlaps_itself(memory)


def meets(x: Any, others: Iterable[Any]) -> bool:
    """True if an array that was just computed may share memory with one of those that it was computed from."""
    whole = x if type(x) is ndarray else plain_part(x)
    if type(whole) is not ndarray:
        return False
    owner = whole if whole.base is None else whole.base
    if type(owner) is not ndarray or owner.base is not None:  # memory that another object lends
        return any(overlap(whole, plain_part(y)) for y in others)
    for y in others:
        part = y if type(y) is ndarray else plain_part(y)
        if type(part) is ndarray and (part is owner or part.base is owner):  # as it is of every view of an array
            return True
    return False


def overlap(a: Any, b: Any) -> bool:
    """True if two arrays may share memory."""
    if type(a) is not ndarray or type(b) is not ndarray:
        return False
    return a is b or (a.size > 0 and np.may_share_memory(a, b))


def like(tangent: ndarray, primal: ndarray) -> ndarray:
    """A copy of the tangent in the layout of the primal, so that what is a view of one is a view of the other."""
    out = np.empty_like(primal)
    np.copyto(out, tangent)
    return out
