"""`__array_function__`: what NumPy calls when one of its functions (not a ufunc) meets a Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.array_face import ARRAYS
from pullback.core.tensor import NestedTensor, Tensor, ndarray
from pullback.dispatch.call_errors import explained_call
from pullback.interop.registry import FUNCTIONS, find_function, numpy_name
from pullback.interop.suggest import unsupported

_OURS = frozenset([Tensor, NestedTensor, ndarray]) | ARRAYS


def array_function(self: Any, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """The rule of a NumPy function, run on the arguments as they were given."""
    for kind in types:
        if kind not in _OURS and not issubclass(kind, ndarray):
            return NotImplemented  # another library's array: its turn
    rule = FUNCTIONS.get(function) or find_function(function)
    if rule is None:
        raise unsupported(f"np.{numpy_name(function)}")
    try:
        return rule(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explained_call(f"np.{numpy_name(function)}", rule, args, kwargs, error)  # noqa: B904
