"""Values on which formulas branch, as plain arrays whatever type of array flows, and guards on them.

Numbers may be unknown when a formula runs (of a task graph, of a program that is being written). So a formula never
looks at one: it refuses by `check`, which such types do when the numbers come, and it takes a short cut where
`is_known` and the numbers allow it.
"""

from functools import reduce
from operator import add

import numpy as np

from pullback.core.array_type import LEVELLED, TRANSFORMED, array_type, table_of

__all__ = ["any_of", "count_known", "is_known", "none_of", "plain_of", "sizes_of", "widened"]


def plain_of(x):
    """The innermost array of values; a transform's stays in the Tensor to whose level it belongs."""
    while True:
        kind = array_type(x)
        inside = kind.values(x)
        if inside is x:
            return kind.detached(x)
        if _belongs(kind, inside):
            return x.detach()
        x = inside


def _belongs(kind, inside):
    """True if arrays of this type are Tensors, and `inside` one is an array that would be a constant without it."""
    if kind.rank != LEVELLED:
        return False
    kind = array_type(inside)
    return kind.rank == TRANSFORMED and kind.values(inside) is inside


def widened(x, *, ops):
    """A float16 array in float32, which can count beyond 65504; any other as it is."""
    return ops.to(x, np.dtype(np.float32)) if x.dtype.char == "e" else x


def is_known(x):
    """True if the numbers of an innermost array are there to be looked at."""
    return issubclass(type(x), (np.ndarray, np.generic))


def none_of(mask):
    """True if it is known that no element of a mask is True."""
    return is_known(mask) and not np.count_nonzero(mask)


def count_known(mask):
    """How many elements of a mask are True; None where that is not known."""
    return np.count_nonzero(mask) if is_known(mask) else None


def sizes_of(x):
    """Moduli; a tangent beside a number counts, for a cotangent may be all tangent."""
    return reduce(add, [abs(part) for part in _parts(x)])


def _parts(x):
    """Values and tangents; where there are many samples, those of all of them as one array of its type."""
    kind = array_type(x)
    if kind.many:
        return [kind.detached(x)]
    inside = [getattr(holder, name) for _, holder, name in kind.components(x)] or [kind.values(x)]
    if _belongs(kind, inside[0]):
        return [x.detach()]
    return inside if inside[0] is x else [part for y in inside for part in _parts(y)]


def any_of(x, dims, keepdims=False):
    """Where any of the truth values of an innermost array along some dimensions is true."""
    return x.any(dims, keepdims=keepdims) if is_known(x) else table_of((x,)).any(x, dims, keepdims)
