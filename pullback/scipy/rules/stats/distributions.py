"""The methods of scipy.stats' distributions, with our tensors among the arguments.

SciPy's own Python runs on a twin of the distribution (see interop/adopt/scipy/clones.py). Quantiles are roots that
SciPy searches: they go by the implicit function theorem.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats

from pullback.core.array_face import as_array
from pullback.core.errors import DetachingError, UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Numeric
from pullback.core.tensor import Tensor
from pullback.func.forward import jvp
from pullback.interop.adopt.dispatchers import at_stake, first_tensor
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.calls import named, plain
from pullback.interop.adopt.scipy.clones import twin
from pullback.interop.operands import array, frozen, is_hidden

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_frozen

    from pullback.scipy.rules.stats.types import Distribution

FROM_POINTS = ("cdf", "logcdf", "logpdf", "logpmf", "logsf", "pdf", "pmf", "sf")
OF_PARAMETERS = ("entropy", "mean", "stats", "std", "support", "var")


def _on_a_twin(name: str) -> None:
    first = 1 if name in FROM_POINTS else 0  # where the shape parameters begin

    @scipy_rule(f"scipy.stats._methods.{name}")
    def rule(self: Distribution, *args: Any, **kwargs: Any) -> Arrays:
        _check_parameters(self, name, args[first:], kwargs)
        if name in FROM_POINTS and not hasattr(self, "_pdf"):
            args, kwargs = _with_whole_numbers(self, name, args, kwargs)
            if first_tensor(args, kwargs) is None:
                return getattr(self, name)(*args, **kwargs)
        own = _twin(self)
        if name in _SHARES and _is_scipys(type(self), name):  # type: ignore[arg-type]
            found = _within(self, own, name, *args, **kwargs)
            if found is not None:
                return found
        try:
            return getattr(own, name)(*args, **kwargs)
        except (DetachingError, UnsupportedError) as error:
            raise named(f"scipy.stats.{self.name}.{name}", error)  # noqa: B904 - it is the cause, or the same


# What becomes of the standardised distribution's result, by the scale.
_SHARES: dict[str, Callable[[Any, Any], Any]] = {
    "pdf": lambda found, scale: found / scale,
    "logpdf": lambda found, scale: found - np.log(scale),
    **dict.fromkeys(("cdf", "logcdf", "sf", "logsf"), lambda found, scale: found),
}


@functools.cache
def _is_scipys(kind: type, name: str) -> bool:
    """True if a class has SciPy's method of this name, and none of its own."""
    own = (k for k in kind.__mro__ if not k.__module__.startswith("pullback."))
    return next(k for k in own if name in vars(k)) is scipy.stats.rv_continuous


def _within(
    self: Distribution, own: Distribution, name: str, x: AnyArray | float, *args: Any, **kwargs: Any
) -> AnyArray | None:
    """The distribution's formula alone, where all points are inside of the support; None elsewhere.

    SciPy's method computes it for the points inside and writes that between constants, which takes longer.
    """
    shapes, loc, scale = own._parse_args(*args, **kwargs)
    x, loc, scale, *shapes = map(array, (x, loc, scale, *shapes))
    given = (x, loc, scale, *shapes)
    # Of other precisions SciPy computes in double.
    if is_hidden(*given) or any(v.dtype.char in "efFDgG" for v in given):
        return None
    standard = x.dtype.kind == "f" and type(loc) is type(scale) is np.ndarray and not (loc.ndim or scale.ndim)
    standard = standard and loc == 0 and scale == 1
    points = x if standard else (x - loc) / scale
    numbers = [
        frozen(v, f"scipy.stats.{self.name}.{name}") if isinstance(v, Tensor) else v for v in (points, *shapes, scale)
    ]
    mask = self._support_mask if "pdf" in name else self._open_support_mask
    inside = mask(*numbers[:-1]) & self._argcheck(*numbers[1:-1]) & (numbers[-1] > 0)
    if not inside.size or not inside.all():
        return None
    flat = inside.ndim == 1
    points, *shapes = (_spread(v, inside.shape, flat) for v in (points, *shapes))
    found = getattr(own, f"_{name}")(points, *shapes)
    found = found if standard else _SHARES[name](found, _spread(scale, inside.shape, flat))
    return found if flat and found.shape == inside.shape else np.reshape(found, inside.shape)[()]


def _spread(x: AnyArray, shape: tuple[int, ...], flat: bool) -> AnyArray:
    """A number for each point, in a row."""
    if flat and x.shape == shape:
        return x
    if not isinstance(x, Tensor) and not x.ndim:  # broadcast_to takes ten times as long
        return np.full(math.prod(shape), x)
    return np.broadcast_to(x, shape).ravel()


def _shapes(self: Distribution) -> list[str]:
    return self.shapes.replace(",", " ").split() if self.shapes else []


def _with_whole_numbers(
    self: Distribution, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with a plain k and loc: distribution functions are steps there, masses have indices."""
    names = ["k", *_shapes(self), "loc"]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if name in ("pmf", "logpmf"):
        refuse_counts(f"{self.name}.{name}", given.get("k"))
        refuse_counts(f"{self.name}.{name}", given.get("loc"), "loc")
    return (), {key: plain(x, _values) if key in ("k", "loc") else x for key, x in given.items()}


def refuse_counts(name: str, k: object, argument: str = "its first argument") -> None:
    """Where a gradient is asked for in whole numbers."""
    if at_stake((k,)):
        raise UnsupportedError(
            f"scipy.stats.{name} has no derivative in {argument}, which takes whole numbers only: detach() it."
        )


def _check_parameters(self: Distribution, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Refuse a gradient in a shape parameter that is a whole number, or at a zero where SciPy takes another formula."""
    names = _shapes(self)
    given = {**dict(zip(names, args, strict=False)), **{key: x for key, x in kwargs.items() if key in names}}
    for key, x in given.items():
        if not at_stake(x):
            continue
        whole = (shape.name for shape in self._shape_info() if shape.integrality)
        if self.name not in _OF_REAL_NUMBERS and key in whole:
            refuse_counts(f"{self.name}.{name}", x, key)
        if not np.all(frozen(array(x), "all")):
            raise UnsupportedError(
                f"scipy.stats.{self.name}.{name}: a shape parameter that is being differentiated is exactly 0, where "
                "SciPy may take another formula that does not depend on it. Move it away from 0."
            )


# Whose shape parameters SciPy describes as whole numbers, and takes others too.
_OF_REAL_NUMBERS = frozenset({"erlang", "nbinom"})


def _twin(self: Distribution) -> Distribution:
    made = twin(self)
    # SciPy compares with the median to choose between a tail and the rest: no derivative goes that way.
    quantiles = {name: _plainly(getattr(self, name)) for name in ("_isf", "_ppf")}
    made.__dict__ = {**vars(self), **quantiles}  # not self's own, which a twin has else
    for name, field in vars(self).items():
        if type(field) is np.vectorize and name != "_ppfvec":  # those of `self` call its own methods
            setattr(made, name, functools.partial(_vectorized, made, field.pyfunc.__name__))
    return made


def _vectorized(made: Distribution, method: str, *args: object) -> AnyArray:
    """SciPy's np.vectorize of a method, made when it is called: few formulas do.

    It gets NumPy's face of Tensors, since it may write into what np.asarray makes of a number.
    """
    function = twin(np.vectorize(getattr(made, method), otypes="d"))
    return function(*[as_array(x) if isinstance(x, Tensor) else x for x in args])


@scipy_rule("scipy.stats._methods.nnlf")
def negative_log_likelihood(self: Distribution, theta: Sequence[Any], x: AnyArray | float) -> AnyArray:
    """-sum log f(x; theta)."""
    _check_parameters(self, "nnlf", theta[: self.numargs], {})
    return _twin(self).nnlf(theta, x)


@scipy_rule("scipy.stats._methods.freeze")
def frozen_distribution(self: Distribution, *args: object, **kwargs: object) -> rv_frozen:
    """SciPy's frozen distribution, which keeps the arguments as they were given and calls our methods with them."""
    made = self.freeze(*plain(args, _values), **plain(kwargs, _values))
    made.args, made.kwds = args, kwargs
    own = _twin(made.dist)
    made.a, made.b = own._get_support(*own._parse_args(*args, **kwargs)[0])
    return made


@scipy_rule("scipy.stats._methods.moment")
def moment(self: Distribution, order: int, *args: object, **kwargs: object) -> AnyArray:
    """E[(loc + scale Y)^order] by the binomial theorem; SciPy has a formula without `loc` where that is 0."""
    refuse_counts(f"{self.name}.moment", order, "order")
    _check_parameters(self, "moment", args, kwargs)
    expected = self.moment(order, *plain(args, _values), **plain(kwargs, _values))  # which checks the arguments
    own = _twin(self)
    shapes, loc, scale = own._parse_args(*args, **kwargs)
    n, loc = int(order), array(loc)
    moments = [1.0, *(own.moment(k, *shapes) for k in range(1, n + 1))]
    found = sum(
        math.comb(n, k) * scale**k * (loc ** (n - k) if k < n else 1.0) * value for k, value in enumerate(moments)
    )
    return np.where(np.isnan(expected), expected, found)


def _plainly(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: method(*plain(args, _values))


def _values(tensor: Tensor) -> AnyArray:
    return frozen(tensor, "ppf")


for _name in (*FROM_POINTS, *OF_PARAMETERS):
    _on_a_twin(_name)


def _quantile(name: str, distribution: str, sign: float) -> None:
    @scipy_rule(f"scipy.stats._methods.{name}")
    def rule(self: Distribution, q: AnyArray | float, *args: object, **kwargs: object) -> AnyArray:
        if not hasattr(self, "_pdf"):
            raise UnsupportedError(
                f"scipy.stats.{self.name}.{name}: a quantile of whole numbers moves in jumps, so it has no derivative."
            )
        _check_parameters(self, name, args, kwargs)
        expected = getattr(self, name)(*plain((q, *args), _values), **plain(kwargs, _values))
        shapes, loc, scale = _twin(self)._parse_args(*args, **kwargs)
        x = getattr(self, name)(*plain((q, *shapes), _values))
        if at_stake((q, *shapes)):
            solved = newton(self, x, q, shapes)
            x = solved + np.where(np.isfinite(x), x - frozen(solved, name), 0.0)  # SciPy's value, to the last digit
        return np.where(np.isnan(expected), expected, x * scale + loc)

    def newton(self: Distribution, x: AnyArray, q: Numeric, shapes: tuple[Numeric, ...]) -> AnyArray:
        # From a root each step along one slope makes one more order of derivatives exact.
        inside = np.isfinite(x)
        given = np.where(inside, array(x), array(self.median(*plain(shapes, _values))))
        slope = _slope(self, name, distribution, given, plain(shapes, _values), inside)
        for _ in range(_ORDERS):
            away = RULES[f"scipy.stats._methods.{distribution}"](self, given, *shapes) - q
            given = np.where(inside, given - sign * away / slope, given)
        return np.where(inside, given, x)


_ORDERS = 3  # of derivatives of a quantile


def _slope(
    self: Distribution,
    name: str,
    distribution: str,
    x: AnyArray,
    shapes: tuple[Numeric, ...],
    inside: np.ndarray[Any, Any] | np.bool_,
) -> AnyArray:
    """The density; refused where it is no slope of the formula by which SciPy computes the distribution function."""
    density = self.pdf(x, *shapes)
    if np.any(inside & (density == 0)):
        raise UnsupportedError(
            f"scipy.stats.{self.name}.{name}: the density is 0 at the quantile, so the quantile's slope is not finite."
        )
    formula = RULES[f"scipy.stats._methods.{distribution}"]
    _, slope = jvp(lambda x: formula(self, x, *shapes), (x,), (np.ones_like(x),))
    if not np.all(~inside | (np.abs(np.abs(slope) - density) <= 1e-6 * density)):
        raise UnsupportedError(
            f"scipy.stats.{self.name}.{name}: the quantile lies where SciPy's formula for {distribution} has a kink, "
            "and its slope is not the density. Move away from there."
        )
    return density


_quantile("ppf", "cdf", 1.0)
_quantile("isf", "sf", -1.0)


@scipy_rule("scipy.stats._methods.median")
def median(self: Distribution, *args: object, **kwargs: object) -> AnyArray:
    """The quantile of one half."""
    return RULES["scipy.stats._methods.ppf"](self, 0.5, *args, **kwargs)


@scipy_rule("scipy.stats._methods.interval")
def interval(self: Distribution, confidence: ArrayLike, *args: object, **kwargs: object) -> tuple[AnyArray, AnyArray]:
    """The quantiles of (1 - confidence) / 2 and (1 + confidence) / 2."""
    self.interval(_values_of(confidence), *_values_of(args), **_values_of(kwargs))  # which checks the confidence
    ends = ((1 - array(confidence)) / 2, (1 + array(confidence)) / 2)
    low, high = (RULES["scipy.stats._methods.ppf"](self, q, *args, **kwargs) for q in ends)
    return low, high


def _values_of(x: object) -> Any:
    return plain(x, _values)
