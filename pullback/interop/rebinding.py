"""`a += t`, where `a` is an ndarray: no ndarray can hold the derivative, but the name `a` can be given another array.

Python binds the name to what the operation returns. That may be a new array if nobody can tell the difference: `a` owns
its memory, and is held by that one name (or attribute, or element of a list) alone, so there is no view and no alias
that should change with it. It is how integrators begin, with `x = x0.copy()`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from opcode import _nb_ops, opmap  # type: ignore[attr-defined]
from types import FrameType
from typing import Any, cast

import numpy as np

from pullback.core import cuts
from pullback.core.tensor import ndarray

_BINARY_OP = opmap["BINARY_OP"]
_IN_PLACE = frozenset(number for number, (name, _) in enumerate(_nb_ops) if name.startswith("NB_INPLACE"))


class Probe:
    """Stands beside an array that a single name holds, to find out how many references there are to such a one."""


class Counted(Exception):  # noqa: N818 - it is no error
    """How many references there were: a probe's answer."""


def may_be_replaced(beside: object, out: Sequence[object]) -> bool:
    """True if a user's `a += t` runs, and the only name of the ndarray `a`, in `out`, may be given another array."""
    count = sys.getrefcount(out[0])
    if type(beside) is Probe:
        raise Counted(count)
    array = out[0]
    if len(out) != 1 or type(array) is not ndarray or array.base is not None or not array.flags.writeable:
        return False
    return count == _count_of_one_name() and _is_in_place(cuts.users_frame(sys._getframe(1)))


@functools.cache
def _count_of_one_name() -> int:
    array = np.zeros(1)
    try:
        array += cast("Any", Probe())
    except Counted as counted:
        return counted.args[0]  # type: ignore[no-any-return]
    return -1


def _is_in_place(frame: FrameType | None) -> bool:
    """True if this frame is in the midst of `a += b` or its kin."""
    if frame is None:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == _BINARY_OP and code[at + 1] in _IN_PLACE
