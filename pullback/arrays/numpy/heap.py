"""How the allocator treats freed arrays.

By default glibc gives the memory of a large array back to the system as soon as it is freed, and the next array of
that size pays for fresh pages again: a chain of three adds on arrays of 1e5 doubles takes 1,110 us instead of 77. So on
import pullback asks glibc to keep up to 256 MiB of freed memory at the top of the heap and to serve arrays of up to
32 MiB from it. It is a setting of the whole process; `PULLBACK_MALLOC=system` in the environment leaves everything as
it was. Elsewhere than on glibc nothing happens. See docs/design/memory.md.
"""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
KEPT = 256 << 20
LARGEST = 32 << 20  # the most that glibc accepts on 64-bit systems


def keep_freed_memory():
    """Ask glibc to keep freed memory; says whether it did."""
    if os.environ.get("PULLBACK_MALLOC", "keep") == "system" or not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl and others have no such knob
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, KEPT) and mallopt(_M_MMAP_THRESHOLD, LARGEST))
