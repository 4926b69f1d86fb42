"""custom_vjp and custom_jvp: functions of ndarrays whose derivative the user gives.

The user's functions get plain ndarrays wherever that loses no derivative. Where their own derivative is wanted
(`create_graph`, a transform inside another) they run on Arrays, and what cannot be followed there is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pullback.core import modes, slots
from pullback.core.array_type import CONSTANTS
from pullback.core.errors import type_name
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor
from pullback.func.rules.calls import Rule
from pullback.func.rules.nodes import Recorded, record


@named("custom_vjp")
def custom_vjp(
    function: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    *,
    jvp: Callable[..., Any] | None = None,
    writable: bool = False,
) -> Any:
    """A function of ndarrays, compiled code perhaps, that is differentiated by a rule of yours: its vjp.

    Parameters
    ----------
    function : callable
        Takes ndarrays, floats, trees (lists, tuples, dicts, registered classes) of these and anything else, and returns
        an array, a float or a tree. Without it, a decorator.
    vjp : callable, optional
        `vjp(cotangent, result, *args, **keywords)`: what the function returned, and its arguments as they were
        given. Gives the gradient of each argument by position: J^H cotangent in the argument's shape and structure,
        None where there is none. For one argument its gradient alone will do. Or name it later: `@f.defvjp`.
    jvp : callable, optional
        `jvp(tangents, result, *args, **keywords)` for forward mode: `tangents` is a tuple with one for each argument;
        gives that of the result, J tangents. Or name it later: `@f.defjvp`.
    writable : bool, default False
        Hand out copies that may be written into, for compiled code that takes no read-only memory: Cython's
        `double[:]`, signatures of Numba. What is written into them reaches nobody.

    Returns
    -------
    CustomFunction
        Takes the same arguments. Called without Tensors it is the function itself: ndarrays in, ndarrays out.

    Raises
    ------
    RuntimeError
        On a call: neither vjp nor jvp is given; the function uses a differentiated variable that is not an argument, or
        an argument by keyword only is one. In backward: the gradients do not fit, or the vjp is to be differentiated
        and leaves for compiled code, or is to be transposed and is not linear in the cotangent. On a write into an
        argument or a result that are one memory for NumPy.
    TypeError
        A gradient or a leaf of the result is not an array, or the arguments do not fit.

    Notes
    -----
    What the function and its rules return is copied if others hold it too, as a workspace that is used again. The
    function and its rules get plain, read-only ndarrays (NumPy scalars for zero dimensions). Where rules are
    differentiated themselves they get arrays that record, so a rule written with NumPy's functions has derivatives of
    every order, and one that calls compiled code is refused then by name. Of vjp and jvp one is made of the other if it
    is not given: they are transposes; that too takes one that is written with NumPy's functions, as far as the
    cotangent (tangent) goes.

    `f.defvjp(forward, backward)` is JAX's form: `forward(*args)` gives (result, residuals), `backward(residuals,
    cotangent)` the gradients.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> @pb.custom_vjp
    ... def solve(A, b):
    ...     return scipy.linalg.solve(A, b)
    >>> @solve.defvjp
    ... def solve_vjp(cotangent, x, A, b):
    ...     y = solve(A.T, cotangent)
    ...     return -np.outer(y, x), y
    >>> A, b = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([1.0, 2.0])
    >>> solve(A, b)
    array([0.25, 0.5 ])
    >>> pb.func.grad(lambda b: solve(A, b).sum())(b)
    array([0.5  , 0.125])
    """
    return _made(function, vjp, jvp, writable)


@named("custom_jvp")
def custom_jvp(
    function: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    *,
    vjp: Callable[..., Any] | None = None,
    writable: bool = False,
) -> Any:
    """A function of ndarrays that is differentiated by a rule of yours, its jvp; see `custom_vjp`.

    Backward transposes the jvp, which must be written with NumPy's functions as far as the tangents go.

    Parameters
    ----------
    function : callable
    jvp : callable, optional
        `jvp(tangents, result, *args)` gives the tangent of the result; or enter it by `defjvp`.
    vjp : callable, optional
        As of `custom_vjp`, in place of the transposed jvp.
    writable : bool, default False
        As of `custom_vjp`.

    Returns
    -------
    callable
        With the method `defjvp`.

    Raises
    ------
    TypeError
        A function cannot be called.
    RuntimeError
        Of a derivative: there is no rule for it yet, or the rule gave something of another shape or structure.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import erfcx
    >>> @pb.custom_jvp
    ... def scaled(x):
    ...     return erfcx(x)
    >>> @scaled.defjvp
    ... def scaled_jvp(tangents, y, x):
    ...     return tangents[0] * (2 * x * y - 2 / np.sqrt(np.pi))
    >>> round(pb.func.grad(scaled)(1.0).item(), 6)
    -0.273212
    """
    return _made(function, vjp, jvp, writable)


def _made(function: Any, vjp: Any, jvp: Any, writable: bool) -> Any:
    if function is None:
        return functools.partial(_made, vjp=vjp, jvp=jvp, writable=writable)
    return CustomFunction(function, vjp, jvp, writable=writable)


def _need_callable(role: str, given: Any) -> None:
    if not callable(given):
        raise TypeError(f"custom_vjp, custom_jvp: {role} must be callable, got {type_name(given)}.")


class CustomFunction:
    """A function with a derivative of its own; `custom_vjp` and `custom_jvp` make it."""

    def __init__(
        self, function: Callable[..., Any], vjp: Any = None, jvp: Any = None, *, writable: bool = False
    ) -> None:
        for role, given in (("the function", function), ("vjp", vjp), ("jvp", jvp)):
            if given is not None or role == "the function":
                _need_callable(role, given)
        functools.update_wrapper(self, function)
        self._rule = Rule(function, vjp, jvp, writable)
        self._node = type(self._rule.name, (Recorded,), {"__module__": getattr(function, "__module__", __name__)})

    def __repr__(self) -> str:
        return f"<{self._rule.name} with custom rules>"

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined,no-any-return]  # of the function, in whose place it stands

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(self, vjp: Callable[..., Any], backward: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Name the vjp, as a decorator; or, as in JAX, two functions, `forward` and `backward`.

        Parameters
        ----------
        vjp : callable
            `vjp(cotangent, result, *args, **keywords)` gives the gradient of each argument, in its shape and structure.
            With `backward` it is `forward(*args)`, which gives the result and whatever backward needs.
        backward : callable, optional
            `backward(residuals, cotangent)` gives the gradients.

        Returns
        -------
        callable
            `vjp`, or `backward` if it is given.

        Raises
        ------
        TypeError
            What is given cannot be called.

        Examples
        --------
        >>> import numpy as np
        >>> @pb.custom_vjp
        ... def cube(x):
        ...     return x**3
        >>> def forward(x):
        ...     return x**3, 3 * x**2
        >>> def backward(slope, cotangent):
        ...     return cotangent * slope
        >>> _ = cube.defvjp(forward, backward)
        >>> pb.func.grad(lambda x: cube(x).sum())(np.array([1.0, 2.0]))
        array([ 3., 12.])
        """
        _need_callable("vjp", vjp)
        if backward is not None:
            _need_callable("backward", backward)
        self._rule.forward, named = (None, vjp) if backward is None else (vjp, backward)
        self._rule.vjp, self._rule.vjps = named, None
        return named

    def defvjps(self, *vjps: Callable[..., Any] | None, argnums: Sequence[int] | None = None) -> None:
        """Name a vjp for each argument. Only those run whose gradient is wanted.

        Parameters
        ----------
        *vjps : callable or None
            `vjp(cotangent, result, *args, **keywords)` gives the gradient of its argument alone. None stands for an
            argument that has no gradient.
        argnums : sequence of int, optional
            The positions of their arguments; by default 0, 1, 2, ... An argument without an entry is refused where it
            is differentiated.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            What is given cannot be called, or `argnums` are not as many different positions.

        Examples
        --------
        >>> import numpy as np
        >>> product = pb.custom_vjp(np.matmul)
        >>> product.defvjps(
        ...     lambda cotangent, y, A, B: cotangent @ B.T,
        ...     lambda cotangent, y, A, B: A.T @ cotangent,
        ... )
        >>> A, B = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
        >>> pb.func.grad(lambda B: product(A, B).sum())(B)  # the first one does not run
        array([[1.],
               [2.]])
        """
        for vjp in vjps:
            if vjp is not None:
                _need_callable("vjp", vjp)
        places = tuple(range(len(vjps))) if argnums is None else tuple(argnums)
        if len(places) != len(vjps) or len({*places}) != len(places) or not all(type(n) is int for n in places):
            raise TypeError(
                f"custom_vjp: argnums must be {len(vjps)} different positions, one for each vjp, got {argnums!r}."
            )
        self._rule.forward, self._rule.vjp, self._rule.vjps = None, vjps, dict(zip(places, vjps, strict=True))

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Name the jvp, as a decorator.

        Parameters
        ----------
        jvp : callable
            `jvp(tangents, result, *args, **keywords)`: a tangent for each argument; gives that of the result.

        Returns
        -------
        callable
            `jvp` itself.

        Raises
        ------
        TypeError
            It cannot be called.

        Examples
        --------
        >>> import numpy as np
        >>> cube = pb.custom_vjp(lambda x: x**3)
        >>> @cube.defjvp
        ... def cube_jvp(tangents, y, x):
        ...     return 3 * x**2 * tangents[0]
        >>> pb.func.jvp(cube, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
        (array([1., 8.]), array([  3., 120.]))
        """
        _need_callable("jvp", jvp)
        self._rule.jvp = jvp
        return jvp

    def defvmap(self, vmap: Callable[..., Any]) -> Callable[..., Any]:
        """Name what the function gives for a batch, as a decorator. Without it samples run one after the other.

        Parameters
        ----------
        vmap : callable
            `vmap(info, in_dims, *args)` returns (output, out_dims). `info.batch_size` is the number of samples.
            `in_dims` has 0 for each array of the arguments that is batched, in front, and None for any other.
            `out_dims` tells where the results have the samples: a number for all, or a tree.

        Returns
        -------
        callable
            `vmap` itself.

        Raises
        ------
        TypeError
            It cannot be called.

        Examples
        --------
        >>> import numpy as np
        >>> inverse = pb.custom_vjp(np.linalg.inv, lambda cotangent, y, x: -y.T @ cotangent @ y.T)
        >>> @inverse.defvmap
        ... def inverse_vmap(info, in_dims, x):
        ...     return np.linalg.inv(x), 0  # NumPy inverts many at once
        >>> pb.func.vmap(inverse)(np.array([[[2.0]], [[4.0]]]))
        array([[[0.5 ]],
        <BLANKLINE>
               [[0.25]]])
        """
        _need_callable("vmap", vmap)
        self._rule.vmap = vmap
        return vmap

    def replacing(self) -> AbstractContextManager[None]:
        """A block in which calls of the wrapped function of NumPy or SciPy have this derivative in place of pullback's.

        It is for code that you cannot change. A function of SciPy is replaced as far as pullback learns of its calls:
        after `adopt()`, or in `pullback.scipy`. What NumPy and SciPy call inside of other functions keeps pullback's
        derivative. Other threads and tasks see nothing of the block.

        Returns
        -------
        context manager

        Raises
        ------
        UnsupportedError
            Some calls would not be replaced: array operators or methods compute the same, or pullback does not learn of
            the calls.
        TypeError
            The wrapped function is none of NumPy's or SciPy's.

        Examples
        --------
        >>> import numpy as np
        >>> def program(x):
        ...     return np.sum(np.arctan2(x, 1.0))
        >>> clipped = pb.custom_vjp(np.arctan2, lambda g, angle, y, x: (g * np.clip(x / (x**2 + y**2), 0, 0.25), None))
        >>> with clipped.replacing():
        ...     pb.func.grad(program)(np.array([0.0, 3.0]))
        array([0.25, 0.1 ])
        """
        return slots.replaced(self._rule.function, self)  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(map(_has_tensors, (*args, *kwargs.values()))):
            return record(self._node, self._rule, args, kwargs, modes.current())
        if self._rule.writable:  # it may write into what it gets here too, and into the caller's nowhere
            return self._rule.call(self._rule.function, args, kwargs)
        return self._rule.function(*args, **kwargs)


def _has_tensors(x: Any) -> bool:
    if type(x) in CONSTANTS:  # said first for speed
        return False
    return isinstance(x, Tensor) or any(isinstance(leaf, Tensor) for leaf in flatten(x)[0])
