"""Classes that are no Tensor in calls of our functions, and modes that see the calls: who is asked, and in which order.

A call that succeeds looks for neither. An operator that meets what is no array is about to refuse it: then its class is
looked at. Modes stand among the observers, which operators leave their fast paths for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS
from pullback.core.observers import Observer
from pullback.core.tensor import NestedTensor, Tensor, ndarray

METHOD = "__pullback_function__"
# What a composite is usually given, beside lists of it: no class among these takes part.
KNOWN = frozenset({Tensor, NestedTensor, *ARRAYS, ndarray, np.float64, int, float, complex, bool, str, type(None)})
LISTS = frozenset({tuple, list})
ENTERED: list[bool] = []  # not empty once a mode has been entered, anywhere: until then nobody looks for one


class ModeObserver(Observer):
    """The place of a mode among the observers; it is asked before any of them."""

    def __init__(self, mode: Any) -> None:
        self.mode = mode


def takes_part(kind: type) -> bool:
    """True if a class has the method."""
    return getattr(kind, METHOD, None) is not None


def taking_part(values: Iterable[Any]) -> list[Any]:
    """The operands, those in lists too, whose classes take part: one a class, in the order in which they are asked."""
    found: list[Any] = []
    for value in values:
        several = value if type(value) in (list, tuple) else (value,)
        if KNOWN.issuperset(map(type, several)):  # a list of many numbers, say
            continue
        for x in several:
            kind = type(x)
            if kind in KNOWN or not takes_part(kind) or any(type(other) is kind for other in found):
                continue
            at = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(at, x)
    return found


def mode_in_force() -> bool:
    """True if a mode is to see the calls of this thread or task."""
    return any(type(o) is ModeObserver for o in modes.current().observers)


def put_modes_aside() -> modes.Modes | None:
    """Let no mode see what follows; gives the state to be restored afterwards, None if nothing was changed."""
    if not mode_in_force():
        return None
    state = modes.current()
    return modes.set_modes(state.with_observers(tuple(o for o in state.observers if type(o) is not ModeObserver)))


def ask(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], relevant: Iterable[Any] | None = None
) -> Any:
    """The answer of the innermost mode, or of the operands' classes, to a call of a public function.

    `relevant` are the arguments that may stand for Tensors, by default all.

    Raises
    ------
    TypeError
        Nobody answers.
    """
    operands = taking_part((*args, *kwargs.values()) if relevant is None else relevant)
    types = tuple(map(type, operands))
    asked: list[Any] = []
    state = modes.current()
    place = max((i for i, o in enumerate(state.observers) if type(o) is ModeObserver), default=-1)
    if place >= 0:
        mode = state.observers[place].mode  # type: ignore[attr-defined]
        asked.append(f"mode {type(mode).__name__}")
        before = modes.set_modes(state.with_observers((*state.observers[:place], *state.observers[place + 1 :])))
        try:
            result = getattr(mode, METHOD)(func, types, tuple(args), dict(kwargs))
        finally:
            modes.restore(before)
        if result is not NotImplemented:
            return result
    for x in operands:
        asked.append(type(x).__name__)
        result = getattr(x, METHOD)(func, types, tuple(args), dict(kwargs))
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for {name_of(func)!r} on types that implement {METHOD}: {', '.join(asked)} returned "
        f"NotImplemented. Give one of them an answer for {name_of(func)}."
    )


def name_of(func: Any) -> str:
    """A function as a user writes it."""
    return f"pullback.{getattr(func, '__qualname__', None) or getattr(func, '__name__', repr(func))}"
