"""Calls of scipy.signal."""

import numpy as np
from scipy import signal

from tests.scipy.calls import M, v

CALLS = {
    "scipy.signal.lfilter": [
        lambda x: signal.lfilter(x[:2], [2.0, x[2], x[3]], np.sin(v * x)),
        lambda x: signal.lfilter(x[:3], x[3], v),
        lambda x: signal.lfilter([x[0]], 3 + x[1:3], np.outer(v, x), axis=0),
        lambda x: signal.lfilter([1.0, x[0], 0.2], [1.0, 0.4, x[1]], v, zi=x[2:]),
        lambda x: signal.lfilter(x[:2], [x[2] + 1], v, zi=x[3:]),
        lambda x: signal.lfilter([1.0], [x[0] + 1, 0.3j, 0.1 * x[1]], x * (1 + 1j), zi=x[2:] * 1j),
        lambda x: signal.lfilter([1.0, 0.2, 0.3, 0.1], [x[0] + 1, 0.5], x[:2], zi=x[1:]),
    ],
    "scipy.signal.sosfilt": [
        lambda x: signal.sosfilt(np.stack([np.append([1.0, x[0], 0.3, 1.0], 0.2 * x[2:])] * 2), np.cos(x)),
        lambda x: signal.sosfilt([[1.0, 0.2, 0.1, 1, 0.3, 0.2]], np.outer(x, v), axis=0, zi=np.outer(v[:2], x)[None]),
    ],
    "scipy.signal.upfirdn": [
        lambda x: signal.upfirdn(x[:3], x, 2, 3),
        lambda x: signal.upfirdn([1.0, 2.0, 3.0], np.outer(x, v), 3, axis=0),
        *(
            lambda x, mode=mode: signal.upfirdn(np.append(x, x[:2] ** 2), x, 2, 3, mode=mode)
            for mode in ("wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line")
        ),
        lambda x: signal.upfirdn(x, v, 2, 3, mode="constant", cval=0.7),
    ],
}
for _name in ("convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d"):
    CALLS[f"scipy.signal.{_name}"] = [
        lambda x, f=_name, mode=mode, swap=swap: getattr(signal, f)(
            *(np.outer(x, v), M(x[::-1]) * (1 + 0.2j))[:: -1 if swap else 1], mode
        )
        for mode in ("full", "same", "valid")
        for swap in (False, True)
    ]
for _name in ("convolve", "correlate"):
    CALLS[f"scipy.signal.{_name}"] += [
        lambda x, f=_name: getattr(signal, f)(x, v[:3], method="direct"),
        lambda x, f=_name: getattr(signal, f)(x[:2], v * x, "same", method="fft"),
        lambda x, f=_name: getattr(signal, f)([x[0], 1.0], [2.0, x[1]]),
    ]
for _name in ("fftconvolve", "oaconvolve"):
    CALLS[f"scipy.signal.{_name}"] += [
        lambda x, f=_name: getattr(signal, f)(np.outer(x, v), x[:1, None] * M(x)[:1], axes=1)
    ]
for _name in ("convolve2d", "correlate2d"):
    CALLS[f"scipy.signal.{_name}"] += [
        lambda x, f=_name, b=b, mode=mode: getattr(signal, f)(np.outer(x, v), np.outer(x[:3], v[:2]), mode, b, 0.3)
        for b in ("fill", "symm", "wrap")
        for mode in ("full", "same")
    ]


T = np.linspace(0, 1, 24)


def long(x):
    """A signal of a vector."""
    return np.sin(np.outer(x, 3 * T)).sum(0) + np.outer(x, T**2).sum(0)


def ar(x):
    """The coefficients of a stable filter."""
    return [x[0], x[1]], [1.0, 0.3 * x[2], 0.2 * x[3]]


def sos(x):
    """Two sections of second order."""
    return np.stack([np.append([1.0, x[0], 0.3, 1.0], 0.2 * x[2:])] * 2)


CALLS |= {
    "scipy.signal.filtfilt": [
        lambda x: signal.filtfilt(*ar(x), long(x)),
        lambda x: signal.filtfilt(*ar(x), np.stack([long(x)] * 2), padtype="even", padlen=5),
    ],
    "scipy.signal.sosfiltfilt": [lambda x: signal.sosfiltfilt([[1.0, 0.2, 0.1, 1, 0.3, 0.2]], long(x))],
    "scipy.signal.lfilter_zi": [lambda x: signal.lfilter_zi(*ar(x))],
    "scipy.signal.lfiltic": [lambda x: signal.lfiltic(*ar(x), x[:2], x[2:])],
    "scipy.signal.sosfilt_zi": [lambda x: signal.sosfilt_zi(sos(x))],
    "scipy.signal.hilbert": [lambda x: signal.hilbert(x), lambda x: signal.hilbert(M(x), 5, axis=0)],
    "scipy.signal.hilbert2": [lambda x: signal.hilbert2(M(x))],
    "scipy.signal.envelope": [lambda x: signal.envelope(long(x))],
    "scipy.signal.savgol_filter": [
        lambda x: signal.savgol_filter(long(x), 5, 2),
        lambda x: signal.savgol_filter(long(x), 5, 2, deriv=1, mode="wrap"),
        lambda x: signal.savgol_filter(long(x), 7, 3, delta=0.5, mode="mirror"),
    ],
    "scipy.signal.detrend": [
        lambda x: signal.detrend(x),
        lambda x: signal.detrend(M(x), axis=0, type="constant"),
        lambda x: signal.detrend(long(x), bp=[10]),
    ],
    "scipy.signal.resample": [lambda x: signal.resample(x, 7), lambda x: signal.resample(long(x), 10, window="hann")],
    "scipy.signal.resample_poly": [
        lambda x: signal.resample_poly(x, 3, 2),
        lambda x: signal.resample_poly(np.outer(x, v), 3, 2, padtype="line"),
        lambda x: signal.resample_poly(x, 2, 3, padtype="constant", cval=x[0]),
    ],
    "scipy.signal.decimate": [
        lambda x: signal.decimate(long(x), 2, ftype="fir"),
        lambda x: signal.decimate(long(x), 3, 9, "fir", zero_phase=False),
        lambda x: signal.decimate(long(x), 2, 2, zero_phase=False),
        lambda x: signal.decimate(np.append(long(x), long(x) - 1), 2, n=4),
    ],
    "scipy.signal.istft": [lambda x: signal.istft(np.outer(x[:3], v) * (1 + 0.4j), nperseg=4)],
    "scipy.signal.freqz": [lambda x: signal.freqz(*ar(x), worN=6), lambda x: signal.freqz(x, worN=[0.1, 0.5])],
    "scipy.signal.freqs": [lambda x: signal.freqs(*ar(x), worN=[0.3, 2.0])],
    "scipy.signal.freqz_zpk": [lambda x: signal.freqz_zpk(x[:2], 0.3 * x[2:], x[0], worN=5)],
    "scipy.signal.freqs_zpk": [lambda x: signal.freqs_zpk(x[:2], -x[2:], x[0], worN=[0.3, 2.0])],
    "scipy.signal.freqz_sos": [lambda x: signal.freqz_sos(np.append([1.0, x[0], 0.3, 1.0], 0.2 * x[2:])[None], worN=5)],
    "scipy.signal.sosfreqz": [lambda x: signal.sosfreqz(np.append([1.0, x[0], 0.3, 1.0], 0.2 * x[2:])[None], worN=5)],
    "scipy.signal.group_delay": [lambda x: signal.group_delay(ar(x), w=5)],
    "scipy.signal.zpk2tf": [lambda x: signal.zpk2tf(x[:2], -x[2:], x[0])],
    "scipy.signal.zpk2ss": [lambda x: signal.zpk2ss(x[:1], -x[2:], x[0])],
    "scipy.signal.tf2ss": [lambda x: signal.tf2ss(*ar(x))],
    "scipy.signal.ss2tf": [lambda x: signal.ss2tf(-M(x), x[:2, None], x[None, 2:], [[x[0]]])],
    "scipy.signal.tf2zpk": [lambda x: signal.tf2zpk(*ar(x))],
    "scipy.signal.sos2tf": [lambda x: signal.sos2tf(sos(x))],
    "scipy.signal.sos2zpk": [lambda x: signal.sos2zpk(np.append([1.0, x[0], 0.1, 1.0], 0.2 * x[2:])[None])],
    "scipy.signal.normalize": [lambda x: signal.normalize(*ar(x))],
    "scipy.signal.bilinear_zpk": [lambda x: signal.bilinear_zpk(x[:1], -x[2:], x[0], 2.0)],
    "scipy.signal.lp2lp": [lambda x: signal.lp2lp(*ar(x), 2.0)],
    "scipy.signal.lp2bp": [lambda x: signal.lp2bp(*ar(x), x[0], x[1])],
    "scipy.signal.lp2bs": [lambda x: signal.lp2bs(*ar(x), x[0], x[1])],
    "scipy.signal.firwin": [lambda x: signal.firwin(7, x[3])],
    "scipy.signal.firwin2": [lambda x: signal.firwin2(7, [0, 0.5, 1], [x[0], x[1], x[2]])],
    "scipy.signal.gausspulse": [lambda x: signal.gausspulse(x, fc=2.0)],
    "scipy.signal.sweep_poly": [lambda x: signal.sweep_poly(T, x)],
    "scipy.signal.sawtooth": [lambda x: signal.sawtooth(x, 0.3)],
    "scipy.signal.wiener": [
        lambda x: signal.wiener(long(x), 3),
        lambda x: signal.wiener(np.outer(x, v), (3, 3), noise=0.01),
    ],
    "scipy.signal.deconvolve": [lambda x: signal.deconvolve(long(x), x[:2])],
    "scipy.signal.lombscargle": [lambda x: signal.lombscargle(v, x, [1.0, 2.0])],
    "scipy.signal.cont2discrete": [
        lambda x: signal.cont2discrete((-M(x), x[:2, None], x[None, 2:], np.array([[1.0]])), 0.1 * x[0])
    ],
    "scipy.signal.medfilt": [lambda x: signal.medfilt(long(x), 3)],
    "scipy.signal.order_filter": [lambda x: signal.order_filter(np.outer(x, v), np.ones((3, 3)), 2)],
    "scipy.signal.cspline1d": [lambda x: signal.cspline1d(x)],
    "scipy.signal.qspline1d": [lambda x: signal.qspline1d(x)],
    "scipy.signal.gauss_spline": [lambda x: signal.gauss_spline(x, 3)],
    "scipy.signal.vectorstrength": [lambda x: signal.vectorstrength(x, 2.3)],
    "scipy.signal.kaiser_beta": [lambda x: signal.kaiser_beta(30 * x[0])],
    "scipy.signal.kaiser_atten": [lambda x: signal.kaiser_atten(10, 0.1 * x[0])],
    "scipy.signal.abcd_normalize": [lambda x: signal.abcd_normalize(M(x), x[:2, None], x[None, 2:], [[1.0]])],
}


# What designs filters, in the frequencies, ripples and qualities.
CALLS |= {
    "scipy.signal.butter": [
        lambda x: signal.butter(3, 0.2 * x[1]),
        lambda x: signal.butter(2, [0.1 * x[1], 0.2 * x[2]], "band"),
        lambda x: signal.butter(3, x[1], fs=5.0, output="sos"),
        lambda x: signal.butter(2, x[1], "high", analog=True, output="zpk"),
        lambda x: signal.butter(2, [0.1 * x[1], 0.2 * x[2]], "stop", output="zpk"),
        lambda x: signal.butter(2, 0.3, fs=x[0]),
    ],
    "scipy.signal.bessel": [
        lambda x: signal.bessel(3, 0.2 * x[1]),
        lambda x: signal.bessel(3, 0.2 * x[1], norm="mag"),
    ],
    "scipy.signal.cheby1": [lambda x: signal.cheby1(3, x[0], 0.2 * x[1]), lambda x: signal.cheby1(4, x[0], 0.2 * x[1])],
    "scipy.signal.cheby2": [lambda x: signal.cheby2(3, 20 * x[0], 0.2 * x[1])],
    "scipy.signal.ellip": [
        lambda x: signal.ellip(3, 1.0, 40.0, 0.2 * x[1]),
        lambda x: signal.ellip(3, x[0], 40.0, 0.2),
        lambda x: signal.ellip(4, 1.0, 30 * x[0], 0.2 * x[1], output="zpk"),
    ],
    "scipy.signal.cheb1ap": [lambda x: signal.cheb1ap(3, x[0])],
    "scipy.signal.cheb2ap": [lambda x: signal.cheb2ap(3, 20 * x[0])],
    "scipy.signal.ellipap": [lambda x: signal.ellipap(3, 1.0, 20 * x[0]), lambda x: signal.ellipap(3, x[0], 40.0)],
    "scipy.signal.iirfilter": [
        lambda x: signal.iirfilter(3, [0.1 * x[1], 0.2 * x[2]], 1 + x[0], 30.0, btype="band", ftype="ellip")
    ],
    "scipy.signal.iirdesign": [lambda x: signal.iirdesign(0.2 * x[0], 0.4, x[1], 40.0)],
    "scipy.signal.iircomb": [lambda x: signal.iircomb(0.25, 10 * x[0])],
    "scipy.signal.iirnotch": [lambda x: signal.iirnotch(0.2 * x[0], 10 * x[1])],
    "scipy.signal.iirpeak": [lambda x: signal.iirpeak(0.2 * x[0], 10 * x[1])],
    "scipy.signal.gammatone": [
        lambda x: signal.gammatone(0.3 * x[0], "iir"),
        lambda x: signal.gammatone(0.3 * x[0], "fir"),
    ],
    "scipy.signal.buttord": [lambda x: signal.buttord(0.1 * x[0], 0.3 * x[1] + 0.1, x[2], 40 * x[3])],
    "scipy.signal.cheb1ord": [lambda x: signal.cheb1ord(0.1 * x[0], 0.3 * x[1] + 0.1, x[2], 40 * x[3])],
    "scipy.signal.cheb2ord": [lambda x: signal.cheb2ord(0.1 * x[0], 0.3 * x[1] + 0.1, x[2], 40 * x[3])],
    "scipy.signal.ellipord": [lambda x: signal.ellipord(0.1 * x[0], 0.3 * x[1] + 0.1, x[2], 40 * x[3])],
    "scipy.signal.kaiserord": [lambda x: signal.kaiserord(30 * x[0], 0.1 * x[1])],
    "scipy.signal.bilinear": [
        lambda x: signal.bilinear(x[:2], x[1:] + 1, x[3]),
        lambda x: signal.bilinear([0.0, x[0], 2.0, 1.0], [x[1], 3.0]),
    ],
    "scipy.signal.lp2bp_zpk": [lambda x: signal.lp2bp_zpk(x[:1], -x[1:3], x[0], x[1], x[2])],
    "scipy.signal.lp2bs_zpk": [lambda x: signal.lp2bs_zpk(x[:1], -x[1:3], x[0], x[1], x[2])],
    "scipy.signal.lp2hp": [lambda x: signal.lp2hp(*ar(x), 2.0), lambda x: signal.lp2hp(x[:1], 1 + x[1:], x[0])],
    "scipy.signal.lp2hp_zpk": [lambda x: signal.lp2hp_zpk(x[:1], -x[1:3], x[0], x[1])],
    "scipy.signal.lp2lp_zpk": [lambda x: signal.lp2lp_zpk(x[:1], -x[1:3], x[0], x[1])],
    "scipy.signal.firwin_2d": [lambda x: signal.firwin_2d((3, 3), "hamming", fc=0.3 * x[1], circular=True)],
    "scipy.signal.firls": [lambda x: signal.firls(5, [0, 0.3, 0.5, 1.0], [x[0], x[1], 0, 0])],
    "scipy.signal.minimum_phase": [
        lambda x: signal.minimum_phase([0.1 * x[0], x[3], x[2], x[3], 0.1 * x[0]]),
        lambda x: signal.minimum_phase([0.1 * x[0], x[3], x[2], x[3], 0.1 * x[0]], half=False),
    ],
    "scipy.signal.savgol_coeffs": [lambda x: signal.savgol_coeffs(5, 2, deriv=1, delta=x[0])],
    "scipy.signal.get_window": [lambda x: signal.get_window(("kaiser", x[0]), 6)],
    "scipy.signal.closest_STFT_dual_window": [
        lambda x: signal.closest_STFT_dual_window(x, 2),
        lambda x: signal.closest_STFT_dual_window(x, 2, v),
    ],
    "scipy.signal.windows.chebwin": [lambda x: signal.windows.chebwin(7, 50 * x[0])],
    "scipy.signal.windows.dpss": [lambda x: signal.windows.dpss(8, x[0])],
    "scipy.signal.windows.exponential": [lambda x: signal.windows.exponential(6, x[0], x[1], False)],
    "scipy.signal.windows.gaussian": [lambda x: signal.windows.gaussian(6, x[0])],
    "scipy.signal.windows.general_cosine": [lambda x: signal.windows.general_cosine(7, x)],
    "scipy.signal.windows.general_gaussian": [lambda x: signal.windows.general_gaussian(6, x[0], x[1])],
    "scipy.signal.windows.general_hamming": [lambda x: signal.windows.general_hamming(7, x[3])],
    "scipy.signal.windows.kaiser": [lambda x: signal.windows.kaiser(6, x[0])],
    "scipy.signal.windows.kaiser_bessel_derived": [lambda x: signal.windows.kaiser_bessel_derived(8, x[0])],
    "scipy.signal.windows.taylor": [lambda x: signal.windows.taylor(7, 4, 20 * x[0])],
    "scipy.signal.windows.tukey": [lambda x: signal.windows.tukey(8, 0.4 * x[0])],
}


def state_space(x):
    """A system of two states."""
    return -M(x), x[:2, None], x[None, 2:], np.array([[1.0]])


# Systems: their responses, by functions and by objects.
CALLS |= {
    "scipy.signal.bode": [lambda x: signal.bode(ar(x), w=[0.3, 2.0])],
    "scipy.signal.freqresp": [lambda x: signal.freqresp(ar(x), w=[0.3, 2.0])],
    "scipy.signal.dbode": [lambda x: signal.dbode((*ar(x), 0.1), w=[0.3, 2.0])],
    "scipy.signal.dfreqresp": [lambda x: signal.dfreqresp((*ar(x), 0.1), w=[0.3, 2.0])],
    "scipy.signal.dimpulse": [lambda x: signal.dimpulse((*ar(x), 0.1), n=5)],
    "scipy.signal.dstep": [lambda x: signal.dstep((*ar(x), 0.1), n=5)],
    "scipy.signal.dlsim": [lambda x: signal.dlsim((*ar(x), 0.1), v), lambda x: signal.dlsim((*ar(v), 0.1), x)],
    "scipy.signal.lsim": [
        lambda x: signal.lsim(ar(x), v, T[:4]),
        lambda x: signal.lsim(state_space(x), v, x[0] * T[:4]),
        lambda x: signal.lsim(signal.lti([1.0], [1.0, 0.4]), x, T[:4]),
        lambda x: signal.lsim(ar(x), v, T[:4], X0=x[1:2], interp=False),
    ],
    "scipy.signal.impulse": [lambda x: signal.impulse(ar(x), T=T[:5]), lambda x: signal.impulse(ar(x), N=6)],
    "scipy.signal.step": [lambda x: signal.step(ar(x), T=T[:5])],
    "scipy.signal.lti": [
        lambda x: signal.lti(*ar(x)).output(v, T[:4])[1],
        lambda x: signal.lti(*ar(x)).to_ss().A,
        lambda x: signal.lti(-x[:2], -x[2:], x[0]).freqresp([0.1, 0.2]),
        lambda x: signal.lti([1.0], [1.0, 0.4]).output(x, T[:4]),
        lambda x: signal.step(signal.lti(*ar(x)), T=T[:5]),
    ],
    "scipy.signal.dlti": [lambda x: signal.dlti(*ar(x), dt=0.1).step(n=4)],
    "scipy.signal.TransferFunction": [lambda x: signal.TransferFunction(*ar(x)).to_zpk().poles],
    "scipy.signal.ZerosPolesGain": [lambda x: signal.ZerosPolesGain(x[:1], -x[2:], x[0]).to_tf().num],
    "scipy.signal.StateSpace": [
        lambda x: (signal.StateSpace(*state_space(x)) * signal.StateSpace(*state_space(v)) + 2.0).A,
        lambda x: signal.StateSpace(*state_space(x)).to_discrete(0.1 * x[0]).A,
    ],
    "scipy.signal.ss2zpk": [lambda x: signal.ss2zpk(-M(x), x[:2, None], x[None, 2:], [[x[0]]])],
    "scipy.signal.tf2sos": [lambda x: signal.tf2sos(*ar(x))],
    "scipy.signal.zpk2sos": [lambda x: signal.zpk2sos(x[:2], -0.1 * x[2:], x[0])],
    "scipy.signal.invres": [lambda x: signal.invres(x[:2], -x[2:], [])],
    "scipy.signal.invresz": [lambda x: signal.invresz(x[:2], -x[2:], [])],
}

# Spectra, waves, peaks and splines.
CALLS |= {
    "scipy.signal.coherence": [lambda x: signal.coherence(long(x), np.sin(long(x)), nperseg=6)],
    "scipy.signal.csd": [
        lambda x: signal.csd(long(x), np.sin(long(x)), nperseg=6),
        lambda x: signal.csd(long(x), np.sin(long(x)), nperseg=6, average="median"),
    ],
    "scipy.signal.welch": [
        lambda x: signal.welch(long(x), nperseg=6),
        lambda x: signal.welch(long(x), fs=x[0], nperseg=6, detrend="linear", window="hann"),
        lambda x: signal.welch(np.outer(x, v), nperseg=2, axis=0),
        lambda x: signal.welch(long(x) * (1 + 0.2j), nperseg=6, scaling="spectrum"),
    ],
    "scipy.signal.periodogram": [lambda x: signal.periodogram(x), lambda x: signal.periodogram(x, window=v, nfft=7)],
    "scipy.signal.spectrogram": [
        lambda x: signal.spectrogram(long(x), nperseg=6),
        lambda x: signal.spectrogram(
            np.outer(v, long(x)) * (1 + 0.3j), nperseg=6, mode="complex", return_onesided=False
        ),
    ],
    "scipy.signal.stft": [
        lambda x: signal.stft(long(x), nperseg=6),
        lambda x: signal.stft(long(x), nperseg=6, nfft=8, boundary=None, padded=False, detrend="linear"),
    ],
    "scipy.signal.ShortTimeFFT": [  # which makes the window that it is given read-only
        lambda x: signal.ShortTimeFFT(1.0 * v, 2, 10.0).stft(long(x)),
        lambda x: signal.ShortTimeFFT(1.0 * x, 2, 10.0, scale_to="psd").spectrogram(long(x)),
        lambda x: signal.ShortTimeFFT(1.0 * v, 2, 10.0).istft(np.outer(x[:3], np.cos(x)) * (1 + 0.4j)),
    ],
    "scipy.signal.czt": [lambda x: signal.czt(x), lambda x: signal.czt(v, 5, np.exp(0.3j * x[0]))],
    "scipy.signal.CZT": [lambda x: signal.CZT(4, 5)(x)],
    "scipy.signal.czt_points": [lambda x: signal.czt_points(5, np.exp(0.3j * x[0]))],
    "scipy.signal.zoom_fft": [
        lambda x: signal.zoom_fft(x, [0.1, 0.4]),
        lambda x: signal.zoom_fft(v, [0.1, 0.4 * x[0]]),
    ],
    "scipy.signal.ZoomFFT": [lambda x: signal.ZoomFFT(4, [0.1, 0.3])(x)],
    "scipy.signal.chirp": [
        lambda x: signal.chirp(T, x[0], 1.0, x[1]),
        lambda x: signal.chirp(x, 2.0, 1.0, 4.0, "log"),
        lambda x: signal.chirp(T, x[0], x[1], x[2], "hyp", 30.0),
        lambda x: signal.chirp(T, x[0], x[1], x[2], "quadratic", phi=x[3]),
    ],
    "scipy.signal.peak_prominences": [lambda x: signal.peak_prominences(np.sin(3 * x[0] * T) + x[1] * T, [10])],
    "scipy.signal.peak_widths": [
        lambda x: signal.peak_widths(np.sin(3 * x[0] * T) + 0.1 * x[1] * T, [9], rel_height=0.3 * x[2]),
        lambda x: signal.peak_widths(np.cos(9 * x[0] * T) + 0.1 * x[1] * T, [12], rel_height=0.3 * x[2]),
    ],
    "scipy.signal.find_peaks": [
        lambda x: signal.find_peaks(np.sin(9 * x[0] * T) + x[1] * T, 0.1, 0.0, prominence=0.1, width=0.1)
    ],
    "scipy.signal.cspline1d_eval": [lambda x: signal.cspline1d_eval(x, [0.3, 1.2])],
    "scipy.signal.qspline1d_eval": [lambda x: signal.qspline1d_eval(x, [0.3, 1.2])],
    "scipy.signal.medfilt2d": [lambda x: signal.medfilt2d(np.outer(x, v))],
}
