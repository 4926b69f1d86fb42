"""A solver and its condition as one differentiable function: what the public functions of this folder make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import cuts
from pullback.core.array_type import numbers_of
from pullback.core.errors import GradientError, type_name
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.convergence import check_residual, found_by
from pullback.func.implicit.flat import Layout
from pullback.func.implicit.linear_maps import Leaves, Linearized, push, replaced, restricted
from pullback.func.implicit.linear_systems import ONE_SYSTEM, System
from pullback.func.left_behind import leave
from pullback.func.rules.calls import moves, stripped
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured

Condition = Callable[..., Any]  # of (x, *args): a tree of as many numbers as x has, which are zero


class ImplicitFunction:
    """(x0, *args) -> x with condition(x, *args) = 0. The solver is never looked into."""

    _dense = 0  # more unknowns than usual, for which the matrix is formed all the same
    _captured: Captured | None = None  # what the condition calls, where that is known; else it is captured itself

    def __init__(
        self,
        name: str,
        what: str,
        solver: Condition,
        condition: Condition,
        linear_solver: Any,
        tol: float,
        has_aux: bool,
    ) -> None:
        functools.update_wrapper(self, solver)
        self._name = f"{name}({getattr(solver, '__name__', type(solver).__name__)})"
        self._what, self._solver, self._condition, self._linear_solver = what, solver, condition, linear_solver
        self._tol, self._has_aux = tol, has_aux

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def _system(self, call: Call) -> System:
        solver = call.linear_solver if self._linear_solver else None
        system = System(self._name, call.residual, solver, self._tol, call.captured)
        system.dense = max(system.dense, self._dense)
        return system

    def _functions(self) -> tuple[Any, ...]:
        """Those that run again for a derivative."""
        return self._condition, self._linear_solver

    def __call__(self, x0: Any, *args: Any, **options: Any) -> Any:
        call = Call(self, x0, args, options)
        leaves = _implicit(call, self._system(call), *call.leaves())
        leave(call.captured)
        if call.beside is not None:
            call.beside.samples = call.captured.samples
            leave(call.beside)
        solution = unflatten(call.form, leaves)
        return (solution, call.aux[-1]) if self._has_aux else solution


class Call:
    """One call of an implicit function."""

    form: Any  # the structure of the solution

    def __init__(self, implicit: ImplicitFunction, x0: Any, args: Any, options: Any) -> None:
        self.implicit = implicit
        for key, value in options.items():
            if any(map(moves, flatten(value)[0])):
                raise GradientError(
                    f"{implicit._name}: {key!r} is being differentiated, but keyword arguments go only to the solver, "
                    "and have no derivative. Pass it by position, to solver and condition; or detach() it."
                )
        start, structure = flatten((x0, options))
        self.x0, self.options = unflatten(structure, [plain(x) for x in start])
        self._leaves, self.args = flatten(args)
        self.free = [i for i, x in enumerate(self._leaves) if moves(x) and x.dtype.kind in "fc"]
        self.captured = implicit._captured or Captured(implicit._name, *implicit._functions())
        self.aux: list[Any] = []  # what the solver has given beside the solution
        self.beside: Captured | None = None  # what the solver captures, which does not run again
        if self.free and not implicit._captured:
            self.beside = Captured(implicit._name, implicit._solver)
            self.beside.keep([self._leaves[i] for i in self.free])
            self.captured.keep([self._leaves[i] for i in self.free])

    def leaves(self) -> Leaves:
        """The arguments in leaves, which the caller keeps from now on."""
        leaves, self._leaves = self._leaves, []
        return leaves

    def function(self, nr: int) -> Any:
        """One of the functions that run again, which reads what it read at the call."""
        return (self.implicit._functions() if self.implicit._captured else self.captured.given())[nr]

    def linear_solver(self, operator: Any, b: Any) -> Any:
        """Return what the user's linear solver gives."""
        return self.function(1)(operator, b)

    def residual(self, x: Leaves, args: Leaves) -> Leaves:
        """The condition, of leaves."""
        return flatten(self.function(0)(unflatten(self.form, x), *unflatten(self.args, args)))[0]

    def solved(self, system: System, args: Leaves) -> Leaves:
        """The solution for plain arguments, checked, and noted in the system of its derivatives."""
        implicit, name = self.implicit, self.implicit._name
        self.captured.begin()
        found = implicit._solver(self.x0, *unflatten(self.args, args), **self.options)
        if implicit._has_aux:
            if not isinstance(found, tuple) or len(found) != 2:
                raise GradientError(f"{name}: with has_aux=True the solver must return a pair (solution, aux).")
            found, aux = found
            self.aux.append(aux)
        self.captured.renew(for_sample=True)
        x, self.form = flatten(found_by(name, found))
        x = [without_capture(y, name, "solver") for y in x]
        system.unknowns = Layout(x, f"{name}: what the solver returns")
        residual = [without_capture(y, name, "condition") for y in self.residual(x, args)]
        system.equations = Layout(residual, f"{name}: the condition")
        rows, columns = system.equations.size, system.unknowns.size
        if rows != columns:
            raise GradientError(
                f"{name}: the condition gives {rows} numbers for a solution of {columns}; the implicit function "
                "theorem needs as many equations as unknowns."
            )
        scale = functools.partial(adopting(push), lambda x: self.residual(x, args), x, x)
        check_residual(name, implicit._what, residual, scale, implicit._tol)
        if self.free:
            system.left.keep([*x, *args], [np.array(y) for y in residual])
        return x


def _solution(call: Call, system: System, *args: Any) -> Leaves:
    return call.solved(system, list(args))


@adopting
def _vjp(cotangent: Leaves, x: Leaves, call: Call, system: System, *args: Any) -> tuple[Any, ...]:
    call.captured.renew()
    given = list(args)
    u = system.solve(list(cotangent), x, given, transposed=True)
    by_args = restricted(system.by_args(x), given, call.free)
    linearized = Linearized(by_args, [given[i] for i in call.free])
    if not linearized.depends() and not linearized.run.explained:
        cuts.warn(
            linearized.run, call.implicit._name, call.implicit._condition, ["the arguments that are differentiated"]
        )
    return None, None, *replaced([None] * len(args), call.free, linearized.pull([-y for y in u]))


@adopting
def _jvp(tangents: tuple[Any, ...], x: Leaves, call: Call, system: System, *args: Any) -> Leaves:
    call.captured.renew()
    given = list(args)
    by_args = restricted(system.by_args(x), given, call.free)
    moved = push(by_args, [given[i] for i in call.free], [tangents[2 + i] for i in call.free])
    return system.solve([-y for y in moved], x, given, transposed=False)


_solution.__name__ = "implicit_function"  # of the node
_implicit = CustomFunction(_solution, _vjp, _jvp)
_implicit._rule.instead = ONE_SYSTEM
_implicit._rule.beside = lambda args: args[0].aux


def plain(x: Any) -> Any:
    """The numbers of a leaf that has no part in the derivative."""
    numbers = numbers_of(x) if isinstance(x, Tensor) else None
    return x if numbers is None else numbers.copy()[()]


def without_capture(x: Any, name: str, who: str) -> Any:
    """A leaf that solver or condition gave for plain arguments: a derivative that it has is by what they capture."""
    x = stripped(x)
    if isinstance(x, Tensor):
        raise GradientError(
            f"{name}: the {who} uses a variable that is being differentiated but is not an argument (its result, "
            f"of shape {x.shape}, depends on one). Its derivative would be lost. Pass it to the function, "
            f"which hands it on to solver and condition as an argument, or detach() it."
        )
    return x


def check_functions(name: str, **functions: Any) -> None:
    """Refuse what cannot be called."""
    for role, given in functions.items():
        if not callable(given):
            raise TypeError(f"func.{name}: {role} must be callable, got {type_name(given)}.")
