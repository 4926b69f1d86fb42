"""Calls of SciPy's functions, by area: what is tried, and what the tables in docs/scipy.md are made from.

A module has CALLS: name of the function -> functions of one vector, which the point `x` below is given to, or
`at(point, call)`. They name SciPy's packages as globals (`from scipy import linalg`), so that the same call is tried by
`adopt()` and by `pullback.scipy.linalg`. What a call gives may be an array, or a tuple or dict of them.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

import numpy as np

x = np.array([1.37, 0.71, 2.2, 0.5])
v = np.array([0.3, 0.8, 1.5, 2.0])


def M(x):
    """A well-conditioned matrix of a vector."""
    return np.reshape(x, (2, 2)) + 3 * np.eye(2)


def B(x):
    """A stack of two."""
    return np.stack([M(x), M(x) ** 2])


@dataclass(frozen=True)
class at:
    """A call with a point of its own, and what is known of its accuracy."""

    point: Any
    call: Any
    rtol: float = 2e-6  # of the differences
    second: bool = True  # whether second derivatives are tried: those of SciPy's own Python need not be


def areas():
    """The modules with calls, by name."""
    return {m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)}


def cases():
    """(name, number, at) for every call of every area."""
    for module in areas().values():
        for name, calls in module.CALLS.items():
            for i, call in enumerate(calls):
                yield name, i, call if isinstance(call, at) else at(x, call)
