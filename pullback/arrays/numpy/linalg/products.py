"""Kernels of products of vectors and matrices. Batched and transposed operands go to BLAS without copies."""

from functools import lru_cache

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.shape.slices import diagonal
from pullback.core.dims import wrap_dim


@loops("arguments")
def check_ndim(name, **operands):
    """Refuses operands, given as argument=(array, ndim), with another number of dimensions."""
    for argument, (array, ndim) in operands.items():
        if array.ndim != ndim:
            raise RuntimeError(f"{name}: {argument} must have {ndim} dimensions, got shape {array.shape}")


def matmul(self, other):
    """The matrix product, batched over leading dimensions; vectors count as rows on the left, columns on the right."""
    if self.ndim > 2 and other.ndim == 2 and self.flags.c_contiguous and other.shape[0] == self.shape[-1]:
        # One product with a tall matrix instead of one for each batch.
        rows = self.reshape(size_of(self.shape[:-1]), self.shape[-1])
        return np.matmul(rows, other).reshape(*self.shape[:-1], other.shape[1])
    if other.ndim > 2:
        other = small_in_order(self, other)
    return np.matmul(self, other)


# BLAS takes up to twice as long to multiply tall matrices by small ones that are transposed in memory.
_TALL = 64  # rows
_SMALL = 4096  # elements


def small_in_order(tall, small):
    """`small`, a batch of matrices, in the order of their rows, if they are small and those of `tall` have many."""
    rows, columns = small.shape[-2:]
    if (
        tall.ndim > 1
        and tall.shape[-2] >= _TALL
        and rows * columns <= _SMALL
        and small.strides[-2] == small.itemsize != small.strides[-1]
        and small.dtype.char in "fd"
    ):
        return np.ascontiguousarray(small)
    return small


def mm(self, mat2):
    """The product of two matrices."""
    if self.ndim != 2 or mat2.ndim != 2:
        check_ndim("mm", input=(self, 2), mat2=(mat2, 2))
    return np.matmul(self, mat2)


def bmm(self, mat2):
    """The products of two batches of matrices; the batches do not broadcast."""
    check_ndim("bmm", input=(self, 3), mat2=(mat2, 3))
    if self.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"bmm: the batches must be of equal size, got {self.shape} and {mat2.shape}")
    return np.matmul(self, small_in_order(self, mat2))


def mv(self, vec):
    """The product of a matrix and a vector."""
    check_ndim("mv", input=(self, 2), vec=(vec, 1))
    return np.matmul(self, vec)


def dot(self, tensor):
    """The sum of products of two vectors, without conjugation."""
    check_ndim("dot", input=(self, 1), tensor=(tensor, 1))
    return np.dot(self, tensor)


def vdot(self, other):
    """The sum of products of two vectors, the first conjugated."""
    check_ndim("vdot", input=(self, 1), other=(other, 1))
    return np.vdot(self, other)


def outer(self, vec2):
    """The matrix of all products of two vectors' elements."""
    check_ndim("outer", input=(self, 1), vec2=(vec2, 1))
    return np.multiply.outer(self, vec2)


def trace(self):
    """The sum of the diagonal of a matrix."""
    check_ndim("trace", input=(self, 2))
    return self.trace()


def factor_for(product, factor):
    """beta or alpha as PyTorch applies it: cut down to a whole number (a bool) where the product has such a dtype."""
    kind = product.dtype.kind
    return int(factor) if kind in "iu" else bool(factor) if kind == "b" else factor


def add_product(self, product, beta, alpha):
    """beta * self + alpha * product, in the fresh array `product` where its dtype allows; beta 0 ignores self."""
    if alpha != 1:
        product = scale(product, factor_for(product, alpha))
    if beta == 0:
        return product
    addend = self if beta == 1 else self * factor_for(product, beta)
    if product.ndim and addend.dtype == product.dtype:
        return np.add(addend, product, out=product)  # refuses a self that is larger than the product
    total = addend + product
    if total.shape != product.shape:
        raise ValueError(f"input of shape {self.shape} does not broadcast to the product's shape {product.shape}")
    return total


def scale(product, alpha):
    """alpha * product, in place where the dtype stays."""
    if product.ndim and (product.dtype.kind == "c" or not isinstance(alpha, (complex, np.generic))):
        product *= alpha
        return product
    return product * alpha


def addmm(self, mat1, mat2, beta=1, alpha=1):
    """beta * self + alpha * (mat1 @ mat2)."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        check_ndim("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    return add_product(self, np.matmul(mat1, mat2), beta, alpha)


def baddbmm(self, batch1, batch2, beta=1, alpha=1):
    """beta * self + alpha * (batch1 @ batch2) for batches of matrices."""
    check_ndim("baddbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    return add_product(self, bmm(batch1, batch2), beta, alpha)


@loops("arguments")
def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    """Matrices over dim1 and dim2 with the last dimension of self on their diagonals, zeros elsewhere."""
    ndim = self.ndim + 1
    if self.ndim == 0:
        raise RuntimeError("diag_embed: a 0-d input has no diagonal to embed")
    first, second = wrap_dim(dim1, ndim, "diag_embed"), wrap_dim(dim2, ndim, "diag_embed")
    if first == second:
        raise RuntimeError(f"diag_embed: dim1 and dim2 must differ, got {dim1} and {dim2}")
    shape = list(self.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, self.shape[-1] + abs(offset))
    out = np.zeros(shape, self.dtype)
    diagonal(out, offset, first, second)[...] = self
    return out


def cross(self, other, dim=None):
    """The cross products of vectors of 3 along dim (by default the first of size 3), broadcast over the others."""
    if self.ndim != other.ndim or self.ndim == 0:
        raise RuntimeError(
            f"cross: both inputs must have the same number of dimensions, got shapes {self.shape} and {other.shape}"
        )
    if dim is None:
        if 3 not in self.shape:
            raise RuntimeError(f"cross: no dimension of size 3 in shape {self.shape}; pass dim")
        dim = self.shape.index(3)
    dim = wrap_dim(dim, self.ndim, "cross")
    if self.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"cross: dimension {dim} must have size 3, got shapes {self.shape} and {other.shape}")
    x, y = np.moveaxis(self, dim, 0), np.moveaxis(other, dim, 0)
    return np.stack([x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)], dim)


# -- contraction of two arrays ---------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def contraction(equation):
    """How to do "ab,bc->ac" as one batched matrix product.

    Gives (shared labels with their dimension on either side, the batch labels' count, the dimensions of self as
    batch, free, contracted, those of other as batch, contracted, free, how many are contracted, the order of the
    result). Every label of an operand occurs in the other operand or in the result.
    """
    inputs, out = equation.split("->")
    left, right = inputs.split(",")
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in out]
    summed = [label for label in shared if label not in out]
    free_left = [label for label in left if label not in right]
    free_right = [label for label in right if label not in left]
    made = batch + free_left + free_right
    return (
        tuple((left.index(label), right.index(label)) for label in shared),
        len(batch),
        tuple(left.index(label) for label in batch + free_left + summed),
        tuple(right.index(label) for label in batch + summed + free_right),
        len(summed),
        tuple(made.index(label) for label in out),
    )


def einsum_pair(self, other, equation):
    """Two operands contracted; each label occurs once an operand, and in the other operand or the result."""
    shared, batch, left, right, summed, order = contraction(equation)
    if any(self.shape[i] != other.shape[j] for i, j in shared):
        return np.einsum(equation, self, other)  # a dimension of size 1 broadcasts
    free = self.ndim - len(shared), other.ndim - len(shared)
    if not summed or (batch and not any(free)):
        return product_or_rows(self, other, equation, batch, left, right, free, summed, order)
    a, b = self.transpose(left), other.transpose(right)
    head, rows, columns = a.shape[:batch], a.shape[batch : self.ndim - summed], b.shape[batch + summed :]
    inner = size_of(b.shape[batch : batch + summed])
    product = np.matmul(
        a.reshape(*head, size_of(rows), inner) if len(rows) != 1 or summed != 1 else a,
        b.reshape(*head, inner, size_of(columns)) if len(columns) != 1 or summed != 1 else b,
    )
    return product.reshape((*head, *rows, *columns)).transpose(order)


def product_or_rows(self, other, equation, batch, left, right, free, summed, order):
    """Contractions that are no matrix product: elementwise (nothing summed), or one sum for each batch element."""
    if summed:
        return np.einsum(equation, self, other)
    a, b = self.transpose(left), other.transpose(right)
    a = a.reshape((*a.shape, *(1,) * free[1]))
    b = b.reshape((*b.shape[:batch], *(1,) * free[0], *b.shape[batch:]))
    return (a * b).transpose(order)


@loops("arguments")
def size_of(shape):
    """The number of elements of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count
