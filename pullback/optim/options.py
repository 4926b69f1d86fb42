"""The ranges of options, so that a wrong one is refused when it is given."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from pullback.core.tensor import Tensor
from pullback.explain.calls import Declared, declared, fits, shown

Init = TypeVar("Init", bound=Callable[..., None])


def _within(low: float, high: float = math.inf) -> Callable[[Any], bool]:
    return lambda x: low <= x < high


_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        (
            "lr",
            "eps",
            "weight_decay",
            "lr_decay",
            "initial_accumulator_value",
            "momentum",
            "alpha",
            "lambd",
            "momentum_decay",
        ),
        ("at least 0", _within(0)),
    ),
    "betas": ("two numbers, at least 0 and below 1", lambda b: len(b) == 2 and all(0 <= x < 1 for x in b)),
    "rho": ("between 0 and 1", lambda x: 0 <= x <= 1),
    "etas": ("two numbers, one between 0 and 1 and one above 1", lambda e: len(e) == 2 and 0 < e[0] < 1 < e[1]),
    "step_sizes": ("two numbers, the least and the largest", lambda s: len(s) == 2 and 0 <= s[0] <= s[1]),
    "max_iter": ("at least 1", _within(1)),
    "max_eval": ("at least 1", _within(1)),
    "history_size": ("at least 1", _within(1)),
    "line_search_fn": ("None or 'strong_wolfe'", lambda x: x in (None, "strong_wolfe")),
}


# By the annotation of an argument, as it would be declared (explain.calls). A number of epochs may be a float, as in
# PyTorch.
_KINDS: dict[str, str] = {
    "float": "float {}", "int": "float {}", "bool": "bool {}", "str": "str {}",
    "int | None": "float? {}", "str | None": "str? {}", "float | Sequence[float]": "float[1] {}",
    "Sequence[int]": "float[] {}", "Callable[[float], float] | None": "callable? {}",
}  # fmt: skip

_SPEED = "it says how PyTorch is to run a step, and changes no number: leave it out"
_DIFFERENTIABLE = "steps that are differentiated are those of {name}.functional(...)"
# What PyTorch's classes take and these do not, and what to write.
_ABSENT = {
    "foreach": _SPEED,
    "fused": _SPEED,
    "capturable": _SPEED,
    "differentiable": _DIFFERENTIABLE,
    "learning_rate": "did you mean 'lr'?",
    "verbose": "write print(scheduler.get_last_lr())",
}


def unknown_option(name: str, option: str, known: Iterable[str]) -> TypeError:
    """The error for an option that the class of this name lacks: what was meant, or what to write."""
    from difflib import get_close_matches  # imported when the first one is misspelt

    known = [o for o in known if o not in ("params", "optimizer")]
    near = get_close_matches(option, known, 1)
    advice = _ABSENT.get(option, f"did you mean {near[0]!r}?" if near else "").format(name=name)
    there = f"there are {', '.join(known)}"
    return TypeError(f"{name}: there is no option {option!r}; {f'{advice} ({there})' if advice else there}")


def checked(init: Init, **classes: type) -> Init:
    """Decorate the `__init__` of a class: arguments that it lacks, or of a wrong kind, are refused in words.

    `classes` are those that annotations name.
    """
    signature = inspect.signature(init)
    known = [p for p in list(signature.parameters) if p != "self"]
    kinds = {
        p.name: declared(_KINDS[p.annotation].format(p.name))[0]
        for p in signature.parameters.values()
        if p.annotation in _KINDS
    }
    of_class = {p.name: classes[p.annotation] for p in signature.parameters.values() if p.annotation in classes}

    @wraps(init)
    def called(self: Any, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        for option in kwargs:
            if option not in known:
                raise unknown_option(name, option, known)
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}: {error}; its arguments are {', '.join(known)}") from None
        for key, kind in of_class.items():
            if not isinstance(given[key], kind):
                raise TypeError(f"{name}: give a pullback.optim.{kind.__name__}, not {shown(given[key])}")
        check_kinds(name, given, kinds)
        init(self, *args, **kwargs)

    return called  # type: ignore[return-value]


def check_kinds(name: str, given: Mapping[str, Any], kinds: Mapping[str, Declared]) -> None:
    """Refuse a str for a number, say."""
    for key, kind in kinds.items():
        if key in given and (not fits(given[key], kind) or _is_flag(given[key], kind)):
            raise TypeError(f"{name}: {key} must be {kind}, got {shown(given[key])}")


def shown_dict(value: Any) -> str:
    """A value as an error shows it; of a dict the keys."""
    return f"a dict of {', '.join(map(repr, value)) or 'nothing'}" if isinstance(value, Mapping) else shown(value)


def _is_flag(value: Any, kind: Declared) -> bool:
    """True if a number was forgotten: True for one."""
    return isinstance(value, bool) and kind.base in ("int", "float")


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
            raise unknown_option(name, key, defaults)
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
