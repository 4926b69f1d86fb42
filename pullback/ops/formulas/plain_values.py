"""Values on which formulas branch, as plain arrays whatever type of array flows, and guards on them.

Numbers may be unknown when a formula runs (of a task graph, of a program that is being written). So a formula never
looks at one: it refuses by `check`, which such types do when the numbers come, and it takes a short cut where
`is_known` and the numbers allow it.
"""

from functools import reduce
from operator import add

import numpy as np

from pullback.core.array_type import innermost, parts_of, table_of

__all__ = ["any_of", "is_known", "plain_of", "sizes_of", "widened"]


def plain_of(x):
    """The innermost array of values."""
    return innermost(x)


def widened(x, *, ops):
    """A float16 array in float32, which can count beyond 65504; any other as it is."""
    return ops.to(x, np.dtype(np.float32)) if x.dtype.char == "e" else x


def is_known(x):
    """Whether the numbers of an innermost array are there to be looked at."""
    return issubclass(type(x), (np.ndarray, np.generic))


def sizes_of(x):
    """Moduli; a tangent beside a number counts, for a cotangent may be all tangent."""
    return reduce(add, [abs(part) for part in parts_of(x)])


def any_of(x, dims, keepdims=False):
    """Where any of the truth values of an innermost array along some dimensions is true."""
    return x.any(dims, keepdims=keepdims) if is_known(x) else table_of((x,)).any(x, dims, keepdims)
