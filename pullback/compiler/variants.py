"""The programs of one signature: they come to be after two equal traces, and are given up where they do no good.

    call 1, 2        the function runs over traced arrays; two traces that agree make a program
    call 3, 4, 5     the program and the function run, are compared, and timed
    later            the program runs; where a guard does not hold, the next one; where none does, a trace again

A trace depends on the numbers it looked at, so a signature may have several programs, one for each outcome.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.traced.graph import LeftError
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.agreement import described
from pullback.compiler.backward import DifferentiableProgram
from pullback.compiler.program import Program, inputs_of
from pullback.compiler.tracing import Trace
from pullback.core.pytree import unflatten

MOST = 8  # programs of one signature, and traces that have not been confirmed


class Variants:
    """The programs of one signature, tried in order; the last that fitted comes first.

    Parameters
    ----------
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.
    captured : int
        How many of the leaves, the last ones, are Tensors that the function reads besides its arguments.
    bare : bool
        True if all leaves are ndarrays, as programs take them.

    Attributes
    ----------
    programs : list of Program or DifferentiableProgram
    candidates : list of (Trace, description)
        Traces that no other has confirmed yet.
    eager : str or None
        Why calls with this signature run eagerly.
    trace_seconds : float
        That the last trace has taken.
    structure, forms
        Of the arguments: their tree, and its leaves in words.
    """

    def __init__(self, call: Callable[[list[Any]], Any], captured: int, bare: bool) -> None:
        self.call, self.captured, self._bare = call, captured, bare
        self.programs: list[Any] = []
        self.candidates: list[tuple[Trace, Any]] = []
        self.eager: str | None = None
        self.trace_seconds = 0.0
        self.structure: Any = None
        self.forms: Sequence[str] = ()

    @property
    def called(self) -> str:
        """The arguments of these calls, in words: "(float64 (3,), n=2)"."""
        if self.structure is None:
            return f"({', '.join(self.forms)})"
        args, kwargs = unflatten(self.structure, [_Word(x) for x in self.forms])
        return f"({', '.join([*map(repr, args), *(f'{name}={x!r}' for name, x in kwargs.items())])})"

    def find(self, leaves: Sequence[Any]) -> tuple[Any, Any] | None:
        """(program, result) of the first program whose guards hold."""
        arrays = leaves if self._bare else inputs_of(leaves)
        for nr, program in enumerate(self.programs):
            states = generator_states() if program.draws else []
            try:
                result = program.run(leaves, arrays)
            except LeftError:
                restore(states)
                continue
            except Exception:
                restore(states)
                raise
            if nr:
                self.programs.insert(0, self.programs.pop(nr))
            program.calls += 1
            return program, result
        return None

    def replace(self, one: Any, other: Any) -> None:
        """Put another program in the place of one, if that is there."""
        with contextlib.suppress(ValueError):
            self.programs[self.programs.index(one)] = other

    def program_of(self, trace: Trace) -> Any:
        """The program of a trace."""
        return Program(trace) if trace.pulled is None else DifferentiableProgram(trace, self.call, self.captured)

    def take(self, trace: Trace) -> bool:
        """Take a further trace; True if it has made a program."""
        description = described(trace)
        for nr, (_, known) in enumerate(self.candidates):
            if known == description:
                del self.candidates[nr]
                self.programs.insert(0, self.program_of(trace))
                return True
        self.candidates.append((trace, description))
        return False


class _Word(str):
    """A leaf of the arguments in words, which shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
