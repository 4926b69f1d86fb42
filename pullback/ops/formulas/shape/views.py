"""Helpers of the derivatives of operators that change shape."""

from pullback.graph.strides import storage_positions

__all__ = [
    "inverse_permute",
    "narrow_backward",
    "repeat_backward",
    "roll_backward",
    "select_backward",
    "strided_tangent",
]


def inverse_permute(grad, dims, *, ops):
    """grad with its dimensions put back where permute(dims) took them from."""
    inverse = [0] * len(dims)
    for i, dim in enumerate(dims):
        inverse[dim] = i
    return ops.permute(grad, inverse)


def select_backward(grad, shape, dim, index, *, ops):
    """Zeros of the given shape with grad at one position of dim."""
    return ops.slice_backward(grad, shape, whole_but(shape, dim, index))


def narrow_backward(grad, shape, dim, start, length, *, ops):
    """Zeros of the given shape with grad at `length` positions of dim from start."""
    start = int(start)
    start += shape[dim] if start < 0 else 0
    return ops.slice_backward(grad, shape, whole_but(shape, dim, slice(start, start + length)))


def whole_but(shape, dim, item):
    """The index that takes every dimension whole but dim."""
    return (*(slice(None),) * (dim % len(shape)), item, ...)


def repeat_backward(grad, shape, repeats, *, ops):
    """grad of repeat(self, repeats) summed over the copies of self, a tensor of the given shape."""
    shape = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    paired = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return ops.sum(ops.reshape(grad, paired), tuple(range(0, len(paired), 2))) if paired else grad


def roll_backward(grad, shifts, dims, *, ops):
    """grad rolled back."""
    back = tuple(-n for n in shifts) if isinstance(shifts, (tuple, list)) else -shifts
    return ops.roll(grad, back, dims)


def strided_tangent(tangent, size, stride, storage_offset, geometry, *, ops):
    """The same view of a tangent that lies in memory as the input does, so that writes reach both; else a copy.

    Where the view shows more than the input has, what lies around the tangent belongs to what lies around the input, if
    both begin at the same place: a dual number and its parts have it so. In a copy there are zeros.
    """
    shape, strides, start = ops._storage_geometry(tangent)
    target = (size, stride, storage_offset)
    inside = _positions(target) <= _positions(geometry)
    if (shape, strides) == (tuple(geometry[0]), tuple(geometry[1])) and (inside or start == geometry[2]):
        try:
            own = storage_offset - geometry[2] + start
            return ops._strided_view(tangent, size, stride, own, (shape, strides, start))
        except ValueError:  # the tangent of a part of a larger memory lies in a smaller one: nothing around it moves
            if inside:
                raise
    return ops._restride(tangent, geometry, target, geometry)


def _positions(geometry):
    return set(storage_positions(geometry).ravel().tolist())
