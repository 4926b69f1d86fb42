"""The methods of Array and Scalar: those of `numpy.ndarray` and of NumPy's numbers.

operators.py   x + y, x < y, x += y
indexing.py    x[index], x[index] = value, iteration
"""

from __future__ import annotations

from pullback.core.array_face import Array, Scalar
from pullback.interop.array import indexing, operators

_INDEXING = {
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__iter__": indexing.iterate,
}
_INDEXING_A_SCALAR = {
    "__getitem__": indexing.get_from_scalar,
    "__setitem__": indexing.refuse_setitem,
}


def attach() -> None:
    """Give the classes their methods."""
    for kind, found in ((Array, _INDEXING), (Scalar, _INDEXING_A_SCALAR)):
        for name, method in (operators.methods(kind) | found).items():
            setattr(kind, name, method)
