"""Where the elements of a view lie in its base, by geometry: shapes, strides and addresses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pullback.core.array_type import memory_of
from pullback.core.errors import InplaceError
from pullback.core.tensor import ndarray
from pullback.core.types import Gradient, Shape
from pullback.graph.fitting import complex_of_pairs, to_dtype
from pullback.graph.strides import storage_positions

Geometry: TypeAlias = tuple[Shape, Shape, int]  # shape, strides and offset, in elements
PutBack: TypeAlias = Callable[[Gradient], Gradient]


class ViewGeometry:
    """The elements of a view, counted in C order of its base. Records geometry alone; the counting waits for backward.

    Where one is complex and the other real (`z.real`), both count in real numbers, two to a complex one.
    """

    __slots__ = ("_base", "_view", "pairs_in_base", "pairs_in_view")

    def __init__(self, base: Any, view: Any) -> None:
        base, view = memory_of(base), memory_of(view)
        # Two complex arrays count in pairs too where one begins with an imaginary part of the other.
        apart = base.dtype != view.dtype or (base.dtype.kind == "c" and _misaligned(base, view))
        self.pairs_in_base = apart and base.dtype.kind == "c"
        self.pairs_in_view = apart and view.dtype.kind == "c"
        item = min(base.itemsize // (1 + self.pairs_in_base), view.itemsize // (1 + self.pairs_in_view))
        low, high = np.lib.array_utils.byte_bounds(base)
        if view.size:
            first, last = np.lib.array_utils.byte_bounds(view)
            if first < low or last > high:
                raise _beyond("reaches beyond the memory")
        self._base = _geometry(base, low, item, self.pairs_in_base)
        self._view = _geometry(view, low, item, self.pairs_in_view)

    def indices(self) -> ndarray:
        """An int array of the view's shape (and 2, for pairs): the position in the base of each element."""
        places: ndarray = storage_positions(self._view)
        shape, strides, offset = self._base
        if offset == 0 and strides == _row_strides(shape):
            return places
        base = storage_positions(self._base)
        counted = np.full(max(base.max(initial=0), places.max(initial=0)) + 1, -1, dtype=np.intp)
        counted[base] = np.arange(base.size, dtype=np.intp).reshape(base.shape)
        places = counted[places]
        if places.min(initial=0) < 0:
            raise _beyond("lies between the elements")
        return places

    def extract(self, grad: Gradient, ops: Any) -> tuple[Gradient, PutBack]:
        """The view's part of a gradient of the base, and a function that gives the whole with another part there."""
        row, indices = self._row_of_base(grad, ops), self.indices().reshape(-1)

        def put_back(part: Gradient) -> Gradient:
            if part is None:
                inside = ops.zeros(indices.shape, dtype=row.dtype)
            else:
                inside = to_dtype(self._row_of_view(part, ops), row.dtype, ops)
            return self._as_base(ops.index_put(row, (indices,), inside), ops)

        return self._as_view(ops.take(row, indices), ops), put_back

    def embed(self, part: Gradient, ops: Any) -> Gradient:
        """A gradient of the view in its places in zeros of the base's shape, summed where places are shown twice."""
        row = self._row_of_view(part, ops)
        zeros = ops.zeros((math.prod(self._base[0]),), dtype=row.dtype)
        return self._as_base(ops.index_put(zeros, (self.indices().reshape(-1),), row, True), ops)

    def _row_of_base(self, grad: Gradient, ops: Any) -> Gradient:
        return ops.reshape(ops.view_as_real(grad) if self.pairs_in_base else grad, (-1,))

    def _row_of_view(self, grad: Gradient, ops: Any) -> Gradient:
        return ops.reshape(ops.view_as_real(grad) if self.pairs_in_view else grad, (-1,))

    def _as_base(self, row: Gradient, ops: Any) -> Gradient:
        row = ops.reshape(row, self._base[0])
        return complex_of_pairs(row, ops) if self.pairs_in_base else row

    def _as_view(self, row: Gradient, ops: Any) -> Gradient:
        row = ops.reshape(row, self._view[0])
        return complex_of_pairs(row, ops) if self.pairs_in_view else row


def _misaligned(base: ndarray, view: ndarray) -> bool:
    """True if the elements of two arrays of one dtype are not a whole number of elements apart."""
    apart = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return any(n % base.itemsize for n in (apart, *base.strides, *view.strides))


def _beyond(how: str) -> InplaceError:
    return InplaceError(
        f"a view (made by as_strided) {how} of its base, so an in-place operation cannot be followed through it; work "
        "on a clone()."
    )


def _geometry(array: ndarray, low: int, item: int, pairs: bool) -> Geometry:
    """(shape, strides, offset) in elements of `item` bytes from the address `low`."""
    shape, strides = array.shape, tuple(s // item for s in array.strides)
    if pairs:
        shape, strides = (*shape, 2), (*strides, 1)
    return shape, strides, (array.__array_interface__["data"][0] - low) // item if array.size else 0


def _row_strides(shape: Shape) -> Shape:
    """The strides of a C-ordered array of this shape, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
