"""Python's operators beside objects of other classes: who is left to answer `t + quantity`.

An operator that returns NotImplemented leaves the answer to the other operand's class, as NumPy's and PyTorch's do.
What no class answers ends in our error, which says what the operand must be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.array_type import REGISTERED
from pullback.core.tensor import Tensor, ndarray

# The operator's name -> the method by which the right operand answers.
REFLECTED = {
    "add": "__radd__", "sub": "__rsub__", "mul": "__rmul__", "div": "__rtruediv__", "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__", "pow": "__rpow__", "matmul": "__rmatmul__", "bitwise_and": "__rand__",
    "bitwise_or": "__ror__", "bitwise_xor": "__rxor__", "bitwise_left_shift": "__rlshift__",
    "bitwise_right_shift": "__rrshift__", "divmod": "__rdivmod__", "lt": "__gt__", "le": "__ge__", "gt": "__lt__",
    "ge": "__le__", "eq": "__eq__", "ne": "__ne__",
}  # fmt: skip
# What is or could be made an array: our errors say how.
_NEVER = (Tensor, ndarray, np.generic, bool, int, float, complex, list, tuple)


def answers(x: Any, name: str) -> bool:
    """True if the class of `x`, beside a tensor, is to say what the operator of this name gives."""
    if issubclass(type(x), _NEVER) or type(x) in REGISTERED:
        return False
    if name in ("eq", "ne"):
        return True  # Python finds that they are not equal, if nobody says otherwise
    kind, method = type(x), REFLECTED.get(name)
    if kind.__module__ == "builtins" or not any(method in vars(base) for base in kind.__mro__[:-1]):
        return False  # object itself has comparisons, which answer nothing
    return comes_first(kind) or not hasattr(kind, "__array__")


def comes_first(kind: type) -> bool:
    """True if a class asks NumPy's arrays to leave operators to it; PyTorch's tensors do not know ours."""
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None
    priority: Any = getattr(kind, "__array_priority__", 0.0)  # a descriptor in NumPy's own classes
    return issubclass(type(priority), (int, float)) and priority > 0.0 and kind.__name__ != "Tensor"
