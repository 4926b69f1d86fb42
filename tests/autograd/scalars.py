"""Reverse mode over Python floats: a reference that has no arrays, and so no views, no masks and nothing in place.

An array is an object array of `Scalar`s. An operator that chooses (where, relu, an index) hands the chosen ones on:
what is not chosen is no operand, gets no cotangent, and has the derivative 0 whatever its slope. A computed 0 * inf is
NaN. Derivatives are Scalars again, so they can be differentiated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

_count = itertools.count()


class Scalar:
    """A number, what it was computed from, and the function that pulls a cotangent back to that."""

    __slots__ = ("number", "parents", "pull", "value")

    def __init__(self, value: float, parents: tuple[Scalar, ...] = (), pull: Callable | None = None) -> None:
        self.value, self.parents, self.pull = value, parents, pull
        self.number = next(_count)


def leaf(value: float) -> Scalar:
    """Something to differentiate by."""
    return Scalar(float(value), (), _nothing)


def constant(value: float) -> Scalar:
    """Something that nothing is differentiated by."""
    return Scalar(float(value))


def _nothing(g: Scalar) -> tuple:
    return ()


ONE, TWO, HALF, MINUS_ONE = map(constant, (1.0, 2.0, 0.5, -1.0))


def _made(value: float, parents: tuple[Scalar, ...], pull: Callable) -> Scalar:
    return Scalar(value, parents, pull) if any(p.pull is not None for p in parents) else Scalar(value)


def add(a: Scalar, b: Scalar) -> Scalar:
    return _made(a.value + b.value, (a, b), lambda g: (g, g))


def sub(a: Scalar, b: Scalar) -> Scalar:
    return _made(a.value - b.value, (a, b), lambda g: (g, neg(g)))


def neg(a: Scalar) -> Scalar:
    return _made(-a.value, (a,), lambda g: (neg(g),))


def mul(a: Scalar, b: Scalar) -> Scalar:
    return _made(
        a.value * b.value,
        (a, b),
        lambda g: (mul(g, b) if a.pull else None, mul(g, a) if b.pull else None),
    )


def div(a: Scalar, b: Scalar) -> Scalar:
    return _made(
        quotient(a.value, b.value),
        (a, b),
        lambda g: (div(g, b) if a.pull else None, mul(neg(g), div(div(a, b), b)) if b.pull else None),
    )


def quotient(a: float, b: float) -> float:
    """a / b as IEEE 754 has it."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _unary(function: Callable[[float], float], slope: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    """An operator of one number; `slope` has the argument and the result."""

    def operator(a: Scalar) -> Scalar:
        try:
            value = function(a.value)
        except OverflowError:
            value = math.inf
        except ValueError:
            value = math.nan
        if a.pull is None:
            return Scalar(value)
        made = Scalar(value, (a,))
        made.pull = lambda g: (mul(g, slope(a, made)),)
        return made

    return operator


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def _power(p: float) -> Callable[[float], float]:
    def function(x: float) -> float:
        if x == 0 and p < 0:
            return math.copysign(math.inf, x) if p % 2 == 1 else math.inf
        return math.pow(x, p)

    return function


def power(p: float) -> Callable[[Scalar], Scalar]:
    """x -> x ** p for a plain number p."""
    if p == 0:
        return lambda a: constant(1.0)
    return _unary(_power(p), lambda x, y: mul(constant(p), ONE if p == 1 else power(p - 1)(x)))


exp = _unary(math.exp, lambda x, y: y)
log = _unary(_log, lambda x, y: div(ONE, x))
sin = _unary(math.sin, lambda x, y: cos(x))
cos = _unary(math.cos, lambda x, y: neg(sin(x)))
tanh = _unary(math.tanh, lambda x, y: sub(ONE, mul(y, y)))
sqrt = _unary(math.sqrt, lambda x, y: div(HALF, y))
reciprocal = _unary(lambda x: quotient(1.0, x), lambda x, y: neg(mul(y, y)))
square = _unary(lambda x: x * x, lambda x, y: mul(TWO, x))


def total(items: Iterable[Scalar]) -> Scalar:
    """The sum."""
    result: Scalar | None = None
    for item in items:
        result = item if result is None else add(result, item)
    return constant(0.0) if result is None else result


def watched(items: Sequence[Scalar], factor: float, seen: list[dict[int, Scalar]]) -> list[Scalar]:
    """The same numbers; their cotangents are noted in a dict of `seen` by position, then multiplied."""
    notes: dict[int, Scalar] = {}
    seen.append(notes)

    def watch(position: int, item: Scalar) -> Scalar:
        def pull(g: Scalar) -> tuple[Scalar]:
            notes[position] = g
            return (mul(g, constant(factor)),)

        return Scalar(item.value, (item,), pull) if item.pull else item

    return [watch(position, item) for position, item in enumerate(items)]


def backward(roots: Iterable[tuple[Scalar, Scalar]]) -> dict[Scalar, Scalar]:
    """The cotangent of everything that got one, from those of the roots; what got none is not in it."""
    found: dict[Scalar, Scalar] = {}
    for root, cotangent in roots:
        if root.pull is not None:
            found[root] = add(found[root], cotangent) if root in found else cotangent
    reached, waiting = set(found), list(found)
    while waiting:
        for parent in waiting.pop().parents:
            if parent.pull is not None and parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    for node in sorted(reached, key=lambda n: -n.number):  # what was made later depends on what was made before
        g = found[node]
        for parent, part in zip(node.parents, node.pull(g), strict=False):
            if parent.pull is not None:
                found[parent] = add(found[parent], part) if parent in found else part
    return found
