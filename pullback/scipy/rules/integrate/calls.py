"""A call of a function of scipy.integrate: its arguments, and what the functions among them capture."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.array_type import read
from pullback.core.errors import GradientError
from pullback.core.numpy_types import AnyArray, ArrayLike, Numeric
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.closures import Captures
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.rules.calls import moves
from pullback.interop.adopt.rules import IMPLICIT, scipy_rule
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(genuine(name))


# These integrate once for each element of their further arguments.
_BY_ELEMENT = frozenset(["scipy.integrate.tanhsinh"])
# These take further arguments from any sequence; all others take what is no tuple for a single one.
_UNPACKED = frozenset(f"scipy.integrate.{name}" for name in ("cubature", "solve_ivp", "tanhsinh"))


class Call:
    """One call, with what the functions capture and find in `args` as leaves: by these it is differentiable.

    Parameters
    ----------
    name : str
        The public name.
    functions : sequence of str
        The arguments that are functions, or hold some.
    differentiable : collection of str
        Further arguments that may be differentiated; all others must be plain.

    Attributes
    ----------
    given : dict
        All arguments, with defaults.
    options : dict
        Those among them that go to a solver's method.
    leaves : list
        What the functions capture or find in `args`.
    elements : tuple
        `args`, where it stands for several calls.
    """

    def __init__(
        self,
        name: str,
        functions: Sequence[str],
        differentiable: tuple[str, ...],
        given: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        self.name = name
        bound = _signature(name).bind(*given, **named)
        bound.apply_defaults()
        self.given = {**bound.arguments}
        self.options: dict[str, Any] = self.given.pop("options", {})  # of solve_ivp, for the method
        self.given.update(self.options)
        args: Any = self.given.get("args", ())
        if args is None:
            args = ()
        elif name in _UNPACKED and (isinstance(args, list) or getattr(args, "ndim", None)):
            args = tuple(args)
        elif not isinstance(args, tuple):
            args = (args,)
        self.elements: Any
        self.elements, args = (args, ()) if name in _BY_ELEMENT else ((), args)
        self.captures = Captures(name, *(self.given.get(key) for key in functions), args)  # into which these may write
        self.leaves: Leaves = self.captures.tensors
        at_stake = [
            *filter(moves, [*self.leaves, *self.elements, *flatten([self.given.get(key) for key in differentiable])[0]])
        ]
        if at_stake:
            self.captures.keep(at_stake)
        for key, value in self.given.items():
            if key != "args" and key not in functions and key not in differentiable:
                self.given[key] = self.plain(key, value)
        self.options = {key: self.given[key] for key in self.options if key not in functions}

    def plain(self, key: str, value: object) -> object:
        """An argument with respect to which there is no derivative."""
        leaves, form = flatten(value)
        if any(map(moves, leaves)):
            raise GradientError(
                f"{self.name}: {key!r} is being differentiated, but the result has no derivative with respect to it "
                "here. Give it plain values: detach() it."
            )
        return unflatten(form, [read(x, f"{self.name}({key}=...)") if isinstance(x, Tensor) else x for x in leaves])

    def functions(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The functions, and then their further arguments, holding what is differentiated as these leaves have it."""
        return self.captures.given(leaves)

    def integrand(self, x: Numeric, leaves: Leaves) -> AnyArray:
        """The value of the first function, after `x`."""
        function, *_, args = self.functions(leaves)
        return array(function(x, *args))


def floating(x: ArrayLike) -> AnyArray:
    """A number or an array in floating point."""
    x = array(x)
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def solution_of(*names: str) -> Callable[[Any], Any]:
    """Decorate a rule: it differentiates what an algorithm finds, not the algorithm."""
    full = [f"scipy.integrate.{name}" for name in names]

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        IMPLICIT.update(full)
        for name in full:
            scipy_rule(name)(functools.partial(rule, name))
        return rule

    return enter
