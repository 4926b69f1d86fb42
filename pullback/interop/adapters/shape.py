"""NumPy's functions that rearrange elements."""

import math

import numpy as np

from pullback.core.tensor import Tensor
from pullback.interop.operands import array, axes_of, deliver, only, ops, refuse, values
from pullback.interop.registry import rule


@rule("reshape")
def reshape(a, /, shape, order="C", *, copy=None):
    """np.reshape, in C or Fortran order."""
    a = array(a)
    if type(shape) is not tuple:
        shape = tuple(np.atleast_1d(values(shape, "reshape")).tolist())
    if order == "C" and copy is None:
        return ops.reshape(a, shape)
    only("reshape", "order", order, ("C", "F"))
    only("reshape", "copy", copy, (None, True), "a reshape may have to copy")
    result = ops.reshape(a, shape) if order == "C" else _reversed(ops.reshape(_reversed(a), shape[::-1]))
    return ops.clone(result) if copy else result


def _reversed(a):
    return ops.permute(a, tuple(range(a.ndim))[::-1])


@rule("ravel")
def ravel(a, order="C"):
    """np.ravel."""
    only("ravel", "order", order, ("C", "F"))
    a = array(a)
    return ops.reshape(_reversed(a) if order == "F" else a, (-1,))


@rule("transpose", "permute_dims")
def transpose(a, axes=None):
    """np.transpose."""
    a = array(a)
    return _reversed(a) if axes is None else ops.permute(a, axes_of(axes, a.ndim))


@rule("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x, /):
    """np.matrix_transpose."""
    return ops.transpose(array(x), -2, -1)


@rule("swapaxes")
def swapaxes(a, axis1, axis2):
    """np.swapaxes."""
    return ops.transpose(array(a), axis1, axis2)


@rule("moveaxis")
def moveaxis(a, source, destination):
    """np.moveaxis."""
    a = array(a)
    return ops.movedim(a, axes_of(source, a.ndim), axes_of(destination, a.ndim))


@rule("rollaxis")
def rollaxis(a, axis, start=0):
    """np.rollaxis."""
    a = array(a)
    order = [i for i in range(a.ndim) if i != axes_of(axis, a.ndim)[0]]
    start += a.ndim if start < 0 else 0
    order.insert(start - (axis % a.ndim < start), axis % a.ndim)
    return ops.permute(a, order)


@rule("expand_dims")
def expand_dims(a, axis):
    """np.expand_dims."""
    a = array(a)
    axis = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for i in sorted(axes_of(axis, a.ndim + len(axis))):
        a = ops.unsqueeze(a, i)
    return a


@rule("squeeze")
def squeeze(a, axis=None):
    """np.squeeze; refuses an axis whose length is not 1, as NumPy does."""
    a = array(a)
    if axis is None:
        return ops.squeeze(a)
    axes = axes_of(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError(f"np.squeeze: axis {axis} of shape {tuple(a.shape)} has a length other than 1.")
    return ops.squeeze(a, axes)


@rule("broadcast_to")
def broadcast_to(array_, shape, subok=False):
    """np.broadcast_to."""
    return ops.broadcast_to(array(array_), shape if isinstance(shape, (tuple, list)) else (shape,))


@rule("broadcast_arrays")
def broadcast_arrays(*args, subok=False):
    """np.broadcast_arrays."""
    arrays = [array(x) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(np.broadcast_to(x, shape) for x in arrays)


@rule("meshgrid")
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """np.meshgrid."""
    only("meshgrid", "indexing", indexing, ("xy", "ij"))
    n = len(xi)
    grids = [np.reshape(array(x), [-1 if i == k else 1 for i in range(n)]) for k, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        grids = [np.swapaxes(g, 0, 1) for g in grids]
    if not sparse:
        grids = broadcast_arrays(*grids)
    return tuple(np.copy(g) for g in grids) if copy else tuple(grids)


@rule("flip")
def flip(m, axis=None):
    """np.flip."""
    m = array(m)
    return ops.flip(m, axes_of(axis, m.ndim))


@rule("fliplr")
def fliplr(m):
    """np.fliplr."""
    return ops.fliplr(array(m))


@rule("flipud")
def flipud(m):
    """np.flipud."""
    return ops.flipud(array(m))


@rule("roll")
def roll(a, shift, axis=None):
    """np.roll."""
    a, shift = array(a), values(shift, "roll")
    if axis is None:
        return ops.roll(a, int(shift.sum())) if a.ndim else a
    shifts, dims = np.broadcast_arrays(shift, axes_of_each(axis, a.ndim))
    return ops.roll(a, tuple(map(int, shifts.ravel())), tuple(map(int, dims.ravel())))


def axes_of_each(axis, ndim):
    """Nonnegative axes, of which some may be the same."""
    return [axes_of(i, ndim)[0] for i in (axis if isinstance(axis, (tuple, list)) else (axis,))]


@rule("rot90")
def rot90(m, k=1, axes=(0, 1)):
    """np.rot90."""
    return ops.rot90(array(m), k, tuple(axes))


def _of_several_dimensions(name):
    """The rule of np.fft.fft2 and the like: our functions take NumPy's `s`, `axes` and `norm` by position."""
    axes_by_default = (-2, -1) if name.endswith("2") else None

    @rule(f"fft.{name}")
    def transform(a, s=None, axes=axes_by_default, norm=None, out=None):
        a = array(a)
        if axes is None:
            axes = tuple(range(-len(s), 0)) if s is not None else tuple(range(a.ndim))
        return deliver(f"fft.{name}", getattr(ops, f"fft_{name}")(a, s, tuple(axes), norm), out)


for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _of_several_dimensions(_name)


@rule("fft.fftshift")
def fftshift(x, axes=None):
    """np.fft.fftshift."""
    x = array(x)
    axes = axes_of(axes, x.ndim)
    return ops.roll(x, tuple(x.shape[i] // 2 for i in axes), axes)


@rule("fft.ifftshift")
def ifftshift(x, axes=None):
    """np.fft.ifftshift."""
    x = array(x)
    axes = axes_of(axes, x.ndim)
    return ops.roll(x, tuple(-(x.shape[i] // 2) for i in axes), axes)


@rule("tile")
def tile(A, reps):
    """np.tile."""
    return ops.tile(array(A), tuple(np.atleast_1d(values(reps, "tile")).tolist()))


@rule("repeat")
def repeat(a, repeats, axis=None):
    """np.repeat: each element several times (the method t.repeat tiles, as in PyTorch)."""
    a = array(a)
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    (axis,) = axes_of(axis, a.ndim)
    return ops.index_select(a, axis, np.repeat(np.arange(a.shape[axis]), values(repeats, "repeat")))


@rule("resize")
def resize(a, new_shape):
    """np.resize: the elements over and over until the shape is full."""
    a = ops.reshape(array(a), (-1,))
    shape = tuple(np.atleast_1d(values(new_shape, "resize")).tolist())
    if not a.size and math.prod(shape):
        raise refuse("resize", "a", "there is no element to repeat")
    return ops.reshape(ops.index_select(a, 0, np.arange(math.prod(shape)) % max(a.shape[0], 1)), shape)


def _at_least(operator, plain):
    def atleast(*arys):
        results = tuple(operator(x) if isinstance(x, Tensor) else plain(array(x)) for x in arys)
        return results[0] if len(results) == 1 else results

    return atleast


rule("atleast_1d")(_at_least(ops.atleast_1d, np.atleast_1d))
rule("atleast_2d")(_at_least(ops.atleast_2d, np.atleast_2d))
rule("atleast_3d")(_at_least(ops.atleast_3d, np.atleast_3d))


# -- into parts -----------------------------------------------------------------------------------------------------


@rule("array_split")
def array_split(ary, indices_or_sections, axis=0):
    """np.array_split."""
    parts = values(indices_or_sections, "array_split")
    return list(ops.tensor_split(array(ary), int(parts) if parts.ndim == 0 else parts.tolist(), axis))


@rule("split")
def split(ary, indices_or_sections, axis=0):
    """np.split."""
    ary, parts = array(ary), values(indices_or_sections, "split")
    if parts.ndim == 0 and ary.shape[axis] % int(parts):
        raise ValueError(f"np.split: axis {axis} of shape {tuple(ary.shape)} does not divide into {parts} equal parts.")
    return array_split(ary, parts, axis)


@rule("hsplit")
def hsplit(ary, indices_or_sections):
    """np.hsplit."""
    ary = array(ary)
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@rule("vsplit")
def vsplit(ary, indices_or_sections):
    """np.vsplit."""
    ary = array(ary)
    if ary.ndim < 2:
        raise ValueError(f"np.vsplit: expected at least 2 dimensions, got shape {tuple(ary.shape)}.")
    return split(ary, indices_or_sections, 0)


@rule("dsplit")
def dsplit(ary, indices_or_sections):
    """np.dsplit."""
    ary = array(ary)
    if ary.ndim < 3:
        raise ValueError(f"np.dsplit: expected at least 3 dimensions, got shape {tuple(ary.shape)}.")
    return split(ary, indices_or_sections, 2)


@rule("unstack")
def unstack(x, /, *, axis=0):
    """np.unstack."""
    return tuple(ops.unbind(array(x), axis))
