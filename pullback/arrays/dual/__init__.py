"""Arrays with tangents, for forward mode: a primal p and a tangent t are the dual number p + eps t, with eps**2 = 0.

Importing it registers the array type, which nothing but forward mode needs.
"""

from pullback.arrays.dual import calls as _calls  # noqa: F401 - fills the table
from pullback.arrays.dual import graphs as _graphs  # noqa: F401 - lets backwards meet duals
from pullback.arrays.dual import lifting as _lifting  # noqa: F401 - fills the table
from pullback.arrays.dual import operators as _operators  # noqa: F401 - gives DualArray its methods
from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import make_dual, primal_of, tangent_of
from pullback.arrays.dual.levels import ForwardLevel

__all__ = ["DualArray", "ForwardLevel", "make_dual", "primal_of", "tangent_of"]
