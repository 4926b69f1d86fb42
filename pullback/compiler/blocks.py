"""Groups of pointwise steps on large arrays, which run block by block, so that what is between them stays in the cache.

A step joins the group that is open if it works element by element on arrays of the group's shape. Steps that need
nothing of the group may come before it; the first that does closes it. A sum over all elements may end a group: its
parts are added up over the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from pullback.arrays.traced.graph import ONE, Step, Value
from pullback.core.types import Shape
from pullback.dispatch.operator import tags_of

BLOCK = 1 << 15  # elements: as a few such arrays fit into the second-level cache
_SMALLEST = 2 * BLOCK  # elements, from which on arrays are taken apart


class Group:
    """Steps that run together, block by block.

    Attributes
    ----------
    shape : tuple of int
        That of all arrays in it.
    steps : list of Step
    args, results : list of Value
        The arrays that it reads from outside, and those that others read of it.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.steps: list[Step] = []
        self.made: set[int] = set()
        self.results: list[Value] = []

    def values(self) -> list[Value]:
        """The values that it reads from outside, each once."""
        found = {x.number: x for step in self.steps for x in step.values() if x.number not in self.made}
        return list(found.values())


def grouped(steps: Sequence[Step], results: Iterable[Value]) -> list[Step | Group]:
    """The steps in an order in which groups are whole."""
    made: list[Step | Group] = []
    group: Group | None = None
    for step in steps:
        shape = _shape_of(step)
        if group is not None and not (shape == group.shape and _fits(step, group)):
            if group.made.isdisjoint(x.number for x in step.values()) and shape is None and not step.writes:
                made.insert(made.index(group), step)
                continue
            group = None
        if shape is None:
            made.append(step)
            continue
        if group is None:
            made.append(group := Group(shape))
        group.steps.append(step)
        group.made.update(x.number for x in step.results)
    return _settled(made, results)


def _settled(made: Sequence[Step | Group], results: Iterable[Value]) -> list[Step | Group]:
    """Groups of one step are that step; the others know which of their arrays are read by others."""
    wanted = {x.number for x in results}
    for part in made:
        wanted.update(x.number for x in part.values())
    found: list[Step | Group] = []
    for part in made:
        if isinstance(part, Group):
            if len(part.steps) == 1:
                part = part.steps[0]
            else:
                part.results = [x for step in part.steps for x in step.results if x.number in wanted]
        found.append(part)
    return found


def is_sum(step: Step) -> bool:
    """True for a sum of floating-point numbers over all dimensions."""
    if step.what != "sum" or step.args[1] is not None or any(step.args[2:]):
        return False
    return step.args[0].dtype.kind == "f" and step.args[0].dtype.itemsize >= 4  # type: ignore[no-any-return]


def _shape_of(step: Step) -> Shape | None:
    """The shape over which a step can be taken apart."""
    if step.form is not ONE or not step.pure or not isinstance(step.what, str):
        return None
    (result,) = step.results
    if is_sum(step):
        shape = step.args[0].shape
    elif "pointwise" in tags_of(step.what):
        shape = result.shape
        if not _in_order(result, shape):
            return None
    else:
        return None
    if prod(shape) < _SMALLEST:
        return None
    return shape if all(x.shape == () or _in_order(x, shape) for x in step.values()) else None


def _in_order(x: Value, shape: Shape) -> bool:
    """True for an array of this shape in C order."""
    if x.shape != shape:
        return False
    step = x.dtype.itemsize
    for n, stride in zip(reversed(shape), reversed(x.strides), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _fits(step: Step, group: Group) -> bool:
    """True if the step needs no sum of the group, which is not known before its end."""
    return all(x.shape == group.shape or x.number not in group.made for x in step.values())
