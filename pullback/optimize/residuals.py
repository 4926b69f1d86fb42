"""A function of parameters that gives many numbers, residuals or constraints, as SciPy's solvers call it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pullback.core.errors import EndedLevelError, GradientError
from pullback.core.numpy_types import AnyArray
from pullback.core.pytree import flatten
from pullback.core.tensor import ndarray
from pullback.func.gradient import grad
from pullback.func.jacobians import hessian, jacobian
from pullback.func.linearization import linearize
from pullback.func.ravel import ravel_pytree
from pullback.func.repeated import Repeated
from pullback.optimize.lost_gradients import watched
from pullback.optimize.parameters import Parameters, complex_value, numbers, plain_value
from pullback.optimize.patterns import FEW, Sparse, sparse_if_it_pays


class Residuals:
    """A function of parameters and its Jacobian, of vectors.

    Parameters
    ----------
    name, what : str
        The public function, and what the numbers are, for errors: "residuals".
    function : callable
        `function(parameters, *args, **kwargs)`, an array, a number or a tree of these.
    jac : callable, optional
        The user's own Jacobian, of the same arguments: a matrix.
    compile : bool
        Whether the exact one may become a program.
    """

    def __init__(
        self,
        name: str,
        what: str,
        function: Callable[..., Any],
        parameters: Parameters,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        jac: Callable[..., Any] | None = None,
        compile: bool = True,
    ) -> None:
        self.name, self.what, self.parameters, self.args = name, what, parameters, args
        self.kwargs, self._jac = dict(kwargs or {}), jac
        self.function, given = function, self.kwargs

        def joined(x: object, *more: object) -> object:
            """The function's numbers in one vector, for transforms."""
            return _vector(function(x, *more, **given))

        def weighted(x: object, v: AnyArray, *more: object) -> object:
            return np.sum(v * self.flat(x, *more))

        name_of = getattr(function, "__qualname__", None) or type(function).__name__
        joined.__qualname__ = weighted.__qualname__ = name_of
        self.flat = parameters.flat(joined)
        self.weighted = weighted  # v . function, of the vector of the parameters
        self._jacobian, self._by_columns = (
            Repeated(jacobian(self.flat, mode=mode), watched=True, compile=compile) for mode in ("auto", "forward")
        )
        self._begun: tuple[Any, Any] = None, None  # (the start, the numbers there), until they are asked for
        self._first: tuple[Any, Any] = None, None  # (the start, the Jacobian there), until it is asked for
        self._rows = 0  # how many numbers it gives, once that is known
        self._sparse: Sparse | None = None
        self.text = "given" if jac is not None else "exact, dense"

    def value(self, z: ndarray) -> ndarray:
        """The numbers there."""
        (known_at, found), self._begun = self._begun, (None, None)
        if known_at is not None and np.array_equal(known_at, z) and not np.iscomplexobj(z):
            return found  # type: ignore[no-any-return]
        leaves = flatten(self.function(self.parameters.tree(z), *self.args, **self.kwargs))[0]
        known = complex_value if np.iscomplexobj(z) else plain_value
        parts = [known(self.name, x, f"function of the {self.what}").reshape(-1) for x in leaves]
        found = np.concatenate(parts) if parts else np.zeros(0)
        self._rows = found.size
        if np.iscomplexobj(z):
            return found
        if found.dtype.kind not in "fiub":
            raise GradientError(f"{self.name}: the {self.what} must be real numbers, got dtype {found.dtype}.")
        return found.astype(np.float64)

    def begin(self, steers: bool = True) -> ndarray:
        """The numbers at the start, which must be there and depend on the parameters."""
        found = self.value(self.parameters.start)
        if np.isnan(found).any():
            raise ValueError(
                f"{self.name}: {int(np.isnan(found).sum())} of the {found.size} {self.what} are nan at x0, the first "
                f"at {int(np.argmax(np.isnan(found)))}; start where they have values."
            )
        if self._jac is None:
            self._check_dependence(found.size, steers)
        self._begun = self.parameters.start.copy(), found.copy()
        return found

    def _check_dependence(self, size: int, steers: bool) -> None:
        """Refuse a function whose result does not depend on the parameters: its gradient would be zero everywhere."""
        weights, found = 1 + np.arange(size) * 0.618 % 1, [np.zeros(0)]  # in no simple ratio: nothing cancels
        start = self.parameters.start

        def evaluate() -> None:
            if self.parameters.size <= FEW and self.parameters.size < size:
                matrix = self._evaluated(start)  # which the solver asks for next
                self._first, found[0] = (start.copy(), matrix), weights @ self.parameters.columns(matrix)
                return
            slope = grad(self.weighted)(self.parameters.point(start), weights, *self.args)
            found[0] = self.parameters.covector(slope)

        watched(self.name, evaluate, lambda: found[0], steers)

    def choose(self, rows: int, asked: bool | None, given: object = None) -> bool:
        """Decide whether the Jacobian is sparse; `text` says so."""
        if self._jac is not None or (asked is None and given is None and min(rows, self.parameters.size) <= FEW):
            return False
        self._sparse, why = sparse_if_it_pays(
            self.flat, self._start(), self.args, hessian=False, asked=asked, given=given
        )
        self.text = why if self._sparse else self.text + why
        return self._sparse is not None

    def _start(self) -> Any:
        return self.parameters.point(self.parameters.start)

    def jacobian(self, z: ndarray) -> Any:
        """The Jacobian there, a dense or a sparse matrix."""
        if self._jac is not None:
            found = self._jac(self.parameters.tree(z), *self.args, **self.kwargs)
            found = (
                found if hasattr(found, "tocsc") or isinstance(found, LinearOperator) else self._joined_columns(found)
            )
        elif self._sparse is not None:
            found = self._sparse(self.parameters.point(z), *self.args)
        else:
            (known, found), self._first = self._first, (None, None)
            if known is None or not np.array_equal(known, z):
                found = self._evaluated(z)
        if not hasattr(found, "tocsc") and not isinstance(found, LinearOperator) and not np.isfinite(found).all():
            warnings.warn(
                f"{self.name}: the Jacobian of the {self.what} is not finite at {self.parameters.tree(z)}. "
                "pullback.autograd.trace_nans shows what makes it.",
                RuntimeWarning,
                stacklevel=2,
            )
        return self.parameters.columns(found)

    def _evaluated(self, z: ndarray) -> ndarray:
        return np.asarray(numbers(self._dense(self.parameters.point(z))))

    def _dense(self, point: object) -> Any:
        """The dense Jacobian; in forward mode at once where that is known to be the one, which saves a call."""
        if self._rows > self.parameters.size:
            with contextlib.suppress(NotImplementedError, EndedLevelError):
                return self._by_columns(point, *self.args)
            self._rows = 0
        return self._jacobian(point, *self.args)

    def _joined_columns(self, found: Any) -> ndarray:
        """A user's Jacobian, a matrix or, for trees, one built like the parameters."""
        if self.parameters.bare:
            return np.atleast_2d(numbers(found))
        leaves = flatten(found)[0]
        if len(leaves) == 1 and np.shape(leaves[0])[-1] == self.parameters.size:
            return np.atleast_2d(numbers(leaves[0]))
        return np.concatenate([numbers(x).reshape(np.shape(x)[0], -1) for x in leaves], axis=1)

    def curvature(self, z: ndarray, v: ndarray, matrix: Any = None) -> Any:
        """The Hessian of v . function, by the solver's vector; `matrix` evaluates it as a sparse one."""
        point = self.parameters.point(z)
        if matrix is not None:
            return self.parameters.symmetric(matrix(point, v, *self.args))
        if self.parameters.size <= FEW:
            return np.asarray(self.parameters.symmetric(numbers(hessian(self.weighted)(point, v, *self.args))))
        push = linearize(lambda x: grad(self.weighted)(x, v, *self.args), point)[1]

        def product(p: ndarray) -> ndarray:
            return self.parameters.covector(push(self.parameters.direction(np.asarray(p).reshape(-1))))

        return LinearOperator((self.parameters.size, self.parameters.size), matvec=product, dtype=np.float64)


def _vector(found: object) -> Any:
    """The numbers of what a function gave as one vector, differentiable."""
    if hasattr(found, "reshape"):
        return found.reshape(-1)
    leaves = flatten(found)[0]
    return ravel_pytree([float(x) if issubclass(type(x), int) else x for x in leaves])[0]
