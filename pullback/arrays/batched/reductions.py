"""Rules for reductions that name no dimension, and for counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.errors import unknown_shape
from pullback.arrays.batched.rules import RULES, Rule, element, flat, refuse_as_kernel, rule
from pullback.arrays.batched.values import all_shifted, everywhere, run, shape_of, shifted
from pullback.core.array_type import TENSOR, attribute, check
from pullback.dispatch.mixed import on_wrapped

ops: Any = TENSOR


def _of_all(kernel: str, take: int | None = None) -> Rule:
    """A reduction of everything, by a kernel that reduces along one dimension; `take` says which of its results."""

    def reduced(batch: Batch, x: Any) -> Any:
        found = run(kernel, _flattened(batch, x), 1, False)
        return found if take is None else found[take]

    return reduced


def _flattened(batch: Batch, x: Any) -> Any:
    values = everywhere(batch, x)
    return run("reshape", values, (batch.size, x.size))


RULES.update(
    max=_of_all("amax"), min=_of_all("amin"), median=_of_all("median_dim", 0), nanmedian=_of_all("nanmedian_dim", 0)
)


def _place_of(kernel: str) -> Rule:
    """argmax and argmin, which count in the flattened array where they are given no dimension."""

    def found(batch: Batch, x: Any, dim: int | None, keepdim: bool) -> Any:
        rank = x.ndim
        if dim is not None and rank:
            return run(kernel, x.values, shifted(dim, rank, kernel), keepdim)
        places = run(kernel, _flattened(batch, x), 1, False)
        return run("reshape", places, (batch.size, *(1,) * rank)) if keepdim else places

    return found


RULES.update({name: _place_of(name) for name in ("argmax", "argmin")})


@rule("value_selecting_reduction_backward")
def _selected_backward(batch: Batch, grad: Any, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Any:
    rank = len(sizes)
    grad, indices = everywhere(batch, grad), everywhere(batch, indices)
    if not rank:
        return flat(batch, run("value_selecting_reduction_backward", grad, 1, indices, (batch.size, 1), False))
    shape = (batch.size, *sizes)
    return run("value_selecting_reduction_backward", grad, shifted(dim, rank, "max"), indices, shape, keepdim)


@rule("logsumexp_slope")
def _logsumexp_slope(batch: Batch, x: Any, norm: Any, dim: Any) -> Any:
    rank = max(len(shape_of(x)), 1)
    dims = [dim] if isinstance(dim, int) else dim
    places = tuple(d % rank + 1 for d in dims)
    values = run("logsumexp_slope", everywhere(batch, x, rank), everywhere(batch, norm, rank), places)
    return values if len(shape_of(x)) else flat(batch, values)


@rule("hash_tensor")
def _hash_tensor(batch: Batch, x: BatchedArray, dim: Any, keepdim: bool, mode: int) -> Any:
    dims = (dim,) if isinstance(dim, int) else tuple(dim or range(x.ndim))
    if not x.ndim:
        return flat(batch, run("hash_tensor", everywhere(batch, x, 1), (1,), False, mode))
    return run("hash_tensor", x.values, all_shifted(dims, x.ndim, "hash_tensor"), keepdim, mode)


# -- histograms: each sample has bins of its own where its extremes say which ------------------------------------------
def _edges(low: Any, high: Any, count: int, dtype: Any) -> Any:
    """As np.linspace has them: the start and multiples of the step, and the end itself."""
    low, high = ops.to(low, np.dtype(float)), ops.to(high, np.dtype(float))
    steps = np.arange(count) * ((high - low) / count) + low
    return ops.to(ops.cat([steps, ops.reshape(high, (1,))], 0), dtype)


def _range(x: Any, margin: float) -> tuple[Any, Any]:
    """The extremes of a vector, apart by twice the margin where they are equal."""
    low, high = ops.amin(x, ()), ops.amax(x, ())
    apart = ops.to(ops.eq(low, high), np.dtype(float)) * margin
    return low - apart, high + apart


def _box(columns: Sequence[Any], edges: Sequence[Any]) -> Any:
    """The number of the box in which each element of the columns falls, and that of all boxes where it is in none."""
    inside: Any = True
    box: Any = 0
    for column, edge in zip(columns, edges, strict=True):
        inside = inside & (column >= edge[0]) & (column <= edge[-1])
        last = edge.shape[0] - 2
        found = ops.searchsorted(edge, ops.to(column, edge.dtype), right=True) - 1
        box = box * (last + 1) + ops.clamp(found, 0, last)
    return ops.where(inside, box, math.prod(edge.shape[0] - 1 for edge in edges))


def _counted(box: Any, count: int, dtype: Any) -> Any:
    each = ops.to(ops.ones_like(box), dtype)
    return ops.index_add(ops.expand(each[:1] * 0, (count + 1,)), 0, box, each)[:count]


def _columns(x: Any) -> Sequence[Any]:
    return ops.unbind(ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])), -1)  # type: ignore[no-any-return]


def _histc(x: Any, bins: int, low: float, high: float) -> Any:
    x = ops.reshape(x, (-1,))
    if low == high:
        edges = _edges(*_range(x, 1.0), bins, np.dtype(float))
    else:
        edges = x.new_tensor(np.linspace(low, high, bins + 1), dtype=np.dtype(float))
    return _counted(_box([x], [edges]), bins, x.dtype)


def _histogram_boxes(x: Any, edges: Any) -> Any:
    return _box(_columns(x), edges)


def _histogram_counts(x: Any, edges: Any) -> Any:
    shape = [edge.shape[0] - 1 for edge in edges]
    return ops.reshape(_counted(_box(_columns(x), edges), math.prod(shape), x.dtype), shape)


@rule("histc")
def _histc_rule(batch: Batch, x: BatchedArray, bins: int, low: float, high: float) -> Any:
    if bins < 1 or low > high or not math.isfinite(low) or not math.isfinite(high) or not x.size or x.dtype.kind == "c":
        refuse_as_kernel("histc", batch, (x, bins, low, high))
    return on_wrapped(_histc, x, bins, low, high)


@rule("bin_edges")
def _bin_edges(batch: Batch, x: BatchedArray, bins: Any, limits: Any) -> Any:
    one = run("bin_edges", element(batch, x, 0), bins, limits)  # which raises what is wrong with the arguments
    if limits is not None or not x.size:
        return [everywhere(batch, edge) for edge in one]
    return on_wrapped(
        lambda y: [_edges(*_range(c, 0.5), n, y.dtype) for c, n in zip(_columns(y), bins, strict=True)], x
    )


@rule("bincount")
def _bincount(batch: Batch, x: Any, weights: Any, minlength: int) -> Any:
    """The counts of numbers below `minlength`; with others it would depend on them how many counts there are."""
    given = [y for y in (x, weights) if y is not None]
    if shape_of(x) != shape_of(given[-1]) or len(shape_of(x)) != 1 or attribute(x, "dtype").kind not in "biu":
        refuse_as_kernel("bincount", batch, (x, weights, minlength))
    check(partial(_below, minlength), x)
    dtype = np.dtype(np.intp) if weights is None else attribute(weights, "dtype")
    dtype = dtype if weights is None or dtype.kind == "f" else np.dtype(float)
    return on_wrapped(lambda x, weights: _summed(x, weights, minlength, dtype), x, weights)


def _below(minlength: int, x: Any) -> None:
    if x.size and x.min() < 0:
        raise RuntimeError("bincount(): the numbers in input must not be negative.")
    if x.size and x.max() >= minlength:
        raise unknown_shape("bincount", "Give a minlength that is above all numbers.")


def _summed(x: Any, weights: Any, count: int, dtype: Any) -> Any:
    each = ops.to(ops.ones_like(x) if weights is None else weights, dtype)
    return ops.index_add(ops.zeros((count,), dtype=dtype), 0, x, each)


RULES["histogram_boxes"] = lambda batch, *args: on_wrapped(_histogram_boxes, *args)
RULES["histogram_counts"] = lambda batch, *args: on_wrapped(_histogram_counts, *args)
