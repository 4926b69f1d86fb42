"""Rules for views and for what changes the shape: dimensions move by one, and sizes begin with that of the batch."""

from __future__ import annotations

import math
from typing import Any

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.errors import not_of_the_sample
from pullback.arrays.batched.rules import RULES, Rule, refuse_as_kernel, rule, with_leading
from pullback.arrays.batched.values import all_shifted, everywhere, run, shifted
from pullback.core.array_type import layout_of
from pullback.core.errors import OperatorError


# -- the same elements under another shape -----------------------------------------------------------------------------
def _resized(name: str) -> Rule:
    def resized(batch: Batch, x: BatchedArray, size: Any) -> Any:
        size = (size,) if isinstance(size, int) else tuple(size)
        return run(name, x.values, (batch.size, *_without_blank(name, size, x)))

    return resized


def _without_blank(name: str, size: tuple[int, ...], x: BatchedArray) -> tuple[int, ...]:
    """The size with a number for -1, which the size of a batch without elements would not tell."""
    if -1 not in size:
        return size
    rest = -math.prod(size)
    if size.count(-1) > 1 or rest <= 0 or x.size % rest:
        raise OperatorError(f"{name}: shape {size} does not fit an array of shape {x.shape}.")
    return tuple(x.size // rest if n == -1 else n for n in size)


RULES.update({name: _resized(name) for name in ("view", "reshape")})
RULES.update({name: with_leading(name, (0,)) for name in ("alias", "real", "imag", "view_as_real")})


@rule("view_as_complex")
def _view_as_complex(batch: Batch, x: BatchedArray) -> Any:
    if not x.ndim:
        refuse_as_kernel("view_as_complex", batch, (x,))
    return run("view_as_complex", x.values)


@rule("squeeze")
def _squeeze(batch: Batch, x: BatchedArray, dim: Any) -> Any:
    if dim is None:
        dims: Any = tuple(d for d, n in enumerate(x.values.shape) if d and n == 1)
    elif isinstance(dim, (tuple, list)):
        dims = all_shifted(dim, x.ndim, "squeeze")
    else:
        dims = shifted(dim, x.ndim, "squeeze")
    return run("squeeze", x.values, dims) if x.ndim else run("alias", x.values)


@rule("unsqueeze")
def _unsqueeze(batch: Batch, x: BatchedArray, dim: int) -> Any:
    return run("unsqueeze", x.values, shifted(dim, x.ndim + 1, "unsqueeze"))


@rule("expand")
def _expand(batch: Batch, x: BatchedArray, size: Any, implicit: bool) -> Any:
    size = (size,) if isinstance(size, int) else tuple(size)
    missing = len(size) - x.ndim
    if missing < 0 or -1 in size[:missing]:
        refuse_as_kernel("expand", batch, (x, size, implicit))
    return run("expand", everywhere(batch, x, len(size)), (batch.size, *size), implicit)


@rule("repeat")
def _repeat(batch: Batch, x: BatchedArray, repeats: Any) -> Any:
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    if len(repeats) < x.ndim:
        refuse_as_kernel("repeat", batch, (x, repeats))
    return run("repeat", everywhere(batch, x, len(repeats)), (1, *repeats))


# -- the same dimensions in another order ------------------------------------------------------------------------------
@rule("permute")
def _permute(batch: Batch, x: BatchedArray, dims: Any) -> Any:
    return run("permute", x.values, (0, *all_shifted(dims, x.ndim, "permute")))


@rule("transpose")
def _transpose(batch: Batch, x: BatchedArray, dim0: int, dim1: int) -> Any:
    dims = shifted(dim0, x.ndim, "transpose"), shifted(dim1, x.ndim, "transpose")
    return run("transpose", x.values, *dims) if x.ndim else run("alias", x.values)


@rule("t")
def _t(batch: Batch, x: BatchedArray) -> Any:
    if x.ndim > 2:
        refuse_as_kernel("t", batch, (x,))
    return run("transpose", x.values, 1, 2) if x.ndim == 2 else run("alias", x.values)


@rule("numpy_T")
def _numpy_t(batch: Batch, x: BatchedArray) -> Any:
    return run("permute", x.values, (0, *range(x.ndim, 0, -1)))


@rule("movedim")
def _movedim(batch: Batch, x: BatchedArray, source: Any, destination: Any) -> Any:
    dims = all_shifted(source, x.ndim, "movedim"), all_shifted(destination, x.ndim, "movedim")
    return run("movedim", x.values, *dims) if x.ndim else run("alias", x.values)


# -- parts -------------------------------------------------------------------------------------------------------------
def _cut(name: str, place: int) -> Rule:
    """A rule that cuts along the dimension that the argument at `place` names."""

    def cut(batch: Batch, x: BatchedArray, *rest: Any) -> Any:
        if not x.ndim:
            refuse_as_kernel(name, batch, (x, *rest))
        moved = list(rest)
        moved[place - 1] = shifted(rest[place - 1], x.ndim, name)
        return run(name, x.values, *moved)

    return cut


RULES.update(
    narrow=_cut("narrow", 1), select=_cut("select", 1), split=_cut("split", 2), unbind=_cut("unbind", 1),
    split_with_sizes=_cut("split_with_sizes", 2), chunk=_cut("chunk", 2),
)  # fmt: skip


@rule("unfold")
def _unfold(batch: Batch, x: BatchedArray, dim: int, size: int, step: int) -> Any:
    if x.ndim:
        return run("unfold", x.values, shifted(dim, x.ndim, "unfold"), size, step)
    return run("squeeze", run("unfold", everywhere(batch, x, 1), 1, size, step), 1)


@rule("unfold_backward")
def _unfold_backward(batch: Batch, x: Any, shape: Any, dim: int, size: int, step: int) -> Any:
    if not shape:
        values = run("unsqueeze", everywhere(batch, x), 1)
        return run("squeeze", run("unfold_backward", values, (batch.size, 1), 1, size, step), 1)
    return run(
        "unfold_backward", everywhere(batch, x), (batch.size, *shape), shifted(dim, len(shape), "unfold"), size, step
    )


@rule("diagonal")
def _diagonal(batch: Batch, x: BatchedArray, offset: int, dim1: int, dim2: int) -> Any:
    return run("diagonal", x.values, offset, shifted(dim1, x.ndim, "diagonal"), shifted(dim2, x.ndim, "diagonal"))


@rule("diagonal_backward")
def _diagonal_backward(batch: Batch, x: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
    dims = [shifted(dim, len(shape), "diagonal") for dim in (dim1, dim2)]
    return run("diagonal_backward", everywhere(batch, x, len(shape) - 1), (batch.size, *shape), offset, *dims)


# -- copies in another order -------------------------------------------------------------------------------------------
@rule("flip")
def _flip(batch: Batch, x: BatchedArray, dims: Any) -> Any:
    return run("flip", x.values, all_shifted(dims, x.ndim, "flip")) if x.ndim else run("clone", x.values, None)


@rule("roll")
def _roll(batch: Batch, x: BatchedArray, shifts: Any, dims: Any) -> Any:
    if (isinstance(dims, (tuple, list)) and not dims) or not x.ndim:
        row = run("roll", run("reshape", x.values, (batch.size, x.size)), shifts, 1)
        return run("reshape", row, x.values.shape)
    several = isinstance(dims, (tuple, list))
    moved = tuple(shifted(dim, x.ndim, "roll") for dim in dims) if several else shifted(dims, x.ndim, "roll")
    return run("roll", x.values, shifts, moved)


@rule("rot90")
def _rot90(batch: Batch, x: BatchedArray, k: int, dims: Any) -> Any:
    return run("rot90", x.values, k, tuple(shifted(dim, x.ndim, "rot90") for dim in dims))


# -- where elements lie ------------------------------------------------------------------------------------------------
@rule("is_contiguous")
def _is_contiguous(batch: Batch, x: BatchedArray) -> bool:
    memory = layout_of(x)
    return memory is None or bool(memory.flags.c_contiguous)


@rule("storage_geometry")
def _storage_geometry(batch: Batch, x: BatchedArray) -> Any:
    return _own_geometry(batch, x)[0]


def _own_geometry(batch: Batch, x: BatchedArray) -> tuple[Any, int, int, range | None]:
    """(the geometry of a sample in memory of its own, where that of the first begins, its step, what is its own).

    In columns the elements of the others lie between, and those of the sample are its own. Otherwise samples lie apart,
    each in a block of its own. Nothing is where the elements of one lie among those of others in no such order; None
    where the memory is the same for all.
    """
    shape, strides, offset = run("storage_geometry", x.values)
    apart, own, steps = abs(strides[0]), shape[1:], strides[1:]
    if batch.size == 1 or not apart:
        return (own, steps, offset), 0, 1, None
    reaches = [(n - 1) * step for n, step in zip(own, steps, strict=True)]
    low, high = offset + sum(r for r in reaches if r < 0), offset + sum(r for r in reaches if r > 0)
    if strides[0] == 1 and high - low == (math.prod(own) - 1) * batch.size:
        inside = range(low // batch.size, high // batch.size + 1)
        return (own, tuple(s // batch.size for s in steps), offset // batch.size), low % batch.size, batch.size, inside
    start = low // apart * apart
    if high < start + apart:
        return (own, steps, offset - start), start, 1, range(apart)
    return (own, steps, offset), 0, 1, range(0)


@rule("strided_view")
def _strided_view(batch: Batch, x: BatchedArray, size: Any, stride: Any, offset: int, geometry: Any) -> Any:
    _, start, step, inside = _own_geometry(batch, x)
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if inside is not None and 0 not in size and not (offset in inside and reach in inside):
        raise not_of_the_sample("as_strided", inside)
    own = run("storage_geometry", x.values)
    strides = (own[1][0], *[s * step for s in stride])
    return run("strided_view", x.values, (batch.size, *size), strides, start + offset * step, own)


@rule("restride")
def _restride(batch: Batch, x: Any, *geometries: Any) -> Any:
    apart = 1 + max(
        offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) for shape, strides, offset in geometries
    )
    laid = [((batch.size, *shape), (apart, *strides), offset) for shape, strides, offset in geometries]
    return run("restride", everywhere(batch, x), *laid)
