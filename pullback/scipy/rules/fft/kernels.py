"""The kernels of scipy.fft's operators."""

from __future__ import annotations

from scipy import fft

from pullback.core.numpy_types import AnyArray


def orthonormal_transform(x: AnyArray, kind: str, variety: int, dim: int) -> AnyArray:
    """By SciPy, with weights that make it orthogonal."""
    transform = fft.dct if kind == "dct" else fft.dst
    return transform(x, variety, axis=dim, norm="ortho", orthogonalize=True)
