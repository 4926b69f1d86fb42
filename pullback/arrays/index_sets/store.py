"""Sets of input elements, many at once: rows of one growing sparse matrix, named by their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

ndarray = np.ndarray
_next_number = itertools.count().__next__


class Store:
    """All the sets that one run makes. Set 0 is empty; a set never changes, so that arrays may share its number.

    Parameters
    ----------
    size : int
        The number of input elements of which sets are made. Sets 1 to `size` hold one each.
    """

    __slots__ = ("_ends", "_members", "_sets", "number", "size")

    def __init__(self, size: int) -> None:
        self.size, self.number = size, _next_number()  # of two runs, the newer is the inner one
        self._sets = size + 1
        self._ends = np.concatenate(([0], np.arange(size + 1)))  # set i holds _members[_ends[i] : _ends[i + 1]]
        self._members = np.arange(size)

    def counts(self, numbers: ndarray) -> ndarray:
        """How many elements each of these sets has."""
        return self._ends[numbers + 1] - self._ends[numbers]

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
        pairs = np.unique(where[there] * self._sets + given[there])
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
            found = np.unique(np.repeat(where, counts) * self.size + elements)
            made, lengths = np.unique(found // self.size, return_counts=True)
            result[made] = self._add(found % self.size, lengths)
        return result

    def _add(self, members: ndarray, lengths: ndarray) -> ndarray:
        """Make sets of so many elements each, and give their numbers."""
        first, used = self._sets, int(self._ends[self._sets])
        self._members = _with_room(self._members, used, members.size)
        self._members[used : used + members.size] = members
        self._ends = _with_room(self._ends, first + 1, lengths.size)
        self._ends[first + 1 : first + 1 + lengths.size] = used + np.cumsum(lengths)
        self._sets += lengths.size
        return np.arange(first, self._sets)


def _with_room(array: ndarray, used: int, more: int) -> Any:
    """The array with room for more behind what is used of it, twice as long if need be."""
    if used + more <= array.size:
        return array
    larger = np.empty(max(2 * array.size, used + more), array.dtype)
    larger[:used] = array[:used]
    return larger
