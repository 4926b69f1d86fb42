"""Explicit Runge-Kutta methods with steps that are given: what is computed is recorded step by step."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pullback.core.array_type import numbers_of
from pullback.core.tensor import Tensor
from pullback.func.implicit.by_sample import by_sample, run_by_sample
from pullback.func.implicit.functions import plain
from pullback.func.implicit.initial_values_by_steps import METHODS
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.implicit.linear_systems import ONE_SYSTEM
from pullback.func.implicit.trajectories import Problem


def solve_discretely(problem: Problem, y0: Leaves, t: Any, args: Leaves) -> Leaves:
    """y at the times t, by steps that solve_ivp chooses, held constant as fractions of the intervals between times."""
    leaves = [t, *y0, *args]
    if all(numbers_of(x) is not None for x in leaves if isinstance(x, Tensor)):
        return _recorded(problem, y0, t, args)
    # in vmap: each sample has steps of its own
    return by_sample(partial(_recorded, problem), (y0, t, args), _SAMPLES)  # type: ignore[no-any-return]


_SAMPLES = run_by_sample("odeint", ONE_SYSTEM)


def _recorded(problem: Problem, y0: Leaves, t: Any, args: Leaves) -> Leaves:
    """The same, where each operator is recorded."""
    times = np.asarray(plain(t), np.float64)

    def slope(y: Leaves, at: Any, args: Leaves) -> Leaves:
        return [plain(d) for d in problem.slope(y, at, args)]

    ys = [y0]
    if len(times) > 1:
        problem.captured.begin()
        start = [plain(y) for y in y0]
        found, _ = problem.integrator.run(slope, start, times[[0, -1]], [plain(x) for x in args], every_step=True)
        problem.captured.renew(for_sample=True)  # a cache has plain numbers now
        method = METHODS[problem.integrator.method]
        for i in range(len(times) - 1):
            inside = (found.t - times[i]) * (found.t - times[i + 1]) < 0
            parts = [0.0, *((found.t[inside] - times[i]) / (times[i + 1] - times[i])), 1.0]
            ys.append(_interval(problem, method, ys[-1], (t[i], t[i + 1] - t[i]), parts, args))
    return [np.stack(y) for y in zip(*ys, strict=True)]


def _interval(problem: Problem, method: Any, y: Leaves, span: Any, parts: list[float], args: Leaves) -> Leaves:
    """y at the end of an interval (its start, its length), in steps that end at these parts of it."""
    start, length = span
    for begin, end in pairwise(parts):
        y = _step(problem, method, y, (start + begin * length, (end - begin) * length), args)
    return y


def _step(problem: Problem, method: Any, y: Leaves, step: Any, args: Leaves) -> Leaves:
    """One step of a method: its tableau is SciPy's."""
    t, h = step
    slopes: list[Leaves] = []
    for weights, c in zip(method.A, method.C, strict=True):
        at = [_moved(x, h, weights, [k[j] for k in slopes]) for j, x in enumerate(y)]
        slopes.append(problem.slope(at, t + c * h, args))
    return [_moved(x, h, method.B, [k[j] for k in slopes]) for j, x in enumerate(y)]


def _moved(x: Any, h: Any, weights: Any, slopes: list[Any]) -> Any:
    """x + h times the weighted sum of slopes; weights beyond these, and zeros, take no part."""
    parts = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w]
    return x + h * sum(parts[1:], parts[0]) if parts else x
