"""Kernels that join arrays."""

import numpy as np

from pullback.arrays.numpy.dims import wrap_dim

__all__ = ["cat", "stack"]


def cat(tensors, dim=0):
    """The arrays one after another along dim; arrays of shape (0,) join anything, as in PyTorch."""
    arrays = sequence_of_arrays(tensors, "cat")
    full = [a for a in arrays if a.shape != (0,)]
    if len(full) < len(arrays) and full:
        dtype = np.result_type(*arrays)  # the arrays without elements still take part in promotion
        return np.concatenate(full, wrap_dim(dim, full[0].ndim, "cat"), dtype=dtype)
    return np.concatenate(arrays, dim)


def stack(tensors, dim=0):
    """The arrays side by side along a new dimension."""
    return np.stack(sequence_of_arrays(tensors, "stack"), dim)


def sequence_of_arrays(tensors, name):
    """`tensors` if it is a non-empty tuple or list of arrays."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{name}: tensors must be a tuple or list of Tensors, got {type(tensors).__name__}")
    if not tensors:
        raise ValueError(f"{name}: expected a non-empty list of Tensors")
    for i, a in enumerate(tensors):
        if not isinstance(a, (np.ndarray, np.generic)):
            raise TypeError(f"{name}: tensors[{i}] must be a Tensor or an ndarray, got {type(a).__name__}")
    return tensors
