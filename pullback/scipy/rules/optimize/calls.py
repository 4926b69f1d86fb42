"""A call of one of SciPy's solvers: what goes to the solver alone, and by what its solution is differentiable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.errors import GradientError
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.closures import Captures
from pullback.interop.adopt.rules import IMPLICIT, scipy_rule
from pullback.interop.adopt.scipy.ways import genuine
from pullback.optimize.objective import first_of
from pullback.optimize.parameters import depends, plain_value, without_derivative

if TYPE_CHECKING:
    from pullback.func.implicit.functions import ImplicitFunction


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(genuine(name))


class Call:
    """One call of a solver.

    Parameters
    ----------
    name : str
        The public name.
    starts : collection of str
        Arguments that say where the solver starts: the solution does not depend on them.
    by : sequence of str
        The arguments with respect to which the solution is differentiable, beside what the functions capture.
    """

    def __init__(
        self,
        name: str,
        starts: tuple[str, ...],
        given: tuple[Any, ...],
        named: dict[str, Any],
        by: tuple[str, ...] = ("args",),
    ) -> None:
        self.name, self._by = name, by
        self._bound = _signature(name).bind(*given, **named)
        self._passed = {*self._bound.arguments, *by}  # a default is no argument: some are deprecated
        self._bound.apply_defaults()
        self.given = self._bound.arguments
        self._functions = [key for key, value in self.given.items() if callable(value)]
        if of_function := by == ("args",):
            if not isinstance(self.given["args"], tuple):
                self.given["args"] = (self.given["args"],)
            self.given["kwargs"] = self.given.get("kwargs") or {}
        self._taken = [*self._functions, *(("args", "kwargs") if of_function else ())]  # functions may write into these
        self.captures = Captures(name, *(self.given[key] for key in self._taken))
        for key, value in self.given.items():
            if key in by or key in self._taken:
                continue
            if depends(_held(value)) and key not in starts:
                raise GradientError(
                    f"{name}: {key!r} is being differentiated, but the solution is differentiable only with respect to "
                    f"{' and '.join(map(repr, by))}, and to what the functions capture. Pass what it depends on "
                    "there, or detach() it."
                )
            leaves, form = flatten(value)
            self.given[key] = unflatten(form, [without_derivative(x) for x in leaves])
        self._count = 0 if of_function else len(by)
        self.captures.keep([x for x in flatten(self.args)[0] if isinstance(x, Tensor)])

    def found(self, function: ImplicitFunction) -> Any:
        """(the solution, differentiable; what SciPy gave), by a function of `func` that calls those of this call."""
        function._captured = self.captures
        return function(None, *self.args)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments that the solution depends on: the solver's, then what functions capture or are given."""
        return (*(self.given[key] for key in self._by[: self._count]), *self.captures.tensors)

    def own(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Those among `args` that are not captured."""
        return tuple(args[: self._count])

    def holding(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The function that the solver is given, holding what is captured as `args` have it."""
        held: Callable[..., Any] = self._held(args)[self._functions[0]]
        return held

    def function(self, with_derivative: bool = False) -> Callable[..., Any]:
        """(x, *args) -> its value, without the derivative that it may return beside it."""

        def value(x: Numeric, *args: object) -> AnyArray:
            held = self._held(args)
            found = held[self._functions[0]]
            return (first_of(found) if with_derivative else found)(x, *held["args"], **held["kwargs"])

        return functools.wraps(self.given[self._functions[0]])(value)

    def _held(self, args: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self._taken, self.captures.given(args[self._count :]), strict=True))

    def solved(self, *plain: object) -> Any:
        """Return what SciPy gives for plain arguments."""
        held = self._held(plain)
        values = dict(zip(self._by, self.own(plain), strict=False)) | held
        values |= {key: self._guarded(held[key]) for key in self._functions}
        given = {key: x for key, x in {**self.given, **values}.items() if key in self._passed}
        bound = inspect.BoundArguments(self._bound.signature, given)
        return genuine(self.name)(*bound.args, **bound.kwargs)

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which may give nothing that is being differentiated."""
        if isinstance(function, type):
            return function

        @functools.wraps(function)
        def checked(*args: object, **kwargs: object) -> Any:
            found = function(*args, **kwargs)
            for x in flatten(found)[0]:
                plain_value(self.name, x, "function")
            return found

        return checked


def _held(value: object) -> object:
    """Return what an argument holds, also the limits of `Bounds` and constraints."""
    if isinstance(value, (list, tuple)):
        return [_held(x) for x in value]
    if hasattr(value, "lb") and hasattr(value, "ub"):
        limits = (value.lb, value.ub)
        return [list(np.ravel(x)) if getattr(getattr(x, "dtype", None), "kind", "") == "O" else x for x in limits]
    return value


def implicit(name: str, rule: Callable[..., Any], *more: object) -> None:
    """Enter a rule that differentiates what a solver finds by the condition that it fulfils."""
    IMPLICIT.add(f"scipy.optimize.{name}")
    scipy_rule(f"scipy.optimize.{name}")(functools.partial(rule, f"scipy.optimize.{name}", *more))


def without_arrays(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a solver says of its way, without arrays: these would be constants, and look as if they were none."""
    return {key: x for key, x in found.items() if np.ndim(x) == 0 or np.asarray(x).dtype.kind not in "fc"}
