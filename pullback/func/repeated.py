"""Functions that a solver calls many times: after some calls they run as programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pullback.core import slots
from pullback.core.tensor import Tensor
from pullback.graph.captured import Captured

_FIRST = {False: 32, True: 48}  # calls that run as they are: to make a program takes as long; more with watches


class Repeated:
    """A function of arrays that becomes a program when it has been called often.

    Parameters
    ----------
    function : callable
        Of arrays and NumPy's numbers, by position; if it is not `watched`, Tensors are what is differentiated.
    form : callable, optional
        What becomes a program in its place, if that is another one, which keeps nothing between its calls.
    watched : bool, default False
        Whether what it reads may change between calls, beyond what it changes itself.
    compile : bool, default True
        Whether it may become a program at all.
    """

    __slots__ = ("_form", "_left", "_watched", "function")

    def __init__(
        self, function: Callable[..., Any], form: Any = None, *, watched: bool = False, compile: bool = True
    ) -> None:
        self.function, self._form, self._watched = function, form or function, watched
        self._left = _FIRST[watched] if compile and os.environ.get("PULLBACK_COMPILE") != "0" else -1

    def __call__(self, *args: Any) -> Any:
        if not self._watched and any(isinstance(x, Tensor) for x in args):
            return self._form(*args)  # a derivative of what the solver finds
        if self._left >= 0:
            self._left -= 1
            if self._left < 0:
                self.function = slots.callback(self._form, self._watched)
        return self.function(*args)


def while_solving(captured: Captured, function: Callable[..., Any], form: Any = None) -> Repeated:
    """A function that calls these captured ones, for a solver: a program in the end, unless they have effects.

    While the solver runs nobody else changes what they read.
    """
    return Repeated(function, form, compile=captured.is_alone() and not captured.has_effects)
