"""curve_fit: SciPy's, with the exact Jacobian and trees of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.numpy_types import ArrayLike
from pullback.core.tensor import ndarray
from pullback.optimize import estimates
from pullback.optimize.as_it_stands import as_it_stands
from pullback.optimize.bounds import held, pair_of_trees
from pullback.optimize.parameters import Parameters, depends
from pullback.optimize.polishing import polished
from pullback.optimize.residuals import Residuals

_NAME = "optimize.curve_fit"


@named(_NAME)
@as_it_stands
def curve_fit(
    f: Callable[..., Any],
    xdata: ArrayLike,
    ydata: ArrayLike,
    p0: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: str | Callable[..., Any] | None = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    polish: bool = True,
    compile: bool = True,
    **kwargs: object,
) -> tuple[Any, ...]:
    """`scipy.optimize.curve_fit` with the exact Jacobian, on parameters in any tree.

    Parameters
    ----------
    f : callable
        The model `f(xdata, *parameters)`; `f(xdata, **parameters)` where p0 is a dict, `f(xdata, tree)` where it is any
        other tree.
    xdata, ydata, sigma, absolute_sigma, check_finite, method, full_output, nan_policy, **kwargs
        SciPy's.
    p0 : array, number, or tree of floating-point arrays and numbers, optional
        Where to start; 1 for each parameter of `f` by default.
    bounds : (lower, upper), Bounds or tree
        As of `least_squares`.
    jac : callable or {"2-point", "3-point", "cs"}, optional
        The exact Jacobian if it is not given.

    polish : bool, default True
        Whether steps of Newton's method follow, as of `least_squares`, unless a bound holds.
    compile : bool, default True
        As of `minimize`.

    Returns
    -------
    popt : ndarray, shape (n,), or built like p0
    pcov : ndarray, shape (n, n)
        In the order of `func.ravel_pytree(popt)`. Standard errors are `np.sqrt(np.diag(pcov))`.
    infodict, mesg, ier
        With `full_output`. `infodict["stderr"]` has the standard errors, built like popt.

    Raises
    ------
    RuntimeError
        No minimum was found; the model does not depend on the parameters; the data are being differentiated.
    TypeError, ValueError
        Arguments do not fit.

    Notes
    -----
    pcov = s^2 (J^T W J)^-1 with the exact Jacobian J of the model *at popt*, W = sigma^-2 (or the inverse of a matrix
    sigma) and s^2 = r^T W r / (m - n), 1 with `absolute_sigma`. It holds for errors that are independent (or have the
    covariance sigma) and a model that is near to linear within them. SciPy's "lm" takes J one step earlier, which costs
    digits. Parameters at a bound have nan.

    Examples
    --------
    >>> import numpy as np
    >>> def decay(t, height, rate):
    ...     return height * np.exp(-rate * t)
    >>> t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 1.3, 0.7, 0.4])
    >>> popt, pcov = pb.optimize.curve_fit(decay, t, y)
    >>> popt.round(4), np.sqrt(np.diag(pcov)).round(4)
    (array([2.0287, 0.5097]), array([0.0678, 0.0363]))
    >>> pb.optimize.curve_fit(decay, t, y, {"height": 1.0, "rate": 1.0})[0]["rate"].round(4).item()
    0.5097
    """
    if not callable(f):
        raise TypeError(f"{_NAME}: f must be callable, got {type_name(f)}.")
    if depends([xdata, ydata, p0, sigma]):
        raise GradientError(
            f"{_NAME}: the data are being differentiated, and pcov would have no derivative. "
            "pullback.optimize.least_squares(residuals, p0, args=(xdata, ydata)).x has derivatives in args."
        )
    parameters = Parameters(_NAME, _starts(f, bounds) if p0 is None else p0)
    limits = pair_of_trees(parameters, bounds)
    call = _model(f, parameters)
    given = _given(jac, parameters) if callable(jac) else None

    last: list[Any] = [None, None]  # an xdata, and the model there

    def model(x: object) -> Residuals:
        if last[0] is not x:
            last[:] = x, Residuals(_NAME, "model", call, parameters, (x,), jac=given, compile=compile)
        return last[1]  # type: ignore[no-any-return]

    x, y, transform = _data(xdata, ydata, sigma, nan_policy)
    if not isinstance(jac, str) and not _has_nan(x):  # of which SciPy says what is to be done
        model(x).begin()
    if sigma is not None and np.size(sigma) == 1:  # SciPy takes a number for a matrix, where there is a Jacobian
        sigma = np.full(np.shape(ydata), sigma)
    low, high = (-np.inf, np.inf) if limits is None else (limits.lb, limits.ub)
    popt, pcov, infodict, message, status = scipy.optimize.curve_fit(
        lambda x, *p: model(x).value(np.array(p)),
        xdata,
        ydata,
        parameters.start,
        sigma,
        absolute_sigma,
        check_finite,
        (low, high),
        method,
        jac if isinstance(jac, str) else lambda x, *p: model(x).jacobian(np.array(p)),
        full_output=True,
        nan_policy=nan_policy,
        **kwargs,
    )
    if not isinstance(jac, str):

        def distances(p: object) -> object:
            return transform(call(p, x) - y)

        residuals = Residuals(_NAME, "residuals", distances, parameters, compile=compile)
        at = held(parameters, limits, popt)
        if polish and not at.any():
            popt = polished(residuals, popt)
        infodict["fvec"] = found = residuals.value(popt)
        slopes = transform(model(x).jacobian(popt))
        free = found.size - parameters.size
        variance = found @ found / free if free > 0 else np.inf
        pcov = estimates.of_jacobian(_NAME, slopes, at, 1.0 if absolute_sigma else variance)
        if variance > 0:
            pcov = estimates.at_minimum(_NAME, pcov, slopes.T @ found / (1.0 if absolute_sigma else variance), popt)
    result = parameters.of_full(popt)
    if not full_output:
        return result, pcov
    infodict["stderr"] = parameters.of_full(estimates.errors(pcov))
    return result, pcov, infodict, message, status


def _starts(f: Callable[..., Any], bounds: Any) -> ndarray:
    """Ones for the parameters of the model, or what is inside of the bounds, as SciPy has it."""
    names = [p for p in inspect.signature(f).parameters.values() if p.kind in (0, 1)]
    if len(names) < 2:
        raise ValueError(f"{_NAME}: the number of parameters cannot be seen from the model; give p0.")
    from scipy.optimize._minpack_py import _initialize_feasible, prepare_bounds

    lower, upper = (bounds.lb, bounds.ub) if isinstance(bounds, scipy.optimize.Bounds) else bounds
    return np.asarray(_initialize_feasible(*prepare_bounds((lower, upper), len(names) - 1)))


def _model(f: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    """The model as a function of (parameters, xdata)."""

    @functools.wraps(f)
    def call(p: Any, x: object) -> object:
        if isinstance(p, dict):
            return f(x, **p)
        return f(x, *[p[i] for i in range(parameters.size)]) if parameters.bare else f(x, p)

    return call


def _has_nan(x: Any) -> bool:
    return issubclass(type(x), ndarray) and x.dtype.kind == "f" and bool(np.isnan(x).any())


def _given(jac: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    """The user's Jacobian, which takes what the model takes."""
    return _model(jac, parameters)


def _data(
    xdata: Any, ydata: ArrayLike, sigma: ArrayLike | None, nan_policy: str | None
) -> tuple[Any, ndarray, Callable[[Any], Any]]:
    """(xdata, ydata, what divides residuals and rows of their Jacobian by sigma), of the observations that count."""
    y = np.asarray(ydata, float)
    x = np.asarray(xdata, float) if isinstance(xdata, (list, tuple)) else xdata
    sigma = None if sigma is None else np.asarray(sigma, float)
    if nan_policy == "omit":
        missing = np.isnan(x)
        kept = ~(missing.any(axis=tuple(range(missing.ndim - 1))) | np.isnan(y))
        x, y = x[..., kept], y[kept]
        if sigma is not None and sigma.size > 1:
            sigma = sigma[kept] if sigma.ndim == 1 else sigma[np.ix_(kept, kept)]
    if sigma is None:
        return x, y, lambda r: r
    if sigma.ndim < 2 or sigma.size == 1:
        return x, y, lambda r: r / (sigma.reshape(-1, 1) if len(r.shape) == 2 else sigma.reshape(-1))
    whitening = scipy.linalg.solve_triangular(scipy.linalg.cholesky(sigma, lower=True), np.eye(y.size), lower=True)
    return x, y, lambda r: whitening @ r
