"""Explicit Runge-Kutta methods with steps that are given: what is computed is recorded step by step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.integrate

from pullback.core.array_type import numbers_of
from pullback.core.tensor import Tensor
from pullback.func.custom_rules import CustomFunction
from pullback.func.implicit.functions import plain
from pullback.func.implicit.linear_maps import Leaves, Linearized, push, replaced, restricted
from pullback.func.implicit.linear_systems import ONE_SYSTEM
from pullback.func.implicit.trajectories import Problem

METHODS = {"RK23": scipy.integrate.RK23, "RK45": scipy.integrate.RK45, "DOP853": scipy.integrate.DOP853}


def solve_discretely(problem: Problem, y0: Leaves, t: Any, args: Leaves) -> Leaves:
    """y at the times t, by steps that solve_ivp chooses, held constant as fractions of the intervals between times."""
    leaves = [t, *y0, *args]
    if all(numbers_of(x) is not None for x in leaves if isinstance(x, Tensor)):
        return _recorded(problem, y0, t, args)
    found = _of_sample(_Samples(problem, len(y0), leaves), *leaves)  # in vmap: each sample has steps of its own
    problem.captured.settle()
    return found  # type: ignore[no-any-return]


class _Samples:
    """A call for many samples: what is computed is recorded when a derivative is wanted, one after the other."""

    def __init__(self, problem: Problem, count: int, leaves: Leaves) -> None:
        self.problem, self.count = problem, count
        self.free = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.dtype.kind in "fc"]

    def of_free(self, leaves: Sequence[Any]) -> tuple[Any, Leaves]:
        """(the solution as a function of the leaves that are differentiated, these)."""
        self.problem.captured.renew()
        return restricted(self.solved, leaves, self.free), [leaves[i] for i in self.free]

    def solved(self, leaves: Sequence[Any]) -> Leaves:
        """y at the times."""
        t, *others = leaves
        return _recorded(self.problem, others[: self.count], t, others[self.count :])


def _odeint(how: _Samples, *leaves: Any) -> Leaves:
    return how.solved(leaves)


def _vjp(cotangents: Leaves, ys: Leaves, how: _Samples, *leaves: Any) -> tuple[Any, ...]:
    pulled = Linearized(*how.of_free(leaves)).pull(cotangents)
    return None, *replaced([None] * len(leaves), how.free, pulled)


def _jvp(tangents: tuple[Any, ...], ys: Leaves, how: _Samples, *leaves: Any) -> Leaves:
    return push(*how.of_free(leaves), [tangents[1 + i] for i in how.free])


_odeint.__name__ = "odeint"  # of the node
_of_sample = CustomFunction(_odeint, _vjp, _jvp)
_of_sample._rule.instead = ONE_SYSTEM


def _recorded(problem: Problem, y0: Leaves, t: Any, args: Leaves) -> Leaves:
    """The same, where each operator is recorded."""
    times = np.asarray(plain(t), np.float64)

    def slope(y: Leaves, at: Any, args: Leaves) -> Leaves:
        return [plain(d) for d in problem.slope(y, at, args)]

    ys = [y0]
    if len(times) > 1:
        start = [plain(y) for y in y0]
        found, _ = problem.integrator.run(slope, start, times[[0, -1]], [plain(x) for x in args], every_step=True)
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
