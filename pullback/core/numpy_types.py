"""Types of what NumPy's and SciPy's functions take and give, for annotations of the code that stands for them.

core.annotations has those of PyTorch's face, and core.types those of what a Tensor is around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy import typing as npt
    from numpy._globals import _NoValueType

    from pullback.core.array_face import Array

# What adapters and rules compute with: an Array, or an ndarray where nothing is differentiated. A Tensor, which comes
# where a user has one, counts as an Array: they ask of it what both faces have.
AnyArray: TypeAlias = "Array | np.ndarray[Any, Any]"
# One of them, or several: of a function whose arguments say how many.
Arrays: TypeAlias = "AnyArray | tuple[AnyArray, ...]"
# One of them, or a number of Python's or NumPy's.
Numeric: TypeAlias = "AnyArray | complex | np.generic"
# What a user gives: also lists of numbers, and of arrays.
ArrayLike: TypeAlias = "AnyArray | npt.ArrayLike"
DTypeLike: TypeAlias = "npt.DTypeLike | None"
Axis: TypeAlias = int | None
Axes: TypeAlias = int | Sequence[int] | None
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
# Whole numbers, such as counts and indices: one, or many in any form.
Integers: TypeAlias = "SupportsIndex | Sequence[Any] | AnyArray"
# The argument `out`: of a ufunc a tuple, with None for a result that is to be made.
Out: TypeAlias = "AnyArray | tuple[AnyArray | None, ...] | None"
# The argument `output` of scipy.ndimage: an array for the result, or its dtype.
Output: TypeAlias = "AnyArray | np.dtype[Any] | type[Any] | str | None"
# The argument `where`, and others that choose elements.
Mask: TypeAlias = "bool | np.bool_ | Sequence[Any] | AnyArray | NoValue"
Index: TypeAlias = "SupportsIndex | slice | EllipsisType | AnyArray | Sequence[Any] | None"
Order: TypeAlias = Literal["C", "F", "A", "K"] | None
# What arguments of NumPy's functions are that nobody has given, where None means something.
NoValue: TypeAlias = "_NoValueType"
Mode: TypeAlias = Literal["raise", "wrap", "clip"]
SortKind: TypeAlias = Literal["quicksort", "mergesort", "heapsort", "stable"]
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


class ArrayOperators(Protocol):
    """Protocol of the table of operators as adapters and rules call it: most give one array."""

    def __getattr__(self, name: str) -> Callable[..., Array]: ...
