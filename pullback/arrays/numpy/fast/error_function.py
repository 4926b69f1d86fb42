"""The error function of many float32 numbers, by a polynomial."""

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.fast.blocks import MANY, by_blocks, constants, fill_odd_polynomial
from pullback.arrays.numpy.scipy_functions import in_half, scipy_special

# erf(x) = tanh(x P(x**2)): a fit of degree 9 in x**2, with a relative error of 1.0e-8 over |x| <= 4, where float32
# ends. At 4.1 it gives 1.
_ERF = constants(
    1.78637552e-10, -8.46571902e-09, 1.5611701e-07, -1.28870834e-06, 1.32549728e-06, 6.93233894e-05,
    -0.000595311103, -0.000206651414, 0.102772164, 1.12837918,
)  # fmt: skip
_ERF_LIMITS = constants(-4.1, 4.1)


def _erf_plainly(x):
    return in_half(scipy_special().erf(x), x)


@fast(plain=_erf_plainly, pays_from=MANY, exact=Exactness(4))
def erf(self):
    """The error function; of many float32 numbers ten times as fast as SciPy's, within 4 units in the last place."""
    if self.dtype != np.float32 or self.size < MANY:
        return _erf_plainly(self)
    return by_blocks(_fill_erf, 1, self)


def _fill_erf(x, out, scratch):
    fill_odd_polynomial(x, _ERF_LIMITS, _ERF, out, scratch)
    np.tanh(out, out=out)
