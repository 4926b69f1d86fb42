"""The ranges of options, so that a wrong one is refused when it is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor


def _within(low: float, high: float = math.inf) -> Callable[[Any], bool]:
    return lambda x: low <= x < high


_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        ("lr", "eps", "weight_decay", "lr_decay", "initial_accumulator_value", "momentum", "alpha"),
        ("at least 0", _within(0)),
    ),
    "betas": ("two numbers, at least 0 and below 1", lambda b: len(b) == 2 and all(0 <= x < 1 for x in b)),
    "max_iter": ("at least 1", _within(1)),
    "max_eval": ("at least 1", _within(1)),
    "history_size": ("at least 1", _within(1)),
    "line_search_fn": ("None or 'strong_wolfe'", lambda x: x in (None, "strong_wolfe")),
}


def check_options(name: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse unknown names and values out of range. `given` may lack names, which `defaults` then has.

    Raises
    ------
    TypeError
        An option has an unknown name.
    ValueError
        An option is out of its range, or options contradict each other.
    """
    options = {**defaults, **given}
    for key, value in options.items():
        if key not in defaults and key not in ("params", "initial_lr", "param_names"):
            raise TypeError(f"{name}: there is no option {key!r}; there are {', '.join(defaults)}")
        said, holds = _RANGES.get(key, ("", None))
        if holds and not isinstance(value, Tensor) and not callable(value) and not _true(holds, value):
            raise ValueError(f"{name}: {key} is {said}, not {value!r}")
    if options.get("nesterov") and (options["momentum"] <= 0 or options["dampening"] != 0):
        raise ValueError(f"{name}: nesterov=True needs momentum above 0 and no dampening")


def _true(holds: Callable[[Any], bool], value: Any) -> bool:
    try:
        return bool(np.all(holds(value)))
    except TypeError:
        return False
