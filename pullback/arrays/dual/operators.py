"""Python's operators, indexing, and the few methods that formulas call, on dual arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.arrays.dual.array import DualArray, frozen
from pullback.arrays.dual.kernels import DUAL
from pullback.arrays.dual.touched import written
from pullback.core.array_type import kernel_for, memory_of, table_of
from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.mixed import on_wrapped
from pullback.dispatch.outer_levels import constant_part
from pullback.dispatch.targets import assigned, write_array

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
    "floordiv": "floor_divide", "mod": "remainder",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_METHODS = ("conj", "reshape", "sum", "clone", "transpose", "to", "item")
_PROPERTIES = ("T", "mT", "mH", "real", "imag")


def _binary(kernel: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def operator(self: DualArray, other: Any) -> Any:
        return DUAL.kernels[kernel](self, other)

    def reflected(self: DualArray, other: Any) -> Any:
        return DUAL.kernels[kernel](other, self)

    return operator, reflected


def _method(name: str) -> Callable[..., Any]:
    def method(self: DualArray, *args: Any, **kwargs: Any) -> Any:
        return on_wrapped(
            lambda tensor, *rest, **options: getattr(tensor, name)(*rest, **options), self, *args, **kwargs
        )

    return method


def _property(name: str) -> property:
    return property(lambda self: on_wrapped(lambda tensor: getattr(tensor, name), self))


def _neg(self: DualArray) -> Any:
    return DUAL.kernels["neg"](self)


def _abs(self: DualArray) -> Any:
    return DUAL.kernels["abs"](self)


def _getitem(self: DualArray, index: Any) -> Any:
    return on_wrapped(lambda tensor: tensor[index], self)


def assign(self: DualArray, name: str, value: Any) -> DualArray:
    """Write the result of the in-place operator of that name: its primal and its tangent, each into its memory.

    Where the primal has none, and is replaced, so is the dual array: then the views of its Tensor are given the rest.
    """
    same = type(value) is DualArray and value.level.number == self.level.number
    primal, tangent = (value.primal, value.tangent) if same else (value, None)
    kin = self.kin
    if self.tangent is not None and (
        self.apart or (kin is not None and any(part() is not None for part in kin.parted))
    ):
        raise InplaceError(
            f"{name} cannot be followed by forward mode: a view shares the memory of its base, but its tangent does "
            "not share that of the base's tangent. Work on a clone(), or use the out-of-place form."
        )
    now = _written(self.primal, name, primal)
    if now is not self.primal or (isinstance(now, Tensor) and memory_of(now) is None):
        if tangent is not None and tangent.dtype != now.dtype:
            tangent = kernel_for([tangent], "to_copy")(tangent, now.dtype, None)
        return DualArray(now, tangent, self.level, self.co, False, frozen(value.touched) if same else None)
    written(self, value.touched if same else None)
    if self.tangent is not None:
        zeros = table_of((primal,)).zeros_like(primal) if tangent is None else tangent
        self.tangent = _written(self.tangent, name, zeros)
    return self


def _written(part: Any, name: str, value: Any) -> Any:
    if type(part) is ndarray:
        write_array(name, part, constant_part(value))
        return part
    return part.copy_(value) if isinstance(part, Tensor) else assigned(name, part, value)


def _attach() -> None:
    for python, kernel in _BINARY.items():
        operator, reflected = _binary(kernel)
        setattr(DualArray, f"__{python}__", operator)
        if python not in _COMPARISONS:
            setattr(DualArray, f"__r{python}__", reflected)
    for name in _METHODS:
        setattr(DualArray, name, _method(name))
    for name in _PROPERTIES:
        setattr(DualArray, name, _property(name))
    others = {
        "__neg__": _neg, "__abs__": _abs, "__getitem__": _getitem, "__hash__": object.__hash__,
        "conjugate": _method("conj"),
    }  # fmt: skip
    for name, function in others.items():
        setattr(DualArray, name, function)


_attach()
