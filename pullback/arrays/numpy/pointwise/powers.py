"""NumPy kernels of the powers."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.dtypes import is_complex


def pow(self, exponent):
    """self ** exponent. A Python number as exponent of a real array takes the fast ways of `real_power`."""
    if (type(exponent) is int or type(exponent) is float) and hasattr(self, "dtype"):
        kind = self.dtype.kind
        if exponent == 2 and kind in ("f", "c"):
            return np.square(self)
        if kind == "f":
            return real_power(self, exponent)
    try:
        return complex_power(self, exponent) if is_complex(self) or is_complex(exponent) else np.power(self, exponent)
    except ValueError:
        if isinstance(exponent, int):
            raise
        return integer_power(self, exponent)


def complex_power(x, n):
    """x ** n; by the logarithm where NumPy's products overflow on the way to a small number."""
    result = np.power(x, n)
    lost = np.isnan(result) & np.isfinite(x) & np.not_equal(x, 0) & np.isfinite(n)
    if lost.any():
        result = np.where(lost, np.exp(n * np.log(np.where(lost, x, 1).astype(result.dtype, copy=False))), result)
    return result


def integer_power(self, exponent):
    """Powers of integers where some exponents are negative: 1 / self**-exponent towards zero, and 0 for 1 / 0.

    PyTorch's rule. np.power refuses them, as `pow` does for an exponent that is a number.
    """
    powers = np.power(self, np.maximum(exponent, 0))
    reciprocals = np.where(np.abs(self) == 1, np.power(self, np.abs(exponent)), 0)
    return np.where(np.less(exponent, 0), reciprocals, powers).astype(powers.dtype, copy=False)


@fast(plain=np.power, pays_from=0, exact=Exactness(2))
def real_power(x, n):
    """x ** n for a floating array and a Python number.

    np.power takes 47 ns an element where the base is negative and 2 ns where it is not (NumPy 2.4, AVX-512), so whole
    exponents go through products or |x|.
    """
    if x.dtype.char == "e":
        return np.power(x, n)  # in single precision; products would each be rounded to half
    if n == 3:
        y = x * x
        y *= x
        return y
    if n == 4:
        y = np.square(x)
        y *= y
        return y
    if n == -1:
        return np.true_divide(1, x)  # half the time of np.reciprocal
    if n == 0.5:
        return np.sqrt(x)
    if math.isfinite(n) and n == math.floor(n):
        magnitude = np.power(np.absolute(x), n)
        return np.copysign(magnitude, x) if n % 2 else magnitude
    return np.power(x, n)


def rsqrt(self):
    """1 / sqrt(self)."""
    root = np.sqrt(self)
    return np.reciprocal(root) if root.dtype.kind == "c" else np.true_divide(1, root)


def reciprocal(self):
    """1 / self; unlike np.reciprocal a true division for integers."""
    return np.true_divide(1, self)
