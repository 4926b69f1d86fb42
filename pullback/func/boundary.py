"""The common part of all transforms: arguments enter a level, results leave it, errors and warnings name the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.autograd.dropped_gradients import keepers
from pullback.core import cuts
from pullback.core.array_face import (
    ARRAYS,
    SCALAR_FACES,
    as_given,
    faced_as,
    in_memory_of,
    surfaced,
    wrap_array,
    wrap_as,
)
from pullback.core.array_type import array_type, is_array, memory_of, table_of
from pullback.core.errors import DtypeError, GradientError, GradientTypeError, explained, type_name, with_article
from pullback.core.pytree import flatten, paths_of, unflatten
from pullback.core.tensor import NestedTensor, Tensor, ndarray, new_extra, wrap
from pullback.core.version import counter_inside
from pullback.dispatch.outer_levels import seen_outside
from pullback.dispatch.steps import lift
from pullback.graph.kept_values import reached
from pullback.graph.node import edge_to

# The structure of a tree and the number of its arrays; None stands for a single array.
Structure: TypeAlias = "tuple[Any, int] | None"
Argnums: TypeAlias = "int | str | Sequence[int | str]"  # positions or names of arguments
Place: TypeAlias = "int | str"  # where an argument is in a call: its position, or its keyword


TENSOR_FACES = (Tensor, NestedTensor)  # what code for PyTorch gives and gets, and not code for NumPy

_HINTS = {  # what to write, where it is not func.name(f)(x)
    "grad": " Write func.grad(f)(x), or x.backward() for the gradient of a Tensor.",
    "grad_and_value": " Write func.grad_and_value(f)(x), or x.backward() for the gradient of a Tensor.",
    "value_and_grad": " Write func.value_and_grad(f)(x), or x.backward() for the gradient of a Tensor.",
    "vjp": " Write func.vjp(f, x).",
    "hvp": " Write func.hvp(f, x, v).",
    "vhp": " Write func.vhp(f, x, v).",
    "jvp": " Write func.jvp(f, (x,), (v,)).",
    "jet": " Write func.jet(f, (x,), ([x1, x2],)).",
    "linearize": " Write func.linearize(f, x).",
}


class ArgnumsError(RuntimeError, TypeError, ValueError, IndexError):
    """`argnums` does not name arguments of the call: a RuntimeError as in PyTorch, and what Python would raise."""


_CALLED = {  # how PyTorch's messages write the call
    "grad": "grad_and_value(f)(*args)",
    "value_and_grad": "grad_and_value(f)(*args)",
    "grad_and_value": "grad_and_value(f)(*args)",
    "vjp": "vjp(f, *primals)",
    "jacrev": "vjp(f, *primals)",
    "jvp": "jvp(f, primals, tangents)",
    "jacfwd": "jvp(f, primals, tangents)",
}


def called_as(transform: str) -> str:
    """The call of a transform, as PyTorch's messages write it."""
    return _CALLED.get(transform, f"{transform}(f)(*args)")


# -- which function, and which arguments -------------------------------------------------------------------------------
def check_callable(transform: str, function: Any) -> None:
    """Refuse what is no function, such as the value of one."""
    if not callable(function):
        hint = _HINTS.get(transform, f" Write func.{transform}(f)(x).")
        raise TypeError(
            f"func.{transform}: the function to differentiate must be callable, got {type_name(function)}.{hint}"
        )


class Choice:
    """Which arguments of a function a transform differentiates: what a user gave as `argnums`, checked."""

    __slots__ = ("function", "given", "named", "several", "transform")
    never_changes = True  # which the compiler need not watch

    def __init__(self, transform: str, function: Any, argnums: Any) -> None:
        check_callable(transform, function)
        self.transform, self.function = transform, function
        self.several = isinstance(argnums, tuple)
        self.given: tuple[Place, ...] = argnums if self.several else (argnums,)
        if not all(isinstance(n, (int, np.integer, str)) and not isinstance(n, bool) for n in self.given):
            raise ArgnumsError(
                f"func.{transform}: argnums must be int or Tuple[int, ...], got {argnums!r}. Give positions of "
                "arguments (an int or a tuple of ints), or their names."
            )
        if not self.given:
            raise ArgnumsError(
                f"func.{transform}: argnums must be non-empty, got an empty tuple; name at least one argument."
            )
        self.named = any(isinstance(n, str) for n in self.given)

    def places(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Place]:
        """Where the arguments are in this call."""
        places = [self._place(n, args, kwargs) for n in self.given] if self.named else self.given
        count = len(args)
        for n in places:
            if not isinstance(n, str) and not -count <= n < count:
                by_name = "; for an argument by keyword, give its name" if kwargs else ""
                raise ArgnumsError(
                    f"func.{self.transform}: argnums names argument {n}, but only {count} positional inputs were "
                    f"given{by_name}."
                )
        if len(places) > 1 and len({n if isinstance(n, str) else n % count for n in places}) < len(places):
            raise ArgnumsError(
                f"func.{self.transform}: argnums must be unique: argnums names an argument twice: {self.given}."
            )
        return places

    def _place(self, n: Place, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Place:
        if not isinstance(n, str) or n in kwargs:
            return n
        try:
            names = [p.name for p in inspect.signature(self.function).parameters.values() if p.kind in (0, 1)]
        except (TypeError, ValueError):
            names = []
        if n not in names[: len(args)]:
            known = ", ".join(map(repr, [*names[: len(args)], *kwargs])) or "none"
            raise ArgnumsError(
                f"func.{self.transform}: argnums must be int or the name of an argument, but it names the argument "
                f"{n!r}, which the call does not give (it gives {known})."
            )
        return names.index(n)


# -- arguments enter a level -------------------------------------------------------------------------------------------
def enter_chosen(
    args: list[Any], kwargs: dict[str, Any], places: Sequence[Place], run: cuts.Run, own: bool = False
) -> tuple[list[Tensor], list[Structure]]:
    """Put leaves of a call in the place of the chosen arguments; returns the leaves, and the arguments' structures.

    With `own` the arrays are the transform's own: what the function writes into them nobody else sees.
    """
    level = run.level
    if len(places) == 1 and type(places[0]) is int and is_array(given := surfaced(args[places[0]], level - 1)):
        leaf = _leaf(given, run, is_plain(given))  # the usual case
        args[places[0]] = to_write_into(leaf, own)
        lift_others(args, kwargs, level)
        return [leaf], [None]
    leaves: list[Tensor] = []
    structures: list[Structure] = []
    chosen = [(kwargs if type(n) is str else args, n, *_parts(n, args, kwargs, level - 1)) for n in places]
    bare = all(is_plain(x) for _, _, found, _ in chosen for x in found)
    holder: Any
    for holder, n, found, structure in chosen:
        mine: list[Tensor] = []
        try:
            mine.extend(_leaf(x, run, bare) for x in found)  # those before a refused one stay
        except TypeError as error:
            path = "" if structure is None else list(paths_of(structure))[len(mine)]
            where = f" It is the leaf {path} of its argument." if path else ""  # an argument that is no tree has none
            raise (type(error)(f"{error}{where}") if where else error) from None
        within = [to_write_into(leaf, own) for leaf in mine]
        holder[n] = within[0] if structure is None else unflatten(structure, within)
        leaves += mine
        structures.append(None if structure is None else (structure, len(mine)))
    lift_others(args, kwargs, level)
    return leaves, structures


def _parts(n: Place, args: list[Any], kwargs: dict[str, Any], outside: int) -> tuple[list[Any], Any]:
    """(the arrays of an argument, as they are seen at the level `outside`; its structure, None for a single array)."""
    given = surfaced(kwargs[n] if isinstance(n, str) else args[n], outside)
    if is_array(given) or issubclass(type(given), ndarray):
        return [given], None
    if given is None:
        raise TypeError(f"cannot differentiate with respect to argument {n!r}, which is None; choose with argnums.")
    found, structure = flatten(given)
    return [surfaced(x, outside) for x in found], structure


def lift_others(args: list[Any], kwargs: dict[str, Any], level: int) -> None:
    """Let Tensors that are arguments, and not differentiated, be constants of `level`: they may be written into."""
    for holder, places in ((args, range(len(args))), (kwargs, kwargs)):
        for n in places:
            x = holder[n]  # type: ignore[index]
            if type(x) in TENSOR_FACES and x._level < level and x._array.dtype.kind in "fc":
                holder[n] = lift(x, level)  # type: ignore[index]


def enter(given: Any, array: Any, level: int) -> Any:
    """A tensor of `level` around `array`, with the face of the argument `given`: NumPy's for an ndarray or a number."""
    if type(given) in TENSOR_FACES:
        return wrap(array, level)
    return wrap_array(
        array, level, type(given) in SCALAR_FACES or issubclass(type(given), (int, float, complex, np.generic))
    )


def is_plain(x: Any) -> bool:
    """True for a Tensor of which nothing further out asks for a derivative: a transform may take its numbers."""
    return type(x) is Tensor and not x._requires_grad and not x._level


def _leaf(given: Any, run: cuts.Run, bare: bool) -> Tensor:
    x = given
    if type(x) is not ndarray:
        x = floating_argument(x, "cannot differentiate with respect to", ", or choose other arguments with argnums")
    if x.dtype.kind not in "fc":
        raise DtypeError(
            "only Tensors of floating point dtype can require gradients: "
            f"cannot differentiate with respect to an array of dtype {x.dtype}: convert it, for example with "
            ".astype(float)."
        )
    if bare:
        leaf: Tensor = wrap(x._array, run.level)
        leaf._counter = counter_inside(x)  # the caller, and a result that shares the memory, may write into it
    else:
        leaf = enter(given, x if type(x) is ndarray else as_given(x), run.level)
    leaf._requires_grad = True
    leaf._extra = extra = new_extra()
    extra.entered = run
    return leaf


def to_write_into(leaf: Tensor, own: bool = False) -> Any:
    """Return what a function gets for this leaf: itself, or an Array in its place in the graph, on a copy.

    Where the memory is the transform's `own` there is no copy.

    So code for NumPy may write into its argument, and the caller's array stays as it is. Code for Tensors is told that
    leaves may not be written into, as PyTorch does.
    """
    if type(leaf) not in ARRAYS or type(leaf) in SCALAR_FACES:
        return leaf
    argument = wrap_array(leaf._array if own else array_type(leaf._array).copy(leaf._array), leaf._level)
    argument._fn, argument._requires_grad = edge_to(leaf), True
    return argument


def floating_argument(x: Any, refusal: str, otherwise: str = "") -> Any:
    """An argument, or a part of one, as an array; `refusal` begins the error for what is none, `otherwise` ends it."""
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        instead = "x.filled(value) and the mask separately" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"
        raise GradientTypeError(
            f"{refusal} {with_article(x)}, whose meaning of the operators would be lost; pass {instead}."
        )
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
    elif hasattr(x, "to_numpy"):  # pandas, xarray
        instead = "its operations would make plain arrays; pass x.to_numpy(), and in the function use the labels alone"
    elif type_name(x).endswith(".Tensor"):
        instead = "pass an array, such as t.detach().numpy()"
    else:
        instead = "pass an array, a floating-point number, or a dict, list or tuple of these"
    raise GradientTypeError(f"{refusal} {with_article(x)}: {instead}{otherwise}.")


def direction_like(x: Any, dtype: Any, refusal: str) -> Any:
    """A tangent or cotangent as an array; one of whole numbers is converted to the dtype of its primal."""
    x = floating_argument(x, refusal)
    return x.astype(dtype) if x.dtype.kind in "biu" and dtype.kind in "fc" else x


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


# -- results leave it --------------------------------------------------------------------------------------------------
def split_aux(transform: str, output: Any, given: Iterable[Any] = (None,)) -> tuple[Any, Any]:
    """(value, aux), what a function returns with `has_aux`; of code for Tensors, which all `given` are, aux is too."""
    if not isinstance(output, tuple) or len(output) != 2:
        got = f"a tuple of {len(output)}" if isinstance(output, tuple) else with_article(output)
        raise GradientError(
            f"func.{transform}: {called_as(transform)}: output of function f should be a tuple (output, aux): with "
            f"has_aux=True the function must return a pair (value, aux), got {got}."
        )
    if all(type(x) in TENSOR_FACES for x in given):
        _check_aux(transform, output[1])
    return output


def _check_aux(transform: str, aux: Any) -> None:
    found, structure = flatten(aux)
    for x, path in zip(found, paths_of(structure), strict=True):
        if not is_array(x) and not issubclass(type(x), (ndarray, np.generic)):
            raise GradientTypeError(
                f"func.{transform}: Expected tensors, got unsupported type {type_name(x)} in aux{path}. Where the "
                "arguments are Tensors, aux is a tree of Tensors: wrap a number by pullback.tensor(x), and keep other "
                "things in a variable of the enclosing function."
            )


def check_results(
    found: Sequence[Any],
    structure: Structure,
    prefix: str = "",
    otherwise: str = ", or use has_aux",
    tensors: bool = False,
) -> None:
    """Refuse results of a function that are no arrays; with `tensors`, as PyTorch does, Python's numbers too."""
    kinds = (ndarray, np.generic) if tensors else (ndarray, np.generic, float, complex, int)
    for i, x in enumerate(found):
        if not is_array(x) and not issubclass(type(x), kinds):
            path = list(paths_of(structure))[i]
            where = f" at {path}" if path else ""
            raise GradientTypeError(
                f"{prefix}expected f(*primals) to return only tensors: the function returned {with_article(x)}{where}; "
                f"return arrays{otherwise}."
            )


def leave(value: Any, level: int, tensors: bool) -> Any:
    """A result of the function, moved one level out; of code for Tensors (`tensors`) one of these."""
    value = surfaced(value, level)
    if not isinstance(value, Tensor) or value._level != level:
        return value
    return value_outward(value, value._array, level, tensors)


def leave_all(tree: Any, level: int, tensors: bool) -> Any:
    """The same for each leaf of a tree."""
    found, structure = flatten(tree)
    return unflatten(structure, [leave(x, level, tensors) for x in found])


def outward(like: Any, raw: Any, level: int) -> Any:
    """The array inside a tensor of `level`, as seen one level out, with the face of `like` if it is a tensor there."""
    kind = array_type(raw)
    out = wrap(raw, 0 if kind.for_ndarrays else level - 1) if kind.dual or kind.for_ndarrays else raw
    return seen_outside(faced_as(like, out), level - 1) if isinstance(like, Tensor) and isinstance(out, Tensor) else out


def raw_outward(like: Any, raw: Any, level: int, tensors: bool) -> Any:
    """The same, for results: of code for Tensors one of these, else a number for an array without dimensions."""
    if tensors and type(like) in TENSOR_FACES and type(raw) is ndarray:
        return wrap(raw)
    if issubclass(type(raw), (int, float, complex)):
        return raw
    if not tensors and array_type(raw).for_ndarrays:
        return wrap_array(raw, level - 1, single=not raw.shape)
    return raw[()] if issubclass(type(raw), ndarray) else outward(like, raw, level)


def value_outward(value: Tensor, raw: Any, level: int, tensors: bool) -> Any:
    """The same, where `raw` is in the memory of the value."""
    out = raw_outward(value, raw, level, tensors)
    return in_memory_of(value, out) if type(out) is Tensor and type(raw) is ndarray else out


def zeros_of(leaf: Tensor) -> Any:
    """Zeros in the shape and dtype of a leaf, one level out."""
    data = leaf._array
    return table_of((data,)).zeros_like(data)


def gradient_outward(leaf: Tensor, raw: Any, level: int) -> Any:
    """The gradient of a leaf, as its owner sees it: with the leaf's face, a number for a number."""
    if type(raw) is ndarray:
        return wrap(raw, 0) if type(leaf) not in ARRAYS else raw if type(leaf) not in SCALAR_FACES else raw[()]
    out = outward(leaf, raw, level)
    memory = memory_of(out)
    # The gradient of a sum is one number, shown many times: a program may write into it as into any other.
    if memory is None or memory.flags.writeable:
        return out
    return out.copy() if type(out) is ndarray else out.clone()


def face_of(value: Any) -> Callable[[Any], Any]:
    """A function that gives a result's tangent the face of its value: a Tensor for a Tensor, a number for a number."""
    if isinstance(value, Tensor):
        return lambda tangent: (
            faced_as(value, tangent) if isinstance(tangent, Tensor) else wrap_as(value, np.asarray(tangent), 0)
        )
    if type(value) is ndarray:
        return lambda tangent: tangent
    return lambda tangent: tangent[()] if type(tangent) is ndarray else tangent


def rebuild(results: Sequence[Any], structures: Sequence[Structure]) -> list[Any]:
    """One result for each leaf, in the arguments' structures; None stands for a single array."""
    if not any(structures):
        return list(results)
    built: list[Any] = []
    start = 0
    for entry in structures:
        if entry is None:
            built.append(results[start])
            start += 1
        else:
            structure, count = entry
            built.append(unflatten(structure, list(results[start : start + count])))
            start += count
    return built


# -- what is said ------------------------------------------------------------------------------------------------------
_OWN = frozenset(f"pullback.func.{name}" for name in ("boundary", "gradient", "reverse"))
_OURS = (TypeError, ArgnumsError, GradientError, GradientTypeError, DtypeError)


def told(transform: str, error: Exception, args: Sequence[Any], refused: str) -> Exception:
    """The error of a transform's call, as its user is to see it: the error itself, or a better one.

    `refused` is `refusals.last` of the beginning.
    """
    note_on_lists(error, args)
    better = explained(error, refused)
    if better is not error or not _is_ours(error):
        return better
    made = type(error)(f"func.{transform}: {error}")
    for text in getattr(error, "__notes__", ()):
        if text not in getattr(made, "__notes__", ()):
            made.add_note(text)
    return made


def _is_ours(error: Exception) -> bool:
    """True if the error was raised here, about the arguments or the value: the user's code has no part in it."""
    if str(error).startswith("func."):  # from a transform inside the function
        return False
    traceback = error.__traceback__
    assert traceback is not None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_globals["__name__"] in _OWN and type(error) in _OURS


def undefined_at(
    starts: Iterable[Any], leaves: Sequence[Any], numbers: Sequence[int]
) -> tuple[list[int], dict[int, Any]]:
    """(the leaves to which no path leads, those that a custom Function gives no gradient); of others it is zero."""
    nodes = reached([start.node() for start in starts])
    unused = [i for i in numbers if edge_to(leaves[i]).node() not in nodes]  # type: ignore[union-attr]  # a leaf has one
    dropped = {i: keepers(nodes, leaves[i]) for i in numbers if i not in unused}
    return unused, {i: found for i, found in dropped.items() if found}


def say_undefined(
    run: cuts.Run, choice: Choice, call: tuple[Any, Any, Any], unused: Sequence[int], dropped: Mapping[int, Any]
) -> None:
    """Warn of leaves on which the result does not depend, and of those that a Function gives no gradient.

    `call` is (places, args, structures).
    """
    transform = f"func.{choice.transform}"
    if unused and not run.explained:
        cuts.warn(run, transform, choice.function, _names(choice.function, *call, unused))
    for i, nodes in dropped.items():
        argument = " and ".join(_names(choice.function, *call, [i]))
        cuts.warn_dropped(run, transform, choice.function, argument, nodes)


def name_of(function: Callable[..., Any], place: Place, args: Sequence[Any]) -> str:
    """The name of an argument, as the user's function declares it."""
    return repr(place) if isinstance(place, str) else cuts.argument_name(function, place, len(args))


def _names(function: Callable[..., Any], places: Any, args: Any, structures: Any, unused: Sequence[int]) -> Any:
    """The arguments, or the parts of trees, that these leaves are."""
    names, start = [], 0
    for n, structure in zip(places, structures, strict=True):
        count = 1 if structure is None else structure[1]
        name = name_of(function, n, args)
        mine = [i - start for i in unused if start <= i < start + count]
        if structure is None or len(mine) == count:
            names += [name] * bool(mine)
        else:
            paths = list(paths_of(structure[0]))
            names += [name + paths[i] for i in mine]
        start += count
    return names
