"""Composite operators that give what a view operator shows as a copy, in memory of its own."""


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


alias_copy = copying("alias")
as_strided_copy = copying("as_strided")
diagonal_copy = copying("diagonal")
expand_copy = copying("expand")
narrow_copy = copying("narrow")
permute_copy = copying("permute")
select_copy = copying("select")
split_copy = copying("split")
split_with_sizes_copy = copying("split_with_sizes")
squeeze_copy = copying("squeeze")
t_copy = copying("t")
transpose_copy = copying("transpose")
unbind_copy = copying("unbind")
unfold_copy = copying("unfold")
unsqueeze_copy = copying("unsqueeze")
view_as_complex_copy = copying("view_as_complex")
view_as_real_copy = copying("view_as_real")


def view_copy(self, size, *, ops):
    """self under another shape, as a copy: whatever its strides are."""
    return ops.clone(ops.reshape(self, size), memory_format="contiguous_format")


def slice_copy(self, dim=0, start=None, end=None, step=1, *, ops):
    """self[..., start:end:step, ...] along dim, as a copy."""
    shown = ops.slice_view(self, (*(slice(None),) * (dim % self.ndim), slice(start, end, step), ...))
    return ops.clone(shown, memory_format="contiguous_format")
