"""Least squares: minima of half the sum of squares, linear ones and fits of curves among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from pullback.core.errors import GradientError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.pytree import flatten
from pullback.func.implicit.adopting import adopting
from pullback.func.jacobians import jacobian
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array, frozen
from pullback.optimize.results import only_differentiable
from pullback.scipy.rules.optimize.calls import Call, implicit
from pullback.scipy.rules.optimize.minima import held, minimum

_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def _box(bounds: Any) -> tuple[AnyArray, AnyArray] | None:
    """(lower, upper), or None where there are no limits."""
    lower, upper = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else bounds
    return None if np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)) else (np.array(lower), np.array(upper))


def _least_squares(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, ("x0", "x_scale", "diff_step"), given, named)
    loss, scale = call.given["loss"], call.given["f_scale"]
    if not isinstance(loss, str) or loss not in _LOSSES:
        raise GradientError(f"{name}: a loss that is a function has no derivative here; take one of {tuple(_LOSSES)}.")
    function = call.function()

    def cost(x: AnyArray, *args: AnyArray) -> AnyArray:
        squares = [(r / scale) ** 2 for r in flatten(function(x, *args))[0]]
        return sum(np.sum(_LOSSES[loss](z)) for z in squares) * scale**2 / 2

    x, found = minimum(call, cost, _box(call.given["bounds"]))
    return only_differentiable(found, x=x, cost=adopting(cost)(x, *call.args), fun=adopting(function)(x, *call.args))


def _leastsq(name: str, *given: object, **named: object) -> Any:
    call = Call(name, ("x0", "diag"), given, named)
    function = call.function()

    def cost(x: AnyArray, *args: AnyArray) -> AnyArray:
        return sum(np.sum(r**2) for r in flatten(function(x, *args))[0]) / 2

    x, found = minimum(call, cost, None)
    if not call.given["full_output"]:
        return (x, *found[1:])
    raise GradientError(f"{name}: full_output has no derivative; call scipy.optimize.least_squares.")


def _curve_fit(name: str, *given: object, **named: object) -> tuple[AnyArray, AnyArray]:
    """The parameters by the implicit function theorem, and their covariance by its formula, with exact slopes."""
    call = Call(name, ("p0",), given, named, ("xdata", "ydata", "sigma"))
    if call.given["full_output"] or call.given["nan_policy"] is not None:
        raise GradientError(f"{name}: full_output and nan_policy have no derivative here; leave them out.")
    call.given |= {key: x if (x := call.given[key]) is None else _data(x) for key in ("xdata", "ydata", "sigma")}
    limits = _box(call.given["bounds"])

    def weighed(r: AnyArray, sigma: AnyArray | None) -> AnyArray:
        if sigma is None:
            return r
        if np.ndim(sigma) < 2:
            return r / (sigma if np.ndim(sigma) == 0 or np.ndim(r) == 1 else sigma[:, None])
        read = np.tril(sigma)  # as SciPy does: a change above the diagonal changes nothing
        return np.linalg.solve(np.linalg.cholesky(read + np.tril(sigma, -1).T), r)

    def cost(p: AnyArray, *args: AnyArray) -> AnyArray:
        x, y, sigma = call.own(args)
        return np.sum(weighed(array(call.holding(args)(x, *p)) - y, sigma) ** 2) / 2

    popt, (plain, _) = minimum(call, cost, limits)
    if limits is not None and np.any(held(plain, limits)):
        raise GradientError(f"{name}: a parameter is at a bound, where pcov has no derivative; take least_squares.")
    (x, y, sigma), model = call.own(call.args), call.holding(call.args)
    slopes = weighed(jacobian(lambda p: array(model(x, *p)))(popt), sigma)
    free = np.size(y) - np.size(plain)
    variance = 1.0 if call.given["absolute_sigma"] else 2 * adopting(cost)(popt, *call.args) / free
    return popt, np.linalg.inv(slopes.T @ slopes) * variance


def _data(x: Any) -> AnyArray:
    """Data as an array, unless the model takes something else."""
    return array(x) if isinstance(x, (list, tuple)) else x


def _lsq_linear(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, (), given, named, ("A", "b"))
    x, found = minimum(call, _linear_cost, _box(call.given["bounds"]))
    A, b = call.args
    return only_differentiable(found, x=x, cost=_linear_cost(x, A, b), fun=A @ x - b)


def _nnls(name: str, *given: object, **named: object) -> tuple[AnyArray, AnyArray]:
    call = Call(name, (), given, named, ("A", "b"))
    x, _ = minimum(call, _linear_cost, (0.0, np.inf))
    A, b = call.args
    return x, np.sqrt(np.sum((A @ x - b) ** 2))


def _isotonic(name: str, y: ArrayLike, *, weights: AnyArray | None = None, increasing: bool = True) -> AnyArray:
    """Means, weighted, over blocks, which are constant between jumps."""
    y = array(y)
    sizes = np.ones(y.shape) if weights is None else array(weights)
    weight = None if weights is None else frozen(sizes, "isotonic_regression")
    found = genuine(name)(frozen(y, "isotonic_regression"), weights=weight, increasing=increasing)
    number = np.repeat(np.arange(len(found.blocks) - 1), np.diff(found.blocks))
    members = (number == np.arange(len(found.blocks) - 1)[:, None]).astype(float)
    means = (members @ (sizes * y)) / (members @ sizes)
    return OptimizeResult(x=means[number], weights=members @ sizes, blocks=found.blocks)


def _linear_cost(x: AnyArray, A: AnyArray, b: AnyArray) -> AnyArray:
    return np.sum((A @ x - b) ** 2) / 2


implicit("curve_fit", _curve_fit)
implicit("isotonic_regression", _isotonic)
implicit("least_squares", _least_squares)
implicit("leastsq", _leastsq)
implicit("lsq_linear", _lsq_linear)
implicit("nnls", _nnls)
