"""TracedArray: an array that notes what is computed with it, beside an example that says what comes out.

An operator on traced arrays runs NumPy's kernel on the examples, so shapes, dtypes and branches are those that really
occur, and notes the call in the graph. Its numbers are at hand for nobody: a formula goes its general way, and who
insists on numbers leaves a guard, by which the program finds out that another call is not like this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.traced.calls import PlainCall, record_call, written_in_a_call
from pullback.arrays.traced.graph import (
    GUARD,
    INT,
    LIST,
    NUMBERED,
    ONE,
    Check,
    Graph,
    Guard,
    Raised,
    Value,
    added_at,
    key_of,
    written_over,
)
from pullback.core.array_type import NUMPY, ArrayType, innermost, register_array_type
from pullback.core.errors import UntraceableError
from pullback.core.printing import tensor_repr
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, hold, ndarray, wrap
from pullback.dispatch.mixed import Arithmetic, MixedTable
from pullback.dispatch.operator import BY_KERNEL, OPERATORS
from pullback.dispatch.targets import dtype_error
from pullback.graph.strides import copied
from pullback.graph.view import ViewStep, base_of, live_views

_TEXT = "it makes a text of numbers that are being recorded"


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
        self.shape, self.dtype = at.shape, at.dtype

    def __repr__(self) -> str:
        return f"TracedArray({self.at})"

    def astype(self, dtype: Any) -> Any:
        return TRACED.kernels["to_copy"](self, dtype, None)


def bare(x: Any) -> Any:
    """The examples of traced arrays, in Tensors, lists and tuples too; anything else as it is."""
    if type(x) is TracedArray:
        return x.example
    if isinstance(x, Tensor):  # in an index
        return bare(innermost(x))
    return type(x)(map(bare, x)) if type(x) in (list, tuple) else x


def placed(x: Any) -> Any:
    """The values of traced arrays, in Tensors, lists and tuples too; anything else as it is."""
    if type(x) is TracedArray:
        return x.at if x.at.graph.records else shown(x)  # one of a trace around this one is a constant here
    if isinstance(x, Tensor):
        return placed(innermost(x))
    return type(x)(map(placed, x)) if type(x) in (list, tuple) else x


def shown(x: Any) -> Any:
    """The numbers of an array that nobody records now, noted as read if a function runs that is one step."""
    if type(x) is TracedArray:
        if (reads := x.at.graph.reads) is not None:
            reads.note(x)
        return x.example
    if isinstance(x, Tensor):
        return shown(innermost(x))
    return type(x)(map(shown, x)) if type(x) in (list, tuple) else x


def graph_of(args: Sequence[Any]) -> Graph | None:
    """The graph that records what is computed of the traced arrays among these arguments, if one does."""
    for x in args:
        if isinstance(x, Tensor):
            x = innermost(x)
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
        def kernel(*args: Any) -> Any:
            graph: Graph | None = None
            given: list[Any] = []
            examples: list[Any] = []
            key: list[Any] | None = [name]
            for x in args:  # `graph_of`, `placed`, `bare` and the key in one
                kind = type(x)
                if kind is TracedArray and (at := x.at).graph.records:
                    graph = at.graph
                    given.append(at)
                    examples.append(x.example)
                    if key is not None:
                        key.append(at)
                elif kind in NUMBERED or kind is float or (kind is tuple and {*map(type, x)} == INT):
                    given.append(x)
                    examples.append(x)
                    if key is not None:
                        key.append((kind, x.hex() if kind is float else x))
                elif kind is slice or issubclass(kind, np.generic):
                    given.append(x)
                    examples.append(x)
                    if key is not None:
                        key.append(key_of(x))
                else:
                    key = None
                    graph = graph or graph_of((x,))
                    given.append(placed(x))
                    examples.append(bare(x))
            if graph is None:
                if type(args[0]) is TracedArray and any(op.mutates for op in BY_KERNEL.get(name, {}).values()):
                    return _written_apart(name, *args)
                return NUMPY.kernels[name](*map(shown, args))
            if graph.loose and (fitted := _fitted_numbers(graph, args)) is not None:
                return kernel(*fitted)
            step, found = graph.compute(name, tuple(given), examples, None if key is None else tuple(key))
            if step.form is ONE:
                return TracedArray(step.results[0], found if type(found) is ndarray else np.asarray(found))
            return made(step, found)

        self[name] = kernel
        return kernel


def _fitted_numbers(graph: Graph, args: Sequence[Any]) -> list[Any] | None:
    """The arguments with numbers that are Python's outside in the precision of what they meet; None if all fit."""
    loose = [type(x) is TracedArray and x.at.number in graph.loose for x in args]
    strong = {x.dtype for x, weak in zip(args, loose, strict=True) if not weak and _is_inexact(x)}
    if not strong or not any(loose):
        return None
    real = np.result_type(*strong).type().real.dtype
    if all(x.dtype == real for x, weak in zip(args, loose, strict=True) if weak):
        return None
    return [x.astype(real) if weak else x for x, weak in zip(args, loose, strict=True)]


def _is_inexact(x: Any) -> bool:
    return (type(x) is TracedArray or issubclass(type(x), (ndarray, np.generic))) and x.dtype.kind in "fc"


def _written_apart(name: str, target: TracedArray, *args: Any) -> Any:
    """Run a kernel that writes where nothing is recorded: the trace is over, or a function runs that is one step."""
    written_in_a_call(target.at.graph, name)
    return NUMPY.kernels[name](target.example.copy(), *map(shown, args))


class TracedType(ArrayType):
    """Arrays that record: values that are replaced, whose numbers show to nobody without a guard."""

    may_index = for_ndarrays = True

    def numbers(self, x: TracedArray) -> ndarray | None:
        return x.at.graph.fixed.get(x.at.number) if x.at.graph.records else shown(x)

    def counters(self, x: TracedArray) -> Sequence[Any]:
        return ()  # it is made of nothing else

    def records_calls(self, x: TracedArray) -> bool:
        return x.at.graph.records

    def record_call(
        self, x: TracedArray, name: str, run: Callable[..., Any], function: Any, args: Any, kwargs: Any
    ) -> Any:
        leaves, structure = flatten((args, kwargs))
        return record_call(PlainCall(x.at.graph, name, run, function, leaves, structure, TracedArray))

    def loosen(self, x: TracedArray) -> None:
        x.at.graph.loose.add(x.at.number)

    def apply(self, x: TracedArray, ufunc: np.ufunc, args: Sequence[Any]) -> Any:
        graph = x.at.graph
        if not graph.records:
            return None
        found = ufunc(*map(bare, args))
        return made(graph.note(ufunc, tuple(map(placed, args)), found), found)

    def lift_constant(self, x: TracedArray, constant: Any) -> Any:
        if type(constant) is TracedArray:
            return constant
        constant = np.asarray(constant)
        graph = x.at.graph
        return TracedArray(graph.constant(constant), constant) if graph.records else constant

    def cleaned(self, x: TracedArray, where: Callable[..., Any], *args: Any) -> Any:
        graph = x.at.graph
        outside, graph.cleans = graph.cleans, True
        try:
            return where(*args)
        finally:
            graph.cleans = outside

    def add_at(self, x: TracedArray, index: Any, value: Any) -> bool:
        if not x.at.graph.records:
            return False
        x.example = added_at(copied(x.example), index, bare(value))
        step = x.at.graph.note(added_at, (x.at, index, placed(value)), x.example, writes=True)
        x.at = step.results[0]
        return True

    def assign(self, name: str, x: TracedArray, value: Any) -> Any:
        written_in_a_call(x.at.graph, name)
        value = self.lift_constant(x, value)
        if value.dtype != x.dtype:
            if not np.can_cast(value.dtype, x.dtype, casting="same_kind"):
                raise dtype_error(name, value.dtype, x.dtype)
            value = self.kernels["to_copy"](value, x.dtype, None)
        if value.example.strides == x.example.strides or value.example.size < 2:
            return value
        example = written_over(copied(x.example), value.example)  # which lies in memory as the target does
        step = x.at.graph.note(written_over, (x.at, placed(value)), example, writes=True)
        return TracedArray(step.results[0], example)

    def read(self, x: TracedArray, why: str) -> ndarray:
        if not x.at.graph.records:
            return shown(x)  # type: ignore[no-any-return]
        if why == "format()":
            raise UntraceableError(_TEXT)
        x.at.graph.guard(Guard(why, x.example.copy()), (x.at,))
        return x.example

    def check(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        graph = graph_of(arrays)
        try:
            examine(*(bare if graph is not None else shown)(list(arrays)))
        except Exception as error:
            if graph is not None:
                graph.guard(Raised("a check", examine, type(error)), placed(tuple(arrays)))
            raise
        if graph is not None:
            graph.guard(Check(examine), placed(tuple(arrays)))

    def shown(self, x: TracedArray, level: int) -> str:
        if not x.at.graph.records:
            return tensor_repr(wrap(shown(x), level))
        raise UntraceableError(_TEXT)

    def layout(self, x: TracedArray) -> ndarray:
        return x.example  # its order in memory is that of every call with these strides

    def is_view(self, result: TracedArray, source: Any) -> bool:
        return np.may_share_memory(result.example, bare(innermost(source)))

    def holding(self, x: TracedArray, arrays: Sequence[ndarray]) -> Sequence[TracedArray]:
        if len(arrays) > 1:
            raise UntraceableError("it writes into an array of which there are views, inside of a transform.")
        return [self.lift_constant(x, arrays[0])]

    def become_view(self, name: str, target: Tensor) -> None:
        array: Any = target._array
        if any(target is x for x in array.at.graph.given):
            raise UntraceableError(f"{name} makes an argument another view of its memory")

    def prepare_target(self, name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
        """Let a buffer of ndarrays and its views hold traced arrays, so that such a one can be written into it."""
        if type(target._array) is not ndarray:
            return False
        base = base_of(target)
        owner: Any = target if base is None else base
        if type(owner._array) is not ndarray or (graph := _graph_beside(args, level)) is None:
            return False
        memory, views = owner._array, live_views(owner)
        if all(view is not target for view in (owner, *views)):
            raise UntraceableError(f"{name} writes into a view that its base does not know.")
        whole = TracedArray(graph.constant(memory), memory.copy(order="K"))
        graph.held.append((owner, memory))
        hold(owner, whole)
        for view in views:
            step = _step_to(memory, view._array, name)
            extra: Any = view._extra  # every view has one
            extra.steps = (step,)
            graph.held.append((view, view._array))  # type: ignore[arg-type]  # an ndarray, as that of its base
            hold(view, self.kernels["take"](whole, *step.args))
        return True


def _step_to(memory: ndarray, part: Any, name: str) -> ViewStep:
    """The step by which a view without strides leads from a memory to a part of it: the places of its elements."""
    if not memory.flags.c_contiguous or part.dtype != memory.dtype:
        raise UntraceableError(f"{name} writes into an array of which there are views of another order or dtype.")
    start = part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    places = np.arange(memory.size)[start // memory.itemsize :]
    strides = [step // memory.itemsize * places.itemsize for step in part.strides]
    shown = np.lib.stride_tricks.as_strided(places, part.shape, strides).copy()
    return ViewStep(OPERATORS["take"], (shown,), memory.shape, memory.dtype, None)


def _graph_beside(args: Sequence[Any], level: int) -> Graph | None:
    return graph_of([x._array for x in args if isinstance(x, Tensor)])


def _geometry(x: TracedArray, *args: Any) -> Any:
    graph, found = x.at.graph, NUMPY.kernels["storage_geometry"](x.example, *args)
    if graph.records:
        graph.reads_around = graph.has_parts
        graph.guard(Guard("the place in memory", found), (x.at,), "storage_geometry")
    return found


TRACED = MixedTable(
    "traced",
    _Kernels(
        is_contiguous=lambda x, *_: NUMPY.kernels["is_contiguous"](bare(x), *_),
        storage_geometry=_geometry,
    ),
)
register_array_type(TracedArray, TracedType(TRACED))
