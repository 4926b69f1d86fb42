"""Tangents with masks of what was touched, in forward mode: see `arrays.masks`.

A dual array may carry a mask. Where its tangent is untouched that is 0, whatever slope it meets.

- In a pointwise operator each tangent adds 0 where it is untouched, and the result is touched where one of them is.
- The rule of a structural operator, run on NaN for touched and 0 for the rest, tells by its NaNs what is touched: 1
  might cancel.
- Any other hands on only that nothing at all was touched, of each sample.

No graph is kept here that could find a mask later, so masks are found at once; mostly the zeros of a tangent tell.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.arrays.dual.array import DualArray, Kin, frozen
from pullback.arrays.masks import (
    Mask,
    cleaned,
    computes_masks,
    constant,
    count_nonzero,
    has_nan,
    is_nonzero,
    is_nothing,
    is_plain,
    is_whole,
    marks,
    may_be_nan,
    numbers_of_all,
    of_many,
    union,
    values,
)
from pullback.core.arguments import spread_lists
from pullback.core.array_type import NUMPY, OperatorTable, is_array, table_of
from pullback.core.tensor import ndarray
from pullback.core.types import Shape
from pullback.dispatch.tangent_rules import Rule

Touched = Any  # an array of bools, True where touched, of any type; None: all is touched, or may be
SUMS = frozenset({"add", "sub"})
_SHORT = 400  # elements, below which it is faster to take out some of them than to compare all
UNKNOWN = object()  # of a tangent that has yet to be found with its mask


def mask_of(x: Any) -> Touched:
    """The mask of one argument of a kernel, at its own level."""
    if type(x) is not DualArray or (x.kin is not None and x.kin.is_written()):
        return None
    if type(x.touched) is Mask:
        found = x.touched.touched()
        x.touched = None if is_plain(found) and found.all() else found
    return frozen(x.touched)  # what is computed may have the same one


def mask_at(x: Any, number: int) -> Touched:
    """The mask of one argument of a kernel at a level; for a list of arguments, the list of their masks."""
    if type(x) is list or type(x) is tuple:
        return [mask_at(y, number) for y in x]
    return mask_of(x) if type(x) is DualArray and x.level.number == number else None


def still(mask: Touched) -> bool:
    """True if nothing was touched, of some sample at least, or if nobody sees."""
    if mask is None or type(mask) is list or type(mask) is ndarray:
        return type(mask) is ndarray and not count_nonzero(mask)
    if not (size := math.prod(mask.shape)):
        return False
    numbers = numbers_of_all(mask)
    return not is_plain(numbers) or not bool(np.all(np.any(numbers.reshape(-1, size), axis=1)))


# -- in general --------------------------------------------------------------------------------------------------------
class Case(NamedTuple):
    """One call of an operator on dual arrays: its arguments with tangents and masks, and its outputs."""

    rule: Rule
    primals: Sequence[Any]
    tangents: Sequence[Any]
    masks: Sequence[Touched]
    outputs: Sequence[Any]

    def push(self, tangents: Sequence[Any], ops: OperatorTable) -> Sequence[Any]:
        """The tangents of the outputs, for these of the arguments."""
        return self.rule.push(self.primals, tangents, self.outputs, ops)

    def moving(self) -> Sequence[Any]:
        """The outputs that have tangents."""
        return self.outputs[0] if self.rule.returns_list else [self.outputs[i] for i in self.rule.moving]

    def parts(self, found: Sequence[Any]) -> Sequence[Any]:
        """The tangents of these, of all that was found."""
        return found[0] if self.rule.returns_list else found

    def whole(self, parts: list[Any]) -> Sequence[Any]:
        """All that was found, of these tangents."""
        return [parts] if self.rule.returns_list else parts


def pushed(case: Case, ops: OperatorTable) -> tuple[Sequence[Any], list[Any] | None]:
    """(tangents of the outputs, their masks), where an input has a mask, or one may begin here."""
    rule, _, tangents, masks, _ = case
    seen = not any(_shows_none(x) for x in spread_lists([*case.primals, *tangents, *masks]))
    if seen and not (rule.pointwise or rule.structural):
        return _pushed_through_opaque(case, ops)
    found = _by_element(case, ops) if rule.pointwise else case.push(tangents, ops)
    wanted, parts = case.moving(), case.parts(found)
    if seen and not all(x is None or is_plain(values(x)) for x in [*wanted, *parts]):
        return found, None
    if rule.structural:
        return found, _moved(case, found, seen)
    moving = [m for t, m in zip(spread_lists(tangents), spread_lists(masks), strict=True) if t is not None]
    if any(mask is None for mask in moving):
        return found, None
    if rule.pointwise:
        common = union(*moving)
        return found, [_kept(common, x, y.shape, seen) for x, y in zip(parts, wanted, strict=True)]
    anything = union(*[table_of((mask,)).any(mask) for mask in moving])  # of a sample
    kept = [_kept(anything, x, y.shape, seen) for x, y in zip(parts, wanted, strict=True)]
    return case.whole([x if m is None else cleaned(x, m) for x, m in zip(parts, kept, strict=True)]), kept


def _pushed_through_opaque(case: Case, ops: OperatorTable) -> tuple[Sequence[Any], list[Any] | None]:
    """The same for an operator that is neither pointwise nor structural: what stands still adds nothing."""
    moving = [None if still(mask) else t for t, mask in zip(case.tangents, case.masks, strict=True)]
    if any(t is not None for i in case.rule.inputs for t in spread_lists([moving[i]])):
        return case.push(moving, ops), None
    found, wanted = case.push(case.tangents, ops), case.moving()
    if not all(x is None or is_nothing(x) for x in case.parts(found)):  # a rule may make numbers of nothing
        return found, None
    return case.whole([table_of((x,)).zeros_like(x) for x in wanted]), [np.zeros(x.shape, bool) for x in wanted]


def _shows_none(x: Any) -> bool:
    """True if the zeros of an array are not known here: it is of many samples, or of a type that shows no numbers."""
    return type(x) is not ndarray and is_array(x) and (of_many(x) or not is_plain(values(x)))


def _by_element(case: Case, ops: OperatorTable) -> Sequence[Any]:
    """The tangents of a pointwise operator, to which each input adds 0 where it is untouched."""
    rule, _, tangents, masks, _ = case
    moving = [i for i in rule.inputs if tangents[i] is not None]
    masked = [i for i in moving if masks[i] is not None]
    if rule.operator in SUMS or not masked:  # no slope of a sum is infinite
        return case.push(tangents, ops)
    found: Sequence[Any] | None = None
    if len(moving) == 1 or not any(may_be_nan(tangents[i]) for i in moving):  # else nobody sees it of the result either
        found = case.push(tangents, ops)
        if not any(x is not None and may_be_nan(x) for x in found):
            return found
    terms = []
    for i in masked:
        alone = [t if j == i else None for j, t in enumerate(tangents)]
        term = found if found is not None and moving == [i] else case.push(alone, ops)
        terms.append([None if x is None else cleaned(x, masks[i]) for x in term])
    if moving != masked:
        terms.append(list(case.push([None if j in masked else t for j, t in enumerate(tangents)], ops)))
    return tuple(_sum(parts) for parts in zip(*terms, strict=True))


def _sum(terms: Sequence[Any]) -> Any:
    there = [term for term in terms if term is not None]
    return sum(there[1:], there[0]) if there else None


def _moved(case: Case, found: Sequence[Any], seen: bool) -> list[Any] | None:
    """The masks of the outputs of a structural operator."""
    if seen:
        parts, moved = values(list(case.parts(found))), values(list(case.tangents))
        if moves_everywhere(parts):
            return None
        plain = all(t is None or type(t) is ndarray for t in spread_lists(moved))
        if plain and _zeros_tell(case.rule, moved, case.masks):
            pairs = zip(parts, case.moving(), strict=True)
            return [None if t is None else _shaped(is_nonzero(t), x.shape) for t, x in pairs]
    return _by_rule(case, found, seen)


def _by_rule(case: Case, found: Sequence[Any], seen: bool) -> list[Any]:
    """The same by its rule: what is not 0 if NaN stands for all that is touched."""
    bare = values if seen else constant
    marked = [_marks(t, mask) for t, mask in zip(case.tangents, case.masks, strict=True)]
    given, results = bare(list(case.primals)), bare(list(case.outputs))
    ops = NUMPY if seen else table_of(spread_lists([*given, *marked, *results]))
    told = case.parts(case.rule.push(given, marked, results, ops))
    each = zip(told, case.parts(found), case.moving(), strict=True)
    return [None if touched is None else _kept(touched != 0, x, y.shape, seen) for touched, x, y in each]


def _marks(tangent: Any, mask: Touched) -> Any:
    """NaN where a tangent is touched and 0 elsewhere; None for one that is not there."""
    if type(tangent) is list:
        given = mask if type(mask) is list else [None] * len(tangent)
        return [_marks(t, m) for t, m in zip(tangent, given, strict=True)]
    if tangent is None:
        return None
    nan = complex(np.nan, np.nan) if tangent.dtype.kind == "c" else np.nan
    return marks(mask, tangent.shape, tangent.dtype.type(nan))


def _kept(mask: Touched, found: Any, shape: Shape, seen: bool) -> Touched:
    """A mask in the shape of an output, None if all is touched.

    A wrong rule may make numbers of nothing. They are touched, so that they show, where that is cheap to see.
    """
    if found is None:
        return None
    if seen:
        return None if count_nonzero(mask) == mask.size else _shaped(mask | is_nonzero(values(found)), shape)
    if not computes_masks(constant(found)):
        return None
    numbers = numbers_of_all(mask)
    if not computes_masks(mask) or (is_plain(numbers) and numbers.all()):
        return None
    return mask if tuple(mask.shape) == tuple(shape) else table_of((mask,)).expand(mask, shape)


# -- of plain arrays, where the usual way finds the tangents -----------------------------------------------------------
def plain_mask(
    rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], masks: Sequence[Touched], output: Any, found: Any
) -> Touched:
    """That of the one output of an operator on plain arrays, whose tangent is found; UNKNOWN where it needs a mask.

    Of the arguments the first have tangents and masks, or None.
    """
    if found is None:
        return None if rule.structural else UNKNOWN
    moving = [mask for t, mask in zip(tangents, masks, strict=True) if t is not None] if rule.pointwise else []
    if moving and (first := moving[0]) is not None and not rule.structural:
        alike = len(moving) == 1 or all(mask is first for mask in moving)
        if alike and first.shape == found.shape == output.shape and _stands(found, first):
            return first  # the usual case: all is still where it was
    if [mask for mask in moving if mask is not None] and has_nan(found):
        return UNKNOWN
    if rule.structural:
        mask = begun(rule, found, tangents, output.shape, masks)
        if mask is not UNKNOWN:
            return mask
        rest = [None] * (len(primals) - len(masks))
        return _by_rule(Case(rule, primals, [*tangents, *rest], [*masks, *rest], [output]), (found,), True)[0]
    if not rule.pointwise:
        return UNKNOWN
    if any(mask is None for mask in moving):
        return None
    return _kept(moving[0] if len(moving) == 1 else union(*moving), found, output.shape, True)


def plain_masks(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Touched],
    outputs: Sequence[Any],
    found: Sequence[Any],
) -> Any:
    """The same for all outputs of any operator: a list, None for none, UNKNOWN where a tangent needs its mask."""
    if rule.outputs == 1 and not rule.returns_list:
        mask = plain_mask(rule, primals, tangents, masks, outputs[0], found[0])
        return mask if mask is None or mask is UNKNOWN else [mask]
    if rule.structural:
        return _moved(Case(rule, primals, tangents, masks, outputs), found, True)
    pairs = zip([outputs[i] for i in rule.moving], found, strict=True)
    each = [plain_mask(rule, primals, tangents, masks, x, t) for x, t in pairs] if rule.pointwise else [UNKNOWN]
    return UNKNOWN if any(mask is UNKNOWN for mask in each) else each


def begun(
    rule: Rule, found: Any, tangents: Sequence[Any], shape: Shape, masks: Sequence[Touched] | None = None
) -> Touched:
    """That of the one output of an operator, as far as the zeros of its tangent tell it; else UNKNOWN."""
    if not rule.structural:
        return UNKNOWN
    if found is None or is_whole(found):
        return None
    return _shaped(is_nonzero(found), shape) if _zeros_tell(rule, tangents, masks) else UNKNOWN


def _zeros_tell(rule: Rule, tangents: Sequence[Any], masks: Sequence[Touched] | None) -> bool:
    """True if an element of a structural operator's tangent is untouched just where it is 0.

    So it is where every number of the given tangents that was touched is another than 0, and none are added up.
    """
    if not rule.copying and (not rule.pointwise or len([t for t in tangents if t is not None]) > 1):
        return False
    for nr, t in enumerate(tangents):
        mask = None if masks is None else masks[nr]
        if type(t) is list:
            if not _zeros_tell(rule, t, mask):
                return False
        elif t is not None:
            touched = t.size if mask is None else count_nonzero(mask)
            if t.dtype.kind != "f" or count_nonzero(t) != touched:  # parts of complex ones are not asked for
                return False
    return True


def moves_everywhere(found: Sequence[Any]) -> bool:
    """True if no tangent that was found has a zero, so that no mask can begin there."""
    for x in found:
        if type(x) is list or type(x) is tuple:
            if not moves_everywhere(x):
                return False
        elif x is None or not is_whole(x):
            return False
    return True


def _stands(found: Any, mask: Any) -> bool:
    """True if a tangent is 0 where it is untouched, by the faster way for its size."""
    if found.size < _SHORT:
        return bool(count_nonzero(found) == count_nonzero(found[mask]))
    return not ((found != 0) > mask).any()


def _shaped(mask: Touched, shape: Shape) -> Touched:
    """A mask in the shape of an output; None if all is touched."""
    if count_nonzero(mask) == mask.size:
        return None
    if type(mask) is not ndarray:  # of a single number
        mask = np.asarray(mask)
    return mask if mask.shape == shape else np.broadcast_to(mask, shape)


# -- writing -----------------------------------------------------------------------------------------------------------
def relate(a: DualArray, b: DualArray) -> None:
    """Note that two dual arrays lie in the same memory, so that a write into one makes the other's mask void."""
    a.kin = b.kin = kin = a.kin or b.kin or Kin()
    if a.apart:
        kin.parted.append(weakref.ref(a))


def written(target: DualArray, mask: Touched) -> None:
    """Note that `target` has been written into, and what of the new tangent is touched."""
    if target.kin is None:
        known = is_plain(mask)
        target.touched = np.broadcast_to(frozen(mask), target.shape) if known else None
    else:
        target.touched = None
        target.kin.note_write()
