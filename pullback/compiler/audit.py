"""The audit of a program: a call at which the function is traced again, beside it.

Watches and two traces see what a function reads and what is not the same at each call. What they cannot see, an audit
finds: it stands in the place of a program for one call, lets the function run over traced arrays, and compares both the
graphs and the results.

    call 16                     the first audit
    a sixteenth of the calls    ... each further one comes after sixteen times as many calls, and not before the time
                                that it takes is less than a hundredth of what the program has taken
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.agreement import described, first_difference
from pullback.compiler.backward import DifferentiableProgram
from pullback.compiler.errors import StaleProgramError
from pullback.compiler.numbers import differs
from pullback.compiler.program import Program
from pullback.compiler.tracing import AS_IT_IS, Trace, grad_of
from pullback.core.pytree import flatten

FIRST = 16  # the call at which a program is audited for the first time
_SHARE = 0.01  # of the time that the program has taken


class StaleError(Exception):
    """The program and the function differ: the text says how. `audits` are the calls of its audits, this one last."""

    def __init__(self, how: str, audits: Sequence[int]) -> None:
        super().__init__(how)
        self.audits = audits

    def told(self, call: str) -> StaleProgramError:
        """The error for the user, of this call in words."""
        *before, now = self.audits
        since = (
            f"since the audit before, at call {before[-1]}," if before else "before, but for those of its first calls,"
        )
        return StaleProgramError(
            f"{call}: at call {now} of its program the function did not do what was recorded: {self}. Results {since} "
            "may be wrong. It depends on something that nothing can watch: pass that in as an argument. From now on "
            "the function runs eagerly."
        )


class Audit:
    """Stands in the place of a program for one call.

    Parameters
    ----------
    program : Program or DifferentiableProgram
    over : callable
        () -> None: puts the program back.
    trace : callable
        (leaves) -> (Trace, its result as the caller gets it), or (None, result) where the function runs eagerly.
    """

    effects = is_simple = False

    def __init__(
        self, program: Program | DifferentiableProgram, over: Callable[[], None], trace: Callable[[Any], Any]
    ) -> None:
        self.program, self.trace, self._over, self._trace = program, program.trace, over, trace
        self.draws = program.draws
        self.calls = self.look = 0

    def run(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result of the function for these leaves; raises LeftError where a guard of the program does not hold.

        Raises
        ------
        StaleError
            The program would have given something else, or has another graph.
        """
        program = self.program
        states = generator_states()
        found: Any
        found = [*program.rehearse(leaves, arrays)] if isinstance(program, Program) else program.run(leaves, arrays)
        program.calls += 1
        self._over()
        restore(states)  # the function draws the same numbers
        made, result = self._trace(leaves)
        if made is None:
            return result
        if described(made) != described(program.trace):
            raise StaleError(first_difference(program.trace, made)[0], program.audits)
        expected = _arrays_of(made, leaves) if isinstance(program, Program) else made.result
        if how := differs(found, expected, leaves, faces=False):
            raise StaleError(f"the program gave {how}", program.audits)
        return result if isinstance(program, Program) else found

    def next(self, seconds: float) -> int:
        """The call before the next audit, if this one took so long."""
        program = self.program
        rest = ceil(seconds / (_SHARE * max(program.seconds, 1e-6)))
        return max(FIRST * program.calls, program.calls + rest) - 1


def _arrays_of(made: Trace, leaves: Sequence[Any]) -> list[Any]:
    """All that a trace has given and written, in the order in which the plan gives it."""
    given = [x for (how, _), x in zip(made.outputs, flatten(made.result)[0], strict=True) if how is not AS_IT_IS]
    given += [leaves[place] for place, _ in made.written]
    return given + [grad_of(leaves[place]) for place, at in made.grads if at is not None]
