"""NumPy kernels of exponentials, logarithms and the error function, beyond the ufuncs."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.dtypes import in_common, is_complex
from pullback.arrays.numpy.fast.kept_vectors import ones_of
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.arrays.numpy.scipy_functions import HALF, in_half, scipy_special

FEW_FOR_SIGMOID = 384  # elements, below which SciPy's expit is quickest


def logaddexp(self, other):
    """log(exp(self) + exp(other)) without overflow; complex arguments too, which np.logaddexp refuses."""
    if not (is_complex(self) or is_complex(other)):
        return np.logaddexp(self, other)
    first = np.real(self) >= np.real(other)
    high, low = np.where(first, self, other), np.where(first, other, self)
    return np.where(
        high == low, high + math.log(2), high + scipy_special().log1p(np.exp(np.where(high == low, 0, low - high)))
    )


def logaddexp2(self, other):
    """log2(2**self + 2**other) without overflow."""
    return np.logaddexp2(self, other)


def _sigmoid_plainly(x):
    return in_half(scipy_special().expit(x), x)


@fast(plain=_sigmoid_plainly, pays_from=FEW_FOR_SIGMOID, exact=Exactness(4))
def sigmoid(self):
    """1 / (1 + exp(-self)). SciPy's expit is quickest on small arrays, NumPy's vectorised exp on large ones."""
    if self.dtype.kind == "c":
        return complex_sigmoid(self)
    if self.size < FEW_FOR_SIGMOID or self.dtype.kind != "f":
        return _sigmoid_plainly(self)
    if self.dtype is HALF:  # exp(-self) overflows long before the result underflows
        return sigmoid(self.astype(np.float32)).astype(HALF)
    y = np.negative(self)
    before = warning_state()
    try:
        ignore_warnings()
        np.exp(y, y)  # inf gives 0, which is the answer
    finally:
        restore(before)
    one = ones_of(1, y.dtype)  # NumPy would have to convert a Python number
    np.add(y, one, y)
    return np.true_divide(one, y, y)  # half the time of np.reciprocal


def complex_sigmoid(z):
    """sigmoid of complex z by whichever of exp(z) and exp(-z) is at most 1 in modulus."""
    right = np.real(z) >= 0
    e = np.exp(np.where(right, -z, z))
    return np.where(right, 1, e) / (1 + e)


def xlogy(self, other):
    """self * log(other), 0 where self is 0."""
    if is_complex(self) or is_complex(other):
        raise ValueError("not defined for complex tensors, as in PyTorch; write input * log(other).")
    return scipy_special().xlogy(*in_common(self, other))


def erfc(self):
    """1 - erf(self), accurate where that cancels."""
    return in_half(scipy_special().erfc(self), self)
