"""Objects that hold tensors, as a sparse matrix of ours holds its values: what stands for one of SciPy's objects."""

from __future__ import annotations

from typing import Any, Self

from pullback.graph.held_objects import attributes_of


class Holder:
    """An object in which functions of SciPy find tensors: where a gradient is at stake their rules take it."""

    __slots__ = ()

    def __copy__(self) -> Self:
        made = object.__new__(type(self))  # by copy's own way, `__getattr__` would be asked before anything is there
        for _, part, setter in attributes_of(self):
            setter(made, part)
        return made

    def held(self) -> tuple[Any, ...]:
        """The tensors and arrays in it."""
        raise NotImplementedError

    def plain(self) -> object:
        """SciPy's own object, of plain arrays."""
        raise NotImplementedError
