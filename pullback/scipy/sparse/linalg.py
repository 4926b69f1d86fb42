"""scipy.sparse.linalg, whose functions take our tensors: sparse solvers and decompositions."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.sparse.linalg")
