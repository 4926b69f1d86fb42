"""Batches: one for each call of vmap, whose function runs once for all of its elements."""

from __future__ import annotations

import itertools
from typing import Any

from pullback.core.tensor import Tensor
from pullback.core.version import Counter

_next_number = itertools.count(1).__next__


class Batch:
    """The batch of one call of vmap.

    Parameters
    ----------
    size : int
        Of the batch dimension.
    randomness : str, default "error"
        What random operators do: 'different' numbers for each element, the 'same' for all, or an error.
    called : str, optional
        What the user called, for errors.
    drew_from : dict, optional
        The generators drawn from, each with its state before: for one of several chunks.
    func : callable, optional
        The function that is mapped, for errors.

    A batch that was opened later has a higher number, and operators run at the highest number among their arguments.
    """

    __slots__ = ("called", "drew_from", "func", "number", "open", "outside", "randomness", "shared", "size")

    def __init__(
        self, size: int, randomness: str = "error", called: str = "vmap", drew_from: Any = None, func: Any = None
    ) -> None:
        self.number = _next_number()
        self.size, self.randomness, self.called = size, randomness, called
        self.drew_from, self.func = drew_from, func
        self.shared: tuple[Any, ...] = ()  # the copies of ndarrays that are not mapped, the same for all samples
        # Tensors outside by the counters of those inside over their memory; True for the one argument there.
        self.outside: dict[Counter, tuple[Tensor, bool]] = {}
        self.open = True

    def close(self) -> None:
        """End the call: what it made is of no use any more."""
        self.open = False
        self.outside.clear()

    def __repr__(self) -> str:
        return f"Batch({self.size}, {'open' if self.open else 'closed'})"
