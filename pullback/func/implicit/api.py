"""custom_root, custom_fixed_point, custom_minimum, custom_linear_solve: what a solver finds, by its condition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.core.errors import GradientError
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.func.gradient import grad
from pullback.func.implicit.functions import ImplicitFunction, check_functions
from pullback.func.implicit.linear_function import LinearFunction

_TOL = 1e-3
_Function = Callable[..., Any]


@named("func.custom_root")
def custom_root(
    solver: _Function,
    condition: _Function | None = None,
    *,
    linear_solver: _Function | None = None,
    tol: float = _TOL,
    has_aux: bool = False,
) -> Any:
    """The root of a condition as a differentiable function. Any solver may find it; its steps are not differentiated.

    Parameters
    ----------
    solver : callable
        `solver(x0, *args, **options)`, of plain ndarrays and numbers: gives x with condition(x, *args) = 0, an array, a
        number or a tree (dict, list, tuple) of floating-point numbers; or a result of SciPy's (also of `root_scalar`
        and with `full_output`), whose `x` is taken and whose `success` is asked for.
    condition : callable
        `condition(x, *args)`, written with NumPy's or pullback's functions: as many numbers as x has. With one
        function in the call, that is the condition, and the call a decorator of the solver.
    linear_solver : callable, optional
        `linear_solver(operator, b)` solves the linear systems of the derivatives: the solution or, as SciPy's solvers
        do, (solution, info), with a residual of at most tol * |b|. `operator` is a
        `scipy.sparse.linalg.LinearOperator` with its transpose `operator.H`, b a vector; a complex number is two real
        ones in it. Without it, LU factors of the Jacobian up to 64 unknowns, GMRES on products with it for more.
    tol : float, default 1e-3
        The largest residual of a solution: max|F| <= tol, or tol * max|dF/dx x|. Where a derivative is taken, a step of
        Newton's method must be below tol * (|x_i| + max|x| / 100) too, in each array by itself.
    has_aux : bool, default False
        Whether the solver gives (x, aux); so does the function then. aux is a constant.

    Returns
    -------
    callable
        Of `(x0, *args, **options)`. x0 is where the solver starts (None, where it needs none); neither it nor options,
        which go to the solver alone, have a derivative. args may be trees.

    Raises
    ------
    ConvergenceError
        On a call: the solver says that it failed, or the residual is too large. In a derivative: the linear system was
        not solved. It is a RuntimeError.
    LinAlgError
        In a derivative: the Jacobian with respect to x is singular.
    RuntimeError
        On a call: solver or condition use a variable that is differentiated and that is not an argument; the numbers of
        equations and unknowns differ. In a derivative: the condition gives something else than on the call.

    Notes
    -----
    dx = -A^-1 (dF/dargs) dargs with A = dF/dx at the solution, by the implicit function theorem. jvp solves one system
    with A, vjp one with A^H. Both are implicit functions again, so every order and nesting is right.

    Examples
    --------
    >>> import scipy.optimize
    >>> @pb.func.custom_root(lambda x, a: x**3 - a)
    ... def cube_root(x0, a):
    ...     return scipy.optimize.brentq(lambda x: x**3 - a, 0.0, 10.0)
    >>> round(pb.func.grad(cube_root, argnums=1)(None, 8.0).item(), 9)  # a**(-2/3) / 3
    0.083333333
    """
    if condition is None:
        return _decorator(custom_root, condition=solver, linear_solver=linear_solver, tol=tol, has_aux=has_aux)
    check_functions("custom_root", solver=solver, condition=condition)
    return ImplicitFunction("custom_root", "the condition", solver, condition, linear_solver, tol, has_aux)


@named("func.custom_fixed_point")
def custom_fixed_point(
    solver: _Function,
    function: _Function | None = None,
    *,
    linear_solver: _Function | None = None,
    tol: float = _TOL,
    has_aux: bool = False,
) -> Any:
    """The fixed point x = function(x, *args) as a differentiable function; see `custom_root` for everything else.

    Parameters
    ----------
    solver : callable
        `solver(x0, *args, **options)` gives x.
    function : callable
        `function(x, *args)` gives a tree like x. Alone in the call, it makes it a decorator of the solver.
    linear_solver, tol, has_aux
        As of `custom_root`, of F = x - function(x, *args).

    Returns
    -------
    callable
        Called as the solver is. Without a function in the call, the decorator that gives it.

    Raises
    ------
    RuntimeError
        What `function` gives is not built as x is, or has other shapes; what `custom_root` raises.

    Notes
    -----
    dx = (I - df/dx)^-1 (df/dargs) dargs.

    Examples
    --------
    >>> import numpy as np
    >>> @pb.func.custom_fixed_point(lambda x, a: (x + a / x) / 2)  # Heron's square root
    ... def root(x0, a, steps=20):
    ...     for _ in range(steps):
    ...         x0 = (x0 + a / x0) / 2
    ...     return x0
    >>> pb.func.grad(lambda a: root(np.ones(2), a).sum())(np.array([4.0, 16.0]))
    array([0.25 , 0.125])
    """
    if function is None:
        return _decorator(custom_fixed_point, function=solver, linear_solver=linear_solver, tol=tol, has_aux=has_aux)
    check_functions("custom_fixed_point", solver=solver, function=function)
    step = function

    @functools.wraps(step)
    def condition(x: Any, *args: Any) -> list[Any]:
        (before, form), (after, other) = flatten(x), flatten(step(x, *args))
        shapes = [[getattr(y, "shape", ()) for y in leaves] for leaves in (before, after)]
        if form != other or shapes[0] != shapes[1]:
            raise GradientError(
                "custom_fixed_point: the function must give the structure and shapes that it takes: it takes "
                f"{len(before)} arrays of shapes {shapes[0]} and gives {len(after)} of {shapes[1]}."
            )
        return [y - z for y, z in zip(before, after, strict=True)]

    return ImplicitFunction("custom_fixed_point", "x - function(x)", solver, condition, linear_solver, tol, has_aux)


@named("func.custom_minimum")
def custom_minimum(
    solver: _Function,
    objective: _Function | None = None,
    *,
    linear_solver: _Function | None = None,
    tol: float = _TOL,
    has_aux: bool = False,
) -> Any:
    """The minimum of an objective as a differentiable function; see `custom_root` for everything else.

    Parameters
    ----------
    solver : callable
        `solver(x0, *args, **options)` gives x, a local minimum (or another stationary point) that no bound holds.
    objective : callable
        `objective(x, *args)`, a real number. Alone in the call, it makes it a decorator of the solver.
    linear_solver, tol, has_aux
        As of `custom_root`, of F = d objective/dx, whose Jacobian, the Hessian, is symmetric:
        `scipy.sparse.linalg.cg` serves.

    Returns
    -------
    callable
        Called as the solver is. Without an objective in the call, the decorator that gives it.

    Raises
    ------
    TypeError, RuntimeError, ConvergenceError
        As of `custom_root`; the objective returns no real scalar.

    Notes
    -----
    dx = -H^-1 (d2 objective / dx dargs) dargs, with the Hessian H by x. The Hessian is formed up to 64 unknowns, beyond
    products with it serve. With constraints, or bounds that hold, give their conditions of optimality to `custom_root`.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> def ridge(w, X, y, penalty):
    ...     return np.sum((X @ w - y) ** 2) + penalty * np.sum(w**2)
    >>> @pb.func.custom_minimum(ridge)
    ... def fit(w0, X, y, penalty):
    ...     return scipy.optimize.minimize(ridge, w0, (X, y, penalty), tol=1e-8)
    >>> X, y = np.array([[1.0], [2.0]]), np.array([1.0, 3.0])  # w = 7 / (5 + penalty)
    >>> pb.func.grad(lambda penalty: fit(np.zeros(1), X, y, penalty).sum())(2.0).round(6).item()  # -7 / 49
    -0.142857
    """
    if objective is None:
        return _decorator(custom_minimum, objective=solver, linear_solver=linear_solver, tol=tol, has_aux=has_aux)
    check_functions("custom_minimum", solver=solver, objective=objective)
    gradient = grad(objective)
    what = "the gradient of the objective"
    return ImplicitFunction("custom_minimum", what, solver, gradient, linear_solver, tol, has_aux)


@named("func.custom_linear_solve")
def custom_linear_solve(
    solver: _Function,
    matvec: _Function | None = None,
    *,
    transpose_solver: _Function | None = None,
    symmetric: bool = False,
    tol: float = _TOL,
) -> Any:
    """The solution of a linear system as a differentiable function, by a solver that is not looked into.

    Parameters
    ----------
    solver : callable
        `solver(b, *args)` of plain ndarrays: gives x with matvec(x, *args) = b.
    matvec : callable
        `matvec(x, *args)`, linear in x, written with NumPy's or pullback's functions. Alone in the call, it makes it a
        decorator of the solver.
    transpose_solver : callable, optional
        `transpose_solver(b, *args)` gives x with A^H x = b, A^H the conjugate transpose of matvec. Without it and
        `symmetric`, systems with A^H are solved as in `custom_root`.
    symmetric : bool, default False
        Whether A = A^H, so that `solver` serves for both.
    tol : float, default 1e-3
        As of `custom_root`, of F = matvec(x, *args) - b.

    Returns
    -------
    callable
        Of `(b, *args)`, all of which may be trees, and be differentiated.

    Raises
    ------
    TypeError
        Both `transpose_solver` and `symmetric` are given, or a function cannot be called.
    RuntimeError
        As of `custom_root`.

    Notes
    -----
    vjp: v = A^-H cotangent for b, and that of args: -<v, (dA) x>. jvp: A^-1 (db - (dA) x). The systems in them, and in
    the derivatives of these, are solved by `solver` and `transpose_solver`.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> def laplacian(x, k):  # -u'' + k u on five points
    ...     padded = np.pad(x, 1)
    ...     return 2 * x - padded[2:] - padded[:-2] + k * x
    >>> @pb.func.custom_linear_solve(laplacian, symmetric=True)
    ... def solve(b, k):
    ...     return scipy.linalg.solveh_banded(np.array([[-1.0] * 5, [2 + k] * 5]), b)
    >>> pb.func.grad(lambda k: solve(np.ones(5), k).sum())(0.0).round(9).item()  # -x . x
    -64.75
    """
    if matvec is None:
        options = {"transpose_solver": transpose_solver, "symmetric": symmetric, "tol": tol}
        return _decorator(custom_linear_solve, matvec=solver, **options)
    check_functions("custom_linear_solve", solver=solver, matvec=matvec)
    if transpose_solver is not None:
        check_functions("custom_linear_solve", transpose_solver=transpose_solver)
        if symmetric:
            raise TypeError("func.custom_linear_solve: give transpose_solver or symmetric=True, not both.")
    return LinearFunction(solver, matvec, solver if symmetric else transpose_solver, tol)


def _decorator(make: _Function, **options: Any) -> _Function:
    """`make` for a solver that comes later, with everything else checked by then."""
    (role, given), *_ = options.items()
    check_functions(make.__qualname__.rpartition(".")[2], **{role: given})
    return functools.partial(make, **options)
