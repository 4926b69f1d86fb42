"""Composite operators: histograms with the edges of their bins."""

__all__ = ["histogram", "histogramdd"]


def histogram(self, bins, *, range=None, weight=None, density=False, ops):
    """(counts, edges) of all elements in bins of one width (their number given), or between given edges."""
    column = ops.reshape(self, (-1, 1))
    weight = weight if weight is None else ops.reshape(weight, (-1,))
    edges = [ops.clone(bins)] if hasattr(bins, "dtype") else list(ops._bin_edges(column, [bins], range))
    if edges[0].ndim != 1:
        raise RuntimeError(f"histogram(): the edges in bins must be a vector, got shape {tuple(edges[0].shape)}.")
    return ops._histogram_counts(column, edges, weight, density), edges[0]


def histogramdd(self, bins, range=None, weight=None, density=False, *, ops):
    """(counts, edges of each dimension) of points, whose coordinates are the last dimension of self."""
    if isinstance(bins, (tuple, list)) and bins and hasattr(bins[0], "dtype"):
        if len(bins) != self.shape[-1]:
            raise RuntimeError(f"histogramdd(): bins must be {self.shape[-1]} vectors of edges, got {len(bins)}.")
        edges = [ops.clone(edge) for edge in bins]
    else:
        bins = [bins] * self.shape[-1] if isinstance(bins, int) else list(bins)
        edges = list(ops._bin_edges(self, bins, range))
    return ops._histogram_counts(self, edges, weight, density), tuple(edges)
