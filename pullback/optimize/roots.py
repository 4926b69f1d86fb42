"""root: SciPy's, with the exact Jacobian and trees of unknowns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import OptimizeResult

from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.tensor import ndarray
from pullback.func.implicit.api import custom_root
from pullback.optimize.as_it_stands import as_it_stands
from pullback.optimize.objective import first_of
from pullback.optimize.parameters import Parameters, depends
from pullback.optimize.residuals import Residuals
from pullback.optimize.results import check_found, only_differentiable
from pullback.optimize.watching import Watch

_NAME = "optimize.root"
_WITH_JACOBIAN = frozenset({"hybr", "lm"})


@named(_NAME)
@as_it_stands
def root(
    fun: Callable[..., Any],
    x0: object,
    args: Any = (),
    method: str = "hybr",
    jac: bool | Callable[..., Any] | None = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    history: bool = False,
    progress: bool | None = None,
    compile: bool = True,
) -> OptimizeResult:
    """`scipy.optimize.root` with the exact Jacobian, on unknowns in any tree.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)`: as many numbers as x has, an array or a tree.
    x0 : array, number, or tree of floating-point arrays and numbers
        As of `minimize`.
    args : tuple, default ()
        Further arguments of `fun`. The root is differentiable by the arrays in it.
    method, tol, callback, options
        SciPy's. "hybr" and "lm" take the Jacobian; the others do without.
    jac : callable or True, optional
        The exact Jacobian if it is not given; True where `fun` returns (values, Jacobian).
    history : bool, default False
    progress : bool, optional
    compile : bool, default True
        As of `minimize`; `history` lists the evaluations of `fun`, with x and the norm of its values.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's; `x` is built like x0.

    Raises
    ------
    RuntimeError, TypeError, ValueError, ModuleNotFoundError
        As `minimize`; `fun` gives another number of values than there are unknowns.

    Notes
    -----
    Inside of a transform the root is differentiable by `args`: dx = -(dF/dx)^-1 (dF/dargs) dargs.

    Examples
    --------
    >>> import numpy as np
    >>> def circle_and_line(p):
    ...     return [p["x"] ** 2 + p["y"] ** 2 - 2, p["x"] - p["y"]]
    >>> found = pb.optimize.root(circle_and_line, {"x": 2.0, "y": 0.5})
    >>> round(float(found.x["x"]), 9), found.njev
    (1.0, 1)
    """
    if not callable(fun):
        raise TypeError(f"{_NAME}: fun must be callable, got {type_name(fun)}.")
    args = args if isinstance(args, tuple) else (args,)
    given = (method, jac, tol, callback, options, history, progress, compile)
    if not depends(args):
        return _solved(fun, x0, args, *given)

    def solver(start: object, *plain: object) -> Any:
        result = _solved(fun, start, plain, *given)
        return result, result

    condition = first_of(fun) if jac is True else fun
    x, result = custom_root(solver, condition, has_aux=True)(x0, *args)
    return only_differentiable(result, x=x, fun=condition(x, *args))


def _solved(
    fun: Callable[..., Any],
    x0: object,
    args: Any,
    method: str,
    jac: bool | Callable[..., Any] | None,
    tol: float | None,
    callback: Callable[..., Any] | None,
    options: dict[str, Any] | None,
    history: bool,
    progress: bool | None,
    compile: bool,
) -> OptimizeResult:
    parameters = Parameters(_NAME, x0)
    if jac is True:
        both = fun
        fun, jac = first_of(both), lambda *a: both(*a)[1]
    given = jac if callable(jac) else None
    residuals = Residuals(_NAME, "equations", fun, parameters, args, jac=given, compile=compile)
    count = residuals.begin().size
    if count != parameters.size:
        raise GradientError(
            f"{_NAME}: fun gives {count} numbers for {parameters.size} unknowns; a root needs as many equations as "
            "unknowns. pullback.optimize.least_squares takes any number."
        )

    def noted(z: ndarray) -> dict[str, Any]:
        return {"fun": float(np.linalg.norm(values[-1]))}

    watch = Watch(parameters, noted, history=history, progress=progress, label=f"root {method}")
    values = [np.zeros(0)]

    def value(z: ndarray) -> ndarray:
        values[0] = residuals.value(z)
        watch.note(z)
        return values[0].copy()

    takes = method.lower() in _WITH_JACOBIAN
    followed = None if callback is None else lambda z, f: callback(parameters.tree(z), f)
    try:
        result = scipy.optimize.root(
            value,
            parameters.start,
            method=method,
            jac=residuals.jacobian if takes else None,
            tol=tol,
            callback=followed,
            options=options,
        )
    finally:
        watch.close()
    z = np.array(result.x)
    watch.end(result)
    result.x = parameters.tree(z)
    result.derivatives = {"jac": residuals.text if takes else f"none ({method})"}
    check_found(_NAME, result, z)
    return result
