"""Jacobian and Hessian in forward mode: columns, one call of the function with a tangent for each, or one with all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.batched import Batch, BatchedArray
from pullback.arrays.batched.boundary import leave
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.autograd.functional.arguments import Bundle, Point
from pullback.autograd.rows.batched_pass import opened
from pullback.core.array_type import TENSOR
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, wrap


def assembled(point: Point, compute: Callable[[tuple[Tensor, ...]], Bundle]) -> Any:
    """The Jacobian of `compute` in the nesting of its outputs and of the inputs."""
    outputs: Bundle | None = None
    columns: list[list[tuple[Tensor, ...]]] = []  # for each input, for each of its elements: one of every output
    for i, x in enumerate(point.inputs.tensors):
        columns.append([])
        for k in range(x.numel()):
            outputs, column = _column(point, compute, i, k)
            columns[i].append(column)
    if outputs is None:  # no input has any element: the outputs' shapes are still wanted
        outputs = compute(point.inputs.tensors)
    rows = []
    for j, output in enumerate(outputs.tensors):
        blocks = [
            _block(point, [column[j] for column in found], output, x)
            for found, x in zip(columns, point.inputs.tensors, strict=True)
        ]
        rows.append(point.inputs.like_this(point.finished(blocks)))
    return outputs.like_this(rows)


def assembled_at_once(point: Point, compute: Callable[[tuple[Tensor, ...]], Bundle]) -> Any:
    """The same by one call of `compute`, on tangents for all columns, which are batched."""
    tensors = point.inputs.tensors
    sizes = [x.numel() for x in tensors]
    # The function is called once, at one place, so what it draws is the same for all columns.
    with opened(sum(sizes), f"{point.name}(vectorize=True)", "same") as (batch, level), dual_level():
        inputs, start = [], 0
        for x, size in zip(tensors, sizes, strict=True):
            unit = np.eye(batch.size, size, -start, x.dtype).reshape((batch.size, *x.shape))
            inputs.append(make_dual(x, wrap(BatchedArray(unit, batch), level)))
            start += size
        outputs = compute(tuple(inputs))
        parts = [unpack_dual(output) for output in outputs.tensors]
        found = [None if part.tangent is None else _left(part.tangent, batch, level) for part in parts]
        forms = [(tuple(part.primal.shape), part.primal.dtype) for part in parts]
    point.depends = any(columns is not None for columns in found)
    rows = []
    for columns, (shape, dtype) in zip(found, forms, strict=True):
        if columns is None:
            columns = from_numpy(np.zeros((*shape, batch.size), dtype))
        blocks, start = [], 0
        for x, size in zip(tensors, sizes, strict=True):
            blocks.append(TENSOR.reshape(columns[..., start : start + size], (*shape, *x.shape)))
            start += size
        rows.append(point.inputs.like_this(point.finished(blocks)))
    return outputs.like_this(rows)


def _left(tangents: Tensor, batch: Batch, level: int) -> Tensor:
    """Batched tangents as one Tensor of the level around, columns last."""
    columns = leave(tangents, -1, batch, level)
    return columns if isinstance(columns, Tensor) else wrap(columns, 0)


def _column(
    point: Point, compute: Callable[[tuple[Tensor, ...]], Bundle], i: int, k: int
) -> tuple[Bundle, tuple[Tensor, ...]]:
    """The outputs, and their derivatives by element k of input i."""
    inputs = list(point.inputs.tensors)
    unit = np.zeros(math.prod(inputs[i].shape), inputs[i].dtype)
    unit[k] = 1
    tangent = point.at_level(from_numpy(unit.reshape(inputs[i].shape)))
    with dual_level():
        inputs[i] = make_dual(inputs[i], tangent)
        outputs = compute(tuple(inputs))
        parts = [unpack_dual(output) for output in outputs.tensors]
    point.depends = point.depends or any(part.tangent is not None for part in parts)
    primals = tuple(part.primal for part in parts)
    tangents = tuple(TENSOR.zeros_like(part.primal) if part.tangent is None else part.tangent for part in parts)
    return Bundle(primals, outputs.is_tuple), tangents


def _block(point: Point, columns: Sequence[Tensor], output: Tensor, x: Tensor) -> Tensor:
    shape = (*output.shape, *x.shape)
    if not columns:
        return from_numpy(np.zeros(shape, output.dtype))
    return TENSOR.reshape(TENSOR.stack(columns, -1), shape)  # type: ignore[no-any-return]
