"""Lines of the user's program: where an operator was called from, without the frames inside pullback."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

import numpy as np

from pullback.core.cuts import DEMO, PACKAGE
from pullback.graph.node import Node, node_extra

_NUMPY = os.path.dirname(np.__file__) + "/"  # noqa: PTH120 - stands between the user and pullback in np.sum(t)
_SHOWN = 10  # frames of a traceback that a message has room for


def users_frames() -> Iterator[FrameType]:
    """The frames of this thread that are the user's, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_NUMPY) and (not file.startswith(PACKAGE) or file.startswith(DEMO)):
            yield frame
        frame = frame.f_back


def _described(frame: FrameType) -> str:
    """A frame as tracebacks show it."""
    code, number = frame.f_code, frame.f_lineno
    line = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    place = f'  File "{code.co_filename}", line {number}, in {code.co_name}\n'
    return sys.intern(f"{place}    {line}\n" if line else place)  # thousands of nodes share a few lines


def traceback_now() -> list[str]:
    """The stack as `traceback.format_stack` gives it, innermost last."""
    return [_described(frame) for frame in users_frames()][::-1]


def line_now() -> str:
    """The innermost line of the user's program, with its place; empty where pullback itself is the program."""
    return next((_described(frame) for frame in users_frames()), "")


def place_now() -> tuple[str, int]:
    """File and number of that line."""
    return next(((frame.f_code.co_filename, frame.f_lineno) for frame in users_frames()), ("<pullback>", 0))


def remember_traceback(node: Node) -> None:
    """Keep, in the node's metadata, from where it is being recorded."""
    node_extra(node).metadata["traceback_"] = traceback_now()


def traceback_of(node: Node) -> Sequence[str]:
    """From where a node was recorded; empty if nothing noted it."""
    lines: Sequence[str] = () if node._extra is None else node._extra.metadata.get("traceback_", ())
    return lines


def line_of(node: Node) -> str:
    """The innermost line of that."""
    lines = traceback_of(node)
    return lines[-1] if lines else ""


def abridged(lines: Sequence[str]) -> str:
    """A traceback as one text, of which the outermost frames are left out where they are many."""
    left_out = len(lines) - _SHOWN
    if left_out <= 0:
        return "".join(lines)
    return f"  ... {left_out} outer frames left out\n" + "".join(lines[left_out:])
