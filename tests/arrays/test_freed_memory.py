"""Freed memory: nothing is asked for on import, the first large backward asks for 64 MiB, and no more is kept."""

import ctypes
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy import freed_memory
from tests.test_import import run

glibc = pytest.mark.skipif(freed_memory._glibc() is None, reason="the setting is one of glibc's")

PROGRAM = """
import ctypes, gc, mmap, resource, sys
import numpy as np
import pullback as pb
from pullback.arrays.numpy import freed_memory

MiB = 2**20
mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = freed_memory._Mallinfo2

def resident():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * mmap.PAGESIZE / MiB

def kept_at_the_end():
    "What stays free at the end of the heap when 40 MiB in small arrays are freed, in MiB."
    arrays = [np.ones(100_000, np.int8) for _ in range(400)]
    arrays.clear()
    return mallinfo2().keepcost / MiB

def step(size, depth):
    "A backward through so many large arrays, with small ones that outlive them in between."
    x, staying = pb.tensor(np.ones(size), requires_grad=True), []
    y = x
    for _ in range(depth):
        y = (y * y).sin() + 1
        staying.append(np.ones(500))
    y.sum().backward()
    return staying
"""


def of_program(code, **environment):
    """What the program prints."""
    return run(PROGRAM + code, **environment).split()


@glibc
def test_importing_and_small_backwards_leave_malloc_as_it_is():
    small, threshold = of_program("""
for _ in range(50):
    step(100, 10)
print(kept_at_the_end())
before = mallinfo2().hblkhd
x = np.ones(24 * MiB, np.int8)
print((mallinfo2().hblkhd - before) / MiB)
""")
    assert float(small) < 8
    assert float(threshold) >= 24  # mapped: a part of the heap it would be if the setting had been made


@glibc
def test_the_first_large_backward_asks_for_memory_to_be_kept():
    before, after = of_program("""
print(kept_at_the_end())
step(100_000, 3)
print(kept_at_the_end())
""")
    assert float(before) < 8
    assert 32 < float(after) <= 64


@glibc
@pytest.mark.parametrize("make", ["np.ones", "lambda shape: pb.ones(*shape)"])
def test_a_large_vmap_asks_too_though_each_of_its_samples_is_small(make):
    before, after = of_program(f"""
made = ({make})((1000, 100))
mapped = pb.func.vmap(pb.func.grad(lambda x: (x * x).sum()))
mapped(made[:10])
print(kept_at_the_end())
mapped(made)
print(kept_at_the_end())
""")
    assert float(before) < 8
    assert 32 < float(after) <= 64


@glibc
@pytest.mark.parametrize(("size", "depth"), [(100_000, 200), (1_000_000, 20), (20_000, 800), (4_000_000, 5)])
def test_no_more_than_64_mib_is_kept(size, depth):
    """Though what is still in use lies above freed memory, where no threshold reaches."""
    top, *kept = of_program(f"""
step(100, 1)
before = resident()
staying = [step({size}, {depth}) for _ in range(4)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before)
print(resident() - before)
del staying
step(1000, 1)
print(resident() - before)
""")
    assert float(top) > 150, "not enough to see anything"
    assert max(map(float, kept)) <= 64 + 20  # NumPy's and Python's own are 17, whatever the heap keeps at its end


@glibc
def test_fresh_pages_are_rare_once_memory_is_kept():
    """The gain, counted in page faults: each costs as much as a thousand additions."""
    faults = {}
    for kept in ("system", "keep"):
        (faults[kept],) = of_program(
            """
for _ in range(3):
    step(100_000, 10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step(100_000, 10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
""",
            PULLBACK_MALLOC=kept,
        )
    # The system too keeps it at times, as the heap happens to lie.
    assert int(faults["keep"]) < max(100, int(faults["system"]) / 10)


@glibc
@pytest.mark.parametrize("size", [0, 16 << 20])
def test_what_the_user_decides_stays(size):
    before, after = of_program(f"""
pb.keep_freed_memory({size})
for _ in range(3):
    step(100_000, 20)
print(kept_at_the_end())
pb.keep_freed_memory({size})
print(freed_memory._decision.kept)
""")
    assert int(after) == size
    assert float(before) <= max(size / 2**20, 8)


@glibc
def test_zero_gives_back_what_was_kept():
    before, after, later = map(
        float,
        of_program("""
pb.keep_freed_memory(256 * MiB)
step(100_000, 60)
print(resident())
pb.keep_freed_memory(0)
print(resident())
print(kept_at_the_end())
"""),
    )
    assert after < before - 60
    assert later < 1


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (1.5, TypeError, r"keep_freed_memory\(\): bytes must be an int, got 1\.5\."),
        (None, TypeError, "bytes must be an int, got None"),
        (True, TypeError, "bytes must be an int, got True"),
        (np.True_, TypeError, "bytes must be an int, got"),
        (-1, ValueError, r"between 0 and 2147483647 \(2 GiB - 1\), got -1\."),
        (2**31, ValueError, "got 2147483648"),
    ],
)
def test_what_is_no_number_of_bytes_is_refused(size, error, text):
    with pytest.raises(error, match=text):
        pb.keep_freed_memory(size)


def test_where_there_is_no_glibc_a_call_is_refused_and_a_backward_asks_for_nothing(monkeypatch):
    monkeypatch.setattr(freed_memory, "_glibc", lambda: None)
    monkeypatch.setattr(freed_memory, "_decision", freed_memory._Decision())
    with pytest.raises(NotImplementedError, match="glibc"):
        pb.keep_freed_memory(1 << 20)
    freed_memory.keep_for_large_backwards()
    assert freed_memory._decision.kept is None
    pb.keep_freed_memory(0)  # it is as it was asked to be
    freed_memory.give_back_the_rest()
    assert freed_memory._decision.kept == 0


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_a_system_without_a_handle_of_its_own_has_no_glibc(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert freed_memory._glibc.__wrapped__() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a musl has no such function either")
def test_another_c_library_is_told_from_glibc(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert freed_memory._glibc.__wrapped__() is None
