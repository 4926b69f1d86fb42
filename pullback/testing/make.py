"""Random tensors for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, set_requires_grad
from pullback.testing.arrays import random_array

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: DTypeLike = np.float64,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    generator: np.random.Generator | int | None = None,
) -> Tensor:
    """A tensor of random values in [low, high).

    Parameters
    ----------
    *shape : int, or one tuple of int
    dtype : dtype, default float64
        Floating, complex (real and imaginary part each in the range), integer or bool.
    low, high : float, optional
        The range; by default one around zero that suits the dtype.
    requires_grad : bool, default False
    noncontiguous : bool, default False
        The tensor is every second element of a larger memory. A 0-d tensor cannot be.
    exclude_zero : bool, default False
        No value is zero, and no floating value is nearer to it than 0.05.
    generator : numpy.random.Generator or int, optional
        The source of the values, or a seed; by default a fresh one, different in each call.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        `dtype` is not numeric, or the shape is not made of integers.
    RuntimeError
        `requires_grad` with an integer or bool dtype.

    Examples
    --------
    >>> make_tensor((2, 3), low=0, high=1, generator=0).shape
    (2, 3)
    >>> make_tensor(4, requires_grad=True).requires_grad
    True
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
        shape = tuple(shape[0])
    if not all(isinstance(n, (int, np.integer)) for n in shape):
        raise TypeError(
            f"make_tensor takes a shape as numbers or as one tuple of numbers, got {shape}; dtype= by keyword."
        )
    if requires_grad and np.dtype(dtype).kind not in "fc":
        raise RuntimeError(
            f"make_tensor: requires_grad=True needs a floating or complex dtype, got {np.dtype(dtype)}."
            " Use dtype=float64, or leave requires_grad out."
        )
    values = random_array(
        shape, dtype, low=low, high=high, noncontiguous=noncontiguous, exclude_zero=exclude_zero, rng=generator
    )
    tensor = from_numpy(values)
    return set_requires_grad(tensor) if requires_grad else tensor
