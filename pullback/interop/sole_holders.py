"""`a += t`, where `a` is an ndarray that nobody else holds: from then on `a` is an Array.

An ndarray cannot hold a gradient, but Python binds `a` to whatever `a += t` gives. If that name, element or attribute
is all that holds the array, nobody can tell whether it was written into or replaced; so it is replaced. `x = x0.copy()`
and then `x += dt * v` works as it stands, though `x0` is a plain constant of the program. Where others hold the array
too (another name, a caller, a view), the write is refused as ever.

Who holds it, its count of references says. How many there are when one name alone does, each operator is asked once.
Of `np.add(a, t, out=a)`, whose result is not bound to `a`, the instruction of the caller tells it apart.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, wrap_array
from pullback.core.tensor import ndarray

_OPERATORS: dict[np.ufunc, tuple[str, Callable[[Any, Any], Any]]] = {
    np.add: ("+=", operator.iadd),
    np.subtract: ("-=", operator.isub),
    np.multiply: ("*=", operator.imul),
    np.true_divide: ("/=", operator.itruediv),
    np.floor_divide: ("//=", operator.ifloordiv),
    np.remainder: ("%=", operator.imod),
    np.power: ("**=", operator.ipow),
}


class _Witness:
    """Stands for the tensor in `a += t`, and sees how many references to `a` there are."""

    found = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        self.found = _references(kwargs)
        return self


def _references(kwargs: Any) -> int:
    return sys.getrefcount(kwargs["out"][0])


@functools.cache
def _references_of_one_holder(sign: str) -> int:
    """The references to `a` in the middle of `a += t`, when the name `a` alone holds it."""
    made: dict[str, Any] = {"zeros": np.zeros}
    exec(f"def probe(witness):\n    a = zeros(1)\n    a {sign} witness", made)  # noqa: S102 - of our own making
    witness, trace = _Witness(), sys.gettrace()
    sys.settrace(None)  # a debugger that looks at local variables holds them
    try:
        made["probe"](witness)
    finally:
        sys.settrace(trace)
    return witness.found


def _in_a_statement(caller: FrameType) -> bool:
    """Whether the frame is at an operator, as of `a += t`, not at a call."""
    return caller.f_code.co_code[caller.f_lasti] == dis.opmap["BINARY_OP"]


def replaced(ufunc: np.ufunc, inputs: Any, kwargs: Any) -> Any:
    """What `a += t` gives where t is an Array that requires grad, and nobody else holds the ndarray a; None otherwise.

    `inputs` and `kwargs` are those of `__array_ufunc__`, which calls this. The ndarray itself gets no name here, which
    would hold it.
    """
    if len(inputs) != 2 or list(kwargs) != ["out"] or ufunc not in _OPERATORS or inputs[0] is not kwargs["out"][0]:
        return None
    other = inputs[1]
    if type(other) not in ARRAYS or not other._requires_grad or not modes.current().records(other._level):
        return None
    sign, write = _OPERATORS[ufunc]
    if type(inputs[0]) is not ndarray or _references(kwargs) > _references_of_one_holder(sign):
        return None
    flags = inputs[0].flags
    if not (flags.owndata and flags.writeable and inputs[0].dtype.kind in "fc" and _in_a_statement(sys._getframe(2))):
        return None
    return write(wrap_array(inputs[0], other._level), other)
