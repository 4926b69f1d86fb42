"""The description of dual arrays as an array type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.arrays.dual import elements, graphs, lifting
from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import CROSSINGS, with_data
from pullback.arrays.dual.calls import call_on_duals
from pullback.arrays.dual.kernels import DUAL
from pullback.arrays.dual.operators import assign
from pullback.core.array_face import NESTED
from pullback.core.array_type import (
    TRANSFORMED,
    ArrayType,
    array_type,
    counters_inside,
    layout_of,
    memory_of,
    numbers_of,
    read,
    register_array_type,
    touched_in,
)
from pullback.core.tensor import Tensor, ndarray
from pullback.core.version import Counter
from pullback.graph.node import AccumulateGrad


class DualType(ArrayType):
    """Arrays with tangents."""

    rank = TRANSFORMED
    dual = True

    def values(self, x: DualArray) -> Any:
        return x.values()

    def detached(self, x: DualArray) -> Any:
        return x.detached()

    def carries_derivative(self, x: DualArray) -> bool:
        return x.carries_derivative()

    def components(self, x: DualArray) -> Iterable[tuple[frozenset[int], Any, str]]:
        return x.components()

    def counters(self, x: DualArray) -> Iterable[Counter]:
        if x.kin is not None and x.kin.counter is not None:
            yield x.kin.counter
        for part in (x.primal, x.tangent):
            if type(part) is not ndarray:  # said first for speed
                yield from counters_inside(part)

    def tangents(self, x: DualArray) -> Any:
        return x.tangents()

    def with_data(self, x: DualArray, data: Any) -> Any:
        return with_data(x, data)

    def numbers(self, x: DualArray) -> Any:
        return numbers_of(x.primal)

    def touched(self, x: DualArray) -> Any:
        primal = touched_in(x.primal)
        return primal if x.tangent is None else touched_in(x.tangent) | primal

    def read(self, x: DualArray, why: str) -> Any:
        return read(x.primal, why)

    def accepts(self, x: DualArray) -> bool:
        return False  # it belongs to a level, which the Tensors around it know

    def lift_constant(self, x: DualArray, constant: Any) -> DualArray:
        return DualArray(constant, None, x.level, x.co)

    def copy(self, x: DualArray) -> DualArray:
        return x.copy()

    def assign(self, name: str, x: DualArray, value: Any) -> DualArray:
        return assign(x, name, value)

    def replaced(self, x: DualArray, value: Any) -> Any:
        if type(value) is not DualArray or value.level is not x.level:
            return value
        primal = x.primal if isinstance(x.primal, Tensor) else array_type(x.primal).replaced(x.primal, value.primal)
        return DualArray(primal, value.tangent, value.level, value.co, value.apart, value.touched)

    def memory(self, x: DualArray) -> ndarray | None:
        return memory_of(x.primal)

    def layout(self, x: DualArray) -> ndarray | None:
        return layout_of(x.primal)

    def prepare(self, op: Any, args: Sequence[Any], level: int) -> Sequence[Any]:
        return lifting.prepare(op, args, level)

    def call(self, op: Any, arity: int) -> Callable[..., Any] | None:
        return call_on_duals(op, arity)

    def read_element(self, x: Tensor, index: Any) -> Any:
        return elements.read_element(x, index)

    def may_be_saved(self, x: DualArray, level: int) -> bool:
        return x.level.is_recorded(level)

    def write_element(self, target: Tensor, index: Any, value: Any) -> bool:
        return elements.write_element(target, index, value)

    def prepare_target(self, name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
        return lifting.prepare_target(name, target, args, level)

    def flows_through(self, nodes: Iterable[Any]) -> bool:
        for node in nodes:
            if type(node) in CROSSINGS or (type(node) is AccumulateGrad and type(node.variable) in NESTED):
                return True
        return False

    def root_gradient(self, tensor: Tensor, gradient: Any) -> Any:
        return graphs.root_gradient(tensor, gradient)

    def leaving_gradient(self, gradient: Any) -> Any:
        return graphs.leaving_gradient(gradient)

    def saved_again(self, x: DualArray) -> DualArray:
        return x.lasting()


register_array_type(DualArray, DualType(DUAL))
