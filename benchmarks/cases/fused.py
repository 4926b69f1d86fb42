"""sum(sin(a) exp(-a a / 2) + log(b) a) and both gradients: elementwise work over memory, which compilers fuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case, Goal
from benchmarks.contenders import value_and_grad_everywhere

GOALS = {"float32": 0.9, "float64": 1.1}


def function(lib: Any, a: Any, b: Any) -> Any:
    """The function, on any library with NumPy's names."""
    return lib.sum(lib.sin(a) * lib.exp(-a * a / 2) + lib.log(b) * a)


def case(exponent: int, dtype: str) -> Case:
    """The case of 10**exponent elements: `a` from the normal distribution, `b` between 1/2 and 2."""
    rng = np.random.default_rng(0)
    size = 10**exponent
    a, b = rng.standard_normal(size).astype(dtype), rng.uniform(0.5, 2.0, size).astype(dtype)
    return Case(
        name=f"fused-1e{exponent}-{dtype}",
        title=f"sum(sin(a)*exp(-a*a/2) + log(b)*a) and both gradients, {size:,} {dtype}",
        build=value_and_grad_everywhere(function, [a, b]),
        goals=[Goal(GOALS[dtype])] if exponent >= 5 else [],  # below, the machinery shows: see the chains
        rtol=1e-4,
    )


CASES = [case(exponent, dtype) for dtype in GOALS for exponent in (3, 5, 6)]
