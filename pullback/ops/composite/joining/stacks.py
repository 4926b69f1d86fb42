"""Composite operators that join arrays."""


def hstack(tensors, *, ops):
    """The inputs one after another along dimension 1 (0 for vectors)."""
    arrays = [x if x.ndim else ops.reshape(x, (1,)) for x in some(tensors, "hstack")]
    return ops.cat(arrays, 0 if arrays[0].ndim == 1 else 1)


def vstack(tensors, *, ops):
    """The inputs one below another; vectors count as rows."""
    return ops.cat([x if x.ndim > 1 else ops.reshape(x, (1, -1)) for x in some(tensors, "vstack")], 0)


def dstack(tensors, *, ops):
    """The inputs one behind another along dimension 2."""
    arrays = []
    for x in some(tensors, "dstack"):
        shape = tuple(x.shape)
        arrays.append(x if x.ndim > 2 else ops.reshape(x, (*shape, 1) if x.ndim == 2 else (1, -1, 1)))
    return ops.cat(arrays, 2)


def column_stack(tensors, *, ops):
    """The inputs side by side; vectors count as columns."""
    return ops.cat([x if x.ndim > 1 else ops.reshape(x, (-1, 1)) for x in some(tensors, "column_stack")], 1)


def some(tensors, name):
    """`tensors`, refused when there are none."""
    if not len(tensors):
        raise ValueError(f"{name}: expected a non-empty list of Tensors")
    return tensors
