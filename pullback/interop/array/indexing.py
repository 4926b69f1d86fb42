"""Indexing of Arrays: views for slices, copies for index arrays and masks, a Scalar for a single element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pullback.core.array_face import Array, show_as_array, show_as_plural
from pullback.core.array_type import TENSOR
from pullback.core.tensor import ndarray
from pullback.dispatch.call_errors import explained
from pullback.interop.numpy_errors import raise_as_numpy
from pullback.interop.operands import READY, operand
from pullback.ops import index as indices
from pullback.ops.array_calls import FACTORIES, made_by
from pullback.ops.tables import OPERATORS

plain_index: Any = indices.plain_index
is_basic_index: Any = indices.is_basic_index
_op = OPERATORS["slice_view"][0].operator
assert _op is not None
# NumPy's own indexing as the kernel: it gives a number where every dimension has an integer.
_basic = made_by(FACTORIES[Array], _op, operator.getitem)
_setitem = OPERATORS["setitem"][0].inplace
_ALWAYS_BASIC = frozenset([int, slice, type(None), type(Ellipsis)])


def getitem(self: Any, index: Any) -> Any:
    """self[index], as of an ndarray."""
    if not _is_plainly_basic(index):
        try:
            index = plain_index(index)
            if not is_basic_index(index):
                return TENSOR.advanced_index(self, index)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained("__getitem__", "any self, any index", (self, index), error)  # noqa: B904
    if type(self._array) is ndarray:
        return _basic(self, index)
    view = TENSOR.slice_view(self, index)
    return _element(view) if not view.ndim and _is_single(index) else view


def _is_plainly_basic(index: Any) -> bool:
    kind = type(index)
    if kind is int or kind is slice:
        return True
    return kind is tuple and _ALWAYS_BASIC.issuperset(map(type, index))


def _is_single(index: Any) -> bool:
    return not isinstance(index, tuple) or all(item is not Ellipsis for item in index)


def _element(view: Any) -> Any:
    """A number of its own where there is a view of no dimension."""
    return show_as_array(TENSOR.clone(view), single=True)


def setitem(self: Any, index: Any, value: Any) -> None:
    """self[index] = value, recorded like any in-place operation."""
    try:
        index = plain_index(index)
        if type(value) not in READY:
            value = np.array(value, self.dtype) if value is None or isinstance(value, str) else operand(value)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise_as_numpy(operator.setitem, (self, index, value))
        raise explained("__setitem__", "any self, any index", (self, index), error)  # noqa: B904
    _setitem(self, index, value)


def get_from_scalar(self: Any, index: Any) -> Any:
    """The number itself for `()`, an array around it for what else an index of no dimension may be."""
    if type(index) is tuple and not index:
        return self
    if not is_basic_index(index) or not _only_adds(index):
        raise IndexError("invalid index to scalar variable.")
    return TENSOR.slice_view(show_copy(self), index)


def _only_adds(index: Any) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    return all(item is None or item is Ellipsis for item in items)


def show_copy(self: Any) -> Any:
    """A Scalar's number in an Array of no dimension, in memory of its own."""
    return show_as_plural(TENSOR.clone(self))


def iterate(self: Any) -> Any:
    """The elements, or the slices along the first dimension."""
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(len(self)))
