"""Arrays on disk come back as they were, their room is used again, and none of it outlives them."""

import mmap

import numpy as np
import pytest

from pullback.core.errors import UnsupportedError
from pullback.core.scratch import DiskLimitError, Scratch

PAGE = mmap.ALLOCATIONGRANULARITY
SAMPLES = {
    "C": np.arange(24.0).reshape(2, 3, 4),
    "F": np.asfortranarray(np.arange(24.0).reshape(4, 6)),
    "transposed": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "view": np.arange(24.0)[::-2],
    "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
    "number": np.array(2.5),
    "empty": np.zeros((0, 3), complex),
    "records": np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "big endian": np.arange(5, dtype=">f4"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_array_comes_back(name):
    array = SAMPLES[name]
    found = Scratch().write(array).read()
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert found.strides == np.empty_like(array, order="K").strides


def test_what_is_written_into_an_array_that_was_read_stays_there():
    stored = Scratch().write(np.zeros(3))
    stored.read()[:] = 7
    np.testing.assert_array_equal(stored.read(), 0)


def test_room_is_used_again_when_nothing_lies_in_it():
    scratch = Scratch(limit=4 * PAGE)
    first, second = scratch.write(np.full(PAGE // 8, 1.0)), scratch.write(np.full(PAGE // 4, 2.0))
    assert scratch.in_use == 3 * PAGE
    read = first.read()
    del first
    assert scratch.in_use == 3 * PAGE  # an array lies there still
    third = scratch.write(np.full(PAGE // 8, 3.0))
    np.testing.assert_array_equal(read, 1.0)
    with pytest.raises(DiskLimitError, match=f"does not fit into the {4 * PAGE} bytes .* {4 * PAGE} are in use"):
        scratch.write(np.zeros(1))
    del read, second
    assert scratch.in_use == PAGE
    fourth = scratch.write(np.full(3 * PAGE // 8, 4.0))  # where the first two were, side by side
    np.testing.assert_array_equal(third.read(), 3.0)
    np.testing.assert_array_equal(fourth.read(), 4.0)
    del third, fourth
    assert scratch.in_use == 0


def test_objects_and_missing_folders_are_refused():
    with pytest.raises(UnsupportedError, match="Python objects"):
        Scratch().write(np.array([None]))
    with pytest.raises(FileNotFoundError, match="no folder '/no/such'"):
        Scratch("/no/such")
