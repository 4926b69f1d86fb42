"""Helpers of the derivatives of operators that read and write by index."""

__all__ = [
    "index_copy_source", "index_put_values", "index_source_backward", "masked_scatter_source", "put_self", "put_source",
    "scatter_src_backward", "setitem_value",
]  # fmt: skip


_BASIC = frozenset([int, slice, type(None), type(Ellipsis)])


def is_basic_index(index):
    """True if an index has integers, slices, Ellipsis and None alone, so that it gives a view."""
    if type(index) in _BASIC:
        return True
    return all(type(item) in _BASIC or _is_integer(item) for item in (index if isinstance(index, tuple) else (index,)))


def _is_integer(item):
    """True if an item of an index is one number: a NumPy integer, say, but no bool and no array."""
    if isinstance(item, (bool, list, tuple)) or not hasattr(item, "__index__"):
        return False
    dtype = getattr(item, "dtype", None)
    return dtype is None or (dtype.kind in "iu" and item.ndim == 0)


def _read(x, index, *, ops):
    """x[index], whichever kind of index it is."""
    return ops.slice_view(x, index) if is_basic_index(index) else ops.advanced_index(x, index)


def _fitted(grad, shape, *, ops):
    """grad with leading dimensions of size 1, where a value of the given shape had them."""
    missing = len(shape) - grad.ndim
    return ops.reshape(grad, (1,) * missing + tuple(grad.shape)) if missing > 0 else grad


def last_written(picked, write, read, *, ops):
    """picked (what was read where something had been written), but zero for writes that a later one covered.

    Each write leaves its number; whoever finds another number there was covered.
    """
    numbers = ops.reshape(ops.arange(picked.size), picked.shape)
    return ops.where(ops.eq(read(write(numbers)), numbers), picked, 0)


def _may_repeat(index):
    """True if an index can name a position twice: it has an array or a list of integers."""
    for item in index if isinstance(index, tuple) else (index,):
        dtype = getattr(item, "dtype", None)
        if isinstance(item, list) or (dtype is not None and dtype.kind in "iu" and item.ndim):
            return True
    return False


def setitem_value(grad, index, shape, *, ops):
    """The part of grad that belongs to a value of the given shape, written at index."""
    if type(index) is int:  # a loop over elements
        return _fitted(ops.slice_view(grad, index), shape, ops=ops)
    picked = _read(grad, index, ops=ops)
    if _may_repeat(index):
        zeros = ops.zeros(grad.shape, dtype="int64")
        picked = last_written(
            picked, lambda n: ops.setitem(zeros, index, n), lambda x: _read(x, index, ops=ops), ops=ops
        )
    return _fitted(picked, shape, ops=ops)


def index_put_values(grad, index, shape, accumulate, *, ops):
    """The gradient of the values of index_put."""
    if accumulate:
        return _fitted(_read(grad, index, ops=ops), shape, ops=ops)
    return setitem_value(grad, index, shape, ops=ops)


def scatter_src_backward(grad, dim, index, shape, accumulate, *, ops):
    """The gradient of src of scatter and (accumulate) scatter_add: zero where src is larger than index."""
    picked = ops.gather(grad, dim, index)
    if not accumulate:
        zeros = ops.zeros(grad.shape, dtype="int64")
        picked = last_written(
            picked, lambda n: ops.scatter(zeros, dim, index, n), lambda x: ops.gather(x, dim, index), ops=ops
        )
    if tuple(picked.shape) == tuple(shape):
        return picked
    if len(shape) != picked.ndim:
        return ops.reshape(picked, shape)
    return ops.slice_backward(picked, shape, tuple(slice(n) for n in picked.shape))


def index_source_backward(grad, dim, index, shape, alpha, *, ops):
    """The gradient of the source of index_add."""
    picked = ops.reshape(ops.index_select(grad, dim, index), shape)
    if issubclass(type(alpha), complex):
        return picked * alpha.conjugate()
    return picked if alpha == 1 else picked * alpha


def index_copy_source(grad, dim, index, shape, *, ops):
    """The gradient of the source of index_copy."""
    zeros = ops.zeros(grad.shape, dtype="int64")
    picked = last_written(
        ops.index_select(grad, dim, index),
        lambda n: ops.index_copy(zeros, dim, index, n),
        lambda x: ops.index_select(x, dim, index),
        ops=ops,
    )
    return ops.reshape(picked, shape)


def put_source(grad, index, shape, accumulate, *, ops):
    """The gradient of the source of put."""
    picked = ops.take(grad, index)
    if not accumulate:
        zeros = ops.zeros(grad.shape, dtype="int64")
        picked = last_written(picked, lambda n: ops.put(zeros, index, n), lambda x: ops.take(x, index), ops=ops)
    return ops.reshape(picked, shape)


def put_self(grad, index, accumulate, *, ops):
    """The gradient of the tensor that put wrote into."""
    if accumulate:
        return grad
    kept = ops.index_fill(ops.reshape(grad, (-1,)), 0, ops.reshape(index, (-1,)), 0)
    return ops.reshape(kept, grad.shape)


def masked_scatter_source(grad, mask, shape, *, ops):
    """The gradient of the source of masked_scatter: the gradients where mask is True, zeros for elements not used."""
    picked = ops.masked_select(grad, mask)
    count = 1
    for n in shape:
        count *= n
    return ops.reshape(ops.slice_backward(picked, (count,), (slice(picked.shape[0]),)), shape)
