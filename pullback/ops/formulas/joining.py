"""Helpers of the derivatives of operators that join tensors."""

__all__ = ["cat_backward"]


def cat_backward(grad, shapes, dim, *, ops):
    """The parts of grad that belong to the tensors of these shapes; one of shape (0,) took no part."""
    dim = dim % grad.ndim
    start, parts = 0, []
    for shape in shapes:
        if tuple(shape) == (0,):
            parts.append(ops.reshape(ops.narrow(grad, dim, start, 0), (0,)) if grad.ndim == 1 else None)
        else:
            parts.append(ops.narrow(grad, dim, start, shape[dim]))
            start += shape[dim]
    return parts
