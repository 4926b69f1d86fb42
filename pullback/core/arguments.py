"""Arguments of operators: sizes given one by one, NumPy's spellings, and the choice among overloads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Any, NoReturn, TypeAlias

import numpy as np

from pullback.core.errors import with_article
from pullback.core.overrides import takes_part
from pullback.core.tensor import Tensor, ndarray

# Of an argument: its name, its type in the schema, may it be None, is it required, is it keyword-only.
Parameter: TypeAlias = tuple[str, str, bool, bool, bool]
Overload: TypeAlias = tuple[Callable[..., Any], Sequence[Parameter]]


class _Unset:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "<required>"

    def __bool__(self) -> bool:
        return False


UNSET = _Unset()


def missing_argument(operator: str, name: str) -> NoReturn:
    """Raise for a required argument that was not given."""
    raise TypeError(f"{operator}() missing required argument {name!r}.")


def renamed(operator: str, name: str, value: Any, default: Any, spelling: str, other: Any) -> Any:
    """An argument that was given in NumPy's spelling, unless it was given in PyTorch's too."""
    if type(value) is not type(default) or value != default:
        raise TypeError(f"{operator}() got both {name!r} and {spelling!r}, which are one argument: pass one of them.")
    return other


# Of JAX's arguments: their names here, and what to write for those that have none.
_NAMES_HERE = {"in_axes": "in_dims", "out_axes": "out_dims"}
_INSTEAD = {
    "holomorphic": "a complex derivative is pullback.func.jacrev(function, holomorphic=True).",
    "nondiff_argnums": "leave it out: any object may be an argument, and the rule gives None for its gradient.",
    "allow_int": "make floats of whole numbers: x.astype(float).",
}


def unknown_keyword(operator: str, given: Iterable[str], known: Collection[str]) -> TypeError:
    """The error for keywords that a function does not have: it asks what was meant."""
    from difflib import get_close_matches  # imported when the first one is misspelt

    unknown = next(iter(given))
    near = get_close_matches(_NAMES_HERE.get(unknown, unknown), known, 1)
    ask = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(map(repr, known))}."
    if unknown in _INSTEAD and not near:
        ask = _INSTEAD[unknown]
    return TypeError(f"{operator}() got an unexpected keyword argument {unknown!r}; {ask}")


def refuse_keyword(operator: str, given: Iterable[str], known: Collection[str]) -> NoReturn:
    """Raise the error for an unknown keyword argument."""
    raise unknown_keyword(operator, given, known)


def number_type(operator: str, dtype: Any) -> np.dtype[Any]:
    """`dtype` as NumPy's, refused where it is no type of numbers."""
    if hasattr(dtype, "dtype") and not isinstance(dtype, type):  # NumPy takes the dtype of an array
        raise TypeError(f"{operator}(): dtype must be a dtype, not an array or a Tensor.")
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{operator}(): {dtype!r} is not a dtype; write pullback.float64 or 'float64', say.") from error
    if found.kind not in "biufc":
        raise TypeError(f"{operator}(): a Tensor cannot have dtype {found}: it holds numbers or bools.")
    return found


# What a generated function passes on without another look; for anything else it asks the functions below.
A_NUMBER = frozenset({int, float, complex})
AN_INT = frozenset({int})
SOME_INTS = frozenset({int, tuple, list})


def a_number(operator: str, name: str, value: Any) -> Any:
    """The number given for a float or Scalar argument. A Tensor that requires grad is refused: none would reach it."""
    if isinstance(value, Tensor):
        if value.ndim == 0 and not (value._requires_grad or type(value._array) is not ndarray):
            return value.item()
        why = "a Tensor of several elements" if value.ndim else "a Tensor that is differentiated"
        raise TypeError(
            f"{operator}(): argument {name!r} must be a number, got {why}; no gradient goes to it. Write .item()."
        )
    if _is_number(value) or (type(value) is ndarray and value.dtype.kind in "biufc"):
        return value
    raise TypeError(f"{operator}(): argument {name!r} must be a number, got {_given(value)}.")


def a_flag(operator: str, name: str, value: Any) -> bool:
    """True or False; 0 and 1 are accepted, as in NumPy, and so is the element of an array."""
    if isinstance(value, (np.bool_, int)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{operator}(): argument {name!r} must be True or False, got {_given(value)}.")


def an_int(operator: str, name: str, value: Any) -> Any:
    """The whole number given for an int argument."""
    if not isinstance(value, (bool, np.bool_)) and _is_int(value):
        return _index(operator, name, value)
    raise TypeError(f"{operator}(): argument {name!r} must be an int, got {_given(value)}.")


def some_ints(operator: str, name: str, value: Any) -> Any:
    """The int or the several of an int[] argument."""
    if isinstance(value, (tuple, list, range)):
        return tuple(value)
    if isinstance(value, (Tensor, ndarray)) and value.ndim == 1 and value.dtype.kind in "iu":
        return tuple(value.tolist())
    if isinstance(value, (bool, np.bool_)) or not _is_int(value):
        raise TypeError(f"{operator}(): argument {name!r} must be an int or a tuple of ints, got {_given(value)}.")
    return _index(operator, name, value)


def _index(operator: str, name: str, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{operator}(): argument {name!r} must be an int, got {_given(value)}.") from None


def _given(value: object) -> str:
    if issubclass(type(value), (bool, int, float, complex, str)):
        return f"{value!r} ({with_article(value)})"
    return "None" if value is None else with_article(value)


def int_list(operator: str, name: str, given: tuple[Any, ...], by_keyword: Any, default: Any) -> Any:
    """The int[] argument of a call such as f(x, 2, 3), f(x, (2, 3)) or f(x, shape=(2, 3))."""
    if by_keyword is not UNSET:
        if given:
            raise TypeError(f"{operator}() got {name!r} twice, by position and by keyword.")
        return (by_keyword,) if isinstance(by_keyword, int) and not isinstance(by_keyword, bool) else by_keyword
    if len(given) == 1 and (given[0] is None or not _is_int(given[0])):
        return tuple(given[0]) if issubclass(type(given[0]), (list, ndarray)) else given[0]
    if not given and default is UNSET:
        missing_argument(operator, name)
    return given or (default if default is not UNSET else ())


def tensor_list(operator: str, name: str, given: tuple[Any, ...], by_keyword: Any, default: Any) -> Any:
    """The Tensor[] argument of a call such as f(x, y), f([x, y]) or f(tensors=[x, y])."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        return given[0]
    return int_list(operator, name, given, by_keyword, default) if by_keyword is not UNSET else given


def _is_int(x: object) -> bool:
    return isinstance(x, (int, np.integer)) or (isinstance(x, (Tensor, ndarray)) and x.ndim == 0)


# What decides among overloads that take different types at the same place.
def as_array(value: Any, dtype: Any = None) -> Any:
    """An argument that may also be given as numbers: itself if it is an array, else an ndarray of them."""
    return value if hasattr(value, "dtype") else np.asarray(value, dtype)


def is_array(x: object) -> bool:
    """A Tensor or an ndarray."""
    return isinstance(x, (Tensor, ndarray))


def is_no_array(x: object) -> bool:
    """Anything else, such as a number or a size, but what may stand for a Tensor."""
    return not isinstance(x, (Tensor, ndarray)) and not takes_part(type(x))


def is_bool(x: object) -> bool:
    """True or False."""
    return isinstance(x, (bool, np.bool_))


def is_no_bool(x: object) -> bool:
    """Anything else, such as a dimension."""
    return not isinstance(x, (bool, np.bool_))


def is_int(x: object) -> bool:
    """A whole number."""
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def is_list(x: object) -> bool:
    """A list or tuple."""
    return isinstance(x, (list, tuple))


def is_text(x: object) -> bool:
    """A str."""
    return isinstance(x, str)


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were given."""
    missing = {"out": None}
    return {name: value for name, value in arguments.items() if value is not missing.get(name, UNSET)}


_NUMPY_SPELLING = {"axis": "dim", "keepdims": "keepdim", "self": "input", "x": "input", "a": "input"}


def _is_number(x: object) -> bool:
    return issubclass(type(x), (int, float, complex, np.generic))


def _is_tensor(x: object, strict: bool) -> bool:
    return isinstance(x, (Tensor, ndarray)) or (not strict and _is_number(x))


_ACCEPTS: dict[str, Callable[[Any, bool], bool]] = {
    "Tensor": _is_tensor,
    "Tensor[]": lambda x, strict: isinstance(x, (list, tuple)),
    "int": lambda x, strict: isinstance(x, (int, np.integer)) and not isinstance(x, bool),
    "int[]": lambda x, strict: _is_int(x) or (isinstance(x, (list, tuple)) and all(map(_is_int, x))),
    "float": lambda x, strict: _is_number(x),
    "Scalar": lambda x, strict: _is_number(x) or (isinstance(x, Tensor) and x.ndim == 0 and not strict),
    "bool": lambda x, strict: isinstance(x, (bool, np.bool_)),
    "str": lambda x, strict: isinstance(x, str),
    "ScalarType": lambda x, strict: isinstance(x, (type, np.dtype, str)),
}


def _matches(params: Sequence[Parameter], args: tuple[Any, ...], kwargs: Mapping[str, Any], strict: bool) -> bool:
    """True if a call fits one overload; `strict` takes no numbers for tensors."""
    positional = [p for p in params if not p[4]]
    if len(args) > len(positional):
        # f(x, 2, 3) for f(x, int[] size)
        rest = args[len(positional) - 1 :]
        if not positional or positional[-1][1] != "int[]" or not all(map(_is_int, rest)):
            return False
        args = (*args[: len(positional) - 1], tuple(rest))
    given = dict(zip((p[0] for p in positional), args, strict=False))
    for key, value in kwargs.items():
        if key in ("out", "device", "requires_grad"):
            continue
        name = key if any(p[0] == key for p in params) else _NUMPY_SPELLING.get(key, key)
        if name in given:
            return False
        given[name] = value
    for name, kind, optional, required, _ in params:
        if name not in given:
            if required:
                return False
            continue
        value = given.pop(name)
        if value is None and optional:
            continue
        accepts = _ACCEPTS.get(kind)
        if accepts is not None and not accepts(value, strict):
            return False
    return not given


def overloaded(
    name: str, overloads: Sequence[Overload], otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """One function for several call forms: `overloads` are pairs of function and parameters, the first preferred.

    What fits none is handed to `otherwise` (args, kwargs, error).
    """
    primary, params = overloads[0]
    required = sum(p[3] for p in params)
    alone = not any(_may_take(other, required) for _, other in overloads[1:])
    quick = required if alone else -1

    def choose(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == quick:
            return primary(*args)
        for strict in (True, False):
            for function, params in overloads:
                if _matches(params, args, kwargs, strict):
                    return function(*args, **kwargs)
        error = TypeError(_no_match(name, overloads, args, kwargs))
        if otherwise is None:
            raise error
        return otherwise(args, kwargs, error)

    choose.__name__, choose.__qualname__ = name.rpartition(".")[2], name
    docs = [function.__doc__ for function, _ in overloads if function.__doc__]
    choose.__doc__ = "\n\n".join(docs) if docs else None
    return choose


def _may_take(params: Sequence[Parameter], count: int) -> bool:
    """True if `count` positional arguments could be a call of this overload."""
    positional = [p for p in params if not p[4]]
    least = sum(p[3] for p in positional)
    keywords = any(p[3] for p in params if p[4])
    return not keywords and least <= count <= len(positional)


def _no_match(name: str, overloads: Sequence[Overload], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    given = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    forms = "\n".join(f"  {name}({', '.join(f'{p[1]} {p[0]}' for p in params)})" for _, params in overloads)
    known = {p for function, _ in overloads for p in _keywords(function)}
    for key in kwargs:
        if key not in known:
            return f"{unknown_keyword(name, [key], sorted(known))}\nThe forms of the call are\n{forms}"
    return f"{name}() received an invalid combination of arguments: ({', '.join(given)}). Expected one of\n{forms}"


def _keywords(function: Callable[..., Any]) -> list[str]:
    """Return what one form of a call takes by name."""
    from inspect import signature  # imported when a call fails

    return [p.name for p in signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


_NUMBERS = frozenset([bool, int, float, complex])
_REFUSED: dict[str, Callable[[list[type]], bool]] = {
    "no_numbers": lambda kinds: any(k in _NUMBERS for k in kinds),
    "tensor_first": lambda kinds: kinds[0] in _NUMBERS,
    "some_tensor": lambda kinds: all(k in _NUMBERS for k in kinds),
}


def refusing_numbers(name: str, function: Callable[..., Any], rule: str, tensors: Sequence[str]) -> Callable[..., Any]:
    """`function`, refusing plain numbers for its Tensor arguments where PyTorch does.

    The rule (a tag in native_functions.yaml) is "no_numbers", "tensor_first" (the first may be none) or "some_tensor"
    (they may not all be). Formulas, NumPy's functions and Python's operators call `function` itself.
    """
    refused = _REFUSED[rule]
    count = len(tensors)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        kinds = [type(x) for x in args[:count]]
        if kwargs:
            kinds += [type(kwargs[t]) for t in tensors if t in kwargs]
        if kinds and refused(kinds):
            given = ", ".join(k.__name__ for k in kinds)
            raise TypeError(
                f"{name}(): arguments {', '.join(map(repr, tensors))} must be Tensors or ndarrays, got {given}. "
                "Write pullback.tensor(number) for a number."
            )
        return function(*args, **kwargs)

    return checked


def spread_lists(args: Sequence[Any]) -> list[Any]:
    """The arguments, those in lists and tuples one by one."""
    return [x for arg in args for x in (arg if isinstance(arg, (list, tuple)) else (arg,))]
