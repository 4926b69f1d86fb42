"""In-place writes, inside an inner transform, of values that an outer transform is differentiating.

    func.grad(lambda x: func.grad(g)(a)):  z = y * 2;  z[0] = x[0]

z is a tensor of level 2 around an ndarray, which cannot hold the derivative with respect to x, of level 1. So the array
is wrapped once more, as a constant of level 1: z and its views become tensors of level 2 around tensors of level 1,
over the same memory, and the write is recorded there too. Whoever else shares the memory would see the numbers and not
the derivative; then the write is refused.

In func.jvp z is a dual array of level 2, whose primal and tangent may each be an ndarray. Each is treated alike.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, SCALAR_FACES, show_as_plural, wrap_as
from pullback.core.array_type import REGISTERED, array_type
from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, hold, ndarray, wrap
from pullback.dispatch.operator import Operator
from pullback.graph.view import base_of, live_views, make_view

Key = frozenset[int]  # the numbers of the forward levels whose tangent an array is; none: it is the primal of all
Place = tuple[Any, str]  # (who holds an array, in which attribute)


def hold_outer_levels(op: Operator, name: str, target: Tensor, args: Sequence[Any]) -> None:
    """Let `target` hold derivatives of the outer levels that the other arguments of an in-place operator have."""
    if target._array.dtype.kind not in "fc":
        return
    others = [args[position] for position, _ in op.tensors]
    others += [x for position, _ in op.lists for x in args[position]]
    # Beside each level an array of it, not the tensor: `_hold` counts who holds a tensor.
    given = [part for x in others if isinstance(x, Tensor) for part in _outer_parts(x, target._level)]
    for key, place in _places(target).items():
        level, like = max((found[1:] for found in given if found[0] <= key), key=itemgetter(0), default=(-1, None))
        if level >= 0 and _is_below(getattr(*place), level):
            _hold(name, target, key, level, like)


def apart_from(target: Tensor, op: Operator, args: Sequence[Any], raws: list[Any]) -> None:
    """Give the kernel copies of a dual array around tensors that the write will change: nodes of theirs may save it."""
    if not isinstance(target._array, Tensor) and any(isinstance(getattr(*p), Tensor) for p in _places(target).values()):
        for position, _ in op.tensors:
            x = args[position]
            if x is target or (isinstance(x, Tensor) and x._counter is not None and x._counter is target._counter):
                raws[position] = array_type(raws[position]).copy(raws[position])


def _is_below(array: Any, level: int) -> bool:
    """True if an array cannot hold a derivative of that level: an ndarray, or a tensor of a lower level."""
    return type(array) is ndarray or (isinstance(array, Tensor) and array._level < level)


def _hold(name: str, target: Tensor, key: Key, level: int, like: Any) -> None:
    """Wrap one array inside `target`, and what its base and views have there, as a constant of an outer level."""
    found = [place for t in sharing_tensors(target) if (place := _places(t).get(key))]
    found = [place for place in found if _is_below(getattr(*place), level)]
    sharing = list({id(holder): (holder, attribute) for holder, attribute in found}.values())
    for place in sharing:
        unwrap(*place)
    refuse_if_shared(name, sharing)
    arrays = [getattr(*place) for place in sharing]
    if all(type(array) is ndarray for array in arrays):
        arrays = list(array_type(like).holding(like, arrays))
    # What is written into is no number, though the array around it may have been made as one.
    lower = show_as_plural(wrap_as(target, arrays[0], level))
    for place, array in zip(sharing[1:], arrays[1:], strict=True):
        put(place, make_view(show_as_plural(wrap_as(target, array, level)), lower))
    put(sharing[0], lower)


def sharing_tensors(target: Tensor) -> list[Tensor]:
    """A tensor with its base and the views of that which are known."""
    base = base_of(target)
    owner = target if base is None else base
    return list({id(t): t for t in (owner, target, *live_views(owner))}.values())


def refuse_if_shared(name: str, places: Sequence[Place]) -> None:
    """Refuse to let arrays in one memory hold a derivative if anybody else holds that memory."""
    if not _nobody_else_shares(places):
        raise InplaceError(
            f"{name} would write a value that an outer transform is differentiating into memory that others share "
            "(detached tensors, views, arrays of NumPy, or nodes that have saved it), which would not see its "
            "derivative. Use the out-of-place form, or write into a copy (t = t.clone())."
        )


def unwrap(holder: Any, attribute: str) -> None:
    """Take an array in a dual array out of a constant tensor that a rule has made, and that nobody else holds."""
    part = getattr(holder, attribute)
    constant = isinstance(part, Tensor) and not part._requires_grad and type(part._array) is ndarray
    if constant and not isinstance(holder, Tensor) and _references((holder, attribute)) <= _ALONE + 1:
        setattr(holder, attribute, part._array)  # one more: the variable here


def _places(tensor: Tensor) -> dict[Key, Place]:
    """Where a tensor, or the dual array in it, holds arrays, by the forward levels whose tangents these are."""
    return dict(_inside(frozenset(), (tensor, "_array")))


def _inside(key: Key, place: Place) -> Iterator[tuple[Key, Place]]:
    """The places in the array at a place, as far as the types of arrays tell of any; else the place itself."""
    array: Any = getattr(*place)
    found = REGISTERED[type(array)].components(array) if type(array) in REGISTERED else ()
    inside = [(key | own, (holder, name)) for own, holder, name in found]
    if not inside:
        yield key, place
    for each in inside:
        yield from _inside(*each)


def put(place: Place, array: Any) -> None:
    """Put another array in a place."""
    holder, attribute = place
    if isinstance(holder, Tensor):
        hold(holder, array)
    else:
        setattr(holder, attribute, array)


def _outer_parts(x: Tensor, level: int) -> list[tuple[Key, int, Any]]:
    """The outer levels at which arrays inside of `x` are being differentiated, by forward levels; and these arrays."""
    if x._level != level:
        parts: list[tuple[Key, Any]] = [(frozenset(), x)]
    else:
        parts = [(key, getattr(*place)) for key, place in _places(x).items()]
    raws = [(key, constant_part(part)) for key, part in parts]
    return [(key, raw._level, raw._array) for key, raw in raws if isinstance(raw, Tensor)]


def constant_part(raw: Any) -> Any:
    """The array inside of tensors that nobody is differentiating; a tensor, where somebody is."""
    while isinstance(raw, Tensor) and not raw._requires_grad and type(raw._array) not in REGISTERED:
        raw = raw._array
    return raw


def seen_outside(x: Any, level: int) -> Any:
    """A result as code of that level sees it: outside of all transforms an ndarray or a number for an Array."""
    inside = constant_part(x) if not level and type(x) in ARRAYS else x
    if inside is x or isinstance(inside, Tensor):
        return x
    return inside[()] if type(x) in SCALAR_FACES else inside


def _nobody_else_shares(places: Sequence[Place]) -> bool:
    """True if these places alone hold the memory of the first, as far as Python counts references."""
    arrays = [id(getattr(*place)) for place in places]
    bases = [id(base) for base in {id(getattr(*place)): _base(place) for place in places}.values()]
    for place in places:
        array = id(getattr(*place))
        if _references(place) - _ALONE + 1 != arrays.count(array) + bases.count(array):
            return False
    memory = id(_base(places[0]))
    if _base(places[0]) is None or memory in arrays:
        return True
    return _references_of_base(places[0]) - _ALONE_AS_BASE + 1 == bases.count(memory)


def _base(place: Place) -> Any:
    array = getattr(*place)
    return base_of(array) if isinstance(array, Tensor) else array.base


def _references(place: Place) -> int:
    return sys.getrefcount(getattr(*place))


def _references_of_base(place: Place) -> int:
    return sys.getrefcount(_base(place))


# What Python counts where one tensor holds the array, and one array the memory: measured, as it depends on the version.
_ALONE = _references((wrap(np.zeros(1)), "_array"))
_ALONE_AS_BASE = _references_of_base((wrap(np.zeros(2)[:1]), "_array"))
