"""The solution of an initial value problem as a function with rules: the adjoint and the variational equation.

Both are initial value problems again, solved by the same function, so that every order and nesting follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from scipy.optimize import OptimizeResult

from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.tensor import Tensor, ndarray
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.by_sample import by_sample
from pullback.func.implicit.convergence import check_unchanged
from pullback.func.implicit.flat import Kept, Layout
from pullback.func.implicit.functions import plain, without_capture
from pullback.func.implicit.linear_maps import Leaves, Linearized, replaced, value_and_push
from pullback.func.implicit.linear_systems import ONE_SYSTEM
from pullback.func.rules.calls import moves
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured

Slope = Callable[[Leaves, Any, Leaves], Leaves]  # dy/dt = slope(y, t, args)


_GROWTH = 1e3  # of errors on the way back
_HALVINGS = 10
_SHARE = 0.01  # absolute tolerances of derivatives, as a part of the relative one
_WORK = 50_000, 20  # evaluations of a slope that an attempt to go backward may take; or so many times those of forward


class Integrator(NamedTuple):
    """How SciPy's solve_ivp is to run."""

    name: str
    method: str
    rtol: float
    atol: Any  # a number, or one for each real number of y
    left: list[int] | None = None  # how often slopes may still be evaluated

    def run(self, slope: Slope, y0: Leaves, t: Any, args: Leaves, every_step: bool = False, **options: Any) -> Any:
        """(what solve_ivp has found on plain arrays at times t or after every step, the layout of y in it)."""
        layout = Layout(y0, f"{self.name}: y0")
        first = [without_capture(d, self.name, "slope f") for d in slope(y0, t[0], args)]
        if [np.shape(d) for d in first] != layout.shapes:
            raise GradientError(
                f"{self.name}: f must give dy/dt like y, with arrays of shapes {layout.shapes}, got "
                f"{[np.shape(d) for d in first]}."
            )

        def flat(at: float, y: Any) -> Any:
            if self.left is not None:
                self.left[0] -= 1
                if self.left[0] < 0:
                    raise ConvergenceError(f"{why}: the slope was evaluated too often.")
            found = slope(layout.unravel(y), at, args)
            return layout.ravel([without_capture(d, self.name, "slope f") for d in found])

        ends, options = (float(t[0]), float(t[-1])), {"rtol": self.rtol, "atol": self.atol, **options}
        start = layout.ravel(y0)
        if ends[0] == ends[1]:
            resting = np.repeat(start[:, None], len(t), 1)
            return OptimizeResult(y=resting, t=t, sol=lambda _: start, nfev=0), layout
        once = np.append(True, np.diff(t) != 0)  # SciPy wants each time once
        why = f"{self.name}: {self.method} stopped between t={ends[0]} and {ends[1]}"
        try:
            found = scipy.integrate.solve_ivp(
                flat, ends, start, self.method, None if every_step else np.asarray(t)[once], **options
            )
        except ValueError as error:
            if "infs or NaNs" not in str(error):  # what linear algebra says in the implicit methods
                raise
            raise ConvergenceError(f"{why}: the solution or its slope has become infinite or nan.") from error
        if found.status != 0:
            raise ConvergenceError(f"{why}: {found.message}")
        if not every_step:
            found.y = found.y[:, np.cumsum(once) - 1]
        return found, layout

    def near(self, found: Leaves, expected: Leaves, beside: Leaves) -> bool:
        """True if y at a time is what it is known to be, to what the tolerances and some growth of errors leave."""
        size = max((float(np.abs(y).max()) for y in (*expected, *beside) if np.size(y)), default=0.0)
        allowed = _GROWTH * (np.max(self.atol) + self.rtol * size)
        return all(np.abs(a - b).max(initial=0) <= allowed for a, b in zip(found, expected, strict=True))


class Problem:
    """dy/dt = slope(y, t, args), y(t[0]) = y0, on leaves; the slope calls what is captured."""

    def __init__(self, slope: Slope, integrator: Integrator, captured: Captured) -> None:
        self._of, self.integrator, self.captured = slope, integrator, captured

    def slope(self, y: Leaves, t: Any, args: Leaves) -> Leaves:
        """dy/dt, in arrays of its own: the user's function may give the same one each time."""
        found = self._of(y, t, args)
        shared = (ndarray, Tensor) if self.captured.buffers or self.captured.held_tensors else ndarray
        return [d.copy() if isinstance(d, shared) else d for d in found]

    def solve(self, y0: Leaves, t: Any, args: Leaves) -> Leaves:
        """y at the times t, along a new first dimension of each leaf; differentiable by everything."""
        return _trajectory(_Solve(self, len(y0), [t, *y0, *args]), t, *y0, *args)  # type: ignore[no-any-return]

    def values(self, y0: Leaves, t: Any, args: Leaves, recorded: bool) -> Any:
        """(what solve_ivp finds for plain arrays; if it is `recorded` with `sol`, y at any time; the layout of y)."""
        return self.integrator.run(self.slope, y0, t, args, dense_output=recorded)


class _Solve:
    """One call: which leaves are y0 and args, and which of t and args are differentiated."""

    layout: Layout
    work = 0  # evaluations of the slope in forward

    def __init__(self, problem: Problem, count: int, leaves: Leaves) -> None:
        self.problem, self.count = problem, count
        self.of_time = moves(leaves[0])
        self.recorded = any(map(moves, leaves))
        self.free = [i for i, x in enumerate(leaves[1 + count :]) if moves(x) and x.dtype.kind in "fc"]
        self.kept = Kept()  # (y at any time, as the numbers of `layout`; some slopes), of each sample of a batch

    def at(self, t: Any, leaves: Sequence[Any]) -> Any:
        """The solution for these numbers, if forward has kept it; refuse a slope that is no longer what it was."""
        self.problem.captured.renew()
        kept = self.kept.at([plain(x) for x in (t, *leaves)])
        if kept is None:
            return None
        solution, ys, before = kept
        args = [plain(x) for x in self.split(leaves)[1]]
        for i, y, expected in zip(_some(len(t)), ys, before, strict=True):
            check_unchanged(
                self.problem.integrator.name, "the slope f", self.problem.slope(y, plain(t)[i], args), expected
            )
        return solution

    def split(self, leaves: Sequence[Any]) -> tuple[Leaves, Leaves]:
        """(y0, args)."""
        return list(leaves[: self.count]), list(leaves[self.count :])

    def slopes(self, ys: Leaves, t: Any, args: Leaves) -> list[Leaves]:
        """dy/dt at each of the times."""
        return [self.problem.slope([y[i] for y in ys], t[i], args) for i in range(len(t))]

    def of_free(self, t: Any, args: Leaves) -> Callable[[Leaves], Leaves]:
        """The slope as a function of y and of those of args that are differentiated."""
        count, slope = self.count, self.problem.slope
        return lambda point: slope(point[:count], t, replaced(args, self.free, point[count:]))

    def adjoint(self) -> Problem:
        """The problem of y, the cotangent of y and that of the free args, which runs backward in time."""
        count = self.count

        def slope(state: Leaves, t: Any, args: Leaves) -> Leaves:
            y, cotangent = state[:count], state[count : 2 * count]
            linearized = Linearized(self.of_free(t, args), [*y, *(args[i] for i in self.free)])
            return [*linearized.values, *(-g for g in linearized.pull(cotangent))]

        return Problem(slope, self.problem.integrator, self.problem.captured)

    def pulled_back(self, solution: Any, times: Any, ys: tuple[Leaves, Leaves], state: Leaves, args: Leaves) -> Leaves:
        """The cotangents of y and of the free args at the beginning of an interval, from those at its end."""
        integrator = self.problem.integrator
        atol = self.of_cotangents(ys, state, args)
        if solution is not None and not any(isinstance(x, Tensor) for x in (*times, *state, *args)):
            integrator = integrator._replace(atol=atol, left=None)
            along = Problem(self.along_solution(solution), integrator, self.problem.captured)
            return [x[1] for x in along.solve(state, np.stack(times[::-1]), args)]
        adjoint, (least, factor) = self.adjoint(), _WORK
        both = np.concatenate([np.broadcast_to(integrator.atol, len(_sizes(ys[0]))), atol])
        adjoint.integrator = integrator._replace(atol=both, left=[max(least, factor * self.work)])
        return self.with_solution(adjoint, times, ys, state, args)

    def of_cotangents(self, ys: tuple[Leaves, Leaves], state: Leaves, args: Leaves) -> Any:
        """Absolute tolerances for cotangents of y and of the free args, which have units of their own.

        A cotangent times the size of what it belongs to is a change of the loss: all of these are compared to the
        largest one at the end.
        """
        sizes = np.maximum(*map(_sizes, ys)) + self.problem.integrator.atol / self.problem.integrator.rtol
        cotangents = _sizes(state[: self.count])
        loss = np.max(cotangents * sizes, initial=0)
        loss = loss if 0 < loss < np.inf else 1.0
        of_args = _sizes([args[i] for i in self.free])
        sizes = np.concatenate([sizes, np.where(of_args > 0, of_args, np.max(of_args, initial=0) or 1.0)])
        return _SHARE * self.problem.integrator.rtol * loss / np.where(sizes > 0, sizes, 1.0)

    def along_solution(self, solution: Any) -> Slope:
        """How cotangents change where y is at hand, as it was found."""
        last: list[Any] = [None, None]  # implicit methods ask many times for slopes at one time

        def slope(state: Leaves, t: Any, args: Leaves) -> Leaves:
            if last[0] != t:
                y = self.layout.unravel(solution(t))
                last[:] = t, Linearized(self.of_free(t, args), [*y, *(args[i] for i in self.free)])
            return [-g for g in last[1].pull(state[: self.count], again=True)]

        return slope

    def with_solution(
        self, adjoint: Problem, times: Any, ys: tuple[Leaves, Leaves], state: Leaves, args: Leaves, halvings: int = 0
    ) -> Leaves:
        """The same where y has derivatives too, and goes backward with its cotangents.

        Where that does not lead to where y has come from, because differences that fade forward grow backward, the
        halves of the interval are tried.
        """
        (begin, end), count, integrator = ys, self.count, self.problem.integrator
        refusal = None
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = [x[1] for x in adjoint.solve([*end, *state], np.stack(times[::-1]), args)]
        except ConvergenceError as error:
            refusal = error
        else:
            known = [[plain(y) for y in leaves] for leaves in (found[:count], begin, end)]
            if integrator.near(*known):
                return found[count:]
        exhausted = adjoint.integrator.left is not None and adjoint.integrator.left[0] < 0
        if halvings == _HALVINGS or exhausted:
            raise ConvergenceError(
                f"{integrator.name}: the adjoint equation cannot be solved backward from t={plain(times[1])} to "
                f"{plain(times[0])}, where y must come back to where it was"
                f"{' (after very many evaluations of f)' if exhausted else ''}: the problem is stiff, or unstable "
                "backward in time. A derivative of the gradient needs it. Use sensitivity='discrete' with an explicit "
                "method, or jvp of jvp, which only goes forward, or give more times t."
            ) from refusal
        at = times[0] + (times[1] - times[0]) / 2
        middle = [x[1] for x in self.problem.solve(begin, np.stack([times[0], at]), args)]
        state = self.with_solution(adjoint, (at, times[1]), (middle, end), state, args, halvings + 1)
        return self.with_solution(adjoint, (times[0], at), (begin, middle), state, args, halvings + 1)

    def variational(self, y0: Leaves, tangent: Leaves, args: Leaves, moving: Leaves) -> Problem:
        """The problem of y and its tangent; the tangents of the free args stand behind the args."""
        count, many = self.count, len(self.free)

        def slope(state: Leaves, t: Any, args: Leaves) -> Leaves:
            args, moving = args[: len(args) - many], args[len(args) - many :]
            y, tangent = state[:count], state[count:]
            point = [*y, *(args[i] for i in self.free)]
            values, moved = value_and_push(self.of_free(t, args), point, [*tangent, *moving])
            return [*values, *moved]

        integrator = self.problem.integrator
        # A tangent is as large as y where everything moves by its own size: tolerances are for this.
        sizes = _sizes(y0) + integrator.atol / integrator.rtol
        of_args, moves = _sizes(args), _sizes(moving)
        shares = [_sizes(tangent) / np.where(sizes > 0, sizes, 1.0), moves / np.where(of_args > 0, of_args, 1.0)]
        share = np.max(np.concatenate(shares), initial=0)
        atol = _SHARE * integrator.rtol * (share if 0 < share < np.inf else 1.0) * sizes
        both = np.concatenate([np.broadcast_to(integrator.atol, sizes.size), atol])
        return Problem(slope, integrator._replace(atol=both), self.problem.captured)


def _odeint(how: _Solve, t: Any, *leaves: Any) -> Leaves:
    y0, args = how.split(leaves)
    if len(t) == 1:
        return [np.asarray(y)[None].copy() for y in y0]
    how.problem.captured.begin()
    found, layout = how.problem.values(y0, t, args, how.recorded)
    how.layout, how.work = layout, max(how.work, found.nfev)
    if how.recorded:
        how.problem.captured.renew(for_sample=True)
        ys = [layout.unravel(found.y[:, i]) for i in _some(len(t))]
        slopes = [how.problem.slope(y, t[i], args) for i, y in zip(_some(len(t)), ys, strict=True)]
        how.kept.keep([t, *leaves], (found.sol, ys, [[np.array(plain(d)) for d in slope] for slope in slopes]))
    return [np.stack(y) for y in zip(*map(layout.unravel, found.y.T), strict=True)]


def _some(count: int) -> list[int]:
    """The numbers of a few of so many times, the first and the last among them."""
    return sorted({round(i * (count - 1) / 4) for i in range(5)})


@adopting
def _vjp(cotangents: Leaves, ys: Leaves, how: _Solve, t: Any, *leaves: Any) -> tuple[Any, ...]:
    _, args = how.split(leaves)
    count, solution = how.count, how.at(t, leaves)
    pulled = [c[-1] for c in cotangents]
    gathered: Leaves = [np.zeros(np.shape(args[i]), np.result_type(args[i])) for i in how.free]
    for i in range(len(t) - 1, 0, -1):
        begin, end = ([y[j] for y in ys] for j in (i - 1, i))
        state = how.pulled_back(solution, (t[i - 1], t[i]), (begin, end), [*pulled, *gathered], args)
        pulled = [x + c[i - 1] for x, c in zip(state[:count], cotangents, strict=True)]
        gathered = state[count:]
    by_time: Any = None
    if how.of_time:  # y[i] moves with t[i]; with t[0] it starts later, from the same y0
        slopes = how.slopes(ys, t, args)
        by_time = [sum(_inner(c[i], d) for c, d in zip(cotangents, slopes[i], strict=True)) for i in range(len(t))]
        by_time[0] = by_time[0] - sum(_inner(p, d) for p, d in zip(pulled, slopes[0], strict=True))
        by_time = np.stack(by_time)
    return None, by_time, *pulled, *replaced([None] * len(args), how.free, gathered)


@adopting
def _jvp(tangents: tuple[Any, ...], ys: Leaves, how: _Solve, t: Any, *leaves: Any) -> Leaves:
    how.at(t, leaves)
    y0, args = how.split(leaves)
    _, by_time, *moving = tangents
    tangent, moving = moving[: how.count], moving[how.count :]
    slopes = how.slopes(ys, t, args) if how.of_time else []
    if slopes:
        tangent = [v - d * by_time[0] for v, d in zip(tangent, slopes[0], strict=True)]
    free, moving = [args[i] for i in how.free], [moving[i] for i in how.free]
    problem = how.variational(y0, tangent, free, moving)
    found = problem.solve([*y0, *tangent], t, [*args, *moving])[how.count :]
    if slopes:
        rates = [np.stack(d) for d in zip(*slopes, strict=True)]
        found = [v + d * by_time.reshape(-1, *[1] * (v.ndim - 1)) for v, d in zip(found, rates, strict=True)]
    return found


def _sizes(leaves: Leaves) -> Any:
    """The absolute value of each real number of leaves, as they are solved for; of a complex one it counts twice."""
    arrays = [np.asarray(plain(x)) for x in leaves]
    sizes = [np.repeat(np.abs(x).ravel(), 2 if x.dtype.kind == "c" else 1) for x in arrays]
    return np.concatenate([np.zeros(0), *sizes])


def _inner(cotangent: Any, slope: Any) -> Any:
    """The cotangent of a time at which a leaf has this slope: a real number."""
    product = np.conj(cotangent) * slope
    return np.sum(np.real(product) if np.iscomplexobj(product) else product)


_odeint.__name__ = "odeint"  # of the node
_trajectory = CustomFunction(_odeint, _vjp, _jvp)
_trajectory._rule.by_sample = by_sample
_trajectory._rule.instead = ONE_SYSTEM
