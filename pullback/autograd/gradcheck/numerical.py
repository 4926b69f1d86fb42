"""Numerical Jacobians by central differences.

A Jacobian here has one row for each element of an input and one column for each real coordinate of an output (of a
complex output: the real parts, then the imaginary parts). The row of a real element x holds dL/dx for each coordinate
L; that of a complex element x = a + ib holds dL/da + i dL/db, which is twice the conjugate Wirtinger derivative dL/dx*,
the gradient as PyTorch defines it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.autograd.gradcheck.problem import Problem, jacobian_dtype
from pullback.core.progress import Progress

__all__ = ["derivative_along", "numerical_jacobians", "one_sided", "units_of"]


def numerical_jacobians(problem: Problem, eps: float | None = None) -> list[list[np.ndarray]]:
    """`jacobians[o][i]` for every looked-at output o and checked input i, by central differences of step `eps`."""
    eps = problem.eps if eps is None else eps
    widths = [v.size for v in problem.evaluate()]
    jacobians: list[list[np.ndarray]] = [[] for _ in widths]
    with Progress("gradcheck", sum(array.size for array in problem.arrays)) as progress:
        for array in problem.arrays:
            blocks: list[np.ndarray] = [np.zeros((array.size, width), jacobian_dtype(array)) for width in widths]
            for row, index in enumerate(np.ndindex(array.shape)):
                for unit in units_of(array):
                    for block, slope in zip(blocks, _central(problem, array, index, eps * unit), strict=True):
                        block[row] += slope * unit
                progress.update()
            for per_output, block in zip(jacobians, blocks, strict=True):
                per_output.append(block)
    return jacobians


def derivative_along(problem: Problem, array: np.ndarray, direction: np.ndarray) -> list[np.ndarray]:
    """The derivative of each output's coordinates as one input moves along `direction`."""
    return _central(problem, array, (...,), problem.eps * direction, 2 * problem.eps)


def one_sided(
    problem: Problem, array: np.ndarray, index: tuple[Any, ...], unit: complex, eps: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each output, the slopes to the right and to the left of one element, along the real or imaginary axis."""
    here = problem.evaluate()
    right, size_right = _moved(problem, array, index, eps * unit)
    left, size_left = _moved(problem, array, index, -eps * unit)
    for mid, above, below in zip(here, right, left, strict=True):
        yield (above - mid) / size_right, (mid - below) / size_left


def units_of(array: np.ndarray) -> tuple[complex, ...]:
    """The directions in which one element can move."""
    return (1.0, 1.0j) if array.dtype.kind == "c" else (1.0,)


def _central(
    problem: Problem, array: np.ndarray, index: tuple[Any, ...], step: Any, length: float | None = None
) -> list[np.ndarray]:
    """(f(x + step) - f(x - step)) / length; the default length is the distance that the two points really have."""
    above, up = _moved(problem, array, index, step)
    below, down = _moved(problem, array, index, -step)
    distance = up + down if length is None else length
    return [(a - b) / distance for a, b in zip(above, below, strict=True)]


def _moved(problem: Problem, array: np.ndarray, index: tuple[Any, ...], step: Any) -> tuple[list[np.ndarray], float]:
    """The outputs with part of an input moved by `step`, and how far it really went; the input is then as before."""
    original = array[index].copy()
    try:
        array[index] = original + step
        distance = float(np.linalg.norm(np.ravel(array[index] - original)))
        if distance == 0 and original.size:
            raise ValueError(
                f"gradcheck: eps={problem.eps:g} is lost in rounding when added to {original.ravel()[0]!r} "
                f"({array.dtype}). Choose a larger eps, or an input of smaller size."
            )
        return problem.evaluate(), distance
    finally:
        array[index] = original
