"""The solution of an initial value problem as a function with rules: the adjoint and the variational equation.

Both are initial value problems again, solved by the same function, so that every order and nesting follows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from pullback.core.errors import ConvergenceError
from pullback.core.tensor import Tensor, ndarray
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.by_sample import by_sample
from pullback.func.implicit.convergence import check_unchanged
from pullback.func.implicit.flat import Kept, Layout
from pullback.func.implicit.functions import plain
from pullback.func.implicit.initial_values_by_steps import METHODS, stepped, warmed
from pullback.func.implicit.integrator import Integrator, Slope
from pullback.func.implicit.linear_maps import Leaves, Linearized, replaced, value_and_push
from pullback.func.implicit.linear_systems import ONE_SYSTEM
from pullback.func.implicit.sensitivities import affordable, are_plain, coefficients_of, columns, sensitivities, tried
from pullback.func.repeated import Loan, programs_of, while_solving
from pullback.func.rules.calls import moves
from pullback.func.rules.custom import CustomFunction
from pullback.graph.captured import Captured

_HALVINGS = 10
_SHARE = 0.01  # absolute tolerances of derivatives, as a part of the relative one
_WORK = 50_000, 20  # evaluations of a slope that an attempt to go backward may take; or so many times those of forward


class Problem:
    """dy/dt = slope(y, t, args), y(t[0]) = y0, on leaves; the slope calls what is captured.

    `form` is equal for problems whose slopes call the user's functions alike; None for no other.
    """

    form: Hashable | None = None

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
        self.problem, self.count, self.captured = problem, count, problem.captured
        self.of_time = moves(leaves[0])
        self.recorded = any(map(moves, leaves))
        self.of_start = self.of_time or any(map(moves, leaves[1 : 1 + count]))
        self.free = [i for i, x in enumerate(leaves[1 + count :]) if moves(x) and x.dtype.kind in "fc"]
        self.moved = Kept()  # (the sensitivities,), of each sample of a batch
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

    def sensitivities(self, t: Any, leaves: Sequence[Any]) -> Any:
        """dy/d(y0, free args) at the times t as one matrix; None where the equations for derivatives are to be solved.

        Rows are the numbers of y at all times.
        """
        if not are_plain((t, *leaves)):
            return None
        point = [plain(x) for x in (t, *leaves)]
        if (found := self.moved.at(point)) is None:
            solution = self.at(t, leaves)
            found = (self._sensitivities(solution, np.asarray(point[0]), *self.split(point[1:])),)
            self.moved.keep(point, found)
        return found[0]

    def _sensitivities(self, solution: Any, t: Any, y0: Leaves, args: Leaves) -> Any:
        if getattr(solution, "ts", None) is None or self.problem.captured.has_effects:
            return None
        free = [np.asarray(args[i]) for i in self.free]
        start = [np.asarray(y) for y in y0]
        states, directions = (sum(x.size for x in leaves) for leaves in (start, [*start, *free]))
        if not affordable(states, directions) or any(x.dtype != np.float64 for x in (*start, *free)):
            return None

        def slope(y: Leaves, at: Any, moving: Leaves) -> Leaves:
            return self.problem.slope(y, at, replaced(args, self.free, moving))

        integrator, captured = self.problem.integrator, self.problem.captured

        def compute() -> Any:
            found = self._by_steps(solution, t, start, free, args)
            return (
                found
                if found is not None
                else sensitivities(
                    coefficients_of(slope, start, free),
                    solution,
                    t,
                    states,
                    directions - states,
                    self.of_start,
                    integrator.rtol,
                )
            )

        found = tried(compute, outermost=captured.is_alone())
        return None if found is None else found.reshape(-1, found.shape[-1])

    def _by_steps(self, solution: Any, t: ndarray, start: Leaves, free: Leaves, args: Leaves) -> Any:
        """The same by the method of forward, which takes y and its derivatives along, if that is machine code."""
        integrator, method = self.problem.integrator, METHODS.get(self.problem.integrator.method)
        if method is None or any(x.dtype != np.float64 for x in start):
            return None
        states, many = sum(x.size for x in start), sum(x.size for x in free)
        first = 0 if self.of_start else states
        numbers = [nr for nr, x in enumerate(args) if _is_number(x)]

        def along(at: Any, state: Any, *leaves: Any) -> Any:
            y, moved = state[:states], np.reshape(state[states:], (states, -1))
            given = replaced(args, numbers, leaves)

            def slope(y: Leaves, at: Any, moving: Leaves) -> Leaves:
                return self.problem.slope(y, at, replaced(given, self.free, moving))

            by = coefficients_of(slope, start, [given[i] for i in self.free])(y[None], np.reshape(at, (1,)))[0]
            by_args = by[:, states:]
            if self.of_start and many:
                by_args = np.concatenate([np.zeros((states, states)), by_args], 1)
            rates = self.problem.slope([x[0] for x in columns(y[None], start)], at, given)
            change = by[:, :states] @ moved + by_args if many else by[:, :states] @ moved
            return np.concatenate([np.reshape(x, (-1,)) for x in (*rates, change)])

        with programs_of(self.likeness("sensitivities", args)) as loan:
            pushed = while_solving(self.problem.captured, along, loan=loan, for_rounds=True)
            given = [np.asarray(args[nr], np.float64) for nr in numbers]
            begin = np.concatenate([x.reshape(-1) for x in start])
            state = np.concatenate([begin, np.eye(states, states + many, 0)[:, first:].reshape(-1)])
            if not warmed(pushed, loan, float(t[0]), state, given):
                return None
            # A derivative times the size of what it is by is as large as y where everything moves by its own size.
            allowed = np.broadcast_to(integrator.atol, (states,))
            sizes = np.abs(solution(np.asarray(t))).max(1) + allowed / integrator.rtol
            by = np.concatenate([sizes, *(np.abs(x).reshape(-1) for x in free)])[first:]
            by = np.where(by > 0, by, 1.0)
            atol = _SHARE * integrator.rtol * sizes[:, None] / by
            atol = np.concatenate([allowed, atol.reshape(-1)])
            once = np.append(True, np.diff(t) != 0)
            found = stepped(pushed, method, [*map(float, t[once])], state, given, rtol=integrator.rtol, atol=atol)
        if found is None:
            return None
        return found[np.cumsum(once) - 1, states:].reshape(len(t), states, -1)

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

    def pulled_back(
        self, along: Slope | None, times: Any, ys: tuple[Leaves, Leaves], state: Leaves, args: Leaves
    ) -> Leaves:
        """The cotangents of y and of the free args at the beginning of an interval, from those at its end."""
        integrator = self.problem.integrator
        atol = self.of_cotangents(ys, state, args)
        if along is not None and not any(isinstance(x, Tensor) for x in (*times, *state, *args)):
            integrator = integrator._replace(atol=atol, left=None)
            problem = Problem(along, integrator, self.problem.captured)
            return [x[1] for x in problem.solve(state, np.stack(times[::-1]), args)]
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

    def likeness(self, what: str, args: Leaves) -> Hashable | None:
        """A value that is equal where `what` does the same to the numbers that it gets; None if none tells."""
        others = [(nr, type(x), x) for nr, x in enumerate(args) if not _is_number(x)]
        if self.problem.form is None or any(kind not in (bool, int, str, type(None)) for _, kind, _ in others):
            return None
        functions = self.problem.captured.likeness()
        known = what, self.problem.integrator.name, self.problem.form, self.count, (*self.free,), (*others,)
        return None if functions is None else (known, functions)

    def along_solution(self, solution: Any, args: Leaves, loan: Loan | None) -> Slope:
        """How cotangents change where y is at hand, as it was found."""
        count, numbers = self.count, [nr for nr, x in enumerate(args) if _is_number(x)]
        last: list[Any] = [None, None]  # implicit methods ask many times for slopes at one time

        def linearized(t: Any, leaves: Sequence[Any]) -> Linearized:
            given = replaced(args, numbers, leaves[2 * count :])
            return Linearized(self.of_free(t, given), [*leaves[:count], *(given[i] for i in self.free)])

        def pulled(t: Any, *leaves: Any) -> Leaves:
            return [-g for g in linearized(t, leaves).pull(leaves[count : 2 * count])]

        def pulled_again(t: Any, *leaves: Any) -> Leaves:
            if last[0] != t:
                last[:] = t, linearized(float(t), leaves)
            return [-g for g in last[1].pull(leaves[count : 2 * count], again=True)]

        pull = while_solving(self.problem.captured, pulled_again, pulled, loan)

        def slope(state: Leaves, t: Any, args: Leaves) -> Any:
            return pull(
                np.float64(t) if type(t) is float else t,
                *self.layout.unravel(solution(t)),
                *state[:count],
                *[args[nr] for nr in numbers],
            )

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

    def variational(self, y0: Leaves, tangent: Leaves, args: Leaves, moving: Leaves, loan: Loan | None) -> Problem:
        """The problem of y and its tangent; the tangents of the free args stand behind the args."""
        count, many = self.count, len(self.free)

        def pushed(t: Any, *leaves: Any) -> Leaves:
            y, tangent, args = [*leaves[:count]], leaves[count : 2 * count], [*leaves[2 * count :]]
            args, moving = args[: len(args) - many], args[len(args) - many :]
            point = [*y, *(args[i] for i in self.free)]
            values, moved = value_and_push(self.of_free(t, args), point, [*tangent, *moving])
            return [*values, *moved]

        def slope(state: Leaves, t: Any, args: Leaves) -> Any:
            return push(np.float64(t) if type(t) is float else t, *state, *args)

        push = while_solving(self.problem.captured, pushed, loan=loan)
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
    return how.layout.unravel_rows(found.y.T)


def _some(count: int) -> list[int]:
    """The numbers of a few of so many times, the first and the last among them."""
    return sorted({round(i * (count - 1) / 4) for i in range(5)})


@adopting
def _vjp(cotangents: Leaves, ys: Leaves, how: _Solve, t: Any, *leaves: Any) -> tuple[Any, ...]:
    _, args = how.split(leaves)
    count, matrix = how.count, how.sensitivities(t, leaves)
    solution = how.at(t, leaves) if matrix is None or how.of_time else None
    pulled = [c[-1] for c in cotangents]
    gathered: Leaves = [np.zeros(np.shape(args[i]), np.result_type(args[i])) for i in how.free]
    if matrix is not None:
        rows = np.concatenate([np.reshape(c, (len(t), -1)) for c in cotangents], 1)
        moved = np.reshape(rows, (-1,)) @ matrix
        if how.of_start:
            pulled, moved = _parts(moved, pulled), moved[sum(map(np.size, pulled)) :]
        else:
            pulled = [np.zeros(np.shape(c)[1:]) for c in cotangents]  # which nobody asks for
        gathered = _parts(moved, gathered)
    with programs_of(None if solution is None else how.likeness("adjoint", args)) as loan:
        along = None if solution is None else how.along_solution(solution, args, loan)
        for i in range(len(t) - 1, 0, -1) if matrix is None else ():
            begin, end = ([y[j] for y in ys] for j in (i - 1, i))
            state = how.pulled_back(along, (t[i - 1], t[i]), (begin, end), [*pulled, *gathered], args)
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
    matrix = how.sensitivities(t, leaves)
    if matrix is None or how.of_time:
        how.at(t, leaves)
    y0, args = how.split(leaves)
    _, by_time, *moving = tangents
    tangent, moving = moving[: how.count], moving[how.count :]
    slopes = how.slopes(ys, t, args) if how.of_time else []
    if slopes:
        tangent = [v - d * by_time[0] for v, d in zip(tangent, slopes[0], strict=True)]
    free, moving = [args[i] for i in how.free], [moving[i] for i in how.free]
    if matrix is not None:
        along = np.concatenate([np.reshape(v, (-1,)) for v in (*(tangent if how.of_start else ()), *moving)])
        if not (depends := matrix.any(0)).all():  # of what does not matter the tangent may be nan: see left_behind
            matrix, along = matrix[:, depends], along[depends]
        rows = np.reshape(matrix @ along, (len(t), -1))
        found = columns(rows, y0)
    else:
        with programs_of(how.likeness("variational", args)) as loan:
            problem = how.variational(y0, tangent, free, moving, loan)
            found = problem.solve([*y0, *tangent], t, [*args, *moving])[how.count :]
    if slopes:
        rates = [np.stack(d) for d in zip(*slopes, strict=True)]
        found = [v + d * by_time.reshape(-1, *[1] * (v.ndim - 1)) for v, d in zip(found, rates, strict=True)]
    return found


def _is_number(x: Any) -> bool:
    return type(x) is float or isinstance(x, (ndarray, np.generic, Tensor))


@adopting
def _is_one_product(*args: Any) -> bool:
    """True if the rule that gets these arguments is a product with a matrix that is at hand."""
    nr = next(nr for nr, x in enumerate(args) if isinstance(x, _Solve))
    how, t, leaves = args[nr], args[nr + 1], args[nr + 2 :]
    return nr > 0 and how.sensitivities(t, leaves) is not None


def _parts(vector: Any, like: Sequence[Any]) -> Leaves:
    """The parts of a vector, in the shapes of leaves."""
    places = np.cumsum([0, *(np.size(x) for x in like)])
    return [np.reshape(vector[a:b], np.shape(x)) for a, b, x in zip(places, places[1:], like, strict=False)]


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
_trajectory._rule.takes_batches = lambda args: _is_one_product(*args)
_trajectory._rule.instead = ONE_SYSTEM
