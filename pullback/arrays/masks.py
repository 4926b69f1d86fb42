"""Masks of structural zeros: which elements of a gradient, or of a tangent, were touched. Both modes use them.

`where(x > 0, sqrt(x), 0)` does not depend on sqrt at x = 0 and below: no cotangent flows there, and a tangent stands
still. As numbers, though, the zeros that stand there meet an infinite slope, and 0 * inf is NaN. A zero of this kind
has a known place: an operator that masks has made it (tagged `masking` in native_functions.yaml: where, an index, relu,
...), a constant among what is copied and moved, or the user's own cotangent or tangent holds it. A zero that was
computed, by an underflow say, is another matter: there 0 * inf may stand for any number, and stays NaN.

A mask is an array of bools, True where something has touched an element; None stands for all of them. What hands it on:

- What is pointwise: an element of the result is touched if one of those is that it is made of. So it is in a sum.
- What is structural takes, moves and adds elements. Run on marks, numbers for what is touched and 0 for the rest, it
  tells by what is not 0.
- Anything else hands on only that nothing at all was touched.

Inside vmap a gradient is that of many samples, each with zeros of its own; and there are arrays that show no numbers.
Then a mask is an array as the gradient is, which kernels compute, and nobody looks before an element is cleaned. How a
backward hands masks on is said in `autograd.engine.structural_zeros`, how forward mode does in `arrays.dual.touched`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy import vdot

from pullback.core.array_type import (
    ARRAY_TYPES,
    REGISTERED,
    array_type,
    innermost,
    numbers_of,
    parts_of,
    table_of,
    touched_in,
)
from pullback.core.tensor import Tensor, inside_tensors, ndarray, wrap
from pullback.core.types import Shape

try:  # what np.count_nonzero calls, in a third of its time
    from numpy._core.multiarray import count_nonzero as count_nonzero  # noqa: PLC0414 - which says that others may import it
except ImportError:  # not in this version of NumPy
    from numpy import count_nonzero as count_nonzero  # noqa: PLC0414

_FEW = 3000  # elements, from which NumPy compares floats in a fifth of the time in which it counts them


class Mask:
    """A mask that is found when someone asks: by `find`, from those of the `sources` (None: all touched)."""

    __slots__ = ("find", "found", "sources")

    def __init__(self, find: Callable[..., Any] | None, *sources: Mask | None) -> None:
        self.found: Any = None
        self.find, self.sources = find, sources

    def touched(self) -> Any:
        """The mask as an array. It may have come a long way, so nothing recurses here."""
        stack = [self]
        while stack:
            mask = stack[-1]
            if mask.found is None:
                waiting = [source for source in mask.sources if source is not None and source.found is None]
                if waiting:
                    stack += waiting
                    continue
                found = [None if source is None else source.found for source in mask.sources]
                mask.found = mask.find(*found)  # type: ignore[misc]  # there is one where nothing is found yet
                mask.find, mask.sources = None, ()  # which hold what nodes have saved
            stack.pop()
        return self.found


def known(found: Any) -> Mask:
    """A mask that needs no finding."""
    mask = Mask(None)
    mask.found = found
    return mask


NOTHING = known(np.False_)


# -- where masks begin, and how they combine ---------------------------------------------------------------------------
def mask_in(x: Any, held: Any = None) -> Any:
    """The mask of a cotangent or tangent that a user gave: an array, or a Mask where its numbers are not at hand.

    None if all of it is touched, or a derivative in its direction is wanted. `held` is what the library made of it.
    """
    if type(x) is ndarray:
        return None if is_whole(x) else np.asarray(x != 0)
    if is_wanted(x):
        return None
    x = x if held is None else held
    parts = at_hand(x)
    if parts is None:
        return Mask(partial(touched_in, constant(x)))
    if all(map(is_whole, parts)):
        return None
    return touched_in(x) if of_many(x) else np.asarray(reduce(or_, [part != 0 for part in parts]))


def either(a: Mask, b: Mask) -> Mask:
    """The mask of a sum of two gradients: touched is what one of them has touched."""
    if a is NOTHING:
        return b
    return a if b is NOTHING else Mask(union, a, b)


def union(*masks: Any) -> Any:
    """The elements that one of several gradients or tangents has touched."""
    return reduce(or_, masks) if all(map(is_plain, masks)) else reduce(table_of(masks).logical_or, masks)


def summed(mask: Mask, shape: Shape) -> Mask:
    """The mask of a gradient summed to `shape`: a sum is touched if one of its terms is."""
    return NOTHING if mask is NOTHING else Mask(partial(_summed, shape), mask)


def _summed(shape: Shape, touched: Any) -> Any:
    lead = touched.ndim - len(shape)
    dims = (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1])
    return table_of((touched,)).any(touched, dims, True).reshape(shape)


def marks(mask: Any, shape: Shape, one: Any) -> Any:
    """`one` for each element that is touched, 0 for the rest."""
    if mask is None:
        return np.full(shape, one)
    zero = type(one)(0)
    if is_plain(mask):
        mask = mask if mask.shape == shape else np.broadcast_to(mask, shape)
        return mask * one if one == one else np.where(mask, one, zero)  # noqa: PLR0124 - the product takes half the time
    ops = table_of((mask,))
    return ops.where(mask if tuple(mask.shape) == tuple(shape) else ops.expand(mask, shape), one, zero)


def numbers_in(x: Any) -> Any:
    """Where a number stands that is neither 0 nor NaN, or a derivative: what is made of nothing may still be one."""
    if isinstance(x, Tensor):
        found = numbers_in(x._array)
        return found if is_plain(found) else wrap(found, x._level)
    kind = array_type(x)
    places = [(holder, name) for _, holder, name in kind.components(x)]
    if kind.dual:
        return union(*[numbers_in(getattr(holder, name)) for holder, name in places])
    if len(places) == 1 and not is_plain(inside := getattr(x, name := places[0][1])):  # samples with derivatives
        made = copy(x)
        setattr(made, name, numbers_in(inside))
        return made
    touched = touched_in(x)
    if not may_be_nan(x):
        return touched
    x = constant(x)
    ops = table_of((x, touched))
    return ops.logical_and(touched, ops.logical_not(ops.isnan(x)))


def is_nothing(x: Any) -> bool:
    """True if there is no number but 0 and NaN in what was made of nothing, so far as that is seen."""
    found = [array_type(part).sample(part) for part in parts_of(x)]
    return all(part is not None and bool(np.all((part == 0) | np.isnan(part))) for part in found)


def cleaned(x: Any, touched: Any) -> Any:
    """A gradient or tangent with 0 where nothing has touched it."""
    if type(x) is type(touched) is ndarray:
        return np.where(touched, x, x.dtype.type(0))
    inside = parts_of(touched)[0]
    inside = parts_of(x)[0] if is_plain(inside) else inside
    return array_type(inside).cleaned(inside, table_of((x, touched)).where, touched, x, x.dtype.type(0))


# -- what is seen of arrays of any type --------------------------------------------------------------------------------
def is_plain(x: Any) -> bool:
    """True if it is an ndarray or one of NumPy's numbers."""
    return type(x) is ndarray or issubclass(type(x), np.generic)


def of_many(x: Any) -> bool:
    """True if an array stands for those of many samples, be it by a tangent alone."""
    if is_plain(x):
        return False
    x = inside_tensors(x)
    kind = ARRAY_TYPES.get(type(x))
    return kind is not None and (
        kind.many or any(of_many(getattr(holder, name)) for _, holder, name in kind.components(x))
    )


def is_wanted(x: Any) -> bool:
    """True if a derivative in the direction of `x` is wanted, or one that only its whole array tells."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return True
        x = x._array
    kind = array_type(x)
    if kind.only_part(x) is not None:
        return False
    inside = [getattr(holder, name) for _, holder, name in kind.components(x)]
    return any(map(is_wanted, inside)) if inside else kind.carries_derivative(x)


def all_parts(x: Any) -> list[Any]:
    """The numbers in `x`, values and tangents; None for each part whose numbers are not at hand."""
    if (only := array_type(x).only_part(x)) is not None:
        return [only]
    return [numbers_of(part) for part in parts_of(x)]


def at_hand(x: Any) -> list[Any] | None:
    """The same; None if some are not at hand."""
    parts = all_parts(x)
    return None if any(part is None for part in parts) else parts


def may_be_nan(x: Any) -> bool:
    """True if a gradient or tangent has a NaN, or its derivative, or if nobody sees that but a mask would tell."""
    if is_plain(x):
        return has_nan(x)
    if (only := array_type(x).only_part(x)) is not None:
        return has_nan(only)
    parts = None if is_wanted(x) else at_hand(x)
    return array_type(numbers_of_all(x)).computes_masks if parts is None else any(map(has_nan, parts))


def has_nan(x: Any) -> bool:
    """True if there is a NaN among these numbers."""
    # One number tells: infinities give inf here, or a NaN too many for complex ones, which does no harm.
    if x.ndim == 1:
        squares = x.dot(x)  # twice as fast as vdot where x is short
    elif x.ndim:
        x = x if x.flags.c_contiguous else x.ravel("K")  # what has another order only is not copied
        squares = vdot(x, x)
    else:
        squares = x.item()
    return bool(squares != squares)  # noqa: PLR0124 - in a tenth of np.isnan's time


def is_whole(x: Any) -> bool:
    """True if no number is 0."""
    return bool(count_nonzero(x) == x.size if x.size < _FEW else (x != 0).all())


def is_nonzero(x: Any) -> Any:
    """x != 0, by the faster way for its size."""
    return x.astype(bool) if x.size < _FEW else x != 0


def computes_masks(x: Any) -> bool:
    """True if masks can be computed as arrays of this type: see `ArrayType.computes_masks`."""
    numbers = numbers_of_all(x)
    kind = array_type(numbers)
    return kind.computes_masks and not kind.carries_derivative(numbers)


def constant(x: Any) -> Any:
    """An array without its place in graphs and without derivatives, or each in a list; anything else as it is."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(constant, x))
    if isinstance(x, Tensor):
        return x.detach()
    return REGISTERED[type(x)].detached(x) if type(x) in REGISTERED else x


def values(x: Any) -> Any:
    """The plain array of values in `x`, or each in a list; None where there is none."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(values, x))
    x = innermost(x)
    return REGISTERED[type(x)].sample(x) if type(x) in REGISTERED else x


def numbers_of_all(x: Any) -> Any:
    """The numbers of all samples; of an array that holds none of its own, the array."""
    while True:
        if isinstance(x, Tensor):
            x = x._array
        elif type(x) in REGISTERED and len(parts := list(REGISTERED[type(x)].components(x))) == 1:
            x = getattr(parts[0][1], parts[0][2])
        else:
            return x
