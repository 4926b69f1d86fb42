"""Versions of what is inside of a saved Tensor: of Tensors of lower levels, and of tangents that a user holds too.

A write into these goes past the counter of the Tensor around them. So the version that a node keeps of a Tensor around
something else than an ndarray says how often the parts had been written into as well.
"""

from __future__ import annotations

from typing import Any, Self

from pullback.core.array_type import REGISTERED, counters_inside
from pullback.core.tensor import Tensor
from pullback.core.version import Counter


class DeepVersion(int):
    """The version of a Tensor when it was saved, with the number of writes into its parts until then."""

    inside: int

    def __new__(cls, own: int, inside: int) -> Self:
        made = super().__new__(cls, own)
        made.inside = inside
        return made


def deep_version(own: int | None, raw: Any) -> int | None:
    """The version of a Tensor around `raw`, with the writes into what is inside if there were any."""
    inside = writes_inside(raw)
    return DeepVersion(own or 0, inside) if inside else own


def writes_inside(raw: Any) -> int:
    """How often the parts of what a Tensor is around have been written into."""
    writes = 0
    while isinstance(raw, Tensor):
        if raw._counter is not None:
            writes += raw._counter.n
        raw = raw._array
    kind = REGISTERED.get(type(raw))
    counters = () if kind is None else kind.counters(raw)
    return writes + sum([counter.n for counter in counters]) if counters else writes


def since(version: int, counter: Counter | None, raw: Any) -> tuple[int, int, str | None] | None:
    """(the version expected, the one found, who has written) of what was written into since; None if nothing was."""
    if counter is not None and counter.n != version:
        return int(version), counter.n, counter.culprit
    before, now = version.inside if type(version) is DeepVersion else 0, writes_inside(raw)
    if before == now:
        return None
    names = {inside.culprit: None for inside in counters_inside(raw) if inside.culprit is not None}
    culprit = next(iter(names)) if len(names) == 1 else " or ".join(map(str, names))
    return before, now, culprit
