"""A log of calls that detach values while a transform runs, to explain a derivative that is zero because of them.

A transform is watched while it runs the user's function. What leaves for Python and NumPy (`item`, `detach`, a copy, a
comparison, ...) asks whether anything is watched, which is all that it costs otherwise, and leaves its name and the
line of the user's program in the log. `pullback.watch_cuts` watches a whole program so (autograd/cut_log.py).
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeAlias

from pullback.core.array_type import carries_derivative
from pullback.core.errors import IndependentResultWarning
from pullback.core.sequence import next_sequence_nr
from pullback.core.users_function import code_of

# Frames that are not the user's; by os.path, because pathlib takes long to import.
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120
DEMO = PACKAGE + "demo" + os.sep  # programs that use the public face, as a user's would
_LIBRARY = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120
_BETWEEN = tuple(_LIBRARY + name for name in ("copy.py", "pickle.py", "copyreg.py", "contextlib.py", "functools.py"))
_NUMPY = os.sep + "numpy" + os.sep

Place: TypeAlias = tuple[str, int]  # a file and a line in it

WATCHED: list[Run | Log] = []  # empty unless a transform runs, or somebody keeps a log, in whatever thread
ON_CHANGE: list[Callable[[], None]] = []  # called when a run has begun or ended
EXPLAIN: list[Callable[[Any], str]] = []  # what a log adds to the error for a tensor without graph
_SHOWN = 4  # cuts that a message has room for


class Log:
    """Is told of every cut in its thread, whatever the level; does nothing itself."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()

    def left(self, what: str, tensors: tuple[Any, ...], place: Place, made: Any = None) -> None:
        """`what` was done to these tensors; `made` is the tensor without history that it gave, if it is one."""

    def switched_off(self, name: str, level: int, place: Place) -> None:
        """Recording was switched off at this level by `name`."""

    def created(self, tensor: Any, place: Place) -> None:
        """A creation function made this tensor."""


class Run:
    """One run of a function that is being differentiated at `level`.

    `transform` is the public function whose call it is, and `function` what the user gave it, of which it keeps the
    code. Neither is known where users' code runs within a transform that has run its function already.
    """

    __slots__ = (
        "begun", "code", "cuts", "derived", "known", "left_behind", "level", "operators", "over", "thread",
        "transform", "warned",
    )  # fmt: skip

    def __init__(self, level: int, transform: str = "", function: Any = None) -> None:
        self.level = level
        self.transform, self.code = transform, None if function is None else code_of(function)
        self.begun = next_sequence_nr()  # nodes with a higher number were recorded since
        self.over = 0  # once the call has returned: the sequence number then, which the transform sets
        self.known: set[int] = set()  # of the nodes at this level that hang on no earlier call (graph/kept_values.py)
        self.thread = threading.get_ident()
        self.cuts: dict[str, tuple[str, int]] = {}  # name -> the user's line: what says that it leaves the graph
        self.operators: dict[str, tuple[str, int]] = {}  # the same of operators that have no derivative
        self.left_behind = ""  # what is wrong with a tangent or value that is nan, because nobody knows it
        self.warned = False  # whether an inner transform has said so already
        self.derived = False  # whether a derivative was taken inside: that of a linear function is constant

    def watch(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)`, watched."""
        try:  # not a context manager, of which a signal may interrupt the entry
            WATCHED.append(self)
            for follow in ON_CHANGE:
                follow()
            return function(*args, **kwargs)
        finally:
            WATCHED.remove(self)
            for follow in ON_CHANGE:
                follow()

    @property
    def explained(self) -> bool:
        """True if a result that depends on nothing is right as it is: it may be a derivative, which is constant."""
        return self.warned or (self.derived and not self.cuts)


def note(what: str, *tensors: Any, by_user: bool = False, made: Any = None) -> None:
    """Note that `what` was done to these tensors; with `by_user` only where the user's own code did it."""
    if by_user and not is_users(sys._getframe(2)):
        return
    for run in runs():
        if what not in run.cuts and any(_depends(t, run.level) for t in tensors):
            run.cuts[what] = _place()
    for log in _logs():
        log.left(what, tensors, _place(), made)


def note_operator(name: str, *tensors: Any) -> None:
    """Note that an operator without derivative ran on these tensors."""
    for run in runs():
        if name not in run.operators and any(_depends(t, run.level) for t in tensors):
            run.operators[name] = _place()
    for log in _logs():
        log.left(name, tensors, _place())


def note_block(name: str, level: int) -> None:
    """Note that recording was switched off at `level`."""
    for run in runs():
        if run.level == level:
            run.cuts.setdefault(name, _place())
    for log in _logs():
        log.switched_off(name, level, _place())


def note_creation(tensor: Any) -> None:
    """Note that a creation function made `tensor`."""
    for log in _logs():
        log.created(tensor, _place())


def note_derivative(tensors: Iterable[Any]) -> None:
    """Note that a derivative is taken with respect to what depends on these."""
    for run in runs():
        run.derived = run.derived or any(_depends(t, run.level) for t in tensors)


def warn(run: Run, transform: str, function: Callable[..., Any], arguments: Iterable[str]) -> None:
    """Say that the result of a function does not depend on some of its arguments, and why, if that is known."""
    for outer in runs():
        outer.warned = True
    found = list((run.cuts or run.operators).items())[:_SHOWN]
    if found:
        places = ", ".join(f"{what} at {file}:{line}" for what, (file, line) in found)
        why = f": {places} left the graph. Compute with NumPy's or pullback's functions on the Tensor itself."
    else:
        why = ". Does the function use another variable (a captured array, say) where it should use its argument?"
    named = getattr(function, "__qualname__", None) or type(function).__name__
    warnings.warn(
        f"{transform}: the result of {named} does not depend on {' and '.join(arguments)}, so the derivative is zero"
        f"{why} Where zero is meant: warnings.simplefilter('ignore', pullback.extend.IndependentResultWarning).",
        IndependentResultWarning,
        stacklevel=frames_to_user(),
    )


def warn_dropped(run: Run, transform: str, function: Callable[..., Any], argument: str, keepers: Iterable[str]) -> None:
    """Say that the derivative with respect to an argument is zero because a custom Function gave none."""
    for outer in runs():
        outer.warned = True
    run.warned = True
    named = getattr(function, "__qualname__", None) or type(function).__name__
    warnings.warn(
        f"{transform}: {' and '.join(keepers)} returned None where the result of {named} depends on {argument}, so "
        "the derivative is zero. Is a `return` missing there? Where zero is meant, return pullback.zeros_like(x).",
        IndependentResultWarning,
        stacklevel=frames_to_user(),
    )


def argument_name(function: Callable[..., Any], position: int, count: int) -> str:
    """The name of a positional argument, as the user's function declares it."""
    position %= count
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if position < len(parameters) and parameters[position].kind in (0, 1):
        return f"{parameters[position].name!r}"
    return f"argument {position}"


def runs() -> list[Run]:
    """The runs that go on in this thread, outer ones first."""
    thread = threading.get_ident()
    return [run for run in WATCHED if type(run) is Run and run.thread == thread]


def left_behind() -> str:
    """The reason why a number is nan that nobody knows; "" if there is none in these runs."""
    return next((run.left_behind for run in runs() if run.left_behind), "")


def transform_runs() -> bool:
    """True if a transform runs, in whatever thread: logs alone change nothing of what adopted code does."""
    return any(type(watching) is Run for watching in WATCHED)


def _logs() -> list[Log]:
    thread = threading.get_ident()
    return [log for log in WATCHED if isinstance(log, Log) and log.thread == thread]


def _depends(tensor: Any, level: int) -> bool:
    """True if the tensor, or what it is around, is being differentiated at `level`."""
    while hasattr(tensor, "_level"):
        data = tensor._array
        if tensor._level == level:
            return bool(tensor._requires_grad or carries_derivative(data))
        tensor = data
    return False


def is_users(frame: FrameType) -> bool:
    """True if a frame runs code that is neither this package's nor NumPy's nor Python's own."""
    file = frame.f_code.co_filename
    return (not file.startswith(PACKAGE) or file.startswith(DEMO)) and _NUMPY not in file and file not in _BETWEEN


def called_by_user(name: str) -> bool:
    """True if it is this function, or the ufunc of its name, that the user's code called, and none that calls it."""
    frame: FrameType | None = sys._getframe(1)
    called = ""
    while frame is not None and not is_users(frame):
        called = frame.f_code.co_name
        frame = frame.f_back
    return called in (name.rpartition(".")[2], "array_ufunc")


def called_by_name() -> bool:
    """True if an operator runs because the user's code called one by its name: `pullback.sin(x)`.

    Not so of signs, methods and functions of NumPy's, and where arrays around those of the operator are computed with.
    """
    frame: FrameType | None = sys._getframe(1)
    by_name = False
    while frame is not None and not is_users(frame):
        module = frame.f_globals.get("__name__", "")
        if module.startswith("pullback.compiler."):  # the operator itself is compiled
            break
        if by_name and module.startswith(("pullback.dispatch.", "pullback.arrays.")):
            return False
        by_name = module.startswith(("pullback.ops.", "pullback.core.arguments"))
        frame = frame.f_back
    return by_name


def _place() -> Place:
    """File and line of the innermost frame that is the user's."""
    frame = users_frame(sys._getframe(2))
    return ("<pullback>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def place_of_user() -> Place:
    """File and line of the innermost frame that is the user's, for the layers above."""
    return _place()


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The first frame that is the user's, from this one outward."""
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


def explained(tensor: Any) -> str:
    """Return what an error says about why this tensor has no graph."""
    said = "".join(explain(tensor) for explain in EXPLAIN)
    return said or " pullback.why_no_grad(tensor), within `with pullback.watch_cuts():`, says where the graph was cut."


def frames_to_user() -> int:
    """The stacklevel, for a warning of the caller's, of the innermost frame that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and not is_users(frame):
        frame, level = frame.f_back, level + 1
    return level
