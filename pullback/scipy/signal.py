"""scipy.signal, whose functions take our tensors: filters and convolutions."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.signal")
