"""torch.fft's functions, of three primitives: complex to complex, real to complex, complex to real."""

import numpy as np

from pullback.ops.composite.casts import floating
from pullback.ops.composite.fft.short_time import istft, stft  # noqa: F401 - of this area

_SCALES = {
    True: {None: "none", "backward": "none", "ortho": "root", "forward": "full"},
    False: {None: "full", "backward": "full", "ortho": "root", "forward": "none"},
}


def fft_fft(self, n=None, dim=-1, norm=None, *, ops):
    """The transform along one dimension."""
    return _to_complex("fft", self, *_one("fft", n, dim), norm, True, ops)


def fft_ifft(self, n=None, dim=-1, norm=None, *, ops):
    """The inverse transform along one dimension."""
    return _to_complex("ifft", self, *_one("ifft", n, dim), norm, False, ops)


def fft_rfft(self, n=None, dim=-1, norm=None, *, ops):
    """Half the transform of real numbers along one dimension."""
    return _half("rfft", self, *_one("rfft", n, dim), norm, ops)


def fft_irfft(self, n=None, dim=-1, norm=None, *, ops):
    """The real inverse of rfft along one dimension."""
    return _to_real("irfft", self, *_one("irfft", n, dim), norm, ops)


def fft_hfft(self, n=None, dim=-1, norm=None, *, ops):
    """The real transform of half a Hermitian signal along one dimension."""
    return _hermitian("hfft", self, *_one("hfft", n, dim), norm, ops)


def fft_ihfft(self, n=None, dim=-1, norm=None, *, ops):
    """Half the inverse transform of real numbers along one dimension."""
    return _inverse_hermitian("ihfft", self, *_one("ihfft", n, dim), norm, ops)


def fft_fft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """The transform along two dimensions."""
    return _to_complex("fft2", self, s, dim, norm, True, ops)


def fft_ifft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """The inverse transform along two dimensions."""
    return _to_complex("ifft2", self, s, dim, norm, False, ops)


def fft_rfft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """Half the transform of real numbers along two dimensions."""
    return _half("rfft2", self, s, dim, norm, ops)


def fft_irfft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """The real inverse of rfft2."""
    return _to_real("irfft2", self, s, dim, norm, ops)


def fft_hfft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """The real transform of half a Hermitian signal along two dimensions."""
    return _hermitian("hfft2", self, s, dim, norm, ops)


def fft_ihfft2(self, s=None, dim=(-2, -1), norm=None, *, ops):
    """Half the inverse transform of real numbers along two dimensions."""
    return _inverse_hermitian("ihfft2", self, s, dim, norm, ops)


def fft_fftn(self, s=None, dim=None, norm=None, *, ops):
    """The transform along dimensions, by default all."""
    return _to_complex("fftn", self, s, dim, norm, True, ops)


def fft_ifftn(self, s=None, dim=None, norm=None, *, ops):
    """The inverse transform along dimensions, by default all."""
    return _to_complex("ifftn", self, s, dim, norm, False, ops)


def fft_rfftn(self, s=None, dim=None, norm=None, *, ops):
    """Half the transform of real numbers along dimensions, by default all."""
    return _half("rfftn", self, s, dim, norm, ops)


def fft_irfftn(self, s=None, dim=None, norm=None, *, ops):
    """The real inverse of rfftn."""
    return _to_real("irfftn", self, s, dim, norm, ops)


def fft_hfftn(self, s=None, dim=None, norm=None, *, ops):
    """The real transform of half a Hermitian signal along dimensions, by default all."""
    return _hermitian("hfftn", self, s, dim, norm, ops)


def fft_ihfftn(self, s=None, dim=None, norm=None, *, ops):
    """Half the inverse transform of real numbers along dimensions, by default all."""
    return _inverse_hermitian("ihfftn", self, s, dim, norm, ops)


def fft_fftshift(self, dim=None, *, ops):
    """The zero frequency moved to the middle."""
    dims = _all_or(self, dim)
    return ops.roll(self, [self.shape[d] // 2 for d in dims], dims)


def fft_ifftshift(self, dim=None, *, ops):
    """The zero frequency moved back to the front."""
    dims = _all_or(self, dim)
    return ops.roll(self, [(self.shape[d] + 1) // 2 for d in dims], dims)


def _one(name, n, dim):
    if n is not None and n < 1:  # among the sizes of several dimensions -1 stands for that of the input
        raise RuntimeError(f"{name}: invalid number of data points ({n}) specified")
    return None if n is None else (n,), (dim,)


def _to_complex(name, x, sizes, dims, norm, forward, ops):
    sizes, dims = _sizes_and_dims(name, x, sizes, dims)
    scale = _scale(name, norm, forward)
    if dims and x.dtype.kind != "c":
        if forward:
            return ops.fft_r2c(_resized(floating(x, ops), sizes, dims, ops), dims, scale, False)
        x = _complex(x, ops)
    return ops.fft_c2c(_resized(_complex(x, ops), sizes, dims, ops), dims, scale, forward)


def _half(name, x, sizes, dims, norm, ops):
    sizes, dims = _sizes_and_dims(name, x, sizes, dims)
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name}: expected a real input, got {x.dtype}; use the transform of complex numbers")
    _require_dims(name, dims)
    x = _resized(floating(x, ops), sizes, dims, ops)
    return ops.fft_r2c(x, dims, _scale(name, norm, True), True)


def _to_real(name, x, sizes, dims, norm, ops):
    points, sizes, dims = _half_sizes(name, x, sizes, dims)
    x = _resized(_complex(x, ops), sizes, dims, ops)
    return ops.fft_c2r(x, dims, _scale(name, norm, False), points)


def _hermitian(name, x, sizes, dims, norm, ops):
    # The conjugate of the inverse of the conjugate is the forward transform.
    points, sizes, dims = _half_sizes(name, x, sizes, dims)
    x = ops.conjugate(_resized(_complex(x, ops), sizes, dims, ops))
    return ops.fft_c2r(x, dims, _scale(name, norm, True), points)


def _inverse_hermitian(name, x, sizes, dims, norm, ops):
    sizes, dims = _sizes_and_dims(name, x, sizes, dims)
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name}: expected a real input, got {x.dtype}")
    _require_dims(name, dims)
    x = _resized(floating(x, ops), sizes, dims, ops)
    return ops.conjugate(ops.fft_r2c(x, dims, _scale(name, norm, False), True))


def _half_sizes(name, x, sizes, dims):
    """(points of the real side in the last dimension, sizes of the half spectrum, dims)."""
    sizes = (sizes,) if isinstance(sizes, int) else sizes
    given = sizes is not None and sizes[-1] != -1
    sizes, dims = _sizes_and_dims(name, x, sizes, dims)
    _require_dims(name, dims)
    points = sizes[-1] if given else 2 * (sizes[-1] - 1)
    if points < 1:
        raise RuntimeError(f"{name}: invalid number of data points ({points}) specified")
    return points, [*sizes[:-1], points // 2 + 1], dims


def _require_dims(name, dims):
    if not dims:
        raise RuntimeError(f"{name}: must transform at least one dimension")


def _sizes_and_dims(name, x, sizes, dims):
    """Both as lists of one length, the dimensions checked and not negative."""
    sizes = (sizes,) if isinstance(sizes, int) else sizes
    if dims is None:
        dims = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
        if sizes is not None and len(sizes) > x.ndim:
            raise RuntimeError(
                f"{name}: got shape with {len(sizes)} values but input tensor only has {x.ndim} dimensions"
            )
    dims = [dims] if isinstance(dims, int) else list(dims)
    for d in dims:
        if not -x.ndim <= d < x.ndim:
            raise IndexError(
                f"{name}: dimension {d} is out of range for an input with {x.ndim} dimensions"
                + ("; a tensor without dimensions has nothing to transform" if x.ndim == 0 else "")
            )
    dims = [d % x.ndim for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: the dimensions {dims} must be unique")
    if sizes is None:
        sizes = [x.shape[d] for d in dims]
    elif len(sizes) != len(dims):
        raise RuntimeError(f"{name}: when given, dim and shape must have the same length, got {dims} and {list(sizes)}")
    sizes = [x.shape[d] if size == -1 else size for size, d in zip(sizes, dims, strict=True)]
    for size in sizes:
        if size < 1:
            raise RuntimeError(f"{name}: invalid number of data points ({size}) specified")
    return sizes, dims


def _resized(x, sizes, dims, ops):
    """`x` cut off, or filled up with zeros, at the ends of dims."""
    cut, shape = [slice(None)] * x.ndim, list(x.shape)
    for size, d in zip(sizes, dims, strict=True):
        cut[d], shape[d] = slice(0, min(size, x.shape[d])), size
    kept = tuple(s.stop if s.stop is not None else n for s, n in zip(cut, x.shape, strict=True))
    if kept != tuple(x.shape):
        x = ops.slice_view(x, tuple(cut))
    return x if tuple(shape) == kept else ops.slice_backward(x, tuple(shape), tuple(cut))


def _scale(name, norm, forward):
    try:
        return _SCALES[forward][norm]
    except KeyError:
        raise RuntimeError(
            f"{name}: invalid normalization mode: {norm!r}; one of 'forward', 'backward', 'ortho'"
        ) from None


def _complex(x, ops):
    if x.dtype.kind == "c":
        return x
    x = floating(x, ops)
    return ops.to(x, np.result_type(x.dtype, np.complex64))


def _all_or(x, dim):
    return list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
