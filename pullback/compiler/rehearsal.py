"""The first calls of a program that writes into its arguments: it says what it would write, and the function writes.

So the two can be compared, and timed, without a write that is done twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.numbers import differs
from pullback.compiler.program import Program
from pullback.compiler.tracing import grad_of


class Rehearsed(NamedTuple):
    """All that a program would give and write, and how long it has taken."""

    arrays: Sequence[Any]
    seconds: float


class Rehearsal:
    """Stands in the place of a program until that has been compared."""

    effects = True
    is_simple = False
    calls = look = 0

    def __init__(self, program: Program) -> None:
        self.program, self.trace, self.draws = program, program.trace, program.draws

    def run(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Rehearsed:
        """All that the program would do for these leaves; raises LeftError where a guard of it does not hold."""
        states = generator_states()
        begin = perf_counter()
        found = [*self.program.rehearse(leaves, arrays)]
        made = Rehearsed(found, perf_counter() - begin)
        restore(states)  # the function draws the same numbers
        return made

    def differs(self, found: Rehearsed, expected: Any, leaves: Sequence[Any]) -> str:
        """How the program would have done other than the function, which has given this and written; "" if not."""
        program = self.program
        written = [leaves[place] for place in program.written]
        written += [grad_of(leaves[place]) for place, at in program.grads if at is not None]
        count = len(found.arrays) - len(written)
        return differs(program.results(found.arrays), expected, leaves) or differs(
            [*found.arrays[count:]], written, leaves, faces=False
        )
