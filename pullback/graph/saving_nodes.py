"""Nodes by what they save: the few patterns that most operators share. Generated nodes inherit from them."""

from __future__ import annotations

from typing import Any

from pullback.core.array_face import Array
from pullback.core.tensor import Tensor
from pullback.core.types import Version
from pullback.graph.node import Node
from pullback.graph.saved import Released, save_other, watch_output


class SavesSelf(Node):
    """Keeps its only tensor argument."""

    __slots__ = ("saved_self", "version_self")
    saved_self: Any
    version_self: Version
    inputs = (0,)
    saves_self = True

    def save(self, out: Any, input: Any, *_: Any) -> None:
        self.saved_self, self.version_self = input, input._counter and input._counter.save()

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None


class SavesResult(Node):
    """Keeps what it computed."""

    __slots__ = ("saved_result", "version_result")
    saved_result: Any
    version_result: Version
    inputs = (0,)

    def save(self, out: Any, *_: Any) -> None:
        self.saved_result, self.version_result = out._array, watch_output(out)

    def release(self) -> None:
        self.version_result, self.saved_result = Released, None


class SavesSelfAndResult(Node):
    """Keeps its only tensor argument and what it computed."""

    __slots__ = ("saved_result", "saved_self", "version_result", "version_self")
    saved_self: Any
    saved_result: Any
    version_self: Version
    version_result: Version
    inputs = (0,)
    saves_self = True

    def save(self, out: Any, input: Any, *_: Any) -> None:
        self.saved_self, self.version_self = input, input._counter and input._counter.save()
        self.saved_result, self.version_result = out._array, watch_output(out)

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None
        self.version_result, self.saved_result = Released, None


class SavesPair(Node):
    """Keeps both of its tensor arguments."""

    __slots__ = ("saved_other", "saved_self", "version_other", "version_self")
    saved_self: Any
    saved_other: Any
    version_self: Version
    version_other: Version
    inputs = (0, 1)
    saves_self = True

    def save(self, out: Any, input: Any, other: Any, *_: Any) -> None:
        self._save_self(input)
        self._save_other(other)

    def _save_self(self, input: Any) -> None:
        if type(input) is Tensor or type(input) is Array:
            self.saved_self = input
            self.version_self = input._counter and input._counter.save()
        else:
            self.saved_self, self.version_self = save_other(input)

    def _save_other(self, other: Any) -> None:
        if type(other) is Tensor or type(other) is Array:
            self.saved_other = other
            self.version_other = other._counter and other._counter.save()
        else:
            self.saved_other, self.version_other = save_other(other)

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None
        self.version_other, self.saved_other = Released, None


class SavesForEachOther(SavesPair):
    """Keeps each of its two tensor arguments if the other needs a gradient."""

    __slots__ = ()

    def save(self, out: Any, input: Any, other: Any, *_: Any) -> None:
        if self._next1 is not None:
            self._save_self(input)
        if self._next0 is not None:
            self._save_other(other)
