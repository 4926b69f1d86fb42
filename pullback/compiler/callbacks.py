"""Functions that solvers call many times: each is compiled by itself once it has been called often, without a word.

A compiled function must save more than its traces cost, so the first calls run eagerly. Whatever a program cannot do
runs eagerly as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pullback.compiler.arguments import Call
from pullback.compiler.compiled import TIMED, Compiled
from pullback.compiler.native.parts import NativePart
from pullback.compiler.native.rounds import Rounds, UnfitError
from pullback.compiler.native.toolchain import CompilerError, chosen
from pullback.compiler.places import Place
from pullback.compiler.program import Program
from pullback.compiler.reach.reached import Reach
from pullback.compiler.reach.watches import Watches
from pullback.compiler.signature import repeated, signature_of
from pullback.compiler.tracing import ARRAY, NUMBER, Trace
from pullback.compiler.variants import Variants
from pullback.core import modes
from pullback.core.array_face import program_run
from pullback.core.dtypes import get_default_dtype

_TRACES = 4  # of one solve that may come to nothing


class Callback(Compiled):
    """A function that is compiled without a word.

    Parameters
    ----------
    function : callable
    watched : bool
        Whether what the function reads may change between calls. What it changes itself two traces tell.
    known : dict of Variants by signature, optional
        Where its programs are kept: there are those of a function that has done the same.
    asked : bool
        It is called in a function that the user has compiled.
    in_rounds : bool
        Machine code will call it: see `rounds`.
    spaces : sequence of dict
        The globals of what it calls, in which `adopt()` is in force for a trace where numbers leave otherwise.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        watched: bool,
        known: dict[Hashable, Variants] | None = None,
        asked: bool = False,
        in_rounds: bool = False,
        spaces: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(function, check=False, pure=False)
        self._in_rounds, self._spaces = in_rounds, [*spaces]
        self._watched, self._asked, self._traces = watched, asked, 0
        if known is not None:
            self._by_signature = known
            for variants in known.values():
                variants.call = Call(function, variants.structure, len(variants.forms))

    def _look(self) -> None:
        if not self._watched:
            self._reach, self._alone, self._adopts = Reach([], [], Watches(), [], [], self._spaces), False, ()
            return
        super()._look()
        if self._reach is not None and self._reach.told:  # a program would not tell it
            self._run_eagerly(str(self._reach.told[0]))

    def rounds(self, args: Sequence[Any], wanted: Sequence[int], ends: int | None) -> Any:
        """The machine code of many calls, of which the first would be with these arguments: see `func.repeated`."""
        self._in_rounds = True
        if self._eager is not None:
            return self._eager
        signature, leaves, _ = signature_of(tuple(args), {})
        signature = (*signature, repeated(leaves)) if len({*map(id, leaves)}) < len(leaves) else signature
        variants = self._by_signature.get((modes.current().off, get_default_dtype(), signature))
        if variants is None:
            return None
        if variants.eager is not None:
            return variants.eager
        programs = [x for x in (getattr(x, "program", x) for x in variants.programs) if x.calls >= TIMED]
        key = (*sorted(id(x.plan) for x in programs), *wanted, ends)
        if key not in variants.rounds:
            variants.rounds[key] = programs, self._made(programs, wanted, ends)
        return variants.rounds[key][1]

    def _made(self, programs: Sequence[Any], wanted: Sequence[int], ends: int | None) -> Rounds | str | None:
        if not programs:
            return None
        if (tool := chosen(self._asked)) is None:
            return "there is no compiler for machine code"
        if not all(type(x) is Program and not x.effects and not x.draws for x in programs):
            return "it writes into what it is given, or draws random numbers"
        if any(how not in (ARRAY, NUMBER) for x in programs for how, _ in x.outputs):
            return "it gives something that is no array"
        try:
            return Rounds(programs, wanted, ends, tool)
        except (UnfitError, CompilerError) as error:
            return str(error)

    def _is_slow(self, program: Any) -> bool:
        # A round in machine code takes a hundredth of a call.
        return program.is_slower and not (self._in_rounds and isinstance(program.plan.parts[0], NativePart))

    def _traced(self, variants: Variants, leaves: list[Any]) -> tuple[Trace | None, Any]:
        if not self._watched and not self._spaces:
            self._adopts = ()  # as it has run until now
        made, result = super()._traced(variants, leaves)
        if made is not None:
            made.graph.asked_for = self._asked  # else nobody expects that a compiler of the machine starts
        return made, result

    def _trace(self, variants: Variants, leaves: list[Any], given: Sequence[Any]) -> Any:
        self._traces += 1
        result = super()._trace(variants, leaves, given)
        if self._traces >= _TRACES and not any(x.programs for x in self._by_signature.values()):
            self._run_eagerly("its traces come to nothing")
        return result

    def _say(self, why: str, place: Place | None = None) -> None:
        """Only note it: nobody has asked for a program."""
        self._fallbacks.setdefault(why, place)


def callback(
    function: Callable[..., Any],
    watched: bool,
    known: dict[Hashable, Variants] | None,
    for_rounds: bool = False,
    spaces: Sequence[dict[str, Any]] = (),
) -> Callable[..., Any] | None:
    """The function, compiled; None of one that is compiled `for_rounds` where there is no machine code."""
    asked = program_run.get() is not None
    if for_rounds and chosen(asked) is None:
        return None
    return Callback(function, watched, known, asked, for_rounds, spaces)
