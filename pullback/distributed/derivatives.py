"""Derivatives of the terms of a sum: the derivative of the sum is the sum of these.

Each function takes a function of some arguments and returns one. Workers get them as partials of what they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.core.array_face import ARRAYS, as_tensor
from pullback.core.factory import from_numpy
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import ndarray
from pullback.func.batching import vmap
from pullback.func.boundary import Argnums
from pullback.func.forward import jvp
from pullback.func.gradient import value_and_grad
from pullback.func.reverse import vjp

Function: TypeAlias = Callable[..., Any]
Leaves: TypeAlias = Sequence[int]  # which leaves of the arguments are meant


def of_tensors(places: Collection[int], function: Function) -> Function:
    """`function` with Tensors for the leaves that its caller has given as Tensors."""

    def shown(x: Any) -> Any:
        if type(x) in ARRAYS:
            return as_tensor(x)
        return from_numpy(np.asarray(x)) if issubclass(type(x), (ndarray, np.generic)) else x

    def called(*args: Any) -> Any:
        leaves, structure = flatten(args)
        return function(*unflatten(structure, [shown(x) if i in places else x for i, x in enumerate(leaves)]))

    return called


def value_and_gradient(argnums: Argnums, function: Function) -> Function:
    """The function's value and gradient."""
    return value_and_grad(function, argnums)


def pulled(wanted: Leaves, function: Function) -> Function:
    """(cotangent, *args) -> the gradient of each argument; None for leaves that are not wanted."""

    def gradients(cotangent: Any, *args: Any) -> Any:
        of_wanted, points, arranged = _of_leaves(function, args, wanted)
        return arranged(vjp(of_wanted, *points)[1](cotangent))

    return gradients


def with_gradients(wanted: Leaves, function: Function) -> Function:
    """*args -> (value, gradients), where the value is one real number; (value, None) of any other."""

    def both(*args: Any) -> tuple[Any, Any]:
        of_wanted, points, arranged = _of_leaves(function, args, wanted)
        value, pull = vjp(of_wanted, *points)
        return value, arranged(pull(np.ones((), value.dtype))) if is_one_number(value) else None

    return both


def pushed(wanted: Leaves, function: Function) -> Function:
    """(tangents of the wanted leaves, *args) -> the tangent of the value."""

    def tangent(tangents: Sequence[Any], *args: Any) -> Any:
        of_wanted, points, _ = _of_leaves(function, args, wanted)
        return jvp(of_wanted, tuple(points), tuple(tangents))[1]

    return tangent


def batched(in_dims: Any, randomness: str, function: Function) -> Function:
    """*args, some of them batches -> the batch of the values."""
    return vmap(function, in_dims, randomness=randomness)


def is_one_number(x: Any) -> bool:
    """True for a real number of floating point, of which the gradient is one array for each argument."""
    return getattr(x, "shape", None) == () and x.dtype.kind == "f"


def _of_leaves(function: Function, args: Any, wanted: Leaves) -> tuple[Function, list[Any], Function]:
    """(`function` of the wanted leaves alone, these, what puts one thing for each where it belongs among Nones)."""
    leaves, structure = flatten(args)

    def of_wanted(*points: Any) -> Any:
        given = dict(zip(wanted, points, strict=True))
        return function(*unflatten(structure, [given.get(i, x) for i, x in enumerate(leaves)]))

    of_wanted.__qualname__ = getattr(function, "__qualname__", "function")  # which warnings have

    def arranged(found: Sequence[Any]) -> Any:
        given = dict(zip(wanted, found, strict=True))
        return unflatten(structure, [given.get(i) for i in range(len(leaves))])

    return of_wanted, [leaves[i] for i in wanted], arranged
