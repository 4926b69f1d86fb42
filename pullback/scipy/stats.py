"""scipy.stats, whose functions take our tensors: distributions and statistics."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.stats")
