"""minimize: SciPy's, with exact derivatives and trees of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import HessianUpdateStrategy, OptimizeResult

from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.core.tensor import ndarray
from pullback.func.implicit.api import custom_minimum
from pullback.optimize import estimates
from pullback.optimize.as_it_stands import as_it_stands
from pullback.optimize.bounds import held, refuse_held, tree_of_pairs
from pullback.optimize.constraints import Constraints, listed, refuse_derivatives
from pullback.optimize.methods import DIFFERENCES, WITH_HESSIAN, WITHOUT_GRADIENT
from pullback.optimize.objective import Objective, first_of
from pullback.optimize.parameters import Parameters, depends, numbers
from pullback.optimize.results import check_found, inverse_hessian, only_differentiable
from pullback.optimize.watching import Watch

_NAME = "optimize.minimize"
_STATIONARY = 1e-7


@named(_NAME)
@as_it_stands
def minimize(
    fun: Callable[..., Any],
    x0: object,
    args: Any = (),
    method: str | Callable[..., Any] | None = None,
    jac: bool | str | Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Callable[..., Any] | None = None,
    bounds: Any = None,
    constraints: object = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    x_scale: object = None,
    sparse: bool | None = None,
    stderr: bool = False,
    history: bool = False,
    progress: bool | None = None,
    compile: bool = True,
) -> OptimizeResult:
    """`scipy.optimize.minimize` with exact derivatives, on parameters in any tree.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)`, a real number, written for NumPy, SciPy or pullback.
    x0 : array, number, or tree (dict, list, tuple, registered class) of floating-point arrays and numbers
        The start. `fun` gets what is built like it. A list of numbers is an array, as in SciPy.
    args : tuple, default ()
        Further arguments of `fun`. The solution is differentiable by the arrays in it.
    method : str or callable, optional
        One of SciPy's; by default BFGS, L-BFGS-B with bounds, SLSQP with constraints.
    jac : callable, bool or {"2-point", "3-point", "cs"}, optional
        The exact gradient if it is not given. SciPy's meanings otherwise: True where `fun` returns (value, gradient).
        A gradient may be built like x0, or be a vector.
    hess, hessp : callable, str or HessianUpdateStrategy, optional
        If neither is given, the methods that take one get the exact Hessian (up to 50 parameters, and for dogleg and
        trust-exact), the sparse Hessian where its pattern pays, or exact products with it.
    bounds : Bounds, or sequence of pairs, or tree, optional
        SciPy's; or built like x0, with (lower, upper) in the place of an array or of a whole part. `Bounds(lower,
        upper)` of two trees will do too.
    constraints : NonlinearConstraint, LinearConstraint, dict, or list of these
        SciPy's. Their functions get what `fun` gets. Jacobians and Hessians that are not given are exact. The columns
        of a LinearConstraint are in the order of `func.ravel_pytree(x0)`.
    tol, callback, options
        SciPy's. A callback gets x built like x0.
    x_scale : number, array or tree like x0, optional
        The sizes of the parameters: the solver works on x / x_scale. Tolerances hold for that.
    sparse : bool, optional
        Whether Hessians and Jacobians of constraints are sparse. Decided from their patterns by default.
    stderr : bool, default False
        Whether `fun` is a negative log likelihood of which `covariance` and `stderr` are wanted.
    history : bool, default False
        Whether the result lists the iterations: `history`, a list of results with x, fun and jac.
    progress : bool, optional
        Whether to show a bar of tqdm; by default as `pullback.show_progress` says.
    compile : bool, default True
        Whether exact derivatives become programs after some dozens of calls, as by `pullback.compile`, where `fun`
        permits it. They give the same numbers, in less time.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's. `x` and `jac` are built like x0; matrices are in the order of `func.ravel_pytree(x)`. `derivatives`
        says how each derivative was computed. With `stderr`: `covariance` (n, n) and `stderr`, built like x0.

    Raises
    ------
    RuntimeError
        The objective does not depend on the parameters, is not a real number, or its gradient is not finite at x0; it
        uses a variable that is differentiated further out and that is not in `args`.
    TypeError, ValueError
        x0, bounds, x_scale or a constraint does not fit; the objective is nan at x0.
    ModuleNotFoundError
        `progress` without tqdm.

    Warns
    -----
    RuntimeWarning
        A gradient is not finite on the way, or the result is not.
    OptimizeWarning
        The Hessian at the solution is not positive definite, or bounds hold, and `stderr` is asked for.

    Notes
    -----
    Value and gradient are computed together, once for a point. covariance = H^-1 with the exact Hessian H of `fun` at
    the solution, stderr_i = sqrt(covariance_ii). These are standard errors if `fun` is a negative log likelihood (not
    its mean), the model is right and smooth, the data are many, and no bound or constraint holds.

    Inside of a transform the solution is differentiable by `args`, by the implicit function theorem:
    dx = -H^-1 (d2 fun / dx dargs) dargs. That holds without constraints, and if no bound holds; else it is refused.

    Examples
    --------
    >>> import numpy as np
    >>> def rosenbrock(p):
    ...     return np.sum((1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2)
    >>> found = pb.optimize.minimize(rosenbrock, {"x": -1.2, "y": 1.0}, method="trust-exact")
    >>> {name: round(float(value), 6) for name, value in found.x.items()}
    {'x': 1.0, 'y': 1.0}
    >>> found.derivatives["hess"]
    'exact, dense: 2 x 2'
    """
    if not callable(fun):
        raise TypeError(f"{_NAME}: fun must be callable, got {type_name(fun)}.")
    args = args if isinstance(args, tuple) else (args,)
    wanted: dict[str, Any] = {
        "x_scale": x_scale,
        "sparse": sparse,
        "stderr": stderr,
        "history": history,
        "progress": progress,
    }
    wanted["compile"] = compile
    given = (method, jac, hess, hessp, bounds, constraints, tol, callback, options)
    refuse_derivatives(_NAME, constraints, [bounds, x_scale, options])
    if not depends(args):
        return _Problem(fun, x0, args, *given, **wanted).solved()
    if listed(constraints):
        raise GradientError(
            f"{_NAME}: args are being differentiated, and there are constraints: such a minimum is not a zero of the "
            "gradient. Give its conditions of optimality to pullback.func.custom_root."
        )
    if stderr:
        raise GradientError(f"{_NAME}: stderr has no derivative with respect to args; call it outside the transform.")

    def solver(start: object, *plain: object) -> Any:
        problem = _Problem(fun, start, plain, *given, **wanted)
        result = problem.solved()
        problem.refuse_held()
        return (result.x if problem.is_stationary(result) else result), result

    objective = first_of(fun) if jac is True else fun
    x, result = custom_minimum(solver, objective, has_aux=True)(x0, *args)
    return only_differentiable(result, x=x, fun=objective(x, *args))


class _Problem:
    """A call of `minimize`: what SciPy's solver is given, and what becomes of its result."""

    def __init__(
        self,
        fun: Callable[..., Any],
        x0: object,
        args: Any,
        method: str | Callable[..., Any] | None,
        jac: bool | str | Callable[..., Any] | None,
        hess: Any,
        hessp: Callable[..., Any] | None,
        bounds: Any,
        constraints: object,
        tol: float | None,
        callback: Callable[..., Any] | None,
        options: dict[str, Any] | None,
        *,
        x_scale: object,
        sparse: bool | None,
        stderr: bool,
        history: bool,
        progress: bool | None,
        compile: bool,
    ) -> None:
        self.parameters = Parameters(_NAME, x0, x_scale)
        self.bounds = tree_of_pairs(self.parameters, bounds)
        self.method = method or ("SLSQP" if listed(constraints) else "L-BFGS-B" if bounds is not None else "BFGS")
        self.kind = "custom" if callable(self.method) else self.method.lower()
        self.objective = Objective(_NAME, fun, self.parameters, args, jac, compile)
        self._jac, self._hess, self._hessp = jac, hess, hessp
        self._tol, self._options, self._stderr = tol, dict(options or {}), stderr
        self.derivatives: dict[str, str] = {}
        if stderr and listed(constraints):
            raise ValueError(f"{_NAME}: stderr is for minima without constraints; H^-1 is not a covariance with them.")
        self._derived = self._with_derivatives(sparse)
        self.constraints = Constraints(_NAME, constraints, self.parameters, self.kind, sparse, compile)
        if self.constraints.texts:
            self.derivatives["constraints"] = "; ".join(self.constraints.texts)
        label = f"minimize {self.method if isinstance(self.method, str) else type_name(self.method)}"
        self._watch = Watch(
            self.parameters, self._noted, callback=callback, history=history, progress=progress, label=label
        )

    def _with_derivatives(self, sparse: bool | None) -> dict[str, Any]:
        """Return SciPy's arguments jac, hess and hessp, and note in `derivatives` where each comes from."""
        objective, parameters = self.objective, self.parameters
        if self.kind in WITHOUT_GRADIENT:
            objective.check_start(objective.plain(parameters.start))
            # SciPy says that these are not used; True would have it take the value for a pair.
            return {"jac": None if self._jac is True else self._jac, "hess": self._hess, "hessp": self._hessp}
        if isinstance(self._jac, str):
            if self._jac not in DIFFERENCES:
                raise ValueError(f"{_NAME}: jac must be a callable, a bool or one of {DIFFERENCES}, got {self._jac!r}.")
            self.derivatives["jac"] = f"differences ({self._jac})"
            derived: dict[str, Any] = {"jac": self._jac}
        else:
            objective.begin()
            self.derivatives["jac"] = "exact" if objective.is_exact else "given"
            derived = {"jac": objective.gradient}
        if self._hess is None and self._hessp is None:
            if self.kind == "custom":
                derived |= {"hess": objective.hessian, "hessp": objective.product}
                self.derivatives["hess"] = "exact"
            elif self.kind in WITH_HESSIAN:
                found, self.derivatives["hess"] = objective.second_derivatives(self.kind, sparse)
                derived |= found
            return derived
        if self.kind in WITH_HESSIAN:
            self.derivatives["hess"] = "given"
        return derived | self._given_hessians()

    def _given_hessians(self) -> dict[str, Any]:
        """Return hess and hessp that the user gave, as functions of the solver's vector."""
        parameters, args = self.parameters, self.objective.args
        found: dict[str, Any] = {}
        if callable(self._hess):
            found["hess"] = lambda z: parameters.symmetric(_matrix(self._hess(parameters.tree(z), *args)))
        elif self._hess is not None:
            found["hess"] = self._hess
            known = isinstance(self._hess, HessianUpdateStrategy)
            self.derivatives["hess"] = type_name(self._hess) if known else f"differences ({self._hess})"
        if self._hessp is not None:
            found["hessp"] = lambda z, p: parameters.covector(
                self._hessp(parameters.tree(z), parameters.of_full(parameters.full(p)), *args)
            )
        return found

    def solved(self) -> OptimizeResult:
        """Run the solver; its result speaks of the parameters, no longer of the solver's vector."""
        objective, options = self.objective, self._options
        if self.kind == "trust-constr" and self.constraints.given:
            options.setdefault("sparse_jacobian", self.constraints.any_sparse)
        exact = isinstance(self._derived.get("jac"), str) or self.kind in WITHOUT_GRADIENT
        watch, callback = self._watch, None
        if watch.is_needed:
            callback = watch.two_arguments if self.kind == "trust-constr" else watch.one_argument
        try:
            watch.note(self.parameters.start)
            result = scipy.optimize.minimize(
                objective.plain if exact else objective.value,
                self.parameters.start,
                method=self.method,
                bounds=self.bounds,
                constraints=self.constraints.given,
                tol=self._tol,
                callback=callback,
                options=options,
                **self._derived,
            )
        finally:
            watch.close()
        self._z = np.array(result.x)
        watch.end(result)
        self._finish(result)
        return result

    def _finish(self, result: OptimizeResult) -> None:
        """Put the parameters, with their names and shapes, in place of the solver's vector in the result."""
        parameters, z = self.parameters, self._z
        result.x = parameters.tree(z)
        result.derivatives = self.derivatives
        check_found(_NAME, result, z)
        if self._stderr:
            hessian = self._hessian_at(z)
            covariance = estimates.of_hessian(_NAME, hessian, held(parameters, self.bounds, z))
            slopes = self.objective.gradient(z) / (1 if parameters.scale is None else parameters.scale)
            covariance = estimates.at_minimum(_NAME, covariance, slopes, parameters.full(z))
            result.covariance, result.stderr = covariance, parameters.of_full(estimates.errors(covariance))
        scale = parameters.scale
        if "grad" in result:  # of trust-constr, whose jac are those of the constraints
            result.grad = parameters.of_full(result.grad if scale is None else result.grad / scale)
        elif "jac" in result and np.shape(result.jac) == z.shape:
            result.jac = parameters.of_full(result.jac if scale is None else result.jac / scale)
        if scale is not None:
            if "hess" in result:
                result.hess = result.hess / np.outer(scale, scale)
            if "hess_inv" in result:
                result.hess_inv = inverse_hessian(result.hess_inv, scale)

    def _hessian_at(self, z: ndarray) -> ndarray:
        if callable(self._hess):
            found = _matrix(self._hess(self.parameters.tree(z), *self.objective.args))
            return np.asarray(found.toarray() if hasattr(found, "toarray") else found)
        return self.objective.full_hessian(self.parameters.full(z))

    def _noted(self, z: ndarray) -> dict[str, Any]:
        objective, scale = self.objective, self.parameters.scale
        if self.kind in WITHOUT_GRADIENT or isinstance(self._derived.get("jac"), str):
            return {"fun": objective.plain(z)}
        value, gradient = objective.value(z), objective.gradient(z)
        return {"fun": value, "jac": self.parameters.of_full(gradient if scale is None else gradient / scale)}

    def is_stationary(self, result: OptimizeResult) -> bool:
        """True if a solver that has failed did so at a zero of the gradient, for want of digits alone."""
        found = result.get("jac")
        size = max(1.0, abs(float(result.fun)))
        return found is not None and all(np.max(np.abs(numbers(g))) <= _STATIONARY * size for g in flatten(found)[0])

    def refuse_held(self) -> None:
        """Refuse to differentiate a solution that a bound holds."""
        refuse_held(self.parameters, self.bounds, self._z)


def _matrix(found: Any) -> Any:
    return found if hasattr(found, "tocsc") or hasattr(found, "matvec") else numbers(found)
