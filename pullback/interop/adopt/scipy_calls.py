"""SciPy's functions, as adopted modules see them.

A dispatcher looks for our tensors before it calls anything, because SciPy's own Python would run on some way and give
an answer whose gradient is not that of the solution. Where a gradient is at stake a rule must be in the table, else
the error says what to write; tensors without one go on as the plain arrays that they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, SCALAR_FACES
from pullback.core.call_site import home_of
from pullback.core.cuts import WATCHED
from pullback.core.tensor import Tensor, ndarray
from pullback.core.version import bump
from pullback.dispatch.call_errors import explained_call
from pullback.graph.journal import note_write
from pullback.interop.adopt.dispatchers import PLAIN, Dispatcher, at_stake
from pullback.interop.adoption import RULES
from pullback.interop.suggest import unsupported


def scipy_name(function: Callable[..., Any]) -> str:
    """The public name of a function, or that of where it is defined."""
    return home_of(function, function.__name__) or f"{function.__module__}.{function.__name__}"


class ScipyFunction(Dispatcher):
    """A function of SciPy, and its rule for our tensors if it has one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) not in _PLAIN and isinstance(x, _LOOKED_INTO) and (isinstance(x, Tensor) or has_tensor(x)):
                break
        else:
            if not kwargs or not has_tensor(kwargs):
                if WATCHED and self.genuine.__module__.startswith("scipy.optimize"):
                    args = tuple(self.guarded(args))
                    kwargs = dict(zip(kwargs, self.guarded(kwargs.values()), strict=True))
                return self.genuine(*args, **kwargs)
        return self.on_tensors(args, kwargs)

    def guarded(self, args: Iterable[Any]) -> list[Any]:
        """The arguments of a solver, whose functions may give nothing that is being differentiated.

        Its steps depend on such a value by comparisons, so the answer would have the gradient zero, or another one.
        """

        def guard(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def checked(*args: Any, **kwargs: Any) -> Any:
                found = function(*args, **kwargs)
                if at_stake((found,)):
                    raise unsupported(scipy_name(self.genuine))
                return found

            return checked

        return [guard(x) if isinstance(x, FunctionType | MethodType) else x for x in args]

    def on_tensors(self, args: Any, kwargs: Any) -> Any:
        if not (at_stake(args) or at_stake(kwargs)):
            return self.genuine(*plain(args), **plain(kwargs))
        name = scipy_name(self.genuine)
        rule = RULES.get(name)
        if rule is None:
            raise unsupported(name)
        try:
            return rule(*args, **kwargs)
        except np.linalg.LinAlgError:
            raise  # which programs catch
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained_call(name, self.genuine, args, kwargs, error)  # noqa: B904


_PLAIN = PLAIN | {ndarray}
_LOOKED_INTO = (Tensor, list, tuple, dict)


def has_tensor(x: Any) -> bool:
    """Whether this container holds one of our tensors, at whatever depth."""
    for item in x.values() if isinstance(x, dict) else x:
        if isinstance(item, _LOOKED_INTO) and (isinstance(item, Tensor) or has_tensor(item)):
            return True
    return False


def plain(x: Any) -> Any:
    """The argument with plain arrays in place of our tensors."""
    if isinstance(x, Tensor):
        return _memory(x)
    if isinstance(x, dict):
        return {name: plain(item) for name, item in x.items()}
    if isinstance(x, (list, tuple)) and has_tensor(x):
        items = map(plain, x)
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def _memory(tensor: Any) -> Any:
    """The plain array, which SciPy may write into (`overwrite_a`, `output`) where it stands for an array of NumPy's."""
    array = tensor.numpy()
    if type(tensor) in SCALAR_FACES:
        return array[()]
    if type(tensor) not in ARRAYS:
        array = array.view()
        array.flags.writeable = False
        return array
    while isinstance(tensor, Tensor):  # nodes that saved it get what was in it before
        note_write(tensor)
        bump(tensor, "a function of SciPy")
        tensor = tensor._array
    return array
