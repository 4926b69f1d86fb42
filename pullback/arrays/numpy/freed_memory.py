"""Sets how much freed memory the allocator keeps for the next arrays.

By default glibc gives the memory of large arrays back to the system as soon as it is freed, and the next arrays pay for
fresh pages again: a chain of three adds on arrays of 1e5 doubles takes 1,200 us instead of 65. So the first large
backward asks glibc to keep some. Importing asks for nothing. See docs/design/memory.md.
"""

import ctypes
import functools
import mmap
import operator
import os
from typing import Any, SupportsIndex

KEPT = 64 << 20  # bytes: what the first large backward asks for
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # M_TRIM_THRESHOLD and so on, of malloc.h
_SYSTEM = 128 << 10  # glibc's own value of all three
_LARGEST_FROM_HEAP = 32 << 20  # the most that glibc accepts for the last, on 64-bit systems
_INT_MAX = 2**31 - 1  # mallopt takes an int


class _Decision:
    """The bytes to keep, None until someone has asked; and how much unused memory was resident then."""

    kept: int | None = None
    beside = 0


_decision = _Decision()


_MALLINFO2 = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
)  # fmt: skip


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALLINFO2)


@functools.cache
def _glibc() -> Any:
    """The C library if it is a glibc that has these settings, and mallinfo2 (2.33); else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows has no handle of this kind
        return None
    if not hasattr(library, "gnu_get_libc_version") or not hasattr(library, "mallinfo2"):
        return None
    library.mallinfo2.restype = _Mallinfo2
    library.malloc_trim.argtypes = (ctypes.c_size_t,)
    return library


def keep_freed_memory(bytes: SupportsIndex) -> None:
    """Let this process keep up to so many bytes of freed memory, ready for the next arrays.

    This is a setting of the whole process. Until it is called, the first large backward or `vmap` sets it to 64 MiB,
    unless the environment has `PULLBACK_MALLOC=system`. A backward is large if it has a gradient of 128 KiB or more,
    and a `vmap` if its result has as much. After the call, only the call counts.

    Parameters
    ----------
    bytes : int
        At most 2 GiB - 1. 0 gives everything back, now and whenever something large is freed, as malloc does by itself.

    Returns
    -------
    None

    Raises
    ------
    NotImplementedError
        The C library is not glibc, and `bytes` is not 0. No other has this setting.

    Notes
    -----
    `bytes` is glibc's M_TRIM_THRESHOLD. Arrays up to that size, and up to 32 MiB, come from the heap then instead of
    being mapped one by one (M_MMAP_THRESHOLD). What lies below memory that is still in use may stay beyond the limit.

    Examples
    --------
    >>> pb.keep_freed_memory(256 << 20)  # 256 MiB, for arrays of many millions of numbers
    >>> pb.keep_freed_memory(64 << 20)
    """
    try:
        kept = operator.index(None if isinstance(bytes, bool) else bytes)  # type: ignore[arg-type]  # refused
    except TypeError:
        raise TypeError(f"keep_freed_memory(): bytes must be an int, got {bytes!r}.") from None
    if not 0 <= kept <= _INT_MAX:
        raise ValueError(f"keep_freed_memory(): bytes must be between 0 and {_INT_MAX} (2 GiB - 1), got {kept}.")
    library = _glibc()
    if kept and library is None:
        raise NotImplementedError(
            "keep_freed_memory() sets malloc options of glibc, but this Python runs on another C library; omit "
            "the call."
        )
    if kept or _decision.kept:
        # What exceeds the threshold at the heap's end is cut back to the padding, not to nothing.
        library.mallopt(_TRIM_THRESHOLD, kept or _SYSTEM)
        library.mallopt(_TOP_PAD, kept // 4 * 3 or _SYSTEM)
        library.mallopt(_MMAP_THRESHOLD, min(max(kept, _SYSTEM), _LARGEST_FROM_HEAP))
    _decision.kept = kept
    if library is not None:
        _give_back(library)


def keep_for_large_backwards() -> None:
    """Keep memory for large backwards, unless the user has decided, and where the C library has the setting."""
    if _decision.kept is None and os.environ.get("PULLBACK_MALLOC") != "system" and _glibc() is not None:
        keep_freed_memory(KEPT)


def give_back_the_rest() -> None:
    """Give freed memory back if more than was asked for is kept: below memory in use, where no threshold reaches."""
    if not _decision.kept:
        return
    library = _glibc()
    beside = _beside(library)
    _decision.beside = min(_decision.beside, beside)
    if beside - _decision.beside > _decision.kept:
        _give_back(library)


def _give_back(library: Any) -> None:
    library.malloc_trim((_decision.kept or 0) // 4 * 3)
    _decision.beside = _beside(library)


def _beside(library: Any) -> int:
    """Bytes that are resident and not in use by malloc: freed memory, and a share that hardly changes."""
    with open("/proc/self/statm", "rb") as status:  # noqa: PTH123 - in a third of the time of Path.read_bytes
        resident = int(status.read().split()[1]) * mmap.PAGESIZE
    info = library.mallinfo2()
    return resident - int(info.uordblks) - int(info.hblkhd)
