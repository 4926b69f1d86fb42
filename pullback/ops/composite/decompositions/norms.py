"""Norms of vectors and matrices, distances."""

import math

from pullback.core.errors import OperatorError


def linalg_norm(self, ord=None, dim=None, keepdim=False, *, dtype=None, ops):
    """A vector's or a matrix's norm, as dim and the shape say."""
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise OperatorError(f"linalg.norm: dim must name one or two dimensions, got {dim}")
    if ord is not None and dims is None and self.ndim not in (1, 2):
        raise OperatorError(
            f"linalg.norm: with ord={ord!r}, no dim, input must have 1 or 2 dimensions, got shape {tuple(self.shape)}"
        )
    if ord is not None and (len(dims) == 2 if dims is not None else self.ndim == 2):
        return linalg_matrix_norm(self, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, ops=ops)
    if isinstance(ord, str):
        raise OperatorError(f"linalg.norm: ord={ord!r} is a norm of matrices, got shape {tuple(self.shape)}, dim {dim}")
    return ops.linalg_vector_norm(self, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


def linalg_matrix_norm(self, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, ops):
    """Norms over two dimensions: by elements (fro), by singular values (nuc, 2, -2), by rows or columns."""
    dims = list(dim) if not isinstance(dim, int) else [dim]
    if self.ndim < 2 or len(dims) != 2 or not all(-self.ndim <= d < self.ndim for d in dims):
        error = OperatorError if self.ndim < 2 or len(dims) != 2 else IndexError
        raise error(
            f"linalg.matrix_norm: dim must name two dimensions of input, got {dim} for shape {tuple(self.shape)}"
        )
    first, second = (d % self.ndim for d in dims)
    if first == second:
        raise OperatorError(f"linalg.matrix_norm: the dimensions must differ, got {dim}")
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise OperatorError(f"linalg.matrix_norm: ord must be 'fro', 'nuc' or a number, got {ord!r}")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise OperatorError(f"linalg.matrix_norm: ord must be 1, -1, 2, -2, inf or -inf, got {ord}")
    if self.dtype.kind not in "fc":
        raise OperatorError(f"linalg.matrix_norm: input must be floating point or complex, got {self.dtype}")
    if ord == "fro":
        return ops.linalg_vector_norm(self, 2, [first, second], keepdim, dtype=dtype)
    self = self if dtype is None else ops.to(self, dtype)
    if ord == "nuc" or abs(ord) == 2:
        found = _by_singular_values(ops.movedim(self, (first, second), (-2, -1)), ord, ops)
    else:
        summed, left = (first, second) if abs(ord) == 1 else (second, first)
        sums = ops.sum(ops.abs(self), summed, True)
        found = ops.squeeze(_extreme(sums, left, ord, ops), [first, second])
    if keepdim:
        for d in sorted((first, second)):
            found = ops.unsqueeze(found, d)
    return found


def _by_singular_values(matrices, ord, ops):
    values = ops.linalg_svdvals(matrices)
    if ord == "nuc":
        return ops.sum(values, -1)
    return ops.squeeze(_extreme(values, -1, ord, ops), -1)


def _extreme(x, dim, ord, ops):
    """The largest (for negative ord the smallest) along dim, which is kept; the largest of nothing is 0."""
    if ord > 0 and not x.shape[dim]:
        return ops.sum(x, dim, True)
    return (ops.amax if ord > 0 else ops.amin)(x, dim, True)


def norm(self, p="fro", dim=None, keepdim=False, dtype=None, *, ops):
    """torch.norm: of the elements over dim, whatever their shape, but for the nuclear norm."""
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if p == "nuc":
        if dims is None and self.ndim != 2:
            raise OperatorError(f"norm: the nuclear norm needs a matrix, got shape {tuple(self.shape)}; pass dim")
        return linalg_matrix_norm(self, "nuc", dims or (0, 1), keepdim, dtype=dtype, ops=ops)
    if isinstance(p, str) and p != "fro":
        raise OperatorError(f"norm: p must be 'fro', 'nuc' or a number, got {p!r}")
    return ops.linalg_vector_norm(self, 2 if p == "fro" or p is None else p, dims, keepdim, dtype=dtype)


def dist(self, other, p=2, *, ops):
    """The norm of the difference."""
    return ops.linalg_vector_norm(self - other, p)


def cdist(x1, x2, p=2.0, compute_mode=None, *, ops):
    """Distances of all rows; every compute_mode is the exact one."""
    for argument, x in (("x1", x1), ("x2", x2)):
        if x.ndim < 2 or x.dtype.kind != "f":
            raise OperatorError(f"cdist: {argument} must be real matrices, got {x.dtype}{list(x.shape)}")
    if x1.shape[-1] != x2.shape[-1]:
        raise OperatorError(
            f"cdist: x1 and x2 must have the same number of columns, got {tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    if p < 0:
        raise OperatorError(f"cdist: p must not be negative, got {p}")
    modes = (None, "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"cdist: {compute_mode!r} is not a valid value for compute_mode; one of {modes[1:]}")
    return ops.cdist_rows(x1, x2, float(p))


def pdist(self, p=2.0, *, ops):
    """Distances of row i to row j for i < j."""
    if self.ndim != 2 or self.dtype.kind != "f":
        raise OperatorError(f"pdist: input must be a real matrix, got {self.dtype}{list(self.shape)}")
    if p < 0:
        raise OperatorError(f"pdist: p must not be negative, got {p}")
    pairs = ops.triu_indices(len(self), len(self), 1)
    return ops.linalg_vector_norm(ops.index_select(self, 0, pairs[0]) - ops.index_select(self, 0, pairs[1]), p, -1)


def pdist_functional(input, p=2.0, *, ops):
    """pdist, under its other name."""
    return pdist(input, p, ops=ops)
