"""The largest number of each bin of regions of a plane."""

import numpy as np

from pullback.arrays.numpy.declarations import loops


@loops("window")
def region_max_indices(self, rows, columns):
    """For every channel of self (C, N, H, W), the place of the maximum of each bin in the other dimensions, flattened.

    `rows` (R, oh, k) are places in N * H, `columns` (R, ow, l) in W: together the places of each bin, the first ones
    of them repeated where it has fewer. The loop runs over places inside of a bin.
    """
    flat = self.reshape(len(self), -1)
    best = taken = None
    for i in range(rows.shape[2]):
        for j in range(columns.shape[2]):
            at = (rows[:, :, None, i] * self.shape[-1] + columns[:, None, :, j]).ravel()
            part = flat.take(at, 1)
            if best is None:
                best, taken = part, np.broadcast_to(at, part.shape).copy()
                continue
            better = part > best
            np.copyto(best, part, where=better)
            np.copyto(taken, at, where=better)
    return taken
