"""OpInfo records of the area fft, and of the windows."""

import numpy as np
import scipy.fft
import scipy.signal

from pullback.testing.opinfo.core import OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import cases, on

__all__ = ["OPINFOS"]

REAL, EITHER = {"complex": False}, {"complex": True}
SPECTRA = {"complex": True, "dtypes": (np.complex128, np.complex64)}
ONCE = {"dtypes": (np.float64,), "order": 0}  # no input, hence no dtype under test
ONE = cases(on((5,)), on((4,), 6), on((2, 5), 3, 0), on((2, 3), dim=-2, norm="ortho"), on((3, 4), norm="forward"),
            noncontiguous=True)  # fmt: skip
TWO = cases(on((3, 4)), on((2, 3, 4), (4, 3)), on((3, 2, 4), None, (0, 2), "ortho"))
MANY = cases(on((3, 4)), on((2, 3), (3, 2)), on((2, 3, 2), dim=(0, 2), norm="forward"), on((4,), dim=0))
WAYS = {"": ONE, "2": TWO, "n": MANY}


def transform(name, suffix, reference, **how):
    """The record of one transform."""

    def wanted(x, size=None, dim=None, norm=None):
        sizes = size if suffix else None if size is None else (size,)
        dims = {"": -1, "2": (-2, -1), "n": None}[suffix] if dim is None else dim
        return reference(x, sizes, (dims,) if isinstance(dims, int) else dims, norm)

    errors = [
        Raises((IndexError, RuntimeError), (name,), (np.ones(()),), {"dim": 0}),
        Raises(RuntimeError, (name, "normalization"), (np.ones((2, 2)),), {"norm": "unitary"}),
    ]
    return OpInfo(f"fft.{name}{suffix}", wanted, WAYS[suffix], errors=errors, **how)


def transforms(name, reference, **how):
    """The records along one dimension, two, and several."""
    return [transform(name, suffix, reference, **how) for suffix in WAYS]


def shift_samples():
    """Along all dimensions and some."""
    return cases(on((4,)), on((3, 4)), on((3, 4), 1), on((2, 3, 4), (0, -1)))


TRANSFORMS = [
    *transforms("fft", scipy.fft.fftn, **EITHER),
    *transforms("ifft", scipy.fft.ifftn, **EITHER),
    *transforms("rfft", scipy.fft.rfftn, **REAL),
    *transforms("irfft", scipy.fft.irfftn, **SPECTRA),
    *transforms("hfft", scipy.fft.hfftn, **SPECTRA),
    *transforms("ihfft", scipy.fft.ihfftn, **REAL),
    OpInfo("fft.fftshift", lambda x, dim=None: np.fft.fftshift(x, dim), shift_samples(), **EITHER),
    OpInfo("fft.ifftshift", lambda x, dim=None: np.fft.ifftshift(x, dim), shift_samples(), **EITHER),
]


def half_points(x, dim, scale, points):
    """The real inverse, without scale."""
    return scipy.fft.irfftn(x, [*(x.shape[d] for d in dim[:-1]), points], dim, norm="forward")


PRIMITIVES = [
    OpInfo("fft_c2c", lambda x, dim, scale, forward: scipy.fft.fftn(x, axes=dim),
           cases(on((3, 2), (0, 1), "none", True)), **SPECTRA),
    OpInfo("fft_r2c", lambda x, dim, scale, onesided: (scipy.fft.rfftn if onesided else scipy.fft.fftn)(x, axes=dim),
           cases(on((3, 4), (0, 1), "none", True), on((3,), (0,), "none", False)), dtypes=(np.float64, np.float32)),
    OpInfo("times_inner_points", lambda x, f, dim, size: x * np.array([1, f, f if size % 2 else 1], x.dtype), cases(
           on((2, 3), 2.0, 1, 4), on((2, 3), 0.5, -1, 5)), **SPECTRA),
    OpInfo("fft_c2r", half_points, cases(on((2, 3), (0, 1), "none", 4), on((3,), (0,), "none", 5)), **SPECTRA),
]  # fmt: skip


def frames(x, n_fft, hop):
    """The windows of a signal, one a row."""
    return np.lib.stride_tricks.sliding_window_view(x, n_fft, -1)[..., ::hop, :]


def stft(x, n_fft, hop_length, window=None, center=True, return_complex=True):
    """By NumPy's transforms of the windows."""
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2,) * 2], mode="reflect")
    rows = frames(x, n_fft, hop_length) * (1 if window is None else window)
    found = (np.fft.rfft if x.dtype.kind != "c" else np.fft.fft)(rows).swapaxes(-1, -2)
    return found if return_complex else np.stack([found.real, found.imag], -1)


def istft(x, n_fft, hop_length, window=None, center=True):
    """Frames added one after the other."""
    rows = np.fft.irfft(x.swapaxes(-1, -2), n_fft)
    weights = np.ones(n_fft, rows.dtype) if window is None else window
    total = n_fft + hop_length * (rows.shape[-2] - 1)
    signal, envelope = np.zeros((*rows.shape[:-2], total), rows.dtype), np.zeros(total, rows.dtype)
    for i in range(rows.shape[-2]):
        place = slice(i * hop_length, i * hop_length + n_fft)
        signal[..., place] += rows[..., i, :] * weights
        envelope[place] += weights**2
    kept = slice(n_fft // 2, total - n_fft // 2) if center else slice(None)
    return signal[..., kept] / envelope[kept]


def stft_samples(make):
    """Real signals have half a spectrum."""
    yield Sample(make((12,)), 4, 2, return_complex=True)
    yield Sample(make((2, 9)), 4, 1, window=make((4,)), center=False, return_complex=True)
    yield Sample(make((8,)), 5, 3, return_complex=False)


def istft_samples(make):
    """Half spectra of frames."""
    yield Sample(make((3, 4)), 4, 2)
    yield Sample(make((2, 3, 3)), 5, 2, center=False)
    yield Sample(make((3, 4)), 4, 1, window=make((4,), low=0.5, high=1))


SHORT_TIME = [
    OpInfo("stft", stft, stft_samples, complex=True, errors=[Raises(RuntimeError, ("stft", "n_fft"), (np.ones(3), 9),
           {"center": False, "return_complex": True})]),
    OpInfo("istft", istft, istft_samples, **SPECTRA,
           errors=[Raises(RuntimeError, ("istft", "frequencies"), (np.ones((4, 4), complex), 4), {"onesided": True})]),
]  # fmt: skip


def window(name, *calls, **parameters):
    """The record of a window, by SciPy; `parameters` are those that SciPy does not know by default."""

    def reference(M, *, sym=True, dtype=None, **given):
        return getattr(scipy.signal.windows, name)(M, sym=sym, **(parameters | given)).astype(dtype or float)

    required = parameters if name == "general_cosine" else {}
    usual = (on(None, 5, **required), on(None, 0, **required), on(None, 6, sym=False, dtype=np.float32, **required))
    errors = [
        Raises(ValueError, (name, "-1"), (-1,), required),
        Raises(ValueError, (name, "int64"), (3,), required | {"dtype": np.int64}),
    ]
    return OpInfo(f"signal.windows.{name}", reference, cases(*usual, *calls), errors=errors, **ONCE)


def periodic_window(name, *calls, **parameters):
    """The record of a window under its older name, a period of it by default."""

    def reference(window_length, periodic=True, *args, dtype=None, alpha=0.54, beta=0.46, **given):
        if name == "hamming":
            w = scipy.signal.windows.general_cosine(window_length, (alpha, beta), sym=not periodic)
        else:
            args = args or tuple(parameters.values())
            w = getattr(scipy.signal.windows, name)(window_length, *args, sym=not periodic, **given)
        return w.astype(dtype or float)

    usual = (on(None, 5), on(None, 0), on(None, 1), on(None, 6, False, dtype=np.float32))
    errors = [
        Raises(ValueError, (name, "-1"), (-1,)),
        Raises(ValueError, (name, "int64"), (3,), {"dtype": np.int64}),
    ]
    return OpInfo(f"{name}_window", reference, cases(*usual, *calls), errors=errors, **ONCE)


SIMPLE = ("bartlett", "blackman", "cosine", "hamming", "hann", "nuttall")
CREATION = [
    OpInfo("fft.fftfreq", np.fft.fftfreq, cases(on(None, 4), on(None, 5, 0.5)), **ONCE),
    OpInfo("fft.rfftfreq", np.fft.rfftfreq, cases(on(None, 4), on(None, 5, 0.5)), **ONCE),
    *(window(name) for name in SIMPLE),
    window("general_cosine", on(None, 4, a=[1.0]), a=[0.5, 0.3]),
    window("general_hamming", on(None, 4, alpha=0.6), alpha=0.54),
    window("gaussian", on(None, 4, std=2.0), std=1.0),
    window("kaiser", on(None, 4, beta=3.0), beta=12.0),
    *(periodic_window(name) for name in ("bartlett", "blackman", "hann")),
    periodic_window("hamming", on(None, 4, alpha=0.5, beta=0.4)),
    periodic_window("kaiser", on(None, 4, True, 3.0), beta=12.0),
    window("exponential", on(None, 5, tau=2.0), on(None, 4, center=1.0, sym=False)),
]

OPINFOS = [*PRIMITIVES, *TRANSFORMS, *SHORT_TIME, *CREATION]
