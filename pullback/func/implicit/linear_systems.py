"""The linear systems of the implicit function theorem, A u = b and A^H u = b, where A is the derivative of a condition.

A solution is a function of b and of the point at which A is taken, with rules of its own, which are such systems again.
So it is differentiated in every mode, to every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pullback.core import cuts
from pullback.core.errors import ConvergenceError, GradientError, LinAlgError
from pullback.core.tensor import Tensor
from pullback.func.implicit.convergence import check_step, check_unchanged
from pullback.func.implicit.flat import Kept, Layout, is_single, same
from pullback.func.implicit.linear_maps import Leaves, Linearized, push, replaced, restricted
from pullback.func.implicit.linear_solvers import Factors, iterated, stuck
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured

_AFFORDABLE = 2000  # unknowns: the matrix takes 32 MB
ONE_SYSTEM = "Its solver takes one problem at a time; write the samples as one problem where that is too slow"
_DENSE = 64  # unknowns: so many rows take about as many passes as an iteration, and a matrix tells if it is singular


class System:
    """A condition F(x, args) of one call of an implicit function, as a function of leaves; A is dF/dx."""

    unknowns: Layout
    equations: Layout
    dense = _DENSE  # unknowns up to which A is formed at once
    factored: tuple[Leaves, Factors] | None = None  # the leaves at which A was taken, and what it was factored into

    def __init__(
        self,
        name: str,
        residual: Callable[[Leaves, Leaves], Leaves],
        solver: Callable[..., Any] | None,
        tol: float,
        captured: Captured,
    ) -> None:
        self.name, self.residual, self.solver, self.tol, self.captured = name, residual, solver, tol, captured
        self.left = Kept()  # the residual that forward had at a solution, of each sample of a batch
        self.near = Kept()  # where a step of Newton's method has been found to be short

    def check_condition(self, x: Leaves, args: Leaves) -> None:
        """Refuse a condition that is no longer what it was in forward."""
        before = self.left.at([*x, *args])
        if before is not None:
            scale = lambda: push(lambda x: self.residual(x, args), x, x)  # noqa: E731
            check_unchanged(self.name, "the condition", self.residual(x, args), before, scale)

    def by_args(self, x: Leaves) -> Callable[[Leaves], Leaves]:
        """F as a function of args."""
        return lambda args: self.residual(x, args)

    def apply(self, u: Leaves, x: Leaves, args: Leaves, transposed: bool) -> Leaves:
        """A u, or A^H u; differentiable by everything."""
        by_x = lambda x: self.residual(x, args)  # noqa: E731
        return Linearized(by_x, x).pull(u) if transposed else push(by_x, x, u)

    def solve(self, b: Leaves, x: Leaves, args: Leaves, transposed: bool) -> Leaves:
        """u with A u = b, or A^H u = b; differentiable by everything."""
        leaves = [*b, *x, *args]
        free = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        return _solution(_Solve(self, transposed, len(b), len(x), free), *leaves)  # type: ignore[no-any-return]

    def solve_plain(self, b: Leaves, x: Leaves, args: Leaves, transposed: bool) -> Leaves:
        """The same on ndarrays."""
        self.check_condition(x, args)
        rows, columns = (self.unknowns, self.equations) if transposed else (self.equations, self.unknowns)
        right = rows.ravel(b)
        if not right.any():
            return columns.unravel(right)  # of an invertible matrix
        if self.solver is None and self.equations.size <= self.dense:
            u = self._factors(x, args).solve(right, transposed)
        else:
            operator = self._operator(x, args)
            self._check_step(operator, x, args)
            u = self._iterated(operator, right, x, args, transposed)
        if not np.isfinite(u).all():
            if left := cuts.left_behind():
                raise GradientError(left)  # its tangents are nan
            raise ConvergenceError(
                f"{self.name}: the linear system for its derivative has a solution that is not finite. The derivative "
                "of the condition at the solution, or the cotangent (tangent) that came in, is not finite either."
            )
        return columns.unravel(u)

    def _factors(self, x: Leaves, args: Leaves) -> Factors:
        """A in factors, made once for a call: its numbers are the same at every order."""
        point = [*x, *args]
        if self.factored is None or not all(map(same, self.factored[0], point)):
            linearized = Linearized(lambda x: self.residual(x, args), x)
            units = (self.equations.unravel(unit) for unit in np.eye(self.equations.size))
            rows = [self.unknowns.ravel(linearized.pull(unit, again=True)) for unit in units]
            factors = Factors(self.name, np.stack(rows))
            left = self.equations.ravel(linearized.values)
            check_step(self.name, self.unknowns.unravel(factors.solve(left, False)), x, self.tol)
            self.factored = point, factors
        return self.factored[1]

    def _operator(self, x: Leaves, args: Leaves) -> LinearOperator:
        """A as SciPy's solvers take it."""
        unknowns, equations = self.unknowns, self.equations
        by_x = lambda x: self.residual(x, args)  # noqa: E731
        linearized: list[Linearized] = []

        def pulled(v: Any) -> Any:
            if not linearized:
                linearized.append(Linearized(by_x, x))
            return unknowns.ravel(linearized[0].pull(equations.unravel(v.reshape(-1)), again=True))

        def pushed(v: Any) -> Any:
            return equations.ravel(push(by_x, x, unknowns.unravel(v.reshape(-1))))

        return LinearOperator((equations.size, unknowns.size), pushed, pulled, dtype=np.float64)

    def _iterated(self, operator: LinearOperator, b: Any, x: Leaves, args: Leaves, transposed: bool) -> Any:
        """Solve by the user's linear solver, or by GMRES; where that fails, by factors, unless they are large."""
        operator = operator.H if transposed else operator
        if self.solver is not None:
            return self._by_user(operator, b)
        try:
            return iterated(self.name, operator, b, self._is_single())
        except ConvergenceError as error:
            if self.equations.size > _AFFORDABLE:
                raise
            try:
                return self._factors(x, args).solve(b, transposed)
            except LinAlgError:
                raise error from None

    def _is_single(self) -> bool:
        return any(map(is_single, self.unknowns.dtypes + self.equations.dtypes))

    def _check_step(self, operator: LinearOperator, x: Leaves, args: Leaves) -> None:
        """Refuse a solution from which Newton's method goes far, once for a point; rounding is no residual."""
        if self.near.at([*x, *args]):
            return
        left, at = self.equations.ravel(self.residual(x, args)), self.unknowns.ravel(x)
        rounding = 1e-4 if self._is_single() else 1e-10
        if not np.abs(left).max(initial=0) <= rounding * np.abs(operator @ at).max(initial=0):
            step = self._iterated(operator, left, x, args, False)
            check_step(self.name, self.unknowns.unravel(step), x, self.tol)
        self.near.keep([*x, *args], True)

    def _by_user(self, operator: LinearOperator, b: Any) -> Any:
        """Return what the user's linear solver gives, checked."""
        assert self.solver is not None
        found = self.solver(operator, b.copy())  # which it may overwrite
        u, info = found if isinstance(found, tuple) and len(found) == 2 else (found, 0)
        u = np.asarray(u, np.float64)
        if u.shape != b.shape:
            raise ValueError(
                f"{self.name}: linear_solver must give the solution of A u = b as an array of shape {b.shape}, or a "
                f"pair (solution, info) as SciPy's do, got an array of shape {u.shape}."
            )
        if info:
            raise stuck(self.name, operator, b, u, f"linear_solver, which gave info={info}")
        if not np.linalg.norm(operator @ u - b) <= self.tol * np.linalg.norm(b):
            raise stuck(self.name, operator, b, u, "linear_solver")
        return u


class _Solve:
    """Which of the systems to solve, and which leaves are b, x and args."""

    def __init__(self, system: System, transposed: bool, rows: int, columns: int, free: list[int]) -> None:
        self.system, self.transposed, self.free = system, transposed, free
        self.parts = slice(0, rows), slice(rows, rows + columns), slice(rows + columns, None)
        self.point = [i - rows for i in free if i >= rows]  # of those that A depends on

    def split(self, leaves: Sequence[Any]) -> list[Leaves]:
        """(b, x, args) among the leaves."""
        return [list(leaves[part]) for part in self.parts]

    def product(self, u: Leaves, leaves: Sequence[Any]) -> tuple[Any, Leaves]:
        """(A u, or A^H u, as a function of those of x and args that are differentiated; these)."""
        _, x, args = self.split(leaves)
        point, count = [*x, *args], len(x)
        product = lambda p: self.system.apply(u, p[:count], p[count:], self.transposed)  # noqa: E731
        return restricted(product, point, self.point), [point[i] for i in self.point]


def _implicit_solve(how: _Solve, *leaves: Any) -> Leaves:
    b, x, args = how.split(leaves)
    return how.system.solve_plain(b, x, args, how.transposed)


def _vjp(cotangent: Leaves, u: Leaves, how: _Solve, *leaves: Any) -> tuple[Any, ...]:
    how.system.captured.renew()
    _, x, args = how.split(leaves)
    v = how.system.solve(list(cotangent), x, args, not how.transposed)
    grads: Leaves = [None] * (len(x) + len(args))
    if how.point:
        product, point = how.product(list(u), leaves)
        grads = replaced(grads, how.point, Linearized(product, point).pull([-y for y in v]))
    return None, *v, *grads


def _jvp(tangents: tuple[Any, ...], u: Leaves, how: _Solve, *leaves: Any) -> Leaves:
    how.system.captured.renew()
    b, x, args = how.split(leaves)
    moving = tangents[1:]
    right = list(moving[: len(b)])
    if how.point:
        product, point = how.product(list(u), leaves)
        pushed = push(product, point, [moving[len(b) + i] for i in how.point])
        right = [y - z for y, z in zip(right, pushed, strict=True)]
    return how.system.solve(right, x, args, how.transposed)


_implicit_solve.__name__ = "implicit_solve"  # of the node
_solution = CustomFunction(_implicit_solve, _vjp, _jvp)
_solution._rule.instead = ONE_SYSTEM
