"""Variables that the functions of a user which run now hold, and read once the call that goes on has returned."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from pullback.core.cuts import Run, is_users
from pullback.core.tensor import ndarray
from pullback.graph.held_records import owner_of

_READS = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")


def names_of(array: ndarray, cell: str | None = None) -> Iterator[str]:
    """The variables through which the memory of an array is read later, in what a transform runs if there is one.

    Those of closures by the name `cell` are left out.
    """
    frames: list[FrameType] = []
    inside = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is Run.watch.__code__:
            inside = len(frames)
        elif is_users(frame):
            frames.append(frame)
        frame = frame.f_back
    owner = owner_of(array)
    for running in frames[: inside or None]:
        variables = {**running.f_globals, **running.f_locals}
        code = running.f_code
        for name in _read_after(code, running.f_lasti):
            x: Any = variables.get(name)
            in_cell = name == cell and name in (*code.co_cellvars, *code.co_freevars)
            if type(x) is ndarray and owner_of(x) is owner and not in_cell:
                yield name


@lru_cache(maxsize=1024)
def _read_after(code: CodeType, place: int) -> frozenset[str]:
    """The names that code may read after an instruction, also by going round a loop again."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    back = [i.argval for i in instructions if i.opcode in dis.hasjrel and i.offset > place >= i.argval]
    begin = min([place + 1, *back])
    later = [i for i in instructions if i.offset >= begin]
    reads = [i.argval for nr, i in enumerate(later) if any(x in i.opname for x in _READS) and not _writes(later, nr)]
    return frozenset(name for x in reads for name in (x if isinstance(x, tuple) else (x,)))  # newer ones load several


def _writes(instructions: list[dis.Instruction], nr: int) -> bool:
    """True if a variable is loaded to write into what it holds."""
    names = [i.opname for i in instructions[nr + 1 : nr + 6]]
    while names and names[0].startswith(("LOAD_", "BUILD_")):
        del names[0]
    return bool(names) and names[0] in ("STORE_SUBSCR", "STORE_SLICE")
