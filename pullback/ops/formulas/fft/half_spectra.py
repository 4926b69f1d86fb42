"""Helpers of the Fourier transforms: half spectra and their adjoints."""

import numpy as np


def r2c_adjoint(grad, dim, scale, onesided, shape, *, ops):
    """The adjoint of a real-to-complex transform over inputs of `shape`.

    Of a half spectrum: the real inverse transform counts every point between the ends twice, once for its mirror image.
    """
    if not onesided:
        return ops.real(ops.fft_c2c(grad, dim, scale, False))
    size = shape[dim[-1]]
    return ops.fft_c2r(_inner_points_times(grad, 0.5, dim[-1], size), dim, scale, size)


def c2r_adjoint(grad, dim, scale, *, ops):
    """The adjoint of a complex-to-real transform."""
    return _inner_points_times(ops.fft_r2c(grad, dim, scale, True), 2.0, dim[-1], grad.shape[dim[-1]])


def _inner_points_times(spectrum, factor, dim, size):
    """Half a spectrum of `size` points with those that have a mirror image multiplied by `factor`."""
    weights = np.full(spectrum.shape[dim], factor, dtype="f4" if spectrum.dtype == np.complex64 else "f8")
    weights[:1] = 1
    if size % 2 == 0 and size:
        weights[-1] = 1
    return spectrum * weights.reshape((-1,) + (1,) * (-1 - dim if dim < 0 else spectrum.ndim - 1 - dim))
