"""Follows what happens on the way: the user's callback, a history, a progress bar."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeResult

from pullback.core.progress import Progress
from pullback.core.tensor import ndarray
from pullback.optimize.parameters import Parameters


class Watch:
    """Follows a solver from iteration to iteration.

    Parameters
    ----------
    measure : callable
        Of the solver's vector: what is noted there, by name; `fun` or `cost` is shown by the bar.
    """

    def __init__(
        self,
        parameters: Parameters,
        measure: Callable[[ndarray], dict[str, Any]],
        *,
        callback: Callable[..., Any] | None = None,
        history: bool = False,
        progress: bool | None = None,
        label: str = "",
    ) -> None:
        self._parameters, self._measure, self._callback = parameters, measure, callback
        self.history: list[OptimizeResult] | None = [] if history else None
        self._bar = Progress(label, wanted=progress)
        self._wants_result = callback is not None and _parameters_of(callback) == {"intermediate_result"}

    @property
    def is_needed(self) -> bool:
        """True if anybody wants to know."""
        return self._callback is not None or self.history is not None or self._bar.is_wanted

    def note(self, z: ndarray) -> OptimizeResult | None:
        """Note a point in the history, and move the bar."""
        if self.history is None and not self._wants_result:
            self._bar.update(facts=lambda: _shown(self._measure(z)))
            return None
        state = OptimizeResult(x=self._parameters.tree(z), **self._measure(z))
        if self.history is not None:
            self.history.append(state)
        self._bar.update(facts=lambda: _shown(state))
        return state

    def step(self, z: ndarray, *state: Any) -> object:
        """SciPy's callback: trust-constr gives its state too."""
        noted = self.note(z)
        if self._callback is None:
            return None
        if self._wants_result:
            return self._callback(intermediate_result=noted)
        return self._callback(self._parameters.tree(z), *state)

    def two_arguments(self, z: ndarray, state: OptimizeResult) -> object:
        """`step` for trust-constr, which looks at how many arguments a callback takes."""
        return self.step(z, state)

    def one_argument(self, z: ndarray) -> object:
        """`step` for the others."""
        return self.step(z)

    def end(self, result: OptimizeResult) -> None:
        """Close the bar; the history goes into the result."""
        self.close()
        if self.history is not None:
            result.history = self.history

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()


def _parameters_of(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _shown(state: dict[str, Any]) -> dict[str, str]:
    return {key: f"{state[key]:.6g}" for key in ("fun", "cost") if key in state}
