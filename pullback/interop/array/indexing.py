"""Indexing of Arrays: views for slices, copies for index arrays and masks, a Scalar for a single element."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.array_face import SCALAR_FACES, Array, as_array, show_as_array, show_as_plural
from pullback.core.array_type import REGISTERED, TENSOR, check
from pullback.core.numpy_types import AnyArray, Index
from pullback.core.overrides import KNOWN, taking_part
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.call_errors import explained
from pullback.dispatch.element_writes import wrote_element
from pullback.dispatch.results import copy_into
from pullback.interop.numpy_errors import raise_as_numpy, write_as_far_as_numpy
from pullback.interop.operands import READY, operand, ops
from pullback.ops import index as indices
from pullback.ops import subscripts
from pullback.ops.array_calls import FACTORIES, made_by
from pullback.ops.composite.indexing import by_tensors
from pullback.ops.tables import OPERATORS

plain_index: Any = indices.plain_index
is_basic_index: Any = indices.is_basic_index
has_tensors: Any = by_tensors.has_tensors
read_at: Any = by_tensors.read_at
written_at: Any = by_tensors.written_at
_ops = [OPERATORS[name][0].operator for name in ("slice_view", "advanced_index")]
# NumPy's own indexing as the kernel: it gives a number where every dimension has an integer, and its order in memory.
_basic, _advanced = (made_by(FACTORIES[Array], op, operator.getitem) for op in _ops if op is not None)
read_by_rules: Any = subscripts.read_by_rules
write_by_rules: Any = subscripts.write_by_rules
_write: Any = OPERATORS["setitem"][0].operator
_ALWAYS_BASIC = frozenset([int, slice, type(None), type(Ellipsis)])


def getitem(self: Array, index: Any) -> object:
    """self[index], as of an ndarray."""
    if not _is_plainly_basic(index):
        if type(index) not in KNOWN and taking_part((index,)):
            return read_by_rules(self, index)
        try:
            index = plain_index(index)
            if has_tensors(index):
                index = tuple(map(_as_array, index)) if type(index) is tuple else _as_array(index)
                found = show_as_array(read_at(self, index, ops=TENSOR))  # a number in an index has no face
                return _element(found) if not found.ndim else found
            if not is_basic_index(index):
                return _advanced(self, index) if type(self._array) is ndarray else ops.advanced_index(self, index)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained("__getitem__", "any self, any index", (self, index), error)  # noqa: B904
    if type(self._array) is ndarray:
        return _basic(self, index)
    described = REGISTERED.get(type(self._array))
    if described is not None and (number := described.read_element(self, index)) is not None:
        return number
    view = ops.slice_view(self, index)
    return _element(view) if not view.ndim and _is_single(index) else view


def _as_array(item: object) -> object:
    """An item of an index, with the face of what it is an index of: an ndarray at Tensors is one."""
    return as_array(item) if isinstance(item, Tensor) else item


def _is_plainly_basic(index: Any) -> bool:
    kind = type(index)
    if kind is int or kind is slice:
        return True
    return kind is tuple and _ALWAYS_BASIC.issuperset(map(type, index))


def _is_single(index: object) -> bool:
    return not isinstance(index, tuple) or all(item is not Ellipsis for item in index)


def _element(view: Array) -> object:
    """A number of its own where there is a view of no dimension."""
    return show_as_array(ops.clone(view), single=True)


def setitem(self: Array, index: Any, value: Any) -> None:
    """self[index] = value, recorded like any in-place operation."""
    given = index
    try:
        index = plain_index(index)
        if type(value) not in READY:
            value = np.array(value, self.dtype) if value is None or isinstance(value, str) else operand(value)
        if getattr(value, "shape", None) and _is_element(index, self._array.ndim):
            np.zeros(1, self.dtype)[0] = np.zeros(value.shape, value.dtype)  # which some versions of NumPy refuse
        if type(value) in SCALAR_FACES and self._array.dtype.kind in "iu" and not has_tensors(index):
            check_is_whole(value, self._array.dtype, index)
        written = written_at(self, index, value, ops=TENSOR) if has_tensors(index) else None
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        write_as_far_as_numpy(self, index, value)
        raise_as_numpy(operator.setitem, (self, index, value))
        raise explained("__setitem__", "any self, any index", (self, index), error)  # noqa: B904
    try:
        if written is not None:
            copy_into(self, written, "__setitem__")
        elif not wrote_element(_write, self, index, value):
            write_by_rules(self, index, value, given)
    except Exception:
        raise_as_numpy(operator.setitem, (self, index, value))
        raise


def _is_element(index: object, ndim: int) -> bool:
    """True if an index is that of a single element of an array of so many dimensions."""
    places = index if type(index) is tuple else (index,)
    return len(places) == ndim and all(type(place) is int for place in places)


def check_is_whole(value: AnyArray, dtype: np.dtype[Any], index: Index = ...) -> None:
    """Let NumPy refuse a number that integers cannot hold, as it does where it takes a number for one, not an array."""
    if value.dtype.kind == "f" and is_basic_index(index):
        check(functools.partial(_hold, dtype.str), value)


def _hold(dtype: str, value: AnyArray) -> None:
    for number in value.ravel():  # of each sample of a vmap
        np.empty((), dtype)[()] = number


def get_from_scalar(self: Array, index: Index) -> object:
    """The number itself for `()`, an array around it for what else an index of no dimension may be."""
    if type(index) is tuple and not index:
        return self
    if not _only_adds(index):
        raise IndexError("invalid index to scalar variable.")
    return getitem(show_copy(self), index)


def _only_adds(index: object) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    return all(item is None or item is Ellipsis or _is_truth_value(item) for item in items)


def _is_truth_value(item: Any) -> bool:
    return item is True or item is False or (hasattr(item, "dtype") and item.dtype.char == "?" and not item.ndim)


def show_copy(self: Array) -> Any:
    """A Scalar's number in an Array of no dimension, in memory of its own."""
    return show_as_plural(ops.clone(self))


def iterate(self: Array) -> Iterator[Any]:
    """The elements, or the slices along the first dimension."""
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(len(self)))
