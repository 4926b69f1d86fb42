"""TracedArray: an array that notes what is computed with it, beside an example that says what comes out.

An operator on traced arrays runs NumPy's kernel on the examples, so shapes, dtypes and branches are those that really
occur, and notes the call in the graph. Its numbers are at hand for nobody: a formula goes its general way, and who
insists on numbers leaves a guard, by which the program finds out that another call is not like this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.traced.calls import PlainCall, record_call
from pullback.arrays.traced.graph import GUARD, LIST, ONE, Check, Graph, Guard, Value
from pullback.core.array_type import NUMPY, ArrayType, register_array_type
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, hold, ndarray
from pullback.dispatch.mixed import Arithmetic, MixedTable
from pullback.dispatch.operator import BY_KERNEL
from pullback.graph.view import base_of, live_views


class TracedArray(Arithmetic):
    """An array that records the kernels it goes through.

    Parameters
    ----------
    at : Value
        Its place in the graph.
    example : ndarray
        The numbers with which the function runs.
    """

    __slots__ = ("at", "dtype", "example", "shape")

    def __init__(self, at: Value, example: ndarray) -> None:
        self.at, self.example = at, example
        self.shape, self.dtype = example.shape, example.dtype

    def __repr__(self) -> str:
        return f"TracedArray({self.at})"


def bare(x: Any) -> Any:
    """The examples of traced arrays, in lists and tuples too; anything else as it is."""
    if type(x) is TracedArray:
        return shown(x)
    return type(x)(map(bare, x)) if type(x) in (list, tuple) else x


def shown(x: TracedArray) -> ndarray:
    """The example; a function that is one step has read it then."""
    if (reads := x.at.graph.reads) is not None:
        reads.note(x)
    return x.example


def placed(x: Any, graph: Graph) -> Any:
    """The values of traced arrays, in lists and tuples too; anything else as it is, and numbers of another trace."""
    if type(x) is TracedArray:
        return x.at if x.at.graph is graph else x.example
    return type(x)(placed(y, graph) for y in x) if type(x) in (list, tuple) else x


def graph_of(args: Sequence[Any]) -> Graph | None:
    """The graph that records what is computed of the traced arrays among these arguments, if one does."""
    for x in args:
        if type(x) is TracedArray:
            if x.at.graph.records:
                return x.at.graph
        elif type(x) in (list, tuple) and (found := graph_of(x)) is not None:
            return found
    return None


def made(step: Any, found: Any) -> Any:
    """Traced arrays of what a step has given."""
    if step.form is GUARD:
        return found
    if step.form is ONE:
        return TracedArray(step.results[0], np.asarray(found))
    arrays = [TracedArray(at, np.asarray(x)) for at, x in zip(step.results, found, strict=True)]
    return arrays if step.form is LIST else tuple(arrays)


class _Kernels(dict[str, Callable[..., Any]]):
    """NumPy's kernels on traced arrays, each made when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        writes = any(op.mutates for op in BY_KERNEL.get(name, {}).values())

        def kernel(*args: Any) -> Any:
            graph = graph_of(args)
            if graph is None:
                if writes and type(args[0]) is TracedArray:
                    return _written_apart(name, *args)
                return NUMPY.kernels[name](*map(bare, args))
            step, found = graph.compute(name, placed(args, graph), bare(args))
            return made(step, found)

        self[name] = kernel
        return kernel


def _written_apart(name: str, target: TracedArray, *args: Any) -> Any:
    """Run a kernel that writes where nothing is recorded: the trace is over, or a function runs that is one step."""
    if (reads := target.at.graph.reads) is not None:
        reads.refuse_write(target.at.graph, name)
    return NUMPY.kernels[name](target.example.copy(), *map(bare, args))


class TracedType(ArrayType):
    """Arrays that record: values that are replaced, whose numbers show to nobody without a guard."""

    may_index = True

    def numbers(self, x: TracedArray) -> ndarray | None:
        return None if x.at.graph.records else shown(x)

    def records_calls(self, x: TracedArray) -> bool:
        return x.at.graph.records

    def record_call(
        self, x: TracedArray, name: str, run: Callable[..., Any], function: Any, args: Any, kwargs: Any
    ) -> Any:
        leaves, structure = flatten((args, kwargs))
        return record_call(PlainCall(x.at.graph, name, run, function, leaves, structure, TracedArray))

    def lift_constant(self, x: TracedArray, constant: Any) -> Any:
        if type(constant) is TracedArray:
            return constant
        constant = np.asarray(constant)
        graph = x.at.graph
        return TracedArray(graph.constant(constant), constant) if graph.records else constant

    def read(self, x: TracedArray, why: str) -> ndarray:
        if not x.at.graph.records:
            return shown(x)
        x.at.graph.guard(Guard(why, x.example.copy()), (x.at,))
        return x.example

    def to_show(self, x: TracedArray) -> ndarray | None:
        x.at.graph.note_text()
        return shown(x)

    def check(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        graph = graph_of(arrays)
        examine(*bare(list(arrays)))
        if graph is not None:
            graph.guard(Check(examine), placed(tuple(arrays), graph))

    def assign(self, name: str, x: TracedArray, value: Any) -> Any:
        if (reads := x.at.graph.reads) is not None:
            reads.refuse_write(x.at.graph, name)
        return value

    def layout(self, x: TracedArray) -> ndarray:
        return x.example  # its order in memory is that of every call with these strides

    def holding(self, x: TracedArray, arrays: Sequence[ndarray]) -> Sequence[TracedArray]:
        whole = self.lift_constant(x, arrays[0])
        return [whole, *(_part(whole, arrays[0], array) for array in arrays[1:])]

    def prepare_target(self, name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
        """Let a buffer of ndarrays and its views hold traced arrays, so that such a one can be written into it."""
        if type(target._array) is not ndarray:
            return False
        base = base_of(target)
        owner: Any = target if base is None else base
        if type(owner._array) is not ndarray or (graph := _graph_beside(args, level)) is None:
            return False
        memory, views = owner._array, live_views(owner)
        if views and not memory.flags.c_contiguous:
            graph.refuse(f"{name} writes into an array not in C order, of which there are views.")
        whole = TracedArray(graph.constant(memory), memory.copy(order="K"))
        for x, part in [(owner, whole), *((view, _part(whole, memory, view._array)) for view in views)]:
            graph.held.append((x, x._array))
            hold(x, part)
        return True


def _graph_beside(args: Sequence[Any], level: int) -> Graph | None:
    return graph_of([x._array for x in args if isinstance(x, Tensor)])


def _part(whole: TracedArray, memory: ndarray, part: Any) -> TracedArray:
    """The traced array for a part of the memory for which `whole` stands."""
    start = part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    strides = tuple(step // memory.itemsize for step in part.strides)
    found: TracedArray = TRACED.kernels["as_strided"](whole, part.shape, strides, start // memory.itemsize)
    return found


TRACED = MixedTable(
    "traced",
    _Kernels(
        is_contiguous=lambda x, *_: NUMPY.kernels["is_contiguous"](bare(x), *_),
        storage_geometry=lambda *args: NUMPY.kernels["storage_geometry"](*bare(args)),
    ),
)
register_array_type(TracedArray, TracedType(TRACED))
