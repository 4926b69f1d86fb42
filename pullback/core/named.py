"""Error messages of public functions that are not operators: they name the function as operators' errors do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from pullback.core import slots
from pullback.core.overrides import KNOWN, ask, taking_part

Function = TypeVar("Function", bound=Callable[..., Any])


def named(name: str, signature: str = "") -> Callable[[Function], Function]:
    """Decorate a function whose time does not count: errors of a call name it, and what it was given.

    `signature` has the types of its arguments, as a declaration would: see explain.calls. Errors in code of the user's
    that it calls stay as they are. What is given for a Tensor there is asked first if its class takes part.
    """
    arguments = [argument for argument in signature.split(", ") if argument != "*"]
    places = {x.split()[1]: i for i, x in enumerate(arguments) if x.startswith("Tensor ")}

    def decorate(function: Function) -> Function:
        function.__qualname__ = name  # which Python's own errors show
        function.__module__ = "pullback"  # where pickle finds it by that name

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if places and (kwargs or not KNOWN.issuperset(map(type, args))):
                relevant = [args[i] if i < len(args) else kwargs.get(x) for x, i in places.items()]
                if taking_part(relevant):
                    return ask(called, args, kwargs, relevant)
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - raised again, with what was called
                raise slots.explained_call(name, function, args, kwargs, error, signature)  # noqa: B904

        return called  # type: ignore[return-value]

    return decorate
