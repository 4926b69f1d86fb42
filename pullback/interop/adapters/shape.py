"""NumPy's functions that rearrange elements."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pullback.core import modes
from pullback.core.array_face import ARRAYS, Array, wrap_array
from pullback.core.array_type import layout_of, memory_of
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Axes, Integers, Order, Out, ShapeLike
from pullback.core.tensor import Tensor
from pullback.interop.conversion import plain_array
from pullback.interop.operands import array, axes_of, deliver, frozen, only, ops, order_of, refuse, values
from pullback.interop.registry import rule


@rule("reshape")
def reshape(a: ArrayLike, /, shape: ShapeLike, order: Order = "C", *, copy: bool | None = None) -> AnyArray:
    """np.reshape, in C or Fortran order."""
    a = array(a)
    if type(shape) is not tuple:
        shape = tuple(np.atleast_1d(values(shape, "reshape")).tolist())
    if order == "C" and copy is None:
        return ops.reshape(a, shape)
    order = order if order in ("C", "F") else _laid_out("reshape", a, order, ("A",))
    result = ops.reshape(a, shape) if order == "C" else _reversed(ops.reshape(_reversed(a), shape[::-1]))
    if copy is False and not np.shares_memory(result, a):
        raise ValueError("np.reshape: unable to avoid creating a copy while reshaping.")
    return ops.clone(result) if copy else result


def _laid_out(name: str, a: ArrayLike, order: str | None, allowed: Sequence[str]) -> Order:
    """The order that "A" or "K" means: that of the elements in memory, "C" where they are in no other."""
    if order not in allowed:
        raise ValueError(f"np.{name}: order must be one of {', '.join(('C', 'F', *allowed))}, got {order!r}.")
    return order_of(a)


def _reversed(a: AnyArray) -> AnyArray:
    return ops.permute(a, tuple(range(a.ndim))[::-1])


@rule("ravel")
def ravel(a: ArrayLike, order: Order = "C") -> AnyArray:
    """np.ravel."""
    if isinstance(a, Array):
        return a.ravel(order)
    a = array(a)
    if order == "K":  # as the elements stand in memory
        memory = layout_of(a)
        strides = (frozen(a, "ravel") if memory is None else memory).strides
        a = np.transpose(a, sorted(range(a.ndim), key=lambda i: -abs(strides[i])))
    elif order not in ("C", "F"):
        order = _laid_out("ravel", a, order, ("A",))
    return ops.reshape(_reversed(a) if order == "F" else a, (-1,))


@rule("transpose", "permute_dims")
def transpose(a: ArrayLike, axes: Axes = None) -> AnyArray:
    """np.transpose."""
    a = array(a)
    return _reversed(a) if axes is None else ops.permute(a, axes_of(axes, a.ndim))


@rule("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: ArrayLike, /) -> AnyArray:
    """np.matrix_transpose."""
    return ops.transpose(array(x), -2, -1)


@rule("swapaxes")
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> AnyArray:
    """np.swapaxes."""
    return ops.transpose(array(a), axis1, axis2)


@rule("moveaxis")
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> AnyArray:
    """np.moveaxis."""
    a = array(a)
    return ops.movedim(a, axes_of(source, a.ndim), axes_of(destination, a.ndim))


@rule("rollaxis")
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> AnyArray:
    """np.rollaxis."""
    a = array(a)
    order = [i for i in range(a.ndim) if i != axes_of(axis, a.ndim)[0]]
    start += a.ndim if start < 0 else 0
    order.insert(start - (axis % a.ndim < start), axis % a.ndim)
    return ops.permute(a, order)


@rule("expand_dims")
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> AnyArray:
    """np.expand_dims."""
    a = array(a)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for i in sorted(axes_of(axes, a.ndim + len(axes))):
        a = ops.unsqueeze(a, i)
    return a


@rule("squeeze")
def squeeze(a: ArrayLike, axis: Axes = None) -> AnyArray:
    """np.squeeze; refuses an axis whose length is not 1, as NumPy does."""
    a = array(a)
    if axis is None:
        return ops.squeeze(a)
    axes = axes_of(axis, a.ndim) if a.ndim or axis not in (0, -1) else ()
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError(f"np.squeeze: axis {axis} of shape {tuple(a.shape)} has a length other than 1.")
    return ops.squeeze(a, axes)


@rule("broadcast_to")
def broadcast_to(array_: ArrayLike, shape: ShapeLike, subok: bool = False) -> AnyArray:
    """np.broadcast_to."""
    return ops.broadcast_to(array(array_), shape if isinstance(shape, (tuple, list)) else (shape,))


@rule("broadcast_arrays")
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[AnyArray, ...]:
    """np.broadcast_arrays."""
    arrays = [array(x) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    made: list[Any] = [np.broadcast_to(x, shape) for x in arrays]
    if any(type(x) in ARRAYS for x in arrays):
        level = modes.current().level
        for nr, x in enumerate(made):
            # A copy of a number may be written into. Of an array, which may change later, there is a plain view.
            if not isinstance(x, Tensor) and not issubclass(type(args[nr]), np.ndarray) and x.dtype.kind in "fc":
                made[nr] = wrap_array(x, level)
    return tuple(made)


@rule("meshgrid")
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[AnyArray, ...]:
    """np.meshgrid."""
    only("meshgrid", "indexing", indexing, ("xy", "ij"))
    n = len(xi)
    grids: Sequence[AnyArray] = [
        np.reshape(array(x), [-1 if i == k else 1 for i in range(n)]) for k, x in enumerate(xi)
    ]
    if indexing == "xy" and n > 1:
        grids = [np.swapaxes(g, 0, 1) for g in grids]
    if not sparse:
        grids = broadcast_arrays(*grids)
    return tuple(np.copy(g) for g in grids) if copy else tuple(grids)


@rule("flip")
def flip(m: ArrayLike, axis: Axes = None) -> AnyArray:
    """np.flip."""
    m = array(m)
    axes = axes_of(axis, m.ndim)
    if type(m) in ARRAYS:  # a view, as in NumPy
        return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]
    return ops.flip(m, axes)


@rule("fliplr")
def fliplr(m: ArrayLike) -> AnyArray:
    """np.fliplr."""
    return flip(m, 1) if type(m) in ARRAYS else ops.fliplr(array(m))


@rule("flipud")
def flipud(m: ArrayLike) -> AnyArray:
    """np.flipud."""
    return flip(m, 0) if type(m) in ARRAYS else ops.flipud(array(m))


@rule("roll")
def roll(a: ArrayLike, shift: Integers, axis: Axes = None) -> AnyArray:
    """np.roll."""
    a, steps = array(a), np.trunc(values(shift, "roll"))
    if axis is None:
        return ops.roll(a, int(steps.sum())) if a.ndim else a
    shifts, dims = np.broadcast_arrays(steps, axes_of_each(axis, a.ndim))
    return ops.roll(a, tuple(map(int, shifts.ravel())), tuple(map(int, dims.ravel())))


def axes_of_each(axis: Axes, ndim: int) -> list[int]:
    """Nonnegative axes, of which some may be the same."""
    return [axes_of(i, ndim)[0] for i in np.atleast_1d(values(axis, "roll")).tolist()]


@rule("rot90")
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> AnyArray:
    """np.rot90."""
    m = array(m)
    if type(m) in ARRAYS:  # a view, as in NumPy
        first, second = axes_of_each(axes, m.ndim)
        if first == second:
            raise ValueError("Axes must be different.")
        turned = flip(m, first) if k % 4 in (2, 3) else m[...]
        turned = flip(turned, second) if k % 4 in (1, 2) else turned
        return swapaxes(turned, first, second) if k % 2 else turned
    return ops.rot90(array(m), k, tuple(axes))


def _of_several_dimensions(name: str) -> None:
    """The rule of np.fft.fft2 and the like: our functions take NumPy's `s`, `axes` and `norm` by position."""
    axes_by_default = (-2, -1) if name.endswith("2") else None

    @rule(f"fft.{name}")
    def transform(
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = axes_by_default,
        norm: str | None = None,
        out: Out = None,
    ) -> AnyArray:
        a = array(a)
        if axes is None:
            axes = tuple(range(-len(s), 0)) if s is not None else tuple(range(a.ndim))
        if not len(axes):
            return a
        return deliver(f"fft.{name}", getattr(ops, f"fft_{name}")(a, s, tuple(axes), norm), out)


for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _of_several_dimensions(_name)


@rule("fft.fftshift")
def fftshift(x: ArrayLike, axes: Axes = None) -> AnyArray:
    """np.fft.fftshift."""
    x = array(x)
    axes = axes_of(axes, x.ndim)
    return ops.roll(x, tuple(x.shape[i] // 2 for i in axes), axes)


@rule("fft.ifftshift")
def ifftshift(x: ArrayLike, axes: Axes = None) -> AnyArray:
    """np.fft.ifftshift."""
    x = array(x)
    axes = axes_of(axes, x.ndim)
    return ops.roll(x, tuple(-(x.shape[i] // 2) for i in axes), axes)


@rule("tile")
def tile(A: ArrayLike, reps: Integers) -> AnyArray:
    """np.tile."""
    return ops.tile(array(A), tuple((np.atleast_1d(values(reps, "tile")) + 0).tolist()))  # a bool counts as a number


@rule("repeat")
def repeat(a: ArrayLike, repeats: Integers, axis: Axes = None) -> AnyArray:
    """np.repeat: each element several times (the method t.repeat tiles, as in PyTorch)."""
    a = array(a)
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    (axis,) = axes_of(axis, a.ndim)
    return ops.index_select(a, axis, np.repeat(np.arange(a.shape[axis]), values(repeats, "repeat")))


@rule("resize")
def resize(a: ArrayLike, new_shape: ShapeLike) -> AnyArray:
    """np.resize: the elements over and over until the shape is full."""
    a = ops.reshape(array(a), (-1,))
    shape = tuple(np.atleast_1d(values(new_shape, "resize")).tolist())
    if not a.size and math.prod(shape):
        raise refuse("resize", "a", "there is no element to repeat")
    return ops.reshape(ops.index_select(a, 0, np.arange(math.prod(shape)) % max(a.shape[0], 1)), shape)


def _at_least(operator: Callable[..., AnyArray], plain: Callable[..., AnyArray]) -> Callable[..., Any]:
    def atleast(*arys: ArrayLike) -> Arrays:
        arys = tuple(_plain_for_solver(x) if isinstance(x, Tensor) else x for x in arys)
        results = tuple(operator(x) if isinstance(x, Tensor) else plain(array(x)) for x in arys)
        return results[0] if len(results) == 1 else results

    return atleast


def _plain_for_solver(x: Any) -> AnyArray:
    """The values, if a solver of SciPy asks: it hands to C code what a user's function, or its `jac`, has returned."""
    caller = sys._getframe(4).f_globals.get("__name__", "")  # above the generator, atleast and array_function
    return np.array(plain_array(x)) if caller.startswith("scipy.optimize") else x


rule("atleast_1d")(_at_least(ops.atleast_1d, np.atleast_1d))
rule("atleast_2d")(_at_least(ops.atleast_2d, np.atleast_2d))
rule("atleast_3d")(_at_least(ops.atleast_3d, np.atleast_3d))


# -- into parts -----------------------------------------------------------------------------------------------------


@rule("array_split")
def array_split(ary: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyArray]:
    """np.array_split."""
    parts = values(indices_or_sections, "array_split")
    return list(ops.tensor_split(array(ary), int(parts) if parts.ndim == 0 else parts.tolist(), axis))


@rule("split")
def split(ary: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyArray]:
    """np.split."""
    ary, parts = array(ary), values(indices_or_sections, "split")
    if parts.ndim == 0 and ary.shape[axis] % int(parts):
        raise ValueError(f"np.split: axis {axis} of shape {tuple(ary.shape)} does not divide into {parts} equal parts.")
    return array_split(ary, parts, axis)


@rule("hsplit")
def hsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyArray]:
    """np.hsplit."""
    ary = array(ary)
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@rule("vsplit")
def vsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyArray]:
    """np.vsplit."""
    ary = array(ary)
    if ary.ndim < 2:
        raise ValueError(f"np.vsplit: expected at least 2 dimensions, got shape {tuple(ary.shape)}.")
    return split(ary, indices_or_sections, 0)


@rule("dsplit")
def dsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyArray]:
    """np.dsplit."""
    ary = array(ary)
    if ary.ndim < 3:
        raise ValueError(f"np.dsplit: expected at least 3 dimensions, got shape {tuple(ary.shape)}.")
    return split(ary, indices_or_sections, 2)


@rule("unstack")
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[AnyArray, ...]:
    """np.unstack."""
    return tuple(ops.unbind(array(x), axis))


@rule("lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    x: ArrayLike, window_shape: ShapeLike, axis: Axes = None, *, subok: bool = False, writeable: bool = False
) -> AnyArray:
    """np.lib.stride_tricks.sliding_window_view: a view of all windows, which nobody can write into."""
    only("sliding_window_view", "writeable", writeable, (False,))
    x = array(x)
    shape = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if len(shape) != len(axes):
        raise ValueError(f"np.sliding_window_view: {len(shape)} lengths of windows for {len(axes)} axes.")
    for length, dim in zip(shape, axes, strict=True):
        x = ops.unfold(x, dim, length, 1)
    memory = memory_of(x)
    if memory is not None and axes:
        memory.flags.writeable = False
    return x
