"""Types of what NumPy's and SciPy's functions take and give, for annotations of the code that stands for them.

core.annotations has those of PyTorch's face, and core.types those of what a Tensor is around.
"""

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
# One of them, or several: of a function whose arguments say how many.
Arrays: TypeAlias = "AnyArray | tuple[AnyArray, ...]"
# One of them, or a number of Python's or NumPy's.
Numeric: TypeAlias = "AnyArray | complex | np.generic"
# What a user gives: also lists of numbers, and of arrays.
ArrayLike: TypeAlias = "AnyArray | npt.ArrayLike"
DTypeLike: TypeAlias = "npt.DTypeLike | None"
Axis: TypeAlias = SupportsIndex | None
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
# Whole numbers, such as counts and indices: one, or many in any form.
Integers: TypeAlias = "SupportsIndex | Sequence[Any] | AnyArray"
# The argument `out`: of a ufunc a tuple, with None for a result that is to be made.
Out: TypeAlias = "AnyArray | tuple[AnyArray | None, ...] | None"
# The argument `output` of scipy.ndimage: an array for the result, or its dtype.
Output: TypeAlias = "AnyArray | npt.DTypeLike | None"
# The argument `where`, and others that choose elements.
Mask: TypeAlias = "bool | np.bool_ | Sequence[Any] | AnyArray"
Index: TypeAlias = "SupportsIndex | slice | EllipsisType | AnyArray | Sequence[Any] | None"
Order: TypeAlias = Literal["C", "F", "A", "K"] | None
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
