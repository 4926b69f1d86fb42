"""Roots and fixed points: dx = -(dF/dx)^-1 (dF/dargs) dargs, whatever algorithm found them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import ConvergenceError
from pullback.core.numpy_types import AnyArray
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.api import custom_fixed_point, custom_root
from pullback.optimize.results import only_differentiable
from pullback.scipy.rules.optimize.calls import Call, implicit, without_arrays


def _root(name: str, starts: tuple[str, ...], make: Callable[..., Any], *given: object, **named: object) -> Any:
    call = Call(name, starts, given, named)
    pair = call.given.get("jac" if name.endswith(".root") else "fprime") is True or call.given.get("fprime2") is True
    function = call.function(with_derivative=pair)

    def solver(start: object, *plain: object) -> Any:
        found = call.solved(*plain)
        return _solution(name, found, bool(call.given.get("full_output"))), found

    solver.__name__ = name
    x, found = call.found(make(solver, function, has_aux=True))
    if isinstance(found, tuple):
        return (x, *(_rest(y, x) for y in found[1:]))
    if not isinstance(found, dict):
        return x
    return (
        _rest(found, x) if "root" in found else only_differentiable(found, x=x, fun=adopting(function)(x, *call.args))
    )


def _solution(name: str, found: Any, full: bool) -> Any:
    """Return what is to be differentiated: SciPy's results are looked into further on."""
    if full and hasattr(found, "_fields"):  # of newton, for arrays
        if not np.all(found.converged):
            raise ConvergenceError(f"{name}: {int(np.sum(~found.converged))} of the roots were not found.")
        return found.root
    return found


def _rest(y: Any, x: AnyArray) -> Any:
    """Another part of a result."""
    if isinstance(y, dict) and "root" in y:
        y = copy.copy(y)
        y.root = x
        return y
    return without_arrays(y) if isinstance(y, dict) else y


implicit("root", _root, ("x0",), custom_root)
implicit("fsolve", _root, ("x0", "diag"), custom_root)
implicit("root_scalar", _root, ("x0", "x1", "bracket"), custom_root)
implicit("newton", _root, ("x0", "x1"), custom_root)
implicit("fixed_point", _root, ("x0",), custom_fixed_point)
for _name in ("brentq", "brenth", "bisect", "ridder", "toms748"):
    implicit(_name, _root, ("a", "b"), custom_root)
