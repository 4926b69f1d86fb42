"""NumPy's functions that put elements in order; what they return as indices or truth values is constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.interop.adapters.indexing import take_along_axis
from pullback.interop.operands import array, frozen, in_order_of, only, ops, tensor_of, values
from pullback.interop.registry import numpy_object, rule


def _flat(a: Any, axis: Any) -> Any:
    a = array(a)
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


@rule("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.sort."""
    only("sort", "order", order, (None,))
    a, axis = _flat(a, axis)
    if a.dtype.kind == "c":  # which operators do not order
        return take_along_axis(a, np.argsort(frozen(a, "sort"), axis, kind="stable"), axis)
    return in_order_of(ops.sort(a, axis)[0], a)


@rule("sort_complex")
def sort_complex(a: Any) -> Any:
    """np.sort_complex: complex numbers, ordered by real part, then by imaginary part."""
    a = sort(array(a))
    return a if a.dtype.kind == "c" else np.astype(a, np.complex64 if a.dtype.char in "bhBH" else np.complex128)


@rule("argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.argsort."""
    only("argsort", "order", order, (None,))
    a, axis = _flat(a, axis)
    return ops.argsort(a, axis, stable=bool(stable) or kind in ("stable", "mergesort"))


@rule("partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.partition."""
    only("partition", "order", order, (None,))
    a, axis = _flat(a, axis)
    index = np.argpartition(frozen(a, "partition"), values(kth, "partition"), axis)
    return take_along_axis(a, index, axis)


def _constant(name: str) -> Callable[..., Any]:
    """The rule of a function whose result is indices, counts or truth values: nothing to differentiate."""
    function = numpy_object(name)

    def run(*args: Any, **kwargs: Any) -> Any:
        kwargs = {key: _plain(x, name) for key, x in kwargs.items()}
        result = function(*(_plain(x, name) for x in args), **kwargs)
        return tuple(map(tensor_of, result)) if isinstance(result, tuple) else tensor_of(result)

    return run


def _plain(x: Any, name: str) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_plain(item, name) for item in x)
    return frozen(x, name) if hasattr(x, "requires_grad") else x


CONSTANT = (
    "argpartition", "bitwise_count", "digitize", "isin", "isnat", "lexsort", "nanargmax", "nanargmin", "packbits",
    "ravel_multi_index", "searchsorted", "spacing", "unpackbits", "unravel_index",
)  # fmt: skip

for _name in CONSTANT:
    rule(_name)(_constant(_name))
