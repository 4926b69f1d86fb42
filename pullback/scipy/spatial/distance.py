"""scipy.spatial.distance, whose functions take our tensors: distances between vectors, and of sets of them."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.spatial.distance")
