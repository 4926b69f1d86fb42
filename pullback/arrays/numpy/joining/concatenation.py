"""Kernels that join arrays."""

from itertools import combinations, combinations_with_replacement

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.core.dims import wrap_dim
from pullback.core.errors import type_name


def cat(tensors, dim=0):
    """The arrays one after another along dim; arrays of shape (0,) join anything, as in PyTorch."""
    try:
        return np.concatenate(tensors, dim)
    except ValueError:
        arrays = sequence_of_arrays(tensors, "cat")
        full = [a for a in arrays if a.shape != (0,)]
        if not full or len(full) == len(arrays):
            raise
    dtype = np.result_type(*arrays)  # the arrays without elements still take part in promotion
    return np.concatenate(full, wrap_dim(dim, full[0].ndim, "cat"), dtype=dtype)


@loops("arguments")
def stack(tensors, dim=0):
    """The arrays side by side along a new dimension."""
    arrays = sequence_of_arrays(tensors, "stack")
    shape = arrays[0].shape
    for a in arrays:
        if a.shape != shape:
            raise ValueError(f"all inputs must have the same shape, got {shape} and {a.shape}")
    dim = wrap_dim(dim, len(shape) + 1, "stack")
    new = (slice(None),) * dim + (None,)
    return np.concatenate([a[new] for a in arrays], dim)


@loops("arguments")
def sequence_of_arrays(tensors, name):
    """`tensors` if it is a non-empty sequence of arrays."""
    if not len(tensors):
        raise ValueError(f"{name}: expected a non-empty list of Tensors")
    for i, a in enumerate(tensors):
        if not isinstance(a, (np.ndarray, np.generic)):
            raise TypeError(f"{name}: tensors[{i}] must be a Tensor or an ndarray, got {type_name(a)}")
    return tensors


def combination_places(self, r, with_replacement):
    """The places of the elements of all choices of r elements of a vector, one choice after the other."""
    choices = (combinations_with_replacement if with_replacement else combinations)(range(self.shape[0]), r)
    return np.fromiter(choices, np.dtype((np.int64, r))).reshape(-1)
