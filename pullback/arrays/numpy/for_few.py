"""The table NUMPY for ndarrays of few elements: ufuncs in place of the fast ways for many.

A module, because Python reads a function fastest from one.
"""

from typing import Any

from pullback.arrays.numpy.declarations import ufunc_for_few
from pullback.core.array_type import NUMPY


def __getattr__(name: str) -> Any:
    found = getattr(NUMPY, name)
    plain, most = ufunc_for_few(found)
    if not most:
        return found
    globals()[name] = plain  # here from now on
    return plain
