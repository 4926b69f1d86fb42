"""Decorators that describe kernels: `fast` for a special way taken for speed, `loops` for a justified Python loop.

Both give the function back as it is. Tests read the declarations: tests/arrays/test_fast.py holds each special way
against its plain one, tests/arrays/test_loops.py knows every loop.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# What a loop in a kernel may go over: not the elements of an array.
LOOPS = {
    "arguments": "arguments, dimensions, operands, names: a handful, whatever the size of the arrays",
    "coefficients": "coefficients of polynomials, terms of series, steps of recurrences in the order: their number is "
    "fixed by the method, and each is a few calls on whole arrays",
    "blocks": "blocks that stay in the cache, ten thousand elements and more each, so that several passes over them "
    "read memory once",
    "window": "places of a window: a kernel of 3 x 3 has nine, each one strided operation on the whole input, so that "
    "neither index arrays nor a copy of every window are needed",
    "steps": "steps that need the one before, taken by all rows of the batch at once; where there is no batch a step "
    "may be one element",
    "columns": "columns of a factorisation, for a batch of small matrices at once, as LAPACK goes through them; terms "
    "that together would take the memory of n**3 numbers; coordinates of points",
    "matrices": "matrices of a batch, one call of LAPACK or BLAS each, where NumPy has no batched form",
}


def loops(*over: str) -> Callable[[F], F]:
    """Declare that a function has loops of Python, over these of `LOOPS`."""
    if not over or not LOOPS.keys() >= set(over):
        raise ValueError(f"loops(): expected some of {sorted(LOOPS)}, got {over}.")
    return lambda function: function


class Exactness(NamedTuple):
    """How far a special way may be from the plain one computed in a wider dtype: `units` of the result's last place.

    `of` says the last place of what: of the "result", of the sum of the "terms" (the plain way on magnitudes), or one
    for each of the "factors" of the result. Where the plain way is farther off, that is enough. Zero units are the
    same bits as the plain way in the same dtype, or the same "values", of zeros with either sign.
    """

    units: float
    of: str = "result"


SAME_BITS = Exactness(0)
SAME_VALUES = Exactness(0, "values")


class FastWay(NamedTuple):
    """A special way taken for speed: what it does, the plain way of which it gives the result, from which size on."""

    way: Callable[..., Any]
    plain: Callable[..., Any]
    pays_from: int  # elements
    exact: Exactness
    writes: bool  # whether both write into their first argument; the way answers whether it did


FAST_WAYS: list[FastWay] = []


def fast(*, plain: Callable[..., Any], pays_from: int, exact: Exactness, writes: bool = False) -> Callable[[F], F]:
    """Declare a special way, which takes the arguments of `plain` and may answer None where it does not apply."""

    def declare(way: F) -> F:
        FAST_WAYS.append(FastWay(way, plain, pays_from, exact, writes))
        return way

    return declare


def ufunc_for_few(kernel: Callable[..., Any]) -> tuple[np.ufunc | None, int]:
    """The ufunc that `kernel` is, or is a fast way to, and the number of elements from which on it is not to be called.

    Asking for the size costs less than a function that asks for it.
    """
    ways = (w for w in FAST_WAYS if w.way is kernel and w.pays_from and isinstance(w.plain, np.ufunc))
    fast_way = next(ways, None)
    if fast_way is not None:
        return fast_way.plain, fast_way.pays_from  # type: ignore[return-value]  # a ufunc: asked above
    return (kernel if isinstance(kernel, np.ufunc) else None), 0
