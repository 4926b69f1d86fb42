"""NumPy's products of arrays, in `np` and in `np.linalg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Axis, Casting, DTypeLike, Order, Out
from pullback.core.overrides import taking_part
from pullback.core.tensor import Tensor
from pullback.interop.operands import READY, array, cast, deliver, in_order, moveaxis, ops
from pullback.interop.registry import rule


@rule("dot")
def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> AnyArray:
    """np.dot: over the last axis of a and the last but one of b."""
    a, b = array(a), array(b)
    if not (type(a) in READY and type(b) in READY) and taking_part((a, b)):
        return ops.dot(a, b)
    if not (a.ndim and b.ndim):
        result = _multiple(a, b)
    elif a.ndim <= 2 and b.ndim <= 2:
        result = ops.matmul(a, b)
    else:
        result = ops.tensordot(a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),)))
    return deliver("dot", result, out)


@rule("vdot")
def vdot(a: ArrayLike, b: ArrayLike, /) -> AnyArray:
    """np.vdot."""
    return ops.vdot(np.ravel(array(a)), np.ravel(array(b)))


@rule("inner")
def inner(a: ArrayLike, b: ArrayLike, /) -> AnyArray:
    """np.inner."""
    a, b = array(a), array(b)
    return ops.inner(a, b) if a.ndim and b.ndim else _multiple(a, b)


def _multiple(a: AnyArray, b: AnyArray) -> AnyArray:
    """A product by a number, which BLAS computes, in its own order, up to two dimensions."""
    product = a * b
    return in_order(product, "C") if product.ndim == 2 else product


@rule("outer")
def outer(a: ArrayLike, b: ArrayLike, out: Out = None) -> AnyArray:
    """np.outer."""
    return deliver("outer", ops.outer(np.ravel(array(a)), np.ravel(array(b))), out)


@rule("linalg.outer")
def vector_outer(x1: ArrayLike, x2: ArrayLike, /) -> AnyArray:
    """np.linalg.outer, of vectors alone."""
    return ops.outer(array(x1), array(x2))


@rule("linalg.matmul")
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> AnyArray:
    """np.linalg.matmul."""
    return ops.matmul(array(x1), array(x2))


@rule("matvec")
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> AnyArray:
    """np.matvec."""
    return ops.matmul(x1, array(x2)[..., None])[..., 0]


@rule("vecmat")
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> AnyArray:
    """np.vecmat; the vector is conjugated."""
    return ops.matmul(np.conj(array(x1))[..., None, :], x2)[..., 0, :]


@rule("vecdot")
def vecdot(x1: ArrayLike, x2: ArrayLike, /) -> AnyArray:
    """np.vecdot; the first vector is conjugated."""
    return ops.matmul(np.conj(array(x1))[..., None, :], array(x2)[..., None])[..., 0, 0]


@rule("linalg.vecdot")
def vecdot_along(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> AnyArray:
    """np.linalg.vecdot."""
    dot_along: Callable[..., AnyArray] = np.vecdot
    return dot_along(array(x1), array(x2), axis=axis)


@rule("einsum")
def einsum(
    *operands: Any,
    out: Out = None,
    optimize: bool = False,
    dtype: DTypeLike = None,
    order: Order = "K",
    casting: Casting = "safe",
) -> AnyArray:
    """np.einsum, in both of its forms."""
    first, *rest = operands
    result: AnyArray
    if isinstance(first, str):
        result = ops.einsum(first, [array(x) for x in rest])
    else:
        pairs = len(operands) // 2 * 2
        first, *rest = [array(x) if i % 2 == 0 and i < pairs else x for i, x in enumerate(operands)]
        result = ops.einsum(first, rest)
    several = len(operands) > (2 if isinstance(operands[0], str) else 3)
    if order != "K" or several:  # of one array it may be a view
        result = in_order(result, "C" if order == "K" else order)
    return deliver("einsum", cast(result, dtype, "einsum", casting), out)


@rule("einsum_path")
def einsum_path(subscripts: Any, *operands: Any, optimize: str = "greedy") -> Any:
    """np.einsum_path, which asks for shapes alone."""
    if isinstance(subscripts, Tensor):
        raise TypeError("np.einsum_path: argument 'subscripts' must be a str or an array, got a Tensor.")
    return np.einsum_path(subscripts, *(np.broadcast_to(0.0, array(x).shape) for x in operands), optimize=optimize)


@rule("tensordot")
def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[Any] = 2) -> AnyArray:
    """np.tensordot."""
    return ops.tensordot(array(a), array(b), axes)


@rule("linalg.tensordot")
def tensordot_along(x1: ArrayLike, x2: ArrayLike, /, *, axes: int | Sequence[Any] = 2) -> AnyArray:
    """np.linalg.tensordot."""
    return ops.tensordot(array(x1), array(x2), axes)


@rule("kron")
def kron(a: ArrayLike, b: ArrayLike) -> AnyArray:
    """np.kron."""
    a, b = array(a), array(b)
    ndim = max(a.ndim, b.ndim)
    a = np.reshape(a, (*(1,) * (ndim - a.ndim), *a.shape))
    b = np.reshape(b, (*(1,) * (ndim - b.ndim), *b.shape))
    products = np.expand_dims(a, tuple(range(1, 2 * ndim, 2))) * np.expand_dims(b, tuple(range(0, 2 * ndim, 2)))
    return ops.reshape(products, tuple(n * m for n, m in zip(a.shape, b.shape, strict=True)))


@rule("cross")
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Axis = None) -> AnyArray:
    """np.cross, of vectors with three components."""
    a, b = array(a), array(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not {2, 3}.issuperset(sizes):
        raise ValueError(f"np.cross: vectors must have 2 or 3 components, got {sizes}.")
    if 2 in sizes:  # NumPy's word on it
        np.cross(np.ones(sizes[0]), np.ones(sizes[1]))
        if sizes == (2, 2):
            return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        a, b = (
            x if x.shape[-1] == 3 else np.concatenate([x, np.zeros((*x.shape[:-1], 1), x.dtype)], -1) for x in (a, b)
        )
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
    return ops.movedim(ops.cross(a, b, -1), -1, axisc)


@rule("linalg.cross")
def cross_along(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> AnyArray:
    """np.linalg.cross."""
    return cross(x1, x2, axis=axis)


@rule("trace")
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Out = None
) -> AnyArray:
    """np.trace."""
    return deliver("trace", ops.sum(ops.diagonal(array(a), offset, axis1, axis2), -1, dtype=dtype), out)


@rule("linalg.trace")
def matrix_trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> AnyArray:
    """np.linalg.trace."""
    return ops.sum(ops.diagonal(array(x), offset, -2, -1), -1, dtype=dtype)
