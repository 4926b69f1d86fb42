"""Where a run of a function comes near to points at which its operators are not smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.autograd.cut_log import watch_cuts
from pullback.core.arguments import spread_lists
from pullback.core.array_type import numbers_of
from pullback.core.cuts import Place, place_of_user
from pullback.core.tensor import Tensor, ndarray

_NEAR, _NEAR_FEW = 1e-5, 1e-3  # of the size of what is compared: among many elements, and for few
_FEW = 4
_AT = 1e-12


@dataclass(frozen=True)
class Margin:
    """How far an operator's arguments are from a point where it is not smooth, relative to their size."""

    what: str
    file: str
    line: int
    margin: float
    few: bool

    @property
    def at(self) -> bool:
        """True if they are there."""
        return self.margin <= _AT

    @property
    def near(self) -> bool:
        """True if they are near."""
        return self.margin <= (_NEAR_FEW if self.few else _NEAR)


def _to_zero(x: Any, *_: Any) -> Any:
    return np.abs(x)


def _difference(a: Any, b: Any = 0.0, *_: Any) -> Any:
    return np.abs(np.subtract(a, b, dtype=float) if np.result_type(a, b).kind != "c" else np.subtract(a, b))


def _to_integer(x: Any, *_: Any) -> Any:
    return np.abs(x - np.round(x))


def _to_half(x: Any, *_: Any) -> Any:
    return np.abs(x - np.floor(x) - 0.5)


def _to_bounds(x: Any, *bounds: Any) -> Any:
    given = [np.abs(x - b) for b in bounds if b is not None and np.ndim(b) <= np.ndim(x)]
    return np.minimum.reduce([np.broadcast_to(d, np.shape(x)) for d in given]) if given else np.inf


def _to_neighbours(x: Any, *rest: Any) -> Any:
    axis = _axis(x, rest)
    if x.size < 2 or (axis is not None and x.shape[axis] < 2):
        return np.inf
    return np.diff(np.sort(x, axis=axis), axis=-1 if axis is None else axis)


def _to_second(sign: int) -> Callable[..., Any]:
    def gap(x: Any, *rest: Any) -> Any:
        axis = _axis(x, rest)
        if x.size < 2 or (axis is not None and x.shape[axis] < 2):
            return np.inf
        sorted_ = np.sort(sign * x, axis=axis)
        return np.diff(np.take(sorted_, [-2, -1], axis=-1 if axis is None else axis), axis=-1 if axis is None else axis)

    return gap


def _axis(x: Any, rest: Sequence[Any]) -> int | None:
    given = [n for n in rest if type(n) is int and -x.ndim <= n < x.ndim]
    return given[0] if given and x.ndim else None


def _norm(x: Any, *_: Any) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2))


def _to_power(x: Any, exponent: Any = 2.0, *_: Any) -> Any:
    """x**p is not smooth at 0 for p < 1, nor for 1 < p < 2 twice: the first alone counts here."""
    try:
        rough = np.any((np.asarray(exponent) < 1) & (np.asarray(exponent) != 0))
    except TypeError:
        return np.inf
    return np.abs(x) if rough else np.inf


# Operator -> (what is not smooth, distance to it of each element).
_DISTANCES: dict[str, tuple[str, Callable[..., Any]]] = {
    "abs": ("abs at 0", _to_zero),
    "sgn": ("a step at 0", _to_zero),
    "sign": ("a step at 0", _to_zero),
    "relu": ("a kink at 0", _to_zero),
    "leaky_relu": ("a kink at 0", _to_zero),
    "hardtanh": ("a kink at its bounds", _to_bounds),
    "clamp": ("a kink at its bounds", _to_bounds),
    "clip": ("a kink at its bounds", _to_bounds),
    "clamp_min": ("a kink at its bound", _difference),
    "clamp_max": ("a kink at its bound", _difference),
    "heaviside": ("a step at 0", _to_zero),
    "sqrt": ("an infinite slope at 0", _to_zero),
    "cbrt": ("an infinite slope at 0", _to_zero),
    "pow": ("an infinite slope at 0", _to_power),
    "asin": ("an infinite slope at 1 and -1", lambda x, *_: np.abs(1 - np.abs(x))),
    "acos": ("an infinite slope at 1 and -1", lambda x, *_: np.abs(1 - np.abs(x))),
    "acosh": ("an infinite slope at 1", lambda x, *_: np.abs(x - 1)),
    "hypot": ("a kink where both are 0", lambda a, b=0.0, *_: np.abs(a) + np.abs(b)),
    "atan2": ("undefined where both are 0", lambda a, b=0.0, *_: np.abs(a) + np.abs(b)),
    "floor": ("a step at whole numbers", _to_integer),
    "ceil": ("a step at whole numbers", _to_integer),
    "trunc": ("a step at whole numbers", _to_integer),
    "frac": ("a step at whole numbers", _to_integer),
    "round": ("a step at halves", _to_half),
    "maximum": ("ties", _difference),
    "minimum": ("ties", _difference),
    "fmax": ("ties", _difference),
    "fmin": ("ties", _difference),
    "max": ("ties", _to_second(1)),
    "amax": ("ties", _to_second(1)),
    "argmax": ("ties", _to_second(1)),
    "min": ("ties", _to_second(-1)),
    "amin": ("ties", _to_second(-1)),
    "argmin": ("ties", _to_second(-1)),
    "sort": ("ties", _to_neighbours),
    "argsort": ("ties", _to_neighbours),
    "_numpy_argsort": ("ties", _to_neighbours),
    "_numpy_argpartition": ("ties", _to_neighbours),
    "_order_of_partition": ("ties", _to_neighbours),
    "median": ("ties", _to_neighbours),
    "quantile": ("ties", _to_neighbours),
    "topk": ("ties", _to_neighbours),
    "linalg_vector_norm": ("a norm at 0", _norm),
    "linalg_norm": ("a norm at 0", _norm),
    "norm": ("a norm at 0", _norm),
    **dict.fromkeys(("gt", "ge", "lt", "le"), ("a comparison at its threshold", _difference)),
    **dict.fromkeys(("eq", "ne"), ("a comparison of equal numbers", _difference)),
}
_CASTS = ("the cast to ", "int")
_EQUALITIES = ("eq", "ne")


class Margins(watch_cuts):
    """A log of the cuts of a run, and of how near its operators came to where they are not smooth."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.size = size  # of the function's arguments
        self.margins: dict[tuple[str, str, int], Margin] = {}
        self.casts: dict[Place, str] = {}

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        if any(isinstance(x, Tensor) and x._requires_grad for x in spread_lists(args)):
            self._measure(name, args)
        return super().run_operator(name, args, run)

    def left(self, what: str, tensors: tuple[Any, ...], place: Place, made: Any = None) -> None:
        if what.startswith(_CASTS):
            self.casts.setdefault(place, what)
            self._measure("trunc", tensors, place)
        else:
            self._measure(what.removeprefix("np.").removesuffix("()"), tensors, place)
        super().left(what, tensors, place, made)

    def _measure(self, name: str, args: Sequence[Any], place: Place | None = None) -> None:
        if name not in _DISTANCES:
            return
        label, distance = _DISTANCES[name]
        given = [_plain(x) for x in args]
        if distance is _difference and len(given) > 1 and not isinstance(given[0], ndarray):
            given[:2] = given[1::-1]  # maximum(0, x)
        first = given[0] if given else None
        if not isinstance(first, ndarray) or first.dtype.kind not in "fc" or not first.size:
            return
        with np.errstate(all="ignore"):
            far = np.asarray(distance(*given), float)
            low = float(np.nanmin(far, initial=np.inf))
            size = float(np.nanmax(np.abs(first), initial=0.0, where=np.isfinite(first)))
            others = [x for x in given[1:2] if issubclass(type(x), (ndarray, float, int)) and distance is _difference]
            size = max([size, *(float(np.nanmax(np.abs(x), initial=0.0)) for x in others)])
            if not others or not np.any(others[0]):
                size = max(size, self.size)  # beside 0 a number has no size of its own
        relative = low / size if size else low
        if not np.isfinite(low) or (name in _EQUALITIES and relative > 0):
            return
        file, line = place_of_user() if place is None else place
        key = (name, file, line)
        if key not in self.margins or relative < self.margins[key].margin:
            self.margins[key] = Margin(f"{name} ({label})", file, line, relative, far.size <= _FEW)


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        return numbers_of(x)
    return x
