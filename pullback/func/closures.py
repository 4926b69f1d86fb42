"""Finds what functions hold that is being differentiated, and makes it arguments: their closures' variables.

A function that a solver is given often finds its parameters in its closure, in defaults, in the object whose method it
is. The objects that are reachable are walked for them, and copies are made that hold other arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, as_tensor, plain_until, wrap_array
from pullback.core.array_type import CONSTANTS
from pullback.core.tensor import Tensor, wrap
from pullback.func.left_behind import is_left_behind, is_left_earlier
from pullback.func.rules.calls import is_at_stake
from pullback.graph.captured import Captured
from pullback.graph.held_objects import LEAVES, is_users_class, parts_of


class Captures(Captured):
    """The things that functions read at a call, with those tensors as arguments by which something is at stake.

    Attributes
    ----------
    tensors : list of Tensor
        Each once.
    """

    def __init__(self, name: str, *functions: Any) -> None:
        super().__init__(name, *functions)
        self.tensors = [x for x in self.held_tensors if is_at_stake(x) and not is_left_earlier(x)]
        self._faces = [type(x) for x in self.tensors]  # as they are now: a rule shows Arrays as Tensors while it runs
        self._last: tuple[list[Any], tuple[Any, ...]] | None = None

    def keep(self, spared: Sequence[Tensor] = ()) -> None:
        """As of any functions; the tensors are saved by whoever takes them for arguments."""
        super().keep([*self.tensors, *spared])

    def renew(self, for_sample: bool = False) -> tuple[Any, ...]:
        """As of any functions."""
        self._last = None
        return super().renew(for_sample)

    def given(self, leaves: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The functions, holding these leaves in the places of the tensors."""
        if not self.tensors:
            return super().given()
        buffers = self.recording()
        if buffers or self._last is None or any(a is not b for a, b in zip(self._last[0], leaves, strict=True)):
            triples = zip(leaves, self.tensors, self._faces, strict=True)
            given = {id(tensor): faced(x, face, is_left_behind(tensor)) for x, tensor, face in triples}
            made = self._copied(given | buffers)
            if buffers or any(map(is_left_behind, self.tensors)):  # arrays that record are new ones each time
                return made
            self._last = [*leaves], made
        return self._last[1]


def capture_tensors(functions: Sequence[Any]) -> bool:
    """True if something is at stake by what functions hold; globals, which cost more to look at, are left out."""
    return next(tensors_at_stake(functions), None) is not None


def tensors_at_stake(functions: Sequence[Any]) -> Iterator[Tensor]:
    """Yield the tensors that functions hold, by which something is at stake.

    Globals, which cost more to look at, are left out.
    """
    seen: dict[int, Any] = {}  # by identity, which what is made by looking must not give away
    todo = [*functions]
    while todo:
        x = todo.pop()
        if issubclass(type(x), Tensor):
            if is_at_stake(x):
                yield x
        elif isinstance(x, type):
            if is_users_class(x) and id(x) not in seen:
                seen[id(x)] = x
                todo += [part for base in x.__mro__ for part in vars(base).values() if type(part) not in CONSTANTS]
        elif not issubclass(type(x), LEAVES) and id(x) not in seen:
            seen[id(x)] = x
            todo.append(type(x))
            todo += [part for part in parts_of(x) if type(part) not in CONSTANTS]  # of long lists


def faced(x: Any, face: type, is_written: bool) -> Any:
    """A leaf with the face of the tensor in whose place it comes: a method of PyTorch's may be asked of it.

    If it `is_written`, by an earlier call, functions write into it again.
    """
    if is_written:
        level = modes.current().level
        return x.copy() if isinstance(x, Tensor) or level <= plain_until.get() else wrap_array(np.array(x), level)
    if face in ARRAYS:
        return x
    if isinstance(x, Tensor):
        return as_tensor(x)
    return wrap(np.asarray(x), modes.current().level)
