"""least_squares: SciPy's, with exact Jacobians, sparse where they pay, and trees of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import Bounds, OptimizeResult

from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.core.tensor import ndarray
from pullback.func.implicit.api import custom_minimum
from pullback.optimize import estimates
from pullback.optimize.as_it_stands import as_it_stands
from pullback.optimize.bounds import held, pair_of_trees, refuse_held
from pullback.optimize.methods import DIFFERENCES
from pullback.optimize.parameters import Parameters, depends
from pullback.optimize.patterns import FEW
from pullback.optimize.polishing import polished
from pullback.optimize.residuals import Residuals
from pullback.optimize.results import check_found, only_differentiable
from pullback.optimize.watching import Watch

_NAME = "optimize.least_squares"


@named(_NAME)
@as_it_stands
def least_squares(
    fun: Callable[..., Any],
    x0: object,
    jac: str | Callable[..., Any] | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    *,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    x_scale: object = None,
    loss: str | Callable[..., Any] = "linear",
    tr_solver: str | None = None,
    jac_sparsity: object = None,
    callback: Callable[..., Any] | None = None,
    sparse: bool | None = None,
    polish: bool = False,
    stderr: bool = False,
    history: bool = False,
    progress: bool | None = None,
    compile: bool = True,
    **options: Any,
) -> OptimizeResult:
    """`scipy.optimize.least_squares` with the exact Jacobian, on parameters in any tree.

    Parameters
    ----------
    fun : callable
        `fun(x, *args, **kwargs)`, the residuals: an array of any shape or a tree of these.
    x0 : array, number, or tree of floating-point arrays and numbers
        As of `minimize`.
    jac : callable or {"2-point", "3-point", "cs"}, optional
        The exact Jacobian if it is not given.
    bounds : (lower, upper), Bounds or tree
        Numbers, arrays, or trees like x0; or a dict built like x0 with pairs (lower, upper) in it.
    method, loss, tr_solver, callback
        SciPy's.
    args, kwargs
        Further arguments of `fun`. The solution is differentiable by the arrays in `args`.
    x_scale : number, array, tree like x0 or "jac", optional
        SciPy's.
    jac_sparsity : scipy.sparse matrix, 2-D array or Coloring, optional
        The pattern of the exact Jacobian, which is sparse then.
    sparse : bool, optional
        Whether the Jacobian is sparse, and steps are found by lsmr. By default, beyond 50 residuals and parameters, as
        its pattern says (at most a quarter of its entries, a third of its columns in passes), unless `method` is "lm"
        or `tr_solver` "exact".
    polish : bool, default False
        Whether steps of Newton's method follow, with the exact second derivatives, while they become shorter. SciPy's
        solvers compare sums of squares, which settle half of the digits of x; this gives the others. For up to 50
        parameters, no loss function, and where no bound holds.
    stderr, history : bool, default False
    progress : bool, optional
    compile : bool, default True
        As of `minimize`; `history` lists where the Jacobian was evaluated, with x and cost.
    **options
        SciPy's: ftol, xtol, gtol, f_scale, tr_options, max_nfev, verbose, diff_step.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's. `x` is built like x0, `fun` is a vector, `derivatives` says how the Jacobian was computed. With
        `stderr`: `covariance` (n, n), in the order of `func.ravel_pytree(x)`, and `stderr`, built like x0.

    Raises
    ------
    RuntimeError, TypeError, ValueError, ModuleNotFoundError
        As `minimize`.

    Notes
    -----
    covariance = s^2 (J^T J)^-1 with s^2 = sum r^2 / (m - n) and the exact Jacobian J at the solution. These are the
    errors of estimates if residuals are independent with equal unknown variance, the model is near to linear within
    the errors, and no bound holds. With weighted residuals (r / sigma) of known sigma divide by s^2.

    Inside of a transform the solution is differentiable by `args`, as a minimum of sum r^2 / 2 with no loss function
    and no bound that holds.

    Examples
    --------
    >>> import numpy as np
    >>> t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 1.3, 0.7, 0.4])
    >>> def residuals(p, t, y):
    ...     return p["height"] * np.exp(-p["rate"] * t) - y
    >>> found = pb.optimize.least_squares(residuals, {"height": 1.0, "rate": 1.0}, args=(t, y), stderr=True)
    >>> round(float(found.x["rate"]), 4), round(float(found.stderr["rate"]), 4)
    (0.5097, 0.0363)
    """
    if not callable(fun):
        raise TypeError(f"{_NAME}: fun must be callable, got {type_name(fun)}.")
    args = args if isinstance(args, tuple) else (args,)
    if depends([flatten(x)[0] for x in (kwargs, options, x_scale)]) or depends(flatten(_limits(bounds))[0]):
        raise GradientError(
            f"{_NAME}: bounds, kwargs or an option is being differentiated further out, and this derivative would be "
            "lost. Pass it in args; the solution is differentiable with respect to these."
        )
    given = {"jac": jac, "bounds": bounds, "method": method, "kwargs": kwargs, "x_scale": x_scale, "loss": loss}
    given |= {"tr_solver": tr_solver, "jac_sparsity": jac_sparsity, "callback": callback, "sparse": sparse}
    given |= {"polish": polish, "stderr": stderr, "history": history, "progress": progress, "options": options}
    given["compile"] = compile
    if not depends(args):
        return _Problem(fun, x0, args, **given).solved()
    if stderr or not (isinstance(loss, str) and loss == "linear"):
        raise GradientError(
            f"{_NAME}: args are being differentiated: only least squares with loss='linear' and without stderr have a "
            "derivative here. For another loss, minimize it with pullback.optimize.minimize; take stderr outside."
        )
    more = dict(kwargs or {})

    def solver(start: object, *plain: object) -> Any:
        problem = _Problem(fun, start, plain, **given)
        result = problem.solved()
        problem.refuse_held()
        return result, result

    def cost(x: Any, *inside: object) -> Any:
        return sum(np.sum(r**2) for r in flatten(fun(x, *inside, **more))[0]) / 2

    x, result = custom_minimum(solver, cost, has_aux=True)(x0, *args)
    return only_differentiable(result, x=x, cost=cost(x, *args), fun=fun(x, *args, **more))


class _Problem:
    """One call."""

    def __init__(
        self,
        fun: Callable[..., Any],
        x0: object,
        args: Any,
        *,
        jac: Any,
        bounds: Any,
        method: str,
        kwargs: Mapping[str, Any] | None,
        x_scale: object,
        loss: str | Callable[..., Any],
        tr_solver: str | None,
        jac_sparsity: object,
        callback: Callable[..., Any] | None,
        sparse: bool | None,
        polish: bool,
        stderr: bool,
        history: bool,
        progress: bool | None,
        compile: bool,
        options: dict[str, Any],
    ) -> None:
        self.parameters = Parameters(_NAME, x0)
        self.bounds = pair_of_trees(self.parameters, bounds)
        known = inspect.signature(scipy.optimize.least_squares).parameters
        for key in options:
            if key not in known:
                raise TypeError(f"{_NAME}: got an unexpected keyword argument {key!r}.")
        if jac is not None and not callable(jac) and jac not in DIFFERENCES:
            raise ValueError(f"{_NAME}: jac must be a callable or one of {DIFFERENCES}, got {jac!r}.")
        if stderr and not (isinstance(loss, str) and loss == "linear"):
            raise ValueError(
                f"{_NAME}: stderr is for loss='linear': s^2 (J^T J)^-1 is not a covariance with another loss."
            )
        if polish and not (isinstance(loss, str) and loss == "linear" and self.parameters.size <= FEW):
            raise ValueError(f"{_NAME}: polish is for loss='linear' and up to {FEW} parameters.")
        self._polish = polish
        self.residuals = Residuals(
            _NAME, "residuals", fun, self.parameters, args, kwargs, jac if callable(jac) else None, compile
        )
        self._stderr, self._linear = stderr, isinstance(loss, str) and loss == "linear"
        self._options = {"method": method, "loss": loss, "tr_solver": tr_solver, **options}
        if x_scale is not None:
            text = isinstance(x_scale, str)
            self._options["x_scale"] = x_scale if text else self.parameters.spread(x_scale, "x_scale", 1.0)
        if isinstance(jac, str):
            self._jac: Any = jac
            self.text = f"differences ({jac})"
            self._options["jac_sparsity"] = jac_sparsity
            self.residuals.value(self.parameters.start)
        else:
            rows = self.residuals.begin().size
            may_be_sparse = method != "lm" and tr_solver != "exact"
            if not may_be_sparse and (sparse or jac_sparsity is not None):
                raise ValueError(f"{_NAME}: sparse Jacobians need method 'trf' or 'dogbox', and tr_solver 'lsmr'.")
            if may_be_sparse:
                self.residuals.choose(rows, sparse, jac_sparsity)
            self.text, self._jac = self.residuals.text, self._evaluated
        self._watch = Watch(
            self.parameters, self._noted, callback=None, history=history, progress=progress, label="least_squares"
        )
        if callback is not None:
            if "callback" not in known:
                raise TypeError(f"{_NAME}: this version of SciPy's least_squares takes no callback.")
            self._options["callback"] = self._callback(callback)

    def _evaluated(self, z: ndarray) -> object:
        self._watch.note(z)
        return self.residuals.jacobian(z)

    def _callback(self, callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
        step = Watch(self.parameters, self._noted, callback=callback)
        return step.one_argument

    def _noted(self, z: ndarray) -> dict[str, Any]:
        return {"cost": float(np.sum(self.residuals.value(z) ** 2)) / 2}

    def solved(self) -> OptimizeResult:
        """SciPy's result, about the parameters themselves."""
        residuals, parameters = self.residuals, self.parameters
        bounds = (-np.inf, np.inf) if self.bounds is None else (self.bounds.lb, self.bounds.ub)
        try:
            result = scipy.optimize.least_squares(
                residuals.value, parameters.start, jac=self._jac, bounds=bounds, **self._options
            )
        finally:
            self._watch.close()
        self._z = z = np.array(result.x)
        if self._polish and not held(parameters, self.bounds, z).any():
            self._z = z = polished(residuals, z)
            result.fun, result.jac = residuals.value(z), residuals.jacobian(z)
            result.cost, result.grad = result.fun @ result.fun / 2, result.jac.T @ result.fun
            result.optimality = float(np.abs(result.grad).max())
        self._watch.end(result)
        result.x = parameters.tree(z)
        result.derivatives = {"jac": self.text}
        check_found(_NAME, result, z)
        if self._stderr:
            jacobian = result.jac.toarray() if hasattr(result.jac, "toarray") else np.asarray(result.jac)
            free = jacobian.shape[0] - parameters.size
            variance = 2 * result.cost / free if free > 0 else np.inf
            covariance = estimates.of_jacobian(_NAME, jacobian, held(parameters, self.bounds, z), variance)
            if variance > 0:
                slopes = jacobian.T @ result.fun / variance
                covariance = estimates.at_minimum(_NAME, covariance, slopes, z)
            result.covariance, result.stderr = covariance, parameters.of_full(estimates.errors(covariance))
        return result

    def refuse_held(self) -> None:
        """Refuse to differentiate a solution that a bound holds."""
        refuse_held(self.parameters, self.bounds, self._z)


def _limits(bounds: Any) -> Any:
    return (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else bounds
