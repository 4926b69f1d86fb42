"""solve_ivp and odeint: what SciPy finds, differentiated by the equations that derivatives fulfil (func.odeint's).

SciPy runs once on plain numbers, with every option that it was given. Its steps are not differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from pullback.core.array_type import numbers_of
from pullback.core.errors import ConvergenceError, GradientError, UntraceableError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Numeric
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray
from pullback.func.implicit.api import custom_root
from pullback.func.implicit.flat import Kept, Layout
from pullback.func.implicit.functions import plain, without_capture
from pullback.func.implicit.initial_values_by_steps import METHODS, solved
from pullback.func.implicit.integrator import Integrator
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.implicit.trajectories import Problem
from pullback.func.left_behind import leave
from pullback.func.loops.rounds import bare
from pullback.func.repeated import programs_of, while_solving
from pullback.func.rules.calls import is_recorded, on_plain_arrays
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array
from pullback.scipy.rules.integrate.calls import Call, floating, solution_of


class _Ivp(Problem):
    """A call of a solver: values are SciPy's for that call. Behind the leaves of the call its last time is given."""

    time_first = True  # whether the slope is fun(t, y), else func(y, t)

    def __init__(self, call: Call, integrator: Integrator) -> None:
        super().__init__(partial(_slope, call, self.time_first), integrator, call.captures)
        self.call, self.count = call, len(call.leaves)
        self.form = self.count

    def values(self, y0: Leaves, t: AnyArray, args: Leaves, recorded: bool) -> tuple[OptimizeResult, Layout]:
        """SciPy's values at the times t; its solution at any other, if it is `recorded`."""
        layout = Layout(y0, f"{self.call.name}: y0")
        columns, solution, evaluations = self.found(y0[0], t, args, recorded)
        if layout.dtypes[0] == np.float64:
            found = np.stack(columns, 1)
        else:
            found, of_numbers = np.stack([layout.ravel([y]) for y in columns], 1), solution
            solution = lambda at: layout.ravel([of_numbers(at)])  # noqa: E731
        return OptimizeResult(y=found, sol=solution, nfev=evaluations), layout

    def found(self, y0: AnyArray, t: AnyArray, leaves: Leaves, recorded: bool) -> Any:
        """(y at each time, y as a function of time, how many slopes were evaluated)."""
        raise NotImplementedError

    def functions(self, leaves: Leaves) -> list[Any]:
        """The functions of plain leaves, which may give nothing that is being differentiated, and their arguments."""
        *functions, args = self.call.functions(leaves[: self.count])
        return [*(_checked(self.call.name, f) for f in functions), args]


def _slope(call: Call, time_first: bool, y: Leaves, t: Numeric, leaves: Leaves) -> Leaves:
    function, *_, args = call.functions(leaves[: len(call.leaves)])
    found = floating(function(t, y[0], *args) if time_first else function(y[0], t, *args))
    shape = np.shape(y[0])
    return [found if np.shape(found) == shape or np.size(found) != shape[0] else np.reshape(found, shape)]


def _checked(name: str, function: object) -> Any:
    """The function of plain numbers (or each of several), whose values are looked at."""
    if not callable(function):
        return [_checked(name, f) for f in function] if isinstance(function, (list, tuple)) else function

    def checked(*args: object) -> Arrays:
        found = function(*args)
        if type(found) is ndarray or not any(isinstance(x, Tensor) for x in flatten(found)[0]):
            return found
        return without_capture(array(found), name, "function")

    for key in ("terminal", "direction"):  # of events
        if hasattr(function, key):
            setattr(checked, key, getattr(function, key))
    return checked


class _SolveIvp(_Ivp):
    """A call of solve_ivp."""

    def __init__(self, call: Call) -> None:
        rtol, atol = call.options.get("rtol", 1e-3), np.asarray(call.options.get("atol", 1e-6))
        if atol.ndim and np.iscomplexobj(plain(call.given["y0"])):
            atol = np.repeat(atol, 2)
        rtol = max(float(np.min(rtol)), _LEAST)
        super().__init__(call, Integrator(call.name, call.given["method"], rtol, atol))
        self.runs = Kept()

    def run(self, y0: AnyArray, start: float, leaves: Leaves) -> OptimizeResult:
        """Return what SciPy finds for plain numbers, once for the same ones."""
        point = [y0, start, *leaves]
        if (found := self.runs.at(point)) is not None:
            return found
        given, options = self.call.given, self.call.options
        fun, events, jac, args = self.functions(leaves)
        with on_plain_arrays(self.call.name):
            found = None
            if events is jac is None and not given["vectorized"]:
                found, fun = self._by_steps(fun, y0, start, leaves, args)
            found = found or genuine(self.call.name)(
                fun, (start, leaves[-1]), y0, given["method"], dense_output=True, events=events,
                vectorized=given["vectorized"], args=args or None,
                **(options if jac is None else {**options, "jac": jac}),
            )  # fmt: skip
        if found.status < 0:
            raise ConvergenceError(f"{self.call.name}: no solution was found that has a derivative: {found.message}")
        self.runs.keep(point, found)
        return found

    def _by_steps(
        self, fun: Callable[..., AnyArray], y0: ArrayLike, start: float, leaves: Leaves, args: Sequence[object]
    ) -> tuple[Any, Callable[..., AnyArray] | None]:
        """(what an explicit method finds, if the slope is machine code; the function for SciPy if it is not)."""
        method, y0 = METHODS.get(self.call.given["method"]), np.asarray(y0)
        given = [*map(bare, leaves[: self.count])]
        known = ("slope", self.call.name, self.form, self.captured.likeness())
        plain = (
            y0.dtype == np.float64 and y0.ndim == 1 and all(issubclass(type(x), (ndarray, np.generic)) for x in given)
        )
        if method is None or known[-1] is None or not plain or not self.call.options.keys() <= _OF_STEPS:
            return None, fun
        with programs_of(known) as loan:
            slope = while_solving(
                self.captured,
                lambda t, y, *_: fun(float(t), y, *args),
                lambda t, y, *leaves: self.slope([y], t, [*leaves])[0],
                loan,
                for_rounds=True,
            )
            found = solved(slope, method, (start, leaves[-1]), y0, given, self.call.options)
            if found is not None:
                return found, None
            # SciPy calls it so often that it becomes a program for the next time.
            return genuine(self.call.name)(
                lambda t, y: slope(np.float64(t), y, *given), (start, leaves[-1]), y0, method, dense_output=True,
                **self.call.options,
            ), None  # fmt: skip

    def found(self, y0: AnyArray, t: AnyArray, leaves: Leaves, recorded: bool) -> Any:
        run = self.run(y0, float(t[0]), leaves)
        places = {float(at): i for i, at in enumerate(run.t)}
        between = run.sol(np.asarray(t)).T
        columns = [run.y[:, places[at]] if at in places else between[i] for i, at in enumerate(map(float, t))]
        return [run.y[:, 0], *columns[1:]], run.sol, run.nfev


_OF_STEPS = {"rtol", "atol", "first_step", "max_step"}  # the options of explicit methods
_LEAST = 2.3e-14  # what solve_ivp takes as the least relative tolerance


@solution_of("solve_ivp")
def _solve_ivp(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, ("fun", "events", "jac"), ("t_span", "y0", "t_eval"), given, named)
    found = _Solved(call).result()
    leave(call.captures)
    return found


class _Solved:
    """The result of solve_ivp, differentiable."""

    def __init__(self, call: Call) -> None:
        self.call, self.problem = call, _SolveIvp(call)
        self.y0 = floating(call.given["y0"])
        self.start, self.end = map(floating, call.given["t_span"])
        self.leaves = [*call.leaves, self.end.detach() if isinstance(self.end, Tensor) else float(self.end)]
        self.events = call.given["events"]
        if callable(self.events):
            self.events = [self.events]

    def at(self, times: AnyArray) -> AnyArray:
        """y at these times, which go on from the start: shape (times, numbers)."""
        every = np.concatenate([np.reshape(self.start, (1,)), times])
        return self.problem.solve([self.y0], every, self.leaves)[0][1:]

    def result(self) -> OptimizeResult:
        """As SciPy's, with tensors where something depends on what is differentiated."""
        wanted = self.call.given["t_eval"]
        if not all(numbers_of(x) is not None for x in (self.y0, self.start, *self.leaves) if isinstance(x, Tensor)):
            return self._of_batch(wanted)
        run = self.problem.run(plain(self.y0), float(plain(self.start)), [plain(x) for x in self.leaves])
        t_events = y_events = None
        end = self.end
        if self.events is not None:
            t_events = [self._times_of(i, times) for i, times in enumerate(run.t_events)]
            y_events = [self.at(times) if len(times) else np.array([]) for times in t_events]
            if run.status == 1:
                end = self._last(t_events, run.t[-1])
        if wanted is None:
            t: AnyArray = np.concatenate([np.reshape(self.start, (1,)), run.t[1:-1], np.reshape(end, (1,))])
            y: AnyArray = np.concatenate([self.y0[None], self.at(t[1:])])
        else:
            t = floating(wanted)
            self._check(plain(t), run)
            t = t[: int(np.sum(np.abs(plain(t) - run.t[0]) <= abs(run.t[-1] - run.t[0])))]
            y = self.at(t) if len(t) else np.zeros((0, len(self.y0)))
        sol = _Solution(self, run) if self.call.given["dense_output"] else None
        return type(run)({**run, "t": t, "y": y.T, "sol": sol, "t_events": t_events, "y_events": y_events})

    def _of_batch(self, wanted: ArrayLike | None) -> OptimizeResult:
        """Many samples at once, of which nothing is known but at the times that are asked for."""
        if wanted is None or self.events is not None or self.call.given["dense_output"]:
            if any(map(is_recorded, (self.y0, self.start, *self.leaves))):
                raise UntraceableError(
                    f"{self.call.name} chooses its steps by numbers. Give the times in t_eval, and leave out events "
                    "and dense_output, or call it outside of the compiled function."
                )
            raise GradientError(
                f"{self.call.name}: under vmap each sample has steps, events and a solution of its own. Give the times "
                "in t_eval, and leave out events and dense_output."
            )
        t = floating(wanted)
        return OptimizeResult(t=t, y=self.at(t).T, status=0, success=True, message="each sample by itself")

    def _check(self, t: AnyArray, run: OptimizeResult) -> None:
        """Raise what SciPy raises for these times."""
        start, end = float(plain(self.start)), float(plain(self.end))
        if t.ndim != 1:
            raise ValueError("`t_eval` must be 1-dimensional.")
        if np.any(t < min(start, end)) or np.any(t > max(start, end)):
            raise ValueError("Values in `t_eval` are not within `t_span`.")
        if np.any(np.diff(t) * np.sign(end - start) <= 0):
            raise ValueError("Values in `t_eval` are not properly sorted.")

    def _times_of(self, i: int, times: AnyArray) -> AnyArray:
        """When event number i happened: where its function of time and solution is zero."""
        call, last = self.call, float(plain(self.end))

        def condition(t: Numeric, y0: AnyArray, start: float, *leaves: object) -> AnyArray:
            own = list(leaves)
            _, event, _, args = call.functions(own)
            event = event if callable(event) else event[i]
            every = np.concatenate([np.reshape(start, (1,)), np.reshape(t, (1,))])
            y = self.problem.solve([y0], every, [*own, last])[0][-1]
            return np.reshape(array(event(t, y, *args)), ())

        def solver(at: float) -> AnyArray:
            found = custom_root(lambda *_: at, condition)
            found._name, found._captured = f"{call.name}: event {i}", call.captures
            return found(None, self.y0, self.start, *call.leaves)

        return array([solver(float(at)) for at in times]) if len(times) else times

    def _last(self, t_events: list[Any], end: float) -> AnyArray:
        """The time of the event that ended it."""
        for times in t_events:
            if len(times) and float(plain(times)[-1]) == end:
                return times[-1]
        raise GradientError(f"{self.call.name}: the event that ended the solution at t={end} is not among its events.")


class _Solution:
    """y at any time, as `sol` of SciPy's result gives it, differentiable by that time too."""

    def __init__(self, solved: _Solved, run: OptimizeResult) -> None:
        self._solved = solved
        self.t_min, self.t_max, self.ts = run.sol.t_min, run.sol.t_max, run.sol.ts

    def __call__(self, t: Numeric) -> AnyArray:
        """y at a time, or at several: shape (numbers,) or (numbers, times)."""
        self._solved.call.captures.renew()
        t = floating(t)
        at = np.reshape(t, (-1,))
        numbers = plain(at)
        if np.any(numbers < self.t_min) or np.any(numbers > self.t_max):
            raise GradientError(
                f"scipy.integrate.solve_ivp: sol has derivatives only from {self.t_min} to {self.t_max}, got times "
                "outside."
            )
        order = np.argsort(numbers)
        if self.ts[-1] < self.ts[0]:
            order = order[::-1]
        y = self._solved.at(at[order])[np.argsort(order)]
        return y.T if np.ndim(t) else y[0]


# -- odeint -----------------------------------------------------------------------------------------------------------
class _Odeint(_Ivp):
    """A call of odeint: values are its own, between them stands solve_ivp's LSODA, with the same tolerances."""

    def __init__(self, call: Call) -> None:
        rtol, atol = (_ODEINT if call.given[key] is None else call.given[key] for key in ("rtol", "atol"))
        self.time_first = bool(call.given["tfirst"])
        super().__init__(call, Integrator(call.name, "LSODA", max(float(np.min(rtol)), _LEAST), np.asarray(atol)))
        self.form = self.time_first, self.count
        self.said: list[Any] = []

    def found(self, y0: AnyArray, t: AnyArray, leaves: Leaves, recorded: bool) -> Any:
        func, Dfun, args = self.functions(leaves)
        given = {key: x for key, x in self.call.given.items() if key not in ("func", "y0", "t", "args", "Dfun")}
        y, info = genuine(self.call.name)(func, y0, t, args=args, Dfun=Dfun, **{**given, "full_output": True})
        if info["message"] != "Integration successful.":
            raise ConvergenceError(f"{self.call.name}: no solution was found that has a derivative: {info['message']}")
        self.said.append(info)
        if not recorded:
            return list(y), None, 0
        run, layout = self.integrator.run(self.slope, [y0], t, leaves, dense_output=True)
        solution = run.sol if layout.dtypes[0] == np.float64 else lambda at: layout.unravel(run.sol(at))[0]
        return list(y), solution, run.nfev


_ODEINT = 1.49012e-8  # its tolerances


@solution_of("odeint")
def _odeint(name: str, *given: object, **named: object) -> AnyArray | tuple[AnyArray, dict[str, Any]]:
    call = Call(name, ("func", "Dfun"), ("y0", "t"), given, named)
    y0, t = np.atleast_1d(floating(call.given["y0"])), floating(call.given["t"])
    problem = _Odeint(call)
    y = problem.solve([y0], t, call.leaves)[0]
    leave(call.captures)
    return (y, problem.said[0]) if call.given["full_output"] else y
