"""Finds what functions hold that is being differentiated, and makes it arguments: their closures' variables.

A function that a solver is given often finds its parameters in its closure, in defaults, in the object whose method it
is. The objects that are reachable are walked for them, and copies are made that hold other arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CellType, FunctionType
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, as_tensor
from pullback.core.array_type import CONSTANTS
from pullback.core.tensor import Tensor, wrap
from pullback.func.held_arrays import LEAVES, Substitution, parts_of
from pullback.func.rule_calls import stripped


class Captures:
    """Tensors that functions hold, as far as a derivative by them is at stake.

    Attributes
    ----------
    tensors : list of Tensor
        Each once.
    """

    def __init__(self, *functions: Any) -> None:
        self._functions = functions
        self.tensors: list[Tensor] = []
        self._last: tuple[list[Any], tuple[Any, ...]] | None = None
        seen, todo = {id(functions)}, list(functions)
        kept = [*functions]  # some are made by looking, and must not give their id away
        while todo:
            x = todo.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            kept.append(x)
            if issubclass(type(x), Tensor):
                if isinstance(stripped(x), Tensor):
                    self.tensors.append(x)
            elif not issubclass(type(x), LEAVES):
                todo.extend([part for part in parts_of(x) if type(part) not in CONSTANTS])  # of long lists

    def given(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The functions, holding these leaves in the places of the tensors."""
        if not self.tensors:
            return self._functions
        if self._last is None or any(a is not b for a, b in zip(self._last[0], leaves, strict=True)):
            faced = [_faced(x, tensor) for x, tensor in zip(leaves, self.tensors, strict=True)]
            self._last = [*leaves], _Holding(self._functions, self.tensors, faced).copied(self._functions)
        return self._last[1]


def _faced(x: Any, like: Tensor) -> Any:
    """A leaf with the face of the tensor in whose place it comes: a method of PyTorch's may be asked of it."""
    if type(like) in ARRAYS:
        return x
    if isinstance(x, Tensor):
        return as_tensor(x)
    return wrap(np.asarray(x), modes.current().level)


class _Holding(Substitution):
    """Functions with other arrays in the place of tensors that they hold, wherever these are."""

    def __init__(self, whole: Any, tensors: Sequence[Tensor], leaves: Sequence[Any]) -> None:
        self.holders: dict[int, Any] = {}
        self.puts: dict[int, dict[str, Any]] = {}
        self.links: dict[int, dict[str, Any]] = {}
        self.tied = {id(tensor): [x] for tensor, x in zip(tensors, leaves, strict=True)}
        self.copies: dict[int, Any] = {}
        self.under_way: set[int] = set()
        self.leads = self._leading(whole)

    def _shallow(self, x: Any) -> Any:
        if not isinstance(x, FunctionType):
            return super()._shallow(x)
        cells = x.__closure__ and tuple(map(self._cell, x.__closure__))
        made = FunctionType(x.__code__, x.__globals__, x.__name__, None, cells)
        made.__qualname__, made.__doc__ = x.__qualname__, x.__doc__
        made.__dict__.update(x.__dict__)
        return made

    def _cell(self, cell: CellType) -> CellType:
        """A cell of its own for what is replaced; any other stays shared, so that what is written there is seen."""
        try:
            return CellType() if id(cell.cell_contents) in self.leads else cell
        except ValueError:  # not filled yet
            return cell

    def _fill(self, x: Any, made: Any, done: set[str]) -> None:
        if isinstance(x, FunctionType):
            for old, new in zip(x.__closure__ or (), made.__closure__ or (), strict=True):
                if new is not old:
                    new.cell_contents = self.copied(old.cell_contents)
            made.__defaults__ = x.__defaults__ and tuple(map(self.copied, x.__defaults__))
            if x.__kwdefaults__:
                made.__kwdefaults__ = {name: self.copied(part) for name, part in x.__kwdefaults__.items()}
        super()._fill(x, made, done)
