"""Prepares Tensors for an operator on dual arrays: tangents of closed levels are dropped, plain tensors become dual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, plain_part
from pullback.arrays.dual.boundary import (
    OPERATORS,
    at_level,
    make_dual,
    make_dual_at,
    pack,
    primal_of,
    primal_part,
    record_pack,
)
from pullback.arrays.dual.filling import fill, spread_samples, zeros_under
from pullback.arrays.dual.kernels import DUAL
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.touched import relate
from pullback.core import modes
from pullback.core.array_type import innermost as values_of
from pullback.core.array_type import numbers_of
from pullback.core.errors import EndedLevelError, InplaceError, with_article
from pullback.core.tensor import Tensor, hold, ndarray, wrap
from pullback.dispatch.mixed import ABOVE
from pullback.dispatch.operator import Operator
from pullback.graph.inplace_rules import refuse_overlap
from pullback.graph.node import edge_to
from pullback.graph.view import base_of, live_views


def prepare(op: Operator, args: Sequence[Any], level: int) -> Sequence[Any]:
    """The arguments without tangents of closed levels, and with plain tensors that require grad made dual.

    The latter because a gradient on its way to a plain tensor must leave dual numbers: see `arrays.dual.boundary`.
    """
    if op in OPERATORS or level == ABOVE:
        return args
    args = settle_all(args, level)
    if _drops_tangents():
        return _each(args, lambda x: _without_levels(x) if _is_dual(x, level) else x)
    if op.record is None or not modes.current().records(level):
        return args
    return lift_plain(args, level)


def _drops_tangents() -> bool:
    return any(observer.drops_tangents for observer in modes.current().observers)


def settle_all(args: Sequence[Any], level: int) -> list[Any]:
    """The arguments without tangents of closed levels."""
    return _each(args, lambda x: without_closed_levels(x) if _is_dual(x, level) else x)


def lift_plain(args: Sequence[Any], level: int) -> list[Any]:
    """The arguments with tensors that require grad made dual at every level at which one of them is."""
    levels = _levels_in(x for x in _flat(args) if _is_dual(x, level))

    def lifted(x: Any) -> Any:
        if isinstance(x, Tensor) and x._requires_grad and x._level == level:
            for at in reversed(levels):
                if not _has(x, at):
                    x = make_dual_at(level, x, None, at)
        return x

    return _each(args, lifted) if levels else list(args)


def _each(args: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [type(x)(map(function, x)) if type(x) in (list, tuple) else function(x) for x in args]


def _is_dual(x: Any, level: int) -> bool:
    return isinstance(x, Tensor) and x._level == level and type(x._array) is DualArray


def innermost(args: Sequence[Any], level: int) -> ForwardLevel | None:
    """The innermost forward level among Tensors of this level."""
    found: ForwardLevel | None = None
    for x in args:
        for y in x if type(x) in (list, tuple) else (x,):
            if _is_dual(y, level) and (found is None or y._array.level.number > found.number):
                found = y._array.level
    return found


def without_closed_levels(x: Tensor) -> Tensor:
    """`x`, or its primal where the level of its tangent is closed.

    Inside of another transform the primal would be a constant there, in silence.
    """
    while type(x._array) is DualArray and not x._array.level.open:
        dual = x._array
        if dual.level.is_lost(dual) and _may_move(dual.tangent):
            raise EndedLevelError(dual.level.run)
        x = _primal(x)
    return x


def _may_move(tangent: Any) -> bool:
    if tangent is None:
        return False
    numbers = numbers_of(tangent)
    return numbers is None or bool(np.any(numbers))


def _without_levels(x: Tensor) -> Tensor:
    """The primal of all levels."""
    while type(x._array) is DualArray:
        x = _primal(x)
    return x


def _primal(x: Tensor) -> Tensor:
    """The primal of a dual tensor, in its memory; recorded where `x` is."""
    return primal_of(x, x._array.level)  # type: ignore[attr-defined, no-any-return]


def prepare_target(name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
    """Let the target of an in-place operator hold the tangent that it will get.

    A plain target becomes dual itself, with a tangent of zeros, and so do its base and the base's views: they share the
    tangent's memory as they share the primal's.
    """
    if _is_dual(target, level) and not target._array.level.open:  # type: ignore[attr-defined]
        become(target, without_closed_levels(target))
    levels = _levels_in(without_closed_levels(x) for x in _flat(args) if _is_dual(x, level))
    if _drops_tangents():
        if _is_dual(target, level):
            raise InplaceError(f"{name} would leave the tangent of what it writes into as it was: forward mode is off.")
        return True
    if not levels or target._array.dtype.kind not in "fc":
        return True
    refuse_overlap(target, name)
    for at in levels:
        held = at_level(target, at)
        if held is None or held.tangent is None:
            _make_dual(name, target, at)
        fill(name, target, at)
    spread_samples(name, target, args)
    return True


def _has(array: Any, level: ForwardLevel) -> bool:
    """True if an array is dual at this level, be it in its tangent of another alone."""
    if isinstance(array, Tensor):
        return _has(array._array, level)
    return type(array) is DualArray and (
        array.level.number == level.number or _has(array.primal, level) or _has(array.tangent, level)
    )


def _levels_in(tensors: Iterable[Tensor]) -> list[ForwardLevel]:
    """The forward levels of all dual arrays in these tensors, those in the tangents of others too, innermost first."""
    found: dict[int, ForwardLevel] = {}
    arrays: list[Any] = [x._array for x in tensors]
    while arrays:
        array = arrays.pop()
        if type(array) is DualArray:
            if array.level.open:
                found.setdefault(array.level.number, array.level)
            arrays += array.primal, array.tangent
    return [found[number] for number in sorted(found, reverse=True)]


def _flat(args: Sequence[Any]) -> list[Any]:
    return [y for x in args for y in (x if type(x) in (list, tuple) else (x,))]


def _make_dual(name: str, target: Tensor, level: ForwardLevel) -> None:
    """Make the owner of the target's memory dual, and its views, with zeros in one memory for their tangents."""
    base = base_of(target)
    if base is not None and base._requires_grad:
        raise InplaceError(
            f"{name} would write a value with a tangent into a view of a tensor that has none and requires grad. Make "
            "the base dual before the view is made (forward_ad.make_dual(base, zeros)), or use the out-of-place form."
        )
    owner = target if base is None else base
    if owner._requires_grad and _may_have_views(owner):
        raise InplaceError(
            f"{name} would write a value with a tangent into a tensor that has none and requires grad, and of which "
            "there may be views, which would not share the tangent. Make it dual first (forward_ad.make_dual(t, "
            "zeros)), or "
            "use the out-of-place form."
        )
    _give_tangents(name, owner, level)


def _may_have_views(tensor: Tensor) -> bool:
    """True if another tensor may share the memory of one that requires grad, and so does not know its views."""
    memory = plain_part(tensor._array)
    return tensor._counter is not None or (type(memory) is ndarray and memory.base is not None)


def _give_tangents(name: str, owner: Tensor, level: ForwardLevel) -> None:
    """Make `owner` and all its views dual, with zeros in one memory for the tangents of them all."""
    before = wrap(owner._array, owner._level)
    before._counter, before._fn, before._requires_grad = owner._counter, edge_to(owner), owner._requires_grad
    views = live_views(owner)
    memories = [plain_part(x._array) for x in (owner, *views)]
    if type(memories[0]) is ndarray:
        zeros, *tangents = zeros_under(memories)
    elif views:
        held = with_article(values_of(owner))
        raise InplaceError(
            f"{name} would write a value with a tangent into a tensor around {held}, which has views but no "
            "strides by which the tangent could be shared; use the out-of-place form."
        )
    else:
        zeros, tangents = DUAL.zeros_like(owner._array), []
    become(owner, _made_dual(before, zeros, level))
    base = at_level(owner, level)
    if base is not None and not views:
        base.touched = np.zeros(owner.shape, bool)
    for view, tangent in zip(views, tangents, strict=True):
        hold(view, pack(primal_part(view._array, level), tangent, level, False))
        made = at_level(view, level)
        if base is not None and made is not None:
            relate(base, made)


def _made_dual(tensor: Tensor, tangent: Any, level: ForwardLevel) -> Tensor:
    """`tensor` with a tangent, at its own level also where it is around a tensor of a lower one."""
    if not isinstance(tensor._array, Tensor):
        return make_dual(tensor, wrap(tangent, tensor._level), level)  # type: ignore[no-any-return]
    out = wrap(pack(tensor._array, tangent, level, False), tensor._level)
    if tensor._requires_grad and modes.current().records(tensor._level):
        record_pack(out, tensor, None, level, False)
    return out


def become(target: Tensor, other: Tensor) -> None:
    """Let `target` take over the array of `other`, and its place in the graph."""
    hold(target, other._array)
    if other._requires_grad and target._requires_grad:
        target._fn = edge_to(other)
