"""`x.flat`: the elements of an Array in C's order, to read, to write and to go through, recorded."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.arrays.numpy.overlap import refuse_overlap
from pullback.core.array_face import Array
from pullback.core.array_type import layout_of
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike, Index
from pullback.interop.conversion import plain_array
from pullback.interop.numpy_errors import raise_as_numpy
from pullback.interop.operands import array


class Flat:
    """Does what `numpy.flatiter` does for ndarrays."""

    __slots__ = ("_array", "_next", "base")

    def __init__(self, base: Array) -> None:
        self.base = base
        self._array = base if base.ndim else np.reshape(base, 1)
        self._next = 0

    def __len__(self) -> int:
        return int(self.base.size)

    @property
    def index(self) -> int:
        """The number of the element that comes next."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """The place of the element that comes next."""
        shape = self.base.shape
        return tuple(map(int, np.unravel_index(self._next, shape))) if self._next < len(self) else tuple(shape)

    def copy(self) -> Array:
        """The elements, in an Array of one dimension."""
        return self.base.flatten()

    def __iter__(self) -> Iterator[Any]:
        self._next = 0
        return self

    def __next__(self) -> object:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self._array[self._place(self._next - 1)]

    def __getitem__(self, index: Index) -> object:
        try:
            return self._array[self._place(self._positions(index))]
        except Exception:
            raise_as_numpy(lambda x, i: x.flat[i], (self.base, index))
            raise

    def __setitem__(self, index: Any, value: Any) -> None:
        try:
            value = array(value)
            try:
                positions = self._positions(index)
            except IndexError:
                self._write_before_error(index, value)
                raise
            memory, others = layout_of(self.base), layout_of(value)
            refuse_overlap("x.flat[i] = y", lambda x, y: x.flat.__setitem__(index, y), memory, others)
            if not positions.ndim and value.size != 1:
                raise ValueError("Error setting single item of array.")
            self._write(positions, value)
        except Exception:
            raise_as_numpy(lambda x, i, v: operator.setitem(x.flat, i, v), (self.base, index, value))
            raise

    def _write_before_error(self, index: ArrayLike, value: AnyArray) -> None:
        """Write to the places before the first one that does not exist, as NumPy has done when it raises."""
        places = np.asarray(index)
        if places.dtype.kind in "iu" and places.ndim and value.size:
            good = (places.ravel() >= -len(self)) & (places.ravel() < len(self))
            before = good.tolist().index(False)
            if before:
                self._write(places.ravel()[:before] % len(self), np.resize(value, places.size)[:before])

    def _write(self, positions: np.ndarray[Any, Any], value: AnyArray) -> None:
        if not value.size:
            return  # as NumPy, which says nothing
        if positions.ndim or value.size != 1:  # NumPy takes the values over and over, and leaves those too many
            positions = positions.ravel()
            value = np.resize(value, positions.shape) if value.shape != positions.shape and value.ndim else value
        else:
            value = np.reshape(value, ())
        self._array[self._place(positions)] = value

    def _positions(self, index: Any) -> np.ndarray[Any, Any]:
        if isinstance(index, tuple):
            if len(index) > 1:
                raise IndexError("unsupported iterator index")
            index = index[0] if index else ...
        if index is None:
            raise IndexError("unsupported iterator index")
        return np.asarray(np.arange(len(self))[index])

    def _place(self, positions: Any) -> tuple[Any, ...]:
        places = np.unravel_index(positions, self._array.shape)
        return places if np.ndim(positions) else tuple(map(int, places))

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return plain_array(self.base, dtype, copy).ravel()
