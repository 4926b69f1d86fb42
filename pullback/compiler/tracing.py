"""Runs a function once over traced arrays, which gives its result and the graph of what it has computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph, Value
from pullback.compiler import functions  # noqa: F401 - which fills its slot
from pullback.compiler.drawing import TracedDraws, put_back
from pullback.core import cuts, slots
from pullback.core.array_face import ARRAYS, SCALAR_FACES, plain_until, program_run, wrap_array
from pullback.core.drawing import drawing
from pullback.core.errors import UntraceableError
from pullback.core.pytree import Structure, flatten, unflatten
from pullback.core.tensor import Tensor, hold, ndarray, wrap

# How a result looks to the caller.
ARRAY: Final = "array"
NUMBER: Final = "number"
TENSOR: Final = "tensor"
AS_IT_IS: Final = "as it is"


class Trace:
    """What one run over traced arrays has given.

    Attributes
    ----------
    graph : Graph
    outputs : list of (str, Value or any)
        The leaves of the result, each with how it looks; a leaf that is no array stands as it is.
    structure
        That of the result.
    result
        What the caller gets of this run.
    written : list of (ndarray, Value)
        Arrays of the caller's that the function has written into, each with what it holds in the end.
    """

    outputs: list[tuple[str, Any]]
    structure: Structure
    result: Any

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.written: list[tuple[int, Value]] = []


def trace(function: Callable[..., Any], leaves: Sequence[Any], call: Callable[[list[Any]], Any], live: Any) -> Trace:
    """Run `function` on traced arrays in the place of the arrays among `leaves`.

    Parameters
    ----------
    function : callable
    leaves : sequence
        Of the arguments.
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.
    live : callable
        Tells of an ndarray that the function reads whether it lies where it will lie at the next call.
    """
    graph = Graph(live)
    made = Trace(graph)
    with _lifted(graph, leaves) as (given, inputs):
        with _as_it_stands(graph):
            found = _followed(graph, call, given)
        out, made.structure = flatten(found)
        made.outputs = [_shown(graph, x) for x in out]
        made.written = list(_written(leaves, inputs))
        for nr, _ in made.written:
            if type(leaves[nr]) is ndarray:  # the caller's, in whose place an Array has been written into
                leaves[nr][...] = inputs[nr][0]._array.example
        made.result = unflatten(made.structure, [_leaving(x) for x in out])
    return made


def _followed(graph: Graph, call: Callable[[list[Any]], Any], given: list[Any]) -> Any:
    """The result of the call; UntraceableError where that was raised, though the function has caught it perhaps."""
    try:
        return call(given)
    finally:
        if graph.refused:
            raise UntraceableError(graph.refused)


@contextlib.contextmanager
def _as_it_stands(graph: Graph) -> Iterator[None]:
    """Inside, code for NumPy meets functions that know traced arrays, and buffers that can hold them; draws are steps."""
    outside, log = plain_until.set(-1), cuts.Log()
    drew, run = drawing.set(TracedDraws(graph)), program_run.set(graph)
    cuts.WATCHED.append(log)
    try:
        with slots.adopt_meanwhile() or contextlib.nullcontext():
            yield
    finally:
        cuts.WATCHED.remove(log)
        drawing.reset(drew)
        program_run.reset(run)
        plain_until.reset(outside)


@contextlib.contextmanager
def _lifted(graph: Graph, leaves: Sequence[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The leaves with traced arrays in them; Tensors are what they were again at the end."""
    given: list[Any] = []
    inputs: list[Any] = []
    array: Any
    done = False
    try:
        for x in leaves:
            if isinstance(x, Tensor) and type(x) not in ARRAYS:
                array = x._array
                entered = TracedArray(graph.input(array), array)
                graph.held.append((x, array))
                hold(x, entered)
            elif type(x) is ndarray:
                entered = TracedArray(graph.input(x), x)
                x = wrap_array(entered, 0)
            elif isinstance(x, np.generic) and x.dtype.kind in "biufc":
                entered = TracedArray(graph.input(np.asarray(x)), np.asarray(x))
                x = wrap_array(entered, 0, single=True)
            else:
                entered = None
            given.append(x)
            inputs.append((x, entered))
        yield given, inputs
        done = True
    finally:
        graph.over = True
        if not done:
            put_back(list(graph.drew.values()))
        for x, array in reversed(graph.held):
            if done and type(now := x._array) is TracedArray and now.example is not array:
                array[...] = now.example  # written into while it was traced
            hold(x, array)


def _shown(graph: Graph, x: Any) -> tuple[str, Any]:
    """A leaf of the result: how it looks, and its value in the graph."""
    if isinstance(x, Tensor):
        array = x._array
        if type(array) is ndarray:
            at = graph.constant(array)
        elif type(array) is TracedArray:
            at = array.at if array.at.graph is graph else graph.constant(array.example)
        else:
            raise UntraceableError("the result belongs to a transform that is over.")
        return (NUMBER if type(x) in SCALAR_FACES else ARRAY if type(x) in ARRAYS else TENSOR), at
    if type(x) is ndarray:
        return ARRAY, graph.constant(x)
    return AS_IT_IS, x


def _written(leaves: Sequence[Any], inputs: Sequence[tuple[Any, Any]]) -> Iterator[tuple[int, Value]]:
    for nr, (x, entered) in enumerate(inputs):
        if entered is not None and x._array.at is not entered.at:
            yield nr, x._array.at


def _leaving(x: Any) -> Any:
    """A leaf of the result as the caller gets it."""
    if not isinstance(x, Tensor):
        return x
    array: Any = x._array.example if type(x._array) is TracedArray else x._array
    return array[()] if type(x) in SCALAR_FACES else array if type(x) in ARRAYS else wrap(array)
