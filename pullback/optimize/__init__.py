"""SciPy's optimisers with exact derivatives.

Arguments, methods and results are SciPy's. Each function supplies the derivatives that its method takes. Parameters may
be trees of arrays, and the solution can itself be differentiated.
"""

from pullback.optimize.curve import curve_fit
from pullback.optimize.least import least_squares
from pullback.optimize.minimum import minimize
from pullback.optimize.roots import root

__all__ = ["curve_fit", "least_squares", "minimize", "root"]
