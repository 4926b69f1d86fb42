"""scipy.spatial, whose functions take our tensors: distances."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.spatial")
