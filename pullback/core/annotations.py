"""Types of what users may give, for annotations: the stubs of the operators are written with these names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from pullback.core.tensor import Tensor

# Python's types, for places where these names are dtypes or methods.
Bool: TypeAlias = bool
PyInt: TypeAlias = int
PyFloat: TypeAlias = float
PyComplex: TypeAlias = complex
Flag: TypeAlias = "bool | np.bool_"
Int: TypeAlias = "int | np.integer[Any]"
Real: TypeAlias = "float | np.floating[Any] | np.integer[Any]"
Number: TypeAlias = "complex | np.number[Any] | np.bool_"
Ints: TypeAlias = "Sequence[Int] | np.ndarray[Any, Any]"
IntOrInts: TypeAlias = "Int | Ints"
ArrayLike: TypeAlias = "Tensor | np.ndarray[Any, Any]"
TensorLike: TypeAlias = "Tensor | np.ndarray[Any, Any] | Number"
ArrayLikes: TypeAlias = "Sequence[TensorLike] | Tensor"
DTypeObject: TypeAlias = "np.dtype[Any] | type[Any]"
DTypeLike: TypeAlias = "np.dtype[Any] | type[Any] | str"
