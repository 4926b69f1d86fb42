"""A solver of linear systems as a differentiable function of right side and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.pytree import flatten, unflatten
from pullback.func.implicit.convergence import found_by
from pullback.func.implicit.functions import Call, ImplicitFunction, without_capture
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.implicit.linear_systems import System


class LinearFunction(ImplicitFunction):
    """(b, *args) -> x with matvec(x, *args) = b. The user's solvers solve the systems of its derivatives too."""

    def __init__(
        self, solver: Callable[..., Any], matvec: Callable[..., Any], transposed: Callable[..., Any] | None, tol: float
    ) -> None:
        def from_nowhere(x0: Any, b: Any, *args: Any) -> Any:
            return solver(b, *args)

        def condition(x: Any, b: Any, *args: Any) -> list[Any]:
            product, right = flatten(matvec(x, *args))[0], flatten(b)[0]
            return [y - z for y, z in zip(product, right, strict=True)]

        from_nowhere.__name__ = getattr(solver, "__name__", type(solver).__name__)
        super().__init__("custom_linear_solve", "A x - b", from_nowhere, condition, None, tol, False)
        self._solvers = solver, transposed

    def __call__(self, b: Any, *args: Any) -> Any:
        return super().__call__(None, b, *args)

    def _system(self, call: Call) -> System:
        return _Solved(call)

    def _functions(self) -> tuple[Any, ...]:
        return self._condition, *self._solvers


class _Solved(System):
    """The system of a linear function, which its own solvers solve."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.implicit._name, call.residual, None, call.implicit._tol, call.captured)
        self.call = call

    def solve_plain(self, b: Leaves, x: Leaves, args: Leaves, transposed: bool) -> Leaves:
        solver = self.call.function(1 + transposed)
        if solver is None:
            return super().solve_plain(b, x, args, transposed)
        self.check_condition(x, args)
        right, *rest = unflatten(self.call.args, args)
        form = self.call.form if transposed else flatten(right)[1]
        layout, role = (self.equations, "transpose_solver") if transposed else (self.unknowns, "solver")
        found = flatten(found_by(self.name, solver(unflatten(form, b), *rest)))[0]
        found = [without_capture(y, self.name, role) for y in found]
        if [np.shape(y) for y in found] != layout.shapes:
            shapes = [np.shape(y) for y in found]
            raise GradientError(f"{self.name}: {role} must give arrays of shapes {layout.shapes} here, got {shapes}.")
        product = self.apply(found, x, args, transposed)
        left = max(float(np.abs(y - z).max()) for y, z in zip(product, b, strict=True))
        if not left <= self.tol * max(float(np.abs(z).max()) for z in b):
            matrix = "A^H, the conjugate transpose of matvec" if transposed else "A"
            raise ConvergenceError(
                f"{self.name}: {role} did not solve a system with {matrix}, for a derivative: the residual is "
                f"{left:.3g}."
            )
        return found
