"""Analytical Jacobians: one column for each real coordinate of an output, by one backward each.

The coordinates of a complex output are Re(y) and Im(y); their cotangents are 1 and 1j.
"""

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.gradcheck.error import GradcheckError
from pullback.autograd.gradcheck.problem import Problem, jacobian_dtype, values_of
from pullback.autograd.gradcheck.report import backward_varies
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

__all__ = ["analytical_jacobians", "check_dtypes", "pull_back", "pull_back_twice"]


def analytical_jacobians(problem: Problem, outputs: list[Tensor]) -> tuple[list[list[np.ndarray]], list[list[bool]]]:
    """`jacobians[o][i]`, shaped as the numerical ones, and whether every gradient in it was None.

    Each backward runs twice, and must give the same twice (to `nondet_tol`).
    """
    jacobians: list[list[np.ndarray]] = []
    missing: list[list[bool]] = []
    for output in outputs:
        width = values_of(output).size * (2 if _is_complex(output) else 1)
        blocks: list[np.ndarray] = [np.zeros((a.size, width), jacobian_dtype(a)) for a in problem.arrays]
        absent = [width > 0] * len(blocks)
        for column in range(width):
            grads = pull_back_twice(problem, len(jacobians), output, _basis(output, column))
            for i, g in enumerate(grads):
                if g is not None:
                    blocks[i][:, column] = g.ravel()
                    absent[i] = False
        jacobians.append(blocks)
        missing.append(absent)
    return jacobians, missing


def pull_back(problem: Problem, output: Tensor, cotangent: np.ndarray) -> list[np.ndarray | None]:
    """The gradients of the checked inputs for one cotangent, None where there is no path."""
    grads = grad(output, problem.checked, from_numpy(cotangent), retain_graph=True, allow_unused=True)
    return [None if g is None else np.array(values_of(g)) for g in grads]


def pull_back_twice(problem: Problem, o: int, output: Tensor, cotangent: np.ndarray) -> list[np.ndarray | None]:
    """The same, checked to be the same (to `nondet_tol`) in a second run."""
    first = pull_back(problem, output, cotangent.copy())
    again = pull_back(problem, output, cotangent.copy())
    gaps = [_distance(g, h) for g, h in zip(first, again, strict=True)]
    if max(gaps) > problem.nondet_tol:
        raise backward_varies(problem, o, int(np.argmax(gaps)), max(gaps))
    return first


def check_dtypes(problem: Problem, outputs: list[Tensor]) -> None:
    """Raise unless every gradient has the dtype of its input."""
    for output in outputs:
        values = values_of(output)
        grads = pull_back(problem, output, np.ones_like(values))
        for number, g, array in zip(problem.wrt, grads, problem.arrays, strict=True):
            if g is not None and g.dtype != array.dtype:
                raise GradcheckError(
                    f"The gradient of {problem.name_input(number)} has dtype {g.dtype}, the input {array.dtype}.",
                    input_index=number,
                )


def _basis(output: Tensor, column: int) -> np.ndarray:
    """The cotangent that picks one real coordinate of an output."""
    values = values_of(output)
    cotangent = np.zeros(values.shape, values.dtype)
    size = max(values.size, 1)
    cotangent[np.unravel_index(column % size, values.shape)] = 1 if column < size else 1j
    return cotangent


def _distance(g: np.ndarray | None, h: np.ndarray | None) -> float:
    """The largest difference between two gradients, either of which may be missing; nan counts as equal to nan."""
    if g is None or h is None:
        present = g if h is None else h
        return 0.0 if present is None else float(np.abs(present).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        gap = np.where((g == h) | (np.isnan(g) & np.isnan(h)), 0.0, np.abs(g - h))
    return float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0))


def _is_complex(tensor: Tensor) -> bool:
    return bool(values_of(tensor).dtype.kind == "c")
