"""Partitions, which a sum goes over: lists of data, arrays cut in rows, files, what loads itself, blocks of Dask."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np

from pullback.core.array_type import is_array
from pullback.core.errors import with_article
from pullback.core.tensor import ndarray


class Rows(Sequence[Any]):
    """Data cut in rows, as `rows` makes it."""

    def __init__(self, cuts: Sequence[Callable[[int, int], Any]], size: int, total: int) -> None:
        self._cuts, self.size, self.total = cuts, size, total

    def __repr__(self) -> str:
        return f"<{len(self)} partitions of {self.size} rows, {self.total} in all>"

    def __len__(self) -> int:
        return (self.total + self.size - 1) // self.size

    @overload
    def __getitem__(self, number: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, number: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        number = range(len(self))[number]
        start, stop = number * self.size, min((number + 1) * self.size, self.total)
        return tuple([cut(start, stop) for cut in self._cuts])


def rows(*data: Any, size: int, dim: str | None = None) -> Rows:
    """Partitions of so many rows, for `sum_over` and `value_and_grad`: the function gets the same rows of all `data`.

    Parameters
    ----------
    *data : ndarray, np.memmap, path of a .npy file, or (with `dim`) xarray's Dataset or DataArray
        All with the same number of rows. A worker maps a file and reads its own rows of it; of an array in memory it
        is sent these. They cannot be written into.
    size : int
        How many rows a partition has; the last one may have fewer.
    dim : str, optional
        The dimension of xarray's objects along which they are cut; of arrays it is the first one.

    Returns
    -------
    Rows
        A sequence.

    Raises
    ------
    ValueError
        The numbers of rows differ, there is no row, or `size` is not positive.
    TypeError
        `data` is nothing that has rows.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(10.0).reshape(5, 2), np.ones(5)
    >>> parts = pb.distributed.rows(X, y, size=2)
    >>> parts
    <3 partitions of 2 rows, 5 in all>
    >>> pb.distributed.sum_over(lambda w, X, y: np.sum((X @ w - y) ** 2), parts)(np.array([1.0, 0.0])).item()
    85.0
    """
    if not data:
        raise TypeError("distributed.rows: there is no data; give arrays or files: rows(X, y, size=100_000).")
    if not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"distributed.rows: size must be a positive number of rows, got {size!r}.")
    counts, cuts = zip(*[_cut(x, dim) for x in data], strict=True)
    if len({*counts}) > 1:
        raise ValueError(f"distributed.rows: the data have different numbers of rows: {', '.join(map(str, counts))}.")
    if not counts[0]:
        raise ValueError("distributed.rows: the data have no rows.")
    return Rows(cuts, int(size), counts[0])


def _cut(x: Any, dim: str | None) -> tuple[int, Callable[[int, int], Any]]:
    """(how many rows there are, what gives some of them or what loads these)."""
    if isinstance(x, (str, os.PathLike)):
        path = os.path.abspath(x)  # noqa: PTH100 - of a str too; workers may run in other folders
        return len(np.load(path, mmap_mode="r")), lambda start, stop: functools.partial(_of_file, path, start, stop)
    if hasattr(x, "isel"):
        if dim is None:
            raise TypeError(f"distributed.rows: {with_article(x)} has no first dimension; name one: dim='time'.")
        return x.sizes[dim], lambda start, stop: x.isel({dim: slice(start, stop)})
    if type(x) is np.memmap and x.ndim and _is_whole(x):
        path, form = os.path.abspath(str(x.filename)), (x.dtype, x.offset, x.shape)  # noqa: PTH100
        return len(x), lambda start, stop: functools.partial(_of_memmap, path, *form, start, stop)
    if issubclass(type(x), ndarray) and x.ndim:
        return len(x), lambda start, stop: x[start:stop]
    raise TypeError(f"distributed.rows: takes arrays and the paths of .npy files, got {with_article(x)}.")


def _is_whole(x: Any) -> bool:
    """True for a memmap as it was opened, and no part of one."""
    return x.filename is not None and x.flags.c_contiguous and not issubclass(type(x.base), ndarray)


def _of_file(path: str, start: int, stop: int) -> ndarray:
    return np.load(path, mmap_mode="r")[start:stop]  # type: ignore[no-any-return]


def _of_memmap(path: str, dtype: Any, offset: int, shape: tuple[int, ...], start: int, stop: int) -> ndarray:
    return np.memmap(path, dtype, "r", offset, shape)[start:stop]


def partitions_of(given: Any, name: str) -> Sequence[Any]:
    """The partitions that a user means, as a sequence; Dask's collections by their blocks."""
    aligned = given if isinstance(given, tuple) else (given,)
    if any(hasattr(x, "to_delayed") for x in aligned):
        return _blocks(aligned, name)
    if is_array(given) or hasattr(given, "isel") or hasattr(given, "iloc"):
        raise TypeError(
            f"{name}: partitions must be a sequence of partitions, got {with_article(given)}, which is data; cut it: "
            "pullback.distributed.rows(X, y, size=100_000)."
        )
    if isinstance(given, (str, bytes, dict, set, frozenset)) or not isinstance(given, Iterable):
        raise TypeError(f"{name}: partitions must be a sequence, one item a partition, got {with_article(given)}.")
    found: Any = given if hasattr(given, "__len__") and hasattr(given, "__getitem__") else list(given)
    if not len(found):
        raise ValueError(f"{name}: there are no partitions, and a sum of nothing has no shape.")
    return found  # type: ignore[no-any-return]


def _blocks(aligned: tuple[Any, ...], name: str) -> Sequence[Any]:
    """The blocks of aligned collections of Dask: arrays cut along their first dimension, dataframes, bags."""
    found = []
    for x in aligned:
        if not hasattr(x, "to_delayed"):
            raise TypeError(f"{name}: partitions are collections of Dask here, but one is {with_article(x)}.")
        if any(n != 1 for n in getattr(x, "numblocks", ())[1:]):
            raise ValueError(
                f"{name}: a Dask array is cut along its first dimension alone, but this one has {x.numblocks} blocks; "
                "write x.rechunk({1: -1}), and so on for further dimensions."
            )
        found.append(np.ravel(np.asarray(x.to_delayed(), object)))
    if len({len(blocks) for blocks in found}) > 1:
        counts = ", ".join(str(len(blocks)) for blocks in found)
        raise ValueError(f"{name}: the collections have different numbers of blocks ({counts}); rechunk them alike.")
    lengths = [x.chunks[0] for x in aligned if hasattr(x, "chunks")]
    if any(not np.array_equal(a, lengths[0], equal_nan=True) for a in lengths[1:]):
        raise ValueError(f"{name}: the arrays are cut at different rows ({lengths}); rechunk them alike.")
    return [tuple(map(_culled, blocks)) for blocks in zip(*found, strict=True)]


def _culled(block: Any) -> Any:
    """A block with those tasks alone that it needs."""
    graph = block.__dask_graph__()
    return type(block)(block.key, graph.cull({block.key}).to_dict()) if hasattr(graph, "cull") else block


def loaded(partition: Any) -> tuple[Any, ...]:
    """The data of a partition, as arguments: called, computed or as they are; arrays that cannot be written into."""
    if not isinstance(partition, tuple):
        partition = _loaded(partition)
    parts = partition if isinstance(partition, tuple) else (partition,)
    return tuple(map(_loaded, parts))


def _loaded(part: Any) -> Any:
    if hasattr(part, "__dask_graph__"):
        return part.compute(scheduler="synchronous")
    if callable(part):
        return part()
    if type(part) is ndarray or type(part) is np.memmap:
        part = part.view(ndarray)
        part.flags.writeable = False
    return part
