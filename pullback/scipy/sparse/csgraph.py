"""scipy.sparse.csgraph, whose functions take our tensors: paths, trees and Laplacians of graphs."""

from pullback.scipy.rules.face import face as _face

__getattr__, __dir__ = _face("scipy.sparse.csgraph")
