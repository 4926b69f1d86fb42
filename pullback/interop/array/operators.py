"""Python's operators on Arrays and Scalars, with the meaning that they have for NumPy's."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.array_face import Array, Scalar
from pullback.core.array_type import TENSOR, numbers_of
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.numpy_types import AnyArray
from pullback.core.overrides import takes_part
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.call_errors import explain
from pullback.dispatch.nested_calls import on_nested
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch_arrays
from pullback.dispatch.right_operand import answers, comes_first
from pullback.interop.numpy_errors import raise_as_numpy
from pullback.interop.operands import READY, number, operand
from pullback.ops.array_calls import factories, made_by
from pullback.ops.tables import OPERATORS

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul",
}  # fmt: skip
_UNARY = {"neg": "neg", "abs": "abs"}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
# Of whole numbers and truth values, which have no derivative; NumPy refuses them for others.
_BITWISE = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip


# By the operator's name: the function of Python that stands for the sign, to ask NumPy what it thinks of a call.
_SIGNS: dict[str, Callable[..., Any]] = {name: getattr(operator, python) for python, name in (_BINARY | _UNARY).items()}


_UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floor_divide": np.floor_divide,
    "remainder": np.remainder, "pow": np.power, "matmul": np.matmul,
}  # fmt: skip

_AS_THEY_ARE = READY - {ndarray}  # an ndarray may be of no numbers


def _explain(op: Operator, args: Sequence[Any], error: Exception) -> Exception:
    """NumPy's error, where it refuses the same operation; else ours."""
    told = explain(op, args, error)
    raise_as_numpy(_SIGNS[op.name], args, ours=told)
    return told


def _general(op: Operator, args: Sequence[Any]) -> object:
    """Handle what is not the common case: lists become arrays, and what is no array is left to its own class."""
    try:
        return _of_any(op, args)
    except Exception as error:
        raise_as_numpy(_SIGNS[op.name], args, ours=error)
        raise


def _failed(op: Operator, args: Sequence[Any]) -> None:
    """Raise NumPy's error for the one that is being handled, where NumPy refuses the same operation; else that."""
    raise_as_numpy(_SIGNS[op.name], args, ours=sys.exception())  # type: ignore[arg-type]  # in a handler
    raise  # noqa: PLE0704 - as said


def _of_any(op: Operator, args: Sequence[Any]) -> object:
    if _AS_THEY_ARE.issuperset(map(type, args)):
        return dispatch_arrays(op, args)
    if not all(type(x) in READY for x in args):
        if any(_has_ufuncs(x) for x in args):
            return _UFUNCS[op.name](*args)
        args = [number(x) for x in args]
    if any(type(x) not in READY and not _is_arraylike(x) for x in args):
        return NotImplemented
    if (
        op.name == "mul"
        and any(isinstance(x, Scalar) for x in args)
        and any(isinstance(x, Sequence) and hasattr(x, "__mul__") for x in args)
    ):
        return NotImplemented  # times a number, a list means its repetition, and a range an array
    return dispatch_arrays(op, [operand(x) for x in args])


def _has_ufuncs(x: object) -> bool:
    """True if the class of `x` says what ufuncs give, and not what array it is: NumPy's operators are these ufuncs."""
    kind = type(x)
    if kind in READY or issubclass(kind, (ndarray, np.generic)) or hasattr(kind, "__array__"):
        return False
    return getattr(kind, "__array_ufunc__", None) is not None


def _is_arraylike(x: object) -> bool:
    """True if NumPy's operators would make an array of `x`, or if its class takes part in ours."""
    if isinstance(x, (Tensor, list, tuple, ndarray)):
        return True
    kind = type(x)
    sequence = issubclass(kind, Sequence) and not issubclass(kind, (str, bytes))  # a range, a deque, a memoryview
    return ((sequence or hasattr(kind, "__array__")) and not comes_first(kind)) or takes_part(kind)


_FACTORIES: dict[type, dict[str, Callable[..., Any]]] = {
    kind: factories(kind, _general, _explain) for kind in (Array, Scalar)
}


def _call(name: str, kind: type) -> Callable[..., Any]:
    op = OPERATORS[name][0].operator
    assert op is not None
    return made_by(_FACTORIES[kind], op)


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def reflected(self: Array, other: object) -> object:
        return function(other, self)

    return reflected


def _in_place(python: str, name: str) -> Callable[..., Any]:
    write, sign = OPERATORS[name][0].inplace, getattr(operator, f"i{python}")
    assert write is not None

    def method(self: Array, other: Any) -> object:
        if type(other) not in READY:
            if _has_ufuncs(other):
                return _UFUNCS[name](self, other, out=(self,))
            other = number(other) if issubclass(type(other), (float, int)) else other
            if type(other) not in READY and not _is_arraylike(other):
                return NotImplemented
        try:
            return write(self, other if type(other) in READY else operand(other))
        except FloatingPointError:  # by np.errstate; NumPy has written all elements when it raises
            with np.errstate(all="ignore"):
                write(self, other)
            raise
        except Exception as error:
            raise_as_numpy(sign, (self, other), ours=error)
            raise

    return method


def _values(x: object) -> object:
    """The numbers that NumPy compares: those of a tensor, of a list of tensors too, or `x` itself."""
    if type(x) is list or type(x) is tuple:
        x = operand(x)
    return numbers_of(x) if isinstance(x, Tensor) else number(x)


def _by_values(on_values: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Truth values have no derivative: they are NumPy's own, where the numbers are known."""
    on_tensors = OPERATORS[name][0].function

    def compare(self: Array, other: object) -> object:
        if type(other) not in READY and takes_part(type(other)):
            return on_tensors(self, other)
        mine, theirs = _values(self), _values(other)
        if mine is None is not self or theirs is None is not other:
            return NotImplemented if answers(other, name) else on_tensors(self, other)
        if WATCHED:
            note_operator(name, self, other)
        return on_values(mine, theirs)

    return compare


def _divmod(self: Array, other: Any) -> object:
    if _has_ufuncs(other):
        return np.divmod(self, other)
    other = number(other)
    if type(other) not in READY and not _is_arraylike(other):
        return NotImplemented
    return self // other, self % other


def _rdivmod(self: Array, other: Any) -> object:
    if _has_ufuncs(other):
        return np.divmod(other, self)
    other = number(other)
    if type(other) not in READY and not _is_arraylike(other):
        return NotImplemented
    return other // self, other % self


def _invert(self: Array) -> AnyArray:
    numbers = numbers_of(self)
    return TENSOR.bitwise_not(self) if numbers is None else ~numbers


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    """The methods behind Python's operators, for Array or for Scalar."""
    found: dict[str, Callable[..., Any]] = {}
    for python, name in _BINARY.items():
        function = _call(name, kind)
        found[f"__{python}__"] = function
        found[f"__r{python}__"] = _swapped(function)
        # A Scalar is a value: what looks like writing into it makes a new one.
        writes = OPERATORS[name][0].inplace is not None and kind is Array
        found[f"__i{python}__"] = _in_place(python, name) if writes else function
    for python, name in _UNARY.items():
        found[f"__{python}__"] = _call(name, kind)
    for name in _COMPARISONS:
        found[f"__{name}__"] = _by_values(getattr(operator, name), name)
    for python, name in _BITWISE.items():
        found[f"__{python}__"] = function = _by_values(getattr(operator, f"__{python}__"), name)
        found[f"__r{python}__"] = _swapped(function)
    found |= {"__divmod__": _divmod, "__rdivmod__": _rdivmod, "__invert__": _invert}
    for name, method in found.items():
        method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
    return found


def nested_methods(kind: type) -> dict[str, Callable[..., Any]]:
    """The same for those around others than ndarrays, of the operators that have a usual case there."""
    general, found = methods(kind), {}
    for python, name in (_BINARY | _UNARY).items():
        op: Any = OPERATORS[name][0].operator
        for method in (f"__{python}__", f"__r{python}__"):
            if method in general:
                found[method] = on_nested(op, general[method], _failed, method != f"__{python}__")
                found[method].__name__, found[method].__qualname__ = method, f"{kind.__name__}.{method}"
    return found
