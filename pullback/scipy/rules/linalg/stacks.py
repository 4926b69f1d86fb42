"""Stacks of matrices, for rules that take one: a loop, as SciPy has it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays
from pullback.interop.operands import array

_F = TypeVar("_F", bound=Callable[..., Any])


def over_stacks(**dimensions: int | str) -> Callable[[_F], _F]:
    """Decorate a rule for single matrices: the arguments named may have further dimensions in front.

    A number says how many dimensions belong to the matrix or vector; "1|2" that it is a vector if there is but one.
    """

    def decorate(rule: _F) -> _F:
        signature = inspect.signature(rule)

        @functools.wraps(rule)
        def run(*args: object, **kwargs: object) -> Arrays:
            given = signature.bind(*args, **kwargs).arguments
            arrays, fronts = {}, []
            for name, core in dimensions.items():
                if given.get(name) is None:
                    continue
                x = given[name] = array(given[name])
                own = core if isinstance(core, int) else min(x.ndim, 2)
                arrays[name] = x
                fronts.append(tuple(x.shape[: max(0, x.ndim - own)]))
            if not any(fronts):
                return _called(rule, signature, given)
            front = np.broadcast_shapes(*fronts)
            wide = {
                name: np.broadcast_to(x, front + tuple(x.shape[len(own) :]))
                for (name, x), own in zip(arrays.items(), fronts, strict=True)
            }
            found = [
                _called(rule, signature, given | {name: x[index] for name, x in wide.items()})
                for index in np.ndindex(*front)
            ]
            if isinstance(found[0], tuple):
                return tuple(_stack(parts, front) for parts in zip(*found, strict=True))
            return _stack(found, front)

        return run  # type: ignore[return-value]

    return decorate


def _called(rule: Callable[..., Any], signature: inspect.Signature, given: dict[str, Any]) -> Arrays:
    bound = inspect.BoundArguments(signature, given)
    return rule(*bound.args, **bound.kwargs)


def _stack(parts: Sequence[ArrayLike], front: tuple[int, ...]) -> AnyArray:
    made = np.stack([array(p) for p in parts])
    return made.reshape(front + tuple(made.shape[1:]))
