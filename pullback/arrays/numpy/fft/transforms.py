"""The three discrete Fourier transforms that all others are made of, by SciPy's pocketfft.

`scale` is "none", "root" (divided by the square root of the number of points) or "full" (divided by that number).
"""

import numpy as np
import scipy.fft

from pullback.arrays.numpy.declarations import loops

_FORWARD = {"none": "backward", "root": "ortho", "full": "forward"}
_INVERSE = {"none": "forward", "root": "ortho", "full": "backward"}


def fft_c2c(self, dim, scale, forward):
    """Complex to complex along each of dim."""
    _check(self, dim, "c")
    if not dim:
        return self.copy()
    transform, norms = (scipy.fft.fftn, _FORWARD) if forward else (scipy.fft.ifftn, _INVERSE)
    return transform(self, axes=dim, norm=norms[scale])


def fft_r2c(self, dim, scale, onesided):
    """Real to complex: a forward transform along each of dim, of the last one half the result if onesided."""
    _check(self, dim, "f")
    transform = scipy.fft.rfftn if onesided else scipy.fft.fftn
    return transform(self, axes=dim, norm=_FORWARD[scale])


def fft_c2r(self, dim, scale, last_dim_size):
    """Complex to real: an inverse transform along each of dim, from half a spectrum with so many points in the last."""
    _check(self, dim, "c")
    sizes = [self.shape[d] for d in dim[:-1]] + [last_dim_size]
    return scipy.fft.irfftn(self, s=sizes, axes=dim, norm=_INVERSE[scale])


def times_inner_points(self, factor, dim, size):
    """Half a spectrum of `size` points with those that have a mirror image multiplied by `factor`."""
    weights = np.full(self.shape[dim], factor, dtype="f4" if self.dtype == np.complex64 else "f8")
    weights[:1] = 1
    if size % 2 == 0 and size:
        weights[-1] = 1
    return self * weights.reshape((-1,) + (1,) * (-1 - dim if dim < 0 else self.ndim - 1 - dim))


@loops("arguments")
def _check(x, dim, kind):
    if x.dtype.kind != kind:
        raise RuntimeError(f"expected a {'complex' if kind == 'c' else 'real floating-point'} input, got {x.dtype}")
    if x.dtype == np.float16:
        raise RuntimeError("half precision is not transformed; convert the input, for example with .to(float32)")
    for d in dim:
        if not -x.ndim <= d < x.ndim:
            raise IndexError(f"dimension {d} is out of range for an input with {x.ndim} dimensions")
