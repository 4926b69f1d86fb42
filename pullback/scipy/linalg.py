"""scipy.linalg, whose functions take our tensors: linear algebra."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.linalg")
