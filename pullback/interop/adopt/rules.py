"""The functions that `adopt()` makes work on our tensors, and the table of the rules of SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pullback.core import slots
from pullback.core.late import LateDict

_F = TypeVar("_F", bound=Callable[..., Any])


NUMPY = frozenset({
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "full", "arange",
    "fromiter", "require", "vectorize", "r_", "c_",
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
# NumPy's own Python, which may run on our tensors as it stands, in each basis: each gradient equals finite differences.
_BASES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
POLYNOMIALS = tuple(
    f"np.polynomial.{module}.{basis}{name}"
    for module, basis in _BASES.items()
    for name in ("add", "der", "div", "fit", "fromroots", "int", "mul", "mulx", "pow", "roots", "sub", "val", "vander")
)
DISTRIBUTION_METHODS = (
    "cdf", "entropy", "freeze", "interval", "isf", "logcdf", "logpdf", "logpmf", "logsf", "mean", "median", "moment",
    "nnlf", "pdf", "pmf", "ppf", "sf", "stats", "std", "support", "var",
)  # fmt: skip
DISTRIBUTIONS_OF_VECTORS = tuple(
    f"{name}_{form}"
    for name in (
        "dirichlet", "dirichlet_multinomial", "invwishart", "matrix_normal", "matrix_t", "multinomial",
        "multivariate_normal", "multivariate_t", "normal_inverse_gamma", "vonmises_fisher", "wishart",
    )
    for form in ("gen", "frozen")
)  # fmt: skip
METHODS_OF_VECTORS = ("__call__", "cov", "entropy", "logpdf", "logpmf", "mean", "mode", "pdf", "pmf", "std", "var")

RULES: LateDict[Callable[..., Any]] = LateDict()  # "scipy.linalg.expm" -> the same function, of tensors


IMPLICIT: set[str] = set()  # what is differentiated by the implicit function theorem, whatever ran to find it


def _load_rules(name: str) -> None:
    slots.load_scipy_rules(name)  # looked up now: the slot may be filled after this module is imported


RULES.load = _load_rules


# Functions whose rules run on plain arguments too, because what they make meets our tensors later.
MAKERS = {f"scipy.sparse.linalg.{name}" for name in ("factorized", "spilu", "splu")}


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

    Examples
    --------
    >>> from pullback.extend import scipy_rule
    >>> @scipy_rule("scipy.linalg.pinvh")  # doctest: +SKIP
    ... def pinvh(a, **options):
    ...     return np.linalg.pinv(a, hermitian=True)
    """
    for name in names:
        if not isinstance(name, str) or not name.startswith("scipy.") or name.count(".") < 2:
            raise ValueError(f"scipy_rule: name a function with its module ('scipy.linalg.expm'), got {name!r}.")

    def enter(function: _F) -> _F:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def has_views(module: str | None) -> bool:
    """True if the functions of this module, in Python, are SciPy's, or NumPy's for polynomials: it has views."""
    return module is not None and (module.partition(".")[0] == "scipy" or module.startswith("numpy.polynomial"))


NAMES = frozenset({
    *(f"np.{name}" for name in NUMPY), *(f"math.{name}" for name in MATH), *(f"cmath.{name}" for name in CMATH),
    *POLYNOMIALS,
})  # fmt: skip


def has_rule(name: str) -> bool:
    """True if a function of SciPy has a rule, so that `pullback.scipy` has it for Tensors."""
    return name in RULES or (name.startswith("scipy.stats.") and name.rpartition(".")[2] in DISTRIBUTION_METHODS)
