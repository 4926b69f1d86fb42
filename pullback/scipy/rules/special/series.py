"""Series and recurrences differentiated term by term in their parameters, by truncated power series (jets).

A jet maps (i, j, ...), the orders in each parameter, to the coefficient of that power of the parameters' changes. A
factor is linear: a value, and how much each parameter moves it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.arrays.numpy.special.gammas import polygamma
from pullback.core.numpy_types import AnyArray
from pullback.scipy.rules.special.bessels import jv_derivative, leibniz, sin_pi
from pullback.scipy.rules.special.integrals import among, bell, of_arrays

Jet = dict[tuple[int, ...], Any]
_MOST_TERMS = 6000


def constant(value: AnyArray, orders: Sequence[int]) -> Jet:
    """The jet of what does not move."""
    keys = itertools.product(*(range(n + 1) for n in orders))
    return {key: value if not any(key) else 0.0 * value for key in keys}


def _before(key: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*key[:i], key[i] - 1, *key[i + 1 :])


def times(jet: Jet, value: AnyArray | float, moves: Sequence[float]) -> Jet:
    """The jet times value + moves . changes."""
    made = {}
    for key, c in jet.items():
        total = c * value
        for i, move in enumerate(moves):
            if move and key[i]:
                total = total + move * jet[_before(key, i)]
        made[key] = total
    return made


def over(jet: Jet, value: AnyArray | float, moves: Sequence[float]) -> Jet:
    """The jet over value + moves . changes."""
    made: Jet = {}
    for key, c in jet.items():  # in the order of the keys, so that those before are there
        total = c
        for i, move in enumerate(moves):
            if move and key[i]:
                total = total - move * made[_before(key, i)]
        made[key] = total / value
    return made


def times_jet(one: Jet, other: Jet) -> Jet:
    """The product of two jets."""
    made = {}
    for key in one:
        parts = itertools.product(*(range(n + 1) for n in key))
        made[key] = sum(one[p] * other[tuple(np.subtract(key, p).tolist())] for p in parts)
    return made


def exponential(value: AnyArray, moves: Sequence[Any], orders: Sequence[int]) -> Jet:
    """The jet of exp(value + moves . changes)."""
    keys = itertools.product(*(range(n + 1) for n in orders))
    made = {}
    for key in keys:
        c = np.exp(value)
        for n, move in zip(key, moves, strict=True):
            c = c * move**n / math.factorial(n)
        made[key] = c
    return made


def derivative(jet: Jet) -> AnyArray:
    """The derivative of the jet's highest orders."""
    key = max(jet)
    return jet[key] * math.prod(map(math.factorial, key))


def hypergeometric(
    ups: list[tuple[AnyArray, Sequence[float]]],
    downs: list[tuple[AnyArray, Sequence[float]]],
    x: AnyArray,
    orders: Sequence[int],
    exponent: AnyArray | float = 0.0,
) -> Jet:
    """The jet of exp(exponent) times the sum of (a)_k ... / (b)_k ... x**k / k!; a parameter is (value, moves).

    Terms are summed until all are below the last place, orders in each parameter included. Sums that become large are
    kept over a power of e, which `exponent` may take back.
    """
    term = constant(np.ones_like(x), orders)
    total, logarithm = dict(term), np.zeros_like(x) + exponent
    quiet = 0
    for k in range(_MOST_TERMS):
        for value, moves in ups:
            term = times(term, value + k, moves)
        for value, moves in downs:
            term = over(term, value + k, moves)
        term = {key: c * (x / (k + 1)) for key, c in term.items()}
        total = {key: total[key] + c for key, c in term.items()}
        small = all(np.all(~(np.abs(c) > 1e-17 * np.abs(total[key]))) for key, c in term.items())
        quiet = quiet + 1 if small else 0
        if quiet > 3:
            break
        if k % 32 == 31:
            large = np.abs(total[min(total)]) > 1e200
            if large.any():
                shrink = np.where(large, 1e-200, 1.0)
                term = {key: c * shrink for key, c in term.items()}
                total = {key: c * shrink for key, c in total.items()}
                logarithm = logarithm - np.log(shrink)
    else:
        raise _too_many_terms(f"hyp{len(ups)}f{len(downs)}", x)
    scale = np.exp(logarithm)
    return {key: c * scale for key, c in total.items()}


def _too_many_terms(function: str, x: AnyArray) -> ValueError:
    return ValueError(
        f"the series for the derivative of {function} in a parameter has not converged after {_MOST_TERMS} terms, for "
        f"arguments between {x.min()} and {x.max()}. Hold the parameters constant there, or take mpmath.diff."
    )


@of_arrays(1)
def hyp0f1_derivative(v: AnyArray, z: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of hyp0f1(v, z) in v."""
    if n == 0:
        return sp.hyp0f1(v, z)
    far = z < -10
    if far.any():
        value = among(~far, lambda v, z: hyp0f1_derivative(v, z, n), v, z)
        return np.where(far, among(far, lambda v, z: _by_bessel(v, -z, n), v, z), value)
    return derivative(hypergeometric([], [(v, (1.0,))], z, (n,)))


def _by_bessel(v: AnyArray, z: AnyArray, n: int) -> AnyArray:
    """hyp0f1(v, -z) = Gamma(v) z**((1 - v) / 2) J_{v-1}(2 sqrt(z)) (DLMF 10.16.9)."""
    slopes = [polygamma(0, v) - np.log(z) / 2, *(polygamma(k, v) for k in range(1, n))]
    factor = sp.gamma(v) * z ** ((1 - v) / 2)
    return leibniz(n, lambda k: factor * bell(slopes[:k]), lambda k: jv_derivative(v - 1, 2 * np.sqrt(z), k))


@of_arrays(2)
def hyp1f1_derivative(a: AnyArray, b: AnyArray, x: AnyArray, m: int, n: int) -> AnyArray:
    """The derivative of Kummer's function M(a, b, x), m times in a and n in b; M(a, b, x) = exp(x) M(b - a, b, -x)."""
    if m == n == 0:
        return sp.hyp1f1(a, b, x)
    result = np.empty_like(x)
    left = x < 0
    for chosen, turned in ((~left, False), (left, True)):
        if chosen.any():
            a_, b_, x_ = a[chosen], b[chosen], x[chosen]
            up = (b_ - a_, (-1.0, 1.0)) if turned else (a_, (1.0, 0.0))
            jet = hypergeometric([up], [(b_, (0.0, 1.0))], np.abs(x_), (m, n), x_ if turned else 0.0)
            result[chosen] = derivative(jet)
    return result


@of_arrays(3)
def hyp2f1_derivative(a: AnyArray, b: AnyArray, c: AnyArray, x: AnyArray, m: int, n: int, k: int) -> AnyArray:
    """The derivative of Gauss's function in a (m times), b (n) and c (k); left of 0 by Pfaff's transformation."""
    if m == n == k == 0:
        return sp.hyp2f1(a, b, c, x)
    if np.any((x > 0.99) | (x < -99)):
        raise ValueError("the derivative of hyp2f1 in a, b, c is known only for -99 <= x <= 0.99.")
    result = np.empty_like(x)
    left = x < 0
    for chosen, turned in ((~left, False), (left, True)):
        if chosen.any():
            a_, b_, c_, x_ = a[chosen], b[chosen], c[chosen], x[chosen]
            up = (c_ - b_, (0.0, -1.0, 1.0)) if turned else (b_, (0.0, 1.0, 0.0))
            argument = x_ / (x_ - 1) if turned else x_
            jet = hypergeometric([(a_, (1.0, 0.0, 0.0)), up], [(c_, (0.0, 0.0, 1.0))], argument, (m, n, k))
            if turned:
                slope = -np.log1p(-x_)
                jet = times_jet(jet, exponential(a_ * slope, (slope, 0.0, 0.0), (m, n, k)))
            result[chosen] = derivative(jet)
    return result


# -- zeta -------------------------------------------------------------------------------------------------------------
_FIRST = 24  # terms before Euler's and Maclaurin's formula
_BERNOULLI = sp.bernoulli(30)[2::2]


@of_arrays(1)
def zeta_derivative(s: AnyArray, q: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in s of Hurwitz's zeta function, q > 0 and s > 1, or q = 1 and s > -10."""
    if n == 0:
        return np.where(q == 1, sp.zeta(s), sp.zeta(s, q))
    if np.any((q <= 0) | (s == 1)):
        raise ValueError("the derivative of zeta in its exponent is known only for q > 0, and not at exponent 1.")
    left = s < 0
    if left.any():
        if np.any(q[left] != 1):
            raise ValueError("the derivative of zeta in an exponent below 0 is known only for q = 1.")
        value = among(~left, lambda s, q: zeta_derivative(s, q, n), s, q)
        return np.where(left, among(left, lambda s: _by_reflection(s, n), s), value)
    orders = (n,)
    total = constant(np.zeros_like(s), orders)

    def add(jet: Jet) -> None:
        for key in total:
            total[key] = total[key] + jet[key]

    for k in range(_FIRST):
        log = np.log(q + k)
        add(exponential(-s * log, (-log,), orders))
    y = q + _FIRST
    log = np.log(y)
    power = exponential(-s * log, (-log,), orders)
    add(over({key: c * y for key, c in power.items()}, s - 1, (1.0,)))
    add({key: c / 2 for key, c in power.items()})
    rising = times({key: c / y for key, c in power.items()}, s, (1.0,))  # (s)_1 y**(-s - 1)
    for k in range(1, len(_BERNOULLI) + 1):
        add({key: c * (_BERNOULLI[k - 1] / math.factorial(2 * k)) for key, c in rising.items()})
        for j in (2 * k - 1, 2 * k):
            rising = times({key: c / y for key, c in rising.items()}, s + j, (1.0,))
    return derivative(total)


def _by_reflection(s: AnyArray, n: int) -> AnyArray:
    """zeta(s) = 2 (2 pi)**-u Gamma(u) zeta(u) sin(pi s / 2), u = 1 - s (DLMF 25.4.1), differentiated n times in s."""
    u, one = 1 - s, np.ones_like(s)
    slopes = [sp.psi(u) - math.log(2 * math.pi), *(sp.polygamma(k, u) for k in range(1, n))]
    factor = 2 * np.exp(sp.gammaln(u) - u * math.log(2 * math.pi))

    def smooth(k: int) -> AnyArray:
        parts = (math.comb(k, p) * bell(slopes[: k - p]) * zeta_derivative(u, one, p) for p in range(k + 1))
        return (-1) ** k * factor * sum(parts)

    return leibniz(n, lambda k: sin_pi(s / 2, k) / 2.0**k, smooth)


# -- orthogonal polynomials -------------------------------------------------------------------------------------------
def _degrees(n: AnyArray, name: str) -> AnyArray:
    if np.any((n != np.trunc(n)) | (n < 0)):
        raise ValueError(f"the derivative of {name} in its parameters is known only for whole degrees n >= 0.")
    return n.astype(int)


def _polynomial(degrees: AnyArray, first: Jet, step: Callable[..., Any]) -> AnyArray:
    """The jet's derivative at each element's degree, by a recurrence from degree 0."""
    before, value = {key: 0.0 * c for key, c in first.items()}, first
    result = np.where(degrees == 0, derivative(value), 0.0)
    for k in range(1, int(degrees.max(initial=0)) + 1):
        before, value = value, step(k, value, before)
        result = np.where(degrees == k, derivative(value), result)
    return result


def _minus(one: Jet, other: Jet) -> Jet:
    return {key: c - other[key] for key, c in one.items()}


@of_arrays(1)
def genlaguerre_derivative(n: AnyArray, alpha: AnyArray | float, x: AnyArray | float, i: int) -> AnyArray:
    """The i-th derivative in alpha of the generalised Laguerre polynomial."""
    if i == 0:
        return sp.eval_genlaguerre(n, alpha, x)

    def step(k: int, value: Jet, before: Jet) -> Jet:
        made = _minus(times(value, 2 * k - 1 + alpha - x, (1.0,)), times(before, k - 1 + alpha, (1.0,)))
        return {key: c / k for key, c in made.items()}

    return _polynomial(_degrees(n, "eval_genlaguerre"), constant(np.ones_like(x), (i,)), step)


@of_arrays(1)
def gegenbauer_derivative(n: AnyArray, alpha: AnyArray | float, x: AnyArray | float, i: int) -> AnyArray:
    """The i-th derivative in alpha of Gegenbauer's polynomial."""
    if i == 0:
        return sp.eval_gegenbauer(n, alpha, x)

    def step(k: int, value: Jet, before: Jet) -> Jet:
        up = times({key: 2 * x * c for key, c in value.items()}, k + alpha - 1, (1.0,))
        made = _minus(up, times(before, k + 2 * alpha - 2, (2.0,)))
        return {key: c / k for key, c in made.items()}

    return _polynomial(_degrees(n, "eval_gegenbauer"), constant(np.ones_like(x), (i,)), step)


@of_arrays(2)
def jacobi_derivative(
    n: AnyArray, alpha: AnyArray | float, beta: AnyArray, x: AnyArray | float, i: int, j: int
) -> AnyArray:
    """The derivative of Jacobi's polynomial, i times in alpha and j in beta."""
    if i == j == 0:
        return sp.eval_jacobi(n, alpha, beta, x)
    both = alpha + beta

    def step(k: int, value: Jet, before: Jet) -> Jet:
        if k == 1:  # (alpha + 1) + (alpha + beta + 2) (x - 1) / 2
            steep = (x - 1) / 2
            moved = times(value, alpha + 1, (1.0, 0.0))
            more = times({key: steep * c for key, c in value.items()}, both + 2, (1.0, 1.0))
            return {key: c + more[key] for key, c in moved.items()}
        s = 2 * k + both
        bulk = times(times(value, s, (1.0, 1.0)), s - 2, (1.0, 1.0))
        squares = times(times(value, alpha - beta, (1.0, -1.0)), both, (1.0, 1.0))
        up = times({key: x * c + squares[key] for key, c in bulk.items()}, s - 1, (1.0, 1.0))
        down = times(times(times(before, k + alpha - 1, (1.0, 0.0)), k + beta - 1, (0.0, 1.0)), s, (1.0, 1.0))
        made = _minus(up, {key: 2 * c for key, c in down.items()})
        made = over(over(made, k + both, (1.0, 1.0)), s - 2, (1.0, 1.0))
        return {key: c / (2 * k) for key, c in made.items()}

    return _polynomial(_degrees(n, "eval_jacobi"), constant(np.ones_like(x), (i, j)), step)


# -- Wright's Bessel function -----------------------------------------------------------------------------------------
@of_arrays(2)
def wright_bessel_derivative(a: AnyArray, b: AnyArray, x: AnyArray, i: int, j: int) -> AnyArray:
    """The derivative of the sum of x**k / (k! Gamma(a k + b)), i times in a and j in b; b > 0."""
    if i == j == 0:
        return sp.wright_bessel(a, b, x)
    if np.any(b <= 0):
        raise ValueError("the derivative of wright_bessel in a and b is known only for b > 0.")
    total, quiet = np.zeros_like(x), 0
    for k in range(_MOST_TERMS):
        u = a * k + b
        slopes = [-sp.psi(u), *(-sp.polygamma(q, u) for q in range(1, i + j))]
        size = np.exp(sp.xlogy(k, np.abs(x)) - sp.gammaln(k + 1) - sp.gammaln(u)) * np.where(x < 0, (-1.0) ** k, 1.0)
        term = size * bell(slopes) * float(k) ** i
        total = total + term
        quiet = quiet + 1 if np.all(~(np.abs(term) > 1e-17 * np.abs(total))) and k > 1 else 0
        if quiet > 3:
            return total
    raise _too_many_terms("wright_bessel", x)
