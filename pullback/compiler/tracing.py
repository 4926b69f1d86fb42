"""Runs a function once over traced arrays, which gives its result and the graph of what it has computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph, UntraceableError, Value
from pullback.autograd.api import gradients_of
from pullback.core import cuts, modes, slots
from pullback.core.array_face import ARRAYS, SCALAR_FACES, plain_until, wrap_array, wrap_as
from pullback.core.pytree import Structure, flatten, unflatten
from pullback.core.tensor import Tensor, hold, ndarray, wrap

# How a result looks to the caller.
ARRAY: Final = "array"
NUMBER: Final = "number"
TENSOR: Final = "tensor"
AS_IT_IS: Final = "as it is"


class Pulled(NamedTuple):
    """The backward in a trace: `gradients` of the leaves at `places`, for cotangents of the results at `outputs`."""

    outputs: list[int]
    cotangents: list[Value]
    places: list[int]
    gradients: list[Value | None]


class Trace:
    """What one run over traced arrays has given.

    Attributes
    ----------
    graph : Graph
    inputs : list of Value
        The arrays among the leaves of the arguments.
    outputs : list of (str, Value or any)
        The leaves of the result, each with how it looks; a leaf that is no array stands as it is.
    structure
        That of the result.
    result
        What the caller gets of this run.
    written : list of (int, Value)
        The places of leaves that the function has written into, each with what it holds in the end.
    pulled : Pulled or None
        The backward, where leaves require grad and a result depends on them.
    """

    outputs: list[tuple[str, Any]]
    structure: Structure
    result: Any

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs: list[Value] = []
        self.written: list[tuple[int, Value]] = []
        self.pulled: Pulled | None = None


def trace(leaves: Sequence[Any], call: Callable[[list[Any]], Any], live: Callable[[ndarray], bool]) -> Trace:
    """Run a function on traced arrays in the place of the arrays among `leaves`.

    Parameters
    ----------
    leaves : sequence
        Of the arguments. Those that require grad are leaves of the graph in the trace.
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.
    live : callable
        Tells of an ndarray that the function reads whether it lies where it will lie at the next call.

    Returns
    -------
    Trace

    Raises
    ------
    UntraceableError
        The function does what no program can do.
    """
    graph = Graph(live)
    made = Trace(graph)
    outside = modes.set_modes(modes.Modes(off=modes.current().off & {0}))
    try:
        with _lifted(graph, leaves) as (given, inputs):
            made.inputs = list(graph.inputs)
            with _as_it_stands():
                found = call(given)
                out, made.structure = flatten(found)
                made.pulled = _pulled(graph, given, out)
            made.outputs = [_shown(graph, x) for x in out]
            made.written = list(_written(leaves, inputs))
            made.result = unflatten(made.structure, [_leaving(x) for x in out])
    finally:
        modes.set_modes(outside)
    return made


def _pulled(graph: Graph, given: Sequence[Any], out: Sequence[Any]) -> Pulled | None:
    """Run the engine on the results that depend on leaves, with traced cotangents."""
    places = [nr for nr, x in enumerate(given) if isinstance(x, Tensor) and x._requires_grad]
    outputs = [nr for nr, x in enumerate(out) if isinstance(x, Tensor) and x._requires_grad]
    if not places or not outputs:
        return None
    cotangents = []
    for nr in outputs:
        example = np.ones(out[nr].shape, out[nr].dtype)
        cotangents.append(TracedArray(graph.input(example), example))
    tensors = [wrap_as(out[nr], x, 0) for nr, x in zip(outputs, cotangents, strict=True)]
    found = gradients_of(
        tuple(out[nr] for nr in outputs), tuple(given[nr] for nr in places), tensors, allow_unused=True
    )
    gradients = [None if g is None else _shown(graph, g)[1] for g in found]
    return Pulled(outputs, [x.at for x in cotangents], places, gradients)


@contextlib.contextmanager
def _as_it_stands() -> Iterator[None]:
    """Inside, code for NumPy meets functions that know traced arrays, and buffers that can hold them."""
    outside, log = plain_until.set(-1), cuts.Log()
    cuts.WATCHED.append(log)
    try:
        with slots.adopt_meanwhile() or contextlib.nullcontext():
            yield
    finally:
        cuts.WATCHED.remove(log)
        plain_until.reset(outside)


@contextlib.contextmanager
def _lifted(graph: Graph, leaves: Sequence[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The leaves with traced arrays in them; Tensors are what they were again at the end."""
    given: list[Any] = []
    inputs: list[Any] = []
    array: Any
    try:
        for x in leaves:
            if isinstance(x, Tensor) and (x._requires_grad or x._level or type(x) in ARRAYS):
                array = x._array
                entered = TracedArray(graph.input(array), array)
                x = wrap_as(x, entered, 0).requires_grad_(x._requires_grad)
            elif isinstance(x, Tensor):
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
    finally:
        for x, array in reversed(graph.held):
            if type(now := x._array) is TracedArray and now.example is not array:
                array[...] = now.example  # written into while it was traced
            hold(x, array)


def _shown(graph: Graph, x: Any) -> tuple[str, Any]:
    """A leaf of the result: how it looks, and its value in the graph."""
    if isinstance(x, Tensor):
        array = x._array
        if type(array) is ndarray:
            at = graph.constant(array)
        elif type(array) is TracedArray:
            at = array.at
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
