"""Room in dual arrays for what will be written into them: derivatives of outer levels, and one of each sample.

    with dual_level():                  # the outer level
        a = make_dual(x, v)
        with dual_level():
            y = make_dual(a, v) * 1;  y *= a

The tangent of y at the inner level is an ndarray, as v is, and that of the product has a tangent of the outer level. So
it becomes a dual array itself before the write, with a tangent of zeros, and so does what shares its memory: in the
base of y, in the views of that, and in the Tensor that was given for the tangent. With samples it is alike: they come
to be in its tangent, where they are in the primal alone. Who else shares the memory, such as what unpack_dual has
given, would see the numbers and not their derivative; then the write is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, plain_part
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.touched import relate
from pullback.core.array_type import REGISTERED, array_type, table_of
from pullback.core.inspection import owner_of
from pullback.core.tensor import Tensor, inside_tensors, ndarray
from pullback.dispatch.outer_levels import Key, Place, put, refuse_if_shared, sharing_tensors, unwrap
from pullback.graph.view import base_of, live_views

Found = tuple[Key, Place]


def zeros_under(arrays: Sequence[ndarray]) -> list[ndarray]:
    """Zeros in one memory, with the layout of arrays in one memory."""
    bounds = [np.lib.array_utils.byte_bounds(a) for a in arrays]
    low, high = min(first for first, _ in bounds), max(last for _, last in bounds)
    memory = np.zeros(max(high - low, 1), np.uint8)
    begins = [a.__array_interface__["data"][0] - low if a.size else 0 for a in arrays]
    return [np.ndarray(a.shape, a.dtype, memory, begin, a.strides) for a, begin in zip(arrays, begins, strict=True)]


def fill(name: str, target: Tensor, level: ForwardLevel) -> None:
    """Let all parts of a dual target have a tangent of this level, of zeros where they have none."""
    for key in [key for key, _ in _lacking(target, "_array", level)]:
        places = _sharing(target, key, lambda x: _lacking(x, "_array", level))
        for place in places:
            unwrap(*place)
        places += _given_tangents(target, places)
        refuse_if_shared(name, [inside for place in places for inside in _insides(place)])
        arrays = list({id(getattr(*place)): getattr(*place) for place in places}.values())
        made = dict(zip(map(id, arrays), _with_zeros(arrays, level), strict=True))
        for place in places:
            put(place, made[id(getattr(*place))])


def _insides(place: Place) -> list[Place]:
    """The place, or those of the arrays in the dual array there."""
    array = getattr(*place)
    return [(holder, name) for _, holder, name in array.components()] if type(array) is DualArray else [place]


def _with_zeros(arrays: Sequence[Any], level: ForwardLevel) -> list[DualArray]:
    """Arrays in one memory as dual arrays with tangents of zeros in one memory."""
    memories = [plain_part(x) for x in arrays]
    plain = all(type(memory) is ndarray for memory in memories)
    zeros = zeros_under(memories) if plain else [table_of((x,)).zeros_like(x) for x in arrays]
    made = []
    for x, tangent in zip(arrays, zeros, strict=True):
        own = type(x) is DualArray and x.level.number == level.number  # it had none
        made.append(DualArray(x.primal if own else x, tangent, level, own and x.co))
    for other in made[1:]:
        relate(made[0], other)
    if len(made) == 1:
        made[0].touched = np.zeros(made[0].shape, bool)
    return made


def spread_samples(name: str, target: Tensor, args: Sequence[Any]) -> None:
    """Let the tangents of a dual target hold a number for each sample where what they come from does."""
    given = [part for x in args if isinstance(x, Tensor) for part in _parts(x)]
    for key, place in list(_parts(target)):  # a generator would hold an array
        found = [getattr(*other) for own, other in given if own <= key and type(getattr(*other)) in REGISTERED]
        if not (key and found and type(getattr(*place)) is ndarray):
            continue
        places = _sharing(target, key, _parts)
        refuse_if_shared(name, places)
        arrays = [getattr(*place) for place in places]
        _, *made = array_type(found[0]).holding(found[0], [_memory_of(arrays[0]), *arrays])
        for each, array in zip(places, made, strict=True):
            put(each, array)


def _memory_of(array: ndarray) -> ndarray:
    """The whole memory that an array lies in, as an array of its dtype."""
    owner = owner_of(array)
    if owner.dtype == array.dtype:
        return owner
    return owner[: owner.size // array.itemsize * array.itemsize].view(array.dtype)  # of `zeros_under`: bytes


def _parts(x: Tensor) -> Iterator[Found]:
    """The places of the arrays in the dual array of a Tensor."""
    if type(x._array) is DualArray:
        yield from ((key, (holder, name)) for key, holder, name in x._array.components())


def _lacking(holder: Any, name: str, level: ForwardLevel, key: Key = frozenset()) -> Iterator[Found]:
    """The places of what has no tangent of this level, by the inner levels whose tangent it is."""
    array = getattr(holder, name)
    inside = inside_tensors(array)
    if type(inside) is not DualArray or inside.level.number < level.number:
        yield key, (holder, name)
    elif inside.level.number == level.number:
        if inside.tangent is None and inside is array:
            yield key, (holder, name)
    elif inside is array:
        yield from _lacking(array, "primal", level, key)
        if array.tangent is not None:
            yield from _lacking(array, "tangent", level, key | {array.level.number})


def _sharing(target: Tensor, key: Key, places_of: Callable[[Tensor], Iterable[Found]]) -> list[Place]:
    """The places at a key, in the target, its base and the views of that, of arrays in the memory of the target's."""
    (own,) = [place for found, place in places_of(target) if found == key]
    places = {id(own[0]): own}
    for x in sharing_tensors(target):
        for found, place in places_of(x):
            if found == key and _in_one_memory(getattr(*place), getattr(*own)):
                places[id(place[0])] = place
    return list(places.values())


def _given_tangents(target: Tensor, places: Sequence[Place]) -> list[Place]:
    """The places of the Tensors that the user gave for these tangents, where they can become dual with them."""
    found = {}
    for holder, name in places:
        given = holder.kin.given if type(holder) is DualArray and name == "tangent" and holder.kin else None
        if given is not None and given._level == target._level and not given._requires_grad:
            alone = base_of(given) is None and not live_views(given)
            if alone and type(given._array) is ndarray and _in_one_memory(given._array, getattr(holder, name)):
                found[id(given)] = (given, "_array")
    return list(found.values())


def _in_one_memory(a: Any, b: Any) -> bool:
    a, b = plain_part(a), plain_part(b)
    return type(a) is ndarray and type(b) is ndarray and owner_of(a) is owner_of(b)
