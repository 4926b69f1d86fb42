"""hvp and vhp: the Hessian of a scalar function times a vector, without forming it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.errors import GradientError
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.func.boundary import Choice
from pullback.func.forward import push
from pullback.func.gradient import value_and_gradient
from pullback.func.reverse import Recording


@named("func.hvp", "callable func")
def hvp(func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """The Hessian of a scalar function times a vector, H v, by the derivative of the gradient along v.

    Parameters
    ----------
    func : callable
        Takes arrays and returns a real scalar (with `has_aux`, a pair of that and anything else).
    primals : array, float or tree of these; or a tuple of several arguments
        Where: the argument, or a tuple of all arguments.
    tangents : of the structure, shapes and dtypes of `primals`
        The vector v. One of whole numbers is converted, as SciPy's trust-constr begins with one.
    has_aux : bool, default False
        `func` returns a pair (scalar, aux). aux is not differentiated, and is returned beside the product.

    Returns
    -------
    of the structure of `primals`; with `has_aux`, (product, aux)
        H v: ndarrays for ndarrays.

    Raises
    ------
    RuntimeError
        The function does not return a real scalar, or structures, shapes or dtypes of primals and tangents differ.
    TypeError
        A leaf is not floating point.
    NotImplementedError
        An operator on the way has no forward-mode derivative: `vhp` needs none.

    Notes
    -----
    Forward mode over reverse mode, d/ds grad f(x + s v) at s = 0: about four times the cost of `func`, and the
    memory of one gradient.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.hvp(lambda x: x[0] * x[1] ** 2, np.array([3.0, 5.0]), np.array([1.0, 0.0]))
    array([ 0., 10.])
    """
    args, vectors = _arguments("hvp", primals, tangents)
    gradient = _gradient("hvp", func, len(args), has_aux)
    _, *found = push("hvp", gradient, args, vectors, has_aux=has_aux)
    return _as_given(primals, *found)


@named("func.vhp", "callable func")
def vhp(func: Callable[..., Any], primals: Any, cotangents: Any, *, has_aux: bool = False) -> Any:
    """A vector times the Hessian of a scalar function, v^T H, by reverse mode twice.

    For a function of real arguments the same as `hvp`, and as a rule slower; it needs no forward-mode derivatives.
    Parameters, results and errors are those of `hvp`.

    Parameters
    ----------
    func, primals, has_aux
        As of `hvp`.
    cotangents
        Built as `primals`.

    Returns
    -------
    v^T H, built as `primals`; with `has_aux` (v^T H, aux)

    Raises
    ------
    RuntimeError
        The function does not return a real scalar, or the cotangent lacks the structure, shapes and dtypes of its
        gradient.
    TypeError
        A leaf is not floating point.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.vhp(lambda x: x[0] * x[1] ** 2, np.array([3.0, 5.0]), np.array([1.0, 0.0]))
    array([ 0., 10.])
    """
    args, vectors = _arguments("vhp", primals, cotangents)
    gradient = _gradient("vhp", func, len(args), has_aux)
    recording = Recording(Choice("vhp", gradient, tuple(range(len(args)))), args, {}, has_aux)
    found = recording.built(recording.pull(recording.cotangents(vectors, whole=True)))
    return _as_given(primals, found, *([recording.aux] if has_aux else []))


def _arguments(transform: str, primals: Any, vectors: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments and the vector as tuples, where one of each may have been given bare."""
    if isinstance(primals, tuple) != isinstance(vectors, tuple):
        raise GradientError(
            f"func.{transform}: the arguments and the vector must either both be tuples, with one entry for each "
            "argument of the function, or neither."
        )
    if not flatten(primals)[0]:
        raise GradientError(f"func.{transform}: the arguments hold no array to differentiate, got {primals!r}.")
    return (primals, vectors) if isinstance(primals, tuple) else ((primals,), (vectors,))


def _gradient(transform: str, function: Callable[..., Any], count: int, has_aux: bool) -> Callable[..., Any]:
    """The gradient by all arguments, with aux if there is one."""
    compute = value_and_gradient(transform, function, tuple(range(count)), has_aux)

    def gradient(*args: Any) -> Any:
        value, found = compute(*args)
        return (found, value[1]) if has_aux else found

    gradient.__wrapped__ = function  # type: ignore[attr-defined]  # of which an error gives file and line
    gradient.__qualname__ = f"the gradient of {getattr(function, '__qualname__', None) or type(function).__name__}"
    return gradient


def _as_given(primals: Any, product: Any, *aux: Any) -> Any:
    product = product if isinstance(primals, tuple) else product[0]
    return (product, *aux) if aux else product
