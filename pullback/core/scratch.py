"""Arrays kept in a file without a name: the system removes it with the process, whatever ends that.

One file holds all arrays of a `Scratch`, each in a run of whole pages, and a run is used again when its array is gone.
Arrays come back as maps of the file: nothing is copied, and what the system still has in memory is not read again.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.core.tensor import ndarray

_PAGE = mmap.ALLOCATIONGRANULARITY  # where maps of a file may begin


class DiskLimitError(OSError):
    """An array that would make the file larger than it may be."""


def _pages(nbytes: int) -> int:
    """The bytes of the file that so many take."""
    return -(-nbytes // _PAGE) * _PAGE


class _Map(mmap.mmap):
    """A part of the file in memory. It keeps that part from being used again while arrays lie in it."""

    stored: Stored


class Stored:
    """One array in the file; its part of the file is free when this and all arrays that `read` gave are gone."""

    __slots__ = ("__weakref__", "_file", "_form", "_length", "_start")

    def __init__(self, file: _File, start: int, length: int, form: tuple[Any, ...]) -> None:
        self._file, self._start, self._length, self._form = file, start, length, form
        weakref.finalize(self, file.returned.append, (start, _pages(length))).atexit = False

    def _map(self) -> _Map:
        mapped = _Map(self._file.number, self._length, access=mmap.ACCESS_COPY, offset=self._start)
        mapped.stored = self
        return mapped

    def fetch(self) -> None:
        """Ask the system to have the array in memory soon."""
        if hasattr(mmap, "MADV_WILLNEED"):  # not on Windows
            mapped = self._map()
            mapped.madvise(mmap.MADV_WILLNEED)
            mapped.close()

    def read(self) -> ndarray:
        """The array, of the same layout; what is written into it does not reach the file."""
        shape, strides, dtype = self._form
        return np.ndarray(shape, dtype, self._map() if self._length else b"", strides=strides)


class _File:
    """The file of one process: which parts of it are free."""

    def __init__(self, folder: Any, limit: int | None) -> None:
        import tempfile  # which importing the package would be slower for

        self.process = os.getpid()
        self._handle = cast("BinaryIO", tempfile.TemporaryFile(prefix="pullback-", dir=folder, buffering=0))  # noqa: SIM115
        self.number = self._handle.fileno()
        self._limit, self._end = limit, 0
        self._free: list[tuple[int, int]] = []  # (start, length), ascending, never two side by side
        self._lock = threading.Lock()
        self.returned: deque[tuple[int, int]] = deque()  # by finalizers, which may run at any time

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._handle.close()  # what is mapped stays

    @property
    def in_use(self) -> int:
        """The bytes of the file that arrays are in."""
        return self._end - sum(length for _, length in [*self._free, *self.returned])

    def write(self, array: ndarray) -> Stored:
        dense = array if array.flags.forc else array.copy(order="K")
        shown = dense.ravel(order="K").view(np.uint8)
        with self._lock:
            start = self._room(_pages(shown.nbytes))
            try:
                self._handle.seek(start)
                rest = shown.data
                while rest:
                    rest = rest[self._handle.write(rest) :]
            except BaseException:
                self.returned.append((start, _pages(shown.nbytes)))
                raise
        return Stored(self, start, shown.nbytes, (array.shape, dense.strides, array.dtype))

    def _room(self, length: int) -> int:
        """The start of so many bytes that are free from now on."""
        while self.returned:
            self._give_back(*self.returned.popleft())
        for i, (start, free) in enumerate(self._free):
            if free >= length:
                self._free[i : i + 1] = [(start + length, free - length)] * (free > length)
                return start
        start = self._free.pop()[0] if self._free and sum(self._free[-1]) == self._end else self._end
        if self._limit is not None and start + length > self._limit:
            if start < self._end:
                self._free.append((start, self._end - start))
            raise DiskLimitError(
                f"an array of {length} bytes does not fit into the {self._limit} bytes of disk that are allowed: "
                f"{self.in_use} are in use."
            )
        self._end = start + length
        return start

    def _give_back(self, start: int, length: int) -> None:
        parts = sorted([*self._free, (start, length)])
        self._free = parts[:1]
        for at, more in parts[1:]:
            before, found = self._free[-1]
            if before + found == at:
                self._free[-1] = (before, found + more)
            else:
                self._free.append((at, more))


class Scratch:
    """Room on disk for arrays, in a file that is made with the first one.

    Parameters
    ----------
    folder : path, optional
        Where the file is; by default the system's folder for temporary files, which may be in memory.
    limit : int, optional
        The most bytes that the file may have.
    """

    def __init__(self, folder: Any = None, limit: int | None = None) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(f"there is no folder {os.fspath(folder)!r} to keep arrays in.")
        self._folder, self._limit = folder, limit
        self._file: _File | None = None

    @property
    def in_use(self) -> int:
        """The bytes on disk that arrays are in."""
        return 0 if self._file is None else self._file.in_use

    def write(self, array: ndarray) -> Stored:
        """Put a copy of an array on disk; one thread at a time writes."""
        if array.dtype.hasobject:
            raise UnsupportedError("an array of Python objects cannot be kept on disk; keep it in memory.")
        if self._file is None or self._file.process != os.getpid():  # after a fork the file is the parent's
            self._file = _File(self._folder, self._limit)
        return self._file.write(array)
