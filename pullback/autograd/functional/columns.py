"""Jacobian and Hessian in forward mode: column by column, one call of the function with a tangent for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.autograd.functional.arguments import Bundle, Point
from pullback.core.array_type import TENSOR
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor


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
