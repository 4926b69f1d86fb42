"""Minima: zeros of the gradient with respect to the free parameters, whatever algorithm found them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from pullback.core.errors import GradientError
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.core.tensor import ndarray
from pullback.func.gradient import grad
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.api import custom_minimum, custom_root
from pullback.interop.operands import frozen
from pullback.optimize.constraints import listed
from pullback.optimize.results import only_differentiable
from pullback.scipy.rules.optimize.calls import Call, implicit, without_arrays

_STATIONARY = 1e-4  # of max(1, |fun|): differences of a value have no more digits
_NEAR = 1e-8


def minimum(call: Call, objective: Callable[..., Any], limits: tuple[Numeric, Numeric] | None) -> tuple[Any, Any]:
    """(the solution, differentiable; what SciPy gave) of a minimum within limits (lower, upper), or None."""

    def solver(start: object, *plain: object) -> Any:
        found = call.solved(*plain)
        solution = _solution(found)
        x, success = (solution["x"], solution["success"]) if isinstance(solution, dict) else (solution, True)
        if limits is not None and success:  # custom_root refuses what failed
            _check_held(call.name, np.asarray(slope(x, *plain)), held(x, limits))
        return solution, found

    solver.__name__ = call.name
    slope = grad(objective)
    if limits is None:
        return call.found(custom_minimum(solver, objective, has_aux=True))

    def condition(x: AnyArray, *args: object) -> AnyArray:
        at = frozen(x, "minimize")
        return np.where(held(at, limits), x - at, slope(x, *args))

    return call.found(custom_root(solver, condition, has_aux=True))


def held(x: AnyArray, limits: tuple[Numeric, Numeric]) -> AnyArray:
    """Which parameters a limit holds, as far as numbers tell."""
    lower, upper = limits
    near = _NEAR * np.maximum(1, np.abs(x))
    return (x - lower <= near) | (upper - x <= near)


def _check_held(name: str, slope: ndarray, at: AnyArray) -> None:
    """Refuse a parameter at a limit where the gradient is zero too: to one side it moves, to the other it does not."""
    size = max(1.0, float(np.max(np.abs(slope), initial=0)))
    if np.any(at & (np.abs(slope) <= 1e-6 * size)):
        raise GradientError(
            f"{name}: a parameter is at a bound where the gradient is zero too. There the solution, as a function of "
            "the arguments, has a kink and no derivative."
        )


def _solution(found: Any) -> Any:
    """Return what is to be differentiated. A solver that failed for want of digits alone has found it."""
    if isinstance(found, tuple):
        return found[0]
    if not issubclass(type(found), OptimizeResult):
        return found
    slope = found.get("jac")
    near = not found.success and slope is not None and np.ndim(slope) == 1
    if near and np.max(np.abs(slope), initial=0) <= _STATIONARY * max(1.0, abs(float(found.fun))):
        return found.x
    return found if "success" in found else {"x": found.x, "success": True}


def limits_of(bounds: Any) -> tuple[AnyArray, AnyArray] | None:
    """(lower, upper) of SciPy's `Bounds`, or of a pair for each parameter."""
    if bounds is None:
        return None
    if isinstance(bounds, Bounds):
        return bounds.lb, bounds.ub
    pairs = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
    lower, upper = np.transpose(np.asarray(pairs, float))
    return lower, upper


def _minimize(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, ("x0", "bracket"), given, named)
    if listed(call.given.get("constraints", ())):
        raise GradientError(
            f"{name}: the call is differentiated and has constraints: such a minimum is not a zero of the gradient. "
            "Give its conditions of optimality to pullback.func.custom_root."
        )
    bounds = call.given["bounds"]
    limits = bounds if name.endswith("_scalar") else limits_of(bounds)
    objective = call.function(with_derivative=call.given.get("jac") is True)
    x, found = minimum(call, objective, limits)
    return only_differentiable(found, x=x, fun=adopting(objective)(x, *call.args))


def _fmin(name: str, starts: tuple[str, ...], *given: object, **named: object) -> tuple[Any, ...]:
    call = Call(name, starts, given, named)
    if call.given.get("full_output") or call.given.get("retall"):
        raise GradientError(f"{name}: full_output has no derivative; the result of scipy.optimize.minimize has one.")
    compiled = name.endswith(("_b", "_tnc"))  # these return a tuple, and take a function with its gradient
    pair = compiled and call.given["fprime"] is None and not call.given["approx_grad"]
    limits = limits_of(call.given.get("bounds"))
    if name.endswith("fminbound"):
        limits = call.given["x1"], call.given["x2"]
    objective = call.function(with_derivative=pair)
    x, found = minimum(call, objective, limits)
    if name.endswith("_b"):
        return x, adopting(objective)(x, *call.args), without_arrays(found[2])
    return (x, *found[1:]) if compiled else x


implicit("minimize", _minimize)
implicit("minimize_scalar", _minimize)
for _name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_ncg", "fmin_powell", "fmin_l_bfgs_b", "fmin_tnc"):
    implicit(_name, _fmin, ("x0",))
for _name in ("brent", "golden"):
    implicit(_name, _fmin, ("brack",))
implicit("fminbound", _fmin, ())
