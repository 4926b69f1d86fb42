"""scipy.fft, whose functions take our tensors: discrete Fourier, sine and cosine transforms."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.fft")
