"""Composite operators that give what a view operator shows as a copy, in memory of its own."""

__all__ = []


def copying(view):
    """The operator that copies what the view operator of that name shows."""

    def run(*args, ops, **kwargs):
        shown = getattr(ops, view)(*args, **kwargs)
        if isinstance(shown, tuple):
            return tuple(ops.clone(x, memory_format="contiguous_format") for x in shown)
        return ops.clone(shown, memory_format="contiguous_format")

    run.__doc__ = f"{view}, as a copy."
    run.__name__ = run.__qualname__ = f"{view}_copy"
    return run


VIEWS = (
    "alias", "as_strided", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes", "squeeze",
    "t", "transpose", "unbind", "unfold", "unsqueeze", "view_as_complex", "view_as_real",
)  # fmt: skip

for _view in VIEWS:
    globals()[f"{_view}_copy"] = copying(_view)
    __all__.append(f"{_view}_copy")


def view_copy(self, size, *, ops):
    """self under another shape, as a copy: whatever its strides are."""
    return ops.clone(ops.reshape(self, size), memory_format="contiguous_format")


def slice_copy(self, dim=0, start=None, end=None, step=1, *, ops):
    """self[..., start:end:step, ...] along dim, as a copy."""
    shown = ops.slice_view(self, (*(slice(None),) * (dim % self.ndim), slice(start, end, step), ...))
    return ops.clone(shown, memory_format="contiguous_format")


__all__ += ["slice_copy", "view_copy"]
