"""memory_budget: what nodes save beyond so many bytes goes to disk while the forward goes on.

Each memory that nodes have saved is one `_Held`, whatever views of it they save. The oldest are written by a thread of
their own, and let go of then. Memory that others hold too, such as a leaf's or the user's data, stays: writing it would
free nothing.
"""

from __future__ import annotations

import copy
import os
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.autograd.saved_hooks import saved_tensors_hooks
from pullback.core.array_type import REGISTERED, counters_inside
from pullback.core.errors import GradientError
from pullback.core.lock import one_thread
from pullback.core.scratch import Scratch, Stored
from pullback.core.tensor import Tensor, ndarray, wrap, wrap_like
from pullback.core.types import DType, Shape, Version
from pullback.core.version import Counter, counter_of
from pullback.graph.node import Edge, Node, edge_to
from pullback.graph.packed import Packed
from pullback.graph.saved import Fingerprint
from pullback.graph.snapshot import held_alone

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

SMALL = 1 << 16  # bytes: smaller arrays stay in memory, and do not count
_AHEAD = 0.75  # of the budget: what is beyond this is being written, so that the forward seldom waits for the disk
_STEPS = 4  # back to what backward may want next
_LOOKS = 8  # at so many of those that others held, each time, whether they still do


class memory_budget(saved_tensors_hooks):
    """Context manager and decorator: of what nodes save inside, only so many bytes stay in memory.

    Parameters
    ----------
    bytes : int
        How many bytes of saved arrays may be in memory.
    folder : path, optional
        Where the file is that takes the rest. By default the system's folder for temporary files; on some systems that
        is in memory itself.
    disk_limit : int, optional
        The most bytes that the file may have.

    Attributes
    ----------
    held : int
        The bytes of saved arrays that count and are in memory now.
    on_disk : int
        The bytes that are in the file now.

    Raises
    ------
    ValueError, TypeError
        A number of bytes is negative, or no number.
    FileNotFoundError
        There is no such folder.
    RuntimeError
        In forward: the disk is full, or the file would have more than `disk_limit` bytes.

    Notes
    -----
    When there are more, the ones saved first are written to disk by a thread of its own, and backward, which needs them
    last, maps them into memory again. While it uses one, the system reads the next. Numbers are the same to the last
    bit, to every order and in every transform.

    Each array counts once, however many nodes and views share its memory. What others hold as well does not count, and
    is not written: leaves, data, results in variables of the caller. Nor are arrays below 64 KiB, and those in files
    (`np.memmap`). The array that an operator is working on, and gradients, come on top.

    The file has no name. The system removes it when the last array is gone, or the process, even if that is killed.

    Examples
    --------
    >>> import numpy as np
    >>> x = pb.tensor(np.linspace(0, 1, 100_000), requires_grad=True)
    >>> with pb.autograd.graph.memory_budget(1_000_000) as budget:
    ...     y = x
    ...     for _ in range(10):  # each saves 800 kB
    ...         y = y.sin()
    >>> y.sum().backward()
    >>> budget.held, budget.on_disk
    (0, 0)
    """

    trusts_unpack = keeps_tangents = True

    def __init__(self, bytes: int, folder: Any = None, *, disk_limit: int | None = None) -> None:
        self._limit = _size("bytes", bytes)
        self._scratch = Scratch(folder, None if disk_limit is None else _size("disk_limit", disk_limit))
        self._disk_limit = disk_limit
        self._counted = 0
        self._gone: deque[int] = deque()  # what still counts of memories that are gone
        # By the id of the array; and in the order of saving those that are to be written, and those that others hold.
        self._known: weakref.WeakValueDictionary[int, _Held] = weakref.WeakValueDictionary()
        self._waiting: deque[weakref.ref[_Held]] = deque()
        self._shared: deque[weakref.ref[_Held]] = deque()
        self._newest: weakref.ref[_Held] | None = None
        self._writing: deque[tuple[Future[None], int]] = deque()
        self._writer: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @property
    def held(self) -> int:
        """The bytes of saved arrays that count and are in memory."""
        with one_thread:
            while self._gone:
                self._counted -= self._gone.popleft()
            return self._counted

    @property
    def on_disk(self) -> int:
        """The bytes that are in the file."""
        return self._scratch.in_use

    def packed(self, node: Node, saved: Any, version: Version, level: int) -> tuple[Any, Version]:
        kept, place = super().packed(node, saved, version, level)
        if type(version) is Fingerprint and type(place) is Packed:
            place.fingerprint = version
        return kept, place

    def pack_hook(self, tensor: Tensor) -> Any:  # a method, or hooks and budget would be a cycle
        """The memory of a saved tensor and how the tensor lies in it; the tensor itself where that stays."""
        counters = [counter_of(tensor), *_counters(tensor._array)]
        parts: list[_Held] = []
        with one_thread:
            again = self._apart(tensor._array, counters, parts)
        if not parts:
            return tensor
        self._make_room()
        return _Saved(tensor._level, counters[0], again, parts)

    def unpack_hook(self, packed: Any) -> Tensor:
        """The tensor again."""
        return packed.tensor() if type(packed) is _Saved else packed

    def _apart(self, x: Any, counters: list[Counter], parts: list[_Held]) -> Callable[[], Any]:
        """A function that gives an array again; adds the memories in it that count to `parts`."""
        if type(x) is ndarray:
            return self._part(x, counters, parts)
        before = len(parts)
        again: Callable[[], Any] | None = None
        if isinstance(x, Tensor):
            inside = self._apart(x._array, counters, parts)
            again = partial(_tensor_again, type(x), x._level, counter_of(x), edge_to(x), x._requires_grad, inside)
        elif type(x) in REGISTERED:
            names = {name for _, _, name in REGISTERED[type(x)].components(x)}
            made = {name: self._apart(getattr(x, name), counters, parts) for name in names if hasattr(x, name)}
            if len(parts) > before:
                shell = copy.copy(x)
                for name in made:
                    setattr(shell, name, None)
                again = partial(_array_again, shell, made)
        return (lambda: x) if again is None or len(parts) == before else again

    def _part(self, x: ndarray, counters: list[Counter], parts: list[_Held]) -> Callable[[], ndarray]:
        owner = x
        while (base := owner.base) is not None and issubclass(type(base), ndarray):
            owner = base
        if owner.base is not None or type(owner) is not ndarray or owner.nbytes < SMALL or owner.dtype.hasobject:
            return lambda: x
        if x is owner:
            place = None
        elif _address(_flat(owner)) != _address(owner):
            return lambda: x  # of a memory with gaps, whose bytes are a copy
        else:
            place = (x.shape, x.dtype, _address(x) - _address(owner), x.strides)
        held = self._known.get(id(owner))
        if held is None or held.seen() is not owner or held.written():
            held = self._known[id(owner)] = _Held(self, owner, counters, self._newest)
            self._newest = weakref.ref(held)
            self._waiting.append(self._newest)
        parts.append(held)
        return held.read if place is None else partial(_view_again, held, *place)

    def _make_room(self) -> None:
        """Write what is beyond the budget, the oldest first, and wait where too much is in memory."""
        if self._process != os.getpid():  # after a fork, in which there is no thread that writes
            self._process, self._writer = os.getpid(), None
            self._writing.clear()
        for ref, nbytes in self._chosen():
            self._writing.append((self._thread().submit(_write, ref), nbytes))
        for entry in list(self._writing):
            if entry[0].done() or self.held > self._limit:
                try:
                    self._writing.remove(entry)
                except ValueError:  # another thread has seen to it
                    continue
                self._wait(*entry)

    def _chosen(self) -> list[tuple[weakref.ref[_Held], int]]:
        """The memories that are to be written now, with their sizes."""
        chosen = []
        with one_thread:
            self._look_again()
            excess = self.held - self._limit * _AHEAD - sum(size for _, size in list(self._writing))
            while excess > 0 and self._waiting:
                ref = self._waiting.popleft()
                if (held := ref()) is None:
                    continue
                if held.shared():
                    self._shared.append(ref)
                    excess -= held.count(0)
                else:
                    chosen.append((ref, held.nbytes))
                    excess -= held.nbytes
        return chosen

    def _look_again(self) -> None:
        """Count what others have let go of since."""
        for ref in list(islice(self._shared, _LOOKS)):
            self._shared.popleft()
            if (held := ref()) is None:
                continue
            if held.shared():
                self._shared.append(ref)
            else:
                held.count(held.nbytes)
                self._waiting.appendleft(ref)

    def _wait(self, writing: Future[None], size: int) -> None:
        """Wait until an array of this size is written; raise if it could not be."""
        try:
            writing.result()
        except OSError as error:
            where = f"disk_limit={self._disk_limit}" if self._disk_limit is not None else "the disk"
            raise GradientError(
                f"memory_budget: {where} has no room for {size} more bytes that nodes have saved; {self.on_disk} are "
                f"there already, and {self.held} in memory. Allow more of either, or compute parts of the function "
                "again with utils.checkpoint."
            ) from error

    def _thread(self) -> ThreadPoolExecutor:
        if self._writer is None:
            from concurrent.futures import ThreadPoolExecutor

            self._writer = ThreadPoolExecutor(1, thread_name_prefix="pullback-memory-budget")
        return self._writer


def _size(name: str, value: Any) -> int:
    """A number of bytes, which may be written 1e9."""
    if isinstance(value, bool) or not issubclass(type(value), (int, float, np.integer)) or value != value // 1:
        raise TypeError(f"memory_budget: {name} must be a whole number of bytes, such as 500_000_000, got {value!r}.")
    if value < 0:
        raise ValueError(f"memory_budget: {name} must not be negative, got {value!r}.")
    return int(value)


class _Held:
    """One memory that nodes have saved: an array, or where it lies on disk."""

    __slots__ = (
        "__weakref__", "array", "before", "budget", "counted", "counters", "nbytes", "seen", "stored", "writes",
    )  # fmt: skip

    def __init__(
        self, budget: memory_budget, array: ndarray, counters: list[Counter], before: weakref.ref[_Held] | None
    ) -> None:
        self.budget, self.nbytes, self.before = budget, array.nbytes, before  # the one that was saved before this
        self.array: ndarray | None = array
        self.seen = weakref.ref(array)
        self.stored: Stored | None = None
        self.counters, self.writes = counters, sum(counter.n for counter in counters)
        self.counted = 0
        self.count(self.nbytes)

    def count(self, nbytes: int) -> int:
        """Let it count so many bytes; returns by how much that is less than before."""
        less = self.counted - nbytes
        self.counted = nbytes
        self.budget._counted -= less
        return less

    def __del__(self) -> None:
        self.budget._gone.append(self.counted)  # without a lock: the collector may run this anywhere

    def written(self) -> bool:
        """True if someone has written into it since it was saved."""
        return sum(counter.n for counter in self.counters) != self.writes

    def shared(self) -> bool:
        """True if others hold the array too."""
        return self.array is not None and not held_alone([self.array], 0, 2)

    def read(self) -> ndarray:
        """The array. Of those on disk the one that was saved before it is fetched, which backward will want next."""
        array = self.array
        if array is None:
            array = self.stored.read()  # type: ignore[union-attr]  # it is one or the other
        earlier: _Held | None = self
        for _ in range(_STEPS):
            earlier = earlier.before() if earlier is not None and earlier.before is not None else None
            if earlier is not None and earlier.array is None:
                earlier.stored.fetch()  # type: ignore[union-attr]
                break
        return array


def _write(ref: weakref.ref[_Held]) -> None:
    """Put a memory on disk, and let go of it unless someone has written into it meanwhile."""
    held = ref()
    if held is None or held.array is None:
        return
    stored = held.budget._scratch.write(held.array)
    with one_thread:
        if not held.written():
            held.stored, held.array = stored, None
            held.count(0)


class _Saved:
    """Stands in a node for a tensor whose memory counts."""

    __slots__ = ("_again", "_counter", "_level", "_parts")

    def __init__(self, level: int, counter: Counter, again: Callable[[], Any], parts: list[_Held]) -> None:
        self._level, self._counter, self._again, self._parts = level, counter, again, parts

    def tensor(self) -> Tensor:
        """The tensor. What is on disk nobody has written into since it was saved, whatever its counter says by now."""
        in_memory = all(held.array is not None for held in self._parts)
        out = wrap(self._again(), self._level)
        if in_memory:
            out._counter = self._counter
        return out


def _tensor_again(
    face: type[Tensor], level: int, counter: Counter, fn: Edge | None, requires_grad: bool, inside: Callable[[], Any]
) -> Tensor:
    """A tensor of a lower level, in its place in the graph there."""
    out = wrap_like(face, inside(), level)
    out._counter, out._fn, out._requires_grad = counter, fn, requires_grad
    return out


def _array_again(shell: Any, made: dict[str, Callable[[], Any]]) -> Any:
    """An array of another type, with its parts."""
    out = copy.copy(shell)
    for name, again in made.items():
        setattr(out, name, again())
    return out


def _view_again(held: _Held, shape: Shape, dtype: DType, offset: int, strides: Shape) -> ndarray:
    """A view of a memory."""
    return np.ndarray(shape, dtype, _flat(held.read()), offset, strides)


def _flat(array: ndarray) -> ndarray:
    """The bytes of an array in the order in which they lie; a view of it, where it has no gaps."""
    return array.ravel(order="K").view(np.uint8)


def _address(array: ndarray) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _counters(x: Any) -> list[Counter]:
    """The counters of what a tensor is around."""
    if isinstance(x, Tensor):
        return [counter_of(x), *_counters(x._array)]
    return list(counters_inside(x))
