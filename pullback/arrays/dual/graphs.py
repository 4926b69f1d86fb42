"""Backward through a graph with dual arrays: its first cotangents, and its gradients."""

from __future__ import annotations

from typing import Any

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import make_dual_at, tangent_of
from pullback.core.tensor import Tensor, wrap_like
from pullback.core.version import counter_of
from pullback.graph.node import edge_to


def root_gradient(tensor: Tensor, gradient: Any) -> Any:
    """The gradient with which a backward starts at a tensor: marked as that of a dual loss where the tensor is dual.

    Once the level is closed the tensor stands for its primal, of which the gradient is a co-dual.
    """
    array: Any = tensor._array
    level = tensor._level
    given = gradient._array if isinstance(gradient, Tensor) and gradient._level == level else gradient
    if type(given) is DualArray and given.level.number >= array.level.number:
        return gradient
    if array.level.open:
        return make_dual_at(level, gradient, None, array.level)
    return make_dual_at(level, None, gradient, array.level.lasting, True)


def marks(x: Any) -> frozenset[int]:
    """The numbers of the levels at which a cotangent is a co-dual."""
    if isinstance(x, Tensor):
        return marks(x._array)
    if type(x) is not DualArray:
        return frozenset()
    return frozenset([x.level.number] if x.co else ()) | marks(x.primal) | marks(x.tangent)


def marked(x: Any, numbers: frozenset[int]) -> Any:
    """The same numbers as co-duals at these levels alone, in the same place of the graph.

    The arithmetic of co-duals is that of dual numbers: what is linear may as well be given the one as the other.
    """
    if isinstance(x, Tensor):
        inside = marked(x._array, numbers)
        if inside is x._array:
            return x
        out = wrap_like(type(x), inside, x._level)
        out._counter, out._fn, out._requires_grad = counter_of(x), edge_to(x), x._requires_grad
        return out
    if type(x) is not DualArray:
        return x
    tangent = None if x.tangent is None else marked(x.tangent, numbers)
    return DualArray(marked(x.primal, numbers), tangent, x.level, x.level.number in numbers, x.apart, x.touched)


def leaving_gradient(gradient: Any) -> Any:
    """A gradient as its user sees it: of a co-dual the part that belongs to the primal."""
    array: Any = gradient._array if isinstance(gradient, Tensor) else gradient
    if not array.co:
        return gradient
    return tangent_of(gradient, array.level)
