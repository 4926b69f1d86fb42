"""scipy.spatial.transform, whose rotations take our tensors."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.spatial.transform")
