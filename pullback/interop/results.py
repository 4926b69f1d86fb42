"""Results of NumPy's functions on Arrays: Arrays, and Scalars where NumPy gives a number."""

from __future__ import annotations

from typing import Any

from pullback.core.array_face import ARRAYS, SCALAR_FACES, show_as_array
from pullback.core.array_type import TENSOR
from pullback.core.tensor import NestedTensor, Tensor

_FACES = ARRAYS | {Tensor, NestedTensor}
# What NumPy gives an array of no dimension, where all its other functions give a number: views, copies and choices.
OF_NO_DIMENSION = frozenset({
    "array", "asanyarray", "asarray", "astype", "atleast_1d", "block", "broadcast_arrays", "broadcast_to", "concat",
    "concatenate", "copy", "cov", "cross", "diff", "empty", "empty_like", "expand_dims", "fft.fftn", "fft.ifftn",
    "fix", "full", "full_like", "i0", "imag", "isin", "isneginf", "isposinf", "linalg.tensordot", "ones",
    "ones_like", "pad", "permute_dims", "piecewise", "polyint", "real", "real_if_close", "reshape", "resize",
    "roll", "squeeze", "tensordot", "tile", "transpose", "trim_zeros", "where", "zeros", "zeros_like",
})  # fmt: skip


def as_numpy_gives(result: Any, given: Any, plural: bool = False) -> Any:
    """`result` with NumPy's face; what was `given`, such as an out, stays as it is.

    Parameters
    ----------
    plural : bool
        Whether a result of no dimension stays an array.
    """
    kind = type(result)
    if kind not in _FACES:
        if not issubclass(kind, (tuple, list)):
            return result
        parts = [as_numpy_gives(part, given, plural) for part in result]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    if any(result is x for x in given):
        return result
    if plural or result.ndim or kind in SCALAR_FACES:
        return show_as_array(result)
    if result._is_view():  # a number does not change with the memory that it was read from
        result = TENSOR.clone(result)
    return show_as_array(result, single=True)
