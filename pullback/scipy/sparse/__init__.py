"""scipy.sparse, whose functions take our tensors: sparse matrices and their solvers."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.sparse")
