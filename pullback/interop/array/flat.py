"""`x.flat`: the elements of an Array in C's order, to read, to write and to go through, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.interop.conversion import plain_array
from pullback.interop.operands import array


class Flat:
    """Does what `numpy.flatiter` does for ndarrays."""

    __slots__ = ("_array", "_next", "base")

    def __init__(self, base: Any) -> None:
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

    def copy(self) -> Any:
        """The elements, in an Array of one dimension."""
        return self.base.flatten()

    def __iter__(self) -> Iterator[Any]:
        self._next = 0
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self._array[self._place(self._next - 1)]

    def __getitem__(self, index: Any) -> Any:
        return self._array[self._place(self._positions(index))]

    def __setitem__(self, index: Any, value: Any) -> None:
        positions = self._positions(index)
        value = array(value)
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
        return np.asarray(np.arange(len(self))[index])

    def _place(self, positions: Any) -> Any:
        places = np.unravel_index(positions, self._array.shape)
        return places if np.ndim(positions) else tuple(map(int, places))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return plain_array(self.base, dtype, copy).ravel()
