"""Where in the program a node was recorded, from the traceback that was noted of it."""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from pullback.autograd.anomaly.source_lines import line_of
from pullback.graph.node import Node

_FRAME = re.compile(r'  File "((?s:.*))", line (\d+), in (.*)\n(?:    (.*)\n)?')


class Frame(NamedTuple):
    """One frame: file (or cell of a notebook), number of the line, name of the function, text of the line."""

    file: str
    line: int
    function: str
    code: str


def frame_of(text: str) -> Frame:
    """A frame from its text in a traceback."""
    found = _FRAME.fullmatch(text)
    if found is None:  # of code whose function has a name that holds the end of a line
        return Frame(text.strip(), 0, "", "")
    file, line, function, code = found.groups()
    return Frame(_cell(file) or file, int(line), function, code or "")


def _cell(file: str) -> str:
    """In[3], if that is the cell of a notebook which IPython knows by this name of a file; else an empty text."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    label = None if shell is None else shell.compile.format_code_name(file)
    return "" if label is None else label[1]


def place_of(node: Node) -> tuple[str, str]:
    """("model.py:12", text of the line) of the line that recorded a node; two empty texts if nothing noted it."""
    text = line_of(node)
    if not text:
        return "", ""
    frame = frame_of(text)
    name = re.split(r"[/\\]", frame.file)[-1]
    return f"{name}:{frame.line}", frame.code
