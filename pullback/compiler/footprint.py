"""How much memory a plan takes, estimated by its steps."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from pullback.compiler.memory import Memory
from pullback.compiler.plan import Plan


class Footprint(NamedTuple):
    """Bytes: of all arrays that a plan makes, and of those that are there at once, at most."""

    made: int
    most: int


def footprint(plan: Plan) -> Footprint:
    """The memory of a plan's own arrays, its results included; a step may lie in the memory of what it reads last."""
    memory = Memory(plan.graph, plan.inputs, plan.parts)
    last: dict[int, int] = {}
    for at, part in enumerate(plan.parts):
        for value in (*part.values(), *part.results):
            last[memory.home(value.number)] = at
    for value in plan.results:
        last[memory.home(value.number)] = len(plan.parts)
    there: dict[int, int] = {}
    made = now = most = 0
    for at, part in enumerate(plan.parts):
        free = [there.pop(home) for home in [*there] if last[home] == at]
        for value in part.results:
            if memory.home(value.number) != value.number or not memory.is_own(value.number):
                continue  # a view
            there[value.number] = size = prod(value.shape) * value.dtype.itemsize
            if size in free:
                free.remove(size)
            else:
                made, now = made + size, now + size
        most = max(most, now)
        now -= sum(free)
    return Footprint(made, most)
