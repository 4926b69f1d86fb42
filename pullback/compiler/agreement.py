"""Two traces compared: they make a program only if they did the same."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from pullback.arrays.traced.calls import PlainCall
from pullback.arrays.traced.graph import Check, Guard, Step, Value, key_of, place_of
from pullback.compiler.numbers import in_words
from pullback.compiler.places import Place
from pullback.compiler.tracing import Trace
from pullback.core.tensor import ndarray


def described(trace: Trace) -> Hashable:
    """A description of a trace that is equal for two that give the same program."""
    graph = trace.graph
    return (
        tuple(
            (value.number, live, _contents(array, live)) for value, array, live in graph.constants[: trace.constants]
        ),
        tuple(_step(step) for step in graph.steps),
        tuple((how, key_of(x)) for how, x in trace.outputs),
        trace.structure,
        tuple((place, value.number) for place, value in trace.written),
        tuple((place, None if value is None else value.number) for place, value in trace.grads),
    )


def _contents(array: ndarray, live: bool) -> Hashable:
    return place_of(array) if live else (array.shape, array.strides, array.dtype.str, array.tobytes())


def _step(step: Any) -> Hashable:
    return (_what(step.what), _keys(step.args), tuple((x.number, x.shape, x.dtype) for x in step.results))


def _keys(x: Any) -> Hashable:
    if type(x) in (list, tuple):
        return tuple(map(_keys, x))
    return _what(x) if callable(x) and type(x) is not Value else key_of(x)


def _what(what: Any) -> Hashable:
    if isinstance(what, Guard):
        expected = what.expected
        return ("guard", what.why, _contents(expected, False) if type(expected) is ndarray else key_of(expected))
    if isinstance(what, Check):
        what, given = what.examine, list[Any]()
        while isinstance(what, partial):  # two traces make two
            given += [x for x in (*what.args, *what.keywords.values()) if type(x) in (bool, int, float, str)]
            what = what.func
        return (getattr(what, "__code__", what), *map(key_of, given))
    if isinstance(what, PlainCall):
        return what.key
    code = getattr(what, "__code__", None)
    return what if code is None else (code,)


def looked_at_others(a: Trace, b: Trace) -> bool:
    """True if two traces differ because they found other numbers where they looked: they are different programs."""
    pairs = zip(a.graph.steps, b.graph.steps, strict=False)
    one, other = next((pair for pair in pairs if _step(pair[0]) != _step(pair[1])), (None, None))
    return one is not None and other is not None and isinstance(one.what, Guard) and isinstance(other.what, Guard)


def first_difference(a: Trace, b: Trace) -> tuple[str, Place | None]:
    """Where two traces begin to differ, in words, and the line of the user's code."""
    for one, other in zip(a.graph.steps, b.graph.steps, strict=False):
        if _step(one) != _step(other):
            return _different(one, other), other.line or one.line
    if len(a.graph.steps) != len(b.graph.steps):
        return f"{len(a.graph.steps)} operators ran, then {len(b.graph.steps)}", None
    for (_, first, _), (_, second, _) in zip(a.graph.constants[: a.constants], b.graph.constants, strict=False):
        if first.shape != second.shape or first.tobytes() != second.tobytes():
            return f"an array that it made or read was {in_words(first)}, then {in_words(second)}", None
    return "the results were built differently", None


def _different(one: Step, other: Step) -> str:
    if isinstance(one.what, Guard) and isinstance(other.what, Guard):
        return f"{one.what.why} found {in_words(one.what.expected)}, then {in_words(other.what.expected)}"
    if _what(one.what) != _what(other.what):
        if one.name == other.name:
            return f"{one.name} ran each time, but not with the same objects: what the function holds had changed"
        return f"{one.name} came first, then {other.name} in its place"
    for x, y in zip(one.args, other.args, strict=False):
        if _keys(x) != _keys(y) and not isinstance(x, Value) and not isinstance(y, Value):
            return f"{one.name} was given {in_words(x)}, then {in_words(y)}"
    return f"{one.name} was given other arrays"
