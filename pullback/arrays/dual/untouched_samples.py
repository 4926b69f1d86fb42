"""Untouched elements where nobody knows the zeros of a tangent: those of each sample inside vmap, or of hidden numbers.

A mask is then an array as the tangent is, of bools. See `untouched`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from pullback.arrays.dual.untouched import Mask, by_element, constant, has_nan, is_plain, numbers_of_all
from pullback.core.arguments import spread_lists
from pullback.core.array_type import OperatorTable, carries_derivative, cleaned, table_of, touched_in
from pullback.core.types import Shape
from pullback.dispatch.tangent_rules import Rule


def pushed_for_samples(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Any],
    outputs: Sequence[Any],
    ops: OperatorTable,
) -> tuple[Sequence[Any], list[Any] | None]:
    """(tangents of the outputs, their masks)."""
    if rule.pointwise:
        found: Sequence[Any] = by_element(rule, primals, tangents, masks, outputs, ops)
    else:
        found = rule.push(primals, tangents, outputs, ops)
    wanted = outputs[0] if rule.returns_list else [outputs[i] for i in rule.moving]
    parts: Sequence[Any] = found[0] if rule.returns_list else found
    if rule.structural:
        return found, _by_rule(rule, primals, tangents, masks, outputs, parts, wanted)
    moving = [m for t, m in zip(spread_lists(tangents), spread_lists(masks), strict=True) if t is not None]
    if any(mask is None for mask in moving):
        return found, None
    table = table_of(moving)
    if rule.pointwise:
        common = reduce(table.logical_and, moving)
        return found, [_kept(common, x, y.shape) for x, y in zip(parts, wanted, strict=True)]
    still = reduce(table.logical_and, [table.all(mask) for mask in moving])  # all of a sample is untouched
    kept = [_kept(still, x, y.shape) for x, y in zip(parts, wanted, strict=True)]
    clean = [
        x if mask is None else cleaned(table_of((x, mask)).where, mask, x.dtype.type(0), x)
        for x, mask in zip(parts, kept, strict=True)
    ]
    return ([clean] if rule.returns_list else clean), kept


def _by_rule(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Any],
    outputs: Sequence[Any],
    found: Sequence[Any],
    wanted: Sequence[Any],
) -> list[Any]:
    """The masks of the outputs of a structural operator: what is no NaN if NaN stands for all that is touched."""
    marks = [_marks(t, mask) for t, mask in zip(tangents, masks, strict=True)]
    given, results = constant(list(primals)), constant(list(outputs))
    ops = table_of(spread_lists([*given, *marks, *results]))
    told = rule.push(given, marks, results, ops)
    parts: Any = told[0] if rule.returns_list else told
    kept = []
    for part, x, out in zip(parts, found, wanted, strict=True):
        table = table_of((part,))
        kept.append(None if part is None else _kept(table.logical_not(table.isnan(part)), x, out.shape))
    return kept


def _marks(tangent: Any, mask: Any) -> Any:
    """NaN where a tangent is touched and 0 elsewhere; None for one that is not there."""
    if type(tangent) is list:
        given = mask if type(mask) is list else [None] * len(tangent)
        return [_marks(t, m) for t, m in zip(tangent, given, strict=True)]
    if tangent is None:
        return None
    nan = tangent.dtype.type(complex(np.nan, np.nan) if tangent.dtype.kind == "c" else np.nan)
    numbers = np.full(tangent.shape, nan)
    return numbers if mask is None else table_of((mask,)).where(mask, nan.dtype.type(0), numbers)


def _kept(mask: Mask, found: Any, shape: Shape) -> Mask:
    """A mask in the shape of an output, of what is indeed 0 (or NaN of it): a rule may make numbers of nothing."""
    if found is None:
        return None
    value = constant(found)
    numbers, touched = numbers_of_all(value), touched_in(value)
    if carries_derivative(numbers) or (is_plain(touched) and not is_plain(numbers)):
        return None  # of a tangent that is yet to come: see func.linearize; or of one that has no numbers at all
    table = table_of((mask, value, touched))
    nothing = table.logical_not(touched)
    if has_nan(numbers):
        nothing = table.logical_or(nothing, table.isnan(value))
    mask = table.logical_and(mask, nothing)
    numbers = numbers_of_all(mask)
    if carries_derivative(numbers) or (is_plain(numbers) and not numbers.any()):
        return None  # a tape has yet to know them, or there are none
    return mask if tuple(mask.shape) == tuple(shape) else table.expand(mask, shape)
