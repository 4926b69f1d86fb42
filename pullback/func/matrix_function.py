"""matrix_function: a function of Hermitian matrices that is given as a function of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.api import grad
from pullback.core import modes
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, OperatorError
from pullback.core.named import named
from pullback.core.tensor import Tensor, ndarray, set_requires_grad, wrap
from pullback.func.left_behind import leave
from pullback.graph.captured import Captured


@named("linalg.matrix_function", "Tensor A, callable function, str UPLO='L'")
def matrix_function(A: Any, function: Callable[..., Any], UPLO: str = "L") -> Any:
    """f(A) = V diag(f(w)) V^H of Hermitian matrices A = V diag(w) V^H, differentiable for equal eigenvalues too.

    Parameters
    ----------
    A : Tensor or ndarray, shape (..., n, n), floating
        Hermitian (real: symmetric); one triangle is read.
    function : callable
        f, from eigenvalues to real numbers, element by element, written with NumPy's or pullback's functions. It may
        depend on nothing else that is differentiated.
    UPLO : {"L", "U"}, default "L"
        Which triangle is read.

    Returns
    -------
    Tensor, shape and dtype of `A`.

    Raises
    ------
    RuntimeError
        The matrices are not square, or `function` gives complex numbers, another shape, what requires grad.
    LinAlgError
        The eigenvalues did not converge.

    Notes
    -----
    vjp and jvp are one map [1]_: X -> V (D * (V^H X V)) V^H with D_ij = (f(w_i) - f(w_j)) / (w_i - w_j), for equal
    values f'(w_i). f' comes from differentiating `function`. The same result by `linalg.eigh`, (V * f(w)) @ V.mH, has
    no gradient for equal eigenvalues and one of few digits for nearly equal ones, because f' is not among what a
    backward through w and V is given. One triangle is read, but the derivative is that among Hermitian matrices. There
    are two derivatives, the second in time n**4 and memory n**2.

    For singular values, A = U diag(s) V^H: `A @ matrix_function(A.mH @ A, g)` is U diag(s g(s**2)) V^H.

    References
    ----------
    .. [1] Y. Daleckii and S. Krein, AMS Translations 47, 1965, 1-30; Higham, Functions of Matrices, 2008, theorem 3.11.

    Examples
    --------
    >>> A = pb.tensor([[4.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> root = pb.linalg.matrix_function(A, pb.sqrt)
    >>> root
    tensor([[2., 0.],
            [0., 2.]], grad_fn=<HermitianMapBackward0>)
    >>> root[0, 1].backward()
    >>> A.grad
    tensor([[0.   , 0.125],
            [0.125, 0.   ]])
    """
    of_numbers = OfNumbers(function, [A] if isinstance(A, Tensor) else [])
    result = TENSOR.hermitian_map(A, of_numbers, UPLO)[0]
    leave(of_numbers.captured)
    return result


matrix_function.__module__ = "pullback"  # with its qualified name, where pickle finds it


class OfNumbers:
    """A function of numbers, and its derivatives, on plain arrays."""

    def __init__(self, function: Callable[..., Any], at_stake: Sequence[Tensor] = ()) -> None:
        self.function = function
        self.captured = Captured("linalg.matrix_function", function)
        self.captured.keep(at_stake)

    def __repr__(self) -> Any:
        return getattr(self.function, "__name__", repr(self.function))

    def at(self, x: Any, order: Any) -> Any:
        """The derivative of this order, 0 for the function itself, at each element of an array."""
        (self.function,) = self.captured.renew()
        before = modes.set_modes(modes.Modes())  # a matter of numbers: whatever is recorded outside, and at which level
        try:
            return self._derivative(x, order) if order else self._value(x)
        finally:
            modes.restore(before)

    def _derivative(self, x: Any, order: Any) -> Any:
        point = wrap(np.array(x))
        set_requires_grad(point)
        y = self.function(point)
        for _ in range(order):
            if not (isinstance(y, Tensor) and y.requires_grad):
                return np.zeros_like(x)  # a constant
            (y,) = grad(y.sum(), point, create_graph=True, allow_unused=True, materialize_grads=True)
        return y.detach().numpy()

    def _value(self, x: Any) -> Any:
        y = self.function(wrap(x))
        if isinstance(y, Tensor):
            if y.requires_grad or not issubclass(type(y._array), ndarray):
                raise GradientError(
                    f"linalg.matrix_function: {self!r} depends on something differentiated that is not its argument. "
                    "Scale the matrix or the result instead (exp(t A) for f(w) = exp(t w)), or detach it."
                )
            y = y._array
        y = np.asarray(y)
        if y.shape != x.shape or y.dtype.kind == "c":
            raise OperatorError(
                f"linalg.matrix_function: {self!r} gave {y.dtype}{list(y.shape)} for eigenvalues of shape "
                f"{list(x.shape)}; it must give one real number for each (for complex results, the real and the "
                "imaginary part in two calls)."
            )
        return y.astype(x.dtype, copy=False)
