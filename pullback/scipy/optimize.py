"""scipy.optimize, whose functions take our tensors: minimisers, roots and least squares."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.optimize")
