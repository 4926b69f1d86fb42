"""Value and gradient of the 10-dimensional Rosenbrock function, ndarray in and out: what scipy.optimize calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run
from benchmarks.contenders import value_and_grad_everywhere

START = np.linspace(-1.2, 1.0, 10)


def rosenbrock(x: Any, np: Any = np) -> Any:
    """Plain NumPy slices; `np` is the library's own NumPy where it has one."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def pullback(lib: Any) -> Run:
    """The function as it stands."""
    return partial(lib.func.value_and_grad(rosenbrock), START)


def torch(lib: Any) -> Run:
    """The same slices on a tensor that shares the array's memory."""

    def run() -> Any:
        x = lib.from_numpy(START).requires_grad_()
        value = rosenbrock(x, lib)
        value.backward()
        return value.item(), x.grad.numpy()

    return run


def by_hand(_: Any) -> Run:
    """The derivative worked out on paper: the floor below which no library gets."""

    def run() -> Any:
        x, after = START[:-1], START[1:]
        gap, rest = after - x**2, 1.0 - x
        grad = np.zeros_like(START)
        grad[:-1] = -400.0 * x * gap - 2.0 * rest
        grad[1:] += 200.0 * gap
        return np.sum(100.0 * gap**2 + rest**2), grad

    return run


CASE = Case(
    name="rosenbrock10",
    title="value and gradient of the 10-dimensional Rosenbrock function, ndarray in and out",
    build=value_and_grad_everywhere(lambda lib, x: rosenbrock(x, lib), [START])
    | {"pullback": pullback, "torch": torch, "numpy": by_hand},
    goals=[Goal(0.62)],
)
