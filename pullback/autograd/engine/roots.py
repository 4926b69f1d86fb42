"""The arguments of backward() and grad(), checked: output tensors with their cotangents, and inputs, as edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from pullback.autograd.gradient_edge import GradientEdge, stand_in
from pullback.core.array_type import TENSOR, array_type, is_array
from pullback.core.cuts import explained
from pullback.core.errors import GradientError, type_name
from pullback.core.factory import tensor as tensor_of
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Gradient
from pullback.graph.node import Edge, edge_to

Tensors: TypeAlias = Tensor | GradientEdge | Iterable[Tensor | GradientEdge]
Cotangents: TypeAlias = Any  # a Tensor or array, None, or a sequence of these


def tensors_of(value: Tensors, name: str) -> tuple[Tensor, ...]:
    """The tensors given as `name`, or what stands in for their edges."""
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, GradientEdge):  # before tuples, for it is one
        return (stand_in(value),)
    if not isinstance(value, (list, tuple)):
        if not isinstance(value, Iterable) or issubclass(type(value), (str, ndarray)):
            raise TypeError(f"{name} must be a Tensor, a GradientEdge or a sequence of these, got {type_name(value)}.")
        value = tuple(value)  # module.parameters(), say
    for i, x in enumerate(value):
        if not isinstance(x, (Tensor, GradientEdge)):
            raise TypeError(f"{name}[{i}] must be a Tensor, got {type_name(x)} (a GradientEdge is accepted too).")
    return tuple(stand_in(x) if isinstance(x, GradientEdge) else x for x in value)


def roots_of(
    tensors: tuple[Tensor, ...], grads: Cotangents, name: str, create_graph: bool
) -> tuple[list[tuple[Edge, Gradient]], int]:
    """Pairs of edge and cotangent, checked, and the level at which they are."""
    if not tensors:
        raise GradientError("there is nothing to differentiate: the sequence of outputs is empty.")
    if grads is None:
        grads = (None,) * len(tensors)
    elif isinstance(grads, (Tensor, ndarray, np.generic, int, float, complex)):
        grads = (grads,)
    elif not isinstance(grads, (list, tuple)):
        found = type_name(grads)
        raise TypeError(
            f"gradients can be either Tensors or None, but got {found}: {name} must be a Tensor, a sequence of "
            "Tensors or "
            f"None, got {found}."
        )
    if len(grads) != len(tensors):
        raise GradientError(f"got {len(tensors)} tensors and {len(grads)} gradients in {name}.")
    level = tensors[0]._level if len(tensors) == 1 else max(t._level for t in tensors)
    roots = []
    for i, (tensor, given) in enumerate(zip(tensors, grads, strict=True)):
        edge = edge_to(tensor)
        if edge is None:
            raise GradientError(
                f"element {i} of tensors does not require grad and does not have a grad_fn: {_why_no_graph(tensor)}"
            )
        if tensor._level != level:
            raise GradientError(
                f"element {i} of tensors is of level {tensor._level}, another of level {level}: they belong to "
                "different transforms; differentiate them one by one."
            )
        data: Any = tensor._array
        if given is None and not create_graph and type(data) is ndarray and not data.shape and data.dtype.kind == "f":
            roots.append((edge, data.dtype.type(1)))  # a loss
            continue
        cotangent: Any = _cotangent(tensor, given, i, name)
        if create_graph:
            cotangent = cotangent if cotangent._level >= level else wrap(cotangent, level)
        else:
            cotangent = cotangent._array if cotangent._level == level else cotangent
        cotangent = array_type(tensor._array).root_gradient(tensor, cotangent)
        roots.append((edge, cotangent))
    return roots, level


def _why_no_graph(tensor: Tensor) -> str:
    if _depends_outside(tensor):
        return (
            "it is computed inside a transform, and depends only on tensors with requires_grad=True outside of it. "
            "Differentiate with respect to those outside, or give them to func.grad as arguments."
        )
    return "nothing in it depends on a tensor with requires_grad=True (or it was computed under no_grad)." + explained(
        tensor
    )


def _depends_outside(x: Any) -> bool:
    """True if a tensor further out, inside of `x`, requires grad."""
    kind = array_type(x)
    inside = [getattr(holder, name) for _, holder, name in kind.components(x)] or [kind.values(x)]
    return inside[0] is not x and any(
        (isinstance(y, Tensor) and y._requires_grad) or _depends_outside(y) for y in inside if is_array(y)
    )


def _cotangent(tensor: Tensor, given: Any, i: int, name: str) -> Tensor:
    """The checked cotangent of one output as a Tensor of its dtype."""
    if given is None:
        if tensor.numel() != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs, and output {i} has shape {tensor.shape}. "
                f"Reduce it first (for example .sum()), or pass its cotangent in {name}."
            )
        if tensor.is_complex():
            raise GradientError(
                f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}. Take the real "
                f"part or the absolute value first, or pass a cotangent in {name}."
            )
        return TENSOR.ones_like(tensor)  # type: ignore[no-any-return]
    # A Python number has no dtype: a real one fits a complex output, but no complex one a real output.
    number = type(given) in (int, float) and tensor.dtype.kind == "c"
    if not isinstance(given, Tensor):
        if not issubclass(type(given), (ndarray, np.generic, int, float, complex)):
            found = type_name(given)
            raise TypeError(
                f"gradients can be either Tensors or None, but got {found}: {name}[{i}] must be a Tensor, an ndarray "
                "or "
                f"None, got {found}."
            )
        given = tensor_of(given)
    if given.shape != tensor.shape:
        raise GradientError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and output[{i}] has a shape of "
            f"{tensor.shape}."
        )
    if given.dtype != tensor.dtype:
        if (given.dtype.kind == "c") != (tensor.dtype.kind == "c") and not number:
            raise GradientError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: {name}[{i}] has a dtype of {given.dtype} and output[{i}] has a dtype of {tensor.dtype}. "
                f"Convert it, for example with .to(pullback.{tensor.dtype})."
            )
        given = TENSOR.to(given, tensor.dtype)
    return given  # type: ignore[no-any-return]
