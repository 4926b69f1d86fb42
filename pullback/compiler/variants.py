"""The programs of one signature: they come to be after two equal traces, and are given up where they do no good.

    call 1, 2        the function runs over traced arrays; two traces that agree make a program
    call 3, 4, 5     the program and the function run, are compared, and timed
    later            the program runs; where a guard does not hold, the next one; where none does, a trace again

A trace depends on the numbers it looked at, so a signature may have several programs, one for each outcome.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from pullback.arrays.traced.calls import PlainCall
from pullback.arrays.traced.graph import LeftError
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.agreement import described, looked_at_others
from pullback.compiler.arguments import Call
from pullback.compiler.backward import DifferentiableProgram
from pullback.compiler.program import Program, inputs_of
from pullback.compiler.rehearsal import Rehearsal
from pullback.compiler.tracing import Trace
from pullback.core.pytree import unflatten

FEW = 5  # traces apart from all others, after which no two will agree
MOST = 8  # programs of one signature, and traces that have not been confirmed


class Variants:
    """The programs of one signature, tried in order; the last that fitted comes first.

    Parameters
    ----------
    call : Call
        The function of arguments with these leaves.
    captured : int
        How many of the leaves, the last ones, are Tensors that the function reads besides its arguments.
    bare : bool
        True if all leaves are ndarrays, as programs take them.

    Attributes
    ----------
    programs : list of Program or DifferentiableProgram
    candidates : list of (Trace, description, program or None)
        Traces that no other has confirmed yet; the program of one, if its own call has run it.
    eager : str or None
        Why calls with this signature run eagerly.
    trace_seconds : float
        That the last trace has taken.
    structure, forms
        Of the arguments: their tree, and its leaves in words.
    """

    def __init__(self, call: Call, captured: int, bare: bool) -> None:
        self.call: Any = call
        self.captured, self.bare = captured, bare
        self.programs: list[Any] = []
        self.candidates: list[tuple[Trace, Any, Any]] = []
        self.eager: str | None = None
        self.trace_seconds = 0.0
        self.apart = 0  # traces that differ from all others, and not in what they looked at
        self.rehearses = True  # before it writes
        self.structure: Any = None
        self.forms: Sequence[str] = ()
        self.entry: Any = None  # the quick way here, once it is worth one
        self.quick: Any = None  # the same in machine code, if all of a program is
        self.rounds: dict[Any, Any] = {}  # (the programs, the machine code of a loop of these or why there is none)

    @property
    def called(self) -> str:
        """The arguments of these calls, in words: "(float64 (3,), n=2)"."""
        if self.structure is None:
            return f"({', '.join(self.forms)})"
        args, kwargs = unflatten(self.structure, [_Word(x) for x in self.forms])
        return f"({', '.join([*map(repr, args), *(f'{name}={x!r}' for name, x in kwargs.items())])})"

    def find(self, leaves: Sequence[Any], begin: int) -> tuple[Any, Any] | None:
        """(program, result) of the first program, from this number on, whose guards hold."""
        arrays = leaves if self.bare else inputs_of(leaves)
        for nr, program in enumerate(self.programs[begin:], begin):
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

    def let_go(self) -> None:
        """Keep the programs alone, which outlive the function, but for those that call functions of its making."""
        self.call = _over
        self.candidates.clear()
        programs = [getattr(program, "program", program) for program in self.programs]  # without audits
        self.programs = [x for x in programs if all(type(step.what) is not PlainCall for step in x.plan.steps)]

    def replace(self, one: Any, other: Any) -> None:
        """Put another program in the place of one, if that is there."""
        with contextlib.suppress(ValueError):
            self.programs[self.programs.index(one)] = other

    def take(self, trace: Trace) -> tuple[Any, bool]:
        """Take a further trace; returns (its program, True) if it agrees with another one.

        Else the program is None, but for a function of leaves: its first call too needs a node, with a backward.
        """
        description = described(trace)
        for nr, (_, known, program) in enumerate(self.candidates):
            if known == description:
                del self.candidates[nr]
                program = program or self.program_of(trace)
                self.programs.insert(0, Rehearsal(program) if program.effects and self.rehearses else program)
                return program, True
        program = None if trace.pulled is None else self.program_of(trace)
        others = [known for known, *_ in self.candidates]
        self.apart += bool(others) and not any(looked_at_others(known, trace) for known in others)
        self.candidates.append((trace, description, program))
        return program, False

    def program_of(self, trace: Trace) -> Any:
        """The program of a trace."""
        return Program(trace) if trace.pulled is None else DifferentiableProgram(trace, self.call, self.captured)


def _over(leaves: Any) -> Any:
    raise AssertionError("the function of these programs is gone, and there is no other one yet")


class _Word(str):
    """A leaf of the arguments in words, which shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
