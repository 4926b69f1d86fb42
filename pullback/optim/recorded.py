"""Steps of an optimizer in a function that is compiled: by its rule on arrays that a trace records.

An optimizer that the function makes itself counts its steps in Python, as ever. One that was there before keeps all
that varies from step to step in Tensors meanwhile, the number of the step too, so that a program can read and write it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.array_face import as_array, as_tensor
from pullback.core.array_type import array_type, innermost
from pullback.core.errors import UntraceableError
from pullback.core.tensor import Tensor, wrap
from pullback.optim.rules import Rule, State


def step(name: str, p: Tensor, gradient: Any, state: State, options: Any, rule: Rule, own: bool) -> None:
    """Move a parameter by the rule; `own` if the function that is compiled has made the optimizer."""
    if p.dtype.kind == "c":
        raise UntraceableError(f"{name} moves a complex parameter; give its real and imaginary parts as two.")
    if not own:
        for key, x in state.items():
            if not isinstance(x, Tensor):
                state[key] = x = wrap(np.array(x, np.float64 if np.ndim(x) == 0 else None))
            _let_in(f"{name}.step", x, gradient)
        _let_in(f"{name}.step", p, gradient)
    given = {key: as_array(x.detach()) if isinstance(x, Tensor) else x for key, x in state.items()}
    t = given.pop("step") + 1
    new = rule(as_array(p.detach()), as_array(gradient.detach()), given, options, t)
    for key, x in {**given, "step": t}.items():
        if own:
            state[key] = x
        else:
            state[key].copy_(as_tensor(x) if isinstance(x, Tensor) else wrap(np.asarray(x)))
    p.copy_(as_tensor(new))


def _let_in(name: str, x: Tensor, beside: Any) -> None:
    """Let a Tensor hold an array that is recorded, as the one beside it does."""
    inside = innermost(beside)
    array_type(inside).prepare_target(name, x, (beside,), 0)


def plain(state: State) -> State:
    """The state with numbers and ndarrays in the place of Tensors."""
    return {key: _plain(key, x) if isinstance(x, Tensor) else x for key, x in state.items()}


def _plain(key: str, x: Tensor) -> Any:
    return int(x) if key == "step" else x._array if x.ndim else x.item()
