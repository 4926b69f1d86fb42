"""The methods of Array and Scalar: those of `numpy.ndarray` and of NumPy's numbers.

operators.py    x + y, x < y, x += y
indexing.py     x[index], x[index] = value, iteration
functions.py    what NumPy has a function for: x.std(ddof=1), x.reshape(2, -1), x.astype(float)
attributes.py   x.T, x.shape = (2, 3), x.flags
flat.py         x.flat
writing.py      x.sort(), x.fill(0.0)
leaving.py      numbers, lists, bytes, pickles and texts
numbers.py      what Python's floating-point numbers have beside these
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pullback.core.array_face import NESTED, Array, Scalar
from pullback.interop.array import attributes, functions, indexing, leaving, numbers, operators, writing

_INDEXING = {
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__iter__": indexing.iterate,
}
_INDEXING_A_SCALAR = {"__getitem__": indexing.get_from_scalar}


@cache
def attributes_of(kind: type) -> dict[str, Any]:
    """The attributes of a class by name, of nested ones those of their own; None for what Tensor has and it has not."""
    if kind in NESTED:
        return operators.nested_methods(Scalar if issubclass(kind, Scalar) else Array)
    found = _INDEXING if kind is Array else _INDEXING_A_SCALAR | numbers.METHODS
    return {
        **operators.methods(kind), **functions.methods(kind), **writing.methods(kind), **attributes.attributes(kind),
        **leaving.methods(kind), **found,
    }  # fmt: skip
