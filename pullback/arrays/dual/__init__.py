"""Arrays with tangents, for forward mode: a primal p and a tangent t are the dual number p + eps t, with eps**2 = 0.

Importing it registers the array type, which nothing but forward mode needs.
"""

from pullback.arrays.dual import described as _described  # noqa: F401 - registers the type
from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import make_dual, primal_of, tangent_of
from pullback.arrays.dual.levels import ForwardLevel

__all__ = ["DualArray", "ForwardLevel", "make_dual", "primal_of", "tangent_of"]
