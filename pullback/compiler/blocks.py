"""Groups of steps on large arrays, which run block by block, so that what is between them stays in the cache.

A group takes its arrays apart along the first dimension (see `rows`). Pointwise work on arrays of one shape in C order
is the same on flat arrays, where a row is one element. All steps join a group that can be taken apart as it is. Of the
others, those that need nothing of the group come before it, and the rest comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from pullback.arrays.traced.graph import Step, Value, spread
from pullback.compiler.rows import ByRows, by_rows, elements_of
from pullback.core.types import Shape
from pullback.dispatch.operator import tags_of

_BYTES = 1 << 17  # of the largest array in a block: as a few such fit into the second-level cache
_COSTLY = 1 << 18  # the same where kernels take a while to start, at each block
_MOST = 1 << 13  # elements that a row may have
_SMALLEST = 1 << 16  # elements, from which on arrays are taken apart


class Group:
    """Steps that run together, block by block.

    Attributes
    ----------
    rows : int
        The length of the first dimension.
    flat : tuple of int or None
        The shape of all arrays, where these are taken as flat ones.
    steps : list of (Step, ByRows)
    results : list of Value
        The arrays that others read of it.
    """

    def __init__(self, rows: int, flat: Shape | None) -> None:
        self.rows, self.flat = rows, flat
        self.steps: list[tuple[Step, ByRows]] = []
        self.made: set[int] = set()
        self.results: list[Value] = []

    def values(self) -> list[Value]:
        """The values that it reads from outside, each once."""
        found = {x.number: x for step, _ in self.steps for x in step.values() if x.number not in self.made}
        return list(found.values())

    def way(self, step: Step) -> ByRows | None:
        """How a step would be taken apart in this group; None if it cannot join."""
        way = _flatly(step, self.flat) if self.flat is not None else by_rows(step, self.rows)
        if way is None:
            return None
        whole = [x for nr, arg in enumerate(step.args) if nr not in way.places for x in spread((arg,))]
        if any(type(x) is Value and x.number in self.made for x in whole):
            return None
        rowwise = {x.number for one, how in self.steps if not how.total for x in one.results}
        inside = [step.args[nr] for nr in way.places if step.args[nr].number in self.made]
        return way if all(x.number in rowwise for x in inside) else None

    def add(self, step: Step, way: ByRows) -> None:
        """Take a step in."""
        self.steps.append((step, way))
        self.made.update(x.number for x in step.results)

    def block(self) -> int:
        """The number of rows in a block."""
        found = [x for step, way in self.steps for x in _of_rows(step, way)]
        sizes = [x.dtype.itemsize * (1 if self.flat is not None else elements_of(x)) for x in found]
        return max(1, (_COSTLY if any(map(_is_costly, self.steps)) else _BYTES) // max(sizes))


def grouped(steps: Sequence[Step], results: Iterable[Value]) -> list[Step | Group]:
    """The steps in an order in which groups are whole."""
    return _settled(_in_groups(steps), results)


def _in_groups(steps: Sequence[Step]) -> list[Step | Group]:
    made: list[Step | Group] = []
    for nr, first in enumerate(steps):
        if (group := _begins(first)) is None:
            made.append(first)
            continue
        before: list[Step] = []
        after: list[Step] = []
        late: set[int] = set()  # what is made after the group
        waits = False  # whether a step is among these that is kept: such steps stay in order
        for step in steps[nr + 1 :]:
            read = {x.number for x in step.values()}
            if late.isdisjoint(read) and (way := group.way(step)) is not None:
                group.add(step, way)
            elif late.isdisjoint(read) and group.made.isdisjoint(read) and not (step.kept and waits):
                before.append(step)
            else:
                after.append(step)
                waits = waits or step.kept
                late.update(x.number for x in step.results)
        return [*made, *_in_groups(before), group, *_in_groups(after)]
    return made


def _begins(step: Step) -> Group | None:
    """A group that begins with this step, if that is large."""
    if not step.results:
        return None
    shape = max((x.shape for x in (*step.values(), *step.results)), key=prod)
    if not shape or prod(shape) < _SMALLEST:
        return None
    if (way := _flatly(step, shape)) is not None and (len(shape) == 1 or shape[0] < 8 or prod(shape[1:]) > _MOST):
        group = Group(prod(shape), shape)
    elif shape[0] > 1 and prod(shape[1:]) <= _MOST and (way := by_rows(step, shape[0])) is not None:
        group = Group(shape[0], None)
    else:
        return None
    group.add(step, way)
    return group


def _settled(made: Sequence[Step | Group], results: Iterable[Value]) -> list[Step | Group]:
    """Groups of one step are that step; the others know which of their arrays are read by others."""
    wanted = {x.number for x in results}
    for part in made:
        wanted.update(x.number for x in part.values())
    found: list[Step | Group] = []
    for part in made:
        if isinstance(part, Group):
            if len(part.steps) == 1:
                found.append(part.steps[0][0])
                continue
            part.results = [x for step, _ in part.steps for x in step.results if x.number in wanted]
        found.append(part)
    return found


def _flatly(step: Step, shape: Shape | None) -> ByRows | None:
    """How a step is taken apart that works element by element on arrays of this shape in C order."""
    if shape is None:
        return None
    way = by_rows(step, shape[0]) if shape else None
    if way is None or not way.places or way.sized is not None:
        return None
    if way.total and not (step.args[1] is None and step.results[0].shape == ()):
        return None
    if not way.total and not (_is_pointwise(step) and in_order(step.results[0], shape)):
        return None
    fits = all(x.shape == () or in_order(x, shape) for x in step.values())
    return way if fits and len(way.places) == sum(x.shape != () for x in step.values()) else None


def _is_pointwise(step: Step) -> bool:
    return isinstance(step.what, str) and "pointwise" in tags_of(step.what)


def _is_costly(part: tuple[Step, ByRows]) -> bool:
    """True for what is neither a ufunc, nor a view, nor a sum: products, softmax and its kin."""
    step = part[0]
    return isinstance(step.what, str) and step.what != "sum" and not tags_of(step.what) & {"pointwise", "view"}


def _of_rows(step: Step, way: ByRows) -> list[Value]:
    return [step.args[nr] for nr in way.places] + ([] if way.total else list(step.results))


def in_order(x: Value, shape: Shape) -> bool:
    """True for an array of this shape in C order."""
    if x.shape != shape:
        return False
    step = x.dtype.itemsize
    for n, stride in zip(reversed(shape), reversed(x.strides), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return True
