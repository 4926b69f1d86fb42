"""In-place operations and views: what is allowed, and how the graph is rewritten.

A view shares its base's memory, so writing into one changes the other. When a view is written into, its base gets a
`CopySlices` node: its backward runs the in-place operator's node on the part of the gradient that belongs to the view,
and passes the rest on. Views find their new function when they are next used, by their geometry (shape, strides and
place in the base's memory), as `AsStridedBackward0` of the base.
"""

import numpy as np

from pullback.core import modes, slots
from pullback.core.errors import InplaceError
from pullback.core.node import Node, next_sequence_nr, port
from pullback.core.tensor import ndarray, new
from pullback.core.view import memory_of, wake_views


def check_inplace(target, name, records):
    """Raise where an in-place operation on `target` cannot be allowed; `records` says whether a node is made."""
    extra = target._extra
    base = None if extra is None else extra.base
    state = modes.current()
    if not state.records(target._level):
        return
    if extra is not None and extra.inference and not state.inference:
        raise InplaceError(f"{name}_: inplace update to an inference tensor outside inference_mode; clone() it first.")
    if target._requires_grad and target.grad_fn is None:
        raise InplaceError(
            f"{name}_: a leaf Variable that requires grad is being used in an in-place operation. Do it under "
            "pullback.no_grad() to change a parameter, or use the out-of-place form to differentiate."
        )
    if base is not None and (records or base._requires_grad):
        if base._requires_grad and port(base) is not None and base.grad_fn is None:
            raise InplaceError(
                f"{name}_: a view of a leaf Variable that requires grad is being used in an in-place operation. Do it "
                "under pullback.no_grad() to change a parameter, or use the out-of-place form to differentiate."
            )
        if not isinstance(memory_of(target._data), ndarray):
            raise InplaceError(
                f"{name}_: a view of a tensor around a {type(memory_of(target._data)).__name__} cannot be written into while "
                "recording, because such an array has no strides; use the out-of-place form."
            )


class IndexMap:
    """Where the elements of a view lie in its base, counted in C order of the base."""

    __slots__ = ("base_shape", "flat", "shape")

    def __init__(self, base, view):
        self.base_shape, self.shape = base.shape, view.shape
        self.flat = positions(memory_of(base), memory_of(view))


def positions(base, view):
    """An int array of the shape of `view`: the position in `base` (C order) of each of its elements.

    Built by geometry: an array of numbers with the memory layout of `base` is looked at through the strides of `view`.
    """
    if base.size == 0 or view.size == 0:
        return np.zeros(view.shape, dtype=np.intp)
    if view.dtype != base.dtype:
        return _positions_of_parts(base, view)
    item = base.itemsize
    low, high = np.lib.array_utils.byte_bounds(base)
    count = (high - low) // item
    numbers = np.full(count, -1, dtype=np.intp)
    size = numbers.itemsize

    def through(array):
        start = (array.__array_interface__["data"][0] - low) // item
        strides = tuple(s // item * size for s in array.strides)
        return np.lib.stride_tricks.as_strided(numbers[start:], array.shape, strides)

    through(base)[...] = np.arange(base.size, dtype=np.intp).reshape(base.shape)
    return np.array(through(view))


def _positions_of_parts(base, view):
    raise InplaceError(
        f"writing into a view of dtype {view.dtype} of a tensor of dtype {base.dtype} (its real or imaginary part) is not "
        "supported while recording; build the complex tensor out of place with pullback.complex(real, imag)."
    )


class CopySlices(Node):
    """A base after an in-place operation on one of its views: the view's part went through `fn`, the rest is as it was."""

    __slots__ = ("fn", "map", "target")
    takes_undefined = False

    def apply(self, ops, grad, unpack):
        flat = ops.reshape(grad, (-1,))
        part = ops.reshape(ops.take(flat, self.map.flat), self.map.shape)
        inner = self.fn.apply(ops, part, unpack)
        own = None
        results = []
        for edge, g in zip(self.fn.edges(), inner, strict=False):
            if edge is self.target and own is None and g is not None:
                own = g
                results.append(None)
            else:
                results.append(g)
        indices = (self.map.flat.reshape(-1),)
        inside = ops.zeros(indices[0].shape, dtype=grad.dtype) if own is None else ops.reshape(own, (-1,))
        whole = ops.index_put(flat, indices, inside)
        return (ops.reshape(whole, self.map.base_shape), *results)

    def release(self):
        self.fn.release()


class AsStridedBackward0(Node):
    """A view of a base, by its place in the base's memory."""

    __slots__ = ("map",)
    arity = 1

    def apply(self, ops, grad, unpack):
        zeros = ops.zeros((int(np.prod(self.map.base_shape)),), dtype=grad.dtype)
        indices = (self.map.flat.reshape(-1),)
        whole = ops.index_put(zeros, indices, ops.reshape(grad, (-1,)), True)
        return (ops.reshape(whole, self.map.base_shape),)


def rebase_history(target, node, before, name):
    """Make `node`, which has just written into `target`, part of its history, and of its base's."""
    extra = target._extra
    if extra is None or extra.base is None:
        target._fn, target._requires_grad = node, True
        wake_views(target)
        return
    base = extra.base
    copy = new(CopySlices)
    copy._sequence_nr = next_sequence_nr()
    copy._next0 = copy._next1 = copy._extra = None
    copy._shape, copy._dtype = base._data.shape, base._data.dtype
    node = node.node()
    copy.fn, copy.map = node, IndexMap(base._data, target._data)
    copy.target = before
    # The view's own history is the base's; everything else that the operator took keeps its edge.
    copy._nexts = (port(base), *(None if edge is before and edge is not None else edge for edge in node.edges()))
    base._fn, base._requires_grad = copy, True
    wake_views(base)
    target._requires_grad = True
    extra.view_version = -1  # its function is made again, from the base's, when next asked for


def refresh_view(view):
    """The function of a view: its own while the base is as it was, else one made from the base's."""
    extra = view._extra
    base = extra.base
    if extra.view_version == base._counter.n:
        return view._fn
    extra.view_version = base._counter.n
    edge = port(base)
    if edge is None:
        return view._fn
    node = new(AsStridedBackward0)
    node._sequence_nr = next_sequence_nr()
    node._nexts = node._next1 = node._extra = None
    node._next0 = edge
    node._shape, node._dtype = view._data.shape, view._data.dtype
    node.map = IndexMap(base._data, view._data)
    view._fn, view._requires_grad = node, True
    return node


slots.check_inplace = check_inplace
slots.rebase_history = rebase_history
slots.refresh_view = refresh_view
