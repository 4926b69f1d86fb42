"""A rule for vmap.

vmap(f) runs f on many samples at once. Operators know how; a function of your own runs on one sample after the
other, unless it has a rule that does all at once.

    pull(x, w) = x * (w @ x) / (x @ x)        x and w vectors of one length

The rule is called as pull_vmap(info, in_dims, x, w): info.batch_size samples, and in_dims has one entry for each
argument: 0 where its samples lie along its first dimension, None where all samples share one vector. It returns the
results and where these have the samples: 0.

So x may be (batch, n) or (n,), and so may w. What was a sum over the whole vector must become one over its own
dimension, the last. Write pull_vmap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.autograd.function.vmap import VmapInfo
from pullback.lab.judge import Answer, Mistake, check_array, inputs, refuse

TEMPLATE = '''\
import numpy as np


def pull(x, w):
    """The function, for one sample."""
    return x * (w @ x) / (x @ x)


def pull_vmap(info, in_dims, x, w):
    """All samples at once."""
    return x * (w @ x) / (x @ x), 0  # replace this
'''

HINTS = (
    "w @ x for one sample is (w * x).sum(). For all samples it is a sum over the last dimension alone.",
    "(w * x).sum(axis=-1, keepdims=True) keeps a dimension of 1, so that it can be multiplied with x.",
    "Broadcasting takes care of an argument that all samples share: (batch, n) times (n,) is right as it is.",
    "return x * (w * x).sum(-1, keepdims=True) / (x * x).sum(-1, keepdims=True), 0",
)

SOLUTION = """\
import numpy as np


def pull(x, w):
    return x * (w @ x) / (x @ x)


def pull_vmap(info, in_dims, x, w):
    along = {"axis": -1, "keepdims": True}
    return x * (w * x).sum(**along) / (x * x).sum(**along), 0
"""


def check(answer: Answer) -> None:
    """Against one sample after the other: both batched, one shared, as many samples as numbers."""
    for batch, dims in ((4, (0, 0)), (4, (0, None)), (4, (None, 0)), (3, (0, 0))):
        part = f"pull_vmap, {batch} samples, in_dims={dims}"
        try:
            _compare(answer, part, batch, dims)
        except Mistake:
            if not _right_alone(answer, dims):
                raise
            refuse(
                part,
                "mixed_samples",
                "one sample alone is right, and several are not: something goes across the samples.",
                "Sum over the last dimension only (axis=-1), and keep it (keepdims=True): the first is the samples'.",
            )


def _right_alone(answer: Answer, dims: tuple[int | None, ...]) -> bool:
    try:
        _compare(answer, "one sample", 1, dims)
    except Mistake:
        return False
    return True


def _compare(answer: Answer, part: str, batch: int, dims: tuple[int | None, ...]) -> None:
    """One call of the rule, against the function of each sample."""
    x, w = inputs(*(((batch, 3) if d == 0 else (3,)) for d in dims))
    right = np.array([_pull(x[k] if dims[0] == 0 else x, w[k] if dims[1] == 0 else w) for k in range(batch)])
    found = answer.run("pull_vmap", VmapInfo(batch, "error"), dims, x, w)
    if not isinstance(found, tuple) or len(found) != 2:
        refuse(part, "wrong_count", "it must return two things: results, out_dims.", "Write `return results, 0`.")
    results, out = found
    if not isinstance(out, int) or not -np.ndim(results) <= out < np.ndim(results):
        refuse(
            part,
            "wrong_dims",
            f"it says that the results have the samples at {out!r}, which their shape {np.shape(results)} has not.",
            "Return the results with the samples in front, and 0.",
        )
    check_array(part, np.moveaxis(results, out, 0), right)


def _pull(x: Any, w: Any) -> Any:
    return x * (w @ x) / (x @ x)
