"""NumPy's functions that put elements in order; what they return as indices or truth values is constant."""

import numpy as np

from pullback.interop.adapters.indexing import take_along_axis
from pullback.interop.operands import array, axes_of, frozen, only, ops, tensor_of, values
from pullback.interop.registry import numpy_object, rule


def _flat(a, axis):
    a = array(a)
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


@rule("sort")
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """np.sort."""
    only("sort", "order", order, (None,))
    a, axis = _flat(a, axis)
    return ops.sort(a, axis)[0]


@rule("argsort")
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """np.argsort."""
    only("argsort", "order", order, (None,))
    a, axis = _flat(a, axis)
    return ops.argsort(a, axis, stable=bool(stable) or kind in ("stable", "mergesort"))


@rule("partition")
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """np.partition."""
    only("partition", "order", order, (None,))
    a, axis = _flat(a, axis)
    index = np.argpartition(frozen(a, "partition"), values(kth, "partition"), axis)
    return take_along_axis(a, index, axis)


@rule("unique")
def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,  # NumPy's name; from NumPy 2.3 on
):
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
def unique_values(x):
    """np.unique_values."""
    return unique(x, equal_nan=False)


def _constant(name):
    """The rule of a function whose result is indices, counts or truth values: nothing to differentiate."""
    function = numpy_object(name)

    def run(*args, **kwargs):
        kwargs = {key: _plain(x, name) for key, x in kwargs.items()}
        result = function(*(_plain(x, name) for x in args), **kwargs)
        return tuple(map(tensor_of, result)) if isinstance(result, tuple) else tensor_of(result)

    return run


def _plain(x, name):
    if isinstance(x, (list, tuple)):
        return type(x)(_plain(item, name) for item in x)
    return frozen(x, name) if hasattr(x, "requires_grad") else x


CONSTANT = (
    "argpartition", "digitize", "isin", "lexsort", "nanargmax", "nanargmin",
    "searchsorted",
)  # fmt: skip

for _name in CONSTANT:
    rule(_name)(_constant(_name))
