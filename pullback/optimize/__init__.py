"""SciPy's optimisers with exact derivatives.

Arguments, methods and results are SciPy's. Each function supplies the derivatives that its method takes. Parameters may
be trees of arrays, and the solution can itself be differentiated.
"""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.optimize.curve import curve_fit
from pullback.optimize.least import least_squares
from pullback.optimize.minimum import minimize
from pullback.optimize.roots import root

__all__ = ["curve_fit", "least_squares", "minimize", "root"]

__getattr__ = _getter(__name__, _HOMES)
