"""OpInfo records of linear_cross_entropy in chunks, against the scores made all at once."""

import numpy as np

from pullback.ops.composite.nn.linear_losses import LinearCrossEntropyOptions
from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises, Sample

__all__ = ["OPINFOS"]

LABELS = np.array([1, 4, 0, 2, 4])
TWO, AUTO = LinearCrossEntropyOptions(batch_chunk_size=2), LinearCrossEntropyOptions()


def rows(x, linear_weight, labels, linear_bias=None, weight=None, ignored=-100, count=1):
    """By the logarithm of the softmax."""
    scores = x @ linear_weight.T + (0 if linear_bias is None else linear_bias)
    log_p = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    kept = labels != ignored
    losses = -np.take_along_axis(log_p, np.where(kept, labels, 0)[..., None], -1)[..., 0]
    return np.where(kept, losses * (1 if weight is None else weight[np.where(kept, labels, 0)]), x.dtype.type(0))


def reduced(x, linear_weight, labels, linear_bias=None, weight=None, reduction="mean", ignore_index=None, options=None):
    """Their sum, or weighted mean."""
    losses = rows(x, linear_weight, labels, linear_bias, weight, ignore_index)
    if reduction == "none":
        return losses
    kept = (labels != ignore_index).astype(x.dtype)
    return losses.sum() / ((kept if weight is None else kept * weight[labels]).sum() if reduction == "mean" else 1)


def chunked(make):
    """All reductions, with biases, weights, ignored labels, and a single row."""
    weight = make.constant((5,), low=0.5, high=2)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, options=TWO)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, linear_bias=make((5,)), weight=weight, options=AUTO)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, reduction="sum", ignore_index=4, options=TWO)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, weight=weight, ignore_index=1, options=TWO)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, linear_bias=make((5,)), reduction="none", options=TWO)
    yield Sample(make((3,)), make((5, 3)), np.array(2), options=AUTO)
    yield Sample(make((3,)), make((5, 3)), np.array(2), reduction="none", options=TWO)


def primitive(make):
    """Chunks that divide the rows, that do not, and of no rows."""
    yield Sample(make((4, 3)), make((5, 3)), LABELS[:4], make((5,)), None, -100, 2)
    yield Sample(make((5, 3)), make((5, 3)), LABELS, None, make.constant((5,), low=0.5, high=2), 4, 3)
    yield Sample(make((0, 3)), make((5, 3)), LABELS[:0], None, None, -100, 1)


MATRICES = (np.ones((2, 3)), np.ones((4, 3)))
ERRORS = [
    Raises(ValueError, ("linear_cross_entropy", "(2,)", "(3,)"), (*MATRICES, np.zeros(3, int)), {"options": TWO}),
    Raises(ValueError, ("linear_cross_entropy", "'most'"), (*MATRICES, np.zeros(2, int)),
           {"options": TWO, "reduction": "most"}),
    Raises(TypeError, ("linear_cross_entropy", "options", "dict"), (*MATRICES, np.zeros(2, int)), {"options": {}}),
]  # fmt: skip
OPINFOS = [
    OpInfo("nn.functional.linear_cross_entropy", reduced, chunked, dtypes=FLOATS, variant="chunked", errors=ERRORS),
    OpInfo("linear_cross_entropy_rows", rows, primitive, dtypes=FLOATS),
]
