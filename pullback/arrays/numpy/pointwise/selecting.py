"""NumPy kernels that choose between values: where, limits, relu, and kin."""

import numpy as np
from numpy import ndarray
from numpy import where as np_where

from pullback.arrays.numpy.dtypes import in_common, is_complex
from pullback.arrays.numpy.fast.choices import SMALL, blendable, blended, larger, maskable, masked, smaller
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered


def lerp(self, end, weight):
    """self + weight * (end - self), from whichever end is nearer, so that weight 1 gives `end` exactly."""
    span = np.subtract(end, self)
    if isinstance(weight, (int, float, complex)):
        return np.add(self, weight * span) if abs(weight) < 0.5 else np.subtract(end, span * (1 - weight))
    near_self = np.add(self, np.multiply(weight, span))
    near_end = np.subtract(end, np.multiply(span, np.subtract(1, weight)))
    return np.where(np.less(np.absolute(weight), 0.5), near_self, near_end)


def clamp(self, min=None, max=None):
    """Limit to [min, max]; where min > max the result is max."""
    refuse_unordered(self, min, max)
    if not hasattr(self, "dtype"):
        self = in_common(self, *(limit for limit in (min, max) if limit is not None))[0]
    if max is None:
        if min is None:
            raise ValueError("at least one of min and max must be given, but both are None.")
        return larger(self, min)
    return smaller(self, max) if min is None else np.clip(self, min, max)


def relu(self):
    """max(self, 0), nan staying nan."""
    kind = self.dtype.kind
    if kind == "f":
        return np.maximum(self, 0.0) if self.size < SMALL else larger(self, 0.0)
    if kind == "b":
        raise ValueError("boolean tensors are not supported; convert to a number type first.")
    refuse_unordered(self)
    return np.maximum(self, 0)


def _writable(condition, x):
    """True if zeros can be written into a copy of x: the zeros of formulas, in two thirds of np.where's time."""
    return type(x) is ndarray and x.dtype.kind in "fc" and x.shape == condition.shape


def where(condition, self, other):
    """self where condition holds, other elsewhere."""
    if type(condition) is not ndarray:
        condition = np.asarray(condition)
    dtype = condition.dtype
    if dtype.kind != "b":
        raise ValueError(f"condition must be boolean, but its dtype is {dtype}; write where(condition != 0, ...).")
    if condition.size <= SMALL:
        if type(self) is int and self == 0 and _writable(condition, other):
            result = other.copy("K")
            result[condition] = 0
            return result
        return np_where(condition, self, other)
    if type(other) is int and other == 0 and maskable(condition, self):
        return masked(self, np.negative(condition.view(np.int8)))
    if type(self) is int and self == 0 and maskable(condition, other):
        return masked(other, np.subtract(condition.view(np.int8), 1))
    if blendable(condition, self, other):
        return blended(condition, self, other)
    return np.where(condition, self, other)


def nan_to_num(self, nan=None, posinf=None, neginf=None):
    """Replace nan (default 0), inf and -inf (default the largest and smallest finite value)."""
    if is_complex(self):
        raise ValueError("not defined for complex tensors; treat .real and .imag apart.")
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
