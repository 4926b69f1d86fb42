"""The array API standard (2025.12) for Tensors: what `Tensor.__array_namespace__()` gives to libraries written for it.

https://data-apis.org/array-api/2025.12

The functions are NumPy's, which Tensors take and which follow the standard themselves, with Tensors for results; those
with a gradient have it here.

    linalg, fft   the two extensions
    special       SciPy's special functions, for SciPy

>>> import pullback as pb
>>> x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> xp = x.__array_namespace__()
>>> y = xp.sum(xp.sqrt(x), axis=0)
>>> xp.sum(y).backward()
>>> x.grad
tensor([[0.5       , 0.35355339],
        [0.28867513, 0.25      ]])
"""

import numpy as np

from pullback.array_api import fft, linalg, special
from pullback.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from pullback.array_api.functions import (
    argsort,
    astype,
    ceil,
    clip,
    finfo,
    floor,
    iinfo,
    isdtype,
    nonzero,
    result_type,
    sort,
    trunc,
    unstack,
)
from pullback.array_api.functions import (
    of_numpy as _of_numpy,
)
from pullback.array_api.information import __array_namespace_info__

__array_api_version__ = "2025.12"

_OF_NUMPY = (
    "abs", "acos", "acosh", "add", "all", "any", "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "broadcast_arrays", "broadcast_to", "concat", "conj", "copysign", "cos", "cosh", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "diff", "divide", "equal", "exp", "expand_dims", "expm1", "flip",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isin", "isinf", "isnan", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "min", "minimum", "moveaxis", "multiply",
    "negative", "nextafter", "not_equal", "permute_dims", "positive", "pow", "prod", "real", "reciprocal",
    "remainder", "repeat", "reshape", "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sqrt",
    "square", "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot",
    "tile", "unique_all", "unique_counts", "unique_inverse", "unique_values", "var", "vecdot", "where",
)  # fmt: skip
globals().update({_name: _of_numpy(getattr(np, _name)) for _name in _OF_NUMPY})
broadcast_shapes, can_cast = np.broadcast_shapes, np.can_cast

e, inf, nan, newaxis, pi = np.e, np.inf, np.nan, None, np.pi
bool = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"int{_bits}") for _bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{_bits}") for _bits in (8, 16, 32, 64))
float32, float64 = np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "argsort",
    "asarray",
    "astype",
    "bool",
    "broadcast_shapes",
    "can_cast",
    "ceil",
    "clip",
    "complex64",
    "complex128",
    "e",
    "empty",
    "empty_like",
    "eye",
    "fft",
    "finfo",
    "float32",
    "float64",
    "floor",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linalg",
    "linspace",
    "meshgrid",
    "nan",
    "newaxis",
    "nonzero",
    "ones",
    "ones_like",
    "pi",
    "result_type",
    "sort",
"special",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "zeros",
    "zeros_like",
]  # fmt: skip
__all__ += list(_OF_NUMPY)
del np
