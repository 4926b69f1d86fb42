"""Wraps arrays and numbers that the forward of a custom Function returns or saves as Tensors of the graph.

It is what one writes around SciPy: `return scipy.linalg.expm(x.detach().numpy())`. Passed on as it is, the result would
leave the graph without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import wrap_as
from pullback.core.array_type import array_type, carries_derivative, innermost, memory_of
from pullback.core.cuts import Run
from pullback.core.errors import GradientError, InplaceError, with_article
from pullback.core.factory import from_numpy
from pullback.core.tensor import NestedTensor, Tensor, ndarray, wrap
from pullback.core.version import counter_of
from pullback.graph.snapshot import MANY, held_alone

Pairs = list[tuple[Any, Any]]  # what forward returned, and the Tensor that stands for it
_NUMBERS = (float, complex, np.floating, np.complexfloating)  # whole numbers have no gradient, and stay as they are


def wrapped(name: str, level: int, args: Sequence[Any], found: list[Any]) -> tuple[Any, Pairs]:
    """(the output with arrays and floating-point numbers as Tensors, which Tensor each has become).

    `found` holds the output alone, so that it can be counted who else holds an array.
    """
    pairs: Pairs = []
    several = isinstance(found[0], tuple)
    if several:
        if not any(hasattr(x, "__array__") or isinstance(x, _NUMBERS) for x in found[0] if not isinstance(x, Tensor)):
            return found[0], pairs
        found[:] = found[0]
    free = [held_alone(found, i) for i in range(len(found))]
    results = tuple(_wrapped(name, level, args, *pair, pairs) for pair in zip(found, free, strict=True))
    return (results if several else results[0]), pairs


def _wrapped(name: str, level: int, args: Sequence[Any], x: Any, free: bool, pairs: Pairs) -> Any:
    if isinstance(x, Tensor) or not _is_numeric(name, x):
        return x
    _refuse_derivatives_below(name, args, x)
    if (result := _the_same(x, args)) is None:
        array: Any = from_numpy(np.asarray(x))._array
        if issubclass(type(x), ndarray) and not free:
            array = array.copy()  # what others write into it later would not be noticed
        result = wrap(array, level)
    pairs.append((x, result))
    return result


def _is_numeric(name: str, x: Any) -> bool:
    """True if this is an array or a number that can have a gradient; what looks like one and cannot is refused."""
    if isinstance(x, _NUMBERS):
        return True
    if isinstance(x, np.ma.MaskedArray) or (issubclass(type(x), ndarray) and x.dtype.kind == "O"):
        kind = "a MaskedArray" if isinstance(x, np.ma.MaskedArray) else "an ndarray of dtype object"
        raise TypeError(
            f"{name}: forward returned {kind}, through which no gradient flows; return an array of numbers "
            "(x.filled(value), x.astype(float))."
        )
    if not issubclass(type(x), ndarray) and hasattr(x, "__array__") and not issubclass(type(x), np.generic):
        raise TypeError(
            f"{name}: forward returned {with_article(x)}, through which no gradient flows; return np.asarray(...) of "
            "it, or a Tensor."
        )
    return issubclass(type(x), ndarray) and x.dtype.kind in "biufc"


def _refuse_derivatives_below(name: str, args: Sequence[Any], x: Any) -> None:
    """Raise where an outer transform differentiates too: of the plain values it knows nothing."""
    for i, arg in enumerate(args):
        if differentiated_inside((arg,)):
            raise GradientError(
                f"{name}: forward returned {with_article(x)}, but argument {i} is being differentiated by several "
                f"transforms at once, of which the outer ones would lose their derivative. {_REMEDY}"
            )


_REMEDY = (
    "Compute forward with Tensor operations, differentiate once, or give the function its rule by pullback.custom_vjp, "
    "which serves all transforms."
)


def differentiated_inside(args: Sequence[Any]) -> list[int]:
    """The levels of the transforms that differentiate what is inside the Tensors among the arguments."""
    levels: list[int] = []
    for x in args:
        if isinstance(x, NestedTensor):
            level, raw = x._level, x._array
            while isinstance(raw, Tensor):
                level = raw._level
                if raw._requires_grad:
                    levels.append(level)
                raw = raw._array
            if carries_derivative(raw):
                levels.append(level)
    return levels


def batched_inside(args: Sequence[Any]) -> bool:
    """True if there is an array of many samples below the level of a Tensor among the arguments."""
    nested = [x._array for x in args if isinstance(x, NestedTensor) and isinstance(x._array, Tensor)]
    return any(array_type(innermost(x)).many for x in nested)


def further_out(args: Sequence[Any]) -> list[Any]:
    """The arguments as the innermost of the transforms sees them that differentiate what is inside of the Tensors."""
    found = [_differentiated(x) if isinstance(x, Tensor) else x for x in args]
    level = max(x._level for x in found if isinstance(x, Tensor))
    for i, x in enumerate(args):
        if isinstance(x, Tensor) and (not isinstance(found[i], Tensor) or found[i]._level != level):
            constant = wrap_as(x, found[i], level)
            constant._counter = counter_of(x)
            found[i] = constant
    return found


def _differentiated(x: Tensor) -> Any:
    """Return what is inside of a Tensor once the levels are left at which nothing is being differentiated."""
    state, inside = modes.current(), x
    while isinstance(inside, Tensor):
        if (inside._requires_grad and state.records(inside._level)) or carries_derivative(inside._array):
            break
        if array_type(inside._array).many:
            break
        inside = inside._array  # type: ignore[assignment]
    return inside


def refuse_what_detached(name: str, watched: Run, values: Sequence[Any], verb: str = "returns") -> None:
    """Raise where a forward has detached what an outer transform differentiates, and has values without it."""
    for what, (file, line) in watched.cuts.items():
        for y in values:
            if isinstance(y, Tensor):
                lost = y.dtype.kind in "fc" and not (y._requires_grad or differentiated_inside((y,)))
            else:  # what is returned has become a Tensor, where it can
                lost = (
                    verb != "returns" and issubclass(type(y), (ndarray, *_NUMBERS)) and np.asarray(y).dtype.kind in "fc"
                )
            if lost:
                raise GradientError(
                    f"{name}: {what} at {file}:{line} leaves the graphs of all transforms, of which the outer ones "
                    f"would lose their derivative of what forward {verb}. {_REMEDY}"
                )


def _the_same(x: Any, args: Sequence[Any]) -> Tensor | None:
    """The argument whose own array this is."""
    return next((a for a in _tensors(args) if memory_of(a) is x), None)


def _tensors(args: Sequence[Any]) -> Iterator[Tensor]:
    return (a for a in args if isinstance(a, Tensor))


def _share(a: Any, b: Any) -> bool:
    return b is not None and np.may_share_memory(a, b)


def named(
    name: str, level: int, args: Sequence[Any], pairs: Pairs, tensors: Sequence[Any], method: str
) -> tuple[Any, ...]:
    """The Tensors for what forward gave to `ctx.<method>`, arrays and numbers among it."""
    ready = (Tensor, type(None))
    return tuple(x if isinstance(x, ready) else _named(name, level, args, pairs, x, method) for x in tensors)


def _named(name: str, level: int, args: Sequence[Any], pairs: Pairs, x: Any, method: str) -> Any:
    found = next((t for given, t in pairs if given is x), None)
    if found is None:
        found = _the_same(x, args)
    if found is not None:
        return found
    if method == "mark_dirty":
        raise InplaceError(
            f"{name}: mark_dirty was given {with_article(x)} that shares memory with no argument; give it the Tensor "
            "that forward modified."
        )
    if method == "mark_non_differentiable":
        raise GradientError(
            f"{name}: mark_non_differentiable was given {with_article(x)} that forward does not return; give it the "
            "output itself."
        )
    array: Any = from_numpy(np.asarray(x))._array
    kept = wrap(array, level)
    for owner in (*_tensors(args), *(t for _, t in pairs)):
        if _share(x, memory_of(owner)):
            kept._counter = counter_of(owner)  # a write into that tensor is one into what was saved
            return kept
    if not issubclass(type(x), ndarray):  # a number
        return kept
    if array.size <= MANY:
        return wrap(array.copy(), level)  # it may be filled anew
    return array if method == "save_for_backward" else kept  # the node watches it
