"""Elements of dual arrays, read and written in the usual case: nothing is recorded at their own level.

Loops over elements are made of these. What is unusual returns None, or False with nothing changed, and goes the general
way, through operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.touched import Touched, mask_of
from pullback.core.array_face import ARRAYS, NestedScalar
from pullback.core.array_type import CONSTANTS, REGISTERED, memory_of
from pullback.core.tensor import Tensor, ndarray, new
from pullback.core.version import counter_of
from pullback.dispatch.element_writes import can_hold
from pullback.graph.journal import KEEPERS, note_write


def read_element(x: Tensor, index: Any) -> Any:
    """x[index] where that is a single number: a Scalar that shares memory with nothing; None in any other case."""
    dual: Any = x._array
    p, t = dual.primal, dual.tangent
    if type(p) is not ndarray or type(t) is not ndarray or x._requires_grad or dual.co or not dual.level.open:
        return None
    try:
        number = p[index]
    except IndexError:
        return None
    if not issubclass(type(number), np.generic):
        return None
    mask = mask_of(dual)
    if mask is not None:
        mask = None if mask[index] else np.asarray(False)
    out = new(NestedScalar)
    out._array = DualArray(np.asarray(number), np.asarray(t[index]), dual.level, False, False, mask)
    out._level, out._requires_grad = x._level, False
    out._fn = out._counter = out._extra = None
    return out


def write_element(target: Tensor, index: Any, value: Any) -> bool:
    """Write target[index] = value, primal and tangent, and say whether it was a usual case."""
    dual: Any = target._array
    given = _given(target, dual, value) if _may_be_written(target, dual) else None
    if given is None:
        return False
    raw, moved, mask = given
    counter = counter_of(target)
    try:
        kept = type(counter.journal) in KEEPERS or (counter.journal is not None and type(target) in ARRAYS)
        if kept and dual.level.is_recorded(target._level):
            note_write(target, index)
        dual.primal[index] = raw  # recorded at a lower level where it is a Tensor
    except (TypeError, ValueError, IndexError, OverflowError, RuntimeError):
        return False
    dual.tangent[index] = 0 if moved is None else moved
    if dual.kin is None:
        _write_mask(dual, index, mask)
    else:
        dual.touched = None
        dual.kin.note_write()
    counter.n += 1
    counter.culprit = "__setitem__"
    return True


def _may_be_written(target: Tensor, dual: DualArray) -> bool:
    p, t, extra = memory_of(dual.primal), memory_of(dual.tangent), target._extra
    if type(dual.tangent) in REGISTERED:  # of an outer level, or of many samples, where the primal is not
        return False
    if p is None or t is None or not p.flags.forc or not t.flags.writeable:
        return False
    if dual.apart or dual.co or target._requires_grad or not dual.level.open:
        return False
    if dual.kin is not None and any(part() is not None for part in dual.kin.parted):
        return False
    return extra is None or not (
        extra.inference or extra.no_view or (extra.base is not None and extra.base._requires_grad)
    )


def _given(target: Tensor, dual: DualArray, value: Any) -> tuple[Any, Any, Touched] | None:
    """(primal, tangent or None, mask) of a value that may be written without ado; None of any other."""
    kind = type(value)
    raw, moved, mask = value, None, False  # of a constant nothing moves
    if kind not in CONSTANTS:
        if value._requires_grad or value._level != target._level or not _is_settled(value):
            return None
        if value._counter is not None and value._counter is target._counter:
            return None
        raw = value._array
        if type(raw) is DualArray:
            if raw.level is not dual.level or raw.co:
                return None
            raw, moved, mask = raw.primal, raw.tangent, mask_of(raw)
            if moved is None:
                mask = False
    if not _takes(dual.primal, raw) or (moved is not None and not _takes(dual.tangent, moved)):
        return None
    return raw, moved, mask


def _takes(part: Any, raw: Any) -> bool:
    """True if an ndarray, or a Tensor of a lower level, can be given this: it is of that level, or a constant."""
    if type(part) is ndarray:
        return type(raw) in CONSTANTS and can_hold(part, raw)
    if not isinstance(part, Tensor) or (isinstance(raw, Tensor) and raw._level != part._level):
        return False
    memory, given = memory_of(part), raw if type(raw) in CONSTANTS else memory_of(raw)
    return memory is not None and given is not None and can_hold(memory, given)


def _is_settled(value: Tensor) -> bool:
    """True if a value needs no looking at: it is no view that may be behind its base."""
    extra = value._extra
    return extra is None or extra.base is None or not extra.base._requires_grad


def _write_mask(dual: DualArray, index: Any, mask: Touched) -> None:
    """Note which of the elements written now are touched: False for none, None for all."""
    own = dual.touched
    if any(not issubclass(type(x), (bool, np.ndarray, np.generic)) for x in (own, mask) if x is not None):
        dual.touched = None  # of samples, which have zeros of their own: all may be touched
        return
    if own is None:
        if mask is None:
            return
        own = np.ones(dual.shape, bool)
    elif not own.flags.writeable:  # others have it too: see `array.frozen`
        own = np.array(own)
    own[index] = mask is None or mask
    dual.touched = own if mask is not None or not own.all() else None
