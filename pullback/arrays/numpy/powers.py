"""NumPy kernels of the powers."""

import math

import numpy as np

__all__ = ["pow", "reciprocal", "rsqrt"]


def pow(self, exponent):
    """self ** exponent. A Python number as exponent of a real array takes the fast ways of `real_power`."""
    if (type(exponent) is int or type(exponent) is float) and hasattr(self, "dtype"):
        kind = self.dtype.kind
        if exponent == 2 and kind in ("f", "c"):
            return np.square(self)
        if kind == "f":
            return real_power(self, exponent)
    try:
        return np.power(self, exponent)
    except ValueError:
        if isinstance(exponent, int):
            raise
        return integer_power(self, exponent)


def integer_power(self, exponent):
    """Powers of integers where some exponents are negative: 1 / self**-exponent towards zero, and 0 for 1 / 0.

    PyTorch's rule. np.power refuses them, as `pow` does for an exponent that is a number.
    """
    powers = np.power(self, np.maximum(exponent, 0))
    reciprocals = np.where(np.abs(self) == 1, np.power(self, np.abs(exponent)), 0)
    return np.where(np.less(exponent, 0), reciprocals, powers).astype(powers.dtype, copy=False)


def real_power(x, n):
    """x ** n for a floating array and a Python number.

    np.power takes 47 ns an element where the base is negative and 2 ns where it is not (NumPy 2.4, AVX-512), so whole
    exponents go through products or |x|.
    """
    if n == 3:
        return x * x * x
    if n == 4:
        return np.square(np.square(x))
    if n == -1:
        return np.reciprocal(x)
    if n == 0.5:
        return np.sqrt(x)
    if math.isfinite(n) and n == math.floor(n):
        magnitude = np.power(np.absolute(x), n)
        return np.copysign(magnitude, x) if n % 2 else magnitude
    return np.power(x, n)


def rsqrt(self):
    """1 / sqrt(self)."""
    return np.reciprocal(np.sqrt(self))


def reciprocal(self):
    """1 / self; unlike np.reciprocal a true division for integers."""
    return np.true_divide(1, self)
