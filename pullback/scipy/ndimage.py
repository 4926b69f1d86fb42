"""scipy.ndimage, whose functions take our tensors: filters, transformations and measures of images."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.ndimage")
