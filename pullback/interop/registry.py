"""The registry of adapters: which function on Tensors implements which function of NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pullback.core import slots
from pullback.core.late import ready
from pullback.interop.operands import deliver
from pullback.ops.tables import NUMPY_RULES

_F = TypeVar("_F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # function of NumPy -> function on Tensors with the same signature
UFUNCS: dict[Any, Callable[..., Any]] = {}  # ufunc of NumPy or SciPy -> function of as many Tensors


def rule(*names: str) -> Callable[[_F], _F]:
    """Enter the decorated function as the rule of these NumPy functions, such as "sum" or "linalg.outer".

    A name that this version of NumPy does not have is left out.

    Parameters
    ----------
    *names : str
        As in NumPy: "sum", "linalg.outer".

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from pullback.extend import numpy_rule
    >>> @numpy_rule("packbits")  # doctest: +SKIP
    ... def packbits(a, axis=None, bitorder="big"):
    ...     raise TypeError("np.packbits has no derivative: it makes whole numbers")
    """

    def enter(function: _F) -> _F:
        function.__qualname__ = f"np.{names[0]}"  # which Python's own errors show
        for name in names:
            target = numpy_object(name)
            if target is not None:
                (UFUNCS if isinstance(target, np.ufunc) else FUNCTIONS)[target] = function
        return function

    return enter


def numpy_object(name: str) -> Any:
    """Return what `name` ("sum", "linalg.inv") is in this version of NumPy, or None."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def numpy_name(function: Callable[..., Any]) -> str:
    """`np.linalg.inv` -> "linalg.inv"."""
    home = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", type(function).__name__)
    return f"{home.removeprefix('numpy').removeprefix('.')}.{name}".removeprefix(".")


@functools.cache
def load_adapters() -> None:
    """Fill the tables. On the first use, not at import: a program may never call NumPy's functions on Tensors."""
    slots.load_numpy_rules()


def find_function(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The rule of a function that is not in the table yet, or None.

    Without an adapter, a declaration's `numpy:` entry counts: its operator then takes the arguments as they are.
    """
    load_adapters()
    found = FUNCTIONS.get(function)
    if found is None:
        name = numpy_name(function)
        if numpy_object(name) is function and name in NUMPY_RULES:
            found = FUNCTIONS[function] = _with_out(name, ready(NUMPY_RULES[name]))
    return found


def _with_out(name: str, operator: Callable[..., Any]) -> Callable[..., Any]:
    """The operator as a rule: what it gives is written into `out`, recorded, where PyTorch's would not record."""

    @functools.wraps(operator)
    def rule(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return deliver(name, operator(*args, **kwargs), out)

    return rule if name.startswith("fft.") else operator
