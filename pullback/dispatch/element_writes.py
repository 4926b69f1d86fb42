"""`x[index] = value` in the usual case: an element or a slice of a whole tensor around an ndarray, or around a dual.

It is the step of every loop over elements. What is written into is no view; the value is of the same level, or a
number. Everything else goes through `dispatch.pipeline`, which says the same in general, and says what is wrong.
"""

from __future__ import annotations

from typing import Any, cast

from pullback.core import modes
from pullback.core.array_face import AROUND_NDARRAYS, ARRAYS
from pullback.core.array_type import CONSTANTS, REGISTERED
from pullback.core.tensor import ndarray
from pullback.core.version import counter_of
from pullback.dispatch.operator import Operator
from pullback.graph.journal import KEEPERS, note_write
from pullback.graph.node import MASKING, Node, edge_to, start_node
from pullback.graph.view import wake_views

_REAL = frozenset([float, int, bool])
_WHOLE = frozenset([slice, type(None), type(Ellipsis)])


def wrote_element(op: Operator, target: Any, index: Any, value: Any) -> bool:
    """True if `target[index] = value` was the usual case, and is done; `op` is setitem. If not, nothing was changed."""
    state = modes.current()
    if not state.plain or (type(index) is not int and not is_plain(index)):
        return False
    data = target._array
    if type(data) is not ndarray:
        described = REGISTERED.get(type(data))
        return described is not None and described.write_element(target, index, value)
    kind, needs, raw = type(value), False, value
    if kind in AROUND_NDARRAYS:
        if value._level != target._level or (value._counter is not None and value._counter is target._counter):
            return False
        raw, needs = value._array, value._requires_grad
    elif kind not in CONSTANTS:
        return False
    recorded = needs or target._requires_grad
    if not can_hold(data, raw) or not _may_be_written(target, recorded, state):
        return False
    edge = edge_to(value) if needs else None  # raises for a view that is of no use any more
    counter = counter_of(target)
    try:
        if counter.journal is not None and (type(target) in ARRAYS or type(counter.journal) in KEEPERS):
            note_write(target, index)
        data[index] = raw
    except (TypeError, ValueError, IndexError, OverflowError):
        return False
    counter.n += 1
    counter.culprit = op.inplace_name
    if recorded:
        before, node_of = target._fn, cast("type[Node]", op.node)
        node: Any = start_node(node_of, target)
        node._extra, node._next0, node._next1 = MASKING, before, edge
        node.save(target, target, index, raw)
        wake_views(target)
    return True


def _may_be_written(target: Any, recorded: bool, state: modes.Modes) -> bool:
    """True if nothing about the target needs looking at: it is no view, no leaf that requires grad."""
    extra = target._extra
    if extra is not None and (extra.base is not None or extra.inference or extra.no_view or extra.lent):
        return False
    if not recorded:
        return True
    if not state.records(target._level) or not target._array.flags.forc or (extra is not None and extra.retains_grad):
        return False
    return target._fn is not None or not target._requires_grad


def is_plain(index: Any) -> bool:
    """True if an index is made of integers and slices alone, which name no place twice."""
    if type(index) is tuple:
        return all(type(item) is int or type(item) in _WHOLE for item in index)
    return type(index) in _WHOLE


def can_hold(data: ndarray, raw: Any) -> bool:
    """True if an ndarray can take what is written into it, a number or an ndarray, as NumPy writes it."""
    dtype = data.dtype
    if dtype.kind not in "fc" or not data.flags.writeable:
        return False
    if type(raw) is ndarray:
        return (raw.dtype is dtype or raw.dtype.kind in "biuf") and (not raw.ndim or raw.shape[0] != 1)
    return dtype.kind == "c" or type(raw) in _REAL or (type(raw) is not complex and raw.dtype.kind != "c")
