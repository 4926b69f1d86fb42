"""Integrals over regions of several dimensions: nested ones, cubature, and means over quasi-random points."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.array_type import numbers_of
from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.numpy_types import AnyArray, ArrayLike, Numeric
from pullback.func.implicit.functions import plain
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.left_behind import leave
from pullback.func.rules.calls import moves
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array
from pullback.scipy.rules.integrate.calls import Call, floating, solution_of
from pullback.scipy.rules.integrate.integrals import Integral
from pullback.scipy.rules.integrate.quadrature import quad

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


@solution_of("nquad")
def nquad(
    name: str,
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: tuple[Any, ...] | None = None,
    opts: dict[str, Any] | Sequence[Any] | None = None,
    full_output: bool = False,
) -> tuple[Any, ...]:
    """An integral of an integral of ..., each differentiable by what its ends and its integrand hold."""
    depth = len(ranges)
    more = () if args is None else args if isinstance(args, tuple) else (args,)
    settings: Any = opts if isinstance(opts, (list, tuple)) else [opts or {}] * depth
    errors: list[float] = []
    evaluations: list[int] = []

    def integrated(level: int, *known: object) -> AnyArray:
        """The integral over the dimensions up to `level`, those further out being known."""
        ends, options = (x[level](*known) if callable(x[level]) else x[level] for x in (ranges, settings))
        low, high = ends
        options = dict(options)
        function = functools.partial(integrated, level - 1) if level else func
        found = quad("scipy.integrate.quad", function, low, high, args=known, full_output=full_output, **options)
        errors.append(found[1])
        if full_output and not level:
            evaluations.append(found[2]["neval"])
        return found[0]

    value = integrated(depth - 1, *more)
    return (value, max(errors), *([{"neval": sum(evaluations)}] if full_output else []))


@solution_of("dblquad", "tplquad")
def _nested(name: str, *given: object, **named: object) -> tuple[AnyArray, AnyArray]:
    """SciPy's own words for `nquad`."""
    return clone(genuine(name))(*given, **named)


@solution_of("cubature")
def _cubature(name: str, *given: object, **named: object) -> OptimizeResult:
    call = Call(name, ("f",), ("a", "b"), given, named)
    options = {key: call.given[key] for key in ("rule", "rtol", "atol", "max_subdivisions", "workers", "points")}
    limits = [np.atleast_1d(floating(call.given[key])) for key in ("a", "b")]
    leaves, moving = call.leaves, any(map(moves, limits))
    if moving:
        if not all(np.isfinite(plain(x)).all() for x in limits) or options["points"]:
            raise GradientError(
                f"{name}: 'a' or 'b' is being differentiated. Then both must be finite; leave out 'points'."
            )
        leaves, plain_limits = [*leaves, *limits], [np.zeros(limits[0].shape), np.ones(limits[0].shape)]
    else:
        plain_limits = [plain(x) for x in limits]
    shape: list[Any] = []
    said: list[Any] = []

    def integrand(x: AnyArray, leaves: Leaves) -> AnyArray:  # x: a row for each point
        if not moving:
            value = call.integrand(x, leaves)
        else:
            a, b = leaves[-2:]
            value = call.integrand(a + (b - a) * x, leaves[:-2]) * np.prod(b - a)
        if not shape:
            shape.append(value.shape[1:])
        return np.reshape(value, (-1,))

    def quadrature(f: Callable[[Any], Any], _: Sequence[Any]) -> AnyArray:
        found = genuine(name)(lambda x: np.stack([f(row[None]) for row in x]), *plain_limits, **options)
        _check(name, found, found.status == "converged" or not said, said)
        return np.reshape(found.estimate, (-1,))

    value = Integral(call, quadrature, said=said).of(integrand, [0.0, 1.0], leaves)
    found = said[0]
    found.estimate, found.error = (np.reshape(x, shape[0])[()] for x in (value, found.error))
    del found.regions  # its estimates would be constants, and look as if they were none
    return found


def _check(name: str, found: OptimizeResult, converged: Any, said: list[Any]) -> None:
    """Keep a result; its success, too, is the caller's to look at, unless it is that of a derivative's integral."""
    if not converged:
        raise ConvergenceError(f"{name}: the integral of a derivative of the integrand did not converge.")
    said.append(found)


@solution_of("qmc_quad")
def _qmc_quad(name: str, func: Callable[..., Any], a: ArrayLike, b: Numeric, **named: object) -> OptimizeResult:
    """The mean over the points that SciPy took: they move with the limits."""
    if named.get("log"):
        raise GradientError(f"{name}: log=True has no derivative here; integrate the function itself.")
    a, b = (np.atleast_1d(floating(x)) for x in (a, b))
    up = np.where(plain(b) > plain(a), 1.0, -1.0)
    start, length = np.where(up > 0, a, b), (b - a) * up
    parts: list[Any] = []

    def at(part: AnyArray) -> AnyArray:
        """The integrand at shares of the edges."""
        moved = (slice(None), *[None] * (part.ndim - 1))
        return array(func(start[moved] + length[moved] * part))

    def watched(part: AnyArray) -> AnyArray:
        parts.append(np.array(part))
        value = at(parts[-1])
        known = numbers_of(value)
        return np.zeros(value.shape) if known is None else known  # of a batch: which points come does not depend on it

    cube = np.zeros(length.shape), np.ones(length.shape)
    found = genuine(name)(watched, *cube, **named)
    parts = parts[2:]  # after two trials
    if len(parts) != named.get("n_estimates", 8) or any(x.ndim != 2 for x in parts):
        raise GradientError(f"{name}: the integrand must take all points of an estimate at once, as an array.")
    estimates = array([np.mean(at(x)) * np.prod(length) for x in parts])
    value = np.mean(estimates)
    error = np.std(estimates, ddof=1) / np.sqrt(len(parts))
    return type(found)(value * np.prod(up), error)


@solution_of("tanhsinh")
def _tanhsinh(name: str, *given: object, **named: object) -> OptimizeResult:
    """One integral after the other: each depends on its own elements of `args`, and on what the function captures."""
    call = Call(name, ("f",), ("a", "b"), given, named)
    for key in ("log", "preserve_shape", "callback"):
        if call.given[key]:
            raise GradientError(f"{name}: {key!r} has no derivative here; leave it out.")
    options = {key: call.given[key] for key in ("maxlevel", "minlevel", "atol", "rtol")}
    arrays, many = (
        [floating(call.given["a"]), floating(call.given["b"]), *map(array, call.elements)],
        len(call.elements),
    )
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    elements = [np.reshape(np.broadcast_to(x, shape), (-1,)) for x in arrays]
    said: list[Any] = []

    def quadrature(f: Callable[[Any], Any], limits: Sequence[Any]) -> AnyArray:
        known: dict[float, Any] = {}

        def at(x: float) -> AnyArray:
            if float(x) not in known:
                known[float(x)] = f(np.float64(x))
            return known[float(x)]

        def rows(x: AnyArray) -> AnyArray:  # the same integral for each component of f: of component i in row i
            found = [[at(y)[i] for y in row] for i, row in enumerate(np.reshape(x, (size, -1)))]
            return np.reshape(found, np.shape(x))

        low, high = sorted(map(float, limits))
        size = at(np.clip(0.5, low, high) if np.isinf(high - low) else (low + high) / 2).size
        ends = [np.full(size, float(x)) for x in limits]
        how = {**options}
        derived = call.captures.derived and (bool(said) or len(values) == count)
        if derived:  # in numbers of the size of 1: those that are 0, to rounding, have converged
            how["atol"] = max(options["atol"] or 0.0, options["rtol"] or np.finfo(float).eps ** 0.75)
        found = genuine(name)(rows, *ends, preserve_shape=True, **how)
        _check(name, found, np.all(found.success) or not derived, said)
        return found.integral

    def integrand(x: Numeric, leaves: Leaves) -> AnyArray:
        return np.reshape(array(call.functions(leaves[many:])[0](x, *leaves[:many])), (1,))

    integral = Integral(call, quadrature, said=said)
    values: list[Any] = []
    results, count = [], int(np.prod(shape))
    for i in range(count):
        a, b, *args = (x[i] for x in elements)
        values.append(integral.part(integrand, [a, b], [*args, *call.leaves]))
        results.append(said[0])
        said.clear()
    leave(call.captures)
    said_of_all = {key: np.reshape([np.ravel(r[key])[0] for r in results], shape)[()] for key in results[0]}
    return type(results[0])({**said_of_all, "integral": np.reshape(np.stack(values), shape)[()]})
