"""NumPy kernels of `nn.functional`: the layers and activations that are primitives.

The backward kernels are operators themselves, so that they can reuse their buffers and still be differentiated.
"""

import functools
import math

import numpy as np

from pullback.arrays.numpy.fast.blocks import by_blocks
from pullback.arrays.numpy.fast.flat_indices import summed_rows
from pullback.arrays.numpy.fast.kept_vectors import MOST
from pullback.arrays.numpy.fast.normal_distribution import times_normal_cdf
from pullback.arrays.numpy.fast.products_with_ones import row_sums
from pullback.arrays.numpy.indexing.subscripts import add_at
from pullback.arrays.numpy.random.draws import source
from pullback.arrays.numpy.reductions.sums_and_extrema import inexact_only

_SQRT_2_PI = math.sqrt(2 / math.pi)
_INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)
# By bytes of an element: from here on softplus(x) is x to the last digit, and exp(x) is still finite.
_IDENTITY = {2: 11, 4: 50, 8: 50}
_SHORT = 256  # rows up to this length are short
_SHORT_DOT = 32  # rows from this length on are multiplied and summed one by one
_SMALL = 512  # elements, below which NumPy's own reductions are quickest
_NEAR = 16  # in logarithms, how far below the largest number a row may lie without losing digits


def floating_only(name, dtype):
    """Refuse what is not real floating point."""
    if dtype.kind != "f":
        raise RuntimeError(f"{name}(): input must have a floating-point dtype, but it is {dtype}; convert it first.")


# -- layers ----------------------------------------------------------------------------------------------------------
def linear(input, weight, bias=None):
    """input @ weight.T + bias. BLAS reads the transposed weight in place; leading dimensions become one gemm."""
    if (
        input.ndim == 2 == weight.ndim
        and input.shape[1] == weight.shape[1]
        and input.dtype.char in "fd"
        and bias is not None
        and bias.shape == weight.shape[:1]
    ):
        out = input.dot(weight.T)  # less overhead than matmul
        if out.dtype == bias.dtype:
            out += bias
            return out
        return out + bias
    if weight.ndim not in (1, 2):
        raise RuntimeError(
            f"linear(): weight must have shape (out_features, in_features) or (in_features,), but has {weight.shape}."
        )
    if input.ndim == 0 or input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"linear(): input of shape {input.shape} and weight of shape {weight.shape} must have the same last "
            "dimension (in_features)."
        )
    if input.ndim > 2 and input.size:
        out = np.matmul(input.reshape(-1, input.shape[-1]), weight.T).reshape(input.shape[:-1] + weight.shape[:-1])
    else:
        out = np.matmul(input, weight.T)
    if bias is None:
        return out
    if weight.ndim == 1 or bias.ndim > 1 or bias.size not in (1, len(weight)):
        raise RuntimeError(
            f"linear(): The size of tensor a ({len(weight)}) must match the size of tensor b ({bias.size}): bias must "
            f"have shape (out_features,) for weight of shape (out_features, in_features), but bias "
            f"has shape {bias.shape} and weight {weight.shape}."
        )
    if out.dtype == bias.dtype:
        out += bias
        return out
    return out + bias


def embedding_rows(input, weight, padding_idx=None, scale_grad_by_freq=False):
    """Rows of weight; padding_idx and scale_grad_by_freq matter to the gradient alone."""
    if weight.ndim != 2:
        raise RuntimeError(f"embedding(): 'weight' must be 2-D, (rows, features), but has shape {weight.shape}.")
    if input.dtype.kind not in "iu":
        raise RuntimeError(f"embedding(): input must hold integer row indices, but its dtype is {input.dtype}.")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"embedding(): padding_idx {padding_idx} is out of range for {rows} rows.")
    if input.size and (input.min() < 0 or input.max() >= rows):
        raise IndexError(f"embedding(): input holds {input.min()} to {input.max()}, but weight has {rows} rows.")
    return weight[input] if input.ndim else weight[input].copy()


def embedding_rows_backward(grad_output, indices, num_weights, padding_idx=None, scale_grad_by_freq=False):
    """The transpose of embedding: the gradients of each row added up (or averaged); none for the padding row."""
    if scale_grad_by_freq:
        counts = np.bincount(indices.reshape(-1), minlength=num_weights).astype(grad_output.dtype)
        grad_output = grad_output / counts[indices][..., None]
    shape, rows = (num_weights, grad_output.shape[-1]), indices.reshape(-1)
    each = grad_output.reshape(rows.size, shape[1])
    if (out := summed_rows(shape, rows, each)) is None:
        add_at(out := np.zeros(shape, grad_output.dtype), (rows,), each)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def native_dropout(input, p, train=True):
    """(input with each element zero with probability p, the rest scaled by 1 / (1 - p); the mask of the rest)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout(): the probability p must lie between 0 and 1, but got {p}.")
    inexact_only("dropout", input.dtype)
    if not train:
        return np.array(input), np.ones(input.shape, np.bool_)
    mask = source(None).random(input.shape, np.float32) >= p
    if p == 1:
        return np.zeros_like(input), mask
    return np.multiply(input * mask, input.dtype.type(1 / (1 - p))), mask


def one_hot(self, num_classes=-1):
    """Rows with a single 1, as int64."""
    if self.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot(): input must hold integers, but its dtype is {self.dtype}.")
    if self.size == 0 and num_classes <= 0:
        raise RuntimeError("one_hot(): an empty input does not say how many classes there are; pass num_classes.")
    if self.size and self.min() < 0:
        raise RuntimeError(f"one_hot(): class values must not be negative, but input holds {self.min()}.")
    if num_classes == -1:
        num_classes = int(self.max()) + 1
    if num_classes < 1 or (self.size and self.max() >= num_classes):
        raise RuntimeError(f"one_hot(): class values must be smaller than num_classes, which is {num_classes}.")
    return (self[..., None] == np.arange(num_classes)).astype(np.int64)


# -- activations -----------------------------------------------------------------------------------------------------
def _check_gelu(name, self, approximate):
    floating_only(name, self.dtype)
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"{name}(): approximate must be 'none' or 'tanh', but got {approximate!r}.")


def gelu(self, approximate="none"):
    """x times the normal distribution function of x, which keeps its digits in the lower tail; 0 at -inf."""
    _check_gelu("gelu", self, approximate)
    if approximate == "none":
        return times_normal_cdf(self)
    return by_blocks(_fill_gelu_by_tanh, 1, self)


@functools.cache
def _of_dtype(dtype):
    """The numbers below in a dtype, as arrays without dimensions: NumPy need not convert them."""
    cubic = 0.044715
    return tuple(
        np.array(x, dtype)
        for x in (1, -2 * _SQRT_2_PI, -2 * _SQRT_2_PI * cubic, 3 * cubic, 2 * _SQRT_2_PI, -0.5, _INV_SQRT_TAU)
    )


def _fill_gelu_by_tanh(x, out, divisor):
    """x / (1 + exp(-2 u)) for u = sqrt(2/pi) (x + 0.044715 x**3): (1 + tanh(u)) / 2 cancels in the lower tail."""
    one, linear, cubic, *_ = _of_dtype(x.dtype)
    np.multiply(x, x, out=divisor)
    divisor *= cubic
    divisor += linear
    divisor *= x
    np.exp(divisor, out=divisor)
    divisor += one
    x.clip(-40, math.inf, out=out)  # where the divisor is infinite; two infinities must not meet
    out /= divisor


def gelu_backward(grad_output, self, output, approximate="none"):
    """grad_output * gelu'(self); output / self is the distribution function, which takes longest."""
    _check_gelu("gelu_backward", self, approximate)
    fill = _fill_gelu_slope if approximate == "none" else _fill_gelu_slope_by_tanh
    out = by_blocks(fill, 2, self, output)
    return np.multiply(out, grad_output, out=out)


def _fill_gelu_slope(x, output, out, x_within, part):
    """cdf(x) + x pdf(x)."""
    *_, minus_half, scale = _of_dtype(x.dtype)
    _fill_cdf(x, output, out, x_within, part)
    part *= minus_half
    np.exp(part, out=part)
    part *= scale
    part *= x_within
    out += part


def _fill_gelu_slope_by_tanh(x, output, out, x_within, part):
    """cdf + x cdf', where cdf = (1 + t)/2 with t = tanh(u), so that cdf' = (1 - t**2)/2 u' = 2 cdf (1 - cdf) u'."""
    one, _, _, cubic, linear, *_ = _of_dtype(x.dtype)
    _fill_cdf(x, output, out, x_within, part)
    part *= cubic
    part += one
    part *= linear
    part *= out
    part *= one - out
    part *= x_within
    out += part


def _fill_cdf(x, output, out, x_within, square):
    """output / x, as x_within and its square: x where the function is neither 0 nor 1 to the last digit."""
    x.clip(-40, 40, out=x_within)  # so that infinities do not meet
    output.clip(-math.inf, 40, out=out)
    np.multiply(x_within, x_within, out=square)
    if not np.minimum.reduce(square, initial=1) > 0:
        tiny = np.abs(x_within) < 4 * np.finfo(x.dtype).tiny  # where output has lost digits, or is 0
        out[tiny] = 0.5
        x_within[tiny] = 1
        out /= x_within
        x_within[tiny] = 0
    else:
        out /= x_within


def softsign(self):
    """x / (1 + |x|), 1 in modulus at infinity."""
    self = np.asarray(self, None if self.dtype.kind in "fc" else float)
    size = np.abs(self)
    if np.isinf(size).any():
        return np.where(np.isinf(size), np.sign(self), self / (1 + np.where(np.isinf(size), 0, size)))
    return self / (1 + size)


def softplus(self, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    floating_only("softplus", self.dtype)
    scaled = np.multiply(self, beta)
    threshold = min(threshold, _IDENTITY.get(scaled.dtype.itemsize, 50))
    small = not scaled.size or np.maximum.reduce(scaled, axis=None) <= threshold  # False where there is nan
    with np.errstate(under="ignore"):
        soft = np.exp(scaled if small else np.clip(scaled, -math.inf, threshold))
        soft = np.true_divide(np.log1p(soft), beta)
    return soft if small else np.where(scaled > threshold, self, soft)


# -- softmax ---------------------------------------------------------------------------------------------------------
# Rows of contiguous memory are those of a matrix, whatever the number of dimensions: their sums are products with ones.
def _as_rows(x, dim):
    """x as a matrix whose rows lie along dim; None where they do not lie in one piece, or are few numbers."""
    if x.size < _SMALL or dim not in (-1, x.ndim - 1) or x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return None
    return x.reshape(-1, x.shape[-1])


def _row_sums(rows):
    """The sums of the rows of a matrix, as a column."""
    if rows.shape[1] <= MOST:
        return row_sums(rows)[:, None]
    return np.add.reduce(rows, axis=1, keepdims=True)


def _spread_is_small(rows):
    """True if no number lies so far below the largest that its exponential loses digits by a shift common to all."""
    return np.maximum.reduce(rows, axis=None) - np.minimum.reduce(rows, axis=None) <= _NEAR


def _moderate(rows):
    """True if the exponentials of all numbers keep all digits without a shift; not where there is nan."""
    return np.maximum.reduce(rows, axis=None) <= _NEAR and np.minimum.reduce(rows, axis=None) >= -_NEAR


def _scores(name, self, dim, dtype):
    """self in the dtype asked for, which must be real floating; a wrong dim is refused even if there are no scores."""
    if dtype is not None:
        self = self.astype(dtype, copy=False)
    if self.dtype.kind == "c":
        raise RuntimeError(f"{name}(): complex input ({self.dtype}) is not supported.")
    if self.dtype.kind != "f":
        raise RuntimeError(f"{name}(): input of dtype {self.dtype} needs dtype=, for instance dtype=numpy.float64.")
    if self.size == 0:
        np.add.reduce(self, axis=dim)
    return self


def _shifted(scores, dim):
    """scores less their largest along dim, in a new array."""
    if not scores.size:
        return np.array(scores)
    return np.asarray(scores - np.maximum.reduce(scores, axis=dim, keepdims=True))


def softmax(self, dim, dtype=None):
    """exp(x) / sum(exp(x)), in one buffer."""
    scores = _scores("softmax", self, dim, dtype)
    rows = _as_rows(scores, dim)
    if rows is None:
        out = _shifted(scores, dim)
        np.exp(out, out=out)
        out /= np.add.reduce(out, axis=dim, keepdims=True)
        return out
    out = np.empty(scores.shape, scores.dtype)
    filled = out.reshape(rows.shape)
    if _moderate(rows):
        np.exp(rows, out=filled)
    else:
        np.subtract(rows, np.maximum.reduce(rows, axis=1, keepdims=True), out=filled)
        np.exp(filled, out=filled)
    filled /= _row_sums(filled)
    return out


def softmax_backward(grad_output, output, dim):
    """y (g - sum(g y))."""
    rows = _as_rows(output, dim)
    grads = rows if rows is None else _as_rows(grad_output, dim)
    if grads is None or grads.dtype != rows.dtype or grads.shape != rows.shape:
        out = np.asarray(grad_output * output)
        np.subtract(grad_output, np.add.reduce(out, axis=dim, keepdims=True), out=out)
        out *= output
        return out
    out = np.empty(output.shape, output.dtype)
    filled = out.reshape(rows.shape)
    if _SHORT_DOT <= rows.shape[1] <= MOST:
        sums = np.vecdot(grads, rows)[:, None]
    else:
        sums = _row_sums(np.multiply(grads, rows, out=filled))
    np.subtract(grads, sums, out=filled)
    filled *= rows
    return out


def log_softmax(self, dim, dtype=None):
    """x - log(sum(exp(x))), by the differences from the largest x."""
    scores = _scores("log_softmax", self, dim, dtype)
    rows = _as_rows(scores, dim)
    if rows is None:
        out = _shifted(scores, dim)
        out -= np.log(np.add.reduce(np.exp(out), axis=dim, keepdims=True))
        return out
    out = np.empty(scores.shape, scores.dtype)
    filled = out.reshape(rows.shape)
    # Short rows NumPy reduces one by one, which takes longer than all else.
    common = rows.shape[1] <= _SHORT and _spread_is_small(rows)
    np.subtract(rows, np.maximum.reduce(rows, axis=None if common else 1, keepdims=True), out=filled)
    filled -= np.log(_row_sums(np.exp(filled)))
    return out


def log_softmax_backward(grad_output, output, dim):
    """g - exp(y) sum(g)."""
    out = np.asarray(np.exp(output))
    filled = _as_rows(out, dim)
    grads = filled if filled is None else _as_rows(grad_output, dim)
    if grads is None or grads.dtype != filled.dtype or grads.shape != filled.shape:
        out *= np.add.reduce(grad_output, axis=dim, keepdims=True)
        np.subtract(grad_output, out, out=out)
        return out
    filled *= _row_sums(grads)
    np.subtract(grads, filled, out=filled)
    return out


def causal_mask(self):
    """Which elements of matrices are on the main diagonal or below: what a query may attend to."""
    return np.tri(*self.shape[-2:], dtype=bool)
