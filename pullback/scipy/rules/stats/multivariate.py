"""The distributions of scipy.stats of vectors and matrices: SciPy's own Python on a twin, but for what it factors.

SciPy factors a covariance by its eigenvectors, which have no derivative where eigenvalues are equal, as those of the
identity are. What it needs of them has one: here they are made of a Cholesky factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats._multivariate as genuine
from scipy.stats import Covariance

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import METHODS_OF_VECTORS, RULES, scipy_rule
from pullback.interop.adopt.scipy.clones import kind_of_twin, twin
from pullback.interop.operands import array, frozen, moveaxis
from pullback.scipy.rules.stats.distributions import refuse_counts


@scipy_rule("scipy.stats._multivariate._PSD")
class Factored:
    """Holds what SciPy's `_PSD` has for a full-rank matrix: U with U U^T its inverse, its log-determinant, its rank."""

    def __new__(cls, M: AnyArray, *args: object, **kwargs: object) -> Factored:
        plain = genuine._PSD(frozen(M, "_PSD"), *args, **kwargs)  # which checks it
        if not at_stake((M,)):
            return twin(plain)
        if plain.rank < len(plain._M):
            raise UnsupportedError(
                f"scipy.stats: a covariance that is being differentiated is singular (rank {plain.rank} of "
                f"{len(plain._M)}), where its pseudo-inverse jumps. Add a small multiple of the identity."
            )
        made: Any = object.__new__(cls)
        factor = np.linalg.cholesky(array(M))  # which reads the lower triangle, as SciPy does
        made._M, made.rank, made.V, made.eps = array(M), plain.rank, plain.V, plain.eps
        made.log_pdet = 2 * np.sum(np.log(np.diagonal(factor)))
        made.U = _solved(factor, np.eye(plain.rank)).T
        return made

    U: AnyArray

    @property
    def pinv(self) -> AnyArray:
        """The inverse."""
        return self.U @ self.U.T


def _solved(factor: AnyArray, b: AnyArray) -> AnyArray:
    """factor^-1 b of a lower triangle."""
    return RULES["scipy.linalg.solve_triangular"](factor, b, lower=True)


@scipy_rule("scipy.stats._multivariate.invwishart_gen._logpdf")
def inverse_wishart(self: object, x: ArrayLike, dim: int, df: float, log_det_scale: float, C: ArrayLike) -> AnyArray:
    """The logarithm of the density at each x[:, :, i]; C is the Cholesky factor of the scale."""
    factor = np.linalg.cholesky(moveaxis(array(x), -1, 0))
    log_det_x = 2 * np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    trace = np.sum(np.linalg.solve(factor, array(C)) ** 2, axis=(-2, -1))
    norm = 0.5 * df * dim * np.log(2) + RULES["scipy.special.multigammaln"](0.5 * df, dim)
    return 0.5 * df * log_det_scale - 0.5 * trace - 0.5 * (df + dim + 1) * log_det_x - norm


@scipy_rule("scipy.stats._multivariate.vonmises_fisher_gen._process_parameters")
def direction_and_concentration(self: object, mu: ArrayLike, kappa: ArrayLike) -> tuple[int, AnyArray, ArrayLike]:
    """The arguments, which SciPy checks as plain numbers."""
    dim, _, _ = _check(self, frozen(mu, "vonmises_fisher"), frozen(kappa, "vonmises_fisher")[()])
    return dim, array(mu), kappa


_check = genuine.vonmises_fisher_gen._process_parameters


def _on_a_twin(name: str) -> None:
    @scipy_rule(f"scipy.stats._multivariate._methods.{name}")
    def rule(self: Any, *args: Any, **kwargs: Any) -> object:
        if name in ("pmf", "logpmf"):
            refuse_counts(f"{type(self).__name__.rpartition('_')[0]}.{name}", args[:1] or kwargs.get("x"))
        made: Any = object.__new__(kind_of_twin(type(self)))  # type: ignore[arg-type]
        made.__dict__ = {field: _twin_of_parts(x) for field, x in vars(self).items()}
        return getattr(made, name)(*map(_twin_of_parts, args), **{key: _twin_of_parts(x) for key, x in kwargs.items()})


def _twin_of_parts(x: object) -> object:
    return twin(x) if isinstance(x, (genuine.multi_rv_generic, Covariance)) else x


for _name in METHODS_OF_VECTORS:
    _on_a_twin(_name)
