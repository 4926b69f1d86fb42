"""scipy.special, whose functions take our tensors: special functions."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.special")
