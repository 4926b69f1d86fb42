"""Anomaly detection: errors in backward show where the forward was called, and NaN in gradients is an error."""

from __future__ import annotations

import contextvars
import linecache
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from pullback.autograd.anomaly.source_lines import abridged, line_now, remember_traceback, traceback_of
from pullback.core import modes
from pullback.core.array_type import numbers_of
from pullback.core.blocks import Steps
from pullback.core.cuts import frames_to_user
from pullback.core.errors import NonFiniteError
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.core.version import LocatedName, counter_of
from pullback.graph.node import AccumulateGrad, Node, node_extra

_F = TypeVar("_F", bound=Callable[..., Any])

# The node whose backward runs here: what is recorded meanwhile was caused by it.
_running: contextvars.ContextVar[Node | None] = contextvars.ContextVar("pullback_anomaly_node", default=None)
_GENERATIONS = 5  # of a derivative of a derivative of ..., shown in a message
_BACKWARDS = 3  # of backwards inside backwards that the error comes through, innermost first
_BEGINNING = "Error detected in "


class _Anomaly(Observer):
    """The observer that is active while anomaly detection is switched on."""

    watches_nodes = True

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def recorded(self, node: Node, level: int) -> None:
        remember_traceback(node)
        parent = _running.get()
        if parent is not None:
            node_extra(node).metadata["parent_"] = parent

    def mutated(self, target: Tensor) -> None:
        counter = counter_of(target)
        if counter.culprit is not None:
            counter.culprit = LocatedName(counter.culprit, line_now())

    def run_node(self, node: Node, grad: Gradient, run: Callable[[], Sequence[Gradient]]) -> Sequence[Gradient]:
        outer = _running.get()
        try:
            _running.set(node)
            grads = run()
        finally:
            _running.set(outer)
        if self.check_nan:
            for nr, g in enumerate(grads):
                if _has_nan(g):
                    raise NonFiniteError(f"Function '{_full_name(node)}' returned nan values in its {nr}th output.")
        return grads

    def failed(self, node: Node | None, error: BaseException) -> None:
        if node is None or not isinstance(error, Exception) or type(node) is AccumulateGrad:
            return
        notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(_BEGINNING)]
        if len(notes) < _BACKWARDS:
            history = _history(node)
            error.add_note("\n".join(history))
            for text in history:
                _warn(text)


def _warn(text: str) -> None:
    """Warn as PyTorch does; where warnings are errors, on stderr, since another error is on its way."""
    try:
        warnings.warn(text, stacklevel=frames_to_user())
    except UserWarning:
        print(f"Warning: {text}", file=sys.stderr)


def _has_nan(grad: Gradient) -> bool:
    data = numbers_of(grad)
    return data is not None and data.dtype.kind in "fc" and bool(np.isnan(data).any())


def _full_name(node: Node) -> str:
    """The node's name, and that of the in-place operator's node which a CopySlices runs."""
    inner = getattr(node, "fn", None)
    return f"{node.name()} (of {inner.name()})" if isinstance(inner, Node) else node.name()


def _history(node: Node) -> list[str]:
    """Where a node was recorded, and where the nodes whose backward led to its being recorded."""
    if not traceback_of(node):
        said = (
            "No forward pass information available. Enable anomaly detection during the forward pass, too, to see the"
        )
        return [f"{_BEGINNING}{_full_name(node)}. {said} line that recorded it."]
    found = [f"{_BEGINNING}{_full_name(node)}. Traceback of forward call that caused the error:\n"]
    found[0] += abridged(traceback_of(node)).rstrip()
    for _ in range(_GENERATIONS):
        parent = node.metadata.get("parent_")
        if parent is None:
            break
        found.append(
            f"It was recorded by the backward of {_full_name(parent)}. Traceback of forward call that induced it:\n"
            + (abridged(traceback_of(parent)) or "  (not known: anomaly detection was off)").rstrip()
        )
        node = parent
    return found


def _with_anomaly(state: Modes, enabled: bool, check_nan: bool) -> Modes:
    others = tuple(i for i in state.observers if not isinstance(i, _Anomaly))
    if enabled:
        linecache.checkcache()  # files may have changed since lines of them were last shown
        others = (*others, _Anomaly(check_nan))
    return state.with_observers(others)


class detect_anomaly(ModeSwitch):
    """Context manager and decorator: an error in backward shows the forward call that led to it.

    Inside, every node remembers the traceback of its recording, without the frames in pullback, as
    `node.metadata["traceback_"]`; a node recorded by a backward (under `create_graph`) also the node that ran then, as
    `metadata["parent_"]`. An exception in a node, a hook or a custom Function's backward gets these tracebacks as a
    note (`error.__notes__`), which Python prints below it; warnings say the same. The error for a saved tensor that was
    modified in place names the line that saved it and the line that modified it. It costs some microseconds an operator
    and disables all fast paths: for debugging alone.

    Parameters
    ----------
    check_nan : bool, default True
        Raise as soon as a node's backward returns NaN.

    Raises
    ------
    NonFiniteError
        A RuntimeError: a node returned NaN in backward.

    Notes
    -----
    It belongs to this thread or asyncio task. Both the forward and the backward should run inside: without the forward
    there is no line to show. To find what makes the first NaN, in forward as well, use `trace_nans`.

    Examples
    --------
    >>> x = pb.tensor([0.0], requires_grad=True)
    >>> with pb.autograd.detect_anomaly():
    ...     square = x * x
    ...     square.sqrt().sum().backward()
    Traceback (most recent call last):
    NonFiniteError: Function 'MulBackward0' returned nan values in its 0th output.
    Error detected in MulBackward0. Traceback of forward call that caused the error:
      File "<doctest ...>", line 2, in <module>
        square = x * x
    """

    def __init__(self, check_nan: bool = True) -> None:
        modes.need_flag("detect_anomaly", "check_nan", check_nan)
        self.check_nan = bool(check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=frames_to_user(),
        )

    def _changed(self, modes: Modes) -> Modes:
        return _with_anomaly(modes, True, self.check_nan)

    def _fresh(self) -> Self:
        return type(self)(self.check_nan)


class set_detect_anomaly(ModeSwitch):
    """Switch anomaly detection on or off: at once when called, back again at the end of a `with` block.

    Parameters
    ----------
    mode : bool
    check_nan : bool, default True
        As for `detect_anomaly`.

    Raises
    ------
    TypeError
        `mode` or `check_nan` is not a bool.

    Examples
    --------
    >>> x = pb.tensor(0.0, requires_grad=True)
    >>> with pb.autograd.set_detect_anomaly(True):
    ...     y = x * 2
    ...     y.backward()
    >>> x.grad
    tensor(2.)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        modes.need_flag("set_detect_anomaly", "mode", mode)
        modes.need_flag("set_detect_anomaly", "check_nan", check_nan)
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        self._outer = modes.set_modes(_with_anomaly(modes.current(), self.mode, self.check_nan))

    def _steps(self) -> Steps:
        enter, state, leave, _ = super()._steps()
        return enter, state, leave, self._outer  # the constructor has switched already

    def _changed(self, modes: Modes) -> Modes:
        return _with_anomaly(modes, self.mode, self.check_nan)

    def _fresh(self) -> Self:
        return type(self)(self.mode, self.check_nan)

    def __call__(self, function: _F) -> _F:
        modes.set_modes(self._outer)  # used as a decorator: the switch belongs to the calls, not to the definition
        return super().__call__(function)


def is_anomaly_enabled() -> bool:
    """True if anomaly detection is switched on in this thread or task.

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.is_anomaly_enabled()
    False
    """
    return any(isinstance(observer, _Anomaly) for observer in modes.current().observers)


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly detection is on and looks for NaN in gradients.

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.is_anomaly_check_nan_enabled()
    False
    """
    return any(isinstance(i, _Anomaly) and i.check_nan for i in modes.current().observers)
