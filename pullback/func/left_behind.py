"""Values that functions leave behind in variables, containers and objects for whoever called the solver.

They ran on plain numbers, so that what they have put there has no derivative. Whoever goes on to compute with it would
lose a part of the gradient. So it is replaced by arrays of the same numbers whose derivative is refused: in backward,
where a cotangent comes that is not zero; in forward mode their tangents are nan.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from pullback.core import cuts
from pullback.core.array_type import numbers_of
from pullback.core.errors import GradientError, IndependentResultWarning
from pullback.core.tensor import Tensor
from pullback.func.rules.calls import stripped
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured
from pullback.graph.held_objects import Place
from pullback.graph.kept_values import earlier_call, reached
from pullback.graph.node import edge_to


def leave(captured: Captured) -> None:
    """End a call, before its caller goes on: let nobody lose the derivative of what its functions have left behind."""
    if not captured.leaves():
        return
    tensors = [x for x in captured.at_stake if isinstance(stripped(x), Tensor)]
    if not tensors:
        return
    places = [*captured.left_behind()]
    if captured.read_later:
        names = " and ".join(map(repr, dict.fromkeys(captured.read_later)))
        warnings.warn(
            f"{captured.name()}: the function has written numbers into {names}, which is read afterwards. It ran on "
            "plain numbers there, so that these have no derivative. If the result depends on them, compute them from "
            f"what {captured.name()} returns. If not, let the function make an array of its own.",
            IndependentResultWarning,
            stacklevel=cuts.frames_to_user(),
        )
    if places:
        left = _Left(captured, places)
        if captured.samples > 1:
            left.warn()  # its values are nan
        marked = _left_behind(left, *tensors)
        for (_, _, put), x in zip(places, marked, strict=True):
            put(x)
            if isinstance(x, Tensor):
                _known[id(x)] = x


_known: WeakValueDictionary[int, Any] = WeakValueDictionary()


def is_left_behind(x: Any) -> bool:
    """True if this was put in the place of what a call has left behind."""
    return _known.get(id(x)) is x


def is_left_earlier(x: Tensor) -> bool:
    """True if this was left behind in a call of a transform that is over: it is a record of that call, as in a log."""
    if not is_left_behind(x) or not x._requires_grad:
        return False
    return earlier_call(reached([edge_to(x).node()])) is not None  # type: ignore[union-attr]  # it requires grad


class _Left:
    """The values that a call has left behind, and where."""

    def __init__(self, captured: Captured, places: Sequence[Place]) -> None:
        self.name, self.names = captured.name(), [name for name, _, _ in places]
        self.values = [_plain(x) if captured.samples < 2 else _unknown(x) for _, x, _ in places]

    def warn(self) -> None:
        """Let the runs know why a number is nan that depends on it."""
        for run in cuts.runs():
            run.left_behind = self.refusal(" and ".join([*dict.fromkeys(self.names)][:_SHOWN]))

    def refusal(self, names: str) -> str:
        """The error for a result that depends on it."""
        return (
            f"{self.name}: the function has left values behind in {names}, and the result depends on them. The "
            "function ran on plain numbers there, so that these have no derivative. Compute them from what "
            f"{self.name} returns."
        )


def _plain(x: Any) -> Any:
    numbers = numbers_of(x) if isinstance(x, Tensor) else x
    return _unknown(x) if numbers is None else np.array(numbers)[()]


def _unknown(x: Any) -> Any:
    """Stands for what nobody can say: of several samples, which each left another value."""
    return np.full(np.shape(x), np.nan, np.result_type(x))[()]


def _value(left: _Left, *at_stake: Any) -> list[Any]:
    return [*left.values]


def _vjp(cotangents: list[Any], values: list[Any], left: _Left, *at_stake: Any) -> tuple[Any, ...]:
    for name, cotangent in zip(left.names, cotangents, strict=True):
        numbers = numbers_of(cotangent) if isinstance(cotangent, Tensor) else cotangent
        if numbers is None or np.any(numbers):
            raise GradientError(left.refusal(name))
    return (None,) * (1 + len(at_stake))


def _jvp(tangents: Any, values: list[Any], left: _Left, *at_stake: Any) -> list[Any]:
    left.warn()
    return [_unknown(x) for x in values]


_SHOWN = 3  # names, for which a message has room

_value.__name__ = "left_behind"  # of the node
_left_behind = CustomFunction(_value, _vjp, _jvp)
_left_behind.defvmap(lambda info, in_dims, left, *at_stake: (_value(left), [None] * len(left.values)))
