"""np.histogram and its relatives: counts are constant, sums of weights differentiable, as edges of the data's range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike
from pullback.core.tensor import Tensor
from pullback.interop.operands import array, floating, frozen, is_hidden, needs_grad, ops, refuse, tensor_of
from pullback.interop.registry import rule


@rule("histogram")
def histogram(
    a: ArrayLike, bins: Any = 10, range: Any = None, density: bool | None = None, weights: ArrayLike | None = None
) -> tuple[Any, ...]:
    """np.histogram; differentiable in the weights, and in the extremes of `a` where the edges span these."""
    if is_hidden(a, bins, weights) and not isinstance(bins, str):
        return _of_hidden(a, bins, range, density, weights)
    a = ops.reshape(array(a), (-1,)) if isinstance(a, Tensor) else np.asarray(a).ravel()
    plain = frozen(a, "histogram")
    weights = _weights(weights, plain.shape)
    edges = np.histogram_bin_edges(plain, _plain_bins("histogram", bins), _plain(range))
    if isinstance(bins, str) and weights is not None:
        raise refuse("histogram", "weights", f"they have no rule together with bins={bins!r}; give a number of bins")
    moving = edges if range is not None or np.ndim(bins) else spanning(edges, a)
    return _counted([plain], [edges], [moving], density, weights), _as_tensor(moving)


def _of_hidden(a: ArrayLike, bins: Any, range: Any, density: bool | None, weights: ArrayLike | None) -> tuple[Any, ...]:
    """The same in operators, where the numbers of many samples are not seen."""
    a = floating(ops.reshape(array(a), (-1,)))
    given = array(bins) if np.ndim(bins) else None
    known = bins if given is None else ops.to(_as_tensor(given), a.dtype)
    weights = _weights(weights, a.shape)
    counts, edges = ops.histogram(a, known, range=_plain(range), weight=weights, density=bool(density))
    counts = counts if density or weights is not None else np.astype(counts, int)
    return counts, edges if given is None else _as_tensor(given)


@rule("histogram_bin_edges")
def histogram_bin_edges(a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None) -> AnyArray:
    """np.histogram_bin_edges."""
    plain = frozen(a, "histogram_bin_edges")
    known = None if weights is None else frozen(weights, "histogram_bin_edges")
    edges = np.histogram_bin_edges(plain, _plain_bins("histogram_bin_edges", bins), _plain(range), known)
    return _as_tensor(edges if range is not None or np.ndim(bins) else spanning(edges, array(a)))


@rule("histogram2d")
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Any, ...]:
    """np.histogram2d; see `histogram`."""
    if not isinstance(bins, (int, np.integer)) and len(bins) not in (1, 2):  # as NumPy: one vector of edges for both
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, *edges


@rule("histogramdd")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: ArrayLike | None = None
) -> tuple[Any, ...]:
    """np.histogramdd; see `histogram`."""
    if isinstance(sample, Tensor) and sample.ndim != 2:
        sample = [sample]
    columns = list(sample) if isinstance(sample, (list, tuple)) else list(ops.unbind(array(sample), -1))
    if all(np.ndim(c) == 0 for c in columns):
        columns = [array(columns)]
    columns = [ops.reshape(array(c), (-1,)) if isinstance(c, Tensor) else np.ravel(c) for c in columns]
    plain = [frozen(c, "histogramdd") for c in columns]
    given = [bins] * len(plain) if isinstance(bins, (int, np.integer)) else list(bins)
    edges = np.histogramdd(plain, [_plain_bins("histogramdd", b) for b in given], _plain(range))[1]
    free = [np.ndim(b) == 0 and (range is None or range[i] is None) for i, b in enumerate(given)]
    moving = [spanning(e, c) if f else e for e, c, f in zip(edges, columns, free, strict=True)]
    weights = _weights(weights, plain[0].shape)
    return _counted(plain, edges, moving, density, weights, float), tuple(map(_as_tensor, moving))


def _counted(
    columns: Any, edges: Any, moving: Any, density: bool | None, weights: AnyArray | None, dtype: DTypeLike = int
) -> AnyArray:
    """The counts in each box, or the sums of weights there."""
    shape = tuple(len(e) - 1 for e in edges)
    inside, box = np.ones(len(columns[0]), bool), np.zeros(len(columns[0]), int)
    for column, edge in zip(columns, edges, strict=True):
        inside &= (column >= edge[0]) & (column <= edge[-1])
        last = len(edge) - 2
        box = box * (last + 1) + np.clip(np.searchsorted(edge, column, "right") - 1, 0, last)
    counts: AnyArray
    if weights is None:
        counts = np.bincount(box[inside], minlength=math.prod(shape)).astype(dtype)
    else:
        weights = floating(weights) if isinstance(weights, Tensor) else weights
        counts = ops.index_add(np.zeros(math.prod(shape), weights.dtype), 0, box[inside], weights[inside])
    counts = counts.reshape(shape)
    if density:
        total = counts.sum()
        for i, edge in enumerate(moving):
            widths = edge[1:] - edge[:-1]
            counts = counts / widths.reshape([-1 if d == i else 1 for d in range(len(shape))])
        counts = counts / total
    return _as_tensor(counts)


def spanning(edges: np.ndarray[Any, Any], a: AnyArray) -> AnyArray:
    """Edges that divide the range of `a`, which move with its extremes: the same numbers, with their derivative.

    As in `ops.composite.reductions.histograms`: the outermost edges are the constants that stand against the extremes.
    """
    if not isinstance(a, Tensor) or not a.size or a.dtype.kind != "f":
        return edges
    part = np.linspace(0, 1, len(edges), dtype=edges.dtype)
    low, high = ops.amin(a), ops.amax(a)
    half = ops.to(low == high, a.dtype) * 0.5
    moving: AnyArray = edges + ((low - half - edges[0]) * (1 - part) + (high + half - edges[-1]) * part)
    return moving


def _weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> AnyArray | None:
    if weights is None:
        return None
    weights = array(weights)
    if weights.shape != shape and weights.size != math.prod(shape):
        raise ValueError(f"np.histogram: the weights have shape {tuple(weights.shape)}, the elements {shape}.")
    return ops.reshape(weights, (-1,)) if isinstance(weights, Tensor) else weights.ravel()


def _plain_bins(name: str, bins: Any) -> Any:
    if needs_grad(bins) or (isinstance(bins, (list, tuple)) and any(map(needs_grad, bins))):
        raise UnsupportedError(
            f"np.{name}: argument 'bins' (the edges) requires grad, but counts have no derivative with respect to "
            "them: they "
            "jump where an edge meets an element. Pass bins.detach()."
        )
    return _plain(bins)


def _plain(x: ArrayLike) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(_plain, x))
    return frozen(x, "histogram") if isinstance(x, Tensor) else x


def _as_tensor(x: AnyArray) -> AnyArray:
    return x if isinstance(x, Tensor) else tensor_of(x)
