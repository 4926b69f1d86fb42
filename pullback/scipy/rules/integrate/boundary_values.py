"""solve_bvp: the solution is a root of the equations of collocation on the mesh that SciPy has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.func.implicit.api import custom_root
from pullback.func.implicit.functions import plain
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array
from pullback.scipy.rules.integrate.calls import Call, floating, solution_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_DENSE = 3000  # unknowns up to which the matrix is factored: it is far from what iterations like


@solution_of("solve_bvp")
def _solve_bvp(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, ("fun", "bc", "fun_jac", "bc_jac"), ("y", "p"), given, named)
    guess = {key: None if call.given[key] is None else plain(array(call.given[key])) for key in ("y", "p")}
    if call.given["S"] is not None:
        raise GradientError(f"{name}: with a singular term S the solution has no derivative here.")
    more = {key: call.given[key] for key in ("tol", "max_nodes", "verbose", "bc_tol")}
    of_p = guess["p"] is not None
    said: list[Any] = []

    def solver(_: object, *leaves: object) -> dict[str, np.ndarray[Any, Any]]:
        fun, bc, fun_jac, bc_jac, _ = call.functions(leaves)
        found = genuine(name)(fun, bc, call.given["x"], guess["y"], guess["p"], fun_jac=fun_jac, bc_jac=bc_jac, **more)
        if not found.success:
            raise ConvergenceError(f"{name}: no solution was found, so there is no derivative: {found.message}")
        said.append(found)
        return {"y": found.y, "p": found.p} if of_p else {"y": found.y}

    def slope(x: AnyArray, z: dict[str, AnyArray], leaves: Sequence[Any]) -> AnyArray:
        return floating(call.functions(leaves)[0](x, z["y"], *([z["p"]] if of_p else [])))

    def condition(z: dict[str, AnyArray], *leaves: object) -> dict[str, AnyArray]:
        x, y = said[-1].x, z["y"]
        h, f = np.diff(x), slope(x, z, leaves)
        middle = {**z, "y": (y[:, 1:] + y[:, :-1]) / 2 - h / 8 * (f[:, 1:] - f[:, :-1])}
        f_middle = slope(x[:-1] + h / 2, middle, leaves)
        ends = call.functions(leaves)[1](y[:, 0], y[:, -1], *([z["p"]] if of_p else []))
        return {
            "collocation": y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * f_middle),
            "ends": floating(ends),
        }

    solver.__name__ = name
    root = custom_root(solver, condition)
    root._dense, root._captured = _DENSE, call.captures
    z = root(None, *call.leaves)
    found, yp = said[-1], slope(said[-1].x, z, call.leaves)
    return type(found)({**found, **z, "yp": yp, "sol": _Spline(found.x, z["y"], yp)})


class _Spline:
    """The solution between the points of the mesh: a cubic by values and slopes."""

    def __init__(self, x: AnyArray, y: AnyArray, yp: AnyArray) -> None:
        h = np.diff(x)
        rise = np.diff(y, axis=1) / h
        t = (yp[:, :-1] + yp[:, 1:] - 2 * rise) / h
        self.x, self.c = x, [t / h, (rise - yp[:, :-1]) / h - t, yp[:, :-1], y[:, :-1]]

    def __call__(self, x: Numeric, nu: int = 0) -> AnyArray:
        """y, or its derivative number `nu`, at these places: shape (numbers, *shape of x)."""
        x = floating(x)
        i = np.clip(np.searchsorted(self.x, plain(x), side="right") - 1, 0, len(self.x) - 2)
        found: Any = 0.0
        for power, c in zip((3, 2, 1, 0), self.c, strict=True):
            if power >= nu:
                factor = float(np.prod(np.arange(power - nu + 1, power + 1)))
                found = found + factor * c[:, i] * (x - self.x[i]) ** (power - nu)
        return found
