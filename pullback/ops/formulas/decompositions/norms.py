"""Helpers of the derivatives of norms and distances. Where a norm is 0 its gradient is 0, the one of least length."""

import math

__all__ = ["cdist_backward", "cdist_jvp", "renorm_backward", "renorm_jvp", "vector_norm_backward", "vector_norm_jvp"]

_BLOCK = 2**17  # differences at a time, of all rows to all rows: 1 MB, which caches hold


def _kept(x, dim, ndim, keepdim, ops):
    """A result of a reduction with its dimensions kept, of size 1."""
    if keepdim or not ndim:
        return x
    if dim is None:
        return ops.reshape(x, (1,) * ndim)
    dims = [dim] if isinstance(dim, int) else dim
    for d in sorted(d % ndim for d in dims):
        x = ops.unsqueeze(x, d)
    return x


def norm_slope(x, ord, norm, dim, ops):
    """The gradient of the norm over dim, `norm` having the dimensions of `x`.

    By quotients x / norm, which are at most 1, so no power overflows where the norm does not.
    """
    if ord == 0:
        return ops.zeros_like(x)
    if ord == 1:
        return ops.sgn(x)
    if ord == 2:
        return x / _nonzero(norm, ops)
    size = ops.abs(x)
    if math.isinf(ord):
        largest = ops.eq(size, norm)
        shares = ops.sum(ops.to(largest, size.dtype), dim, True)
        return ops.sgn(x) * (ops.to(largest, size.dtype) / shares)
    # Chosen before dividing and before the power, so that no infinity enters a later derivative. A norm of negative
    # order is 0, and flat but for the kink, where any element is.
    regular = ops.logical_and(ops.ne(size, 0), ops.ne(norm, 0))
    ratio = ops.where(regular, size, 1.0) / ops.where(ops.eq(norm, 0), 1.0, norm)
    return ops.where(regular, ops.sgn(x) * ratio ** (ord - 1), 0.0)


def _nonzero(norm, ops):
    return ops.where(ops.eq(norm, 0), ops.full_like(norm, math.inf), norm)


def vector_norm_backward(grad, self, ord, dim, keepdim, dtype, result, *, ops):
    """grad times the slope."""
    self = self if dtype is None else ops.to(self, dtype)
    ndim = self.ndim
    norm, grad = _kept(result, dim, ndim, keepdim, ops), _kept(grad, dim, ndim, keepdim, ops)
    found = grad * norm_slope(self, ord, norm, dim, ops)
    if not math.isinf(ord):
        return found
    size = ops.abs(self)  # where that is NaN, so is the gradient
    return ops.where(ops.logical_or(ops.lt(size, norm), ops.gt(size, norm)), 0, found)


def vector_norm_jvp(self, tangent, ord, dim, keepdim, dtype, result, *, ops):
    """Re <slope, tangent>."""
    if dtype is not None:
        self, tangent = ops.to(self, dtype), ops.to(tangent, dtype)
    slope = norm_slope(self, ord, _kept(result, dim, self.ndim, keepdim, ops), dim, ops)
    return ops.sum(ops.real(ops.conjugate(slope) * tangent), dim, keepdim)


def _renorm_parts(self, p, dim, maxnorm, ops):
    """The other dimensions, the factor f on self, -f' shifted and what is shifted, the norm's slope."""
    others = [d for d in range(self.ndim) if d != dim % self.ndim]
    norms = ops.linalg_vector_norm(self, p, others, True)
    beyond, shifted = ops.gt(norms, maxnorm), norms + 1e-7
    factor = ops.where(beyond, maxnorm / shifted, ops.ones_like(norms))
    falling = ops.where(beyond, factor, ops.zeros_like(norms))
    return others, factor, falling, shifted, norm_slope(self, p, norms, others, ops)


def renorm_backward(grad, self, p, dim, maxnorm, *, ops):
    """grad f(|x|) + slope f'(|x|) Re <x, grad> for x f(|x|)."""
    others, factor, falling, shifted, slope = _renorm_parts(self, p, dim, maxnorm, ops)
    along = ops.sum(ops.real(ops.conjugate(self / shifted) * grad), others, True)
    return grad * factor - slope * (falling * along)


def renorm_jvp(self, tangent, p, dim, maxnorm, *, ops):
    """t f(|x|) + x f'(|x|) Re <slope, t>."""
    others, factor, falling, shifted, slope = _renorm_parts(self, p, dim, maxnorm, ops)
    along = ops.sum(ops.real(ops.conjugate(slope) * tangent), others, True)
    return tangent * factor - self / shifted * (falling * along)


def _differences(x1, x2, ops):
    return ops.unsqueeze(x1, -2) - ops.unsqueeze(x2, -3)


def cdist_backward(grad, x1, x2, p, distances, mask, *, ops):
    """For p = 2 two products of matrices; a distance of 0 has no direction and gives 0."""
    if p == 2:
        weights = grad / _nonzero(distances, ops)
        # What both have in common drops out of the differences, but not of the rounding.
        middle = ops.mean(x2, -2, True) if x2.shape[-2] else 0
        x1, x2 = x1 - middle, x2 - middle
        first = second = None
        if mask[0]:
            first = x1 * ops.sum(weights, -1, True) - ops.matmul(weights, x2)
        if mask[1]:
            turned = ops.transpose(weights, -2, -1)
            second = x2 * ops.sum(turned, -1, True) - ops.matmul(turned, x1)
        return first, second
    first, second = [], None
    for rows, given, found in _blocks((x1, grad, distances), x2, ops):
        slopes = norm_slope(_differences(rows, x2, ops), p, ops.unsqueeze(found, -1), -1, ops)
        pull = ops.unsqueeze(given, -1) * slopes
        if mask[0]:
            first.append(ops.sum(pull, -2))
        if mask[1]:
            part = -ops.sum(pull, -3)
            second = part if second is None else second + part
    return _together(first, ops) if mask[0] else None, second


def cdist_jvp(x1, dx1, x2, dx2, p, distances, *, ops):
    """<slope, dx1 - dx2>; either may be None."""
    parts = []
    for rows, moved, found in _blocks((x1, x1 if dx1 is None else dx1, distances), x2, ops):
        slopes = norm_slope(_differences(rows, x2, ops), p, ops.unsqueeze(found, -1), -1, ops)
        if dx1 is None:
            change = -ops.unsqueeze(dx2, -3)
        else:
            change = ops.unsqueeze(moved, -2) if dx2 is None else _differences(moved, dx2, ops)
        parts.append(ops.sum(slopes * change, -1))
    return _together(parts, ops)


def _blocks(matrices, x2, ops):
    """Some rows of the matrices at a time, so that their differences to all rows of x2 fit into a cache."""
    distances = matrices[-1]
    rows = distances.shape[-2]
    step = max(_BLOCK * rows // max(distances.size * x2.shape[-1], 1), 1)
    if step >= rows:
        return [matrices]
    counts = [(start, min(step, rows - start)) for start in range(0, rows, step)]
    return [tuple(ops.narrow(x, -2, start, count) for x in matrices) for start, count in counts]


def _together(parts, ops):
    return parts[0] if len(parts) == 1 else ops.cat(parts, -2)
