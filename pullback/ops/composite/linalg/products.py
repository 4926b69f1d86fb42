"""Composite operators of products of vectors, matrices and tensors."""

from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.linalg.einsum import LETTERS


def inner(self, other, *, ops):
    """Sums of products over the last dimension of both; a 0-d operand multiplies."""
    if self.ndim == 0 or other.ndim == 0:
        return ops.mul(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: the last dimensions must be equal, got shapes {tuple(self.shape)} and {tuple(other.shape)}"
        )
    return tensordot(self, other, ([-1], [-1]), ops=ops)


def tensordot(a, b, dims=2, *, axes=None, ops):
    """Sums of products over pairs of dimensions: the last `dims` of a with the first of b, or two lists of them."""
    if axes is not None:
        if dims != 2:
            raise TypeError(f"tensordot: axes is NumPy's name of dims; give one of them, got {dims} and {axes}")
        dims = axes
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot: dims must be between 0 and {min(a.ndim, b.ndim)}, got {dims}")
        ours, theirs = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        ours, theirs = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(ours) != len(theirs):
        raise RuntimeError(
            f"tensordot: dims must pair up, got {ours} for the first and {theirs} for the second operand"
        )
    ours, theirs = checked(ours, a.ndim), checked(theirs, b.ndim)
    if a.ndim + b.ndim > len(LETTERS):
        raise RuntimeError(f"tensordot: at most {len(LETTERS)} dimensions in all, got {a.ndim} and {b.ndim}")
    left = LETTERS[: a.ndim]
    right = list(LETTERS[a.ndim : a.ndim + b.ndim])
    for i, j in zip(ours, theirs, strict=True):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise RuntimeError(
                f"tensordot: dimension {i} of {tuple(a.shape)} and {j} of {tuple(b.shape)} must be of equal size"
            )
        right[j] = left[i]
    out = [c for i, c in enumerate(left) if i not in ours] + [c for j, c in enumerate(right) if j not in theirs]
    return ops._einsum_pair(a, b, f"{left},{''.join(right)}->{''.join(out)}")


def checked(dims, ndim):
    """Dimension numbers in range(ndim), none twice."""
    for d in dims:
        if not -ndim <= d < ndim:
            raise IndexError(f"tensordot: dim {d} is out of range for an operand of {ndim} dimensions")
    wrapped = [d % ndim for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"tensordot: a dimension appears twice in {dims}")
    return wrapped


def kron(self, other, *, ops):
    """The Kronecker product: every element of self times the whole of other."""
    require_arrays("kron", self=self, other=other)
    ndim = max(self.ndim, other.ndim)
    a = (1,) * (ndim - self.ndim) + tuple(self.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = ops.reshape(self, [n for size in a for n in (size, 1)])
    right = ops.reshape(other, [n for size in b for n in (1, size)])
    return ops.reshape(left * right, [n * m for n, m in zip(a, b, strict=True)])


def addmv(self, mat, vec, *, beta=1, alpha=1, ops):
    """beta * self + alpha * (mat @ vec)."""
    _require_ndim("addmv", mat=(mat, 2), vec=(vec, 1))
    return blend(self, ops.mv(mat, vec), beta, alpha, "addmv")


def addr(self, vec1, vec2, *, beta=1, alpha=1, ops):
    """beta * self + alpha * outer(vec1, vec2)."""
    _require_ndim("addr", vec1=(vec1, 1), vec2=(vec2, 1))
    product = ops.outer(vec1, vec2)
    if product.dtype.kind in "iu" and (issubclass(type(beta), float) or issubclass(type(alpha), float)):
        raise RuntimeError(f"addr: beta and alpha must be integers for integer inputs, got {beta} and {alpha}")
    return blend(self, product, beta, alpha, "addr")


def addbmm(self, batch1, batch2, *, beta=1, alpha=1, ops):
    """beta * self + alpha * (the sum of the matrix products of two batches)."""
    _require_ndim("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    return blend(self, ops.sum(ops.bmm(batch1, batch2), 0), beta, alpha, "addbmm")


def _require_ndim(name, **operands):
    """Refuse operands of another number of dimensions by the names of this call: the product has others for them."""
    for argument, (x, ndim) in operands.items():
        if x.ndim != ndim:
            raise RuntimeError(f"{name}: {argument} must have {ndim} dimensions, got shape {tuple(x.shape)}")


def blend(self, product, beta, alpha, name):
    """beta * self + alpha * product; beta 0 ignores self, whatever is in it."""
    kind = product.dtype.kind
    if kind in "biu":  # as in PyTorch, factors of integers are cut down to whole numbers, those of bools to bools
        beta, alpha = (bool(beta), bool(alpha)) if kind == "b" else (int(beta), int(alpha))
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    total = product + (self if beta == 1 else self * beta)
    if tuple(total.shape) != tuple(product.shape):
        raise RuntimeError(
            f"{name}: input of shape {tuple(self.shape)} does not broadcast to the product's {tuple(product.shape)}"
        )
    return total


def diag(self, diagonal=0, *, ops):
    """The matrix with a vector on its diagonal, or a copy of the diagonal of a matrix."""
    if self.ndim == 1:
        return ops.diag_embed(self, diagonal)
    if self.ndim == 2:
        return ops.clone(ops.diagonal(self, diagonal), memory_format="contiguous_format")
    raise RuntimeError(f"diag: expected a vector or a matrix, got shape {tuple(self.shape)}")


def diagflat(self, offset=0, *, ops):
    """The matrix with the elements of self on its diagonal."""
    return ops.diag_embed(ops.reshape(self, (-1,)), offset)
