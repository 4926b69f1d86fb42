"""NumPy kernels that reduce dimensions.

`dim` is None (all dimensions), an int or a sequence of ints; an empty sequence also means all, as in PyTorch. The
ufuncs' own `reduce` is called rather than `np.sum` and its like, whose wrappers cost more than a small reduction.
"""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pullback.arrays.numpy.fast.products import contiguous_prod
from pullback.arrays.numpy.fast.sums import LARGE, contiguous_sum
from pullback.core.errors import DtypeError, type_name

_EXACT = 64.0  # up to this size, the rounding of a logarithm is lost in that of its exponential
_NEAR_ZERO = 0.5  # of a logarithm of a sum that begins with 1: below, the parts after the 1 are seen in it


def _axis(dim, self):
    """`dim` as NumPy's `axis`."""
    if dim is None or not isinstance(dim, (tuple, list)):
        return dim
    if self.ndim == 0 and len(dim) == 1:  # NumPy lets 0 and -1 pass for a 0-d array, but not (0,)
        return dim[0]
    return tuple(dim) or None


def _count(shape, axis):
    """How many elements each result of a reduction of `shape` over `axis` is made from."""
    if axis is None or not shape:
        return math.prod(shape)
    if isinstance(axis, tuple):
        return math.prod(shape[i] for i in axis)
    return shape[axis]


_DTYPES = {
    "mean": "could not infer output dtype. Input dtype must be either a floating point or complex dtype: ",
    "var": "std and var only support floating point and complex dtypes: ",
    "std": "std and var only support floating point and complex dtypes: ",
}


def inexact_only(name, dtype, argument="input", remedy="convert it first"):
    """Refuse integers and bools."""
    if dtype.kind not in "fc":
        raise DtypeError(
            f"{name}(): {_DTYPES.get(name, '')}{argument} must be floating-point or complex, but the dtype is "
            f"{dtype}; {remedy}."
        )


# -- sums and products -----------------------------------------------------------------------------------------------
def sum(self, dim=None, keepdim=False, dtype=None):
    """Sum."""
    axis = None if dim is None else _axis(dim, self)
    if self.size >= LARGE and dtype is None and (out := contiguous_sum(self, axis, keepdim)) is not None:
        return out
    return np.add.reduce(self, axis, dtype, None, keepdim)


def nansum(self, dim=None, keepdim=False, dtype=None):
    """Sum of what is not NaN."""
    if self.dtype.kind == "c":
        raise RuntimeError(f"nansum(): complex input ({self.dtype}) is not supported; sum real and imaginary parts.")
    if self.dtype.kind == "f":
        self = np.where(np.isnan(self), self.dtype.type(0), self)
    return np.add.reduce(self, axis=_axis(dim, self), dtype=dtype, keepdims=keepdim)


def mean(self, dim=None, keepdim=False, dtype=None):
    """Arithmetic mean of floating-point or complex elements."""
    if dtype is None:
        inexact_only("mean", self.dtype, remedy="convert it first, or pass dtype=numpy.float64")
    else:
        inexact_only("mean", np.dtype(dtype), "dtype", "choose numpy.float64, say")
    axis = _axis(dim, self)
    if self.dtype == np.float16 and dtype is None:  # np.mean adds halves in float32
        return np.mean(self, axis=axis, keepdims=keepdim)
    total = sum(self, dim, keepdim, dtype)
    return np.true_divide(total, _count(self.shape, axis))


def prod(self, dim=None, keepdim=False, dtype=None):
    """Product."""
    if self.size >= LARGE and dtype is None and (out := contiguous_prod(self, _axis(dim, self), keepdim)) is not None:
        return out
    return np.multiply.reduce(self, axis=_axis(dim, self), dtype=dtype, keepdims=keepdim)


def var(self, dim=None, correction=None, keepdim=False):
    """sum |x - mean|**2 / (n - correction), in two passes; real for complex input."""
    inexact_only("var", self.dtype)
    if self.dtype == np.float16:  # which can neither count far nor hold the squares
        return var(self.astype(np.float32), dim, correction, keepdim).astype(self.dtype)
    axis = _axis(dim, self)
    total = sum(self, axis, True)
    count = _count(self.shape, axis)
    mean = np.true_divide(total, count)
    centred = self - mean
    if self.dtype.kind == "c":
        centred = np.square(centred.real) + np.square(centred.imag)
    else:
        centred = np.multiply(centred, centred)
    # The module's own `max` is a kernel; without a degree of freedom the variance is infinite or NaN.
    freedom = np.maximum(count - (1 if correction is None else correction), 0).item()
    result = np.true_divide(sum(centred, axis, keepdim), freedom)
    # A variance this small may be the rounding of the mean alone: of equal elements it is 0.
    rounding = np.abs(mean.reshape(np.shape(result))) * (64 * np.finfo(self.dtype).eps)
    if np.less_equal(result, np.square(rounding)).any():
        result = np.where(_is_constant(self, axis, keepdim), result.dtype.type(0), result)
    return result


def _is_constant(x, axis, keepdim):
    """True if all elements over an axis are equal."""
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim) if x.ndim else ()
    first = x[tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))]
    return np.logical_and.reduce(np.equal(x, first), axis=axis, keepdims=keepdim)


def std(self, dim=None, correction=None, keepdim=False):
    """Square root of the variance, also where that overflows or vanishes."""
    inexact_only("std", self.dtype)
    if self.dtype == np.float16:
        return std(self.astype(np.float32), dim, correction, keepdim).astype(self.dtype)
    with np.errstate(over="ignore"):
        variance = var(self, dim, correction, keepdim)
    limits = np.finfo(self.dtype)
    if np.logical_and(variance >= limits.tiny / limits.eps, variance <= limits.max).all():
        return np.sqrt(variance)
    return _scaled_std(self, _axis(dim, self), correction, keepdim)


def _scaled_std(x, axis, correction, keepdim):
    """The standard deviation of x over a power of two, times that power."""
    size = np.abs(x) if x.dtype.kind == "f" else np.maximum(np.abs(x.real), np.abs(x.imag))
    size = np.maximum.reduce(size, axis=axis, keepdims=True, initial=0)
    exponent = np.where(np.isfinite(size), np.frexp(size)[1] - 1, 0)
    scale = np.ldexp(size.dtype.type(1), exponent)
    found = np.sqrt(var(x / scale, axis, correction, keepdim))
    return found * scale.reshape(np.shape(found))


def var_mean(self, dim=None, correction=None, keepdim=False):
    """(variance, mean)."""
    return var(self, dim, correction, keepdim), mean(self, dim, keepdim)


def std_mean(self, dim=None, correction=None, keepdim=False):
    """(standard deviation, mean)."""
    return std(self, dim, correction, keepdim), mean(self, dim, keepdim)


# -- extremes --------------------------------------------------------------------------------------------------------
def ordered_only(name, self):
    """Refuse complex numbers, and what is no array: max(2, 3) is not the binary form."""
    if not hasattr(self, "dtype"):
        raise TypeError(f"{name}(): the input must be a Tensor or an ndarray, got {type_name(self)}.")
    if self.dtype.kind == "c":
        raise RuntimeError(f"{name}(): complex numbers ({self.dtype}) have no order; take abs(), .real or .imag first.")


def _not_empty(name, self, axis):
    """Refuse to take an extreme of nothing."""
    if self.size:
        return
    if axis is not None and self.ndim:
        axis = normalize_axis_tuple(axis, self.ndim)
    if _count(self.shape, axis) == 0:
        raise IndexError(
            f"{name}(): cannot reduce over an empty dimension, because {name} has no identity "
            f"(shape {self.shape}, dim {axis})."
        )


def amax(self, dim=None, keepdim=False):
    """Largest element over one or several dimensions."""
    ordered_only("amax", self)
    axis = _axis(dim, self)
    _not_empty("amax", self, axis)
    return np.maximum.reduce(self, axis=axis, keepdims=keepdim)


def amin(self, dim=None, keepdim=False):
    """Smallest element over one or several dimensions."""
    ordered_only("amin", self)
    axis = _axis(dim, self)
    _not_empty("amin", self, axis)
    return np.minimum.reduce(self, axis=axis, keepdims=keepdim)


def max(self):
    """Largest of all elements."""
    ordered_only("max", self)
    _not_empty("max", self, None)
    return np.maximum.reduce(self, axis=None)


def min(self):
    """Smallest of all elements."""
    ordered_only("min", self)
    _not_empty("min", self, None)
    return np.minimum.reduce(self, axis=None)


def aminmax(self, dim=None, keepdim=False):
    """(smallest, largest)."""
    return amin(self, dim, keepdim), amax(self, dim, keepdim)


def max_dim(self, dim, keepdim=False):
    """(largest elements along dim, where they are)."""
    ordered_only("max", self)
    _not_empty("max", self, dim)
    return np.maximum.reduce(self, axis=dim, keepdims=keepdim), self.argmax(axis=dim, keepdims=keepdim)


def min_dim(self, dim, keepdim=False):
    """(smallest elements along dim, where they are)."""
    ordered_only("min", self)
    _not_empty("min", self, dim)
    return np.minimum.reduce(self, axis=dim, keepdims=keepdim), self.argmin(axis=dim, keepdims=keepdim)


def value_selecting_reduction_backward(grad, dim, indices, shape, keepdim):
    """Zeros of `shape`, with `grad` at the `indices` that a reduction over `dim` selected."""
    out = np.zeros(shape, grad.dtype)
    if not shape:
        out[...] = grad
    elif out.size:
        if not keepdim:
            grad, indices = np.expand_dims(grad, dim), np.expand_dims(indices, dim)
        np.put_along_axis(out, indices, grad, dim)
    return out


def argmax(self, dim=None, keepdim=False):
    """Position of the largest element; NaN counts as largest."""
    ordered_only("argmax", self)
    _not_empty("argmax", self, dim)
    return np.argmax(self, axis=dim, keepdims=keepdim)


def argmin(self, dim=None, keepdim=False):
    """Position of the smallest element; NaN counts as smallest."""
    ordered_only("argmin", self)
    _not_empty("argmin", self, dim)
    return np.argmin(self, axis=dim, keepdims=keepdim)


# -- logic and counting ----------------------------------------------------------------------------------------------
def _logical(ufunc, self, dim, keepdim):
    """PyTorch's all and any: an empty `dim` reduces nothing here."""
    axis = () if dim in ((), []) else _axis(dim, self)
    return ufunc.reduce(self, axis=axis, keepdims=keepdim, dtype=np.bool_)


def all(self, dim=None, keepdim=False):
    """True if all elements are nonzero."""
    return _logical(np.logical_and, self, dim, keepdim)


def any(self, dim=None, keepdim=False):
    """True if any element is nonzero."""
    return _logical(np.logical_or, self, dim, keepdim)


def count_nonzero(self, dim=None):
    """Number of nonzero elements."""
    return np.add.reduce(self != 0, axis=_axis(dim, self), dtype=np.int64)


# -- exponential families --------------------------------------------------------------------------------------------
def logsumexp(self, dim, keepdim=False):
    """log(sum(exp(x))), by the largest (real part of the) x of each slice, so that nothing overflows.

    The sum begins with the 1 of the largest, which hides small parts: where the result is near 0 they count, and are
    added up without it.
    """
    axis = _axis(dim, self)
    if self.size == 0:  # nothing to take the largest of; log(0) = -inf is the sum of no exponentials
        with np.errstate(divide="ignore"):
            return np.log(np.add.reduce(np.exp(self), axis=axis, keepdims=keepdim))
    top = np.maximum.reduce(self.real, axis=axis, keepdims=True)
    # x - top must not be inf - inf; integers and bools become float64 here.
    top = np.where(np.isfinite(top), top, top.dtype.type(0) if top.dtype.kind == "f" else 0.0)
    parts = np.exp(self - top)
    with np.errstate(divide="ignore"):  # a slice of -inf alone is -inf
        out = np.log(sum(parts, axis, True))
    out += top
    if out.dtype.kind == "f" and np.fmin.reduce(np.abs(out), axis=None) < _NEAR_ZERO:
        largest = self == top
        count = np.maximum(np.add.reduce(largest, axis=axis, keepdims=True), 1).astype(out.dtype)
        rest = sum(np.where(largest, parts.dtype.type(0), parts), axis, True) / count
        out = np.where(np.abs(out) < _NEAR_ZERO, np.log1p(rest) + (np.log(count) + top), out)
    return out if keepdim else np.squeeze(out, axis=axis if self.ndim else None)


def logsumexp_slope(self, norm, dim):
    """exp(x - norm), the softmax; `norm` is the logsumexp, with its dimensions. 0 over a slice of -inf alone.

    Where norm is large its rounding is seen in the differences: there the parts are divided by their sum.
    """
    out = np.exp(self - np.where(np.isneginf(norm.real), 0, norm))
    size = np.abs(norm)
    if np.maximum.reduce(np.where(np.isfinite(size), size, 0), axis=None, initial=0) > _EXACT:
        total = np.add.reduce(out, axis=_axis(dim, self), keepdims=True)
        out = out / np.where(total == 0, 1, total)
    return out
