"""Products of matrices as steps of a program: BLAS by the pointers that SciPy gives, and loops for small ones.

Small ones are half done before BLAS has looked at its arguments. SciPy is imported by programs that have a large one.

    data: FIELDS, then of each leading dimension, the last first: its size, and the strides of a, b and c in bytes
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Type, Value, Variable
from pullback.core.types import Shape

SMALL: Final = 512  # multiplications, up to which loops are faster
SMALL_APART: Final = 64  # the same where the elements of a row of b lie apart
WORD: Final = 8
_AT_ONCE: Final = 4  # vectors of columns, in registers

# BLAS reads its arguments in the row itself: where whole numbers lie low byte first, a word is an `int` too.
FIELDS: Final = (
    "gemm", "m", "n", "k", "one", "adds", "of_a", "of_b", "by_a", "by_b", "by_c", "count", "rank",
    "a", "a_at", "a_down", "a_right", "b", "b_at", "b_down", "b_right", "c", "c_at", "c_down",
)  # fmt: skip


class Matrices(NamedTuple):
    """One of the three: [..., rows, columns].

    Attributes
    ----------
    base : int
        The number of its base.
    offset : int
        Bytes.
    shape : tuple of int
    strides : tuple of int
        Bytes; one of the last two is the size of an element. Those of the result are so for the last.
    """

    base: int
    offset: int
    shape: Shape
    strides: Shape


def kernel(type_: Type, multiply: Multiply | None = None) -> Code:
    """c = a b, or c + a b; for floats of this type, as many lanes at a time: by `by_blocks`, or `large_or_small`."""
    code = Code(f"dot_f{type_.bits}", [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
    bases, data = code.params
    row = _Row(code, type_, data)
    first = {x: code.shift(code.load(ADDRESS, bases.at(row.word(x), WORD)), row.word(f"{x}_at")) for x in "abc"}
    with code.loop(0, row.word("count")) as nr:
        at = {x: code.variable(address) for x, address in first.items()}
        rest = code.variable(nr)
        with code.loop(0, row.word("rank")) as d:
            lead = code.shift(data, d * (4 * WORD) + len(FIELDS) * WORD)
            size = code.load(INDEX, lead)
            step = code.make("irem", INDEX, code.get(rest), size)
            code.set(rest, code.make("idiv", INDEX, code.get(rest), size))
            for k, x in enumerate("abc", start=1):
                by = code.load(INDEX, code.shift(lead, k * WORD))
                code.set(at[x], code.shift(code.get(at[x]), step * by))
        (multiply or large_or_small)(row, *(code.get(at[x]) for x in "abc"))
    code.give(code.index(0))
    return code


class _Row:
    """The row of data, in a function that reads it."""

    def __init__(self, code: Code, type_: Type, data: Value) -> None:
        self.code, self.type, self._data = code, type_, data

    def place(self, field: str) -> Value:
        """Where a field lies."""
        return self.code.shift(self._data, FIELDS.index(field) * WORD)

    def word(self, field: str) -> Value:
        """A field."""
        return self.code.load(INDEX, self.place(field))


Multiply: TypeAlias = Callable[[_Row, Value, Value, Value], None]


def large_or_small(row: _Row, a: Value, b: Value, c: Value) -> None:
    """By BLAS, if there is its address in the row, else by loops."""
    code, place = row.code, row.place
    gemm = code.load(ADDRESS, place("gemm"))
    with code.when(gemm.ne(code.number(0, ADDRESS))) as large:
        # BLAS goes by columns, for which a row of ours is a column: c' = b' a'.
        code.call_at(
            gemm, None, place("of_b"), place("of_a"), place("n"), place("m"), place("k"), place("one"), b,
            place("by_b"), a, place("by_a"), place("adds"), c, place("by_c"),
        )  # fmt: skip
    with code.otherwise(large):
        by_loops(row, a, b, c)


def by_loops(row: _Row, a: Value, b: Value, c: Value) -> None:
    """Some columns of a row at a time."""
    with row.code.loop(0, row.word("m")) as i:
        _columns(row, i, a, b, c, row.code.index(0))


def by_blocks(row: _Row, a: Value, b: Value, c: Value) -> None:
    """The same, for large matrices too: as many columns at a time as registers hold."""
    code, type_, word = row.code, row.type, row.word
    n, size, lanes = word("n"), type_.bits // 8, type_.lanes
    width = _AT_ONCE * lanes
    whole = n - code.make("irem", INDEX, n, code.index(width))
    if lanes > 1:  # which load what lies side by side
        whole = code.sel(word("b_right").eq(size), whole, code.index(0))
    with code.loop(0, word("m")) as i:
        line = code.shift(a, i * word("a_down"))
        with code.loop(0, whole, width) as j:
            to = code.shift(c, i * word("c_down") + j * size)
            totals = [code.variable(code.number(0.0, type_)) for _ in range(_AT_ONCE)]
            with code.when(word("adds").ne(0)):
                for k, total in enumerate(totals):
                    code.set(total, code.load(type_, to.at(k * lanes, size)))
            with code.loop(0, word("k")) as p:
                x = code.splat(code.load(type_.one, code.shift(line, p * word("a_right"))), lanes)
                block = code.shift(b, p * word("b_down") + j * word("b_right"))
                for k, total in enumerate(totals):
                    y = code.load(type_, code.shift(block, word("b_right") * (k * lanes)))
                    code.set(total, code.fma(x, y, code.get(total)))
            for k, total in enumerate(totals):
                code.store(code.get(total), to.at(k * lanes, size))
        _columns(row, i, a, b, c, whole)


def _columns(row: _Row, i: Value, a: Value, b: Value, c: Value, begin: Value) -> None:
    """The columns of a row from this one on."""
    code, type_, word = row.code, row.type, row.word
    n, size, lanes = word("n"), type_.bits // 8, type_.lanes
    with code.loop(begin, n, lanes) as j:
        left = n - j
        to = code.shift(c, i * word("c_down") + j * size)
        total = code.variable(code.number(0.0, type_))
        with code.when(word("adds").ne(0)):
            code.set(total, code.load(type_, to, left))
        line, column = code.shift(a, i * word("a_down")), code.shift(b, j * word("b_right"))
        with code.when(word("b_right").eq(size)) as dense:
            _add(code, total, line, column, left, None, word)
        with code.otherwise(dense):
            _add(code, total, line, column, left, word("b_right"), word)
        code.store(code.get(total), to, left)


def _add(
    code: Code, total: Variable, row: Value, column: Value, left: Value, stride: Value | None,
    word: Callable[[str], Value],
) -> None:  # fmt: skip
    """Add the products of a row of a with some columns of b."""
    type_ = total.type
    with code.loop(0, word("k")) as p:
        x = code.splat(code.load(type_.one, code.shift(row, p * word("a_right"))), type_.lanes)
        y = code.load(type_, code.shift(column, p * word("b_down")), left, stride)
        code.set(total, code.fma(x, y, code.get(total)))


def data(
    a: Matrices, b: Matrices, c: Matrices, dtype: np.dtype[Any], adds: bool = False, blas: bool = True
) -> list[int]:
    """The row's data; the leading dimensions have been broadcast. `blas`: large ones are left to it."""
    (m, k), n, size = a.shape[-2:], b.shape[-1], dtype.itemsize
    batch = c.shape[:-2]
    small = m * n * k <= (SMALL if b.strides[-1] == size or n < 2 else SMALL_APART)
    numbers = np.zeros(2 * (WORD // size), dtype)
    numbers[0], numbers[WORD // size] = 1, adds
    one, more = numbers.view(np.int64).tolist()
    (of_a, by_a), (of_b, by_b) = (_direction(x, size) for x in (a, b))
    fields = {
        "gemm": 0 if small or not blas else gemm(dtype), "m": m, "n": n, "k": k, "one": one, "adds": more,
        "of_a": of_a, "of_b": of_b, "by_a": by_a, "by_b": by_b, "by_c": max(c.strides[-2] // size, n, 1),
        "count": prod(batch), "rank": len(batch),
        "a": a.base, "a_at": a.offset, "a_down": a.strides[-2], "a_right": a.strides[-1],
        "b": b.base, "b_at": b.offset, "b_down": b.strides[-2], "b_right": b.strides[-1],
        "c": c.base, "c_at": c.offset, "c_down": c.strides[-2],
    }  # fmt: skip
    assert c.strides[-1] == size or n < 2 or not prod(c.shape), c
    steps = [x for d in reversed(range(len(batch))) for x in (batch[d], a.strides[d], b.strides[d], c.strides[d])]
    return [*(fields[x] for x in FIELDS), *steps]


def _direction(x: Matrices, size: int) -> tuple[int, int]:
    """("N", elements from row to row) or ("T", elements from column to column), as BLAS has it, of a matrix."""
    (rows, columns), (down, right) = x.shape[-2:], x.strides[-2:]
    if (right == size or columns < 2) and (down >= columns * size or rows < 2):
        return ord("N"), max(down // size, columns, 1)
    assert down == size or rows < 2, x
    assert right >= rows * size or columns < 2, x
    return ord("T"), max(right // size, rows, 1)


@cache
def gemm(dtype: np.dtype[Any]) -> int:
    """Where BLAS's product for these numbers lies."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[{"d": "dgemm", "f": "sgemm"}[dtype.char]]
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return int(pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, name))
