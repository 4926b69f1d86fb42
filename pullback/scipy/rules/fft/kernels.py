"""The kernels of scipy.fft's operators."""

from __future__ import annotations

from typing import Any

from scipy import fft


def orthonormal_transform(x: Any, kind: str, variety: int, dim: int) -> Any:
    """By SciPy, with weights that make it orthogonal."""
    transform = fft.dct if kind == "dct" else fft.dst
    return transform(x, variety, axis=dim, norm="ortho", orthogonalize=True)
