"""Helpers of the derivatives of products of vectors and matrices."""

__all__ = ["cross_dim", "einsum_pair_backward", "flip_pair", "matmul_other", "matmul_self", "scaled"]


def scaled(grad, factor, *, ops):
    """grad times the conjugate of a number, without a multiplication by 1."""
    if issubclass(type(factor), complex):
        return grad * factor.conjugate()
    return grad if factor == 1 else grad * factor


def matmul_self(grad, shape, other, *, ops):
    """The gradient of the first operand (of the given shape) of matmul; the engine sums over broadcast batches."""
    if other.ndim == 1:
        return (grad if len(shape) == 1 else ops.unsqueeze(grad, -1)) * other.conjugate()
    if len(shape) == 1:
        return ops.squeeze(ops.matmul(other.conjugate(), ops.unsqueeze(grad, -1)), -1)
    return ops.matmul(grad, ops.transpose(other, -2, -1).conjugate())


def matmul_other(grad, self, shape, *, ops):
    """The gradient of the second operand (of the given shape) of matmul; the engine sums over broadcast batches."""
    if self.ndim == 1:
        if len(shape) == 1:
            return self.conjugate() * grad
        if len(shape) == 2:
            return ops.outer(self.conjugate(), grad)
        return ops.unsqueeze(self.conjugate(), -1) * ops.unsqueeze(grad, -2)
    if len(shape) <= 2 and self.ndim > 2:  # one product over the whole batch, where a batch of products would be summed
        rows = 1
        for n in self.shape[:-1]:
            rows *= n
        self = ops.reshape(self, (rows, self.shape[-1]))
        grad = ops.reshape(grad, (rows,) if len(shape) == 1 else (rows, shape[-1]))
    if len(shape) == 1:
        return ops.matmul(ops.t(self).conjugate(), grad)
    return ops.matmul(ops.transpose(self, -2, -1).conjugate(), grad)


def einsum_pair_backward(grad, other, equation, shape, *, ops):
    """The gradient of the first operand (of the given shape) of einsum_pair."""
    inputs, out = equation.split("->")
    left, right = inputs.split(",")
    found = ops._einsum_pair(grad, other.conjugate(), f"{out},{right}->{left}")
    # A summed dimension of size 1 in `other` gives every element here the same gradient.
    return ops.expand(found, [max(n, m) for n, m in zip(found.shape, shape, strict=True)])


def flip_pair(equation, *, ops):
    """The equation with its operands exchanged."""
    inputs, out = equation.split("->")
    left, right = inputs.split(",")
    return f"{right},{left}->{out}"


def cross_dim(shape, dim, *, ops):
    """The dimension that cross worked along: dim, or the first of size 3."""
    return list(shape).index(3) if dim is None else dim
