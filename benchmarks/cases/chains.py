"""A chain of 100 operators on ten numbers: what the machinery itself costs, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case, Goal
from benchmarks.contenders import value_and_grad_everywhere

NUMBERS = np.linspace(-0.9, 1.0, 10)  # not symmetric, or sums would cancel to 0, to which no answer can be compared


def sines(lib: Any, x: Any) -> Any:
    """sin, 100 times."""
    for _ in range(100):
        x = lib.sin(x)
    return lib.sum(x)


def affine(lib: Any, x: Any, a: Any, b: Any) -> Any:
    """x b + a, 50 times: products and sums with constants."""
    for _ in range(50):
        x = x * b + a
    return lib.sum(x)


CASES = [
    Case(
        name="chain-sin",
        title="chain of 100 sin on 10 float64, forward and backward, per operator",
        build=value_and_grad_everywhere(sines, [NUMBERS]),
        per=100,
        goals=[Goal(0.45)],
    ),
    Case(
        name="chain-affine",
        title="chain of 50 x*b + a on 10 float64, forward and backward, per operator",
        build=value_and_grad_everywhere(affine, [NUMBERS], [NUMBERS / 10, NUMBERS / 2 + 0.9]),
        per=100,
        goals=[Goal(0.58)],
    ),
]
