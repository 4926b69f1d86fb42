"""NumPy kernels of `embedding_bag`: which bag an index is in, and where the largest row of each lies."""

import numpy as np


def bag_of_each(starts, indices, rows, padding_idx=None):
    """(the bag of each index, for padding the number of bags; how many indices each bag has without padding)."""
    if starts.dtype.kind not in "iu":
        raise RuntimeError(f"embedding_bag(): offsets must hold integers, but their dtype is {starts.dtype}.")
    if starts.size and (starts[0] != 0 or starts[-1] > indices.size):
        raise RuntimeError(
            f"embedding_bag(): offsets must begin with 0 and not pass the {indices.size} indices, but go from "
            f"{starts[0]} to {starts[-1]}."
        )
    if (np.diff(starts) < 0).any():
        raise RuntimeError("embedding_bag(): offsets must not decrease.")
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"embedding_bag(): padding_idx {padding_idx} is out of range for {rows} rows.")
    bag = np.repeat(np.arange(starts.size), np.diff(starts, append=indices.size))
    if padding_idx is not None:
        bag[indices == padding_idx % rows] = starts.size
    return bag, np.bincount(bag, minlength=starts.size)[: starts.size]


def bag_argmax(rows, bag, bags):
    """For each bag and column the first row with the largest element, nan counting as larger; 0 for an empty bag."""
    out = np.zeros((bags, rows.shape[1]), np.intp)
    kept = np.flatnonzero(bag < bags)
    if kept.size == 0:
        return out
    bag, inside = bag[kept], rows[kept]
    starts = np.flatnonzero(np.diff(bag, prepend=-1))
    largest = np.repeat(np.maximum.reduceat(inside, starts), np.diff(starts, append=kept.size), axis=0)
    hit = (inside == largest) | np.isnan(inside)
    out[bag[starts]] = np.minimum.reduceat(np.where(hit, kept[:, None], rows.shape[0]), starts)
    return out
