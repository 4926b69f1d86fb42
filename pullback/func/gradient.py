"""grad and value_and_grad: the gradient of a function of arrays, as a function of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.execution import execute
from pullback.core import cuts, modes
from pullback.core.array_face import show_as_plural, wrap_as
from pullback.core.array_type import array_type, table_of
from pullback.core.errors import GradientError, refusals
from pullback.core.named import named
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, ndarray
from pullback.func.boundary import (
    TENSOR_FACES,
    Argnums,
    Choice,
    enter_chosen,
    gradient_outward,
    leave,
    leave_all,
    rebuild,
    say_undefined,
    split_aux,
    told,
    undefined_at,
    zeros_of,
)
from pullback.graph.kept_values import surfaced_result
from pullback.graph.node import edge_to

_DOUBLE, _ONE = np.dtype(np.float64), np.float64(1)


@named("func.grad", "callable func")
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of `func`.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns a real scalar, or an array of one
        element (with `has_aux`, a pair of that and anything else).
    argnums : int, str, or tuple of these, default 0
        With respect to which arguments: positions, or names of parameters.
    has_aux : bool, default False
        `func` returns a pair (scalar, aux). aux is not differentiated, and is returned beside the gradient.

    Returns
    -------
    callable
        Takes the same arguments, and returns the gradient: an ndarray for an ndarray, a Tensor where the gradient is
        itself differentiable (an argument is a Tensor, or a captured one requires grad), a tuple for several argnums.
        With `has_aux` it returns a pair (gradient, aux).

    Raises
    ------
    RuntimeError
        The function does not return a real scalar. (If its result does not depend on an argument, that is no error:
        the gradient is 0, with an `IndependentResultWarning`.)
    IndexError
        `argnums` names an argument that the call lacks.
    TypeError
        An argument to differentiate is neither a floating-point array nor a tree (dict, list, tuple, registered
        class: see docs/pytrees.md) of these.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    compute = value_and_gradient("grad", func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = compute(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


@named("func.value_and_grad", "callable func")
def value_and_grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that computes the value and the gradient of `func`; see `grad`.

    Parameters
    ----------
    func, argnums, has_aux
        As of `grad`.

    Returns
    -------
    callable
        Returns (value, gradient), or ((value, aux), gradient) with `has_aux`.

    Raises
    ------
    RuntimeError
        The function does not return a real scalar, or with `has_aux` does not return a pair.
    IndexError
        `argnums` names an argument that the call lacks.
    TypeError
        An argument to differentiate is neither a floating-point array nor a tree of these.

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = pb.func.value_and_grad(lambda x: np.sum(np.sin(x)))(np.zeros(2))
    >>> value.item(), gradient
    (0.0, array([1., 1.]))
    """
    return value_and_gradient("value_and_grad", func, argnums, has_aux)


@named("func.grad_and_value", "callable func")
def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that computes the gradient and the value of `func`, in torch.func's order; see `value_and_grad`.

    Parameters
    ----------
    func, argnums, has_aux
        As of `grad`.

    Returns
    -------
    callable
        Returns (gradient, value), or (gradient, (value, aux)) with `has_aux`.

    Raises
    ------
    RuntimeError
        The function does not return a real scalar, or with `has_aux` does not return a pair.
    IndexError
        `argnums` names an argument that the call lacks.
    TypeError
        An argument to differentiate is neither a floating-point array nor a tree of these.

    Examples
    --------
    >>> import numpy as np
    >>> gradient, value = pb.func.grad_and_value(lambda x: np.sum(np.sin(x)))(np.zeros(2))
    >>> gradient, value.item()
    (array([1., 1.]), 0.0)
    """
    compute = value_and_gradient("grad_and_value", func, argnums, has_aux)

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        value, gradient = compute(*args, **kwargs)
        return gradient, value

    return gradient_and_value


def value_and_gradient(name: str, function: Any, argnums: Any, has_aux: bool) -> Callable[..., Any]:
    """`value_and_grad`, for the public function of this name."""
    choice = Choice(name, function, argnums)

    @functools.wraps(function)
    def compute(*given: Any, **kwargs: Any) -> tuple[Any, ...]:
        args = list(given)
        state = modes.current()
        level = state.level + 1
        run = cuts.Run(level, name, function)
        refused = refusals.last
        try:
            modes.restore(state.deeper().differentiating())
            places = choice.places(args, kwargs)
            leaves, structures = enter_chosen(args, kwargs, places, run)
            output = run.watch(function, *args, **kwargs)
            value, aux = split_aux(choice.transform, output, leaves) if has_aux else (output, None)
            value = surfaced_result(value, run)
            gradients, unused, dropped = _gradients(value, leaves, level)
        except Exception as error:
            if (better := told(name, error, given, refused)) is error:
                raise
            raise better from None
        finally:
            modes.restore(state)
            run.over = next_sequence_nr()
        if cuts.WATCHED:
            cuts.note_derivative(leaf._array for leaf in leaves)
        if unused or dropped:
            say_undefined(run, choice, (places, args, structures), unused, dropped)
        found = rebuild(gradients, structures)
        tensors = any(type(leaf) in TENSOR_FACES for leaf in leaves)
        value = leave(value, level, tensors)
        if has_aux:
            value = value, leave_all(aux, level, tensors)
        return value, tuple(found) if choice.several else found[0]

    return compute


def _gradients(value: Any, leaves: Sequence[Tensor], level: int) -> tuple[list[Any], Sequence[int], Mapping[int, Any]]:
    """(the gradients, the numbers of the leaves on which the value does not depend, which Functions kept some back)."""
    _check_scalar(value)
    if not isinstance(value, Tensor) or value._level != level or not value._requires_grad:
        return [gradient_outward(leaf, zeros_of(leaf), level) for leaf in leaves], list(range(len(leaves))), {}
    start: Any = edge_to(value)
    execute([(start, _one(value._array))], level=level, ones=True)  # the leaves are ours alone, and so is their .grad
    found, undefined = [], []
    for i, leaf in enumerate(leaves):
        extra: Any = leaf._extra  # leaves have one: see _leaf
        grad, extra.grad = extra.grad, None  # which may lead to the leaf, at a level further out
        if grad is None:
            undefined.append(i)
        raw: Any = zeros_of(leaf) if grad is None else grad._array
        found.append(gradient_outward(leaf, raw, level))
    return (found, *undefined_at([start], leaves, undefined)) if undefined else (found, (), {})


def _check_scalar(value: Any) -> None:
    if isinstance(value, Tensor) and (data := value._array).shape == () and data.dtype.kind == "f":
        return
    shape = getattr(value, "shape", () if issubclass(type(value), (int, float)) else None)
    if shape is None:
        raise GradientError(f"the function must return a real scalar, but returned a {type(value).__name__}.")
    if math.prod(shape) != 1:
        raise GradientError(
            f"the function must return a real scalar, but returned an array of shape {tuple(shape)}; reduce it "
            "(np.sum), or differentiate one element at a time."
        )
    if getattr(value, "dtype", np.dtype(float)).kind == "c":
        raise GradientError("the function must return a real scalar, but returned a complex one; take .real or abs().")


def _one(data: Any) -> Any:
    """The cotangent of a loss: 1, of the loss's own shape, which may be that of any array of one element."""
    if type(data) is ndarray and not data.shape:
        return _ONE if data.dtype is _DOUBLE else data.dtype.type(1)
    if isinstance(data, Tensor):  # the same for all samples of a vmap, and without tangents
        return show_as_plural(wrap_as(data, np.ones(data.shape, data.dtype), data._level))
    if (kind := array_type(data)).for_ndarrays:
        return kind.lift_constant(data, np.ones(data.shape, data.dtype))
    return table_of((data,)).ones_like(data)  # not data * 0 + 1, which is nan for an infinite loss
