"""Lines of the user's code: where something in a trace was asked for, and how that is said."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType, TracebackType
from typing import TypeAlias

from pullback.compiler.reach.kinds import is_librarys_file

Place: TypeAlias = tuple[str, int]  # a file, and a line in it


_ENGINE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "autograd", "engine", "")  # noqa: PTH118, PTH120


def asked_below(outermost: CodeType) -> tuple[CodeType, int] | None:
    """The innermost code of the user's in this thread, and the place in it, of the frames that `outermost` has called.

    What backward computes was asked for by no line of its own, so there is none.
    """
    frame: FrameType | None = sys._getframe(2)  # who asks is called by nobody but the graph
    while frame is not None and (code := frame.f_code) is not outermost:
        if (passed := _PASSED[code.co_filename]) is not True:
            return (code, frame.f_lasti) if passed is None else None
        frame = frame.f_back
    return None


class _Passed(dict[str, "bool | None"]):
    """By a file: True for a library's, None for the user's, False for the engine's. Each frame of a trace asks."""

    def __missing__(self, file: str) -> bool | None:
        self[file] = found = not file.startswith(_ENGINE) if is_librarys_file(file) else None
        return found


_PASSED = _Passed()


def place_of(error: BaseException) -> Place | None:
    """The innermost line of the user's code through which an error has come."""
    found, at = None, error.__traceback__
    while at is not None:
        assert isinstance(at, TracebackType)
        if not is_librarys_file(at.tb_frame.f_code.co_filename):
            found = at.tb_frame.f_code.co_filename, at.tb_lineno
        at = at.tb_next
    return found


def said(place: Place | None, source: bool = True) -> str:
    """A place as "model.py:12, `y = x.item()`", the source only where it can be read; "" for None."""
    if place is None:
        return ""
    file, line = place
    text = linecache.getline(file, line).strip() if source else ""
    return f"{os.path.basename(file)}:{line}" + (f", `{text}`" if text else "")  # noqa: PTH119 - no file but a name
