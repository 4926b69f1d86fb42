"""JAX's functions inside our graph, and ours inside JAX's.

There, the gradient with respect to a complex number is the conjugate of PyTorch's and ours. The border conjugates it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.errors import OperatorError
from pullback.core.extras import need
from pullback.core.tensor import ndarray
from pullback.exchange.guests import as_guest, check_callable
from pullback.exchange.hosts import derivative, host, results

Function = Callable[..., Any]


def jax_function(function: Function) -> Function:
    """A function of JAX's arrays as one of ndarrays, differentiable here by JAX's own derivatives.

    Parameters
    ----------
    function : callable
        Takes and returns JAX's arrays, trees of these (lists, tuples, dicts) and anything else. Compiled ones
        (`jax.jit`) are the fastest. Ndarrays and NumPy's numbers are handed to it as JAX's arrays, Python's numbers as
        they are.

    Returns
    -------
    callable
        Takes the same arguments, with ndarrays or our tensors for JAX's arrays. Every transform takes it: its vjp, its
        jvp and what vmap makes of it are JAX's, and so are theirs.

    Raises
    ------
    MissingExtraError
        JAX is not installed.
    TypeError
        An argument is of double precision, and JAX would compute in single: see `jax_enable_x64`.

    Examples
    --------
    >>> import jax  # doctest: +SKIP
    >>> jax.config.update("jax_enable_x64", True)  # doctest: +SKIP
    >>> softplus = pb.jax_function(jax.nn.softplus)  # doctest: +SKIP
    >>> pb.func.grad(lambda x: softplus(x).sum())(np.array([0.0, 1.0]))  # doctest: +SKIP
    array([0.5       , 0.73105858])
    """
    check_callable("jax_function", function)
    jax = need("jax", "jax_function", "jax")
    library, name = _Jax(jax), getattr(function, "__name__", type(function).__name__)

    def called(*args: object, **kwargs: object) -> object:
        return as_guest(library, function, args, kwargs, name)

    called.__name__ = called.__qualname__ = name
    return called


def for_jax(function: Function) -> Function:
    """A function of ndarrays as one of JAX's arrays, differentiable there by our derivatives, in reverse mode.

    Parameters
    ----------
    function : callable
        Takes ndarrays, trees of these and anything else, and returns an ndarray, a number or a tree: what `func.vjp`
        can differentiate, plain NumPy code for one. JAX calls it from outside its compiled code (`pure_callback`),
        and asks for the shapes of its results beforehand: inside `jit` they are found by calling it on ones, or on
        other numbers if that raises.

    Returns
    -------
    callable
        Takes the same arguments, with JAX's arrays for ndarrays. `jit`, `grad` and `vmap` (sample by sample) take it;
        its vjp is such a function again.

    Raises
    ------
    TypeError
        `function` cannot be called.
    MissingExtraError
        JAX is not installed.

    Examples
    --------
    >>> import jax  # doctest: +SKIP
    >>> f = pb.for_jax(lambda x: np.sum(np.sin(x)))  # doctest: +SKIP
    >>> jax.grad(f)(jax.numpy.zeros(2))  # doctest: +SKIP
    Array([1., 1.], dtype=float32)
    """
    check_callable("for_jax", function)
    jax = need("jax", "for_jax", "jax")

    def is_theirs(x: object) -> bool:
        return isinstance(x, jax.Array) or issubclass(type(x), (ndarray, np.generic))

    return host(function, is_theirs, functools.partial(_recorded, jax))


def _recorded(jax: Any, function: Function, arrays: list[Any]) -> tuple[list[Any], Any]:
    """The leaves of what `function` gives for the arrays, as JAX follows them, and their structure."""
    leaves, form = _tried(jax, function, arrays)
    shapes = [jax.ShapeDtypeStruct(y.shape, jax.dtypes.canonicalize_dtype(y.dtype)) for y in leaves]

    def compute(*arrays: object) -> list[ndarray]:
        found = results(function(*map(np.array, arrays)))[0]  # copies, which the function may write into
        return [np.asarray(y, shape.dtype) for y, shape in zip(found, shapes, strict=True)]

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def ours(*arrays: object) -> Any:
        return jax.pure_callback(compute, shapes, *arrays, vmap_method="sequential")

    def backward(arrays: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        moving = [i for i, x in enumerate(arrays) if _is_inexact(jax, x)]
        cotangents = [jax.numpy.conj(g) for g, y in zip(cotangents, shapes, strict=True) if _is_inexact(jax, y)]
        gradients = _recorded(jax, derivative(function, moving, len(arrays)), [*arrays, *cotangents])[0]
        found = {i: jax.numpy.conj(g) for i, g in zip(moving, gradients, strict=True)}
        return tuple([found.get(i) for i in range(len(arrays))])

    ours.defvjp(lambda *arrays: (ours(*arrays), arrays), backward)
    return ours(*arrays), form


def _tried(jax: Any, function: Function, arrays: list[Any]) -> tuple[list[Any], Any]:
    """Return what the function gives for the arrays, or, where they have no numbers yet, for others of their shapes."""
    if not any(isinstance(x, jax.core.Tracer) for x in arrays):
        return results(function(*map(np.array, arrays)))
    try:
        return results(function(*[np.ones(x.shape, x.dtype) for x in arrays]))
    except Exception:  # noqa: BLE001 - ones make a singular matrix, say; the next numbers are as good
        try:
            return results(function(*map(_generic, arrays)))
        except Exception as error:
            error.add_note(
                "for_jax: JAX asks for the shapes of the results before there are numbers. To find them the function "
                "was called on ones, then on a well-conditioned array of numbers between 0 and 1, and it raised for "
                "both."
            )
            raise


def _generic(x: Any) -> ndarray:
    """Numbers between 0 and 1, all different; the last two dimensions, if equal, are dominated by their diagonal."""
    made = np.linspace(0.1, 0.9, int(np.prod(x.shape))).reshape(x.shape)
    if len(x.shape) > 1 and x.shape[-1] == x.shape[-2]:
        made = (made + np.swapaxes(made, -1, -2)) / (4 * x.shape[-1]) + 0.5 * np.eye(x.shape[-1])
    return made.astype(x.dtype)


class _Jax:
    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def enter(self, x: Any) -> object:
        if not issubclass(type(x), (ndarray, np.generic)):
            return x
        if x.dtype in (np.float64, np.complex128) and not self.jax.config.jax_enable_x64:
            raise OperatorError(
                f"jax_function: JAX would compute with {x.dtype} in single precision. Write "
                'jax.config.update("jax_enable_x64", True) at the top of the program, or give it float32.'
            )
        return self.jax.numpy.asarray(np.array(x))

    def leave(self, x: object) -> object:
        return np.array(x) if isinstance(x, self.jax.Array) else x

    def plain(self, f: Function) -> Function:
        return f

    def vjp(self, f: Function) -> Function:
        jax = self.jax

        def vjp(cotangents: Sequence[Any], *xs: object) -> list[Any]:
            _, back = jax.vjp(lambda *xs: _inexact(jax, f(*xs)), *xs)
            return [jax.numpy.conj(g) for g in back([jax.numpy.conj(g) for g in cotangents])]

        return vjp

    def jvp(self, f: Function) -> Function:
        return lambda tangents, *xs: self.jax.jvp(f, xs, tangents)[1]

    def vmap(self, f: Function, in_dims: Sequence[int | None]) -> Function:
        return self.jax.vmap(f, in_dims)  # type: ignore[no-any-return]


def _inexact(jax: Any, found: object) -> list[Any]:
    """The leaves of a result that can be differentiated."""
    leaves = jax.tree_util.tree_leaves(found)
    return [y for y in leaves if _is_inexact(jax, y)]


def _is_inexact(jax: Any, x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.inexact))
