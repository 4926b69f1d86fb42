"""Writing what an outer transform differentiates into a tensor around a plain array, inside an inner transform.

    func.grad(lambda x: func.grad(g)(a)):  z = y * 2;  z[0] = x[0]

z is a tensor of level 2 around an ndarray, which cannot hold the derivative with respect to x, of level 1. So the array
is wrapped once more, as a constant of level 1: z and its views become tensors of level 2 around tensors of level 1,
over the same memory, and the write is recorded there too. Whoever else shares the memory would see the numbers and not
the derivative; then the write is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.dispatch import has_table
from pullback.core.errors import InplaceError
from pullback.core.operator import Operator
from pullback.core.tensor import NestedTensor, Tensor, ndarray, wrap
from pullback.core.view import base_of, live_views, make_view


def hold_outer_levels(op: Operator, name: str, target: Tensor, args: Sequence[Any]) -> None:
    """Let `target` hold derivatives of the outer levels that the other arguments of an in-place operator have."""
    if type(target._array) is not ndarray or target._array.dtype.kind not in "fc":
        return
    others = [args[position] for position, _ in op.tensors]
    others += [x for position, _ in op.lists for x in args[position]]
    level = max((_outer_level(x, target._level) for x in others if isinstance(x, Tensor)), default=-1)
    if level < 0:
        return
    base = base_of(target)
    owner = target if base is None else base
    sharing = list({id(t): t for t in (owner, target, *live_views(owner))}.values())
    if not _nobody_else_shares(owner, sharing):
        raise InplaceError(
            f"{name} would write a value that an outer transform is differentiating into memory that others share "
            "(detached tensors, views, arrays of NumPy, or nodes that have saved it), which would not learn of its "
            "derivative. Use the out-of-place form, or write into a copy (t = t.clone())."
        )
    lower = wrap(owner._array, level)
    for view in sharing:
        if view is not owner:
            view._array = make_view(wrap(view._array, level), lower)
            view.__class__ = NestedTensor
    owner._array, owner.__class__ = lower, NestedTensor


def _outer_level(x: Tensor, level: int) -> int:
    """The highest level below `level` at which `x` is being differentiated, -1 if there is none."""
    raw = constant_part(x._array if x._level == level else x)
    return raw._level if isinstance(raw, Tensor) else -1


def constant_part(raw: Any) -> Any:
    """The array inside of tensors that nobody is differentiating; a tensor, where somebody is."""
    while isinstance(raw, Tensor) and not raw._requires_grad and not has_table(type(raw._array)):
        raw = raw._array
    return raw


def _nobody_else_shares(owner: Tensor, sharing: Sequence[Tensor]) -> bool:
    """Whether these tensors alone hold the memory of `owner`, as far as Python counts references."""
    arrays = {id(t._array) for t in sharing}
    bases = [id(base) for base in {id(t._array): t._array.base for t in sharing}.values()]  # type: ignore[attr-defined]
    for t in sharing:
        held = sum(other._array is t._array for other in sharing) + bases.count(id(t._array))
        if _references(t) - _ALONE + 1 != held:
            return False
    memory = id(owner._array.base)  # type: ignore[attr-defined]
    if owner._array.base is None or memory in arrays:  # type: ignore[attr-defined]
        return True
    return _references_of_base(owner) - _ALONE_AS_BASE + 1 == bases.count(memory)


def _references(tensor: Tensor) -> int:
    return sys.getrefcount(tensor._array)


def _references_of_base(tensor: Tensor) -> int:
    return sys.getrefcount(tensor._array.base)  # type: ignore[attr-defined]


# What Python counts where one tensor holds the array, and one array the memory: measured, as it depends on the version.
_ALONE = _references(wrap(np.zeros(1)))
_ALONE_AS_BASE = _references_of_base(wrap(np.zeros(2)[:1]))
