"""scipy.fft."""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, runs_as_it_stands
from pullback.scipy.rules.fft import cosine as _cosine  # noqa: F401 - which enters its rules
from pullback.scipy.rules.fft import fourier as _fourier  # noqa: F401
from pullback.scipy.rules.fft import hankel as _hankel  # noqa: F401

gives_no_gradient("scipy.fft.next_fast_len", "scipy.fft.prev_fast_len")
runs_as_it_stands("scipy.fft.fftfreq", "scipy.fft.fhtoffset", "scipy.fft.rfftfreq")
