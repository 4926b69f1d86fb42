"""Backward through a graph with dual arrays: its first cotangents, its kernels, and its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.boundary import CROSSINGS, make_dual, tangent_of
from pullback.arrays.dual.kernels import DUAL
from pullback.core import slots
from pullback.core.array_type import OperatorTable
from pullback.core.tensor import NestedTensor, Tensor, wrap
from pullback.core.version import counter_of
from pullback.graph.node import AccumulateGrad, Node, port


def table_for_graph(nodes: Iterable[Node], table: OperatorTable) -> OperatorTable:
    """The operators for a backward through these nodes: for any array, where duals can flow."""
    for node in nodes:
        if type(node) in CROSSINGS or (type(node) is AccumulateGrad and type(node.variable) is NestedTensor):
            return DUAL
    return table


def root_gradient(tensor: Tensor, gradient: Any) -> Any:
    """The gradient with which a backward starts at a tensor: marked as that of a dual loss where the tensor is dual.

    Once the level is closed the tensor stands for its primal, of which the gradient is a co-dual.
    """
    array = tensor._array
    if type(array) is not DualArray:
        return gradient
    given = gradient._array if isinstance(gradient, Tensor) else gradient
    if type(given) is DualArray and given.level.number >= array.level.number:
        return gradient
    if array.level.open:
        return make_dual(gradient, None, array.level)
    return make_dual(None, gradient, array.level.lasting, True)


def leaving_gradient(gradient: Any) -> Any:
    """A gradient as its user sees it: of a co-dual the part that belongs to the primal."""
    array = gradient._array if isinstance(gradient, Tensor) else gradient
    if type(array) is not DualArray or not array.co:
        return gradient
    return tangent_of(gradient, array.level)


def saved_again(saved: Any) -> Any:
    """What a node saved, with the tangents of levels that are closed by now, as a backward needs them."""
    if type(saved) is DualArray:
        return saved.lasting()
    if type(saved) is not NestedTensor:
        return saved
    inside: Any = saved._array
    if type(inside) is DualArray and inside.level.open:
        return saved
    lasting = saved_again(inside)
    if lasting is inside:
        return saved
    again = wrap(lasting, saved._level)
    again._counter, again._fn = counter_of(saved), port(saved)
    again._requires_grad = saved._requires_grad
    return again


slots.table_for_graph = table_for_graph
slots.root_gradient = root_gradient
slots.leaving_gradient = leaving_gradient
slots.saved_again = saved_again
