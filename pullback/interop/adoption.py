"""Whether `adopt()` is in force, and which calls it makes work: errors say so before anyone has called it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


class State:
    """`on`: whether `adopt()` is in force; `packages`: the installed packages that it reaches besides."""

    on = False
    packages: frozenset[str] = frozenset()


NUMPY = frozenset({
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "full", "arange",
    "fromiter", "vectorize", "r_", "c_",
})  # fmt: skip
MATH = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "dist",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fma", "fmod", "frexp", "fsum", "gamma", "hypot", "ldexp", "lgamma",
    "log", "log10", "log1p", "log2", "modf", "pow", "prod", "radians", "remainder", "sin", "sinh", "sqrt", "sumprod",
    "tan", "tanh",
})  # fmt: skip
CMATH = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "phase", "polar", "rect",
    "sin", "sinh", "sqrt", "tan", "tanh",
})  # fmt: skip
# SciPy's own Python, which may run on our tensors as it stands: each gradient equals finite differences.
SCIPY_AS_IT_STANDS = (
    "scipy.integrate.cumulative_trapezoid", "scipy.integrate.simpson", "scipy.integrate.trapezoid",
    "scipy.linalg.block_diag", "scipy.optimize.rosen",
    "scipy.spatial.distance.cityblock", "scipy.spatial.distance.correlation", "scipy.spatial.distance.cosine",
    "scipy.spatial.distance.euclidean", "scipy.spatial.distance.mahalanobis", "scipy.spatial.distance.minkowski",
    "scipy.spatial.distance.sqeuclidean",
    "scipy.special.log_softmax", "scipy.special.logsumexp", "scipy.special.softmax",
    "scipy.stats.gmean", "scipy.stats.hmean", "scipy.stats.sem", "scipy.stats.variation", "scipy.stats.zscore",
)  # fmt: skip
SCIPY_BY_RULE = (
    "scipy.linalg.cho_factor", "scipy.linalg.cho_solve", "scipy.linalg.cholesky", "scipy.linalg.circulant",
    "scipy.linalg.det", "scipy.linalg.expm", "scipy.linalg.inv", "scipy.linalg.norm", "scipy.linalg.solve",
    "scipy.linalg.solve_triangular", "scipy.linalg.toeplitz",
)  # fmt: skip
DISTRIBUTION_METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")

RULES: dict[str, Callable[..., Any]] = {}  # "scipy.linalg.expm" -> the same function, of tensors


def scipy_rule(*names: str) -> Callable[[_F], _F]:
    """Decorate a function: it is the rule of these functions of SciPy ("scipy.linalg.expm") under `adopt()`.

    Parameters
    ----------
    *names : str
        Public names of functions, with their modules.

    Returns
    -------
    callable
        Takes the rule, which gets the arguments as they were given, one of our arrays among them, and gives it back.

    Raises
    ------
    ValueError
        A name is not that of a function of SciPy with its module.
    """
    for name in names:
        if not isinstance(name, str) or not name.startswith("scipy.") or name.count(".") < 2:
            raise ValueError(f"scipy_rule: a function is named with its module ('scipy.linalg.expm'), got {name!r}.")

    def enter(function: _F) -> _F:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


NAMES = frozenset({
    *(f"np.{name}" for name in NUMPY), *(f"math.{name}" for name in MATH), *(f"cmath.{name}" for name in CMATH),
    *SCIPY_AS_IT_STANDS, *SCIPY_BY_RULE,
})  # fmt: skip


def would_help(*names: str) -> bool:
    """Whether one of these calls works once `adopt()` has been called."""
    return not State.on and any(
        name in NAMES
        or name in RULES
        or (name.startswith("scipy.stats.") and name.rpartition(".")[2] in DISTRIBUTION_METHODS)
        for name in names
    )


BY_CALL = " Or call pullback.adopt() once, at the top of the program: this line works as it is then."
BY_STORE = (
    " Or call pullback.adopt() once, at the top of the program: arrays that np.zeros and its kin make in a function "
    "that is being differentiated then record what is written into them."
)
