"""Sets of input elements, many at once: rows of one growing sparse matrix, named by their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.graph.saved import FEW

ndarray = np.ndarray
_next_number = itertools.count().__next__


class Store:
    """All the sets that one run makes. Set 0 is empty; a set never changes, so that arrays may share its number.

    Parameters
    ----------
    size : int
        The number of input elements of which sets are made. Sets 1 to `size` hold one each.
    constants : sequence of ndarray, optional
        Those that are the same for every input.
    """

    __slots__ = ("_copied", "_ends", "_fixed", "_members", "_sets", "number", "size")

    def __init__(self, size: int, constants: Sequence[ndarray] = ()) -> None:
        self.size, self.number = size, _next_number()  # of two runs, the newer is the inner one
        self._fixed = {id(owner): owner for owner in map(_owner, constants)}
        # A node that saves a small constant keeps a copy, which nobody may write into.
        self._copied = {_content(y) for x in constants if x.size <= FEW and x.any() for y in (x, x.T)}
        self._sets = size + 1
        self._ends = np.concatenate(([0], np.arange(size + 1)))  # set i holds _members[_ends[i] : _ends[i + 1]]
        self._members = np.arange(size)

    def is_constant(self, x: Any) -> bool:
        """True if the numbers of an ndarray, or of what it is a view of, are the same for every input."""
        if type(x) is not ndarray:
            return False
        owner = _owner(x)
        return id(owner) in self._fixed or (not owner.flags.writeable and _content(owner) in self._copied)

    def counts(self, numbers: ndarray) -> ndarray:
        """How many elements each of these sets has."""
        sizes: ndarray = self._ends[numbers + 1] - self._ends[numbers]
        return sizes

    def members(self, numbers: ndarray) -> tuple[ndarray, ndarray]:
        """(how many elements each of these sets has, the elements of all, one set after the other)."""
        starts, counts = self._ends[numbers], self.counts(numbers)
        total = counts.sum()
        if not total:
            return counts, self._members[:0]
        skipped = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return counts, self._members[np.arange(total) + skipped]

    def unions(self, places: Sequence[ndarray], numbers: Sequence[ndarray], count: int) -> ndarray:
        """The numbers of `count` sets: set `places[k][i]` holds what set `numbers[k][i]` holds, for all k and i."""
        where, given = np.concatenate(places), np.concatenate(numbers)
        there = given != 0
        pairs = _distinct(where[there] * self._sets + given[there])
        where, given = pairs // self._sets, pairs % self._sets
        result = np.zeros(count, np.int64)
        alone = np.ones(where.size, bool)  # the one set of its place, which needs no new one
        same = where[1:] == where[:-1]
        alone[1:] &= ~same
        alone[:-1] &= ~same
        result[where[alone]] = given[alone]
        if not alone.all():
            where, given = where[~alone], given[~alone]
            counts, elements = self.members(given)
            found = _distinct(np.repeat(where, counts) * self.size + elements)
            owners = found // self.size
            begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
            result[owners[begins]] = self._add(found % self.size, np.diff(begins, append=found.size))
        return result

    def running(self, numbers: ndarray, most: int) -> ndarray | None:
        """In each column of a table of sets the union of all up to each row; None for more than `most` members.

        An element is in all unions from the first row on that has it. So each is a beginning of one list by column.
        """
        rows, columns = numbers.shape
        counts, elements = self.members(numbers.ravel())
        if elements.size > most:
            return None
        places = np.repeat(np.arange(numbers.size), counts)
        keys = places % columns * self.size + elements
        order = np.argsort(keys, kind="stable")
        keys, places = keys[order], places[order]
        first = np.flatnonzero(np.concatenate((np.ones(min(keys.size, 1), bool), keys[1:] != keys[:-1])))
        keys, cells = keys[first], keys[first] // self.size * rows + places[first] // columns
        elements = (keys % self.size)[np.argsort(cells, kind="stable")]
        up_to = np.bincount(cells, minlength=numbers.size).reshape(columns, rows).cumsum(1)
        begins, lengths = up_to[:, -1].cumsum() - up_to[:, -1], up_to.ravel()
        if lengths.sum() > most:
            return None
        taken = np.arange(lengths.sum()) + np.repeat(np.repeat(begins, rows) - (lengths.cumsum() - lengths), lengths)
        result = np.zeros(numbers.size, np.int64)
        result[lengths > 0] = self._add(elements[taken], lengths[lengths > 0])
        return result.reshape(columns, rows).T

    def _add(self, members: ndarray, lengths: ndarray) -> ndarray:
        """Make sets of so many elements each, and give their numbers."""
        first, used = self._sets, int(self._ends[self._sets])
        self._members = _with_room(self._members, used, members.size)
        self._members[used : used + members.size] = members
        self._ends = _with_room(self._ends, first + 1, lengths.size)
        self._ends[first + 1 : first + 1 + lengths.size] = used + np.cumsum(lengths)
        self._sets += lengths.size
        return np.arange(first, self._sets)


def _distinct(numbers: ndarray) -> ndarray:
    """The numbers in order, each once; for many, NumPy's unique, which hashes, takes ten times as long."""
    numbers.sort()
    return numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))] if numbers.size else numbers


def _owner(x: ndarray) -> ndarray:
    """The array in whose memory another one lies."""
    while type(x.base) is ndarray:
        x = x.base
    return x


def _content(x: ndarray) -> Any:
    return (x.shape, x.dtype, x.tobytes()) if x.size <= FEW else None


def _with_room(array: ndarray, used: int, more: int) -> Any:
    """The array with room for more behind what is used of it, twice as long if need be."""
    if used + more <= array.size:
        return array
    larger = np.empty(max(2 * array.size, used + more), array.dtype)
    larger[:used] = array[:used]
    return larger
