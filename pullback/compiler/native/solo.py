"""Kernels that go through an array in an order of their own: running sums, factors of matrices, substitution.

Each is written for one item, a vector or a matrix, and runs over the leading dimensions.

    data: the number of items, that of leading dimensions, the sizes; of each array its base, its offset, and strides
          in an item, in bytes; of each leading dimension, the last first, its size and the strides of the arrays
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Type, Value
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.kernel import Place
from pullback.compiler.native.nodes import Node, Window, contiguous

WORD: Final = 8


class Array(NamedTuple):
    """An item of an array, in code."""

    code: Code
    type: Type
    address: Value
    strides: Sequence[Value]

    def at(self, *places: Any) -> Value:
        """The address of an element."""
        found = self.address
        for place, stride in zip(places, self.strides, strict=True):
            found = self.code.shift(found, self.code.index(place) * stride)
        return found

    def get(self, *places: Any) -> Value:
        """An element."""
        return self.code.load(self.type, self.at(*places))

    def put(self, value: Value, *places: Any) -> None:
        """Write an element."""
        self.code.store(value, self.at(*places))


Body: TypeAlias = Callable[[Code, Type, Sequence[Value], Sequence[Array]], None]


# -- running sums and their like ---------------------------------------------------------------------------------------
def _running(combine: Callable[[Code, Value, Value], Value]) -> Body:
    """Each element is made of the one before and of its own."""

    def body(code: Code, type_: Type, sizes: Sequence[Value], arrays: Sequence[Array]) -> None:
        x, out = arrays
        total = code.variable(x.get(0))
        out.put(code.get(total), 0)
        with code.loop(1, sizes[0]) as i:
            code.set(total, combine(code, code.get(total), x.get(i)))
            out.put(code.get(total), i)

    return body


def _extreme(code: Code, beats: Value, so_far: Value, x: Value) -> Value:
    """NaN, once met, stays."""
    return code.sel((beats | x.ne(x)) & so_far.eq(so_far), x, so_far)


def _recurrence(code: Code, type_: Type, sizes: Sequence[Value], arrays: Sequence[Array]) -> None:
    """s[i] = x[i] + c[i] s[i - 1]."""
    x, c, out = arrays
    total = code.variable(x.get(0))
    out.put(code.get(total), 0)
    with code.loop(1, sizes[0]) as i:
        code.set(total, x.get(i) + c.get(i) * code.get(total))
        out.put(code.get(total), i)


# -- matrices ----------------------------------------------------------------------------------------------------------
def _factored(code: Code, type_: Type, sizes: Sequence[Value], arrays: Sequence[Array]) -> None:
    """L and U of a matrix with its rows in another order, in one matrix; then a row with that order, and its sign.

    The row with the largest number in a column comes next.
    """
    (n,), (a, out) = sizes, arrays
    with code.loop(0, n) as i:
        with code.loop(0, n) as j:
            out.put(a.get(i, j), i, j)
        out.put(code.cast(code.tofloat(i), type_.bits), n, i)
        out.put(code.number(1.0, type_), n + 1, i)
    sign = code.variable(code.number(1.0, type_))
    with code.loop(0, n) as j:
        row, most = code.variable(j), code.variable(code.unary("abs", out.get(j, j)))
        with code.loop(j + 1, n) as i:
            size = code.unary("abs", out.get(i, j))
            with code.when(size > code.get(most)):
                code.set(most, size)
                code.set(row, i)
        with code.when(code.get(row).ne(j)):
            with code.loop(0, n) as k:
                _swap(out, (j, k), (code.get(row), k))
            _swap(out, (n, j), (n, code.get(row)))
            code.set(sign, -code.get(sign))
        with code.loop(j + 1, n) as i:
            below, pivot = out.get(i, j), out.get(j, j)
            by = code.sel(pivot.eq(0.0), 0.0, below / pivot)  # where all of a column is 0
            out.put(by, i, j)
            with code.loop(j + 1, n) as k:
                out.put(out.get(i, k) - by * out.get(j, k), i, k)
    out.put(code.get(sign), n + 1, 0)


def _swap(x: Array, one: Any, other: Any) -> None:
    first, second = x.get(*one), x.get(*other)
    x.put(second, *one)
    x.put(first, *other)


def _root(code: Code, type_: Type, sizes: Sequence[Value], arrays: Sequence[Array]) -> None:
    """The lower triangle L with L L' = a, of which the lower triangle is read; NaN from where there is none."""
    (n,), (a, out) = sizes, arrays
    with code.loop(0, n) as i, code.loop(0, n) as j:
        with code.when(i < j) as upper:
            out.put(code.number(0.0, type_), i, j)
        with code.otherwise(upper):
            total = code.variable(a.get(i, j))
            with code.loop(0, j) as k:
                code.set(total, code.get(total) - out.get(i, k) * out.get(j, k))
            with code.when(i.eq(j)) as diagonal:
                out.put(code.unary("sqrt", code.get(total)), i, j)
            with code.otherwise(diagonal):
                out.put(code.get(total) / out.get(j, j), i, j)


def _substituted(unit: bool) -> Body:
    """X with A X = B, A lower triangular; with ones on its diagonal if that is a unit."""

    def body(code: Code, type_: Type, sizes: Sequence[Value], arrays: Sequence[Array]) -> None:
        (n, columns), (a, b, out) = sizes, arrays
        with code.loop(0, n) as i, code.loop(0, columns) as j:
            total = code.variable(b.get(i, j))
            with code.loop(0, i) as k:
                code.set(total, code.get(total) - a.get(i, k) * out.get(k, j))
            out.put(code.get(total) if unit else code.get(total) / a.get(i, i), i, j)

    return body


BODIES: Final[dict[str, Body]] = {
    "running sum": _running(lambda c, total, x: total + x),
    "running product": _running(lambda c, total, x: total * x),
    "running maximum": _running(lambda c, total, x: _extreme(c, x >= total, total, x)),
    "running minimum": _running(lambda c, total, x: _extreme(c, x <= total, total, x)),
    "running logaddexp": _running(FUNCTIONS["logaddexp"]),
    "recurrence": _recurrence,
    "lower and upper factor": _factored,
    "lower root": _root,
    "substitution": _substituted(unit=False),
    "unit substitution": _substituted(unit=True),
}


class Solo:
    """A step with such a kernel, as a Kernel is one that runs over a nest."""

    def __init__(self, node: Node) -> None:
        self._node, self.buffers = node, dict[int, int]()
        self.form = node.attr.name, 8 * node.dtype.itemsize

    def write(self) -> Code:
        """The function."""
        node = self._node
        type_, own = Type("f", 8 * node.dtype.itemsize), [len(x) for x in node.attr.items]
        code = Code("solo", [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
        bases, data = code.params
        words = iter(range(1 << 20))

        def word() -> Value:
            return code.load(INDEX, data.at(next(words), WORD))

        count, rank = word(), word()
        sizes = [word() for _ in node.attr.sizes]
        firsts, strides = [], []
        for rank_of_item in own:
            base, offset = word(), word()
            firsts.append(code.shift(code.load(ADDRESS, bases.at(base, WORD)), offset))
            strides.append([word() for _ in range(rank_of_item)])
        leads, width = code.shift(data, next(words) * WORD), 1 + len(own)
        with code.loop(0, count) as nr:
            at, rest = [code.variable(x) for x in firsts], code.variable(nr)
            with code.loop(0, rank) as d:
                lead = code.shift(leads, d * (width * WORD))
                size = code.load(INDEX, lead)
                step = code.make("irem", INDEX, code.get(rest), size)
                code.set(rest, code.make("idiv", INDEX, code.get(rest), size))
                for k, variable in enumerate(at, start=1):
                    by = code.load(INDEX, code.shift(lead, k * WORD))
                    code.set(variable, code.shift(code.get(variable), step * by))
            arrays = [Array(code, type_, code.get(x), s) for x, s in zip(at, strides, strict=True)]
            BODIES[node.attr.name](code, type_, sizes, arrays)
        code.give(code.index(0))
        return code

    def data(self, places: dict[Any, Place]) -> list[int]:
        """The row of data."""
        node, size = self._node, self._node.dtype.itemsize
        attr = node.attr
        shape = (*attr.batch, *attr.items[-1])
        arrays = [*node.windows(), Window(node, shape, contiguous(shape), 0)]
        lead = len(attr.batch)
        words = [prod(attr.batch), lead, *attr.sizes]
        for x in arrays:
            place = places[x.node.number]
            words += [place.base, place.offset + x.offset * size, *(s * size for s in x.strides[lead:])]
        for d in reversed(range(lead)):
            words += [attr.batch[d], *(x.strides[d] * size for x in arrays)]
        return words
