"""`math` and `cmath`, as adopted modules see them: on our tensors by NumPy's functions, with Python's errors.

Python's function runs first, on the plain values: it refuses what is outside of the domain, as programs expect it to.
Where these are not at hand, as in a trace, it does so later.
Functions that are constant between jumps (floor, isnan) give what Python gives, a plain number without gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import special

from pullback.core.array_face import ARRAYS, Array, program_run
from pullback.core.array_type import array_type, check, innermost, numbers_of
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor
from pullback.func.rules.calls import as_step, is_recorded
from pullback.interop.adopt.dispatchers import REFUSALS, Dispatcher, at_stake, concerns_us, first_tensor
from pullback.interop.awaited import FILES
from pullback.interop.operands import array, frozen
from pullback.interop.suggest import unsupported

FILES.add(__file__)


class Mathematics(Dispatcher):
    """A function of numbers, and the same of tensors of one element."""

    __slots__ = ("rule",)

    def __init__(self, genuine: Callable[..., Any], rule: Callable[..., Any] | None) -> None:
        super().__init__(genuine)
        self.rule = rule

    def __call__(self, *args: Any) -> object:
        if args and type(args[0]) in ARRAYS:
            return self.on_tensors(args, {})  # at once, though Python's refusal would lead there too
        try:
            return self.genuine(*args)
        except REFUSALS as error:
            if not concerns_us(error, args, {}):
                raise
        return self.on_tensors(args, {})

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        if program_run.get() is not None:  # a trace runs
            leaves = flatten((args, kwargs))[0]
            recorded = next(filter(is_recorded, leaves), None)
            if recorded is not None and self.rule is not None:
                if len(leaves) == len(args):  # what takes collections refuses no number
                    check(lambda *given: self.genuine(*map(_number, given)), *leaves)
                if at_stake(args) or at_stake(kwargs):
                    return self.rule(*map(_scalar, args), **kwargs)
                found = self.rule(*(_in_double_precision(_scalar(x)) for x in args), **kwargs)
                for x in filter(is_recorded, flatten(found)[0]):
                    array_type(innermost(x)).loosen(innermost(x))
                return found
            if recorded is not None and not (at_stake(args) or at_stake(kwargs)):
                return as_step(recorded, self.genuine.__name__, self.genuine, args, kwargs, numbers=True)
        value = self.genuine(*map(_plain, args), **{name: _plain(x) for name, x in kwargs.items()})
        if not at_stake(args) and not at_stake(kwargs):
            return value
        if self.rule is not None:
            return self.rule(*map(_scalar, args), **kwargs)
        name = f"{self.genuine.__module__}.{self.genuine.__name__}"
        if issubclass(type(value), (float, complex)):
            raise unsupported(name)
        if WATCHED:
            note_operator(name, first_tensor(args, kwargs))
        return value


class OfSeveral(Mathematics):
    """math.atan2 and others of several numbers: of one that comes second Python would read the number in a trace."""

    __slots__ = ()

    def __call__(self, *args: Any) -> object:
        if args and (type(args[-1]) in ARRAYS or type(args[0]) in ARRAYS):
            return self.on_tensors(args, {})
        try:
            return self.genuine(*args)
        except REFUSALS as error:
            if not concerns_us(error, args, {}):
                raise
        return self.on_tensors(args, {})


class WithKeywords(Mathematics):
    """math.prod, math.isclose: the few that have keywords."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        return Dispatcher.__call__(self, *args, **kwargs)


class OfIterables(WithKeywords):
    """math.fsum and others of whole collections: what runs through an iterator cannot be tried twice."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        given = [x if hasattr(x, "__len__") else list(x) for x in args]
        if any(type(x) in (list, tuple) and x and (type(x[0]) in ARRAYS or type(x[-1]) in ARRAYS) for x in given):
            return self.on_tensors(tuple(given), kwargs)
        return super().__call__(*given, **kwargs)


def _number(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _plain(x: Any) -> Any:
    """The plain numbers of an argument."""
    if isinstance(x, Tensor):
        values = numbers_of(x)
        values = frozen(x, "math") if values is None else values
        return values if values.ndim else values.item()
    return type(x)(map(_plain, x)) if isinstance(x, (list, tuple)) else x


def _scalar(x: object) -> object:
    """Python takes an array of one element for the number in it."""
    return x.reshape(()) if isinstance(x, Tensor) and x.ndim and x.size == 1 else x


def _in_double_precision(x: object) -> object:
    """Python's numbers have no other."""
    return x.astype(np.float64) if isinstance(x, Tensor) and x.dtype.kind in "fiub" else x


def _log(x: Array, base: ArrayLike | None = None) -> AnyArray:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _remainder(x: Any, y: Any) -> Any:
    n = round((float(_plain(x)) - math.remainder(_plain(x), _plain(y))) / _plain(y))
    return x - n * y


def _modf(x: Array) -> tuple[AnyArray, float]:
    whole = math.modf(_plain(x))[1]
    return x - whole, whole


def _frexp(x: Array) -> tuple[AnyArray, int]:
    exponent = math.frexp(_plain(x))[1]
    return x * 2.0**-exponent, exponent


def _gamma(x: Array) -> Any:
    return math.copysign(1.0, math.gamma(_plain(x))) * np.exp(special.gammaln(x))


def _norm(*x: Any) -> Any:
    return np.hypot(*x) if len(x) == 2 else np.sqrt(sum(v * v for v in x))


def _joined(items: Iterable[Any]) -> Any:
    return items if isinstance(items, Tensor) else array(list(items))


def _complex(function: Callable[..., Any]) -> Callable[[Array], AnyArray]:
    return lambda x: function(x + 0j)


MATH: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in (
    "exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "copysign", "degrees", "radians", "fmod",
)} | {
    "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "acosh": np.arccosh, "asinh": np.arcsinh,
    "atanh": np.arctanh, "atan2": np.arctan2, "fabs": np.abs, "log": _log, "pow": np.power, "hypot": _norm,
    "erf": special.erf, "erfc": special.erfc, "gamma": _gamma, "lgamma": special.gammaln,
    "remainder": _remainder, "modf": _modf, "frexp": _frexp, "ldexp": lambda x, i: x * 2.0**i,
    "fsum": lambda x: np.sum(_joined(x)),
    "prod": lambda x, *, start=1: np.prod(_joined(x)) * start,
    "dist": lambda p, q: np.sqrt(np.sum((_joined(p) - _joined(q)) ** 2)),
    "sumprod": lambda p, q: np.sum(_joined(p) * _joined(q)),
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
CMATH: dict[str, Callable[..., Any]] = {name: _complex(getattr(np, name)) for name in (
    "exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
)} | {
    "acos": _complex(np.arccos), "asin": _complex(np.arcsin), "atan": _complex(np.arctan),
    "acosh": _complex(np.arccosh), "asinh": _complex(np.arcsinh), "atanh": _complex(np.arctanh),
    "log": lambda z, base=None: _log(z + 0j, base), "phase": np.angle, "polar": lambda z: (np.abs(z), np.angle(z)),
    "rect": lambda r, phi: r * np.exp(1j * phi),
}  # fmt: skip

_KINDS = {
    "atan2": OfSeveral, "copysign": OfSeveral, "fma": OfSeveral, "fmod": OfSeveral, "hypot": OfSeveral,
    "ldexp": OfSeveral, "log": OfSeveral, "pow": OfSeveral, "rect": OfSeveral, "remainder": OfSeveral,
    "isclose": WithKeywords, "nextafter": WithKeywords,
    "dist": OfIterables, "fsum": OfIterables, "prod": OfIterables, "sumprod": OfIterables,
}  # fmt: skip


def dispatchers(module: ModuleType) -> dict[str, Dispatcher]:
    """Those of `math` or of `cmath`, by name."""
    rules = MATH if module is math else CMATH
    found = {name: function for name, function in vars(module).items() if isinstance(function, BuiltinFunctionType)}
    return {name: _KINDS.get(name, Mathematics)(function, rules.get(name)) for name, function in found.items()}
