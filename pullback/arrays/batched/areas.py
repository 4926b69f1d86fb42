"""Imports the rules of all areas, which enter themselves."""

from pullback.arrays.batched import (
    creation,
    decompositions,
    indexing,
    joining,
    linalg,
    nn,
    pointwise,
    random,
    reductions,
    shape,
    spatial,
)

__all__ = [
    "creation", "decompositions", "indexing", "joining", "linalg", "nn", "pointwise", "random",
    "reductions", "shape", "spatial",
]  # fmt: skip
