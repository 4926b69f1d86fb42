"""Calls of cloned methods from outside: where nothing of ours takes part, they make plain arrays, as SciPy's own do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.func.closures import capture_tensors
from pullback.interop.adopt.creation import ours_take_part
from pullback.interop.adopt.dispatchers import first_tensor
from pullback.interop.unseen import unseen


def from_outside(run: Callable[..., Any]) -> Callable[..., Any]:
    """The clone of a method, which finds out whether our tensors take part in a call.

    They are among the arguments, in the object's fields, or in what functions among the arguments hold. Another method
    that calls this one has found out already, and private methods are called by others alone.
    """
    if run.__name__.startswith("_") and not run.__name__.endswith("__"):
        return run

    @functools.wraps(run)
    @unseen
    def called(*args: object, **kwargs: object) -> object:
        if ours_take_part.get() is not None:
            return run(*args, **kwargs)
        functions = [x for x in (*args, *kwargs.values()) if callable(x)]
        outside = ours_take_part.set(first_tensor(args, kwargs) is not None or capture_tensors(functions))
        try:
            return run(*args, **kwargs)
        finally:
            ours_take_part.reset(outside)

    return called
