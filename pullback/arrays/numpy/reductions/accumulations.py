"""NumPy kernels that accumulate along a dimension: running sums, products, extremes, and linear recurrences."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.fast.running_sums import LARGE, running_sum
from pullback.arrays.numpy.reductions.sums_and_extrema import inexact_only, ordered_only

# Up to this length a recurrence is stepped through; beyond, doubling takes fewer NumPy calls.
_STEPS_AT_MOST = 64


def _accumulate(ufunc, self, dim, dtype=None):
    """ufunc.accumulate, which refuses 0-d arrays and, unlike PyTorch, has no `dim` for them."""
    if self.ndim == 0:
        if dim not in (0, -1):
            raise IndexError(f"dim must be 0 or -1 for a 0-d input, but got {dim}.")
        return ufunc.accumulate(self.reshape(1), dtype=dtype).reshape(())
    return ufunc.accumulate(self, axis=dim, dtype=dtype)


def _leading(self, dim):
    """A view with dimension `dim` first; a 0-d array counts as one element."""
    return np.moveaxis(self, dim, 0) if self.ndim else self.reshape(1)


def cumsum(self, dim, dtype=None):
    """Running sum."""
    if self.size >= LARGE and dtype is None and (out := running_sum(self, dim)) is not None:
        return out
    return _accumulate(np.add, self, dim, dtype)


def cumsum_backward(grad_output, dim):
    """The sum from each element to the last along dim."""
    if grad_output.ndim == 0:
        return np.array(grad_output)
    if grad_output.size >= LARGE and (out := running_sum(grad_output, dim, reverse=True)) is not None:
        return out
    backwards = (slice(None),) * (dim % grad_output.ndim) + (slice(None, None, -1),)
    return np.add.accumulate(grad_output[backwards], axis=dim)[backwards]


def cumprod(self, dim, dtype=None):
    """Running product."""
    return _accumulate(np.multiply, self, dim, dtype)


def _extremes_so_far(ufunc, name, self, dim):
    """Running extremes and the last position where each was met; NaN, once met, stays."""
    ordered_only(name, self)
    values = _accumulate(ufunc, self, dim)
    if self.ndim == 0:
        return values, np.zeros((), np.int64)
    is_new = values == self
    if self.dtype.kind == "f":
        is_new |= np.isnan(self)
    position = np.arange(self.shape[dim]).reshape([-1 if i == dim % self.ndim else 1 for i in range(self.ndim)])
    return values, np.maximum.accumulate(np.where(is_new, position, 0), axis=dim)


def cummax(self, dim):
    """(running maximum, where it was last met)."""
    return _extremes_so_far(np.maximum, "cummax", self, dim)


def cummin(self, dim):
    """(running minimum, where it was last met)."""
    return _extremes_so_far(np.minimum, "cummin", self, dim)


def _complex_logaddexp(a, b):
    """log(exp(a) + exp(b)) = top + log1p(exp(other - top)), where top is the one with the larger real part."""
    swap = a.real < b.real
    top, other = np.where(swap, b, a), np.where(swap, a, b)
    both_empty = other.real == -np.inf  # also where top is -inf too, and the difference would be NaN
    return top + np.where(both_empty, 0, np.log1p(np.exp(np.where(both_empty, 0, other - top))))


@loops("steps")
def linear_recurrence(self, coefficients, dim, reverse=False):
    """s[i] = x[i] + c[i] s[i-1] along `dim`, or s[i] = x[i] + c[i+1] s[i+1] when `reverse`: each the other's transpose.

    x is `self`, c `coefficients`; the coefficient without a neighbour is not used.
    """
    dtype = np.result_type(self, coefficients)
    if self.ndim == 0:
        return self.astype(dtype)
    out = np.array(self, dtype)
    s, c = np.moveaxis(out, dim, 0), np.moveaxis(coefficients, dim, 0)
    if reverse:
        s, c = s[::-1], np.concatenate((c[:1], c[:0:-1]))
    if len(s) > _STEPS_AT_MOST:
        s[...] = _recurrence_by_doubling(s, c)
        if np.isfinite(s).all():
            return out
        # Products of coefficients may overflow where no sum does: start again, and step.
        out[...] = self
    for i in range(1, len(s)):
        s[i] += c[i] * s[i - 1]
    return out


@loops("steps")
def _recurrence_by_doubling(x, c):
    """s[i] = x[i] + c[i] s[i-1] in log2(n) passes over ever longer windows."""
    s, c = np.array(x), np.array(c, x.dtype)
    c[0] = 0
    step = 1
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks, and steps through where this overflowed
        while step < len(s):
            s[step:] += c[step:] * s[:-step]
            c[step:] *= c[:-step].copy()
            step *= 2
    return s


@loops("steps")
def logcumsumexp(self, dim):
    """log(cumsum(exp(x))) without overflow; a complex one stays on the branch of its largest term, as PyTorch's."""
    inexact_only("logcumsumexp", self.dtype)
    if self.dtype.kind != "c":
        return _accumulate(np.logaddexp, self, dim)
    out = np.array(_leading(self, dim))
    for i in range(1, len(out)):
        out[i] = _complex_logaddexp(out[i - 1], out[i])
    return np.moveaxis(out, 0, dim) if self.ndim else out[0]
