"""Where the entries of a sparse matrix are: what stays the same while its values are differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from pullback.core.numpy_types import AnyArray

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.types import Compressed, Genuine, Places


class Pattern:
    """The places of entries, in the order of the values. Entries of one place add up.

    rows, cols : arrays of as many whole numbers as there are entries
    shape : number of rows, number of columns
    """

    __slots__ = ("_cols", "_form", "_order", "_rows", "_transposed", "shape")

    def __init__(
        self,
        rows: Places | None,
        cols: Places | None,
        shape: tuple[int, ...],
        form: Compressed | None = None,
        order: Places | None = None,
    ) -> None:
        self._rows, self._cols, self.shape = rows, cols, (int(shape[0]), int(shape[1]))
        self._form: Any = form  # None until `_arrange` has made one
        self._order = order
        self._transposed: Pattern | None = None

    @classmethod
    def compressed(cls, kind: type, indices: Places, indptr: Places, shape: tuple[int, ...]) -> Pattern:
        """Of the index arrays of a csr_array or csc_array."""
        return cls(None, None, shape, _bare(kind, indices, indptr, shape))

    @classmethod
    def chosen(cls, places: Places, size: int) -> Pattern:
        """Of the matrix of ones that takes the values at these places out of `size`."""
        n = len(places)
        return cls(None, None, (n, size), _bare(csr_array, places, np.arange(n + 1, dtype=places.dtype), (n, size)))

    @classmethod
    def of(cls, matrix: Genuine, kind: type) -> Pattern:
        """Of a matrix of SciPy's in the format of csr_array or csc_array, with its entries in order."""
        form: Compressed = object.__new__(kind)
        form.__dict__.update(matrix.__dict__)
        form.indices, form.indptr = matrix.indices.copy(), matrix.indptr.copy()  # it may be changed later
        return cls(None, None, matrix.shape, form)

    @property
    def rows(self) -> Places:
        """The row of each entry."""
        return self._places()[0]

    @property
    def cols(self) -> Places:
        """The column of each entry."""
        return self._places()[1]

    def _places(self) -> tuple[Places, Places]:
        if self._rows is None or self._cols is None:
            indices, indptr = self._form.indices, self._form.indptr
            outer = np.repeat(np.arange(len(indptr) - 1, dtype=indices.dtype), np.diff(indptr))
            self._rows, self._cols = (outer, indices) if type(self._form) is csr_array else (indices, outer)
        return self._rows, self._cols

    def __len__(self) -> int:
        return len(self._form.indices if self._rows is None else self._rows)

    @property
    def T(self) -> Pattern:
        """The pattern of the transposed matrix, with the values in the same order."""
        if self._transposed is None:
            self._arrange()
            form = self._form
            turned = object.__new__(csc_array if type(form) is csr_array else csr_array)
            turned.__dict__.update(form.__dict__)
            turned._shape = form._shape[::-1]
            self._transposed = Pattern(self._cols, self._rows, self.shape[::-1], turned, self._order)
            self._transposed._transposed = self
        return self._transposed

    def matrix(self, values: AnyArray) -> Compressed:
        """A csr_array or csc_array with these values, which it may share."""
        self._arrange()
        form = self._form
        made = object.__new__(type(form))  # its constructor would look through the indices each time
        made.__dict__.update(form.__dict__)
        made.data = values if self._order is None else values[self._order]
        return made

    def numbered(self) -> csr_array:
        """A csr_array of the entries' numbers, in which those of one place stay apart."""
        if self._compressed_as(csr_array) is None:
            return by_rows(self.rows, self.cols, self.shape)
        return self.matrix(np.arange(len(self)))

    def indices(self, kind: type) -> tuple[Places, Places]:
        """(indices, indptr) of a pattern that is ordered as csr_array or csc_array has it."""
        self._arrange()
        form = self._form
        if type(form) is not kind:
            form = kind((np.ones(len(self.rows)), (self.rows, self.cols)), self.shape)
        return form.indices, form.indptr

    def is_canonical(self, kind: type | None) -> bool:
        """True if there is one entry a place, and they are in the order of csr_array, csc_array, or (None) any."""
        if (form := self._compressed_as(kind)) is not None:
            return bool(form.has_canonical_format)
        key = np.asarray(self.rows, np.int64) * max(1, self.shape[1]) + self.cols
        return len(np.unique(key)) == len(key) and (kind is None or self.is_sorted(kind))

    def is_sorted(self, kind: type) -> bool:
        """True if the entries are in the order of csr_array or csc_array."""
        if (form := self._compressed_as(kind)) is not None:
            return bool(form.has_sorted_indices)
        return kind is None or np.array_equal(self.sorted(kind)[0], np.arange(len(self)))

    def _compressed_as(self, kind: type | None) -> Compressed | None:
        return self._form if type(self._form) is kind and self._order is None else None

    def sorted(self, kind: type) -> tuple[Places, Pattern]:
        """The numbers of the entries in the order of csr_array or csc_array, and the pattern of that order."""
        across = kind is csc_array
        rows, cols = (self.cols, self.rows) if across else (self.rows, self.cols)
        found = by_rows(rows, cols, self.shape[::-1] if across else self.shape)
        return found.data, Pattern.compressed(kind, found.indices, found.indptr, self.shape)

    def _arrange(self) -> None:
        if self._form is None:
            self._form = by_rows(self.rows, self.cols, self.shape)
            self._order, self._form.data = self._form.data, np.ones(len(self.rows))


_EMPTY = {kind: vars(kind((1, 1))) for kind in (csr_array, csc_array)}


def _bare(kind: type, indices: Places, indptr: Places, shape: tuple[int, ...]) -> Compressed:
    """A csr_array or csc_array of ones; SciPy's constructor would look through the indices, which are known here."""
    if indices.dtype != indptr.dtype:
        return kind((np.ones(len(indices)), indices, indptr), shape=shape)
    made: Compressed = object.__new__(kind)
    made.__dict__.update(_EMPTY[kind])
    made.data, made.indices, made.indptr = np.ones(len(indices)), indices, indptr
    made._shape = (int(shape[0]), int(shape[1]))
    return made


def by_rows(rows: Places, cols: Places, shape: tuple[int, ...]) -> csr_array:
    """A csr_array of the entries' numbers, sorted by row and column; entries of one place stay apart."""
    made = coo_array((np.arange(len(rows)), (rows, cols)), shape=shape)
    made.has_canonical_format = True  # else the numbers of one place would be added
    found = made.tocsr()
    found.has_canonical_format = found.has_sorted_indices = False
    found.sort_indices()
    return found


class Merged:
    """The order of csr_array or csc_array for entries in any order, in which those of one place are added up.

    pattern : of the result
    gather : Pattern of the matrix of ones that makes its values of the given ones; None if they stay as they are
    """

    __slots__ = ("cols", "gather", "kind", "pattern", "rows")

    def __init__(self, rows: Places, cols: Places, shape: tuple[int, ...], kind: type) -> None:
        self.rows, self.cols, self.kind = rows, cols, kind
        across = kind is csc_array
        found = by_rows(cols, rows, shape[::-1]) if across else by_rows(rows, cols, shape)
        order, outer = found.data, np.repeat(np.arange(len(found.indptr) - 1), np.diff(found.indptr))
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(outer) != 0) | (np.diff(found.indices) != 0)
        place = np.cumsum(first) - 1
        indptr = np.searchsorted(outer[first], np.arange(len(found.indptr))).astype(found.indptr.dtype)
        self.pattern = Pattern.compressed(kind, found.indices[first], indptr, shape)
        if first.all() and np.array_equal(order, np.arange(len(order))):
            self.gather = None
        else:
            self.gather = Pattern(place, order, (len(self.pattern.rows), len(order)))

    def is_of(self, rows: Places, cols: Places, shape: tuple[int, ...], kind: type) -> bool:
        """True if it was made of these."""
        return (
            kind is self.kind
            and tuple(shape) == self.pattern.shape
            and np.array_equal(rows, self.rows)
            and np.array_equal(cols, self.cols)
        )


_MERGED: list[Merged] = []
_KEPT = 8


def merged(rows: Places, cols: Places, shape: tuple[int, ...], kind: type) -> Merged:
    """The same, kept for the next calls: an assembly in a loop has the same places each time."""
    for i, known in enumerate(_MERGED):
        if known.is_of(rows, cols, shape, kind):
            _MERGED.insert(0, _MERGED.pop(i))
            return known
    made = Merged(rows.copy(), cols.copy(), tuple(shape), kind)
    _MERGED.insert(0, made)
    del _MERGED[_KEPT:]
    return made
