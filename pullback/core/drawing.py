"""Who draws random numbers at present: inside some transforms, numbers for many samples, or none."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Drawing(Protocol):
    """How a transform treats random numbers while its function runs."""

    def check(self) -> None:
        """Raise an error where numbers that are the same for all samples must not be drawn."""

    def seeded(self) -> None:
        """Note that the default generator is seeded, or its state set."""

    def create(self, op: Any, kernel: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Return what an operator that makes an array of random numbers gives."""

    def each(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments of an operator that draws for arrays; where samples differ, one has a copy for each."""

    def again(self) -> AbstractContextManager[None]:
        """Run a part of that function a second time, though the transform may have ended."""


drawing: contextvars.ContextVar[Drawing | None] = contextvars.ContextVar("pullback_drawing", default=None)


def drawn(op: Any, kernel: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Run an operator that makes an array of random numbers."""
    state = drawing.get()
    return kernel(*args) if state is None else state.create(op, kernel, args)
