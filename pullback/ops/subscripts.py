"""Reading and writing of parts: `x[index]`, `x[index] = value`. Imported when a program first does so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.array_type import TENSOR
from pullback.core.cuts import WATCHED
from pullback.core.modes import current
from pullback.core.overrides import KNOWN, taking_part
from pullback.core.tensor import Tensor, ndarray, new, note_copied
from pullback.dispatch.call_errors import explained
from pullback.dispatch.element_writes import wrote_element
from pullback.dispatch.results import copy_into
from pullback.graph.view import make_view
from pullback.ops.composite.indexing.by_tensors import has_tensors, read_at, written_at
from pullback.ops.declarations import own
from pullback.ops.index import is_basic_index, plain_index, warn_of_bytes
from pullback.ops.tables import OPERATORS

_slice_row, _advanced_row, _write_row = (OPERATORS[name][0] for name in ("slice_view", "advanced_index", "setitem"))
_setitem, _write = _write_row.inplace, _write_row.operator
slice_view: Callable[[Tensor, Any], Tensor] = _slice_row.run
_ALWAYS_BASIC = frozenset([int, slice, type(None), type(Ellipsis)])


def getitem(self: Tensor, index: Any) -> Any:
    """self[index]: a view for integers, slices, Ellipsis and None; a copy for integer and boolean arrays."""
    kind = type(index)
    if kind is slice or kind is int:
        if type(self) is Tensor and not self._requires_grad and current().plain:
            # What slice_view does where nothing is recorded, in two thirds of its time.
            try:
                data = self._array[index]  # type: ignore[index]
            except Exception:  # noqa: BLE001 - slice_view raises it, and says what was called
                return slice_view(self, index)
            if type(data) is ndarray:
                out = new(Tensor)  # core.tensor.wrap written out
                out._array, out._level, out._requires_grad = data, self._level, False
                out._fn = out._counter = out._extra = None
                return make_view(out, self)
        return slice_view(self, index)
    if kind is tuple:
        for item in index:
            if type(item) not in _ALWAYS_BASIC:
                break
        else:
            return slice_view(self, index)
    return read_by_rules(self, index)


def read_by_rules(self: Tensor, index: Any) -> Any:
    """Part of a tensor by an index that has more than integers, slices, Ellipsis and None, or may have it."""
    if type(index) not in KNOWN and taking_part((index,)):
        return _advanced_row.asked((self, index))
    try:
        warn_of_bytes(self, index)
        index = plain_index(index)
        if has_tensors(index):
            found = read_at(self, index, ops=TENSOR)
        elif is_basic_index(index):
            return TENSOR.slice_view(self, index)
        else:
            found = TENSOR.advanced_index(self, index)
        return note_copied(found) if WATCHED else found
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explained("__getitem__", "any self, any index", (self, index), error)  # noqa: B904


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """self[index] = value, recorded like any in-place operation."""
    given = index
    try:
        if type(index) not in _ALWAYS_BASIC:
            warn_of_bytes(self, index)
        index = plain_index(index)
        written = written_at(self, index, value, ops=TENSOR) if has_tensors(index) else None
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explained("__setitem__", "any self, any index", (self, index), error)  # noqa: B904
    if written is not None:
        copy_into(self, written, "__setitem__")
    elif not wrote_element(_write, self, index, value):
        write_by_rules(self, index, value, given)


def write_by_rules(self: Tensor, index: Any, value: Any, given: object) -> None:
    """Write where it is not the usual case; `given` is the index as given, whose class may take part."""
    if type(given) not in KNOWN and taking_part((given,)):
        _write_row.asked((self, given, value), in_place=True)
    else:
        _setitem(self, index, value)


# What classes and modes are asked about is what a user calls.
_slice_row.public = _advanced_row.public = own(getitem, "Tensor.__getitem__")
_write_row.public_in_place = own(setitem, "Tensor.__setitem__")
getitem.__module__ = setitem.__module__ = "pullback"
