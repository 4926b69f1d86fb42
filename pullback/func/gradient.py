"""grad and value_and_grad: the gradient of a function of arrays, as a function of arrays."""

import functools
import math

import numpy as np

from pullback.autograd.engine import execute
from pullback.core import modes
from pullback.core.dispatch import table_of
from pullback.core.errors import GradientError, with_article
from pullback.core.node import port
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Extra, Tensor, ndarray, wrap

_DOUBLE, _ONE = np.dtype(np.float64), np.float64(1)


def grad(function, argnums=0, has_aux=False):
    """A function that computes the gradient of `function`.

    Parameters
    ----------
    function : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns a real scalar (with `has_aux`, a
        pair of that and anything else).
    argnums : int or tuple of int, default 0
        With respect to which positional arguments.
    has_aux : bool, default False

    Returns
    -------
    callable
        Of the same arguments. Gives an ndarray for an ndarray, a Tensor where the result is itself differentiable (an
        argument or a captured value is a Tensor), a tuple for several argnums; with `has_aux` a pair (gradient, aux).

    Raises
    ------
    RuntimeError
        The function's value is no real scalar, or does not depend on anything differentiable (see the message).
    TypeError
        An argument to differentiate is neither a floating-point array nor a tree (dict, list, tuple) of these.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    compute = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args, **kwargs):
        value, result = compute(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def value_and_grad(function, argnums=0, has_aux=False):
    """A function that computes the value and the gradient of `function`; see `grad`.

    Returns
    -------
    callable
        Gives (value, gradient), or ((value, aux), gradient) with `has_aux`.

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = pb.func.value_and_grad(lambda x: np.sum(np.sin(x)))(np.zeros(2))
    >>> value.item(), gradient
    (0.0, array([1., 1.]))
    """
    several = isinstance(argnums, tuple)
    numbers = argnums if several else (argnums,)
    if not all(isinstance(n, (int, np.integer)) for n in numbers):
        raise TypeError(f"argnums must be an int or a tuple of ints, positions of arguments, got {argnums!r}.")

    @functools.wraps(function)
    def compute(*args, **kwargs):
        state = modes.current()
        level = state.level + 1
        before = modes.set_modes(state.deeper().differentiating())
        try:
            args, leaves, structures = _enter(args, numbers, level)
            output = function(*args, **kwargs)
            value, aux = split_aux(output) if has_aux else (output, None)
            gradients = _gradients(value, leaves, level)
        finally:
            modes.restore(before)
        if any(structures):
            gradients = _rebuild(gradients, structures)
        value = _leave(value, level)
        if has_aux:
            found, structure = flatten(aux)
            value = value, unflatten(structure, [_leave(x, level) for x in found])
        return value, tuple(gradients) if several else gradients[0]

    return compute


def _enter(args, numbers, level):
    """(arguments with leaves of `level` in place of the differentiated ones, the leaves, the arguments' structures)."""
    args = list(args)
    leaves, structures = [], []
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise IndexError(f"argnums names argument {n}, but the function was called with {len(args)} arguments.")
        if isinstance(args[n], (ndarray, Tensor)):
            args[n] = _leaf(args[n], level)
            leaves.append(args[n])
            structures.append(None)
            continue
        found, structure = flatten(args[n])
        own = [_leaf(x, level) for x in found]
        args[n] = unflatten(structure, own)
        leaves += own
        structures.append((structure, len(own)))
    return args, leaves, structures


def _rebuild(gradients, structures):
    """The gradients in the arguments' structures; None stands for a single array."""
    results, start = [], 0
    for entry in structures:
        if entry is None:
            results.append(gradients[start])
            start += 1
        else:
            structure, count = entry
            results.append(unflatten(structure, gradients[start : start + count]))
            start += count
    return results


def _leaf(x, level):
    if type(x) is not ndarray and not isinstance(x, (ndarray, Tensor)):
        if not isinstance(x, (float, complex, np.generic)):
            raise TypeError(
                f"cannot differentiate with respect to {with_article(x)}: pass a floating-point number (2.0 for 2) or "
                "array, or choose other arguments with argnums."
            )
        x = np.asarray(x)
    if x.dtype.kind not in "fc":
        raise TypeError(
            f"cannot differentiate with respect to an array of dtype {x.dtype}: convert it, for example with "
            ".astype(float)."
        )
    leaf = wrap(x, level)
    leaf._requires_grad = True
    leaf._extra = Extra()
    return leaf


def split_aux(output):
    """(value, aux), what a function returns with `has_aux`."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise GradientError("with has_aux=True the function must return a pair (value, aux).")
    return output


def _gradients(value, leaves, level):
    _check_scalar(value)
    if not isinstance(value, Tensor) or value._level != level or not value._requires_grad:
        return [_zeros(leaf) for leaf in leaves]
    execute([(port(value), _one(value._array))], level=level)  # the leaves are ours alone, and so is their .grad
    found = []
    for leaf in leaves:
        grad = leaf._extra.grad
        raw = _zeros(leaf) if grad is None else grad._array
        found.append(raw if type(raw) is ndarray else outward(raw, level))
    return found


def _check_scalar(value):
    if isinstance(value, Tensor) and (data := value._array).shape == () and data.dtype.kind == "f":
        return
    shape = getattr(value, "shape", () if isinstance(value, (int, float)) else None)
    if shape is None:
        raise GradientError(f"the function must return a real scalar, but returned a {type(value).__name__}.")
    if math.prod(shape) != 1:
        raise GradientError(
            f"the function must return a real scalar, but returned an array of shape {tuple(shape)}; reduce it "
            "(np.sum), or differentiate one element at a time."
        )
    if getattr(value, "dtype", np.dtype(float)).kind == "c":
        raise GradientError("the function must return a real scalar, but returned a complex one; take .real or abs().")


def _one(data):
    if type(data) is not ndarray:
        return table_of((data,)).ones_like(data)  # not data * 0 + 1, which is nan for an infinite loss
    return _ONE if data.dtype is _DOUBLE else data.dtype.type(1)


def _zeros(leaf):
    data = leaf._array
    return np.zeros_like(data) if isinstance(data, ndarray) else table_of((data,)).zeros_like(data)


def _leave(value, level):
    """What the function returned, one level further out."""
    if not isinstance(value, Tensor) or value._level != level:
        return value
    raw = value._array
    return raw[()] if isinstance(raw, ndarray) else outward(raw, level)


def outward(raw, level):
    """What a tensor of `level` was around, as it is one level further out: an array with a tangent in a Tensor."""
    return raw if isinstance(raw, (ndarray, Tensor, np.generic)) else wrap(raw, level - 1)
