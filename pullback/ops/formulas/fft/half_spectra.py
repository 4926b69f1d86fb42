"""Helpers of the Fourier transforms: half spectra and their adjoints."""


def r2c_adjoint(grad, dim, scale, onesided, shape, *, ops):
    """The adjoint of a real-to-complex transform over inputs of `shape`.

    Of a half spectrum: the real inverse transform counts every point between the ends twice, once for its mirror image.
    """
    if not onesided:
        return ops.real(ops.fft_c2c(grad, dim, scale, False))
    size = shape[dim[-1]]
    return ops.fft_c2r(ops.times_inner_points(grad, 0.5, dim[-1], size), dim, scale, size)


def c2r_adjoint(grad, dim, scale, *, ops):
    """The adjoint of a complex-to-real transform."""
    return ops.times_inner_points(ops.fft_r2c(grad, dim, scale, True), 2.0, dim[-1], grad.shape[dim[-1]])
