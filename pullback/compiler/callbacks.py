"""Functions that solvers call many times: each is compiled by itself once it has been called often, without a word.

A compiled function must save more than its traces cost, so the first calls run eagerly. Whatever a program cannot do
runs eagerly as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pullback.compiler.arguments import Call
from pullback.compiler.compiled import Compiled
from pullback.compiler.places import Place
from pullback.compiler.reach.reached import Reach
from pullback.compiler.reach.watches import Watches
from pullback.compiler.tracing import Trace
from pullback.compiler.variants import Variants

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
    """

    def __init__(
        self, function: Callable[..., Any], watched: bool, known: dict[Hashable, Variants] | None = None
    ) -> None:
        super().__init__(function, check=False, pure=False)
        self._watched, self._traces = watched, 0
        if known is not None:
            self._by_signature = known
            for variants in known.values():
                variants.call = Call(function, variants.structure, len(variants.forms))

    def _look(self) -> None:
        if not self._watched:
            self._reach, self._alone, self._adopts = Reach([], [], Watches(), [], [], []), False, ()
            return
        super()._look()
        if self._reach is not None and self._reach.told:  # a program would not tell it
            self._run_eagerly(str(self._reach.told[0]))

    def _traced(self, variants: Variants, leaves: list[Any]) -> tuple[Trace | None, Any]:
        if not self._watched:
            self._adopts = ()  # as it has run until now
        made, result = super()._traced(variants, leaves)
        if made is not None:
            made.graph.asked_for = False  # nobody expects that a compiler of the machine starts
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


def callback(function: Callable[..., Any], watched: bool, known: dict[Hashable, Variants] | None) -> Callable[..., Any]:
    """The function, compiled."""
    return Callback(function, watched, known)
