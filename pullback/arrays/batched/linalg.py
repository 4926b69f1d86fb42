"""Rules for products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.rules import refuse_as_kernel, rule
from pullback.arrays.batched.values import aligned, everywhere, in_columns, is_batched, rank_of, run, shape_of, shifted
from pullback.arrays.numpy.fast.outer_products import outer_products
from pullback.core.tensor import ndarray


@rule("matmul")
def matmul(batch: Batch, x: Any, y: Any) -> Any:
    """Products of vectors, matrices and stacks of these."""
    m, n = rank_of(x), rank_of(y)
    if not m or not n:
        refuse_as_kernel("matmul", batch, (x, y))
    if shape_of(x)[-1] != shape_of(y)[-2 if n > 1 else -1]:
        refuse_as_kernel("matmul", batch, (x, y))
    if n == 1:
        return _times_vector(batch, x, y)
    if m == 1:
        return _times_vector(batch, _transposed(batch, y), x)
    rank = max(m, n)
    if is_batched(batch, x) and not is_batched(batch, y) and n == 2:  # one product of matrices instead of many
        values = x.values
        rows = run("reshape", values, (math.prod(values.shape[:-1]), values.shape[-1]))
        return run("reshape", run("matmul", rows, y), (*values.shape[:-1], shape_of(y)[-1]))
    if m == n == 2 and shape_of(x)[1] == 1:
        column, row = (z.values if is_batched(batch, z) else None for z in (x, y))
        if type(column) is type(row) is ndarray:
            return outer_products(column[:, :, 0], row[:, 0])
    return run("matmul", aligned(batch, x, rank), aligned(batch, y, rank))


def _transposed(batch: Batch, x: Any) -> Any:
    if is_batched(batch, x):
        return BatchedArray(run("transpose", x.values, -2, -1), batch)
    return run("transpose", x, -2, -1)


def _times_vector(batch: Batch, x: Any, y: Any) -> Any:
    """The product of a vector, matrix or stack of matrices with a vector."""
    if not is_batched(batch, y):
        return run("matmul", x.values, y)
    if not is_batched(batch, x) and rank_of(x) <= 2:
        return run("matmul", y.values, x if rank_of(x) == 1 else run("transpose", x, 0, 1))
    column = run("unsqueeze", y.values, 2)  # (batch, n, 1)
    if rank_of(x) == 1:
        row = run("unsqueeze", everywhere(batch, x), 1)
        return run("reshape", run("matmul", row, column), (batch.size,))
    column = aligned(batch, BatchedArray(column, batch), rank_of(x))
    return run("squeeze", run("matmul", everywhere(batch, x), column), rank_of(x))


def _of_ranks(name: str, m: int, n: int) -> None:
    """The rule for what is a product of arrays of these numbers of dimensions alone."""

    @rule(name)
    def product(batch: Batch, x: Any, y: Any) -> Any:
        if rank_of(x) != m or rank_of(y) != n or (m == 3 and shape_of(x)[0] != shape_of(y)[0]):
            refuse_as_kernel(name, batch, (x, y))
        return matmul(batch, x, y)


for _name, _m, _n in (("mm", 2, 2), ("bmm", 3, 3), ("mv", 2, 1), ("dot", 1, 1)):
    _of_ranks(_name, _m, _n)


@rule("vdot")
def _vdot(batch: Batch, x: Any, y: Any) -> Any:
    if rank_of(x) != 1 or rank_of(y) != 1:
        refuse_as_kernel("vdot", batch, (x, y))
    x = BatchedArray(run("conj", x.values), batch) if is_batched(batch, x) else run("conj", x)
    return matmul(batch, x, y)


@rule("outer")
def _outer(batch: Batch, x: Any, y: Any) -> Any:
    if rank_of(x) != 1 or rank_of(y) != 1:
        refuse_as_kernel("outer", batch, (x, y))
    if is_batched(batch, x) and is_batched(batch, y) and type(x.values) is type(y.values) is ndarray:
        return outer_products(x.values, y.values)
    column = run("unsqueeze", x.values if is_batched(batch, x) else x, -1)
    row = run("unsqueeze", y.values if is_batched(batch, y) else y, -2)
    return run("mul", column, row)


@rule("addmm", "baddbmm")
def _addmm(batch: Batch, x: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    product: Any = BatchedArray(matmul(batch, a, b), batch) if any(is_batched(batch, y) for y in (a, b)) else None
    if product is None:
        product = run("matmul", a, b)
    if alpha != 1:
        product = run("mul", product, alpha)
    if beta == 0:  # then not even what is infinite in x is seen
        shape = shape_of(product)
        return product if is_batched(batch, product) else everywhere(batch, product)[:, *[slice(None)] * len(shape)]
    return run("add", run("mul", x, beta) if beta != 1 else x, product)


@rule("linear")
def _linear(batch: Batch, x: Any, weight: Any, bias: Any) -> Any:
    if not rank_of(x) or not 1 <= rank_of(weight) <= 2:
        refuse_as_kernel("linear", batch, (x, weight, bias))
    if not is_batched(batch, weight):
        if bias is None or (rank_of(bias) <= 1 and not is_batched(batch, bias)):
            return run("linear", x.values, weight, bias)
        out: Any = run("linear", x.values if is_batched(batch, x) else x, weight, None)
        out = BatchedArray(out, batch) if is_batched(batch, x) else out
    else:
        out = BatchedArray(matmul(batch, x, _transposed(batch, weight) if rank_of(weight) > 1 else weight), batch)
    return out if bias is None else run("add", out, bias)


@rule("einsum_pair")
def _einsum_pair(batch: Batch, x: Any, y: Any, equation: str) -> Any:
    given, result = equation.replace(" ", "").split("->")
    first, second = given.split(",")
    letter = next(c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation)
    if is_batched(batch, x):
        first, x = letter + first, x.values
    if is_batched(batch, y):
        second, y = letter + second, y.values
    return run("einsum_pair", x, y, f"{first},{second}->{letter}{result}")


@rule("trace")
def _trace(batch: Batch, x: BatchedArray) -> Any:
    if x.ndim != 2:
        refuse_as_kernel("trace", batch, (x,))
    return run("sum", run("diagonal", x.values, 0, 1, 2), 1, False, None)


@rule("diag_embed")
def _diag_embed(batch: Batch, x: BatchedArray, offset: int, dim1: int, dim2: int) -> Any:
    rank = x.ndim + 1
    return run("diag_embed", x.values, offset, shifted(dim1, rank, "diag_embed"), shifted(dim2, rank, "diag_embed"))


@rule("cross")
def _cross(batch: Batch, x: Any, y: Any, dim: int | None) -> Any:
    rank = max(rank_of(x), rank_of(y))
    if dim is None:
        sizes = shape_of(x)
        dim = next((d for d, n in enumerate(sizes) if n == 3), None)
        if dim is None:
            refuse_as_kernel("cross", batch, (x, y, dim))
    x, y, dim = everywhere(batch, x, rank), everywhere(batch, y, rank), shifted(dim, rank, "cross")  # type: ignore[arg-type]
    if in_columns(x) and in_columns(y):  # the result too
        return np.moveaxis(run("cross", np.moveaxis(x, 0, -1), np.moveaxis(y, 0, -1), dim - 1), -1, 0)
    return run("cross", x, y, dim)
