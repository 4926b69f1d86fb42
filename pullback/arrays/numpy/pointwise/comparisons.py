"""Kernels that compare real numbers. NumPy would order complex numbers by real part, then imaginary part: refused here.

As in PyTorch: a complex number is neither more nor less than another, and what picks the "larger" has no derivative
that anyone would mean.
"""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dtypes import is_complex


@loops("arguments")
def refuse_unordered(*values):
    """Raise if a value is complex."""
    for x in values:
        if is_complex(x):
            raise ValueError("complex numbers have no order; compare abs(), .real or .imag.")


def _choosing(ufunc, doc):
    """The kernel of an operator that gives one of its two arguments."""

    def kernel(self, other):
        result = ufunc(self, other)
        if result.dtype.kind == "c":
            refuse_unordered(result)
        return result

    kernel.__doc__ = doc
    return kernel


def _comparing(ufunc, doc):
    """The kernel of a comparison."""

    def kernel(self, other):
        result = ufunc(self, other)
        refuse_unordered(self, other)
        return result

    kernel.__doc__ = doc
    return kernel


maximum = _choosing(np.maximum, "The larger of two; nan if one is.")
minimum = _choosing(np.minimum, "The smaller of two; nan if one is.")
fmax = _choosing(np.fmax, "The larger of two; the other if one is nan.")
fmin = _choosing(np.fmin, "The smaller of two; the other if one is nan.")
clamp_min, clamp_max = maximum, minimum
lt = _comparing(np.less, "self < other.")
le = _comparing(np.less_equal, "self <= other.")
gt = _comparing(np.greater, "self > other.")
ge = _comparing(np.greater_equal, "self >= other.")
