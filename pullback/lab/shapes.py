"""Diagnoses a gradient of the wrong shape: the right one under some transformation, or a shape that fits nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from pullback.autograd.gradcheck import Diagnosis

__all__ = ["diagnose_shape"]


def diagnose_shape(found: np.ndarray, wanted: np.ndarray, name: str) -> Diagnosis:
    """The mistake that turns the array that is wanted into the one that was found, which has another shape."""
    shapes = f"{name} has shape {found.shape}; it must have {wanted.shape}"
    for candidate, kind, text, advice in _candidates(found, wanted):
        if candidate.shape == wanted.shape and np.allclose(candidate, wanted, rtol=1e-6, atol=1e-9):
            return Diagnosis(kind, f"{shapes}: {text}.", advice)
    return Diagnosis(
        "wrong_shape",
        f"{shapes}, and neither sum, transpose nor reshape makes it right.",
        "A gradient always has the shape of what it is the gradient of: let the shapes guide the formula.",
    )


def _candidates(found: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[np.ndarray, str, str, str]]:
    """Yield what was found, repaired in one of the usual ways: array, kind of mistake, text, advice."""
    for count in range(1, found.ndim + 1):
        for axes in combinations(range(found.ndim), count):
            for keepdims in (False, True):
                yield (
                    found.sum(axes, keepdims=keepdims),
                    "missing_sum",
                    f"it is not summed over {'axis' if count == 1 else 'axes'} {', '.join(map(str, axes))}",
                    "Where forward repeats a number, backward adds up the gradients of all its copies.",
                )
    if found.ndim > 1:
        yield (
            found.swapaxes(-1, -2),
            "transposed",
            "it is the transpose of the right one",
            "Transpose the matrix in the formula: (A B)^T = B^T A^T, in this order.",
        )
    if found.size == wanted.size:
        yield (
            found.reshape(wanted.shape),
            "wrong_shape",
            "the numbers are right, the shape is not",
            "Reshape it to the shape of the input.",
        )
    for axis in range(found.ndim + 1):
        yield from _spread(found, axis, wanted)


def _spread(found: np.ndarray, axis: int, wanted: np.ndarray) -> Iterator[tuple[np.ndarray, str, str, str]]:
    """Yield what was found, repeated along a new axis, or where it has one number."""
    for array in (found, np.expand_dims(found, axis)):
        with contextlib.suppress(ValueError):
            yield (
                np.broadcast_to(array, wanted.shape),
                "missing_broadcast",
                "it is not repeated over the dimension that forward summed",
                "Where forward adds numbers up, each of them gets the whole gradient of the sum.",
            )
