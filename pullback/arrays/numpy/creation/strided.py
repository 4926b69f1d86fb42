"""NumPy kernels that make arrays whose elements lie in memory in an order of one's own."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pullback.arrays.numpy.creation.filled import DEFAULT, whatever
from pullback.core.dims import wrap_dims


def empty_strided(size, stride, dtype=None):
    """Whatever the memory holds, with steps in memory counted in elements."""
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise RuntimeError(
            "empty_strided(): size and stride must be as many numbers, none negative; "
            f"got size {tuple(size)} and stride {tuple(stride)}."
        )
    dtype = DEFAULT if dtype is None else np.dtype(dtype)
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if 0 not in size else 0
    memory = whatever(reach, dtype)
    return as_strided(memory, size, [step * dtype.itemsize for step in stride])


def new_empty_strided(self, size, stride, dtype=None):
    """The same, of the dtype of self."""
    return empty_strided(size, stride, self.dtype if dtype is None else dtype)


def empty_permuted(size, physical_layout, dtype=None):
    """Whatever the memory holds, without gaps, the dimensions from outermost to innermost as physical_layout says."""
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "empty_permuted(): physical_layout must name each dimension of size once; "
            f"got {tuple(physical_layout)} for size {tuple(size)}."
        )
    order = wrap_dims(physical_layout, len(size), "empty_permuted")
    memory = whatever([size[d] for d in order], DEFAULT if dtype is None else dtype)
    return memory.transpose(np.argsort(order)) if order else memory
