"""Sums of the gradients of parts: each part is added in its place, not laid down in zeros and added as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pullback.arrays.traced.graph import ONE, Step, Value, added_at


def added_in_place(steps: Sequence[Step], results: Sequence[Value]) -> list[Step]:
    """The steps with `a + slice_backward(g)` replaced by adding g to a part of `a`, if nobody else needs the term."""
    uses = Counter(x.number for step in steps for x in step.values())
    uses.update(x.number for x in results)
    maker = {x.number: step for step in steps for x in step.results}
    gone: set[int] = set()
    made: dict[int, Step] = {}
    for step in steps:
        if step.what != "add" or not all(type(x) is Value for x in step.args):
            continue
        for term, total in (step.args[::-1], step.args):
            part = maker.get(term.number)
            if (
                part is not None
                and part.what == "slice_backward"
                and uses[term.number] == 1
                and total.number != term.number
                and total.shape == step.results[0].shape == term.shape
                and total.dtype == step.results[0].dtype
            ):
                value, _, index = part.args
                made[id(step)] = Step(added_at, (total, index, value), step.results, ONE, writes=True)
                gone.add(id(part))
                break
    return [made.get(id(step), step) for step in steps if id(step) not in gone]
