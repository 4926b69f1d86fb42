"""Fast mode: one directional derivative for each input, one backward for each output.

With random directions v (of an input) and u (of an output's coordinates), u^T J v is compared instead of J: numerically
as the derivative along v, projected on u; analytically as the pull-back of u, projected on v. For complex tensors these
are real inner products, Re(sum(conj(u) w)).
"""

import math

import numpy as np

from pullback.autograd.gradcheck.analytical import pull_back_twice
from pullback.autograd.gradcheck.numerical import derivative_along
from pullback.autograd.gradcheck.problem import Problem, real_coordinates, values_of
from pullback.core.tensor import Tensor

__all__ = ["projections_agree", "unit_direction"]


def projections_agree(problem: Problem, outputs: list[Tensor]) -> bool:
    """True if the two values of u^T J v are close, for every input and output."""
    rng = np.random.default_rng(0)
    vs = [unit_direction(rng, a) for a in problem.arrays]
    us = [unit_direction(rng, values_of(o)) for o in outputs]
    along = [derivative_along(problem, a, v) for a, v in zip(problem.arrays, vs, strict=True)]
    agree = True
    for o, (output, u) in enumerate(zip(outputs, us, strict=True)):
        grads = pull_back_twice(problem, o, output, u) if problem.chosen else [None] * len(vs)
        for i, (g, v) in enumerate(zip(grads, vs, strict=True)):
            numerical = float(real_coordinates(u) @ along[i][o])
            analytical = 0.0 if g is None else float(real_coordinates(v) @ real_coordinates(g))
            # An error of atol in every entry of J moves u^T J v by as much as this.
            atol = problem.atol * np.abs(real_coordinates(u)).sum() * np.abs(real_coordinates(v)).sum()
            agree &= math.isclose(analytical, numerical, rel_tol=0, abs_tol=atol + problem.rtol * abs(numerical))
    return bool(agree)


def unit_direction(rng: "np.random.Generator", like: np.ndarray) -> np.ndarray:
    """A random unit vector of that shape and dtype."""
    direction = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        direction = direction + 1j * rng.standard_normal(like.shape)
    norm = np.linalg.norm(direction)
    return np.asarray(direction / (norm or 1.0)).astype(like.dtype)
