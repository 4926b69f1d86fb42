"""The kernels: SciPy's functions of matrices and its solvers of matrix equations, of stacks one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from pullback.core.numpy_types import AnyArray


def _of_stacks(function: Callable[..., Any], *matrices: AnyArray) -> AnyArray:
    if matrices[0].ndim == 2:
        return function(*matrices)
    front = matrices[0].shape[:-2]
    flat = [x.reshape(-1, *x.shape[-2:]) for x in matrices]
    found = np.stack([function(*each) for each in zip(*flat, strict=True)])
    return found.reshape(front + found.shape[1:])


def matrix_map(A: AnyArray, function: Callable[..., Any]) -> AnyArray:
    """The function of a matrix."""
    return _of_stacks(function, A)


def sylvester(A: AnyArray, B: AnyArray, Q: AnyArray) -> AnyArray:
    """A X + X B = Q."""
    return _of_stacks(scipy.linalg.solve_sylvester, A, B, Q)


def continuous_are(A: AnyArray, B: AnyArray, Q: AnyArray, R: AnyArray) -> AnyArray:
    """The continuous algebraic Riccati equation."""
    return _of_stacks(scipy.linalg.solve_continuous_are, A, B, Q, R)


def discrete_are(A: AnyArray, B: AnyArray, Q: AnyArray, R: AnyArray) -> AnyArray:
    """The discrete algebraic Riccati equation."""
    return _of_stacks(scipy.linalg.solve_discrete_are, A, B, Q, R)
