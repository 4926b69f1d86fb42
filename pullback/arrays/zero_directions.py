"""A derivative in a direction that is exactly 0 is 0, even where the function has no finite slope.

`where(x > 0, sqrt(x), 0)` does not depend on sqrt at x = 0 and below: the cotangent that reaches sqrt there is 0. As
numbers, though, 0/0 and 0*inf are NaN. Such an element is put back to 0, in element-by-element operators, whose
derivative in one element belongs to the direction of that element alone.

The common path pays nothing: the processor raises its invalid flag for 0/0 and 0*inf, NumPy looks at that flag anyway,
and only once it was raised (see `pullback.arrays.numpy.quiet`) does anyone search for NaNs. A NaN that was there
before, as the square root of -1 or a missing value, raises no flag when it is multiplied by 0. Therefore operators that
are used to mask such elements (where, masked_fill, an index by a mask, nansum, ...: tagged `masking` in
native_functions.yaml) start the search too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy import vdot

from pullback.core.tensor import Tensor, ndarray


def settled(found: Any, directions: Sequence[Any], ops: Any) -> Any:
    """`found`, a derivative in `directions` (all of its shape), with 0 for NaN where all of these are 0."""
    if type(found) is ndarray:
        if not _has_nan(found):
            return found
    elif found.dtype.kind not in "fc":
        return found
    nans = [np.isnan(part) for part in _parts(found) if _has_nan(part)]
    if not nans:
        return found
    hit = reduce(np.logical_or, nans)
    for direction in directions:
        for part in _parts(direction):
            hit = hit & (part == 0)
    where = np.where if type(found) is ndarray or isinstance(found, np.generic) else ops.where
    return where(hit, found.dtype.type(0), found)


def _parts(x: Any) -> list[Any]:
    """The plain array inside, or several where arrays have tangents: a direction is 0 only if it does not move."""
    while isinstance(x, Tensor):
        x = x._array
    if not hasattr(x, "tangent"):
        return [x]
    return _parts(x.primal) + ([] if x.tangent is None else _parts(x.tangent))


def _has_nan(x: Any) -> bool:
    # One number tells: infinities give inf here, or a NaN too many for complex ones, which does no harm.
    squares = vdot(x, x)
    return bool(squares != squares)  # noqa: PLR0124 - in a tenth of np.isnan's time
