"""ADBench's Gaussian mixture: the log posterior by weights, means and inverse covariance factors.

F. Srajer, Z. Kukelova, A. Fitzgibbon, A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning, Optimization Methods and Software 33 (2018), 889-906. The lines are those of its
PyTorch version, with the loop over points and the one over columns of L written as one operation each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import multigammaln

from benchmarks.case import Case, Goal, Run
from benchmarks.contenders import by_backward, by_jax, fastest

DIM, COMPONENTS, POINTS = 10, 25, 1000
WISHART_GAMMA, WISHART_M = 1.0, 0


def places() -> np.ndarray:
    """Where each entry of L lies among the strictly lower ones, column by column, after a zero for all the others."""
    rows, columns = np.tril_indices(DIM, -1)
    by_column = np.lexsort((rows, columns))
    at = np.zeros((DIM, DIM), dtype=np.int64)
    at[rows[by_column], columns[by_column]] = np.arange(1, len(rows) + 1)
    return at


def by_einsum(lib: Any, factors: Any, centred: Any) -> Any:
    """The product of each component's factor with each point."""
    return lib.einsum("ijk,mik->mij", factors, centred)


def by_bmm(lib: Any, factors: Any, centred: Any) -> Any:
    """The same as one product of matrices a component."""
    return lib.bmm(factors, centred.permute(1, 2, 0)).permute(2, 0, 1)


def log_posterior(
    lib: Any, alphas: Any, means: Any, icf: Any, x: Any, at: Any, product: Callable[..., Any] = by_einsum
) -> Any:
    """icf holds, for each component, the logarithms of the diagonal and the entries below it."""
    log_diagonal, below = icf[:, :DIM], icf[:, DIM:]
    diagonal = lib.exp(log_diagonal)
    log_det = lib.sum(log_diagonal, 1)
    factors = lib.nn.functional.pad(below, (1, 0))[:, at]
    centred = x[:, None] - means
    transformed = diagonal * centred + product(lib, factors, centred)
    inner = alphas + log_det - 0.5 * lib.sum(transformed**2, 2)
    likelihood = lib.sum(lib.logsumexp(inner, 1)) - POINTS * lib.logsumexp(alphas, 0)
    squares = lib.sum(diagonal**2, 1) + lib.sum(below**2, 1)
    prior = lib.sum(0.5 * WISHART_GAMMA**2 * squares - WISHART_M * log_det)
    return likelihood + prior + constant()


def constant() -> float:
    """Return what does not depend on the parameters."""
    n = DIM + WISHART_M + 1
    log_wishart = n * DIM * math.log(WISHART_GAMMA / math.sqrt(2)) - multigammaln(0.5 * n, DIM)
    return -POINTS * DIM * 0.5 * math.log(2 * math.pi) - COMPONENTS * log_wishart


def data() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(alphas, means, icf), (x, places)."""
    rng = np.random.default_rng(0)
    shapes = (COMPONENTS,), (COMPONENTS, DIM), (COMPONENTS, DIM * (DIM + 1) // 2)
    return [rng.standard_normal(shape) for shape in shapes], [rng.standard_normal((POINTS, DIM)), places()]


def gradient(product: Callable[..., Any]) -> Callable[[Any], Run]:
    """Value and gradients, with this way to the products."""
    return lambda lib: by_backward(lib, partial(log_posterior, product=product), *data())


CASE = Case(
    name="gmm",
    title=f"gradient of ADBench's Gaussian mixture, d={DIM}, K={COMPONENTS}, n={POINTS}, float64; PyTorch with bmm too",
    build={"pullback": gradient(by_einsum), "torch": fastest(gradient(by_einsum), gradient(by_bmm))}
    | by_jax(log_posterior, *data()),
    goals=[Goal(0.85)],
)
