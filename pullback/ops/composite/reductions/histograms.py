"""Composite operators: histograms with the edges of their bins.

Sums of weights are differentiable, counts constant; edges that divide the range of the data move with its extremes.
"""

import math


def histogram(self, bins, *, range=None, weight=None, density=False, ops):
    """(counts, edges) of all elements in bins of one width (their number given), or between given edges."""
    column = ops.reshape(self, (-1, 1))
    weight = weight if weight is None else ops.reshape(weight, (-1,))
    edges = [ops.clone(bins)] if hasattr(bins, "dtype") else _edges(column, [bins], range, ops)
    if edges[0].ndim != 1:
        raise RuntimeError(f"histogram(): the edges in bins must be a vector, got shape {tuple(edges[0].shape)}.")
    return _counts("histogram", bins, column, edges, weight, density, ops), edges[0]


def histogramdd(self, bins, range=None, weight=None, density=False, *, ops):
    """(counts, edges of each dimension) of points, whose coordinates are the last dimension of self."""
    if isinstance(bins, (tuple, list)) and bins and hasattr(bins[0], "dtype"):
        if len(bins) != self.shape[-1]:
            raise RuntimeError(f"histogramdd(): bins must be {self.shape[-1]} vectors of edges, got {len(bins)}.")
        edges = [ops.clone(edge) for edge in bins]
    else:
        bins = [bins] * self.shape[-1] if isinstance(bins, int) else list(bins)
        edges = _edges(self, bins, range, ops)
    return _counts("histogramdd", bins, self, edges, weight, density, ops), tuple(edges)


def _edges(self, bins, range, ops):
    """Edges of bins of one width; those of the data's range have its derivative."""
    edges = list(ops._bin_edges(self, bins, range))
    if range is not None or self.dtype.kind != "f" or not math.prod(self.shape):
        return edges
    columns = ops.unbind(ops.reshape(self, (-1, self.shape[-1])), -1)
    return [_spanning(edge, column, ops) for edge, column in zip(edges, columns, strict=True)]


def _spanning(edges, column, ops):
    """The same numbers, which move with the extremes of the column.

    The outermost edges are those extremes, so their difference is 0 and moves; half of 1 apart where both are equal.
    """
    part = ops.linspace(0, 1, edges.shape[0], dtype=edges.dtype)
    low, high = ops.amin(column, ()), ops.amax(column, ())
    half = ops.to(ops.eq(low, high), edges.dtype) * 0.5
    return edges + ((low - half - edges[0]) * (1 - part) + (high + half - edges[-1]) * part)


def _constant(x):
    return x.detach() if hasattr(x, "detach") else x


def _counts(name, bins, self, edges, weight, density, ops):
    given = bins if isinstance(bins, (tuple, list)) else [bins]
    if any(getattr(edge, "requires_grad", False) for edge in given):
        raise RuntimeError(
            f"{name}(): argument 'bins' (the edges) requires grad, but counts have no derivative with respect to "
            "them: they "
            "jump where an edge meets an element. Pass bins.detach()."
        )
    plain = [_constant(edge) for edge in edges]
    shape = [edge.shape[0] - 1 for edge in plain]
    if weight is None:
        counts = ops._histogram_counts(self, plain)
    else:
        if weight.shape != self.shape[:-1]:
            raise RuntimeError(f"histogram(): weight must have the shape {self.shape[:-1]}, got {weight.shape}.")
        boxes, count = ops._histogram_boxes(self, plain), math.prod(shape)
        sums = ops.bincount(boxes, ops.reshape(weight, (-1,)), count + 1)[:count]
        counts = ops.to(ops.reshape(sums, shape), self.dtype) if sums.dtype != self.dtype else ops.reshape(sums, shape)
    if density:
        total = ops.sum(counts)
        for i, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            counts = counts / ops.reshape(widths, [-1 if d == i else 1 for d in range(len(edges))])
        counts = counts / total  # the density of nothing is NaN
    return counts
