"""Helpers of the derivatives of operators that join tensors."""

__all__ = ["cat_backward"]


def cat_backward(grad, shapes, dim, *, ops):
    """The parts of grad that belong to the tensors of these shapes; those of shape (0,) add nothing."""
    dim = dim % grad.ndim
    loose = [tuple(shape) == (0,) for shape in shapes]
    parts = ops.split_with_sizes(grad, [0 if a else shape[dim] for a, shape in zip(loose, shapes, strict=True)], dim)
    return (
        [ops.reshape(part, (0,)) if a else part for a, part in zip(loose, parts, strict=True)] if any(loose) else parts
    )
