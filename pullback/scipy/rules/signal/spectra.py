"""scipy.signal's spectra: transforms of windowed parts of a signal, from which SciPy's own Python makes the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.rules import scipy_rule


@scipy_rule("scipy.signal._spectral_py._fft_helper")
def parts(
    x: AnyArray,
    win: AnyArray,
    detrend_func: Callable[[AnyArray], AnyArray],
    nperseg: int,
    noverlap: int,
    nfft: int,
    sides: str,
) -> AnyArray:
    """The transform of each part, along the last dimension, which is the last but one then."""
    starts = np.arange(0, x.shape[-1] - nperseg + 1, nperseg - noverlap)
    cut = win * detrend_func(x[..., starts[:, None] + np.arange(nperseg)])
    return np.fft.fft(cut, nfft) if sides == "twosided" else np.fft.rfft(cut.real, nfft)
