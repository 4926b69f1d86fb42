"""Operators of third parties that have no rule: one element after the other, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from pullback.arrays.batched.array import Batch
from pullback.arrays.batched.rules import element
from pullback.arrays.batched.values import run
from pullback.core.cuts import frames_to_user

_warned: set[str] = set()  # the operators of which it has been said


def one_by_one(name: str, takes_lists: bool) -> Callable[..., Any]:
    """The rule that runs the kernel of that name on each element of the batch."""
    start = "Make" if takes_lists else "Give its declaration a category (tags: pointwise, say), or make"
    advice = f"{start} it a composite; of custom_op call register_vmap."

    def looped(batch: Batch, *args: Any) -> Any:
        if name not in _warned:
            _warned.add(name)
            warnings.warn(
                f"vmap: {name} has no batching rule and runs on one element of the batch after the other, which is "
                f"slow. {advice}",
                stacklevel=frames_to_user(),
            )
        results = [run(name, *[element(batch, x, i) for x in args]) for i in range(batch.size)]
        if isinstance(results[0], (list, tuple)):
            return tuple(run("stack", list(each), 0) for each in zip(*results, strict=True))
        return run("stack", results, 0)

    return looped
