"""Rules for operators that join arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch
from pullback.arrays.batched.rules import laid_out, refuse_as_kernel, rule
from pullback.arrays.batched.values import everywhere, rank_of, run, shape_of, shifted


@rule("cat")
@laid_out
def _cat(batch: Batch, tensors: Any, dim: int) -> Any:
    ranks = [rank_of(x) for x in tensors]
    if not all(ranks):
        refuse_as_kernel("cat", batch, (tensors, dim))
    place, rank = shifted(dim, max(ranks), "cat"), max(ranks)
    parts = [x for x, r in zip(tensors, ranks, strict=True) if r == rank or shape_of(x) != (0,)]  # which fits all
    return run("cat", [everywhere(batch, x) for x in parts], place)


@rule("stack")
@laid_out
def _stack(batch: Batch, tensors: Any, dim: int) -> Any:
    return run("stack", [everywhere(batch, x) for x in tensors], shifted(dim, rank_of(tensors[0]) + 1, "stack"))


@rule("combination_places")
def _combination_places(batch: Batch, x: Any, r: int, with_replacement: bool) -> Any:
    return everywhere(batch, run("combination_places", np.empty(x.shape), r, with_replacement))  # by its length alone
