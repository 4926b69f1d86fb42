"""The function under examination as one of a flat list of arrays, which can be moved along directions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray

FLOATING = "fc"
_SIGNS, _SINGLE = 4, 8  # directions with signs at random, and along single numbers
_ZERO = 1e-10  # of the largest number: what is smaller stands for 0, and has no size of its own


class Subject:
    """A function and its arguments; `args[i]` for i in `chosen` are those that have derivatives."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, list(args), kwargs
        self.name = getattr(function, "__qualname__", None) or type(function).__name__
        self.chosen = [i for i, x in enumerate(args) if _is_floating(x)]
        self.names = _names(function, len(args))

    @property
    def primals(self) -> list[Any]:
        """The arguments that have derivatives."""
        return [self.args[i] for i in self.chosen]

    def __call__(self, *primals: Any) -> Any:
        """The function of these alone; every call gets copies of the other arguments, into which it may write."""
        given = copy.deepcopy(self.args)
        for i, x in zip(self.chosen, primals, strict=True):
            given[i] = x
        return self.function(*given, **self.kwargs)

    def moved(self, directions: Sequence[Any], t: Any) -> list[Any]:
        """The arguments, moved by `t` times a direction each; copies."""
        made = []
        for x, v in zip(self.primals, directions, strict=True):
            leaves, structure = flatten(x)
            vs = flatten(v)[0]
            made.append(unflatten(structure, [_moved(a, b, t) for a, b in zip(leaves, vs, strict=True)]))
        return made

    @property
    def described(self) -> str:
        """`f(x: float64(3,), n: 2)`."""
        shown = [f"{name}: {_form(x)}" for name, x in zip(self.names, self.args, strict=True)]
        return f"{self.name}({', '.join(shown)})"


def _is_floating(x: Any) -> bool:
    if isinstance(x, Tensor):
        raise TypeError("check: the arguments are ndarrays, numbers and trees of these; give t.detach().numpy().")
    if issubclass(type(x), (bool, str, bytes)) or x is None:
        return False
    leaves = flatten(x)[0]
    return bool(leaves) and all(
        issubclass(type(a), (float, complex)) or getattr(getattr(a, "dtype", None), "kind", "none") in FLOATING
        for a in leaves
    )


def _names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = [p.name for p in inspect.signature(function).parameters.values() if p.kind in (0, 1)]
    except (TypeError, ValueError):
        parameters = []
    return [parameters[i] if i < len(parameters) else f"argument {i}" for i in range(count)]


def _form(x: Any) -> str:
    if isinstance(x, ndarray):
        return f"{x.dtype}{x.shape}"
    return repr(x) if issubclass(type(x), (int, float, str)) else type(x).__name__


def _moved(x: Any, v: Any, t: Any) -> Any:
    if isinstance(x, ndarray):
        return (x + t * v).astype(np.result_type(x.dtype, type(t) if type(t) is complex else x.dtype))
    found = x + t * (v.item() if hasattr(v, "item") else v)
    return found if isinstance(found, complex) and not isinstance(x, complex) else type(x)(found)


def zeros(x: Any) -> Any:
    """A tree of zeros like `x`."""
    leaves, structure = flatten(x)
    return unflatten(structure, [np.zeros_like(a) if isinstance(a, ndarray) else type(a)(0) for a in leaves])


def random(x: Any, rng: np.random.Generator, *, evenly: bool = True) -> Any:
    """A direction at `x`: of the size of each array's numbers or, not `evenly`, of each number's own, if not 0."""
    leaves, structure = flatten(x)
    made = []
    for a in leaves:
        v = rng.standard_normal(np.shape(a))
        dtype = np.result_type(a)
        if dtype.kind == "c":
            v = v + 1j * rng.standard_normal(np.shape(a))
        size, own = size_of(a), np.abs(a)
        v = np.asarray(v * (size if evenly else np.where(own > _ZERO * size, own, size))).astype(dtype)
        made.append(v if isinstance(a, ndarray) else v[()])
    return unflatten(structure, made)


def signed(direction: Any, rng: np.random.Generator) -> Iterator[Any]:
    """Directions with the sizes of this one: all upwards, with other signs, and along single numbers, if few.

    All upwards, no number's step makes up for another's.
    """
    leaves, structure = flatten(direction)
    flat = np.concatenate([np.ravel(a) for a in leaves])
    count = min(flat.size, _SINGLE)
    signs = [np.ones(flat.size), *rng.choice([-1.0, 1.0], (_SIGNS, flat.size)), *np.eye(count, flat.size)]
    ends = np.cumsum([np.size(a) for a in leaves])[:-1]
    for sign in signs:
        parts = np.split(np.where(flat.real < 0, -flat, flat) * sign, ends)
        made = [part.astype(np.result_type(a)).reshape(np.shape(a)) for part, a in zip(parts, leaves, strict=True)]
        yield unflatten(structure, [m if isinstance(a, ndarray) else m[()] for m, a in zip(made, leaves, strict=True)])


def count_of(x: Any) -> int:
    """How many numbers there are in a tree."""
    return sum(np.size(a) for a in flatten(x)[0])


def size_of(x: Any) -> float:
    """The size of the numbers in a tree; 1 where they are all 0."""
    largest = max((float(np.max(np.abs(a), initial=0.0)) for a in flatten(x)[0] if np.size(a)), default=0.0)
    return largest if np.isfinite(largest) and largest > 0 else 1.0


def product(a: Any, b: Any) -> float:
    """The real inner product of two trees."""
    pairs = zip(flatten(a)[0], flatten(b)[0], strict=True)
    return float(sum(np.vdot(plain(x), plain(y)).real for x, y in pairs))


def plain(x: Any) -> Any:
    """An ndarray of a leaf."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)
