"""Elements of a tangent that nothing has touched: they are 0 whatever the slope, however infinite it is.

`sqrt(where(x > 0, x, 0))` does not move with x at x = 0 and below, for the 0 of `where` stands still. As numbers,
though, a tangent of 0 meets an infinite slope there, and 0 * inf is NaN. So a dual array may carry a mask of elements
whose tangent is 0 by structure: an operator that masks has put them there (tagged `masking` in native_functions.yaml),
or a constant among the inputs of one that copies and moves (`structural`), or the tangent that the user gave is 0. A
zero that was computed is another matter: 0 * inf has no value then, and stays NaN. Reverse mode has the same rule, see
`pullback.autograd.engine.structural_zeros`.

- In a pointwise operator each tangent adds 0 where it is untouched, and the result is untouched where all are.
- The rule of a structural operator, run on NaN for touched and 0 for the rest, tells by its NaNs what is touched.
- Any other hands on only that nothing at all was touched.

Inside vmap a direction is that of many samples, each with zeros of its own, and arrays of some types show no numbers:
see `untouched_samples`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy import logical_not, vdot

from pullback.arrays.dual.array import DualArray, Kin, frozen
from pullback.core.arguments import spread_lists
from pullback.core.array_type import (
    NUMPY,
    REGISTERED,
    OperatorTable,
    array_type,
    carries_derivative,
    cleaned,
    innermost,
    is_array,
    table_of,
    touched_in,
)
from pullback.core.tensor import Tensor, inside_tensors, ndarray
from pullback.core.types import DType, Shape
from pullback.dispatch.tangent_rules import Rule

try:  # what np.count_nonzero calls, in a third of its time
    from numpy._core.multiarray import count_nonzero as count_nonzero  # noqa: PLC0414 - which says that others may import it
except ImportError:  # not in this version of NumPy
    from numpy import count_nonzero as count_nonzero  # noqa: PLC0414

Mask = Any  # ndarray of bool, True where untouched; None: all is touched, or may be
SUMS = frozenset({"add", "sub"})
_MANY = 4096  # elements, from which NumPy compares floats in a fifth of the time in which it makes bools of them
UNKNOWN = object()  # of a tangent that has yet to be found with its mask


class Later:
    """The mask of a tangent that shows no numbers, found when an operator asks for it."""

    __slots__ = ("tangent",)

    def __init__(self, tangent: Any) -> None:
        self.tangent = tangent

    def found(self) -> Mask:
        """The mask; None where any number may stand anywhere."""
        touched = touched_in(self.tangent)
        return None if is_plain(touched) and touched.all() else table_of((touched,)).logical_not(touched)


# -- where masks begin -------------------------------------------------------------------------------------------------
def zeros_in(tangent: Any, held: Any = None) -> Mask:
    """The mask of a tangent that a user gave; none where a derivative in the direction of the tangent is wanted.

    `held` is what the dual array has of it, if that is another: the array in a Tensor.
    """
    if shows_none(tangent):
        if _is_differentiated(tangent):
            return None
        value = constant(tangent if held is None else held)
        return table_of((value,)).eq(value, 0) if of_many(tangent) else Later(value)
    parts = _parts(tangent)
    if not parts or not all(type(part) is ndarray for part in parts) or not any(map(_has_zeros, parts)):
        return None
    return np.asarray(reduce(np.logical_and, [part == 0 for part in parts]))  # of a single number it is none


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
    if type(x) is not DualArray or (x.kin is not None and x.kin.is_written()):
        return None
    if type(x.untouched) is Later:
        x.untouched = x.untouched.found()
    return x.untouched


def mask_at(x: Any, number: int) -> Mask:
    """The mask of one argument of a kernel at a level; for a list of arguments, the list of their masks."""
    if type(x) is list or type(x) is tuple:
        return [mask_at(y, number) for y in x]
    return mask_of(x) if type(x) is DualArray and x.level.number == number else None


def still(mask: Mask) -> bool:
    """True if nothing was touched, of some sample at least."""
    if mask is None or type(mask) is ndarray:
        return mask is not None and bool(count_nonzero(mask) == mask.size)
    if not of_many(mask) or not (size := math.prod(mask.shape)):
        return False
    return bool(np.any(np.all(numbers_of_all(mask).reshape(-1, size), axis=1)))


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
        found = by_element(rule, primals, tangents, masks, outputs, ops)
    else:
        found = rule.push(primals, tangents, outputs, ops)
    known = all(x is None or isinstance(values(x), (ndarray, np.generic)) for x in spread_lists([*outputs, *found]))
    if rule.structural and known:
        if not any(x is not None and _has_zeros(values(x)) for x in spread_lists(found)):
            return found, None  # all is touched
        numbers = values(list(tangents))
        pairs = zip(*map(spread_lists, (numbers, tangents)), strict=True)
        at_hand = all(type(x) is ndarray for x, t in pairs if t is not None)
        if at_hand and _zeros_tell(rule, numbers, masks):
            return found, _masks_of_zeros(rule, outputs, found)
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
    if found is None:
        return None if rule.structural else UNKNOWN
    moving = [mask for t, mask in zip(tangents, masks, strict=True) if t is not None] if rule.pointwise else []
    if moving and (first := moving[0]) is not None and not rule.structural:
        alike = len(moving) == 1 or all(mask is first for mask in moving)
        if alike and first.shape == found.shape == output.shape and not count_nonzero(found[first]):
            return first  # the usual case: all is still where it was
    if [mask for mask in moving if mask is not None] and _has_nan(found):
        return UNKNOWN
    if rule.structural:
        if not _has_zeros(found):
            return None
        if _zeros_tell(rule, tangents, masks):
            return _shaped(is_zero(found), output.shape)
        rest = [None] * (len(primals) - len(masks))
        (mask,) = _by_rule(rule, primals, [*tangents, *rest], [*masks, *rest], [output], (found,))
        return mask
    if not rule.pointwise:
        return UNKNOWN
    if any(mask is None for mask in moving):
        return None
    return _kept(moving[0] if len(moving) == 1 else reduce(np.logical_and, moving), found, output.shape)


def begun(rule: Rule, found: Any, tangents: Sequence[Any], shape: Shape) -> Mask:
    """That of the one output of an operator where no argument has a mask; UNKNOWN where that has yet to be asked.

    Where a structural operator copies, or takes one array by element, what is untouched is what is 0, as long as no
    number of the tangents is.
    """
    if not rule.structural:
        return UNKNOWN
    if found is None or count_nonzero(found) == found.size:
        return None
    if not rule.copying and (not rule.pointwise or len([t for t in tangents if t is not None]) > 1):
        return UNKNOWN
    for t in tangents:
        if t is not None and (t.dtype.kind != "f" or count_nonzero(t) != t.size):
            return UNKNOWN
    return _shaped(is_zero(found), shape)


def begun_by_element(found: Any, tangent: Any, shape: Shape) -> Mask:
    """The same for a structural operator that takes one array by element, in the usual case."""
    if type(found) is not ndarray or found.shape != shape:
        return UNKNOWN
    if count_nonzero(found) == found.size:
        return None
    if tangent.dtype.kind != "f" or count_nonzero(tangent) != tangent.size:
        return UNKNOWN
    return is_zero(found)


def _zeros_tell(rule: Rule, tangents: Sequence[Any], masks: Sequence[Mask]) -> bool:
    """True if an element of a structural operator's tangent is untouched just where it is 0.

    So it is where every number of the given tangents that was touched is another than 0, and none are added up.
    """
    if not rule.copying and (not rule.pointwise or len([t for t in tangents if t is not None]) > 1):
        return False
    for t, mask in zip(tangents, masks, strict=True):
        if t is not None and not _has_no_other_zeros(t, mask):
            return False
    return True


def _has_no_other_zeros(tangent: Any, mask: Mask) -> bool:
    """True if all zeros of a tangent, or of those in a list, are untouched. Parts of complex ones are not asked for."""
    if type(tangent) is list:
        parts = mask if type(mask) is list else [None] * len(tangent)
        return all(t is None or _has_no_other_zeros(t, m) for t, m in zip(tangent, parts, strict=True))
    touched = tangent.size if mask is None else tangent.size - count_nonzero(mask)
    return bool(tangent.dtype.kind == "f" and tangent.size - _count_zeros(tangent) == touched)


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
        pairs = zip([outputs[i] for i in rule.moving], found, strict=True)
        each = [plain_mask(rule, primals, tangents, masks, x, t) for x, t in pairs] if rule.pointwise else [UNKNOWN]
        return UNKNOWN if any(mask is UNKNOWN for mask in each) else each
    if moves_everywhere([x for x in spread_lists(found) if x is not None]):
        return None
    if _zeros_tell(rule, tangents, masks):
        return _masks_of_zeros(rule, outputs, found)
    return _by_rule(rule, primals, tangents, masks, outputs, found)


def _masks_of_zeros(rule: Rule, outputs: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    """The masks of outputs whose tangents are untouched just where they are 0."""
    wanted = outputs[0] if rule.returns_list else [outputs[i] for i in rule.moving]
    parts = found[0] if rule.returns_list else found
    return [None if t is None else _shaped(is_zero(values(t)), x.shape) for t, x in zip(parts, wanted, strict=True)]


def moves_everywhere(found: Sequence[Any]) -> bool:
    """True if no tangent that was found has a zero, so that no mask can begin there."""
    for x in found:
        if type(x) is list or type(x) is tuple:
            if not moves_everywhere(x):
                return False
        elif x is None or count_nonzero(x) != x.size:
            return False
    return True


def by_element(
    rule: Rule,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    masks: Sequence[Mask],
    outputs: Sequence[Any],
    ops: OperatorTable,
) -> tuple[Any, ...]:
    """The tangents of a pointwise operator, to which each input adds 0 where it is untouched."""
    found = rule.push(primals, tangents, outputs, ops)
    if rule.operator in SUMS:  # no slope is infinite
        return found
    masked = [i for i in rule.inputs if masks[i] is not None and tangents[i] is not None]
    if not masked or not any(x is not None and _may_be_nan(x) for x in found):
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


def _may_be_nan(x: Any) -> bool:
    """True if a tangent has a NaN, or its derivative may have one, which another transform wants."""
    if issubclass(type(x), (ndarray, np.generic)):
        return _has_nan(x)
    return _is_differentiated(x) or has_nan(numbers_of_all(x))


def _is_differentiated(x: Any) -> bool:
    """True if an array has a place in a graph, or a derivative of another transform."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return True
        x = x._array
    return carries_derivative(x)


def _cleaned(found: Any, mask: Mask, ops: OperatorTable) -> Any:
    where = np.where if issubclass(type(found), (ndarray, np.generic)) else ops.where
    return cleaned(where, mask, found.dtype.type(0), found)


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
    mask = mask & is_zero(values(found))
    return _shaped(mask, shape)


def _shaped(mask: Mask, shape: Shape) -> Mask:
    """A mask in the shape of an output; None if nothing is untouched."""
    if not count_nonzero(mask):
        return None
    if type(mask) is not ndarray:  # of a single number
        mask = np.asarray(mask)
    return mask if mask.shape == shape else np.broadcast_to(mask, shape)


def is_nothing(found: Any) -> bool:
    """True if there is no number but 0 and NaN in a tangent."""
    parts = [] if found is None else [_sample(part) for part in _all_parts(found)]
    return all(part is not None and bool(np.all((part == 0) | np.isnan(part))) for part in parts)


def _all_parts(x: Any) -> list[Any]:
    """The plain arrays in nested Tensors and dual numbers."""
    x = inside_tensors(x)
    if type(x) is not DualArray:
        return [x]
    return _all_parts(x.primal) + ([] if x.tangent is None else _all_parts(x.tangent))


def of_many(x: Any) -> bool:
    """True if an array stands for those of many samples, inside vmap."""
    return type(x) is not ndarray and is_array(x) and array_type(innermost(x)).many


def shows_none(x: Any) -> bool:
    """True if the zeros of an array are not known here: it is of many samples, or of a type that shows no numbers."""
    return type(x) is not ndarray and is_array(x) and (of_many(x) or not is_plain(values(x)))


def is_plain(x: Any) -> bool:
    """True if it is an ndarray or one of NumPy's numbers."""
    return issubclass(type(x), (ndarray, np.generic))


def constant(x: Any) -> Any:
    """An array without derivatives, or each in a list."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(constant, x))
    if isinstance(x, Tensor):
        return x.detach()
    return array_type(x).detached(x) if type(x) in REGISTERED else x


def numbers_of_all(x: Any) -> Any:
    """The numbers of all samples; of an array that holds none of its own, the array."""
    while True:
        if isinstance(x, Tensor):
            x = x._array
        elif type(x) in REGISTERED and len(parts := list(REGISTERED[type(x)].components(x))) == 1:
            x = getattr(parts[0][1], parts[0][2])
        else:
            return x


def has_nan(x: Any) -> bool:
    """True if there is a NaN among numbers, or they are not at hand."""
    return not issubclass(type(x), (ndarray, np.generic)) or _has_nan(x)


def values(x: Any) -> Any:
    """The plain array of values in nested Tensors and dual numbers, or each in a list; None where none is at hand."""
    while True:
        if isinstance(x, Tensor):
            x = x._array
        elif type(x) is DualArray:
            x = x.primal
        elif type(x) is list or type(x) is tuple:
            return type(x)(map(values, x))
        else:
            return _sample(x)


def _sample(x: Any) -> Any:
    return x if type(x) not in REGISTERED else REGISTERED[type(x)].sample(x)


def _has_zeros(x: Any) -> bool:
    return bool(_count_zeros(x))


def _count_zeros(x: Any) -> int:
    return int(count_nonzero(is_zero(x)) if x.size > _MANY else x.size - count_nonzero(x))


def is_zero(x: Any) -> Any:
    """x == 0, by the faster way for its size."""
    return x == 0 if x.size > _MANY else logical_not(x)


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
        known = is_plain(mask)
        target.untouched = np.broadcast_to(frozen(mask), target.shape) if known else None
    else:
        target.untouched = None
        target.kin.note_write()
