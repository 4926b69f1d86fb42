"""A user's rule in the place of ours: calls of a function of NumPy or SciPy run it, for as long as a block lasts.

Calls with tensors look into a table of rules. The function's rule there gives way to one that asks which holds in this
thread or task. When the last block has ended, ours is put back.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

from pullback.core.errors import UnsupportedError, type_name
from pullback.interop.adopt.rules import NAMES, RULES, has_views
from pullback.interop.adopt.scipy.calls import scipy_name
from pullback.interop.registry import FUNCTIONS, UFUNCS, find_function, numpy_name, numpy_object
from pullback.interop.suggest import ufunc_name
from pullback.interop.ufuncs import OF_ONE, find_ufunc

_here: ContextVar[Mapping[Any, Callable[..., Any]]] = ContextVar(
    "pullback_replaced_rules", default=MappingProxyType({})
)
_lock = threading.Lock()
_blocks: dict[Any, tuple[int, Callable[..., Any]]] = {}  # by function: how many blocks replace its rule, and our rule


@contextmanager
def replaced(function: Callable[..., Any], rule: Callable[..., Any]) -> Iterator[None]:
    """A block in which calls of `function` on our tensors run `rule`; refused where some of them would not."""
    function = getattr(function, "genuine", function)  # of what adopt() shows in its place
    table, key = _entry(function)
    with _lock:
        count, ours = _blocks.get(function, (0, table[key]))
        if not count:
            table[key] = _asking(function, ours)
            OF_ONE.pop(function, None)
        _blocks[function] = count + 1, ours
    token = _here.set({**_here.get(), function: rule})
    try:
        yield
    finally:
        _here.reset(token)
        with _lock:
            count, ours = _blocks.pop(function)
            if count > 1:
                _blocks[function] = count - 1, ours
            else:
                table[key] = ours
                OF_ONE.pop(function, None)


def _entry(function: Any) -> tuple[dict[Any, Callable[..., Any]], object]:
    """The table in which the rule of a function stands, and its key there."""
    table: Any
    key: Any
    if isinstance(function, np.ufunc):
        name, found = ufunc_name(function), find_ufunc(function)
        if function in _OF_OPERATORS or hasattr(np.ndarray, function.__name__):
            raise _refusal(name, "operators or methods of arrays compute it too, and would keep pullback's derivative")
        table, key = UFUNCS, function
    elif has_views(getattr(function, "__module__", None)):
        name = key = scipy_name(function)
        table, found = RULES, RULES.get(name)
    elif numpy_object(key := numpy_name(function)) is function and callable(function):
        if hasattr(np.ndarray, key):
            raise _refusal(f"np.{key}", "a method of arrays computes it too, and would keep pullback's derivative")
        if f"np.{key}" in NAMES:
            raise _refusal(f"np.{key}", "adopt() gives it a meaning of its own")
        name, table, found, key = f"np.{key}", FUNCTIONS, find_function(function), function
    else:
        name = getattr(function, "__name__", type_name(function))
        raise TypeError(
            f"replacing() is for functions of NumPy and SciPy, and {name!r} is none. Call the function with custom "
            "rules in its place."
        )
    if found is None:
        raise _refusal(name, "pullback has no rule for it, and does not see its calls")
    return table, key


def _refusal(name: str, why: str) -> UnsupportedError:
    return UnsupportedError(f"replacing(): {name} cannot be replaced: {why}. Call the function with custom rules.")


def _asking(function: object, ours: Callable[..., Any]) -> Callable[..., Any]:
    """The rule that runs the one that holds here: the user's, or ours."""

    @functools.wraps(ours)
    def ask(*args: object, **kwargs: object) -> object:
        return _here.get().get(function, ours)(*args, **kwargs)

    return ask


# The ufuncs behind Python's operators.
_OF_OPERATORS = frozenset({
    np.absolute, np.add, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.divide, np.divmod, np.equal, np.floor_divide,
    np.greater, np.greater_equal, np.invert, np.left_shift, np.less, np.less_equal, np.matmul, np.multiply, np.negative,
    np.not_equal, np.positive, np.power, np.remainder, np.right_shift, np.subtract,
})  # fmt: skip
