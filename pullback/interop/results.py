"""Says what NumPy's functions give where an argument is an Array: an Array, a Scalar, or NumPy's own plain result.

Rules compute with operators and NumPy's functions on either face; here, where they come out, results get the form that
NumPy's own have. Whole numbers and truth values have no gradient by nature, and are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from pullback.core import modes
from pullback.core.array_face import ARRAYS, SCALAR_FACES, Array, as_array, show_as_array, show_as_plural, wrap_array
from pullback.core.array_type import TENSOR, numbers_of
from pullback.core.numpy_types import Order
from pullback.core.tensor import Tensor, ndarray
from pullback.interop.operands import in_order, in_order_of, order_of
from pullback.interop.registry import numpy_object

_NOTHING: Mapping[str, Any] = {}
# Of a result without dimensions NumPy makes a number, but for these functions; for the latter only if they are
# given an array.
_ALWAYS = (
    "apply_along_axis", "array", "asanyarray", "asarray", "astype", "block", "broadcast_arrays", "broadcast_to",
    "concat", "concatenate", "copy", "cov", "cross", "diff", "empty", "empty_like", "expand_dims", "fft.fftn",
    "fft.ifftn", "full", "full_like", "i0", "isin", "isneginf", "isposinf", "linalg.tensordot", "ones", "ones_like",
    "pad", "piecewise", "polyint", "real_if_close", "require", "resize", "roll", "select", "tensordot", "tile",
    "trim_zeros", "where", "zeros", "zeros_like",
)  # fmt: skip
_LIKE_THE_ARGUMENT = ("imag", "moveaxis", "permute_dims", "real", "reshape", "squeeze", "transpose")
# What may return its argument itself, and what gives a view of it; everything else makes something new.
_RETURN_IT = (
    "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "astype", "atleast_1d", "atleast_2d", "atleast_3d",
    "array", "diff", "linalg.matrix_power", "nan_to_num", "real", "real_if_close", "require",
)  # fmt: skip
_VIEW_IT = (
    "broadcast_to", "expand_dims", "flip", "fliplr", "flipud", "moveaxis", "permute_dims", "ravel", "reshape",
    "rollaxis", "rot90", "squeeze", "swapaxes", "transpose",
)  # fmt: skip
# In which order what they make lies in memory, where operators have another: "K" is that of the first argument, "A"
# Fortran's if that lies so, else C's.
_IN_ORDER: dict[Order, tuple[str, ...]] = {
    "K": (
        "fft.fft", "fft.fft2", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifft2", "fft.ifftn", "fft.ihfft", "fft.irfft",
        "fft.irfft2", "fft.irfftn", "fft.rfft", "fft.rfft2", "fft.rfftn", "gradient", "nan_to_num", "partition",
        "piecewise", "round", "sort", "sort_complex", "unwrap",
    ),
    "A": ("insert", "pad"),
    "C": ("choose", "compress", "take", "tensordot"),
}  # fmt: skip
_ORDER: dict[object, Order] = {numpy_object(name): order for order, names in _IN_ORDER.items() for name in names}
_RETURNING, _VIEWING = frozenset(map(numpy_object, _RETURN_IT)), frozenset(map(numpy_object, _VIEW_IT))
_GIVE_ARRAYS = frozenset(map(numpy_object, _ALWAYS))
_GIVE_WHAT_THEY_GET = frozenset(map(numpy_object, _LIKE_THE_ARGUMENT))


def gives_arrays(function: Callable[..., Any], args: Sequence[Any]) -> bool:
    """True if a result of this function that has no dimensions is an array, and not a number."""
    if function in _GIVE_ARRAYS:
        return True
    return function in _GIVE_WHAT_THEY_GET and not (args and type(args[0]) in SCALAR_FACES)


def apart_from(argument: object, result: Any, function: Callable[..., Any]) -> Any:
    """Return a rule's result, where that is its argument itself and NumPy's function makes something new, or a view."""
    if result is not argument or function in _RETURNING or type(result) not in ARRAYS:
        return result
    return TENSOR.alias(result) if function in _VIEWING else TENSOR.clone(result)


def in_numpys_order(result: Any, args: Sequence[Any], function: Callable[..., Any]) -> Any:
    """Return a rule's result, laid out in memory as NumPy's function does it, by which `ravel("K")` and others go."""
    order = _ORDER.get(function)
    if order is None:
        return result
    if type(result) is tuple or type(result) is list:
        return type(result)(in_numpys_order(part, args, function) for part in result)
    if type(result) not in ARRAYS or result._array.ndim < 2 or any(result is x for x in args):
        return result
    if order == "K":
        return in_order_of(result, args[0])
    return in_order(result, order_of(args[0]) if order == "A" else order)


def as_numpy_gives(
    result: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] = _NOTHING, whole: bool = False
) -> Any:
    """Return what a rule returned for these arguments, in the form in which NumPy gives it.

    `whole`: without dimensions it is an array, not a number.
    """
    kind = type(result)
    if kind is tuple or kind is list:
        return kind([as_numpy_gives(part, args, kwargs, whole) for part in result])
    if issubclass(kind, tuple):  # of several results with names, which ours have and NumPy's ufuncs do not
        parts = [as_numpy_gives(part, args, kwargs, whole) for part in result]
        parts = [part if isinstance(part, Tensor) else copy(part) for part in parts]  # the node may have saved it
        return tuple(parts) if kind.__module__.startswith("pullback") else kind(*parts)
    if kind is ndarray:
        return _of_constants(result, args, kwargs, whole)
    if not issubclass(kind, Tensor):
        return result
    plain = result._array.dtype.kind not in "fc"
    if kind not in ARRAYS and _is_among(result, args, kwargs):
        return result
    if plain:
        numbers = numbers_of(result)
        if numbers is not None:
            if result._counter is not None:  # a node has saved it
                numbers = numbers.copy()
            return numbers if numbers.ndim or whole else numbers[()]
    if kind not in ARRAYS:
        result = as_array(result)
    return result if result._array.ndim else _without_dimensions(result, args, kwargs, whole)


def _of_constants(result: ndarray, args: Sequence[Any], kwargs: Mapping[str, Any], whole: bool) -> object:
    """A plain array that a rule made: an Array if what is differentiated may be written into it one day."""
    if not (result.ndim or whole):
        return result if _is_among(result, (), kwargs) else result[()]  # `out` is what it was
    if result.dtype.kind in "fc" and result.base is None and not _is_among(result, args, kwargs):
        return wrap_array(result, modes.current().level)
    return result


def _without_dimensions(result: Array, args: Sequence[Any], kwargs: Mapping[str, Any], whole: bool) -> object:
    single = type(result) in SCALAR_FACES
    if single is not whole:
        return result
    given = _is_among(result, args, kwargs)
    if whole:
        return show_as_plural(TENSOR.clone(result) if given else result)
    if given:  # as `out`
        return result
    return number(result)


def number(x: Array) -> Any:
    """An Array without dimensions that nobody else has as a Scalar, which shares memory with nothing."""
    is_view = x._extra is not None and x._extra.base is not None
    return show_as_array(TENSOR.clone(x) if is_view else x, single=True)


def _is_among(x: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    given = [*args, *kwargs.values()]
    return any(x is y or (type(y) in (tuple, list) and any(x is z for z in y)) for y in given)
