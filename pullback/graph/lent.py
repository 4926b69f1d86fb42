"""Memory of Arrays that other libraries see: who keeps a view of a buffer misses the gradient of what is written later.

Such a view is an ndarray around an object of ours. NumPy lets every view of it hold that object too, so a weak
reference tells whether anybody still has one.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, extra_of, ndarray
from pullback.graph.view import base_of


class Lent:
    """Stands for the owner of the memory behind a read-only view."""

    __slots__ = ("__array_interface__", "__weakref__", "owner")

    def __init__(self, data: ndarray) -> None:
        address, _ = data.__array_interface__["data"]
        self.__array_interface__ = data.__array_interface__ | {"data": (address, True)}
        self.owner = data


def lend(tensor: Tensor, data: ndarray) -> ndarray:
    """A read-only view of the memory of a tensor, of which `refuse_if_lent` knows."""
    lent = Lent(data)
    extra = extra_of(_whole(tensor))
    extra.lent = [*(r for r in extra.lent if r() is not None), weakref.ref(lent)]
    return np.asarray(lent)


def refuse_if_lent(target: Tensor, name: str) -> None:
    """Refuse a write that gives memory its first gradient while another library keeps a plain view of it."""
    extra = _whole(target)._extra
    if extra is not None and extra.lent and any(r() is not None for r in extra.lent):
        raise InplaceError(
            f"{name} would write what is being differentiated into an array of which another object holds a plain "
            "view, through which no gradient would come (a masked array, a sparse matrix, a spline). Write first and "
            "make that object afterwards, or make it of a copy."
        )


def _whole(tensor: Tensor) -> Any:
    base = base_of(tensor)
    return tensor if base is None else base
