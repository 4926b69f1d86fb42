"""Where the elements of a strided array lie in memory."""

from __future__ import annotations

from typing import cast

import numpy as np


def storage_positions(geometry: tuple[tuple[int, ...], tuple[int, ...], int]) -> np.ndarray:
    """The place in the storage of every element of an array with this (shape, strides, offset)."""
    shape, strides, offset = geometry
    places = np.full(shape, offset, np.intp)
    for dim, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        places += (np.arange(n) * stride).reshape([n if d == dim else 1 for d in range(len(shape))])
    return places


def overlaps_itself(array: np.ndarray) -> bool:
    """True if two elements of an array share memory."""
    steps = sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1)
    if array.size < 2:
        return False
    reach = array.itemsize  # bytes from the beginning of the first element to the end of the last one so far
    for stride, n in steps:
        if stride < reach:
            break
        reach += stride * (n - 1)
    else:
        return False  # each dimension steps over all that the smaller ones reach
    places = storage_positions((array.shape, tuple(abs(s) for s in array.strides), 0)).ravel()
    places.sort()
    return bool((np.diff(places) < array.itemsize).any())


def copied(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, so that what is a view of the one is a view of the other.

    Where elements share memory, each gets its own.
    """
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return array.copy(order="K")
    if not array.size or overlaps_itself(array):
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    begin = array.__array_interface__["data"][0] - low
    made = np.ndarray(array.shape, array.dtype, memory, begin, array.strides)
    made[...] = array
    return made


def is_part(array: np.ndarray) -> bool:
    """True if the memory that an array lies in is larger than the array."""
    root = array
    while issubclass(type(root.base), np.ndarray):
        root = cast(np.ndarray, root.base)
    return root.nbytes > array.nbytes
