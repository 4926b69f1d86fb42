"""Types of what NumPy's and SciPy's functions are given, for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy import typing as npt

    from pullback.core.array_face import Array

# What adapters and rules compute with: an Array, or an ndarray where nothing is differentiated.
AnyArray: TypeAlias = "Array | np.ndarray[Any, Any]"
# The same, or a number of Python's or NumPy's.
Numeric: TypeAlias = "AnyArray | complex | np.generic"
# What a user gives: also lists of numbers, and of arrays.
ArrayLike: TypeAlias = "AnyArray | npt.ArrayLike"
DTypeLike: TypeAlias = "npt.DTypeLike | None"
Axis: TypeAlias = SupportsIndex | None
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
# The argument `out`: of a ufunc a tuple, with None for a result that is to be made.
Out: TypeAlias = "AnyArray | tuple[AnyArray | None, ...] | None"
# The argument `output` of scipy.ndimage: an array for the result, or its dtype.
Output: TypeAlias = "AnyArray | npt.DTypeLike | None"
Index: TypeAlias = "SupportsIndex | slice | EllipsisType | AnyArray | Sequence[Any] | None"
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
