"""Composite operators that combine the elements of vectors: grids, products, combinations."""


def meshgrid(tensors, *, indexing="ij", ops):
    """The coordinates of a grid, one tensor a dimension, as views; with "xy" the first two dimensions change places."""
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid(): indexing must be 'ij' or 'xy', got {indexing!r}.")
    if not len(tensors):
        raise RuntimeError("meshgrid(): expected at least one tensor.")
    for x in tensors:
        if x.ndim > 1 or x.dtype != tensors[0].dtype:
            raise RuntimeError(
                "meshgrid(): expected vectors or numbers of one dtype, got "
                f"{[(tuple(x.shape), str(x.dtype)) for x in tensors]}."
            )
    count = len(tensors)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = 1, 0
    sizes = [0] * count
    for x, at in zip(tensors, order, strict=True):
        sizes[at] = x.size
    lines = [[-1 if d == at else 1 for d in range(count)] for at in order]
    return tuple(ops.expand(ops.reshape(x, line), sizes) for x, line in zip(tensors, lines, strict=True))


def cartesian_prod(tensors, *, ops):
    """All tuples with one element of each vector, as rows; of one vector, itself."""
    for x in tensors:
        if x.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): expected vectors, got shape {tuple(x.shape)}.")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ops.reshape(x, (-1,)) for x in meshgrid(tensors, ops=ops)], 1)


def combinations(self, r=2, with_replacement=False, *, ops):
    """All choices of r elements of a vector, as rows, in the order of itertools.combinations."""
    if self.ndim != 1:
        raise RuntimeError(f"combinations(): expected a vector, got shape {tuple(self.shape)}.")
    if r < 0:
        raise RuntimeError(f"combinations(): r must not be negative, got {r}.")
    if r == 0:
        return ops.zeros((0,), dtype=self.dtype)
    return ops.reshape(ops.index_select(self, 0, ops.combination_places(self, r, with_replacement)), (-1, r))
