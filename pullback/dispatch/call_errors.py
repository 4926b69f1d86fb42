"""Errors of operator calls: arguments that are not arrays, and kernels that fail, reported in terms of the call."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from pullback.core import slots
from pullback.core.errors import tuple_advice, type_name
from pullback.core.tensor import Tensor, ndarray

if TYPE_CHECKING:
    from pullback.dispatch.operator import Operator


def refuse_argument(called: str, name: str, x: object) -> NoReturn:
    """Raise the TypeError for an argument that is no array."""
    hint = ""
    if isinstance(x, (list, tuple)):
        hint = " Make a tensor of it first: pullback.tensor(...), or pullback.stack(...) if it holds Tensors."
    given = type_name(x)
    if hasattr(x, "_fields"):
        given, hint = f"the named tuple {given}", tuple_advice(x)
    if given.endswith(".Tensor"):
        hint = " Convert it first: pullback.from_dlpack(t.detach())."
    if type(x) is ndarray:
        given, hint = f"an ndarray of dtype {x.dtype}", " Convert it first: x.astype(float)."
    raise TypeError(f"{called}(): argument {name!r} must be a Tensor, an ndarray or a number, got {given}.{hint}")


def explain(op: Operator, args: Sequence[Any], error: Exception, called: str | None = None) -> Exception:
    """The error to raise instead of a kernel's: it has the name of what was called and what that was given."""
    return explained(called or op.shown, op.signature, args, error, takes_over=True)


def explained(
    name: str, signature: str, args: Sequence[Any], error: Exception, *, takes_over: bool = False
) -> Exception:
    """`explain.calls.explained`, imported when the first call fails."""
    from pullback.explain import calls

    return calls.explained(name, signature, args, error, takes_over)


def explained_call(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> Exception:
    """`explain.calls.explained_call`, imported when the first call fails."""
    return slots.explained_call(name, function, args, kwargs, error)


def results_class(name: str, fields: Sequence[str]) -> Any:
    """The named tuple of several results, which says what to write where it is taken for a Tensor; one for each name.

    No module has it by its name, so results are pickled by name and fields, whatever is loaded where they arrive.
    """
    return _results_class(name, tuple(fields))


@functools.cache
def _results_class(name: str, fields: tuple[str, ...]) -> Any:
    kind: Any = namedtuple(name, fields)  # type: ignore[misc]
    for method, function in (("__getattr__", _not_in_tuple), ("__reduce__", _pickled)):
        setattr(kind, method, function)  # not of a class that mypy knows
    return kind


def _pickled(results: Any) -> tuple[Any, ...]:
    return _results, (type(results).__name__, results._fields, tuple(results))


def _results(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return results_class(name, fields)(*values)


def _not_in_tuple(results: Any, name: str) -> NoReturn:
    """The `__getattr__` of named tuples of results: who writes `x.max(axis=1).sum()` means NumPy's max."""
    kind = type(results).__name__
    advice = tuple_advice(results) if hasattr(Tensor, name) else ""
    raise AttributeError(f"{kind!r} object has no attribute {name!r}.{advice}", name=name, obj=results)
