"""Constraints of parameters, SciPy's classes and dicts, with exact derivatives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import BFGS, LinearConstraint, NonlinearConstraint

from pullback.core.errors import with_article
from pullback.core.pytree import flatten
from pullback.optimize.methods import WITHOUT_GRADIENT
from pullback.optimize.parameters import Parameters, depends
from pullback.optimize.patterns import sparse_if_it_pays
from pullback.optimize.residuals import Residuals

_CLASSES = (NonlinearConstraint, LinearConstraint)


def listed(constraints: Any) -> list[Any]:
    """Constraints as a list; one may be given alone."""
    if constraints is None:
        return []
    if isinstance(constraints, (*_CLASSES, Mapping)):
        return [constraints]
    return list(constraints)


class Constraints:
    """All constraints of a problem, for a method of SciPy's.

    Attributes
    ----------
    given : list
        What SciPy is given.
    texts : list of str
        What the result says of their derivatives.
    any_sparse : bool
        Whether a Jacobian is a sparse matrix.
    """

    def __init__(
        self,
        name: str,
        constraints: Any,
        parameters: Parameters,
        method: str,
        sparse: bool | None,
        compile: bool = True,
    ) -> None:
        self._compile = compile
        self._name, self._parameters, self._method, self._sparse = name, parameters, method, sparse
        self._takes_jacobians = method not in WITHOUT_GRADIENT
        self.texts: list[str] = []
        self.any_sparse = False
        self.given = [self._made(c) for c in listed(constraints)]

    def _made(self, constraint: object) -> LinearConstraint | NonlinearConstraint | dict[str, Any]:
        if isinstance(constraint, LinearConstraint):
            return self._linear(constraint)
        if isinstance(constraint, NonlinearConstraint):
            return self._nonlinear(constraint)
        if isinstance(constraint, Mapping):
            return self._dict(dict(constraint))
        raise TypeError(
            f"{self._name}: a constraint must be a NonlinearConstraint, a LinearConstraint or a dict with 'type' and "
            f"'fun', got {with_article(constraint)}."
        )

    def _linear(self, constraint: LinearConstraint) -> LinearConstraint:
        if constraint.A.shape[-1] != self._parameters.size:
            raise ValueError(
                f"{self._name}: the matrix of a LinearConstraint has {constraint.A.shape[-1]} columns for "
                f"{self._parameters.size} parameters; they stand in the order of pullback.func.ravel_pytree(x0)."
            )
        made = copy.copy(constraint)
        made.A = self._parameters.columns(constraint.A)
        self.any_sparse = self.any_sparse or hasattr(made.A, "tocsc")
        return made

    def _nonlinear(self, constraint: NonlinearConstraint) -> NonlinearConstraint:
        # '2-point' and a new BFGS() are what SciPy's class has when nothing is said.
        exact = isinstance(constraint.jac, str) and constraint.jac == "2-point"
        residuals = self._residuals(constraint.fun, constraint.jac if callable(constraint.jac) else None)
        made = copy.copy(constraint)
        made.fun = residuals.value
        if not self._takes_jacobians:
            return made
        if exact or callable(constraint.jac):
            self._choose(residuals, constraint.finite_diff_jac_sparsity)
            made.jac, made.finite_diff_jac_sparsity = residuals.jacobian, None
            self.texts.append(residuals.text)
        else:
            self.texts.append(f"differences ({constraint.jac})")
        if self._method == "trust-constr":
            made.hess = self._hessian(residuals, constraint.hess)
        return made

    def _dict(self, constraint: dict[str, Any]) -> Any:
        if "fun" not in constraint or str(constraint.get("type", "")).lower() not in ("eq", "ineq"):
            raise ValueError(
                f"{self._name}: a constraint given as a dict needs 'type', 'eq' or 'ineq', and 'fun', got "
                f"{sorted(map(str, constraint))}."
            )
        args = constraint.pop("args", ())
        args = args if isinstance(args, tuple) else (args,)
        residuals = self._residuals(constraint["fun"], constraint.get("jac") or None, args)
        if not self._takes_jacobians:
            return {"type": constraint["type"], "fun": residuals.value}
        self._choose(residuals, None)
        self.texts.append(residuals.text)
        if self._method == "trust-constr":
            upper = 0.0 if constraint["type"].lower() == "eq" else np.inf
            hess = self._hessian(residuals, BFGS())
            return NonlinearConstraint(residuals.value, 0.0, upper, jac=residuals.jacobian, hess=hess)
        return {**constraint, "fun": residuals.value, "jac": residuals.jacobian}

    def _residuals(
        self, function: Callable[..., Any], jac: Callable[..., Any] | None, args: tuple[Any, ...] = ()
    ) -> Residuals:
        what, compile = f"constraint {len(self.texts)}", self._compile
        residuals = Residuals(self._name, what, function, self._parameters, args, jac=jac, compile=compile)
        start = self._parameters.start
        self._size = (residuals.begin(steers=False) if self._takes_jacobians else residuals.value(start)).size
        return residuals

    def _choose(self, residuals: Residuals, given: object) -> None:
        """Sparse Jacobians are for trust-constr alone."""
        if self._method == "trust-constr":
            self.any_sparse = residuals.choose(self._size, self._sparse, given) or self.any_sparse

    def _hessian(self, residuals: Residuals, given: Any) -> Any:
        if callable(given):
            return lambda z, v: self._parameters.symmetric(given(self._parameters.tree(z), v))
        if not isinstance(given, BFGS) or given.init_scale != "auto":  # asked for: SR1, or BFGS with options
            return given
        point, weights = self._parameters.point(self._parameters.start), np.ones(self._size)
        matrix, _ = sparse_if_it_pays(
            residuals.weighted, point, (weights, *residuals.args), hessian=True, asked=self._sparse
        )
        return lambda z, v: residuals.curvature(z, v, matrix)


def refuse_derivatives(name: str, constraints: object, options: object) -> None:
    """Refuse what is being differentiated where it would be lost."""
    extra = [c.get("args", ()) if isinstance(c, Mapping) else (c.lb, c.ub) for c in listed(constraints)]
    if depends(flatten((extra, options))[0]):
        raise TypeError(
            f"{name}: a bound, a constraint's argument or an option is being differentiated further out, and this "
            "derivative would be lost. Give the conditions of optimality to pullback.func.custom_root."
        )
