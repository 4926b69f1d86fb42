"""How a solution moves with y0 and with what is differentiated: dy/d(y0, args), of all steps at once.

Along a y(t) that is at hand the variational equation dS/dt = (df/dy) S + df/dargs is linear, and its coefficients do
not wait for one another. So they are evaluated at the stages of all steps as one batch, each step is solved by an
implicit method, and only the matrices of the steps are multiplied one after the other. A step is taken again as two
halves; where both do not agree it is bisected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from pullback.core import modes
from pullback.core.errors import DetachingError, explained, refusals
from pullback.core.tensor import Tensor, ndarray
from pullback.func import forward
from pullback.func.batching import vmap
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.rules.calls import stripped
from pullback.graph.captured import every_array_records


def _radau(stages: int) -> tuple[ndarray, ndarray]:
    """The times and weights of the stages of Radau IIA, by collocation, of order 2 * stages - 1.

    Hairer and Wanner, Solving Ordinary Differential Equations II, IV.5.
    """
    base = polynomial.polymul(polynomial.polypow([0, 1], stages - 1), polynomial.polypow([-1, 1], stages))
    times = np.sort(polynomial.polyroots(polynomial.polyder(base, stages - 1)).real)
    times[-1] = 1.0
    powers = np.arange(stages)
    integrals = times[:, None] ** (powers + 1) / (powers + 1)
    return times, integrals @ np.linalg.inv(times[:, None] ** powers)


_STAGES, _WEIGHTS = _radau(4)  # for stiff equations too
_BISECTIONS = 40
_STATES, _DIRECTIONS = 24, 64  # numbers of y, and of y and args: beyond, the adjoint equation is cheaper
_EVALUATIONS = 200_000  # of products with the Jacobian
_SHARE = 1e-3  # of the largest sensitivity to an argument, below which errors are compared to this
_TINY = np.finfo(float).tiny

# (ys, times) of shapes (K, n) and (K,) -> the derivatives of the slope by y and args there, (K, n, n + m)
Coefficients = Callable[[ndarray, ndarray], ndarray]


class TooMuchError(Exception):
    """The sensitivities cost more than they save, or are not to be had this way."""


def affordable(states: int, directions: int) -> bool:
    """True if sensitivities of so many numbers by so many are cheaper than the adjoint equation."""
    return states <= _STATES and directions <= _DIRECTIONS


def coefficients_of(slope: Callable[[Leaves, Any, Leaves], Leaves], start: Leaves, args: Leaves) -> Coefficients:
    """The derivatives of `slope(y, t, args)`, of leaves in the form of these, by y and args at many points."""
    numbers = [x.reshape(-1) for x in args]

    def coefficients(ys: ndarray, times: ndarray) -> ndarray:
        (count, states), given = ys.shape, np.concatenate(numbers) if numbers else np.zeros(0)
        directions = states + given.size
        every = np.tile(np.eye(directions), (count, 1))
        of_all = np.reshape(np.broadcast_to(ys[:, None], (count, directions, states)), (-1, states))
        points = [*columns(of_all, start), *columns(np.broadcast_to(given, (len(every), given.size)), args)]
        tangents = [*columns(every[:, :states], start), *columns(every[:, states:], args)]
        at = np.reshape(np.broadcast_to(times[:, None], (count, directions)), (-1,))

        def one(t: Any, *leaves: Any) -> Leaves:
            return slope([*leaves[: len(start)]], t, [*leaves[len(start) :]])

        def of_batch(*leaves: Any) -> Leaves:
            return vmap(one)(at, *leaves)  # type: ignore[no-any-return]

        moved = forward.push("jvp", of_batch, tuple(points), tuple(tangents), masks=False, warns=False)[1]
        found = np.concatenate([np.reshape(x, (len(every), -1)) for x in moved], 1)
        return found.reshape(count, directions, states).swapaxes(1, 2)

    return coefficients


def columns(rows: Any, like: Leaves) -> Leaves:
    """The columns of a matrix, as many for each leaf as it has numbers, each row in its shape."""
    places = np.cumsum([0, *(np.size(x) for x in like)])
    parts = [rows[:, a:b] for a, b in pairwise(places)]
    return [np.reshape(part, (len(rows), *np.shape(x))) for part, x in zip(parts, like, strict=True)]


def sensitivities(
    coefficients: Coefficients, solution: Any, t: ndarray, states: int, args: int, of_start: bool, rtol: float
) -> ndarray:
    """dy/d(y0, args) at each of the times t, of shape (times, n, n + m); `of_start` False: dy/dargs alone.

    Errors of a step are compared to the largest that this number's sensitivity becomes, or a part of the largest one to
    the same argument. Raises TooMuchError where that needs very many evaluations, or is not finite.
    """
    low, high = min(t[0], t[-1]), max(t[0], t[-1])
    ends = np.unique(np.concatenate([t, [at for at in solution.ts if low < at < high]]))
    ends = ends if t[-1] >= t[0] else ends[::-1]
    begins, steps = ends[:-1], np.diff(ends)
    start = np.eye(states + args)[:, 0 if of_start else states :]
    sizes = np.zeros(states)
    spent = 0

    def evaluated(begins: ndarray, steps: ndarray) -> ndarray:
        """The matrices of the steps."""
        nonlocal spent, sizes
        spent += len(begins) * len(_STAGES) * (states + args)
        if spent > _EVALUATIONS:
            raise TooMuchError
        times = (begins[:, None] + steps[:, None] * _STAGES).reshape(-1)
        ys = np.ascontiguousarray(solution(times).T)
        sizes = np.maximum(sizes, np.abs(ys).max(0))
        found = coefficients(ys, times)
        return _matrices(found.reshape(len(begins), len(_STAGES), *found.shape[1:]), steps)

    def of_halves(begins: ndarray, steps: ndarray) -> tuple[ndarray, ndarray]:
        return np.stack([begins, begins + steps / 2], 1).reshape(-1), np.repeat(steps / 2, 2)

    count, parts = len(begins), of_halves(begins, steps)
    found = evaluated(np.concatenate([begins, parts[0]]), np.concatenate([steps, parts[1]]))
    whole, halves = found[:count], found[count:].reshape(count, 2, *found.shape[1:])
    for _ in range(_BISECTIONS):
        both = halves[:, 1] @ halves[:, 0]
        moved = _products(both, start)
        error = np.abs(((both - whole) @ moved[:-1])[:, :states]) / (sizes[:, None] + _TINY)
        if not np.isfinite(error).all():
            raise TooMuchError
        largest = np.abs(moved[:, :states]).max(0) / (sizes[:, None] + _TINY)
        bad = (error > rtol * np.maximum(largest, _SHARE * largest.max(0))).any((1, 2))
        if not bad.any():
            forward = 1.0 if t[-1] >= t[0] else -1.0
            return moved[np.searchsorted(forward * begins, forward * t), :states]
        at = np.repeat(np.arange(len(begins)), np.where(bad, 2, 1))
        fresh, second = bad[at], np.append(False, at[1:] == at[:-1])
        whole, halves = np.where(fresh[:, None, None], halves[at, second.astype(int)], both[at]), halves[at]
        steps = np.where(fresh, steps[at] / 2, steps[at])
        begins = np.where(second, begins[at] + steps, begins[at])
        halves[fresh] = evaluated(*of_halves(begins[fresh], steps[fresh])).reshape(-1, 2, *whole.shape[1:])
    raise TooMuchError


def _matrices(coefficients: ndarray, steps: ndarray) -> ndarray:
    """The matrix of each step, which takes (y, args) moved at its begin to (y, args) moved at its end."""
    count, stages, states, directions = coefficients.shape
    system = -steps[:, None, None, None, None] * (
        _WEIGHTS[:, None, :, None] * coefficients[:, :, :, None, :states]
    )  # (step, stage, row, stage, column)
    flat = system.reshape(count, stages * states, stages * states)
    flat[:, range(stages * states), range(stages * states)] += 1
    slopes = np.linalg.solve(flat, coefficients.reshape(count, stages * states, directions))
    moved = np.tensordot(_WEIGHTS[-1], slopes.reshape(count, stages, states, directions), (0, 1))
    found = np.zeros((count, directions, directions))
    found[:, range(directions), range(directions)] = 1
    found[:, :states] += steps[:, None, None] * moved
    return found


def _products(matrices: ndarray, start: ndarray) -> ndarray:
    """The products of the matrices up to each of them, with the start before all."""
    found = np.empty((len(matrices) + 1, *start.shape))
    found[0] = start
    for nr, matrix in enumerate(matrices):
        np.matmul(matrix, found[nr], out=found[nr + 1])
    return found


def tried(compute: Callable[[], ndarray], outermost: bool) -> ndarray | None:
    """The result, or None where a function does not run on a batch, whatever it raises.

    `outermost`: nothing in it is of a level, so it runs as it would outside of all transforms, which is faster. The
    error of a function that would lose a gradient is raised as long as `adopt()` may help: see `adopting`.
    """
    state, refused = modes.current(), refusals.last
    before = modes.set_modes(modes.Modes(observers=state.observers) if outermost else state)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            return compute()
    except Exception as error:
        if isinstance(explained(error, refused), DetachingError) and not every_array_records.get():
            raise
        return None
    finally:
        modes.restore(before)


def are_plain(leaves: Any) -> bool:
    """True if no leaf is differentiated further out."""
    return not any(isinstance(stripped(x), Tensor) for x in leaves)
