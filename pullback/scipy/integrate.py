"""scipy.integrate, whose functions take our tensors: quadrature and differential equations."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.integrate")
