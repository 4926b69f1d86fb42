"""quad and quad_vec: integrals over intervals, with weights, and with places at which the integrand jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.numpy_types import AnyArray
from pullback.func.implicit.functions import plain
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.rules.calls import moves
from pullback.interop.adopt.scipy.ways import genuine
from pullback.scipy.rules.integrate.calls import Call, floating, solution_of
from pullback.scipy.rules.integrate.integrals import Integral, within


@solution_of("quad")
def quad(name: str, *given: object, **named: object) -> tuple[Any, ...]:
    """The value; SciPy's estimate of its error and what else it says are constants."""
    call = Call(name, ("func",), ("a", "b", "points", "wvar"), given, named)
    options = call.given
    if options["complex_func"]:
        return _complex(name, call)
    problem = _Weighted(call) if options["weight"] is not None else _Problem(call)
    said: list[Any] = []

    def quadrature(f: Callable[[Any], Any], limits: Sequence[Any]) -> AnyArray:
        found = problem.components(f, limits)
        said.append(found[0][1:])
        return np.array([y[0] for y in found])

    value = Integral(call, quadrature, problem.factor, said).of(problem.integrand, problem.limits, problem.leaves)
    value = value[0] * problem.outside
    return (value, *said[0]) if options["full_output"] else (value, said[0][0])


class _Problem:
    """An integral as it was asked for."""

    factor: Callable[[Any], Any] | None = None
    splits = True  # `together` may integrate
    outside: Any = 1.0
    passed: tuple[str, ...] = ("full_output", "epsabs", "epsrel", "limit", "maxp1", "limlst")

    def __init__(self, call: Call) -> None:
        self.call, self.leaves = call, call.leaves
        self.limits: list[Any] = [floating(call.given["a"]), floating(call.given["b"])]
        self.options = {key: call.given[key] for key in self.passed}
        if call.given["points"] is not None:
            self.limits += [*np.atleast_1d(floating(call.given["points"]))]

    def integrand(self, x: AnyArray, leaves: Leaves) -> AnyArray:
        return np.reshape(self.call.integrand(x, leaves), (1,))

    def components(self, f: Callable[..., Any], limits: Sequence[Any]) -> list[Any]:
        """Return what SciPy gives for each component of a vector; each point is asked for once.

        Many components are integrated together: each entry of a table may live on a piece of the interval that is so
        narrow that a rule for it alone sees nothing. Where that does not converge, at a singular end for example, each
        is integrated alone, and compared.
        """
        at = _Values(f)
        a, b, *points = map(float, within(limits))
        options = {**self.options, "points": points} if points else self.options
        size = len(at(_inside(a, points[0] if points else b))) if self.splits else 1
        together: Any = None
        if size > _FEW:
            together, error = self.together(at, a, b, points)
            if error <= max(self.options["epsabs"], self.options["epsrel"] * np.abs(together).max()):
                return [(y,) for y in together]
        found: list[Any] = []
        while len(found) < size:
            found.append(genuine(self.call.name)(lambda x: float(at(x)[len(found)]), a, b, **options))
            size = len(next(iter(at.known.values()), (0,)))
        for nr, (alone, by, *_) in enumerate(found if together is not None else ()):
            if abs(alone - together[nr]) > by + error:
                raise ConvergenceError(
                    f"{self.call.name}: its derivative with respect to {size} numbers is an integral of as many "
                    f"functions. That of number {nr} is {alone} alone, and {together[nr]} together with the others: "
                    "some live on pieces of the interval that are too narrow. Give the places between the pieces, such "
                    "as the knots of a spline, as points=."
                )
        return found

    def together(self, f: _Values, a: float, b: float, points: Sequence[float]) -> tuple[AnyArray, float]:
        """The integrals of all components on the same pieces of the interval, and a bound of their errors."""
        tolerances = {"epsabs": self.options["epsabs"], "epsrel": self.options["epsrel"]}
        given = {"norm": "max", "limit": _PIECES, "points": points or None, "workers": f.map, **tolerances}
        with np.errstate(all="ignore"):
            return genuine("scipy.integrate.quad_vec")(f, a, b, **given)[:2]


def _inside(a: float, b: float) -> float:
    """A point of an interval with these ends: the one that QUADPACK asks for first."""
    if np.isfinite(a) and np.isfinite(b):
        return 0.5 * (a + b)
    return a + np.sign(b) if np.isfinite(a) else b + np.sign(a) if np.isfinite(b) else 1.0


class _Values:
    """The values of an integrand, which is asked for each once; for those in many pieces of the interval at once."""

    def __init__(self, integrand: Any) -> None:
        self.integrand = integrand
        self.known: dict[float, Any] = {}
        self._asked: list[float] | None = None

    def __call__(self, x: float) -> AnyArray:
        if x not in self.known:
            if self._asked is not None:
                self._asked.append(x)
                return 0 * next(iter(self.known.values()))
            self.known[x] = self.integrand(x)
        return self.known[x]

    def map(self, divide: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterator[Any]:
        """Divide pieces of the interval, as the `workers` of quad_vec: the points in them are noted first."""
        pieces, self._asked = [*pieces], []
        for piece in pieces:
            divide(piece)
        asked, self._asked = self._asked, None
        with suppress(Exception):  # it may need a number; what else fails does so again alone
            if asked:
                self.known.update(zip(asked, self.integrand.each(np.array(asked)), strict=True))
        return map(divide, pieces)


_FEW = 3  # components, which are integrated one by one
_PIECES = 10_000


class _Weighted(_Problem):
    """An integral with one of SciPy's weights, moved so that what is differentiated stands in the integrand."""

    splits = False  # QUADPACK's rules alone know the weights
    passed = (*_Problem.passed, "weight", "wvar", "wopts")

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.kind, self.wvar = call.given["weight"], call.given["wvar"]
        of_limits = any(map(moves, self.limits))
        if self.kind.startswith("alg"):
            if of_limits and self.kind != "alg":
                self.refuse("an end of the interval", "the weights 'alg-loga', 'alg-logb' and 'alg-log'")
            if moves(self.wvar) or any(map(moves, self.wvar)):
                self.refuse("wvar", f"the weight {self.kind!r}")
            if of_limits:  # x = a + (b - a) u
                a, b = self.limits
                self.leaves, self.limits = [*self.leaves, a, b], [0.0, 1.0]
                self.outside = (b - a) ** (1 + sum(self.wvar))
        elif moves(self.wvar):
            if self.kind == "cauchy":  # x = wvar + u
                self.leaves, self.limits = [*self.leaves, self.wvar], [x - self.wvar for x in self.limits]
            elif np.isfinite([float(plain(x)) for x in self.limits]).all() and plain(self.wvar) > 0:  # x = u / wvar
                self.leaves, self.limits = [*self.leaves, self.wvar], [x * self.wvar for x in self.limits]
                self.outside = 1 / self.wvar
            else:
                self.refuse("wvar", f"the weight {self.kind!r}, unless wvar is positive and the interval finite")
            self.wvar = 0.0 if self.kind == "cauchy" else 1.0
        self.options["wvar"] = self.wvar
        self.moved = len(self.leaves) - len(call.leaves)

    def refuse(self, what: str, where: str) -> None:
        raise GradientError(
            f"{self.call.name}: {what} is being differentiated, but the integral has no derivative "
            f"with respect to it for {where}. "
            "Write the weight as a part of the integrand, or detach() it."
        )

    def integrand(self, x: AnyArray, leaves: Leaves) -> AnyArray:
        if not self.moved:
            return super().integrand(x, leaves)
        own, (first, *second) = leaves[: -self.moved], leaves[-self.moved :]
        if second:
            return super().integrand(first + (second[0] - first) * x, own)
        return super().integrand(x + first if self.kind == "cauchy" else x / first, own)

    def factor(self, x: AnyArray) -> AnyArray:
        """The weight, at an end that may move."""
        if self.kind == "cauchy":
            return 1 / (x - self.wvar)
        return (np.cos if self.kind == "cos" else np.sin)(self.wvar * x)


def _complex(name: str, call: Call) -> Any:
    """Two integrals, of the real part and of the imaginary one."""
    given = {**call.given, "complex_func": False}
    function = given.pop("func")
    parts = [quad(name, lambda *args, part=part: part(function(*args)), **given) for part in (np.real, np.imag)]
    (real, error), (imag, other) = (part[:2] for part in parts)
    said = () if not given["full_output"] else ({"real": parts[0][2:], "imag": parts[1][2:]},)
    return (real + 1j * imag, error + 1j * other, *said)


@solution_of("quad_vec")
def quad_vec(name: str, *given: object, **named: object) -> tuple[AnyArray, float]:
    """The value; what SciPy says of its way is constant."""
    call = Call(name, ("f",), ("a", "b", "points"), given, named)
    options = {key: x for key, x in call.given.items() if key not in ("f", "a", "b", "args", "points")}
    limits = [floating(call.given["a"]), floating(call.given["b"])]
    if call.given["points"] is not None:
        limits += [*np.atleast_1d(floating(call.given["points"]))]
    shape: list[Any] = []
    said: list[Any] = []

    def integrand(x: AnyArray, leaves: Leaves) -> AnyArray:
        value = call.integrand(x, leaves)
        if not shape:
            shape.append(np.shape(value))
        return np.reshape(value, (-1,))

    def quadrature(f: Callable[[Any], Any], limits: Sequence[Any]) -> AnyArray:
        a, b, *points = map(float, within(limits))
        found = genuine(name)(f, a, b, points=points or None, **options)
        said.append(found[1:])
        return found[0]

    value = Integral(call, quadrature, said=said).of(integrand, limits, call.leaves)
    return (np.reshape(value, shape[0])[()], *said[0])
