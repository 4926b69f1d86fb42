"""The contents of a native program: nodes, each an array, and windows, through which they are read.

    map     element by element, by a rule that writes instructions
    gather  element by element, each from a place that an index tells
    reduce  over some dimensions: a sum, a product, a maximum, a minimum
    write   a window of an array gets, or is increased by, other numbers; the rest stays
    dot     a product of matrices
    alone   a step with an order of its own: running sums, factors of matrices
    check   nothing: where one of these truth values is true, the run ends

A node has no dimension of one element: these are of windows. No view is a node. A window has a shape, a stride for each
dimension and an offset, in elements of the node's memory; broadcasting is a stride of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from pullback.core.tensor import ndarray
from pullback.core.types import Shape

INPUT: Final = "input"
CONSTANT: Final = "constant"
MAP: Final = "map"
GATHER: Final = "gather"
REDUCE: Final = "reduce"
WRITE: Final = "write"
DOT: Final = "dot"
ALONE: Final = "alone"
CHECK: Final = "check"
APART: Final = frozenset({DOT, ALONE})  # which share no nest
LEAVES: Final = frozenset({INPUT, CONSTANT})

Strides: TypeAlias = tuple[int, ...]


class Map(NamedTuple):
    """How the elements of a map are computed.

    Attributes
    ----------
    name : str
        Equal names mean equal rules.
    rule : callable
        (code, type, *operands) -> Value: operands are values, or Python numbers where there is no array.
    bits : int
        Of the numbers it computes with: 32 or 64.
    kind : str
        "f" for floats, "i" for whole numbers.
    """

    name: str
    rule: Callable[..., Any]
    bits: int
    kind: str = "f"


class Index(NamedTuple):
    """Along which dimension an index counts: elements of memory from one place to the next, and how many there are."""

    stride: int
    length: int


class Reduce(NamedTuple):
    """A reduction: "add", "mul", "max" or "min" over these dimensions of the window that is read."""

    how: str
    axes: tuple[int, ...]


class Write(NamedTuple):
    """Where is written: a window of the target, and whether numbers are added to what is there.

    With `by` each element goes to the place that an index tells, which is the last operand.
    """

    strides: Strides
    offset: int
    adds: bool
    by: Index | None = None


class Dot(NamedTuple):
    """A product of two matrices, or of as many as the leading dimensions say: [..., m, k] and [..., k, n]."""

    batch: Shape
    m: int
    k: int
    n: int


class Alone(NamedTuple):
    """A step with an order of its own: see `solo.py`.

    Attributes
    ----------
    name : str
        Of the kernel.
    sizes : tuple of int
        That it is told.
    items : tuple of shapes
        Of one item of each operand, and of the result.
    batch : tuple of int
        The leading dimensions of all.
    """

    name: str
    sizes: tuple[int, ...]
    items: tuple[Shape, ...]
    batch: Shape


class Check(NamedTuple):
    """A look at truth values: `bits` are those of the numbers that were compared."""

    bits: int


class Node:
    """An array of a native program.

    Attributes
    ----------
    op : str
        INPUT, CONSTANT, MAP, GATHER, REDUCE, WRITE, DOT, ALONE or CHECK.
    attr
        Of an input its place, of a constant the array; else Map, Index, Reduce, Write, Dot, Alone or Check.
    operands : tuple of Window or number
        What it reads; of a write the target comes first; of a gather the index comes last, and the array has the
        shape of the result, as it lies at index 0.
    shape, dtype
    strides : tuple of int
        Of its memory, in elements. It fills its memory, unless it is a leaf.
    number : int
        A higher one than those of all that it reads.
    """

    __slots__ = ("attr", "dtype", "number", "op", "operands", "shape", "strides")

    def __init__(
        self, number: int, op: str, attr: Any, operands: Sequence[Any], shape: Shape, strides: Strides, dtype: Any
    ) -> None:
        self.number, self.op, self.attr, self.operands = number, op, attr, tuple(operands)
        self.shape, self.strides, self.dtype = shape, strides, np.dtype(dtype)

    @property
    def space(self) -> Shape:
        """The shape over which it runs."""
        if self.op in (REDUCE, CHECK):
            return self.operands[0].shape  # type: ignore[no-any-return]
        return self.operands[1].shape if self.op == WRITE else self.shape

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    def windows(self) -> list[Window]:
        """The arrays that it reads."""
        return [x for x in self.operands if type(x) is Window]

    def whole(self) -> Window:
        """All of it."""
        return Window(self, self.shape, self.strides, 0)

    def __repr__(self) -> str:
        return f"{self.op}{self.number}{list(self.shape)}"


class Window(NamedTuple):
    """A part of a node's memory, read as an array of this shape: strides and offset in elements."""

    node: Node
    shape: Shape
    strides: Strides
    offset: int

    @property
    def is_whole(self) -> bool:
        """True if it is the node as it is."""
        return self.offset == 0 and self.shape == self.node.shape and self.strides == self.node.strides

    def squeezed(self) -> Window:
        """Without dimensions of one element."""
        if 1 not in self.shape:
            return self
        return self.only([d for d, n in enumerate(self.shape) if n != 1])

    def only(self, dims: Sequence[int]) -> Window:
        """These dimensions, in this order, at the first place of the others."""
        return self._replace(shape=tuple(self.shape[d] for d in dims), strides=tuple(self.strides[d] for d in dims))

    def swapped(self) -> Window:
        """The last two dimensions exchanged."""
        *lead, rows, columns = range(len(self.shape))
        return self.only([*lead, columns, rows])

    def spread(self, shape: Shape) -> Window:
        """Broadcast to a shape."""
        if self.shape == shape:
            return self
        new = len(shape) - len(self.shape)
        strides = [0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)]
        return self._replace(shape=shape, strides=(*[0] * new, *strides))

    def through(self, view: Callable[[ndarray], ndarray]) -> Window | None:
        """The view that a function of NumPy makes of it; None if it makes a copy.

        NumPy is asked with an array of one byte an element, which lies as this window does.
        """
        span = 1 + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))
        memory = np.empty(max(span, 1), np.int8)
        begin = sum((n - 1) * -s for n, s in zip(self.shape, self.strides, strict=True) if s < 0)
        probe = np.ndarray(self.shape, np.int8, memory, begin, self.strides)
        found = view(probe)
        if not issubclass(type(found), ndarray) or not np.may_share_memory(found, memory):
            return None
        place = found.__array_interface__["data"][0] - probe.__array_interface__["data"][0]
        return self._replace(shape=found.shape, strides=found.strides, offset=self.offset + place)


def contiguous(shape: Shape) -> Strides:
    """The strides, in elements, of an array in C order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def dense(shape: Shape, strides: Sequence[int]) -> Strides:
    """Strides that fill memory, with dimensions in the order that these strides have; in elements."""
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[d])) if 0 not in strides else range(len(shape))
    found, step = [0] * len(shape), 1
    for d in reversed(list(order)):
        found[d] = step
        step *= shape[d]
    return tuple(found)


_SHORT: Final = 16  # elements of a dimension along which vectors do not pay
_LONGER: Final = 64  # of one along which they do


def long_last(shape: Shape, strides: Strides) -> Strides:
    """Strides in which the elements of a long dimension lie side by side, where those of a short one do.

    So vectors run along what vmap has left long.
    """
    if not shape:
        return strides
    inner = min(range(len(shape)), key=lambda d: strides[d])
    long = max(range(len(shape)), key=lambda d: shape[d])
    if shape[inner] >= _SHORT or shape[long] < _LONGER:
        return strides
    order = sorted((d for d in range(len(shape)) if d != long), key=lambda d: -strides[d])
    return dense(shape, _decreasing([*order, long]))


def _decreasing(order: Sequence[int]) -> list[int]:
    """Strides by which dimensions have this order."""
    strides = [0] * len(order)
    for nr, d in enumerate(order):
        strides[d] = len(order) - nr
    return strides
