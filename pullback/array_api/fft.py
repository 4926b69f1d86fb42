"""The standard's extension for Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pullback.array_api.functions import of_numpy as _of_numpy
from pullback.core.numpy_types import DTypeLike
from pullback.core.tensor import Tensor, ndarray

_NAMES = (
    "fft", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftn",
)  # fmt: skip
globals().update({name: _of_numpy(getattr(np.fft, name)) for name in _NAMES})
__all__ = ["fftfreq", "rfftfreq"]
__all__ += list(_NAMES)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """The frequencies of a transform of n samples at distances d."""
    return _frequencies(np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """The frequencies of a transform of n real samples at distances d."""
    return _frequencies(np.fft.rfftfreq, n, d, dtype, device)


def _frequencies(function: Callable[..., ndarray], n: int, d: float, dtype: DTypeLike, device: str | None) -> Tensor:
    found = _of_numpy(function)(n, d, device=device)
    made: Tensor = found if dtype is None else found.to(dtype)
    return made
