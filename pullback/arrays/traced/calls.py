"""A function of plain arrays as one step of a program: it runs as it is, at the trace and at each run.

What is inside of it is not recorded, so traced arrays show their numbers meanwhile. Which of them it reads besides its
arguments, in a closure for example, is noted, and these are inputs of the step too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from pullback.arrays.traced.described import described
from pullback.arrays.traced.graph import Graph, LeftError, Value
from pullback.core.array_face import program_run
from pullback.core.errors import UntraceableError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import hold, ndarray
from pullback.graph.snapshot import kept_apart

_PLAIN = frozenset([int, bool, str, bytes, type(None)])  # results that must be the same at each run


class Reads(dict[int, Any]):
    """The traced arrays whose numbers have been read while a function ran, by the numbers of their values.

    Parameters
    ----------
    name : str
        Of the function.
    known : dict, optional
        All that may be read; a further one raises LeftError.
    """

    left = False
    drew = False  # random numbers

    def __init__(self, name: str, known: dict[int, Any] | None = None) -> None:
        self.name, self.known = name, known

    def note(self, x: Any) -> None:
        """Note that the numbers of a traced array are read."""
        if x.at.number not in self:
            if self.known is not None and x.at.number not in self.known:
                self.left = True
                raise LeftError(self.name)
            self[x.at.number] = x

    def refuse_write(self, operator: str) -> NoReturn:
        """Raise because an operator would write into an array of the function around."""
        self.left = True
        raise UntraceableError(
            f"{self.name} calls a function that writes ({operator}) into an array of the function around it. Let it "
            "return what it computes"
        )


def written_in_a_call(graph: Graph, operator: str) -> None:
    """Refuse a write into an array of the function around one that is a step, if such a one runs."""
    if graph.reads is not None:
        graph.reads.refuse_write(operator)


class PlainCall:
    """A function as a step.

    Parameters
    ----------
    graph : Graph
    name : str
        Of the function, for messages.
    run : callable
        run(function, args, kwargs) calls the function.
    function : callable
    leaves : list
        Of (args, kwargs), with arrays of type `traced` where the program gives values.
    structure
    traced : type

    Attributes
    ----------
    key : hashable
        Equal for two steps that do the same.
    reads : dict of int to TracedArray
        What else it reads.
    drew : bool
        It draws random numbers.
    """

    def __init__(
        self, graph: Graph, name: str, run: Any, function: Any, leaves: Any, structure: Any, traced: Any
    ) -> None:
        self.graph, self.__name__, self.traced = graph, name, traced
        self._function, self._run_it, self._structure = function, run, structure
        self.places = [i for i, x in enumerate(leaves) if type(x) is traced]
        self.given = [leaves[i] for i in self.places]
        self.leaves = [None if i in self.places else x for i, x in enumerate(leaves)]
        self.key = (name, described((function, self.leaves), graph, traced), repr(structure), tuple(self.places))
        self.reads: dict[int, Any] = {}
        self.drew = False
        self._holding: list[tuple[Any, Any]] = []  # Tensors of the user's that held traced arrays at the trace
        self._form: Any = None
        self.expected: list[Any] = []  # of each leaf of the result, its value or what it must be

    def first(self, examples: Sequence[Any]) -> list[Any]:
        """Run the function at the trace: the leaves of the result, whose structure is kept."""
        graph = self.graph
        graph.reads = reads = Reads(self.__name__)
        graph.records = False
        self._holding = [(x, x._array) for x, _ in graph.held]
        grads = [_grad_of(x) for x, _ in graph.held]
        try:
            found, self._form = self._run(examples)
        finally:
            graph.reads, graph.records = None, True
        if any(_grad_of(x) is not grad for (x, _), grad in zip(graph.held, grads, strict=True)):
            raise UntraceableError(f"{self.__name__} changes the gradient of a Tensor around it")
        self.reads, self.drew = dict(reads), reads.drew
        return found

    def tree(self, leaves: Sequence[Any]) -> Any:
        """A result with these leaves."""
        return unflatten(self._form, list(leaves))

    def __call__(self, examples: Sequence[Any], captured: Sequence[Any]) -> tuple[Any, ...]:
        """Run the function in a program: the leaves of the result, without those that are always the same."""
        graph, traced = self.graph, self.reads.values()
        with graph.lock:
            before, outer = [x.example for x in traced], graph.reads
            outside = [(x, x._array) for x, _ in self._holding]
            graph.reads = reads = Reads(self.__name__, self.reads)
            try:
                for x, now in zip(traced, captured, strict=True):
                    x.example = np.asarray(now)
                for x, array in self._holding:
                    hold(x, array)
                found, form = self._run(examples)
            except Exception:
                if reads.left:
                    raise LeftError(self.__name__) from None
                raise
            finally:
                graph.reads = outer
                for x, array in reversed(outside):
                    hold(x, array)
                for x, array in zip(traced, before, strict=True):
                    x.example = array
        if reads.left or form != self._form or not all(map(_is_like, found, self.expected)):
            raise LeftError(self.__name__)
        return tuple(_boxed(x) for x, expected in zip(found, self.expected, strict=True) if type(expected) is Value)

    def _run(self, examples: Sequence[Any]) -> tuple[list[Any], Any]:
        leaves = list(self.leaves)
        for i, x in zip(self.places, examples, strict=True):
            leaves[i] = _handed_out(x)
        args, kwargs = unflatten(self._structure, leaves)
        found, form = flatten(self._run_it(self._function, args, kwargs))
        return [_in_order(x) for x in kept_apart(found)], form


def run_alone(graph: Graph, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs a program of this graph, some of whose steps are functions: one thread at a time."""

    def run_it(*arrays: Any) -> Any:
        with graph.lock:
            token = program_run.set(object())
            try:
                return run(*arrays)
            finally:
                program_run.reset(token)

    return run_it


def record_call(call: PlainCall) -> Any:
    """Run the function on examples, and note it as one step: its result in traced arrays."""
    graph, given = call.graph, call.given
    found = [x if type(x) in _PLAIN else _boxed(x) for x in call.first([x.example for x in given])]
    results = [x if type(x) in _PLAIN else call.traced(Value(graph, x), np.asarray(x)) for x in found]
    call.expected = [x if type(x) in _PLAIN else x.at for x in results]
    values = [x.at for x in given], [x.at for x in call.reads.values()]
    kept = call.drew or any(type(x) is not Value and x is not None for x in call.expected)
    graph.note_call(call, values, [x for x in call.expected if type(x) is Value], kept)
    return call.tree(results)


def _grad_of(x: Any) -> Any:
    return None if x._extra is None else x._extra.grad


def _handed_out(x: Any) -> Any:
    """An argument as the function gets it, and may keep it: read-only, without dimensions a number."""
    if type(x) is not ndarray:
        return x
    if not x.ndim:
        return x[()]
    own = x.copy(order="K")  # the memory of a program is written into again
    own.flags.writeable = False
    return own


def _in_order(x: Any) -> Any:
    """A leaf of a result as it is at every run: in C order, a number as NumPy's."""
    if type(x) in (float, complex):
        return np.asarray(x)[()]
    return x if type(x) is not ndarray or x.flags.c_contiguous else np.array(x, order="C")


def _boxed(x: Any) -> Any:
    """A leaf of a result as an array: what is none, and only another function knows, in one without dimensions."""
    if isinstance(x, (ndarray, np.generic)):
        return x
    box = np.empty((), object)
    box[()] = x
    return box


def _is_like(x: Any, expected: Any) -> bool:
    if type(expected) is not Value:
        return type(x) is type(expected) and bool(x == expected)
    if expected.dtype.hasobject:
        return True
    return isinstance(x, (ndarray, np.generic)) and x.dtype == expected.dtype and x.shape == expected.shape
