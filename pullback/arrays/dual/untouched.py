"""Elements of a tangent that nothing has touched: they are 0 whatever the slope, however infinite it is.

`sqrt(where(x > 0, x, 0))` does not move with x at x = 0 and below, for the 0 of `where` stands still. As numbers,
though, a tangent of 0 meets an infinite slope there, and 0 * inf is NaN. So a dual array may carry a mask of elements
whose tangent is 0 by structure: an operator that masks has put them there (tagged `masking` in native_functions.yaml),
or a constant among the inputs of one that copies and moves (`structural`), or the tangent that the user gave is 0. A
zero that was computed is another matter: 0 * inf has no value then, and stays NaN. Reverse mode has the same rule, see
`pullback.autograd.structural_zeros`.

- In a pointwise operator each tangent adds 0 where it is untouched, and the result is untouched where all are.
- The rule of a structural operator, run on NaN for touched and 0 for the rest, tells by its NaNs what is touched.
- Any other hands on only that nothing at all was touched.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy import count_nonzero, vdot

from pullback.arrays.dual.array import DualArray, Kin
from pullback.core.arguments import spread_lists
from pullback.core.array_type import NUMPY, OperatorTable
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import DType, Shape
from pullback.dispatch.tangent_rules import Rule

Mask = Any  # ndarray of bool, True where untouched; None: all is touched, or may be
UNKNOWN = object()  # of a tangent that has yet to be found with its mask


# -- where masks begin -------------------------------------------------------------------------------------------------
def zeros_in(tangent: Any) -> Mask:
    """The mask of a tangent that a user gave; none where a derivative in the direction of the tangent is wanted."""
    parts = _parts(tangent)
    if not parts or not all(type(part) is ndarray for part in parts) or not any(map(_has_zeros, parts)):
        return None
    return reduce(np.logical_and, [part == 0 for part in parts])


def _parts(x: Any) -> list[Any] | None:
    """The plain arrays in nested Tensors and dual numbers; None if one of the Tensors requires a gradient."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return None
        x = x._array
    if type(x) is not DualArray:
        return [x]
    primal, tangent = _parts(x.primal), [] if x.tangent is None else _parts(x.tangent)
    return None if primal is None or tangent is None else primal + tangent


# -- how they go on ----------------------------------------------------------------------------------------------------
def mask_of(x: Any) -> Mask:
    """The mask of one argument of a kernel, at its own level."""
    return x.untouched if type(x) is DualArray and (x.kin is None or not x.kin.is_written()) else None


def mask_at(x: Any, number: int) -> Mask:
    """The mask of one argument of a kernel at a level; for a list of arguments, the list of their masks."""
    if type(x) is list or type(x) is tuple:
        return [mask_at(y, number) for y in x]
    return mask_of(x) if type(x) is DualArray and x.level.number == number else None


def still(mask: Mask) -> bool:
    """Whether nothing was touched."""
    return type(mask) is ndarray and bool(mask.all())


def pushed(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Mask],
    outputs: Sequence[Any],
    ops: OperatorTable,
) -> tuple[Sequence[Any], list[Any] | None]:
    """(tangents of the outputs, their masks), where an input has a mask, or one may begin here."""
    if rule.pointwise:
        found = _by_element(rule, primals, tangents, masks, outputs, ops)
    else:
        found = rule.push(primals, tangents, outputs, ops)
    known = all(isinstance(values(x), (ndarray, np.generic)) for x in spread_lists(outputs))
    if rule.structural and known:
        if not any(x is not None and _has_zeros(values(x)) for x in spread_lists(found)):
            return found, None  # all is touched
        return found, _by_rule(rule, primals, tangents, masks, outputs, found)
    if rule.pointwise and known:
        moving = [mask for t, mask in zip(tangents, masks, strict=True) if t is not None]
        if any(mask is None for mask in moving):
            return found, None
        common = reduce(np.logical_and, moving)
        return found, [_kept(common, x, outputs[i].shape) for i, x in zip(rule.moving, found, strict=True)]
    return found, None


def plain_mask(
    rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], masks: Sequence[Mask], output: Any, found: Any
) -> Mask:
    """That of the one output of an operator on plain arrays, whose tangent is found; UNKNOWN where it needs a mask.

    Of the arguments the first have tangents and masks, or None.
    """
    if found is None or not rule.pointwise:
        if not rule.structural:
            return UNKNOWN
    elif _has_nan(found) and any(mask is not None for mask in masks):
        return UNKNOWN
    if rule.structural:
        if found is None or not _has_zeros(found):
            return None
        rest = [None] * (len(primals) - len(masks))
        (mask,) = _by_rule(rule, primals, [*tangents, *rest], [*masks, *rest], [output], (found,))
        return mask
    moving = [mask for t, mask in zip(tangents, masks, strict=True) if t is not None]
    if any(mask is None for mask in moving):
        return None
    return _kept(reduce(np.logical_and, moving), found, output.shape)


def plain_masks(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Mask],
    outputs: Sequence[Any],
    found: Sequence[Any],
) -> Any:
    """The same for all outputs of any operator: a list, None for none, UNKNOWN where a tangent needs its mask."""
    if rule.outputs == 1 and not rule.returns_list:
        mask = plain_mask(rule, primals, tangents, masks, outputs[0], found[0])
        return mask if mask is None or mask is UNKNOWN else [mask]
    if not rule.structural:
        return UNKNOWN
    if not any(x is not None and _has_zeros(x) for x in spread_lists(found)):
        return None
    return _by_rule(rule, primals, tangents, masks, outputs, found)


def _by_element(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Mask],
    outputs: Sequence[Any],
    ops: OperatorTable,
) -> tuple[Any, ...]:
    """The tangents of a pointwise operator, to which each input adds 0 where it is untouched."""
    found = rule.push(primals, tangents, outputs, ops)
    masked = [i for i in rule.inputs if masks[i] is not None and tangents[i] is not None]
    if not masked or all(x is None or (issubclass(type(x), (ndarray, np.generic)) and not _has_nan(x)) for x in found):
        return found
    terms = []
    moving = [i for i in rule.inputs if tangents[i] is not None]
    for i in masked:
        alone = [t if j == i else None for j, t in enumerate(tangents)]
        term = found if moving == [i] else rule.push(primals, alone, outputs, ops)
        terms.append(tuple(None if x is None else _cleaned(x, masks[i], ops) for x in term))
    if moving != masked:
        rest = [None if j in masked else t for j, t in enumerate(tangents)]
        terms.append(rule.push(primals, rest, outputs, ops))
    return tuple(_sum(parts) for parts in zip(*terms, strict=True))


def _cleaned(found: Any, mask: Mask, ops: OperatorTable) -> Any:
    where = np.where if issubclass(type(found), (ndarray, np.generic)) else ops.where
    return where(mask, found.dtype.type(0), found)


def _sum(terms: Sequence[Any]) -> Any:
    there = [term for term in terms if term is not None]
    return sum(there[1:], there[0]) if there else None


def _by_rule(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Mask],
    outputs: Sequence[Any],
    found: Sequence[Any],
) -> list[Any]:
    """The masks of the outputs of a structural operator: what is no NaN if NaN stands for all that is touched."""
    marks = [_marks(t, mask) for t, mask in zip(tangents, masks, strict=True)]
    told = rule.push([values(p) for p in primals], marks, [values(x) for x in outputs], NUMPY)
    wanted = outputs[0] if rule.returns_list else [outputs[i] for i in rule.moving]
    parts: Any = told[0] if rule.returns_list else told
    given: Any = found[0] if rule.returns_list else found
    return [
        None if part is None else _kept(~np.isnan(part), x, out.shape)
        for part, x, out in zip(parts, given, wanted, strict=True)
    ]


def _marks(tangent: Any, mask: Mask) -> Any:
    """NaN where a tangent is touched and 0 elsewhere; None for one that is not there."""
    if type(tangent) is list:
        given = mask if type(mask) is list else [None] * len(tangent)
        return [_marks(t, m) for t, m in zip(tangent, given, strict=True)]
    if tangent is None:
        return None
    return _numbers(mask, tangent.shape, tangent.dtype)


def _numbers(mask: Mask, shape: Shape, dtype: DType) -> Any:
    numbers = np.empty(shape, dtype)
    numbers.fill(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)
    if mask is not None:
        numbers[mask] = 0
    return numbers


def _kept(mask: Mask, found: Any, shape: Shape) -> Mask:
    """A mask in the shape of an output, of what is indeed 0: a rule may make numbers of nothing."""
    if found is None or not count_nonzero(mask):
        return None
    mask = mask & (values(found) == 0)
    if not count_nonzero(mask):
        return None
    return mask if type(mask) is ndarray and mask.shape == shape else np.broadcast_to(mask, shape)


def is_nothing(found: Any) -> bool:
    """Whether there is no number but 0 and NaN in a tangent."""
    parts = [] if found is None else _all_parts(found)
    return all(bool(np.all((part == 0) | np.isnan(part))) for part in parts)


def _all_parts(x: Any) -> list[Any]:
    """The plain arrays in nested Tensors and dual numbers."""
    while isinstance(x, Tensor):
        x = x._array
    if type(x) is not DualArray:
        return [x]
    return _all_parts(x.primal) + ([] if x.tangent is None else _all_parts(x.tangent))


def values(x: Any) -> Any:
    """The plain array of values in nested Tensors and dual numbers, or each in a list."""
    while True:
        if isinstance(x, Tensor):
            x = x._array
        elif type(x) is DualArray:
            x = x.primal
        elif type(x) is list or type(x) is tuple:
            return type(x)(map(values, x))
        else:
            return x


def _has_zeros(x: Any) -> bool:
    return bool(count_nonzero(x) != x.size)


def _has_nan(x: Any) -> bool:
    # One number tells: infinities give inf here, or a NaN too many for complex ones, which does no harm.
    squares = vdot(x, x)
    return bool(squares != squares)  # noqa: PLR0124 - in a tenth of np.isnan's time


# -- writing -----------------------------------------------------------------------------------------------------------
def relate(a: DualArray, b: DualArray) -> None:
    """Note that two dual arrays lie in the same memory, so that a write into one makes the other's mask void."""
    a.kin = b.kin = kin = a.kin or b.kin or Kin()
    if a.apart:
        kin.parted.append(weakref.ref(a))


def written(target: DualArray, mask: Mask) -> None:
    """Note that `target` has been written into, and what of the new tangent is untouched."""
    if target.kin is None:
        target.untouched = None if mask is None else np.broadcast_to(mask, target.shape)
    else:
        target.untouched, target.kin.was_written = None, True
