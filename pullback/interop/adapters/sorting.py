"""NumPy's functions that put elements in order; what they return as indices or truth values is constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.interop.adapters.indexing import take_along_axis
from pullback.interop.operands import array, axes_of, frozen, only, ops, tensor_of, values
from pullback.interop.registry import numpy_object, rule


def _flat(a: Any, axis: Any) -> Any:
    a = array(a)
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


@rule("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.sort."""
    only("sort", "order", order, (None,))
    a, axis = _flat(a, axis)
    return ops.sort(a, axis)[0]


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


@rule("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # NumPy's name; from NumPy 2.3 on
) -> Any:
    """np.unique; the gradient of a value goes to its first occurrence."""
    ar = array(ar)
    plain = frozen(ar, "unique")
    _, index, inverse, counts = np.unique(plain, True, True, True, axis, equal_nan=equal_nan)
    if axis is None:
        ar, axis = ops.reshape(ar, (-1,)), 0
    results = [ops.index_select(ar, axes_of(axis, ar.ndim)[0], index)]
    wanted = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    results += [tensor_of(extra) for asked, extra in wanted if asked]
    return tuple(results) if len(results) > 1 else results[0]


@rule("unique_values")
def unique_values(x: Any) -> Any:
    """np.unique_values."""
    return unique(x, equal_nan=False)


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
    "argpartition", "digitize", "isin", "lexsort", "nanargmax", "nanargmin",
    "searchsorted",
)  # fmt: skip

for _name in CONSTANT:
    rule(_name)(_constant(_name))
