"""The programs of one signature: they come to be after two equal traces, and are given up where they do no good.

    call 1, 2        the function runs over traced arrays; two traces that agree make a program
    call 3           the program and the function run, are compared, and timed
    later            the program runs; where a guard does not hold, the next one; where none does, a trace again
    16, 256, ...     the function runs beside the program once more

A trace depends on the numbers it looked at, so a signature may have several programs, one for each outcome.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.arrays.traced.calls import PlainCall
from pullback.arrays.traced.graph import GUARD, Check, Guard, LeftError, Step, Value, key_of
from pullback.compiler.drawing import States, put_back, states_of
from pullback.compiler.plan import Plan
from pullback.compiler.tracing import AS_IT_IS, NUMBER, TENSOR, Trace
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap

MOST = 8  # programs of one signature, and traces that have not been confirmed
_AUDITS = frozenset({16, 256, 4096, 65536, 1 << 20})


class Program:
    """A plan, and what its caller gets: how the outputs look, and in which structure."""

    __slots__ = (
        "agreed",
        "before",
        "calls",
        "generators",
        "outputs",
        "plan",
        "single",
        "slower",
        "structure",
        "trace",
        "written",
    )

    def __init__(self, trace: Trace) -> None:
        self.trace: Trace = trace
        self.plan = Plan(trace)
        self.structure, self.written = trace.structure, [place for place, _ in trace.written]
        self.outputs = trace.outputs
        self.single = trace.structure == 0 and not self.written
        self.calls = self.slower = 0
        self.generators = [generator for generator, _ in trace.graph.drew.values()]
        self.before: States = []  # the states of the generators before the last run

    def rewind(self) -> States:
        """Give the generators the states before the last run; returns those that they had."""
        now = states_of(self.generators)
        put_back(self.before)
        return now

    def run(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result for these arguments, of which `arrays` are the inputs; raises LeftError where it is another's."""
        before = warning_state()
        if self.generators:
            self.before = states_of(self.generators)
        try:
            ignore_warnings()
            found = self.plan.call(*arrays)
        except LeftError:
            put_back(self.before)
            raise
        finally:
            restore(before)
        if self.single:
            return _shown(self.outputs[0], found)
        given = iter(found)
        results = [x if how is AS_IT_IS else _looking(how, next(given)) for how, x in self.outputs]
        for place, array in zip(self.written, given, strict=True):
            _write(leaves[place], array)
        return unflatten(self.structure, results)


def _shown(output: tuple[str, Any], found: Sequence[Any]) -> Any:
    how, x = output
    return x if how is AS_IT_IS else _looking(how, found[0])


def _looking(how: str, array: Any) -> Any:
    if how is NUMBER:
        return array[()] if type(array) is ndarray else array
    array = np.asarray(array)
    return wrap(array) if how is TENSOR else array


def _write(target: Any, array: Any) -> None:
    if isinstance(target, Tensor):
        target.copy_(wrap(np.asarray(array)))
    else:
        target[...] = array


class Variants:
    """The programs of one signature, tried in order; the last that fitted comes first.

    Attributes
    ----------
    eager : str or None
        Why calls with this signature run eagerly.
    """

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self.candidates: list[tuple[Trace, Any]] = []
        self.eager: str | None = None
        self.traces = 0

    def find(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> tuple[Program, Any] | None:
        """(program, result) of the first program whose guards hold."""
        for nr, program in enumerate(self.programs):
            try:
                result = program.run(leaves, arrays)
            except LeftError:
                continue
            if nr:
                self.programs.insert(0, self.programs.pop(nr))
            program.calls += 1
            return program, result
        return None

    def take(self, trace: Trace) -> bool:
        """Take a further trace; True if it has made a program."""
        self.traces += 1
        fingerprint = described(trace)
        for nr, (_, known) in enumerate(self.candidates):
            if known == fingerprint:
                del self.candidates[nr]
                self.programs.insert(0, Program(trace))
                return True
        self.candidates.append((trace, fingerprint))
        return False


def described(trace: Trace) -> Hashable:
    """A description of a trace that is equal for two that give the same program."""
    graph = trace.graph
    return (
        tuple((value.number, live, _contents(array, live)) for value, array, live in graph.constants),
        tuple(_step(step) for step in graph.steps),
        tuple((how, _output(x)) for how, x in trace.outputs),
        repr(trace.structure),
        tuple((place, value.number) for place, value in trace.written),
    )


def _contents(array: ndarray, live: bool) -> Hashable:
    return (array.shape, array.strides, array.dtype.str, id(array) if live else array.tobytes())


def _output(x: Any) -> Hashable:
    return key_of(x)


def _step(step: Any) -> Hashable:
    return (_what(step.what), _keys(step.args), tuple((x.number, x.shape, x.dtype) for x in step.results))


def _keys(x: Any) -> Hashable:
    if type(x) in (list, tuple):
        return tuple(map(_keys, x))
    return _what(x) if callable(x) and type(x) is not Value else key_of(x)


def _what(what: Any) -> Hashable:
    if isinstance(what, Guard):
        return ("guard", what.why, key_of(what.expected))
    if isinstance(what, Check):
        what = what.examine
        while isinstance(what, partial):
            what = what.func
        return (getattr(what, "__code__", type(what)),)
    if isinstance(what, PlainCall):
        return what.key
    code = getattr(what, "__code__", None)
    return what if code is None else (code,)


def first_difference(a: Trace, b: Trace) -> str:
    """Where two traces begin to differ, in words."""
    for one, other in zip(a.graph.steps, b.graph.steps, strict=False):
        if _step(one) != _step(other):
            if one.form is GUARD and other.form is GUARD and isinstance(one.what, Guard):
                return (
                    f"{one.what.why}{_where(one)} found {_short(one.what.expected)}, then {_short(other.what.expected)}"  # type: ignore[union-attr]
                )
            if _what(one.what) == _what(other.what):
                return f"{one.name}{_where(one)} was called with other arguments"
            return f"{one.name}{_where(one)} came first, then {other.name}{_where(other)} in its place"
    if len(a.graph.steps) != len(b.graph.steps):
        return f"{len(a.graph.steps)} operators ran, then {len(b.graph.steps)}"
    for (_, first, _), (_, second, _) in zip(a.graph.constants, b.graph.constants, strict=False):
        if first.shape != second.shape or first.tobytes() != second.tobytes():
            return f"an array that it made or read was {_short(first)}, then {_short(second)}"
    return "the results were built differently"


def _where(step: Step) -> str:
    return "" if step.line is None else " at {}:{}".format(*step.line)


def _short(x: Any) -> str:
    text = np.array2string(x, threshold=6, precision=4) if isinstance(x, ndarray) else repr(x)
    return text if len(text) < 60 else f"{text[:57]}..."


def differs(a: Any, b: Any) -> str:
    """How two results differ by more than rounding, in words; "" if they do not."""
    (one, form), (other, other_form) = flatten(a), flatten(b)
    if repr(form) != repr(other_form) or len(one) != len(other):
        return "the results are built differently"
    for x, y in zip(one, other, strict=True):
        x, y = (t.detach().numpy() if isinstance(t, Tensor) else t for t in (x, y))
        if isinstance(x, (ndarray, np.generic)) or isinstance(y, (ndarray, np.generic)):
            x, y = np.asarray(x), np.asarray(y)
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"an array of shape {x.shape}, {x.dtype}, for one of shape {y.shape}, {y.dtype}"
            if not _close(x, y):
                return f"{_short(x)} for {_short(y)}"
        elif x is not y and x != y:
            return f"{x!r} for {y!r}"
    return ""


def _close(x: ndarray, y: ndarray) -> bool:
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    tolerance = float(np.finfo(x.dtype).eps) ** 0.75
    with np.errstate(all="ignore"):
        size = np.abs(y[np.isfinite(y)]).max(initial=0.0)
        return bool(np.isclose(x, y, rtol=tolerance, atol=tolerance * float(size), equal_nan=True).all())
