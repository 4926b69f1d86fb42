"""Journals: what was overwritten in the memory of Arrays, so that what nodes have saved there can be had back.

NumPy lets a program write into an array that it has computed with. PyTorch refuses the backward then; for Arrays, and
for what the array API's functions gave, the contents before each write are kept here, of the region that was written
alone, and only if a node may have saved that memory. A saved array that has changed since is made again: a copy of
the memory, in which the writes are undone from the last one back to the version that was saved. Backwards go from the
end to the beginning, so that copy is kept and undone step by step.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, NamedTuple

import numpy as np

from pullback.core.array_type import TENSOR, array_type, memory_of, table_of
from pullback.core.errors import InplaceError
from pullback.core.lock import one_thread
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import DType, Shape
from pullback.core.version import Counter, counter_of
from pullback.graph.replay import Replay
from pullback.graph.snapshot import FIXED, snapshot
from pullback.graph.view import base_of
from pullback.graph.view_geometry import ViewGeometry

_BASIC = FIXED - {bool} | {slice}  # of which a view is made


class Written(NamedTuple):
    """One write into a view: what was at `index` before in the part of the memory that began at `address`.

    Of a write into the array that owns the memory (index, before) alone is kept. No array is held that lies in the
    memory, for others count who holds it.
    """

    address: int
    shape: Shape
    strides: Shape
    dtype: DType
    index: Any
    before: Any


class Journal:
    """The writes into one memory, from `first`, the version that the first of them moved, without a gap.

    Of an array that is no ndarray itself, as in nested transforms, the whole base as it was before each write. Such a
    one may have been an ndarray before: `earlier` is the journal of that, and `end` there the memory when it ended.
    """

    __slots__ = ("earlier", "end", "first", "root", "shapes", "undone", "writes")

    def __init__(self, first: int, root: ndarray | None) -> None:
        self.first = first
        self.root = None if root is None else weakref.ref(root)  # the ndarray that owns the memory
        self.writes: list[Any] = []
        self.shapes: list[tuple[Tensor, int, Shape]] = []  # up to which version a tensor had which shape
        self.undone: tuple[ndarray, int] | None = None  # a copy of the memory as it was at some version
        self.earlier: Journal | None = None
        self.end: ndarray | None = None

    def reaches(self, version: int, root: ndarray | None) -> bool:
        """True if it knows of every write into this memory until `version`, the present one.

        What was noted beyond that did not happen: the write was refused, and the program caught the error.
        """
        del self.writes[max(version - self.first, 0) :]
        return self.first + len(self.writes) == version and (self.root and self.root()) is root


class NoMore:
    """In the place of a journal: the memory must not be written into any more, and why."""

    __slots__ = ("why",)
    first = sys.maxsize  # no version can be had back

    def __init__(self, why: str) -> None:
        self.why = why


class Keeping(tuple[()]):
    """In the place of a journal that has not begun: writes are kept, although it is no Array that is written into."""

    __slots__ = ()


KEEPING = Keeping()
KEEPERS = (Keeping, Journal)


def keep_writes(tensor: Tensor) -> None:
    """Let writes into the memory of a fresh tensor be kept, as those into Arrays are."""
    counter_of(tensor).journal = KEEPING


def refuse_writes(tensor: Tensor, why: str) -> None:
    """Refuse every later write into the memory of a tensor, as NumPy would write."""
    counter_of(tensor).journal = NoMore(why)


def refuses_writes(tensor: Tensor) -> bool:
    """True if that was asked for."""
    return tensor._counter is not None and type(tensor._counter.journal) is NoMore


def note_write(target: Tensor, index: Any = ...) -> None:
    """Note that `target[index]` is about to be written, if its memory may have been saved."""
    counter = counter_of(target)
    if counter.journal is None:
        return
    journal: Any = counter.journal
    if type(journal) is NoMore:
        raise InplaceError(journal.why)
    data: Any = target._array
    root = _owner(data) if type(data) is ndarray else None
    if root is None and not array_type(data).may_be_saved(data, target._level):
        return
    if not journal or not journal.reaches(counter.n, root):
        journal = counter.journal = _started(journal, counter.n, data, root)
    if root is not None:
        journal.writes.append(_before(data, index) if data is root else _written(data, index))
    else:
        base = base_of(target)
        whole: Any = (target if base is None else base)._array
        journal.writes.append(array_type(whole).copy(whole))


def note_shape(target: Tensor) -> None:
    """Note that `target` is about to get another shape, as by `x.shape = ...`: who saved it needs the one before."""
    note_write(target)
    counter = counter_of(target)
    if type(counter.journal) is Journal:
        counter.journal.shapes.append((target, counter.n, tuple(target.shape)))


def _started(before: Any, version: int, data: Any, root: ndarray | None) -> Journal:
    """A journal from this version on; it knows the one before if an ndarray has just come into a tensor or a dual."""
    journal = Journal(version, root)
    if before and root is None and (memory := memory_of(data)) is not None and before.reaches(version, _owner(memory)):
        before.end, before.undone, journal.earlier = _bytes_of(_owner(memory)), None, before
    return journal


def _bytes_of(root: ndarray) -> ndarray:
    """A copy of the memory, as bytes in a row."""
    return root.ravel(order="K").view(np.uint8).copy()


def _owner(array: Any) -> Any:
    """The ndarray in whose memory `array` lies."""
    while issubclass(type(array.base), ndarray):
        array = array.base
    return array


def _before(data: ndarray, index: Any) -> tuple[Any, Any]:
    """(index, what is there) for a write into the owner of the memory itself, as most are."""
    if type(index) is not int:
        index = snapshot(index)
    before = data[index]
    return index, before.copy() if type(before) is ndarray else before


def _written(data: ndarray, index: Any) -> Written:
    items = index if type(index) is tuple else (index,)
    if all(type(item) in _BASIC for item in items):
        data = data[index if Ellipsis in items else (*items, ...)]  # a view, of a single element too
        index, before = ..., data.copy()
    else:
        index, before = snapshot(index), np.array(data[index])  # NumPy's integers give views, too
    return Written(_address(data), data.shape, data.strides, data.dtype, index, before)


def _address(array: ndarray) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def contents_at(saved: Any, version: int, counter: Counter) -> Any:
    """Return what a node saved, a Tensor or a raw array, as it was at `version`; None if that cannot be known."""
    journal: Any = counter.journal
    raw: Any = saved._array if isinstance(saved, Tensor) and saved._counter is counter else saved
    root = _owner(raw) if type(raw) is ndarray else None
    if not journal or not journal.reaches(counter.n, root):
        return None
    if isinstance(raw, Tensor) and raw._counter is counter and raw._requires_grad:
        return None  # a tensor of a lower level, lifted: its place in the graph then is not known
    shown: Any = raw
    if version < journal.first and journal.earlier is not None and (memory := memory_of(raw)) is not None:
        journal, root, shown = journal.earlier, _owner(memory), memory
    if version < journal.first:
        return None
    if root is not None:
        with one_thread:
            contents: Any = _undone(journal, shown, root, version)
        if contents is not None and isinstance(raw, Tensor):
            contents = wrap(contents, raw._level)
    else:
        contents = _part_of(journal.writes[version - journal.first], raw, saved)
    if contents is None or raw is saved:
        return contents
    shapes = [shape for tensor, last, shape in counter.journal.shapes if tensor is saved and last >= version]
    found = wrap(contents, saved._level)
    return TENSOR.reshape(found, shapes[0]) if shapes else found


def _undone(journal: Journal, array: ndarray, root: ndarray, version: int) -> ndarray | None:
    """The contents of `array` at `version`, from a copy of its memory in which later writes are undone."""
    if not root.flags.forc:
        return None
    start = _address(root)
    memory, reached = journal.undone or (None, -1)
    if memory is None or reached < version:
        memory = _bytes_of(root) if journal.end is None else journal.end.copy()
        reached = journal.first + len(journal.writes)

    def place(address: int, shape: Shape, strides: Shape, dtype: DType) -> ndarray:
        return np.ndarray(shape, dtype, buffer=memory, offset=address - start, strides=strides)

    whole = place(start, root.shape, root.strides, root.dtype)
    while reached > version:
        reached -= 1
        *where, index, before = journal.writes[reached - journal.first]
        (place(*where) if where else whole)[index] = before
    journal.undone = memory, reached
    return place(_address(array), array.shape, array.strides, array.dtype).copy()


def _part_of(whole: Any, raw: Any, saved: Any) -> Any:
    """Of a base as it was, the part that `raw` shows of that base as it is now; what is saved is that or around it."""
    shown: Any = raw if isinstance(raw, Tensor) else saved
    base = base_of(shown) if isinstance(shown, Tensor) else None
    if base is None:
        return whole if isinstance(raw, Tensor) or whole.shape == raw.shape else None
    ops = table_of((whole,))
    if memory_of(raw) is not None:
        return ViewGeometry(base, shown).extract(whole, ops)[0]
    steps = shown._extra.steps  # a view has an Extra
    return None if steps is None else Replay(base, shown, steps).again(whole, ops)
