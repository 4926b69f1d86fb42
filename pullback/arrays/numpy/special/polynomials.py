"""Orthogonal polynomials by SciPy's recurrences; the degree is cut to a whole number, negative ones give 0.

A recurrence takes as many steps as the degree says, and no signal ends it: degrees are limited.
"""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.special.reals import refuse_complex

MOST = 1_000_000  # steps, some 10 ms for each element


def of_degree(evaluate, leading=1):
    """The kernel of a polynomial in x of degree n, whose leading coefficient has the sign leading**n.

    SciPy takes whole degrees in double precision alone, and gives nan where parts of the result overflow.
    """

    def kernel(x, n, *parameters):
        refuse_complex((x, n))
        given = [a for a in (x, n) if isinstance(a, float) or getattr(a, "dtype", np.dtype(int)).kind == "f"]
        degree, without = _degrees(n)
        x = np.asarray(x, float)
        value = np.where(degree < 0, 0.0, evaluate(degree, *parameters, x))
        lost = np.isnan(value) & ~np.isnan(x)
        if lost.any():
            value = np.where(lost, np.copysign(math.inf, np.sign(leading * x) ** degree), value)
        if without.any():
            value = np.where(without, math.nan, value)
        return value.astype(np.result_type(*given) if given else float, copy=False)

    return kernel


def _degrees(n):
    """(n as whole numbers, where it is none because it is nan or inf)."""
    n = np.trunc(np.asarray(n, float))
    without = ~np.isfinite(n)
    degree = np.where(without, 0, np.maximum(n, -1))
    if (degree > MOST).any():
        raise ValueError(f"degrees may be at most {MOST}, but n has {degree.max():g} in it: it takes as many steps.")
    return degree.astype(np.int64), without


chebyshev_t = of_degree(scipy_special.eval_chebyt)
chebyshev_u = of_degree(scipy_special.eval_chebyu)
hermite_h = of_degree(scipy_special.eval_hermite)
hermite_he = of_degree(scipy_special.eval_hermitenorm)
laguerre_l = of_degree(scipy_special.eval_laguerre, -1)
legendre_p = of_degree(scipy_special.eval_legendre)
gegenbauer = of_degree(scipy_special.eval_gegenbauer)
associated_laguerre = of_degree(scipy_special.eval_genlaguerre, -1)
