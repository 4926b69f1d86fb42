"""Tests for the kind of number that an argument holds: complex, real, integer."""

from typing import Any

import numpy as np

from pullback.core.array_type import NUMBERS


def is_complex(x):
    """True if an array or a number is complex."""
    return x.dtype.kind == "c" if hasattr(x, "dtype") else isinstance(x, complex)


def in_common(*args: Any) -> tuple[Any, ...]:
    """The arguments, Python's numbers as arrays of the dtype that all have together.

    Such a number is weak: beside float32 it is float32. Functions of SciPy take it for a float64.
    """
    if NUMBERS.isdisjoint(map(type, args)):
        return args
    dtype = np.result_type(*args)
    return tuple(np.asarray(x, dtype) if type(x) in NUMBERS else x for x in args)
