"""How a solution moves with y0 and with what is differentiated: dy/d(y0, args), of all steps at once.

Along a y(t) that is at hand the variational equation dS/dt = (df/dy) S + df/dargs is linear, and its coefficients do
not wait for one another. So they are evaluated at the stages of all steps as one batch, each step is solved by an
implicit method, and only the matrices of the steps are multiplied one after the other. A step is taken again as two
halves; where both do not agree it is bisected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from pullback.core.tensor import Tensor, ndarray
from pullback.func import forward
from pullback.func.batching import vmap
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.rules.calls import stripped


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
_EVALUATIONS = 100_000  # of products with the Jacobian

# (ys, times) of shapes (K, n) and (K,) -> the derivatives of the slope by y and args there, (K, n, n + m)
Coefficients = Callable[[ndarray, ndarray], ndarray]


class TooMuchError(Exception):
    """The sensitivities cost more than they save, or are not to be had this way."""


def affordable(states: int, directions: int) -> bool:
    """True if sensitivities of so many numbers by so many are cheaper than the adjoint equation."""
    return states <= _STATES and directions <= _DIRECTIONS


def coefficients_of(slope: Callable[..., Any], start: Leaves, args: Leaves) -> Coefficients:
    """The derivatives of `slope(y, t, args)`, of leaves in the form of these, by y and args at many points."""
    numbers = [x.reshape(-1) for x in args]

    def coefficients(ys: ndarray, times: ndarray) -> ndarray:
        (count, states), given = ys.shape, np.concatenate([np.zeros(0), *numbers])
        directions = states + given.size
        every = np.tile(np.eye(directions), (count, 1))
        points = [*columns(np.repeat(ys, directions, 0), start), *columns(np.tile(given, (len(every), 1)), args)]
        tangents = [*columns(every[:, :states], start), *columns(every[:, states:], args)]
        at = np.repeat(times, directions)

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
    parts = [rows[:, a:b] for a, b in zip(places, places[1:], strict=False)]
    return [np.reshape(part, (len(rows), *np.shape(x))) for part, x in zip(parts, like, strict=True)]


def sensitivities(
    coefficients: Coefficients, solution: Any, t: ndarray, args: ndarray, rtol: float, atol: Any
) -> ndarray:
    """dy/d(y0, args) at each of the times t, of shape (times, n, n + m).

    Raises TooMuchError where that needs very many evaluations, or is not finite.
    """
    low, high = min(t[0], t[-1]), max(t[0], t[-1])
    ends = np.unique(np.concatenate([t, [at for at in solution.ts if low < at < high]]))
    ends = ends if t[-1] >= t[0] else ends[::-1]
    begins, steps = ends[:-1], np.diff(ends)
    spent = 0

    def evaluated(begins: ndarray, steps: ndarray) -> tuple[ndarray, ndarray]:
        """(y at the stages of the steps, the matrices of the steps)."""
        nonlocal spent
        times = (begins[:, None] + steps[:, None] * _STAGES).reshape(-1)
        ys = np.ascontiguousarray(solution(times).T)
        spent += len(times) * (ys.shape[1] + args.size)
        if spent > _EVALUATIONS:
            raise TooMuchError
        found = coefficients(ys, times)
        return ys, _matrices(found.reshape(len(begins), len(_STAGES), *found.shape[1:]), steps)

    done: list[tuple[ndarray, ndarray]] = []
    count, (half_begins, half_steps) = len(begins), _halves(begins, steps)
    ys, first = evaluated(np.concatenate([begins, half_begins]), np.concatenate([steps, half_steps]))
    whole, halves = first[:count], first[count:]
    sizes = np.abs(ys).max(0) + np.max(atol) / rtol
    units = np.abs(args)
    units = np.where(units > 0, units, units.max(initial=0) or 1.0)
    scale = np.concatenate([np.where(sizes > 0, sizes, 1.0), units])
    relative = scale / scale[:, None]
    for _ in range(_BISECTIONS):
        both = halves[1::2] @ halves[::2]
        error = np.abs((both - whole) * relative).max((1, 2))
        size = np.abs(both * relative).max((1, 2))
        if not np.isfinite(error).all():
            raise TooMuchError
        good = error <= rtol * np.maximum(size, 1.0)
        done.append((begins[good], both[good]))
        if good.all():
            break
        bad = np.repeat(~good, 2)
        begins, steps, whole = half_begins[bad], half_steps[bad], halves[bad]
        half_begins, half_steps = _halves(begins, steps)
        halves = evaluated(half_begins, half_steps)[1]
    else:
        raise TooMuchError
    order = np.argsort(np.concatenate([begins for begins, _ in done]))
    if t[-1] < t[0]:
        order = order[::-1]
    every = np.concatenate([x for _, x in done])[order]
    starts = np.concatenate([begins for begins, _ in done])[order]
    return _products(every, starts, t, len(sizes))


def _halves(begins: ndarray, steps: ndarray) -> tuple[ndarray, ndarray]:
    """(begins, lengths) of the two halves of each step."""
    return np.stack([begins, begins + steps / 2], 1).reshape(-1), np.repeat(steps / 2, 2)


def _matrices(coefficients: ndarray, steps: ndarray) -> ndarray:
    """The matrix of each step, which takes (y, args) moved at its begin to (y, args) moved at its end."""
    count, stages, states, directions = coefficients.shape
    system = -steps[:, None, None, None, None] * (
        _WEIGHTS[:, None, :, None] * coefficients[:, :, :, None, :states]
    )  # (step, stage, row, stage, column)
    flat = system.reshape(count, stages * states, stages * states)
    flat[:, range(stages * states), range(stages * states)] += 1
    try:
        slopes = np.linalg.solve(flat, coefficients.reshape(count, stages * states, directions))
    except np.linalg.LinAlgError:
        raise TooMuchError from None
    found = np.zeros((count, directions, directions))
    found[:, range(directions), range(directions)] = 1
    moved = np.einsum("s,kspd->kpd", _WEIGHTS[-1], slopes.reshape(count, stages, states, directions))
    found[:, :states] += steps[:, None, None] * moved
    return found


def _products(matrices: ndarray, starts: ndarray, t: ndarray, states: int) -> ndarray:
    """The products of the matrices up to each of the times: rows of y."""
    sign = 1.0 if t[-1] >= t[0] else -1.0
    counts = np.searchsorted(sign * starts, sign * t)  # of steps that begin before each time
    product = np.eye(matrices.shape[-1])
    found, done = np.empty((len(t), states, matrices.shape[-1])), 0
    for i, count in enumerate(counts):
        for matrix in matrices[done:count]:
            product = matrix @ product
        found[i], done = product[:states], count
    return found


def tried(compute: Callable[[], ndarray]) -> ndarray | None:
    """The result, or None where a function does not run on a batch, whatever it raises."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            return compute()
    except Exception:  # noqa: BLE001 - a user's function may branch on numbers: the general way says what is wrong
        return None


def are_plain(leaves: Any) -> bool:
    """True if no leaf is differentiated further out."""
    return not any(isinstance(stripped(x), Tensor) for x in leaves)
