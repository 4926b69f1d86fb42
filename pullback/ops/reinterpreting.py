"""view(dtype): the same bytes read as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.arguments import number_type
from pullback.core.errors import OperatorError, UnsupportedError
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.version import counter_of
from pullback.ops.late import method

_reshaped = method("view")


def view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """`self` in another shape, or its bytes as another dtype, on the same memory.

    Called as `view(2, 3)` or `view((2, 3))`, where one size may be -1, or as `view(dtype)`. The latter has no gradient,
    as in PyTorch; between complex numbers and pairs of real ones use `view_as_real` and `view_as_complex`, which have.
    If the sizes of the dtypes differ, the last dimension shrinks or grows.

    Parameters
    ----------
    *args : int, one tuple of int, or dtype

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        The memory cannot be seen in that shape or as that dtype: the strides do not allow it, or the sizes do not fit.

    Examples
    --------
    >>> pb.tensor([1.0, -2.0]).view(pb.int64) < 0
    tensor([False,  True])
    >>> pb.ones(3).view(pb.uint8).shape
    (24,)
    """
    if dtype is None:
        if size is not None:
            return _reshaped(self, *shape, size=size)  # type: ignore[no-any-return]
        if len(shape) != 1 or not isinstance(shape[0], (np.dtype, type)):
            return _reshaped(self, *shape)  # type: ignore[no-any-return]
        dtype, shape = shape[0], ()
    if shape or size is not None:
        raise TypeError("view() takes a shape or a dtype, not both: call it twice.")
    return _as_dtype(self, number_type("view", dtype))


def _as_dtype(self: Tensor, dtype: np.dtype[Any]) -> Tensor:
    array: Any = self.detach()._array
    if isinstance(array, Tensor):
        seen: Any = _as_dtype(array, dtype)
    elif type(array) is ndarray:
        _check(self, dtype)
        seen = array.view(dtype)
    else:
        raise UnsupportedError(f"view({dtype}): an array of type {type(array).__name__} has no bytes to reinterpret.")
    out = wrap(seen, self._level)
    out._counter = counter_of(self)  # a write into one is a write into the other
    return out


def _check(self: Tensor, dtype: np.dtype[Any]) -> None:
    """Refuse what the bytes of the last dimension do not allow."""
    here, there = self.itemsize, dtype.itemsize
    if here == there:
        return
    what = f"view({dtype}) of a tensor of dtype {self.dtype} and shape {self.shape}: the dtypes differ in size, so "
    if self.ndim == 0:
        raise OperatorError(f"{what}there must be a last dimension to shrink or grow; use unsqueeze(0) first.")
    if self.shape[-1] > 1 and self.stride(-1) != 1:
        raise OperatorError(f"{what}the last dimension must be contiguous; use contiguous() first.")
    if self.shape[-1] * here % there:
        raise OperatorError(
            f"{what}the last dimension must be a multiple of {there // here}, and it is {self.shape[-1]}."
        )
