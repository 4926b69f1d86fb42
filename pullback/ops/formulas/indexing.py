"""Helpers of the derivatives of operators that read and write by index."""

__all__ = [
    "index_put_self", "index_put_values", "index_source_backward", "masked_scatter_source", "put_self",
    "scatter_src_backward", "setitem_value",
]  # fmt: skip


def is_basic_index(index):
    """Whether an index has integers, slices, Ellipsis and None alone, so that it gives a view."""
    for item in index if isinstance(index, tuple) else (index,):
        if not (item is None or item is ... or isinstance(item, slice)):
            if isinstance(item, (bool, list, tuple)) or getattr(item, "shape", None) is not None:
                return False
            if not hasattr(item, "__index__"):
                return False
    return True


def _read(x, index, *, ops):
    """x[index], whichever kind of index it is."""
    return ops.slice_view(x, index) if is_basic_index(index) else ops.advanced_index(x, index)


def _fitted(grad, shape, *, ops):
    """grad with leading dimensions of size 1, where a value of the given shape had them."""
    missing = len(shape) - grad.ndim
    return ops.reshape(grad, (1,) * missing + tuple(grad.shape)) if missing > 0 else grad


def setitem_value(grad, index, shape, *, ops):
    """The part of grad that belongs to a value of the given shape, written at index."""
    return _fitted(_read(grad, index, ops=ops), shape, ops=ops)


def put_index(indices):
    """The index tuple that index_put's indices mean: None takes a dimension whole."""
    return tuple(slice(None) if i is None else i for i in indices)


def index_put_self(grad, indices, accumulate, *, ops):
    """What reaches the tensor that index_put wrote into."""
    return grad if accumulate else ops.setitem(grad, put_index(indices), 0)


def index_put_values(grad, indices, shape, *, ops):
    """What reaches the values of index_put."""
    return setitem_value(grad, put_index(indices), shape, ops=ops)


def scatter_src_backward(grad, dim, index, shape, *, ops):
    """What reaches src of scatter and scatter_add: zero where src is larger than index."""
    picked = ops.gather(grad, dim, index)
    if tuple(picked.shape) == tuple(shape):
        return picked
    if len(shape) != picked.ndim:
        return ops.reshape(picked, shape)
    return ops.slice_backward(picked, shape, tuple(slice(n) for n in picked.shape))


def index_source_backward(grad, dim, index, shape, alpha, *, ops):
    """What reaches the source of index_add and index_copy."""
    picked = ops.reshape(ops.index_select(grad, dim, index), shape)
    if isinstance(alpha, complex):
        return picked * alpha.conjugate()
    return picked if alpha == 1 else picked * alpha


def put_self(grad, index, accumulate, *, ops):
    """What reaches the tensor that put wrote into."""
    if accumulate:
        return grad
    kept = ops.setitem(ops.reshape(grad, (-1,)), index, 0)
    return ops.reshape(kept, grad.shape)


def masked_scatter_source(grad, mask, shape, *, ops):
    """What reaches the source of masked_scatter: the gradients where mask is True, zeros for elements not used."""
    picked = ops.masked_select(grad, mask)
    count = 1
    for n in shape:
        count *= n
    return ops.reshape(ops.slice_backward(picked, (count,), (slice(picked.shape[0]),)), shape)
