"""grad and value_and_grad: the gradient of a function of arrays, as a function of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.autograd.dropped_gradients import keepers, reached
from pullback.autograd.engine import execute
from pullback.core import cuts, modes
from pullback.core.array_face import ARRAYS, SCALAR_FACES, faced_as, surfaced, wrap_array
from pullback.core.array_type import array_type, is_array, table_of
from pullback.core.errors import DtypeError, GradientError, explained, refusals, type_name, with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, paths_of, unflatten
from pullback.core.tensor import Extra, NestedTensor, Tensor, ndarray, wrap
from pullback.graph.node import edge_to

# The structure of a tree and the number of its arrays; None stands for a single array.
Structure: TypeAlias = "tuple[Any, int] | None"

_DOUBLE, _ONE = np.dtype(np.float64), np.float64(1)


@named("func.grad", "callable function")
def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
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
        The function's value is no real scalar (see the message). One that does not depend on an argument has
        the gradient 0 there, with an `IndependentResultWarning`.
    TypeError
        An argument to differentiate is neither a floating-point array nor a tree (dict, list, tuple, registered
        class: see docs/pytrees.md) of these.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    compute = _value_and_grad("grad", function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = compute(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


@named("func.value_and_grad", "callable function")
def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
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
    return _value_and_grad("value_and_grad", function, argnums, has_aux)


def _value_and_grad(name: str, function: Any, argnums: Any, has_aux: bool) -> Callable[..., Any]:
    """`value_and_grad`, for the public function of this name."""
    if not callable(function):
        hint = f" Write func.{name}(f)(x), or x.backward() for the gradient of a Tensor."
        raise TypeError(
            f"func.{name}: the function to differentiate must be callable, got {type_name(function)}.{hint}"
        )
    several = isinstance(argnums, tuple)
    numbers = argnums if several else (argnums,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
        raise TypeError(
            f"func.{name}: argnums must be an int or a tuple of ints, positions of arguments, got {argnums!r}."
        )

    @functools.wraps(function)
    def compute(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = args
        state = modes.current()
        level = state.level + 1
        refused = refusals.last
        try:
            modes.restore(state.deeper().differentiating())
            args, leaves, structures = _enter(args, numbers, level)
            run = cuts.Run(level)
            output = run.watch(function, *args, **kwargs)
            value, aux = split_aux(output) if has_aux else (output, None)
            value = surfaced(value, level)
            gradients, unused, dropped = _gradients(value, leaves, level)
        except Exception as error:
            note_on_lists(error, given)
            better = explained(error, refused)
            if better is error and not _is_ours(error):
                raise
            raise (_called(name, error) if better is error else better) from None
        finally:
            modes.restore(state)
        if cuts.WATCHED:
            cuts.note_derivative(leaf._array for leaf in leaves)
        if unused and not run.explained:
            cuts.warn(run, "func.grad", function, _names(function, numbers, args, structures, unused))
        for i, nodes in dropped.items():
            argument = " and ".join(_names(function, numbers, args, structures, [i]))
            cuts.warn_dropped(run, "func.grad", function, argument, nodes)
        if any(structures):
            gradients = _rebuild(gradients, structures)
        value = _leave(value, level)
        if has_aux:
            found, structure = flatten(aux)
            value = value, unflatten(structure, [_leave(x, level) for x in found])
        return value, tuple(gradients) if several else gradients[0]

    return compute


def _is_ours(error: Exception) -> bool:
    """Whether the error was raised here, about the arguments or the value: the user's code has no part in it."""
    if str(error).startswith("func."):  # from a transform inside the function
        return False
    traceback = error.__traceback__
    assert traceback is not None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_globals is globals() and type(error) in (TypeError, IndexError, ValueError, *_OURS)


_OURS = (GradientError, DtypeError)


def _called(name: str, error: Exception) -> Any:
    """The same error with the name of the function that was called."""
    made = type(error)(f"func.{name}: {error}")
    for text in getattr(error, "__notes__", ()):
        made.add_note(text)
    return made


def _enter(args: Any, numbers: Sequence[int], level: int) -> tuple[Any, list[Tensor], list[Structure]]:
    """(arguments with leaves of `level` in place of the differentiated ones, the leaves, the arguments' structures)."""
    args = list(args)
    leaves: list[Tensor] = []
    structures: list[Structure] = []
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise IndexError(f"argnums names argument {n}, but the function was called with {len(args)} arguments.")
    if len(numbers) > 1 and len({n % len(args) for n in numbers}) < len(numbers):
        raise ValueError(f"argnums names an argument twice: {numbers}. Its gradient is the same; name it once.")
    for n in numbers:
        args[n] = surfaced(args[n], level - 1)
        if is_array(args[n]) or issubclass(type(args[n]), ndarray):
            leaves.append(_leaf(args[n], level))
            args[n] = to_write_into(leaves[-1])
            structures.append(None)
            continue
        if args[n] is None:
            raise TypeError(f"cannot differentiate with respect to argument {n}, which is None; choose with argnums.")
        found, structure = flatten(args[n])
        own = [_leaf(surfaced(x, level - 1), level) for x in found]
        args[n] = unflatten(structure, [to_write_into(leaf) for leaf in own])
        leaves += own
        structures.append((structure, len(own)))
    return args, leaves, structures


def _rebuild(gradients: list[Any], structures: Sequence[Structure]) -> list[Any]:
    """The gradients in the arguments' structures; None stands for a single array."""
    results: list[Any] = []
    start = 0
    for entry in structures:
        if entry is None:
            results.append(gradients[start])
            start += 1
        else:
            structure, count = entry
            results.append(unflatten(structure, gradients[start : start + count]))
            start += count
    return results


def enter(given: Any, array: Any, level: int) -> Any:
    """A tensor of `level` around `array`, with the face of the argument `given`: NumPy's for an ndarray or a number."""
    if type(given) in (Tensor, NestedTensor):
        return wrap(array, level)
    return wrap_array(
        array, level, type(given) in SCALAR_FACES or issubclass(type(given), (int, float, complex, np.generic))
    )


def _leaf(given: Any, level: int) -> Tensor:
    x = given
    if type(x) is not ndarray:
        x = floating_argument(x, "cannot differentiate with respect to", ", or choose other arguments with argnums")
    if x.dtype.kind not in "fc":
        raise DtypeError(
            "only Tensors of floating point dtype can require gradients: "
            f"cannot differentiate with respect to an array of dtype {x.dtype}: convert it, for example with "
            ".astype(float)."
        )
    leaf = enter(given, x, level)
    leaf._requires_grad = True
    leaf._extra = Extra()
    return leaf  # type: ignore[no-any-return]


def to_write_into(leaf: Tensor) -> Any:
    """What a function gets for this leaf: itself, or an Array in its place in the graph, on a copy of its memory.

    So code for NumPy may write into its argument, and the caller's array stays as it is. Code for Tensors is told that
    leaves may not be written into, as PyTorch does.
    """
    if type(leaf) not in ARRAYS or type(leaf) in SCALAR_FACES:
        return leaf
    argument = wrap_array(array_type(leaf._array).copy(leaf._array), leaf._level)
    argument._fn, argument._requires_grad = edge_to(leaf), True
    return argument


def floating_argument(x: Any, refusal: str, otherwise: str = "") -> Any:
    """An argument, or a part of one, as an array; `refusal` begins the error for what is none, `otherwise` ends it."""
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        instead = "x.filled(value) and the mask separately" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"
        raise TypeError(f"{refusal} {with_article(x)}, whose meaning of the operators would be lost; pass {instead}.")
    if is_array(x) or issubclass(type(x), ndarray):
        return x
    if issubclass(type(x), (float, complex, np.generic)):
        return np.asarray(x)
    if isinstance(x, (bool, int)):
        instead = "pass a floating-point number (2.0 for 2)"
    elif hasattr(x, "__dataclass_fields__"):
        instead = (
            "pass its fields in a dict, such as dataclasses.asdict gives, or make its class a container with "
            "pullback.utils.pytree.register_pytree_node"
        )
    elif type_name(x).endswith(".Tensor"):
        instead = "pass an array, such as t.detach().numpy()"
    else:
        instead = "pass an array, a floating-point number, or a dict, list or tuple of these"
    raise TypeError(f"{refusal} {with_article(x)}: {instead}{otherwise}.")


def note_on_lists(error: Exception, args: Sequence[Any]) -> None:
    """Say, with the error of a user's function, that a list of numbers is not one array in it."""
    for n, x in enumerate(args):
        if isinstance(x, (list, tuple)) and x and not hasattr(x, "_fields") and _only_numbers(x):
            kind = type(x).__name__
            error.add_note(
                f"Argument {n} is a {kind}, and the function gets a {kind} of as many scalars. If it means one array, "
                f"pass np.array(...) of it."
            )


def _only_numbers(items: Any) -> bool:
    return all(
        _only_numbers(x) if isinstance(x, (list, tuple)) else issubclass(type(x), (int, float, complex)) for x in items
    )


def split_aux(output: Any) -> tuple[Any, Any]:
    """(value, aux), what a function returns with `has_aux`."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise GradientError("with has_aux=True the function must return a pair (value, aux).")
    return output


def _gradients(value: Any, leaves: Sequence[Tensor], level: int) -> tuple[list[Any], Sequence[int], Mapping[int, Any]]:
    """(the gradients, the numbers of the leaves on which the value does not depend, which Functions kept some back)."""
    _check_scalar(value)
    if not isinstance(value, Tensor) or value._level != level or not value._requires_grad:
        return [_zeros(leaf) for leaf in leaves], list(range(len(leaves))), {}
    start: Any = edge_to(value)
    execute([(start, _one(value._array))], level=level)  # the leaves are ours alone, and so is their .grad
    found, undefined = [], []
    for i, leaf in enumerate(leaves):
        grad = leaf._extra.grad  # type: ignore[union-attr]  # leaves have one: see _leaf
        if grad is None:
            undefined.append(i)
        raw: Any = _zeros(leaf) if grad is None else grad._array
        if isinstance(raw, Tensor):
            raw = faced_as(leaf, raw)
        found.append(raw if type(raw) is ndarray else outward(raw, level))
    return (found, *_undefined(start, leaves, undefined)) if undefined else (found, (), {})


def _undefined(start: Any, leaves: Sequence[Any], numbers: Sequence[int]) -> tuple[list[int], dict[int, Any]]:
    """(the leaves to which no path leads, those that a custom Function gives no gradient); of others it is zero."""
    nodes = reached([start.node()])
    unused = [i for i in numbers if edge_to(leaves[i]).node() not in nodes]  # type: ignore[union-attr]  # a leaf has one
    dropped = {i: keepers(nodes, leaves[i]) for i in numbers if i not in unused}
    return unused, {i: found for i, found in dropped.items() if found}


def _names(
    function: Callable[..., Any], numbers: Sequence[int], args: Any, structures: Any, unused: Sequence[int]
) -> Any:
    """The arguments, or the parts of trees, that these leaves are."""
    names, start = [], 0
    for n, structure in zip(numbers, structures, strict=True):
        count = 1 if structure is None else structure[1]
        name = cuts.argument_name(function, n, len(args))
        mine = [i - start for i in unused if start <= i < start + count]
        if structure is None or len(mine) == count:
            names += [name] * bool(mine)
        else:
            paths = list(paths_of(structure[0]))
            names += [name + paths[i] for i in mine]
        start += count
    return names


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
    if type(data) is not ndarray:
        return table_of((data,)).ones_like(data)  # not data * 0 + 1, which is nan for an infinite loss
    return _ONE if data.dtype is _DOUBLE else data.dtype.type(1)


def _zeros(leaf: Tensor) -> Any:
    data = leaf._array
    return table_of((data,)).zeros_like(data)


def _leave(value: Any, level: int) -> Any:
    """A result of the function, moved one level out."""
    value = surfaced(value, level)
    if not isinstance(value, Tensor) or value._level != level:
        return value
    raw: Any = value._array
    return raw[()] if issubclass(type(raw), ndarray) and not isinstance(raw, Tensor) else outward(raw, level)


def outward(raw: Any, level: int) -> Any:
    """The array inside a tensor of `level`, as seen one level out: an array with a tangent is wrapped in a Tensor."""
    return wrap(raw, level - 1) if array_type(raw).dual else raw
