"""Methods of Arrays that are NumPy's functions of the same names: `x.std(ddof=1)` is `np.std(x, ddof=1)`.

The tables say which. What is written by hand, here and in the modules beside this one, differs from the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, SCALAR_FACES, Array, Scalar, show_as_plural
from pullback.core.array_type import TENSOR, layout_of, memory_of, numbers_of
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.late import ready
from pullback.core.numpy_types import AnyArray, Axis, Casting, DTypeLike, Mask, Order, Out
from pullback.core.tensor import Tensor, ndarray
from pullback.interop.functions import array_function
from pullback.interop.numpy_errors import on_numbers, raise_as_numpy, refused_as_numpy
from pullback.interop.operands import needs_grad, ops
from pullback.interop.results import number
from pullback.interop.suggest import would_detach
from pullback.ops.array_calls import FACTORIES, made_by
from pullback.ops.tables import OPERATORS

_RECORDED = (
    "choose", "clip", "cumprod", "cumsum", "max", "mean", "min", "prod", "repeat", "round",
    "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip
# Of indices and truth values, which have no gradient by nature.
_CONSTANT = ("all", "any", "argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted")
# What runs a method called with an axis at most, the commonest calls.
_REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}
_INTS = frozenset([int])
_ARRAYS = ARRAYS | {ndarray}
_NO_OBJECTS = "Make a list of its elements instead: x.tolist()."


def _blank(x: Any) -> object:
    return np.zeros(x.shape, x.dtype) if isinstance(x, Tensor) else x


def _recorded(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def of_numbers(x: Any, *args: object, **kwargs: object) -> Any:
        return getattr(x, name)(*args, **kwargs)

    def method(self: Array, *args: object, **kwargs: object) -> object:
        if self._array.ndim:
            return array_function(self, function, (), (self, *args), kwargs)
        # Along which axes this goes, and what shape it gives, NumPy says; it is computed in one dimension.
        expected = on_numbers(of_numbers, (self, *args), kwargs)
        if expected is None:  # there are no numbers, and others do as well
            expected = of_numbers(*map(_blank, (self, *args)), **{key: _blank(x) for key, x in kwargs.items()})
        result: Any = array_function(self, function, (), (np.reshape(self, 1), *args), kwargs)
        shape = np.shape(expected)
        result = np.reshape(result, shape)
        return result if shape or type(expected) is np.ndarray else number(result)

    return method


def _reduction(name: str) -> Callable[..., Any]:
    """A function that is recorded without the arguments that few give by the operator itself."""
    general, operator_ = _recorded(name), ready(getattr(TENSOR, _REDUCTIONS[name]))

    def method(self: Array, *args: object, **kwargs: object) -> object:
        raw = self._array
        if raw.size and raw.dtype.kind in "fc":
            if not args and not kwargs:
                return operator_(self)
            if len(args) + len(kwargs) == 1 and raw.ndim:
                axis = args[0] if args else kwargs.get("axis")
                if type(axis) is int and -raw.ndim <= axis < raw.ndim:
                    return operator_(self, axis)
        return general(self, *args, **kwargs)

    return method


def _constant(name: str) -> Callable[..., Any]:
    general = _recorded(name)

    def method(self: Array, *args: object, **kwargs: object) -> object:
        numbers = numbers_of(self)
        if numbers is None or any(isinstance(x, Tensor) for x in (*args, *kwargs.values())):
            return general(self, *args, **kwargs)
        if WATCHED:
            note_operator(name, self)
        return getattr(numbers, name)(*args, **kwargs)

    return method


def _call(name: str, kind: type) -> Callable[..., Array]:
    op = OPERATORS[name][0].operator
    assert op is not None
    return made_by(FACTORIES[kind], op)


_reshape, reverse, _clone = _call("reshape", Array), _call("numpy_T", Array), _call("clone", Array)


def dot(self: Array, b: Any, out: Out = None) -> object:
    """The product of matrices, the inner product of vectors."""
    if out is None and type(b) in _ARRAYS and 0 < self._array.ndim < 3 and 0 < b.ndim < 3:
        try:
            return self @ b  # which means the same up to two dimensions
        except Exception:
            raise_as_numpy(np.dot, (self, b))
            raise
    return array_function(self, np.dot, (), (self, b, out), {})


def compress(self: Array, condition: Mask, axis: Axis = None, out: Out = None) -> AnyArray:
    """The elements, or the slices along `axis`, where `condition` holds."""
    found: AnyArray = array_function(self, np.compress, (), (condition, self, axis, out), {})
    return found


def reshape(self: Array, *shape: Any, **options: Any) -> Array:
    """The elements in another shape: a view where the order of memory allows it."""
    if len(shape) == 1 and type(shape[0]) is not int:
        shape = shape[0]
    if not options and type(shape) is tuple and _INTS.issuperset(map(type, shape)):
        return _reshape(self, shape)
    if options.get("order") == "A":
        options["order"] = "C" if _axes(self, "A") is None else "F"
    made: Array = array_function(self, np.reshape, (), (self, shape), options)
    return made


def transpose(self: Array, *axes: Any) -> Array:
    """A view with the dimensions in reverse order, or in the order of `axes`."""
    if not axes or axes == (None,):
        return reverse(self)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    made: Array = array_function(self, np.transpose, (), (self, order), {})
    return made


def copy(self: Array, order: Order = "C") -> Array:
    """A copy, recorded."""
    if not self._array.ndim:
        made = _clone(self, "contiguous_format")
        return made if type(self) in SCALAR_FACES else show_as_plural(made)
    if order == "C":
        return _clone(self, "contiguous_format")
    if order == "K":
        return _clone(self, None)
    axes = _axes(self, order)
    if axes is None:
        return _clone(self, "contiguous_format")
    made = ops.clone(ops.permute(self, axes), memory_format="contiguous_format")
    return ops.permute(made, tuple(np.argsort(axes).tolist()))


_copy = copy  # where an argument has this name


def _axes(x: Array, order: Order) -> tuple[int, ...] | None:
    """The dimensions of `x` from the slowest to the fastest in the order that NumPy's letter means; None: as in C's."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    memory: Any = layout_of(x)
    if x.ndim < 2 or order == "C" or (memory is None and order != "F"):
        return None
    backwards = tuple(range(x.ndim))[::-1]
    if order == "F":
        return backwards
    if order == "A":
        return backwards if memory.flags.fnc else None
    return tuple(sorted(range(x.ndim), key=lambda i: -abs(memory.strides[i])))


def _turned(x: Array, order: Order) -> Array:
    """`x` with its dimensions so that C's order is the one that NumPy's letter means."""
    axes = _axes(x, order)
    return x if axes is None else ops.permute(x, axes)


def ravel(self: Array, order: Order = "C") -> Array:
    """The elements in one dimension: a view where they lie in this order without gaps."""
    turned = self if order == "C" else _turned(self, order)
    memory = layout_of(turned)
    if memory is not None and not memory.flags.c_contiguous:
        turned = _clone(turned, "contiguous_format")
        return turned if turned.ndim == 1 else _reshape(turned, (-1,))
    return _reshape(turned, (-1,))


def flatten(self: Array, order: Order = "C") -> Array:
    """A copy of the elements in one dimension."""
    flat = ravel(self, order)
    is_view = flat._extra is not None and flat._extra.base is not None
    return ops.clone(flat) if is_view or flat is self else flat


def conjugate(self: Array, *args: object, **kwargs: object) -> Array:
    """The complex conjugate; a real Array itself."""
    if args or kwargs:
        conjugate_: Callable[..., Array] = np.conjugate
        return conjugate_(self, *args, **kwargs)
    return ops.conj_physical(self) if self._array.dtype.kind == "c" else self


def _itself_if_real(general: Callable[..., Array]) -> Callable[..., Array]:
    """The method `conjugate`, without more steps of a real Array: formulas ask all the time."""

    @functools.wraps(general)
    def conjugate(self: Array, *args: object, **kwargs: object) -> Array:
        if args or kwargs or self._array.dtype.kind == "c":
            return general(self, *args, **kwargs)
        return self

    return conjugate


def diagonal(self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals over two dimensions: a view, which NumPy lets nobody write into."""
    if self.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    view = ops.diagonal(self, offset, axis1, axis2)
    memory = memory_of(view)
    if memory is not None:
        memory.flags.writeable = False
    return view


def positive(self: Array) -> Array:
    """+x: a copy."""
    made = _clone(self, None)
    return made if made._array.ndim else number(made)


def astype(
    self: Array,
    dtype: DTypeLike,
    order: Order = "K",
    casting: Casting = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> object:
    """A copy in another dtype, recorded; whole numbers, truth values and texts, without gradient, are NumPy's own."""
    dtype = np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(self.dtype, dtype, casting):
        np.empty(self.shape, self.dtype).astype(dtype, casting=casting)  # NumPy's error
    if dtype.kind in "fc":
        lies_so = order not in ("C", "F") or self.flags[f"{order}_CONTIGUOUS"]
        if dtype != self.dtype:
            made = _cast(self, dtype)
            return made if lies_so else _copy(made, order)
        return self if lies_so and not copy else _copy(self, order)
    if dtype.kind == "O" and needs_grad(self):
        raise would_detach("make an array of objects of numbers that are being differentiated", _NO_OBJECTS)
    numbers = numbers_of(self)
    if numbers is None:
        return _cast(self, dtype)
    if WATCHED:
        note_operator(f"the cast to {dtype}", self)
    made = numbers.astype(dtype, order, casting, subok, True)
    return made[()] if type(self) in SCALAR_FACES else made


def _cast(x: Array, dtype: DTypeLike) -> Any:
    made = ops._to_copy(x, dtype)
    return made if type(x) in SCALAR_FACES else show_as_plural(made)


def to_device(self: Array, device: Any, /, *, stream: object = None) -> Array:
    """`self`: there is one device."""
    np.empty(0).to_device(device, stream=stream)  # which refuses any other
    return self


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    """The methods of this kind, for Array or for Scalar."""
    found = {name: _reduction(name) if name in _REDUCTIONS else _recorded(name) for name in _RECORDED}
    found |= {name: _constant(name) for name in _CONSTANT}
    alike = (dot, compress, reshape, transpose, copy, ravel, flatten, conjugate, diagonal, astype, to_device)
    found |= {f.__name__: f if f in (dot, reshape) else refused_as_numpy(f) for f in alike} | {
        "conj": conjugate,
        "__pos__": positive,
    }
    found["conjugate"] = _itself_if_real(found["conjugate"])
    for name in (*_RECORDED, *_CONSTANT):
        found[name].__name__, found[name].__qualname__ = name, f"{kind.__name__}.{name}"
        found[name].__doc__ = f"As `numpy.ndarray.{name}`" + (", recorded." if name in _RECORDED else ".")
    if kind is Scalar:
        for name in ("reshape", "transpose", "copy", "conjugate", "conj", "astype"):
            found[name] = of_a_number(found[name])
    return found


def of_a_number(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method for a Scalar: what has no dimensions is a number again."""

    @functools.wraps(method)
    def on_number(self: Array, *args: object, **kwargs: object) -> object:
        result = method(self, *args, **kwargs)
        return number(result) if isinstance(result, Array) and not result._array.ndim and result is not self else result

    return on_number
