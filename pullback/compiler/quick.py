"""The quickest way to a program: one builtin that looks at the watches, compares the arguments, runs and packs.

It does calls that are like the one before, of arrays alone or of Tensors alone, where a program is all machine code and
has no guards. It knows so many calls and no more: then the general way looks at the program again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.compiler.native import entry
from pullback.compiler.native.parts import NativePart
from pullback.compiler.native.watched import words_of
from pullback.compiler.program import Program
from pullback.compiler.reach.watches import Watches
from pullback.compiler.tracing import ARRAY, NUMBER, TENSOR
from pullback.core.modes import Modes
from pullback.core.tensor import Tensor, ndarray, wrap

_MOST = 8  # arrays, each of which is another one


class Quick:
    """The builtin for calls like one, and how often it has run.

    Attributes
    ----------
    call : callable
        The builtin, or a function of Tensors around it: (*args) -> the result, or NotImplemented; it raises LeftError.
    modes : Modes
        Those in which it may be called.
    """

    __slots__ = ("_allowed", "_builtin", "_program", "call", "modes")

    def __init__(self, program: Program, builtin: Callable[..., Any], call: Callable[..., Any], modes: Modes) -> None:
        self._program, self._builtin, self.call, self.modes = program, builtin, call, modes
        self._allowed = 0

    def count(self) -> None:
        """Add its calls to those of the program."""
        self._program.calls += self._allowed - (left := entry.left(self._builtin))
        self._allowed = left

    def allow(self) -> None:
        """Let it run until somebody is to look at the program."""
        self._allowed = max(0, self._program.look - self._program.calls - 1)
        entry.allow(self._builtin, self._allowed)


def quick_way(program: Any, args: Sequence[Any], watches: Watches, modes: Modes) -> Quick | None:
    """The quick way for calls with such positional arguments; None if there is none."""
    if type(program) is not Program or program.effects or not entry.has_known_layout():
        return None
    kinds = {*map(type, args)}
    if len(args) > _MOST or kinds not in ({ndarray}, {Tensor}):
        return None
    if not program.is_native:
        return None
    plan, part = program.plan, program.plan.parts[0]
    assert isinstance(part, NativePart)
    looks = [how for how, _ in program.outputs]
    single = program.structure == 0
    if not single and program.structure != (list, tuple, [*range(len(looks))]):
        return None
    if [x.number for x in part.given] != [x.number for x in plan.inputs] or len(plan.inputs) != len(args):
        return None
    if [x.number for x in part.results] != [x.number for x in plan.results] or not (
        set(looks) <= ({TENSOR} if kinds == {Tensor} else {ARRAY, NUMBER})
    ):
        return None
    if (words := words_of(watches.active)) is None:
        return None
    builtin = part.program.loaded([how == NUMBER for how in looks], single, words, (watches, part), program.suspect)
    return Quick(program, builtin, _of_tensors(builtin, len(args), single) if kinds == {Tensor} else builtin, modes)


def _of_tensors(builtin: Callable[..., Any], count: int, single: bool) -> Callable[..., Any]:
    """The same function of so many Tensors that require no grad, written out: a loop takes as long as a program."""
    names = [f"x{nr}" for nr in range(count)]
    scope = {"Tensor": Tensor, "wrap": wrap, "builtin": builtin}
    refused = " or ".join(f"type({x}) is not Tensor or {x}._requires_grad" for x in names)
    text = f"""
def call(*args):
    if len(args) != {count}:
        return NotImplemented
    {", ".join(names)}, = args
    if {refused}:
        return NotImplemented
    found = builtin({", ".join(f"{x}._array" for x in names)})
    if found is NotImplemented:
        return found
    return {"wrap(found)" if single else "tuple(map(wrap, found))"}
"""
    exec(compile(text, "<quick>", "exec"), scope)  # noqa: S102 - of our own writing
    return scope["call"]
