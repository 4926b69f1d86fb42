"""Functions written for NumPy, given to an optimiser as they stand: with buffers, `np.array` of numbers, `math`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from pullback.core import slots
from pullback.core.array_face import program_run
from pullback.core.errors import DetachingError
from pullback.func.closures import tensors_at_stake
from pullback.func.rules.calls import as_step, moves

Function = TypeVar("Function", bound=Callable[..., Any])


def as_it_stands(solve: Function) -> Function:
    """Decorate an optimiser. Where a function would lose a gradient it begins again, with `adopt()` for that time.

    So functions that need nothing of the kind pay nothing. In a function that is compiled, where no derivative is at
    stake, the optimiser is one step.
    """
    name = next(iter(signature(solve).parameters))

    @wraps(solve)
    def called(*args: Any, **kwargs: Any) -> object:
        found = [] if program_run.get() is None else [*tensors_at_stake((*args, *kwargs.values()))]  # no trace runs
        if found and not any(map(moves, found)):
            return as_step(found[0], solve.__name__, solve, args, kwargs)
        try:
            return solve(*args, **kwargs)
        except DetachingError:
            meanwhile = slots.adopt_meanwhile()
            if meanwhile is None:
                raise
        with meanwhile:
            if args:
                return solve(_adopted(args[0]), *args[1:], **kwargs)
            return solve(**{**kwargs, name: _adopted(kwargs[name])})

    return called  # type: ignore[return-value]


def _adopted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under `adopt()`, also when the solver has returned: then the solution may be differentiated."""

    @wraps(function)
    def called(*args: object, **kwargs: object) -> object:
        meanwhile = slots.adopt_meanwhile()
        if meanwhile is None:
            return function(*args, **kwargs)
        with meanwhile:
            return function(*args, **kwargs)

    return called
