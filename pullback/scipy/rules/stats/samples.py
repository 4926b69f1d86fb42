"""Where scipy.stats' Python on samples meets compiled code, or steps that depend on the order of the samples."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import gaussian_kde

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.clones import kind_of_twin, twin
from pullback.interop.operands import array, frozen


@scipy_rule("scipy.stats._stats_py._cdf_distance")
def distance_of_distributions(
    p: AnyArray | float,
    u_values: ArrayLike,
    v_values: ArrayLike,
    u_weights: ArrayLike | None = None,
    v_weights: ArrayLike | None = None,
) -> AnyArray:
    """(integral |U - V|^p)^(1/p) of the distribution functions of two samples, which are constant between the values.

    Of two values that change places at a tie either order gives the same distance.
    """
    if at_stake((p,)):
        raise UnsupportedError("scipy.stats: a distance of distributions has no derivative in its order p here.")
    u, v = np.ravel(array(u_values)), np.ravel(array(v_values))
    if not (u.size and v.size):
        raise ValueError("Distribution can't be empty.")
    joined = np.concatenate([u, v])
    order = np.argsort(frozen(joined, "wasserstein_distance"), kind="stable")
    shares = np.concatenate([_shares(u.size, u_weights), -_shares(v.size, v_weights)])
    apart = np.abs(np.cumsum(shares[order])[:-1])
    return np.sum(apart**p * np.diff(joined[order])) ** (1 / p)


def _shares(size: int, weights: ArrayLike | None) -> AnyArray:
    """The weights of a sample of this size, of sum one, after SciPy's checks."""
    if weights is None:
        return np.full(size, 1 / size)
    weights = array(weights)
    plain = frozen(weights, "wasserstein_distance")
    if plain.size != size:
        raise ValueError("Value and weight array-likes for the same empirical distribution must be of the same size.")
    if np.any(plain < 0):
        raise ValueError("All weights must be non-negative.")
    if not 0 < np.sum(plain) < np.inf:
        raise ValueError("Weight array-like sum must be positive and finite. Set as None for an equal distribution.")
    return weights / np.sum(weights)


@scipy_rule("scipy._lib.array_api_extra._lib._funcs._apply_where")
def of_either_function(
    cond: ArrayLike,
    f1: Callable[..., Any],
    f2: Callable[..., Any] | None,
    fill_value: ArrayLike | None,
    *args: AnyArray,
    xp: ModuleType | None = None,
) -> AnyArray:
    """f1 of the elements where `cond` holds; f2 of the others, or `fill_value`."""
    holds = frozen(cond, "where")
    args = tuple(array(x) for x in args)
    yes = np.ravel(f1(*(x[holds] for x in args)))
    no = np.ravel(f2(*(x[~holds] for x in args)) if f2 else np.broadcast_to(array(fill_value), holds.shape)[~holds])
    places = np.empty(holds.shape, int)
    places[holds], places[~holds] = np.arange(yes.size), yes.size + np.arange(no.size)
    return np.concatenate([yes, no])[places]


@scipy_rule("scipy.stats.expectile")
def expectile(a: ArrayLike, alpha: ArrayLike = 0.5, *, weights: ArrayLike | None = None) -> AnyArray:
    """The root t of alpha E[(a - t)+] = (1 - alpha) E[(t - a)+]: a mean of weights that jump where t passes a value."""
    a, alpha, weights = array(a), array(alpha), None if weights is None else array(weights)
    plain = stats.expectile(*(frozen(x, "expectile") for x in (a, alpha)), weights=_plain_or_none(weights))
    shares = np.where(frozen(a, "expectile") > plain, alpha, 1 - alpha)
    if weights is not None:
        shares = shares * weights
    return np.sum(shares * a) / np.sum(shares)


def _plain_or_none(weights: AnyArray | None) -> AnyArray | None:
    return None if weights is None else frozen(weights, "expectile")


class _Estimate:
    """Stands for a compiled function of points and a sample, which SciPy takes from a table by dtype."""

    def __init__(self, logarithm: bool) -> None:
        self.logarithm = logarithm

    def __getitem__(self, dtype: DTypeLike) -> _Estimate:
        return self

    def __call__(
        self, sample: AnyArray, weights: AnyArray, points: AnyArray, factor: AnyArray, dtype: DTypeLike
    ) -> AnyArray:
        """Densities of `points`, (m, d), as (m, 1): kernels with the Cholesky factor of a covariance, at (n, d)."""
        whiten = RULES["scipy.linalg.solve_triangular"]
        sample, points = (whiten(factor, array(x).T, lower=True) for x in (sample, points))
        apart = sample[:, None, :] - points[:, :, None]
        d = np.shape(factor)[-1]
        exponents = -0.5 * np.sum(apart**2, axis=0) - np.sum(np.log(np.diagonal(factor))) - 0.5 * d * np.log(2 * np.pi)
        if self.logarithm:
            weighed = exponents + np.log(array(weights)[:, 0])
            return RULES["scipy.special.logsumexp"](weighed, axis=1)[:, None]
        return (np.exp(exponents) @ array(weights)[:, 0])[:, None]


scipy_rule("scipy.stats._stats.gaussian_kernel_estimate")(_Estimate(logarithm=False))
scipy_rule("scipy.stats._stats.gaussian_kernel_estimate_log")(_Estimate(logarithm=True))


@scipy_rule("scipy.stats.gaussian_kde")
def density_estimate(*args: object, **kwargs: object) -> gaussian_kde:
    """A twin of SciPy's object."""
    return kind_of_twin(gaussian_kde)(*args, **kwargs)


def _on_a_twin(name: str) -> None:
    @scipy_rule(f"scipy.stats._kde._methods.{name}")
    def rule(self: gaussian_kde, *args: object, **kwargs: object) -> AnyArray:
        return getattr(twin(self), name)(*args, **kwargs)


for _name in ("__call__", "evaluate", "logpdf", "pdf"):
    _on_a_twin(_name)
