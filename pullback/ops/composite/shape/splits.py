"""Composite operators that split, and that sum down to a shape."""


def hsplit(self, indices_or_sections, *, ops):
    """Views along dimension 1 (0 of a vector)."""
    return equal_parts("hsplit", self, 0 if self.ndim == 1 else 1, 1, indices_or_sections, ops)


def vsplit(self, indices_or_sections, *, ops):
    """Views along dimension 0."""
    return equal_parts("vsplit", self, 0, 2, indices_or_sections, ops)


def dsplit(self, indices_or_sections, *, ops):
    """Views along dimension 2."""
    return equal_parts("dsplit", self, 2, 3, indices_or_sections, ops)


def equal_parts(name, x, dim, least, sections, ops):
    """tensor_split, where a number of sections must divide the size."""
    if x.ndim < least:
        raise RuntimeError(f"{name}(): the input must have at least {least} dimensions, got shape {tuple(x.shape)}.")
    if isinstance(sections, int):
        if sections < 1 or x.shape[dim] % sections:
            raise RuntimeError(f"{name}(): dimension {dim} of size {x.shape[dim]} is not {sections} equal sections.")
    elif not isinstance(sections, (tuple, list)):
        raise TypeError(f"{name}(): expected a number of sections or a list of positions, got {sections!r}.")
    return ops.tensor_split(x, sections, dim)


def unsafe_split(self, split_size, dim=0, *, ops):
    """split, as copies: in PyTorch the parts share memory without knowing of it, so that a write changes the input."""
    return ops.split_copy(self, split_size, dim)


def unsafe_split_with_sizes(self, split_sizes, dim=0, *, ops):
    """split_with_sizes, as copies."""
    return ops.split_with_sizes_copy(self, split_sizes, dim)


def unsafe_chunk(self, chunks, dim=0, *, ops):
    """chunk, as copies."""
    return tuple(ops.clone(part) for part in ops.chunk(self, chunks, dim))


def sum_to_size(self, size, *, ops):
    """self summed over the dimensions that a tensor of that size would be broadcast along: the transpose of expand."""
    size, shape = tuple(size), tuple(self.shape)
    if not size:
        return ops.sum(self)
    lead = len(shape) - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, shape[lead:], strict=True)):
        raise RuntimeError(f"sum_to_size(): size {size} does not expand to the input's shape {shape}.")
    lost = [i for i, m in enumerate(shape) if i < lead or (size[i - lead] == 1 and m != 1)]
    return ops.reshape(ops.sum(self, lost), size) if lost else self
