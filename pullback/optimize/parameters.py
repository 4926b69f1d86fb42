"""Parameters as users have them, an array or a tree of arrays, and as solvers have them, a vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, wrap_as
from pullback.core.array_type import innermost, numbers_of
from pullback.core.errors import GradientError
from pullback.core.numpy_types import ArrayLike
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.func.ravel import ravel_pytree
from pullback.func.rules.calls import is_recorded, stripped


class Parameters:
    """A tree of parameters, and the vector of them divided by their scale, on which the solver works.

    Attributes
    ----------
    start : ndarray, shape (n,), float64
        The vector of the start.
    scale : ndarray, shape (n,), or None
        What the numbers of a vector are multiplied with.
    """

    def __init__(self, name: str, x0: object, x_scale: object = None) -> None:
        self.name = name
        self.bare = _is_vector(x0)
        if self.bare:  # as SciPy takes it: integers too, and a number for one parameter
            x0 = np.atleast_1d(np.asarray(without_derivative(x0)))
            x0 = x0.astype(np.float64) if x0.dtype.kind in "biu" else x0
        found, self.structure = flatten(x0)
        self.tensors = [isinstance(x, Tensor) and type(x) not in ARRAYS for x in found]
        plain = unflatten(self.structure, [without_derivative(x) for x in found])
        try:
            start, self.unravel = ravel_pytree(plain)
        except TypeError as error:
            raise TypeError(
                str(error).replace("func.ravel_pytree: cannot make a vector of", f"{name}: x0 has")
            ) from None
        if start.dtype.kind != "f":
            raise TypeError(
                f"{name}: the parameters must be real, got {start.dtype}: give real and imaginary parts as two arrays, "
                "{'re': z.real, 'im': z.imag}, and combine them in the function."
            )
        if not start.size:
            raise ValueError(f"{name}: x0 has no numbers, so there is nothing to find.")
        if not np.isfinite(start).all():
            raise ValueError(f"{name}: x0 must be finite, got {x0!r}.")
        self.scale = None if x_scale is None else self._scales(x_scale, start.size)
        self.start = start.astype(np.float64) if self.scale is None else start / self.scale

    @property
    def size(self) -> int:
        """The number of parameters."""
        return int(self.start.size)

    def full(self, z: ndarray) -> ndarray:
        """The vector of the parameters themselves, for one of the solver's."""
        if self.scale is not None:
            return np.asarray(z * self.scale)
        return np.array(z, None if np.iscomplexobj(z) else np.float64)  # complex for differences of type "cs"

    def tree(self, z: ndarray) -> Any:
        """The parameters as the user's functions get them; theirs to write into."""
        return self.of_full(self.full(z))

    def of_full(self, x: ndarray) -> Any:
        """The tree of a vector of the parameters themselves."""
        if self.bare and not self.tensors[0]:
            return x
        parts = flatten(self.unravel(x))[0]
        return unflatten(
            self.structure,
            [wrap(np.asarray(y), 0) if tensor else y for y, tensor in zip(parts, self.tensors, strict=True)],
        )

    def flat(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the parameters (and others) as one of the vector of them, for transforms."""
        if self.bare:
            return function

        def of_vector(x: object, *args: object) -> object:
            return function(self.unravel(x), *args)

        of_vector.__qualname__ = getattr(function, "__qualname__", None) or type(function).__name__
        return of_vector

    def point(self, z: ndarray) -> Any:
        """The argument of such a function: with PyTorch's methods if the parameters have them."""
        x = self.full(z)
        return wrap(x, 0) if any(self.tensors) else x

    def direction(self, p: ndarray) -> Any:
        """The same of a tangent, which is scaled as the vector is."""
        return self.point(np.asarray(p, np.float64))

    def covector(self, gradient: object) -> ndarray:
        """Convert a gradient for the parameters (a tree or a vector) to one for the solver's vector."""
        found = flatten(gradient)[0]
        vector = np.concatenate([numbers(x).reshape(-1) for x in found]).astype(np.float64)
        if vector.size != self.size:
            raise GradientError(
                f"{self.name}: jac gave {vector.size} numbers for {self.size} parameters; it must give the gradient, "
                "built like x0 or as one vector."
            )
        return vector if self.scale is None else vector * self.scale

    def columns(self, matrix: Any) -> Any:
        """Convert a matrix with a column for each parameter to one for the solver's vector."""
        return matrix if self.scale is None else _scaled_columns(matrix, self.scale)

    def symmetric(self, matrix: Any) -> Any:
        """Convert a Hessian for the parameters to one for the solver's vector."""
        return matrix if self.scale is None else _scaled_columns(_scaled_columns(matrix, self.scale).T, self.scale).T

    def spread(self, tree: object, what: str, missing: float) -> ndarray:
        """A number for each parameter, from a tree of them: a number or None may stand for a whole part."""
        if tree is None:
            return np.full(self.size, missing)
        if self.bare or issubclass(type(tree), (int, float, np.ndarray)):
            try:
                return np.array(np.broadcast_to(np.asarray(tree, np.float64), (self.size,)))
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self.name}: {what} must be a number for each of the {self.size} parameters, got {tree!r}."
                ) from None
        return self._placed(tree, what, missing)

    def _placed(self, tree: object, what: str, missing: float) -> ndarray:
        spread = np.full(self.size, missing)
        for place, given, path in self.places(tree, what, (int, float)):
            try:
                spread[place] = np.asarray(given, np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self.name}: {path} must have the shape {place.shape} of its parameter, or be a number, got "
                    f"{given!r}."
                ) from None
        return spread

    def places(self, tree: object, what: str, parts: tuple[type, ...]) -> Iterator[tuple[ndarray, Any, str]]:
        """(where in the vector a leaf of the parameters is, what a tree like them has there, its path).

        An instance of `parts` may stand for all leaves of a part.
        """
        if self.bare:
            yield np.arange(self.size), tree, what
            return
        wheres = flatten(self.unravel(np.arange(self.size, dtype=np.float64)))[0]
        try:
            for number, given, path in leaves_like(tree, self.structure, what, parts):
                yield np.asarray(wheres[number]).astype(int), given, path
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def _scales(self, x_scale: Any, size: int) -> ndarray:
        self.start = np.empty(size)
        scale = self.spread(x_scale, "x_scale", 1.0)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError(f"{self.name}: x_scale must be positive and finite, got {x_scale!r}.")
        return scale


def numbers(x: ArrayLike) -> ndarray:
    """The numbers of an array, Tensor or number."""
    return np.asarray(numbers_of(x) if isinstance(x, Tensor) else x)


def without_derivative(x: object) -> object:
    """A leaf of the start: what a solver finds does not depend on where it begins."""
    if not isinstance(x, Tensor):
        return x
    found = numbers_of(x)
    if found is None:
        if is_recorded(x):
            return wrap_as(x, innermost(x), 0)
        raise TypeError(
            "x0 has no numbers here: vmap maps it, or a trace does not know it yet. A solver starts from one point; "
            "give what is mapped in args."
        )
    return found.copy()


def depends(tree: object) -> bool:
    """True if a tree holds what is being differentiated (or batched) further out."""
    return any(isinstance(stripped(x), Tensor) for x in flatten(tree)[0])


def plain_value(name: str, x: object, what: str) -> ndarray:
    """The numbers of what a user's function gave, if nothing is lost with them."""
    inside = stripped(x)
    if isinstance(inside, Tensor):
        raise GradientError(
            f"{name}: the {what} uses a variable that is being differentiated further out but is not an argument, and "
            "this derivative would be lost. Pass it in args: what is found is differentiable with respect to these. Or "
            "detach() it if a constant is meant."
        )
    return np.asarray(inside)


def complex_value(name: str, x: object, what: str) -> ndarray:
    """The numbers that a user's function gave at a complex point, for differences of type "cs"."""
    found = plain_value(name, x, what)
    if found.dtype.kind != "c":
        raise GradientError(
            f'{name}: the {what} is real at a complex point, so the differences of jac="cs" would be 0: abs, real, a '
            "comparison or a cast lost the imaginary part. Leave jac out, for exact derivatives, or take '3-point'."
        )
    return found


def _is_vector(x0: object) -> bool:
    """True if x0 is what SciPy takes: one dimension of numbers, a number, or a list of them."""
    if isinstance(x0, (Tensor, np.ndarray)):
        return len(x0.shape) < 2
    if isinstance(x0, (list, tuple)) and not hasattr(x0, "_fields"):
        return all(issubclass(type(x), (int, float, np.number)) for x in x0)
    return issubclass(type(x0), (int, float, np.number))


def _scaled_columns(matrix: Any, scale: ndarray) -> Any:
    if hasattr(matrix, "tocsc"):
        return matrix.multiply(scale[None, :]).tocsr()
    return matrix * scale[None, :]
