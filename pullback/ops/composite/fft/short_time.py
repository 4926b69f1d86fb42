"""The short-time Fourier transform and its inverse."""

import numpy as np

from pullback.core.array_type import refuse_where
from pullback.ops.composite.casts import floating


def stft(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
    onesided=None, return_complex=None, align_to_window=None, *, ops,
):  # fmt: skip
    """Transforms of overlapping windows: (..., frequencies, frames)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    _check_stft("stft", self, n_fft, hop, length, window, self.ndim in (1, 2))
    is_complex = self.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    onesided = not is_complex if onesided is None else onesided
    if is_complex and onesided:
        raise RuntimeError("stft: cannot have onesided output if window or input is complex; pass onesided=False")
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs; True is recommended")
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window should only be set when center is false")
    x = floating(self, ops)
    if center:
        x = _padded(x, n_fft // 2, pad_mode, ops)
    elif align_to_window:
        x = _padded(x, (n_fft - length) // 2, "constant", ops)
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, the length of the (padded) input, got {n_fft}")
    frames = ops.unfold(x, -1, n_fft, hop)
    if window is not None or length < n_fft:
        frames = frames * _widened(window, length, n_fft, x, ops)
    norm = "ortho" if normalized else None
    spectra = (ops.fft_rfft if onesided else ops.fft_fft)(frames, norm=norm)
    result = ops.transpose(spectra, -1, -2)
    return result if return_complex is not False else ops.view_as_real(result)


def istft(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
    length=None, return_complex=False, *, ops,
):  # fmt: skip
    """The least-squares inverse of stft: overlapping frames added, divided by the sum of the squared windows."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    _check_stft("istft", self, n_fft, hop, width, window, self.ndim in (2, 3))
    if self.dtype.kind != "c":
        raise RuntimeError(f"istft: expected a complex input, got {self.dtype}; use view_as_complex")
    onesided = self.shape[-2] != n_fft if onesided is None else onesided
    bins = n_fft // 2 + 1 if onesided else n_fft
    if self.shape[-2] != bins or 0 in self.shape:
        raise RuntimeError(f"istft: expected {bins} frequencies in dimension -2, got shape {tuple(self.shape)}")
    if return_complex and onesided:
        raise RuntimeError("istft: cannot have onesided output if window or input is complex; pass onesided=False")
    if window is not None and window.dtype.kind == "c" and not return_complex:
        raise RuntimeError("istft: complex windows are incompatible with return_complex=False")
    frames, norm = ops.transpose(self, -1, -2), "ortho" if normalized else None
    if return_complex:
        frames = ops.fft_ifft(frames, norm=norm)
    else:
        frames = ops.fft_irfft(frames if onesided else frames[..., : n_fft // 2 + 1], n_fft, norm=norm)
    weights = _widened(window, width, n_fft, frames, ops)
    total = n_fft + hop * (frames.shape[-2] - 1)
    shape = (*frames.shape[:-2], total)
    signal = ops.unfold_backward(frames * weights, shape, -1, n_fft, hop)
    squares = ops.expand(weights * weights, frames.shape[-2:])
    envelope = ops.unfold_backward(squares, (total,), -1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, envelope = signal[..., start:end], envelope[start:end]
    refuse_where(ops.logical_not(abs(envelope) > 1e-11), _uncovered)
    signal = signal / envelope
    if end > total:  # asked for more than there is
        signal = ops.slice_backward(signal, (*shape[:-1], length), (..., slice(0, signal.shape[-1])))
    return signal


def _uncovered():
    return RuntimeError("istft: window overlap add min is 0: some samples are in no window, so they cannot be found")


def _check_stft(name, x, n_fft, hop, width, window, right_ndim):
    if not right_ndim:
        raise RuntimeError(f"{name}: got an input of shape {tuple(x.shape)}, with a wrong number of dimensions")
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, got {hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, got win_length={width}, n_fft={n_fft}")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(f"{name}: expected a 1-d window of {width} elements, got shape {tuple(window.shape)}")


def _widened(window, width, n_fft, like, ops):
    """The window, of ones if there is none, with zeros on both sides up to n_fft elements."""
    if window is None:
        window = ops.ones((width,), dtype=np.finfo(like.dtype).dtype)
    if width == n_fft:
        return window
    left = (n_fft - width) // 2
    return ops.slice_backward(window, (n_fft,), (slice(left, left + width),))


def _padded(x, count, mode, ops):
    """`x` with so many elements more at both ends of its last dimension."""
    size = x.shape[-1]
    if mode == "constant":
        return ops.slice_backward(x, (*x.shape[:-1], size + 2 * count), (..., slice(count, count + size)))
    if mode == "reflect" and count >= size:
        raise RuntimeError(f"stft: padding {count} on both sides must be less than the {size} elements for 'reflect'")
    if mode not in ("reflect", "replicate", "circular"):
        raise RuntimeError(f"stft: unknown pad_mode {mode!r}; one of 'reflect', 'constant', 'replicate', 'circular'")
    return ops.separable_map(x, (("border", mode, size, count, count),))
