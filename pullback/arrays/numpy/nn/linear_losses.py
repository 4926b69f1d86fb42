"""Losses of linear layers computed in chunks, so that the scores of all rows never exist at once."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.nn.layers import linear, log_softmax
from pullback.arrays.numpy.nn.losses import nll_loss


@loops("blocks")
def linear_cross_entropy_rows(input, linear_weight, target, linear_bias, weight, ignore_index, rows):
    """The loss of each row, by the scores of so many `rows` at a time."""
    losses = []
    for first in range(0, max(len(input), 1), rows):
        part = slice(first, first + rows)
        log_p = log_softmax(linear(input[part], linear_weight, linear_bias), 1)
        losses.append(nll_loss(log_p, target[part], weight, "none", ignore_index))
    return np.concatenate(losses)
