"""Windows of signal processing, by SciPy, and the frequencies of discrete Fourier transforms."""

import numpy as np


def fftfreq(n, d=1.0, dtype=None):
    """Frequencies of the bins of fft, for n samples d apart."""
    return np.fft.fftfreq(n, d).astype(dtype or np.float64, copy=False)


def rfftfreq(n, d=1.0, dtype=None):
    """Frequencies of the bins of rfft, for n samples d apart."""
    return np.fft.rfftfreq(n, d).astype(dtype or np.float64, copy=False)


def window_bartlett(M, sym=True, dtype=None):
    """A triangle that ends in zeros."""
    return _window("bartlett", M, sym, dtype)


def window_blackman(M, sym=True, dtype=None):
    """Three cosine terms: a0 = 0.42, a1 = 0.5, a2 = 0.08."""
    return _window("blackman", M, sym, dtype)


def window_cosine(M, sym=True, dtype=None):
    """Half a period of a sine."""
    return _window("cosine", M, sym, dtype)


def window_exponential(M, center=None, tau=1.0, sym=True, dtype=None):
    """exp(-|n - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got {tau}.")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for a symmetric window; pass sym=False to move it.")
    return _window("exponential", M, sym, dtype, center, tau)


def window_gaussian(M, std=1.0, sym=True, dtype=None):
    """exp(-(n - center)^2 / (2 std^2))."""
    if std <= 0:
        raise ValueError(f"gaussian: std must be positive, got {std}.")
    return _window("gaussian", M, sym, dtype, std)


def window_general_cosine(M, a, sym=True, dtype=None):
    """A sum of cosines with the weights a."""
    a = np.asarray(a, dtype=float)
    if a.ndim != 1 or not a.size:
        raise ValueError(f"general_cosine: a must be a sequence of numbers, at least one, got shape {a.shape}.")
    return _window("general_cosine", M, sym, dtype, a)


def window_general_hamming(M, alpha=0.54, sym=True, dtype=None):
    """alpha - (1 - alpha) cos."""
    return _window("general_hamming", M, sym, dtype, alpha)


def window_hamming(M, sym=True, dtype=None):
    """general_hamming with alpha 0.54."""
    return _window("hamming", M, sym, dtype)


def window_hann(M, sym=True, dtype=None):
    """general_hamming with alpha 0.5."""
    return _window("hann", M, sym, dtype)


def window_kaiser(M, beta=12.0, sym=True, dtype=None):
    """A ratio of Bessel functions, of shape beta."""
    if beta < 0:
        raise ValueError(f"kaiser: beta must not be negative, got {beta}.")
    return _window("kaiser", M, sym, dtype, beta)


def window_nuttall(M, sym=True, dtype=None):
    """Four cosine terms with the least sidelobes, after Nuttall (1981)."""
    return _window("nuttall", M, sym, dtype)


# The older names, which count a period instead of a symmetric window by default


def bartlett_window(window_length, periodic=True, dtype=None):
    """A triangle that begins in zero."""
    return _window("bartlett", window_length, not periodic, dtype)


def blackman_window(window_length, periodic=True, dtype=None):
    """Three cosine terms: a0 = 0.42, a1 = 0.5, a2 = 0.08."""
    return _window("blackman", window_length, not periodic, dtype)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, dtype=None):
    """alpha - beta cos(2 pi n / N)."""
    return _window("general_cosine", window_length, not periodic, dtype, (alpha, beta), called="hamming_window")


def hann_window(window_length, periodic=True, dtype=None):
    """sin(pi n / N)^2."""
    return _window("hann", window_length, not periodic, dtype)


def kaiser_window(window_length, periodic=True, beta=12.0, dtype=None):
    """A ratio of Bessel functions, of shape beta."""
    if beta < 0:
        raise ValueError(f"kaiser_window: beta must not be negative, got {beta}.")
    return _window("kaiser", window_length, not periodic, dtype, beta)


def _window(name, M, sym, dtype, *parameters, called=None):
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    if M < 0:
        raise ValueError(f"{called or name} requires a non-negative window length, got {M}.")
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"{called or name} expects float32 or float64, got dtype {dtype}.")
    from scipy.signal import windows  # here, because scipy.signal takes longer to import than this whole package

    return getattr(windows, name)(M, *parameters, sym=sym).astype(dtype, copy=False)
