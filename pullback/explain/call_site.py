"""Finds the user's call that led here through NumPy, SciPy or another library: its name, file and line.

For errors alone: the source is read and parsed, which takes milliseconds.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from pullback.core.cuts import DEMO, PACKAGE

_LIBRARIES = (os.path.dirname(os.path.dirname(np.__file__)) + os.sep, os.path.dirname(os.__file__) + os.sep)  # noqa: PTH120
_SITES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # a user's, a system's, an environment's
_HOMES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.optimize", "scipy.integrate",
    "scipy.interpolate", "scipy.stats", "scipy.signal", "scipy.signal.windows", "scipy.ndimage", "scipy.fft",
    "scipy.spatial", "scipy.spatial.distance", "scipy.spatial.transform", "scipy.sparse", "scipy.sparse.linalg",
    "scipy.sparse.csgraph", "scipy.cluster.vq", "matplotlib.pyplot", "math", "cmath", "builtins",
    "numpy.lib.stride_tricks", "numpy.ma", "numpy.polynomial", "numpy.rec",
)  # fmt: skip
PACKAGES = {"np", *(home.partition(".")[0] for home in _HOMES)}
_LONGEST = 100  # characters of a line that a message has room for


class CallSite(NamedTuple):
    """The function that the user called, as its documentation names it ("np.array", "scipy.linalg.expm"), and where.

    `name` is "" where nobody can tell; `place` is the line as a traceback shows it, "" where there is no user's frame;
    `depth` counts the frames from the caller of `call_site` to it, for the stacklevel of a warning.
    """

    name: str
    place: str
    depth: int
    library: str  # whose code was entered there: "numpy", "scipy", "matplotlib"; "" for a function in C

    def where(self) -> str:
        """The place on lines of its own, as the middle of a message."""
        return f"\n{self.place}" if self.place else " "


def call_site() -> CallSite:
    """The innermost call in the user's own code that has not returned."""
    return _innermost(_outward(sys._getframe(1)))


def call_site_of(error: BaseException) -> CallSite:
    """The innermost call in the user's own code on the way of an error that was raised."""
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    return _innermost(reversed(frames))


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _innermost(frames: Iterable[FrameType]) -> CallSite:
    """The call that the first of these frames makes that is the user's; `frames` are given from inside out."""
    entered: list[FrameType] = []  # the libraries' frames on the way, innermost first
    depth, fallback = 0, None
    for frame in frames:
        if _is_users(frame):
            break
        if fallback is None and not _is_from(frame, "numpy", "scipy", "pullback"):
            fallback = frame, depth, list(entered)
        entered.append(frame)
        depth += 1
    else:  # the program itself is installed as a library
        if fallback is None:
            return CallSite("", "", 1, "")
        frame, depth, entered = fallback
    entered = [f for f in entered if not _is_from(f, "pullback")]
    name = _written(frame)
    if entered and name.partition(".")[0] not in PACKAGES:  # spline(x), an object of the user's own
        name = _entered(entered) or name
    library = _module(entered[-1]).partition(".")[0] if entered else ""
    return CallSite(name, _place(frame), depth, library)


def _is_users(frame: FrameType) -> bool:
    return is_users_file(frame.f_code.co_filename)


def is_users_file(file: str) -> bool:
    """True if code of this file is the user's own: neither installed as a library nor Python's."""
    if file.startswith(PACKAGE):
        return file.startswith(DEMO)
    return not (file.startswith((*_LIBRARIES, "<frozen ", "<__array_function__")) or any(s in file for s in _SITES))


def _is_from(frame: FrameType, *packages: str) -> bool:
    return _module(frame).partition(".")[0] in packages


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _place(frame: FrameType) -> str:
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
    place = f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}\n'
    return f"{place}    {line}\n" if line else place


def called_in(frame: FrameType) -> str:
    """The last part of the name of the function that this frame is calling; "" without a source."""
    root, rest = _names(frame.f_code, frame.f_lasti)
    return rest[-1] if rest else root


def _written(frame: FrameType) -> str:
    """The function that the frame is calling, by the source of its present instruction; "" without a source."""
    root, rest = _names(frame.f_code, frame.f_lasti)
    return _public_name(frame, root, list(rest)) if root else ".".join(rest)


@functools.lru_cache(maxsize=256)  # a loop may warn at one instruction many times
def _names(code: CodeType, instruction: int) -> tuple[str, tuple[str, ...]]:
    """`np.linalg.inv(x)` -> ("np", ("linalg", "inv")); ("", ("fill",)) for a method of what has no name."""
    first, last, start, end = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return "", ()
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # columns count bytes; the end first, for there may be one line alone
    lines[0] = lines[0][start:]
    try:
        expression = ast.parse(b"(" + b"".join(lines) + b"\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return "", ()
    if isinstance(expression, ast.Call):
        expression = expression.func
    elif isinstance(expression, ast.Subscript):  # np.r_[x, y]
        expression = expression.value
    else:
        return "", ()
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    return (expression.id, tuple(parts[::-1])) if isinstance(expression, ast.Name) else ("", tuple(parts[:1]))


def _public_name(frame: FrameType, root: str, rest: list[str]) -> str:
    """`special.logsumexp` -> "scipy.special.logsumexp", `log_sum` -> the same if this is the function's name here."""
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if root in names:
            found = names[root]
            break
    else:
        return ".".join([root, *rest])
    while rest and isinstance(found, ModuleType) and isinstance(inner := vars(found).get(rest[0]), ModuleType):
        found, rest = inner, rest[1:]
    if isinstance(found, ModuleType):
        return _short(".".join([found.__name__, *rest]))
    if isinstance(found, np.ndarray):
        return ".".join(["ndarray", *rest])
    return ".".join([home_of(found, root) or root, *rest])


def home_of(found: Any, *names: str) -> str:
    """Where the public face of a library has this object, "" if nowhere."""
    names = (*names, getattr(found, "__name__", ""))
    for home in _HOMES:
        module = vars(sys.modules.get(home, object))
        for name in names:
            if name and module.get(name) is found:
                return _short(f"{home}.{name}")
    return ""


def _short(name: str) -> str:
    name = name.removeprefix("builtins.")
    return f"np.{name.removeprefix('numpy.')}" if name.startswith("numpy.") else name


def _entered(frames: list[FrameType]) -> str:
    """The public function or class of a library that was entered first."""
    for frame in reversed(frames):
        name = home_of(type(frame.f_locals.get("self"))) or home_of(frame.f_locals.get("cls"))
        if name:
            return name
        module, name = _module(frame), frame.f_code.co_name
        while module:
            home = sys.modules.get(module)
            found = vars(home).get(name) if home is not None else None
            public = not any(part.startswith("_") for part in (*module.split("."), name))
            if public and found is not None and getattr(inspect.unwrap(found), "__code__", None) is frame.f_code:
                return _short(f"{module}.{name}")
            module = module.rpartition(".")[0]
    return ""
