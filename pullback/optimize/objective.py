"""The objective, as SciPy's solvers call it: value and gradient at once, and second derivatives."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import GradientError, UnsupportedError
from pullback.core.tensor import ndarray
from pullback.func.gradient import grad, value_and_grad
from pullback.func.jacobians import hessian
from pullback.func.linearization import linearize
from pullback.func.repeated import Repeated
from pullback.func.reverse import vjp
from pullback.optimize.lost_gradients import watched
from pullback.optimize.parameters import Parameters, complex_value, numbers, plain_value
from pullback.optimize.patterns import FEW, sparse_if_it_pays


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that gives (value, derivative), the value alone."""

    @functools.wraps(function)
    def value(*args: object) -> object:
        return function(*args)[0]

    return value


class Objective:
    """A function of parameters and its derivatives, of vectors.

    Parameters
    ----------
    name : str
        Of the public function, for errors.
    function : callable
        `function(parameters, *args)`, a real number; with `jac` True, (number, gradient).
    jac : None, bool, or callable
        As SciPy's; None is the exact gradient.
    compile : bool
        Whether exact derivatives may become programs.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Parameters,
        args: tuple[Any, ...],
        jac: bool | str | Callable[..., Any] | None,
        compile: bool = True,
    ) -> None:
        self.name, self.parameters, self.args = name, parameters, args
        self._with_gradient, self._jac = jac is True, jac if callable(jac) else None
        self._given = function
        self.function = first_of(function) if jac is True else function
        self._compute = Repeated(value_and_grad(self.function), watched=True, compile=compile)
        self._flat = parameters.flat(self.function)
        self._hessian = Repeated(hessian(self._flat), watched=True, compile=compile)
        self._at: ndarray | None = None
        self._value, self._gradient = 0.0, parameters.start
        self._warned = False
        self._linear: tuple[ndarray, Callable[[Any], Any]] | None = None

    @property
    def is_exact(self) -> bool:
        """True if the gradient is computed here."""
        return not self._with_gradient and self._jac is None

    # -- first derivatives ---------------------------------------------------------------------------------------------
    def plain(self, z: ndarray) -> Any:
        """The value alone, for methods without derivatives."""
        if self._at is not None and np.array_equal(z, self._at):
            return self._value
        found = self.function(self.parameters.tree(z), *self.args)
        if np.iscomplexobj(z):
            return complex(complex_value(self.name, found, "objective").reshape(()))
        return self._number(found)

    def value(self, z: ndarray) -> object:
        """The value, and the gradient with it."""
        self._go_to(z)
        return self._value

    def gradient(self, z: ndarray) -> ndarray:
        """The gradient where the value was asked for, or anew."""
        self._go_to(z)
        return np.array(self._gradient)

    def begin(self) -> None:
        """Evaluate at the start, and refuse what cannot be minimised."""
        watched(self.name, lambda: self._go_to(self.parameters.start), lambda: self._gradient)
        self.check_start(self._value)
        if not np.isfinite(self._gradient).all():
            raise GradientError(
                f"{self.name}: the gradient is not finite at x0 where the objective is {self._value:g}: "
                f"{self._gradient}. Start elsewhere; pullback.autograd.trace_nans shows what makes it."
            )

    def check_start(self, value: float) -> None:
        """Refuse to start where there is no number."""
        if np.isnan(value):
            raise ValueError(f"{self.name}: the objective is nan at x0; start where it has a value.")

    def _go_to(self, z: ndarray) -> None:
        if self._at is not None and np.array_equal(z, self._at):
            return
        tree = self.parameters.tree(z)
        gradient: Any
        if self._with_gradient:
            value, gradient = self._given(tree, *self.args)
        elif self._jac is not None:
            value, gradient = self.function(tree, *self.args), self._jac(self.parameters.tree(z), *self.args)
        else:
            value, gradient = self._compute(tree, *self.args)
        self._value, self._gradient = self._number(value), self.parameters.covector(gradient)
        self._at = np.array(z)
        if np.isfinite(self._value) and not np.isfinite(self._gradient).all() and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: the gradient is not finite where the objective is {self._value:g}, at "
                f"{self.parameters.tree(z)}. pullback.autograd.trace_nans shows what makes it.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _number(self, value: Any) -> float:
        found = plain_value(self.name, value, "objective")
        if found.size != 1 or found.dtype.kind not in "fiub":
            raise GradientError(
                f"{self.name}: the objective must be a real number, got dtype {found.dtype} of shape {found.shape}."
            )
        return float(found.reshape(()))

    # -- second derivatives --------------------------------------------------------------------------------------------
    def hessian(self, z: ndarray) -> ndarray:
        """The Hessian as a matrix."""
        return np.asarray(self.parameters.symmetric(self.full_hessian(self.parameters.full(z))))

    def full_hessian(self, x: ndarray) -> ndarray:
        """The Hessian with respect to the parameters themselves."""
        z = x if self.parameters.scale is None else x / self.parameters.scale
        # A loss of one element may have dimensions, which come before those of its second derivatives.
        return numbers(self._hessian(self.parameters.point(z), *self.args)).reshape(z.size, z.size)

    def product(self, z: ndarray, p: ndarray) -> object:
        """The Hessian times a vector: of one linearisation of the gradient at each point."""
        if self._linear is None or not np.array_equal(self._linear[0], z):
            self._linear = np.array(z), self._linearized(z)
        return self.parameters.covector(self._linear[1](self.parameters.direction(p)))

    def _linearized(self, z: ndarray) -> Callable[[Any], Any]:
        point, slope = self.parameters.point(z), grad(self._flat)
        try:
            return linearize(lambda x: slope(x, *self.args), point)[1]  # type: ignore[no-any-return]
        except (NotImplementedError, UnsupportedError):  # no forward mode there; the Hessian is symmetric
            pull = vjp(lambda x: slope(x, *self.args), point)[1]
            return lambda p: pull(p)[0]

    def second_derivatives(self, method: str, sparse: bool | None) -> tuple[dict[str, Any], str]:
        """(`hess` or `hessp` for a method of SciPy's, what the result says of it)."""
        size = self.parameters.size
        if method in ("dogleg", "trust-exact") or (size <= FEW and not sparse):
            return {"hess": self.hessian}, f"exact, dense: {size} x {size}"
        matrix, why = sparse_if_it_pays(
            self._flat, self.parameters.point(self.parameters.start), self.args, hessian=True, asked=sparse
        )
        if matrix is None:
            return {"hessp": self.product}, f"exact, products with it{why}"

        def evaluate(z: ndarray) -> object:
            return self.parameters.symmetric(matrix(self.parameters.point(z), *self.args))

        if method == "trust-constr":
            return {"hess": evaluate}, why
        kept: list[Any] = [None, None]

        def product(z: ndarray, p: ndarray) -> object:
            if kept[0] is None or not np.array_equal(kept[0], z):
                kept[:] = np.array(z), evaluate(z)
            return kept[1] @ p

        return {"hessp": product}, why
