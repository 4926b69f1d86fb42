"""Norms of vectors and distances between rows."""

import math

import numpy as np
import scipy.spatial.distance

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.decompositions.matrices import matrices_of
from pullback.core.dims import wrap_dim
from pullback.core.errors import OperatorError

_SCIPY = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}


def linalg_vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    """(sum |x|^ord)^(1/ord) over dim; ord 0 counts what is not 0, inf and -inf are the largest and the smallest."""
    x = _cast(self, dtype)
    if not isinstance(ord, (int, float, np.number)):
        raise OperatorError(f"linalg.vector_norm: ord must be a number, got {ord!r}")
    if x.dtype.kind not in "fc":
        raise OperatorError(f"linalg.vector_norm: input must be floating point or complex, got {x.dtype}; pass dtype")
    axes = _axes(x, dim)
    if ord < 0 or math.isinf(ord):
        _require_elements(x, axes, ord)
    if ord == 0:
        return np.asarray(np.count_nonzero(x, axes, keepdims=keepdim)).astype(_real(x.dtype))
    if math.isinf(ord):
        return (np.amax if ord > 0 else np.amin)(np.abs(x), axes, keepdims=keepdim)
    if ord == 1:
        return np.sum(np.abs(x), axes, keepdims=keepdim)
    plain = _euclidean(x, axes, keepdim) if ord == 2 else _power_sum(np.abs(x), ord, axes, keepdim)
    return plain if _is_safe(plain, x.dtype) else _scaled(x, ord, axes, keepdim, plain)


def _axes(x, dim):
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return None
    wrapped = tuple(wrap_dim(d, x.ndim, "linalg.vector_norm") for d in ([dim] if isinstance(dim, int) else dim))
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"linalg.vector_norm: a dimension appears twice in {dim}")
    return wrapped if x.ndim else None


def _cast(x, dtype):
    if dtype is None:
        return x
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc" or (dtype.kind == "f" and x.dtype.kind == "c"):
        raise OperatorError(f"linalg.vector_norm: dtype must be floating point, complex for {x.dtype}, got {dtype}")
    return x.astype(dtype, copy=False)


def _require_elements(x, axes, ord):
    sizes = x.shape if axes is None else [x.shape[a] for a in axes]
    if 0 in sizes and (x.size == 0 and (axes is None or 0 in sizes)):
        raise OperatorError(
            f"linalg.vector_norm: the norm of order {ord} of no elements (shape {x.shape}) is undefined"
        )


def _real(dtype):
    return np.empty(0, dtype).real.dtype


def _euclidean(x, axes, keepdim):
    with np.errstate(over="ignore"):
        if axes is None and x.flags.c_contiguous:
            flat = x.reshape(-1)
            total = np.asarray(np.vdot(flat, flat).real)
            total = total.reshape((1,) * x.ndim) if keepdim else total
        else:
            squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
            total = np.sum(squares, axes, keepdims=keepdim)
        return np.sqrt(total)


def _power_sum(sizes, ord, axes, keepdim):
    with np.errstate(over="ignore", divide="ignore"):
        return np.sum(sizes**ord, axes, keepdims=keepdim) ** (1 / ord)


def _is_safe(norm, dtype):
    """True if no sum can have overflown or lost its digits to underflow."""
    limits = np.finfo(dtype)
    return bool(np.all((norm > limits.tiny**0.25) & (norm < limits.max**0.25)))


def _scaled(x, ord, axes, keepdim, plain):
    """The norm by quotients with the largest element, where there is one to divide by."""
    sizes = np.abs(x)
    largest = np.amax(sizes, axes, keepdims=True, initial=0)
    usable = np.isfinite(largest) & (largest > 0)
    scaled = np.where(usable, largest, 1)
    with np.errstate(over="ignore", divide="ignore"):
        norm = _power_sum(sizes / scaled, ord, axes, True) * scaled
    return norm if keepdim else norm.reshape(np.shape(plain))


def renorm(self, p, dim, maxnorm):
    """The slices along dim whose norm exceeds maxnorm scaled down to it."""
    if p <= 0:
        raise OperatorError(f"renorm: p must be positive, got {p}")
    if maxnorm < 0:
        raise OperatorError(f"renorm: maxnorm must not be negative, got {maxnorm}")
    if self.ndim < 2:
        raise OperatorError(f"renorm: input must have at least 2 dimensions, got shape {self.shape}")
    kept = wrap_dim(dim, self.ndim, "renorm")
    norms = linalg_vector_norm(self, p, [d for d in range(self.ndim) if d != kept], True)
    # The summand is PyTorch's; it is seen in the last digits.
    return self * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), np.ones_like(norms)).astype(norms.dtype)


@loops("matrices")
def cdist_rows(x1, x2, p=2.0):
    """Distances between all rows of two batches of matrices: row i of x1, row j of x2 at [i, j].

    SciPy computes each pair in turn, with no array of all differences, one matrix of the batch at a time.
    """
    dtype = np.result_type(x1, x2)
    batch, (left, right) = matrices_of(x1, x2)
    out = np.zeros((*left.shape[:-1], right.shape[-2]), dtype)
    if out.size and x1.shape[-1]:
        if len(out) >= 8 and out.size // len(out) * x1.shape[-1] <= 500:
            out = _small_distances(left, right, p, dtype)
        else:
            for a, b, found in zip(left, right, out, strict=True):
                found[...] = _distances(a, b, p)
    return out.reshape(*batch, *out.shape[1:])


@loops("columns")
def _small_distances(left, right, p, dtype):
    """The same of many small matrices at once: coordinate by coordinate, with the batch along the last dimension."""
    a, b = (np.ascontiguousarray(np.moveaxis(x, 0, -1), dtype) for x in (left, right))
    total = np.zeros((len(a), len(b), len(left)), dtype)
    for k in range(a.shape[1]):
        step = a[:, None, k] - b[None, :, k]
        if p == 2:
            step *= step
        elif p == 0:
            step = step != 0
        else:
            np.abs(step, out=step)
            step = step if p == 1 or math.isinf(p) else step**p
        (np.maximum if math.isinf(p) else np.add)(total, step, out=total)
    if p == 2:
        np.sqrt(total, out=total)
    elif p not in (0, 1, math.inf):
        total **= 1 / p
    return np.ascontiguousarray(np.moveaxis(total, -1, 0))


def _distances(a, b, p):
    if p == 0:
        return scipy.spatial.distance.cdist(a, b, "hamming") * a.shape[-1]
    if p in _SCIPY:
        return scipy.spatial.distance.cdist(a, b, _SCIPY[p])
    return scipy.spatial.distance.cdist(a, b, "minkowski", p=p)
