"""Products of chains of matrices, Vandermonde and block diagonal matrices, covariance."""

from functools import partial
from itertools import pairwise

from pullback.core.array_type import refuse_where
from pullback.core.errors import OperatorError
from pullback.ops.composite.casts import floating


def linalg_matmul(self, other, *, ops):
    """The matrix product."""
    return ops.matmul(self, other)


def linalg_vecdot(x, y, *, dim=-1, ops):
    """Sums of products along dim, x conjugated."""
    return ops.sum(ops.conjugate(x) * y, dim)


def linalg_cross(self, other, *, dim=-1, ops):
    """The cross product along dim."""
    if self.ndim != other.ndim:
        raise OperatorError(
            "linalg.cross: both inputs must have the same number of dimensions, "
            f"got shapes {tuple(self.shape)} and {tuple(other.shape)}"
        )
    return ops.cross(self, other, dim)


def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1, ops):
    """A view of diagonals of matrices."""
    return ops.diagonal(A, offset, dim1, dim2)


def linalg_multi_dot(tensors, *, ops):
    """The product of matrices (the first and last may be vectors) in the order that multiplies least."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise OperatorError(f"linalg.multi_dot: expected at least two tensors, got {len(tensors)}")
    for i, x in enumerate(tensors):
        allowed = (1, 2) if i in (0, len(tensors) - 1) else (2,)
        if x.ndim not in allowed:
            raise OperatorError(
                f"linalg.multi_dot: tensor {i} must have {' or '.join(map(str, allowed))} dimensions, "
                f"got {tuple(x.shape)}"
            )
    if len({x.dtype for x in tensors}) > 1:
        raise OperatorError(
            f"linalg.multi_dot: all tensors must have the same dtype, got {[str(x.dtype) for x in tensors]}"
        )
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if row:
        tensors[0] = ops.unsqueeze(tensors[0], 0)
    if column:
        tensors[-1] = ops.unsqueeze(tensors[-1], 1)
    for left, right in pairwise(tensors):
        if left.shape[-1] != right.shape[0]:
            raise OperatorError(
                f"linalg.multi_dot: shapes {tuple(left.shape)} and {tuple(right.shape)} of neighbours do not fit"
            )
    found = _multiplied(
        tensors, _splits([tensors[0].shape[0], *(x.shape[1] for x in tensors)]), 0, len(tensors) - 1, ops
    )
    found = ops.squeeze(found, -1) if column else found
    return ops.squeeze(found, 0) if row else found


def _splits(sizes):
    """Where to split each part of the chain: the classical dynamic program over its length."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], split[i][j] = min(ways)
    return split


def _multiplied(tensors, splits, i, j, ops):
    if i == j:
        return tensors[i]
    k = splits[i][j]
    return ops.matmul(_multiplied(tensors, splits, i, k, ops), _multiplied(tensors, splits, k + 1, j, ops))


def chain_matmul(matrices, *, ops):
    """The product of matrices."""
    return ops.clone(matrices[0]) if len(matrices) == 1 else linalg_multi_dot(matrices, ops=ops)


def linalg_vander(x, *, N=None, ops):
    """Rows 1, x, x^2, ...: running products, whose slopes are right at 0."""
    x = ops.reshape(x, (1,)) if x.ndim == 0 else x
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise OperatorError(f"linalg.vander: N must be greater than 1, got {N} for x of shape {tuple(x.shape)}")
    repeated = ops.expand(ops.unsqueeze(x, -1), (*x.shape, N - 1))
    first = ops.ones([*x.shape, 1], dtype=repeated.dtype)
    return ops.cat([first, ops.cumprod(repeated, -1)], -1)


def vander(x, N=None, increasing=False, *, ops):
    """Powers of a vector, by default the highest first."""
    if x.ndim != 1:
        raise OperatorError(f"vander: x must be a vector, got shape {tuple(x.shape)}")
    N = x.shape[0] if N is None else N
    if N < 0:
        raise OperatorError(f"vander: N must not be negative, got {N}")
    repeated = ops.expand(ops.unsqueeze(x, -1), (x.shape[0], max(N - 1, 0)))
    powers = ops.cat([ops.ones([x.shape[0], min(N, 1)], dtype=x.dtype), ops.cumprod(repeated, -1)], -1)
    return powers if increasing else ops.flip(powers, [-1])


def block_diag(tensors, *, ops):
    """A matrix with the tensors on its diagonal, zeros elsewhere."""
    for i, x in enumerate(tensors):
        if x.ndim > 2:
            raise OperatorError(f"block_diag: tensor {i} must have at most 2 dimensions, got shape {tuple(x.shape)}")
    blocks = [ops.atleast_2d(x) for x in tensors]
    if not blocks:
        return ops.zeros([1, 0])
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        height, columns = x.shape
        left = ops.zeros([height, before], dtype=x.dtype)
        right = ops.zeros([height, width - before - columns], dtype=x.dtype)
        rows.append(ops.cat([left, x, right], 1))
        before += columns
    return ops.cat(rows, 0)


def cov(self, *, correction=1, fweights=None, aweights=None, ops):
    """The covariance of variables in rows, observations in columns, weighted."""
    if self.ndim > 2:
        raise OperatorError(f"cov: input must have at most 2 dimensions, got shape {tuple(self.shape)}")
    x = ops.reshape(self, (1, -1)) if self.ndim < 2 else self
    x = floating(x, ops)
    count = x.shape[1]
    weights = _weights(fweights, aweights, count, ops.real(x).dtype, ops)
    if weights is None:
        total = float(count)
        mean = ops.sum(x, 1, True) / max(total, 1.0) if count else ops.sum(x, 1, True)
        divisor = max(total - correction, 0.0)
        x = x - mean
        found = ops.matmul(x, ops.conjugate(ops.transpose(x, 0, 1)))
    else:
        total = ops.sum(weights)
        x = x - ops.sum(x * weights, 1, True) / total
        lost = correction
        if correction and aweights is not None:
            lost = correction * ops.sum(weights * aweights) / total
        divisor = ops.clamp_min(total - lost, 0)
        found = ops.matmul(x * weights, ops.conjugate(ops.transpose(x, 0, 1)))
    return ops.squeeze(found / divisor)


def _weights(fweights, aweights, count, dtype, ops):
    """How often and how much each observation counts; None for equally."""
    for name, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is None:
            continue
        if given.ndim > 1 or given.size != count:
            raise OperatorError(f"cov: {name} must be a vector of {count} observations, got shape {tuple(given.shape)}")
        if given.dtype.kind not in kinds:
            raise OperatorError(f"cov: {name} must be {'integers' if kinds == 'iu' else 'real'}, got {given.dtype}")
        refuse_where(ops.lt(given, 0), partial(OperatorError, f"cov: {name} must not be negative"))
    if fweights is not None:
        fweights = ops.to(fweights, dtype if aweights is None else aweights.dtype)
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def corrcoef(self, *, ops):
    """The covariance over both standard deviations; within [-1, 1]."""
    if self.ndim > 2:
        raise OperatorError(f"corrcoef: input must have at most 2 dimensions, got shape {tuple(self.shape)}")
    c = cov(self, ops=ops)
    if c.ndim == 0:
        return c / c
    deviation = ops.sqrt(ops.real(ops.diagonal(c)))
    c = c / ops.unsqueeze(deviation, -1) / ops.unsqueeze(deviation, -2)
    if c.dtype.kind == "c":
        return ops.complex(ops.clamp(ops.real(c), -1, 1), ops.clamp(ops.imag(c), -1, 1))
    return ops.clamp(c, -1, 1)
