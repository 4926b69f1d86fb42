"""odeint: solutions of initial value problems, differentiated by the adjoint equation or step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import OperatorError
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.closures import Captures
from pullback.func.implicit.fixed_steps import solve_discretely
from pullback.func.implicit.flat import is_single
from pullback.func.implicit.functions import check_functions, plain
from pullback.func.implicit.initial_values_by_steps import METHODS
from pullback.func.implicit.integrator import Integrator
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.implicit.trajectories import Problem
from pullback.func.left_behind import leave
from pullback.func.rules.calls import moves
from pullback.graph.captured import Captured

_DOUBLE, _SINGLE = (1e-8, 1e-10), (1e-5, 1e-7)  # tolerances that rounding leaves room for
_ALL = (*METHODS, "Radau", "BDF", "LSODA")


@named("func.odeint")
def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    method: str = "DOP853",
    rtol: float | None = None,
    atol: float | None = None,
    sensitivity: str = "adjoint",
) -> Any:
    """y at the times t, where dy/dt = f(y, t, *args) and y(t[0]) = y0; differentiable by y0, t and args.

    Parameters
    ----------
    f : callable
        `f(y, t, *args)`, written with NumPy's or pullback's functions: a tree like y.
    y0 : array, number, or tree of these, floating point
    t : array, shape (n,), increasing or decreasing
    *args
        Arrays or trees, and anything else that f wants.
    method : {"DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"}
        Of `scipy.integrate.solve_ivp`, which finds the values.
    rtol, atol : float, default 1e-8 and 1e-10, in single precision 1e-5 and 1e-7
        Of each solution, of those for derivatives too.
    sensitivity : {"adjoint", "discrete"}
        "adjoint": derivatives solve differential equations of their own; what is kept is the solution. "discrete": the
        steps of an explicit method are recorded, and differentiated as they are.

    Returns
    -------
    A tree like y0, with arrays of shape (n, *shape of y0).

    Raises
    ------
    ConvergenceError
        SciPy's solver gave up. In a derivative of the gradient: y cannot be solved for backward. It is a RuntimeError.
    RuntimeError
        f gives other shapes than those of y, or (TypeError) complex numbers for a real y; with "adjoint" it uses a
        variable that is differentiated and that is not an argument, or gives something else in backward than in
        forward.
    ValueError
        t is not of one dimension, or not strictly monotonic; a method or sensitivity is unknown, or "discrete" is asked
        of an implicit method.

    Notes
    -----
    vjp with "adjoint": da/dt = -(df/dy)^H a and dg/dt = -(df/dargs)^H a along y, backward from each time to the one
    before, where a gains the cotangent of y there; the gradients are a and g at t[0], for times <cotangent, f>. jvp:
    dv/dt = (df/dy) v + (df/dargs) dargs with y. Both are such problems again, so every order and nesting is right to
    the tolerances. "discrete" is the exact derivative of what was computed, with the lengths of the steps, as
    fractions of the intervals of t, held constant; it keeps all stages of all steps.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([0.0, 1.0])
    >>> def decay(y, t, k):
    ...     return -k * y
    >>> pb.func.odeint(decay, 2.0, t, 0.5).round(6)
    array([2.      , 1.213061])
    >>> pb.func.grad(lambda k: pb.func.odeint(decay, 2.0, t, k)[-1])(0.5).round(6).item()  # -2 exp(-0.5)
    -1.213061
    """
    check_functions("odeint", f=f)
    if method not in _ALL:
        raise ValueError(f"func.odeint: method must be one of {_ALL}, got {method!r}.")
    if sensitivity not in ("adjoint", "discrete"):
        raise ValueError(f"func.odeint: sensitivity must be 'adjoint' or 'discrete', got {sensitivity!r}.")
    if sensitivity == "discrete" and method not in METHODS:
        raise ValueError(
            f"func.odeint: sensitivity='discrete' takes an explicit method, {tuple(METHODS)}, not {method!r}."
        )
    t = _times(t)
    start, form = flatten(y0)
    given, structure = flatten(args)

    def slope(y: Leaves, at: Any, args: Leaves) -> Leaves:
        function = captured.given(args[many:])[0] if len(args) > many else Captured.given(captured)[0]
        return flatten(function(unflatten(form, y), at, *unflatten(structure, args[:many])))[0]

    single = any(is_single(x.dtype) for x in start if hasattr(x, "dtype"))
    usual = _SINGLE if single else _DOUBLE
    rtol, atol = (default if x is None else x for x, default in zip((rtol, atol), usual, strict=True))
    name = f"odeint({getattr(f, '__name__', type(f).__name__)})"
    captured, many = Captures(name, f), len(given)
    at_stake = [x for x in (t, *start, *given, *captured.tensors) if isinstance(x, Tensor)]
    if at_stake:
        captured.keep(at_stake)
    problem = Problem(slope, Integrator(name, method, rtol, atol), captured)
    problem.form = repr(form), repr(structure), many
    if sensitivity == "adjoint":  # which refuses captured variables that are differentiated
        others = [] if any(map(moves, captured.tensors)) else captured.tensors
        found = problem.solve(start, t, [*given, *others])
    else:
        found = solve_discretely(problem, start, t, [*given, *captured.tensors])
    leave(captured)
    return unflatten(form, list(found))


def _times(t: Any) -> Any:
    """The times, checked."""
    t = t if isinstance(t, Tensor) else np.asarray(t, np.float64)
    values = np.asarray(plain(t))
    if values.ndim != 1 or not len(values) or values.dtype.kind != "f":
        raise OperatorError(
            f"func.odeint: t must be an array of times of one dimension, got {values.dtype}{list(values.shape)}."
        )
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        raise OperatorError("func.odeint: the times t must be strictly increasing or decreasing.")
    return t
