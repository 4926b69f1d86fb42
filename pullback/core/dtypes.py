"""PyTorch's functions about dtypes: finfo and iinfo, promotion, can_cast, the default dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.core.named import named
from pullback.core.tensor import Tensor
from pullback.core.types import DType

DEFAULT = np.dtype("float64")
_KINDS = ("b", "iu", "f", "c")  # a cast to a later one keeps all that there is; to an earlier one it does not


@named("finfo", "ScalarType dtype")
def finfo(dtype: Any = DEFAULT) -> np.finfo[Any]:
    """The limits of a floating or complex dtype: `eps`, `max`, `min`, `tiny`, `bits`, as numpy.finfo gives them.

    Parameters
    ----------
    dtype : dtype, default float64

    Returns
    -------
    numpy.finfo

    Raises
    ------
    TypeError
        The dtype is neither floating nor complex.

    Examples
    --------
    >>> pb.finfo(pb.float32).eps
    np.float32(1.1920929e-07)
    """
    return np.finfo(dtype)


@named("iinfo", "ScalarType dtype")
def iinfo(dtype: Any) -> np.iinfo[Any]:
    """The limits of an integer dtype: `max`, `min`, `bits`, as numpy.iinfo gives them.

    Parameters
    ----------
    dtype : dtype

    Returns
    -------
    numpy.iinfo

    Raises
    ------
    TypeError
        The dtype is not one of whole numbers.

    Examples
    --------
    >>> pb.iinfo(pb.int16).max
    32767
    """
    return np.iinfo(dtype)


@named("promote_types", "ScalarType type1, ScalarType type2")
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that operators give for operands of these two: NumPy's rules.

    Parameters
    ----------
    type1, type2 : dtype

    Returns
    -------
    dtype

    Raises
    ------
    TypeError
        One is not a dtype.

    Examples
    --------
    >>> pb.promote_types(pb.float32, pb.int64)
    dtype('float64')
    """
    return np.promote_types(type1, type2)


@named("result_type", "any tensor1, any tensor2")
def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype that operators give for these operands, tensors or numbers: NumPy's rules.

    Python's numbers give way to a tensor of their kind; a tensor without dimensions counts like any other, which in
    PyTorch gives way too.

    Parameters
    ----------
    tensor1, tensor2 : Tensor, ndarray, number or dtype

    Returns
    -------
    dtype

    Raises
    ------
    TypeError
        One is neither an array nor a number nor a dtype.

    Examples
    --------
    >>> pb.result_type(pb.ones(2, dtype=pb.float32), 1.0)
    dtype('float32')
    """
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in (tensor1, tensor2)))


@named("can_cast", "ScalarType from_, ScalarType to")
def can_cast(from_: Any, to: Any) -> bool:
    """True if a cast keeps the kind: not from complex to real, from floating to integer, or from integer to bool.

    Parameters
    ----------
    from_, to : dtype

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        One is not a dtype.

    Examples
    --------
    >>> pb.can_cast(pb.float64, pb.float32), pb.can_cast(pb.float64, pb.int64)
    (True, False)
    """
    kinds = [np.dtype(dtype).kind for dtype in (from_, to)]
    source, target = (next(i for i, group in enumerate(_KINDS) if kind in group) for kind in kinds)
    return source <= target


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python's floats: float64, as in NumPy.

    Returns
    -------
    dtype

    Examples
    --------
    >>> pb.get_default_dtype()
    dtype('float64')
    """
    return DEFAULT


@named("set_default_dtype", "ScalarType d")
def set_default_dtype(d: Any) -> None:
    """Accept float64, which the default is and stays.

    Parameters
    ----------
    d : dtype
        float64.

    Returns
    -------
    None

    Raises
    ------
    UnsupportedError
        For any other: say `dtype=` where a tensor is made.

    Examples
    --------
    >>> pb.set_default_dtype(pb.float64)
    """
    if np.dtype(d) != DEFAULT:
        raise UnsupportedError(
            f"set_default_dtype({np.dtype(d)}): the default is float64, as in NumPy, and cannot be changed. Pass "
            "dtype= where a "
            "tensor is made, or x.to(dtype) where it enters your program."
        )
