"""Runs a function once over traced arrays, which gives its result and the graph of what it has computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import GUARD, Graph, Value
from pullback.autograd.api import gradients_of
from pullback.compiler import functions  # noqa: F401 - which fills its slot
from pullback.compiler.drawing import TracedDraws
from pullback.compiler.places import asked_below
from pullback.core import cuts, modes, slots
from pullback.core.array_face import ARRAYS, SCALAR_FACES, plain_until, program_run, wrap_array, wrap_as
from pullback.core.array_type import memory_of
from pullback.core.collector import collector_paused
from pullback.core.drawing import drawing
from pullback.core.errors import UntraceableError
from pullback.core.pytree import Structure, flatten, unflatten
from pullback.core.tensor import Tensor, hold, ndarray, wrap
from pullback.core.version import bump

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
    """The outcome of one run over traced arrays.

    Attributes
    ----------
    graph : Graph
    inputs : list of Value
        The arrays among the leaves.
    outputs : list of (str, Value or any)
        The leaves of the result, each with how it looks; a leaf that is no array stands as it is.
    structure
        That of the result.
    result
        What the caller gets of this run.
    written : list of (int, Value)
        The places of leaves that the function has written into, each with what it holds in the end.
    grads : list of (int, Value or None)
        The places of leaves whose `.grad` is another one in the end, with what it is.
    pulled : Pulled or None
        The backward, where leaves require grad and a result depends on them.
    constants : int
        How many there were in the end; simplification adds more.
    parted : bool
        A result lies in memory of its own, which is that of an argument or of another result otherwise.
    """

    outputs: list[tuple[str, Any]]
    structure: Structure
    result: Any
    constants: int
    parted = False

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs: list[Value] = []
        self.written: list[tuple[int, Value]] = []
        self.grads: list[tuple[int, Value | None]] = []
        self.pulled: Pulled | None = None


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Inside, what is refused is told apart from what was before; an error, which may wrap it, takes it along."""
    before, UntraceableError.first = UntraceableError.first, None
    try:
        yield
    except Exception as error:
        error.refused = UntraceableError.first  # type: ignore[attr-defined]
        raise
    finally:
        UntraceableError.first = before


@_refusals()
def trace(
    leaves: Sequence[Any],
    captured: int,
    call: Callable[[list[Any]], Any],
    live: Callable[[ndarray], bool],
    adopts: Sequence[dict[str, Any]] | None = None,
) -> Trace:
    """Run a function on traced arrays in the place of the arrays among `leaves`.

    Parameters
    ----------
    leaves : sequence
        Of the arguments, and then the Tensors that the function reads besides. Those that require grad are leaves of
        the graph in the trace.
    captured : int
        The number of the latter.
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.
    live : callable
        Tells of an ndarray that the function reads whether it lies where it will lie at the next call.
    adopts : sequence of dict, optional
        The namespaces in which `adopt()` is in force meanwhile; None for all, which takes a while to find.

    Returns
    -------
    Trace

    Raises
    ------
    UntraceableError
        The function does what no program can do. What it has written into is as it was.
    """
    graph = Graph(live)
    graph.asked = partial(asked_below, trace.__code__)
    made = Trace(graph)
    state = modes.current()
    off = any(isinstance(x, Tensor) and x._requires_grad and not state.records(x._level) for x in leaves)
    outside = modes.set_modes(modes.Modes(off=frozenset({0}) if off else state.off & {0}))
    memories = memories_of(leaves)
    run, draws = program_run.set(graph), drawing.set(TracedDraws(graph))
    lifted = _Lifted(graph, leaves, captured)
    try:
        made.inputs = list(graph.inputs)
        with collector_paused(), contextlib.nullcontext() if adopts == () else _as_it_stands(adopts):
            found = call(lifted.given)
            if UntraceableError.first is not None:
                raise UntraceableError(UntraceableError.first)  # the function has caught it
            out, made.structure = flatten(found)
            made.pulled = _pulled(graph, lifted.given, out)
            if made.pulled is not None:
                refuse_looks_at_cotangents(graph, made.pulled)
        made.outputs = [_shown(graph, x) for x in out]
        made.written = lifted.written()
        if made.written and graph.reads_around:  # which a copy to write into has not
            raise UntraceableError("it writes into an argument, and as_strided reads memory of which that is a part")
        read = [array for _, array, is_live in graph.constants if is_live]
        made.grads = lifted.grads()
        if made.pulled is not None and (made.written or made.grads):
            raise UntraceableError("it writes into its arguments, and its results require grad")
        if wrong := unwritable(memories, [nr for nr, _ in made.written], read):
            raise UntraceableError(wrong)
        made.constants = len(graph.constants)
        now = [lifted.given[nr]._array.example for nr, _ in made.written]
        leaving, made.parted = _leaving(out, [*memories, *now])
        made.result = unflatten(made.structure, leaving)
        effects = [(leaves[nr], lifted.given[nr]._array.example) for nr, _ in made.written]
        effects += lifted.written_apart()
        effects = [(x, _apart(array, memories)) for x, array in effects]
    finally:
        graph.records, graph.live = False, _is_none  # no constant is live that comes later
        drawing.reset(draws)
        program_run.reset(run)
        lifted.put_back()
        modes.set_modes(outside)
    for x, array in effects:
        write_into(x, array)
    for nr, at in made.grads:
        set_grad(leaves[nr], None if at is None else lifted.new_grads[nr])
    return made


def _is_none(array: ndarray) -> bool:
    return False


def write_into(target: Any, array: ndarray) -> None:
    """Let an array or a tensor of the caller's hold what the function has written into it."""
    if isinstance(target, Tensor):
        memory: Any = target._array
        memory[...] = array
        bump(target, "a compiled function")
    else:
        target[...] = array


def set_grad(tensor: Tensor, array: ndarray | None) -> None:
    """Give a tensor the gradient that the function has left in it."""
    tensor.grad = None if array is None else wrap(array)


def refuse_looks_at_cotangents(graph: Graph, pulled: Pulled) -> None:
    """Raise if the backward looks at numbers of a cotangent, which come after the forward program has run."""
    moving = {x.number for x in pulled.cotangents}
    for step in graph.steps:
        if not moving.isdisjoint(x.number for x in step.values()):
            moving.update(x.number for x in step.results)
            if step.form is GUARD:
                raise UntraceableError(f"its backward looks at the numbers of a gradient: {step.what!r}")


def memories_of(leaves: Sequence[Any]) -> list[ndarray | None]:
    """The memory of each leaf, None of what is no array."""
    return [memory_of(x) if isinstance(x, (Tensor, ndarray)) else None for x in leaves]


def unwritable(memories: Sequence[ndarray | None], written: Sequence[int], read: Sequence[ndarray]) -> str:
    """The reason why arrays with these memories cannot be written into one by one; "" if they can.

    `read` are arrays that the function reads of itself.
    """
    for nr in written:
        memory = memories[nr]
        assert memory is not None, "what is written into is an array"
        if not memory.flags.writeable:
            return "it writes into an array that is read-only"
        others = [x for x in memories if x is not None and x is not memory]
        if any(np.may_share_memory(memory, x) for x in (*others, *read)):
            return "it writes into an argument that shares memory with another one"
    return ""


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
def _as_it_stands(namespaces: Sequence[dict[str, Any]] | None) -> Iterator[None]:
    """Inside, code for NumPy meets functions that know traced arrays, and buffers that can hold them."""
    outside, log = plain_until.set(-1), cuts.Log()
    cuts.WATCHED.append(log)
    try:
        with slots.adopt_meanwhile(namespaces) or contextlib.nullcontext():
            yield
    finally:
        cuts.WATCHED.remove(log)
        plain_until.reset(outside)


class _Lifted:
    """The leaves of a call with traced arrays in them.

    Tensors that only hold numbers, and captured ones, are the caller's own, around traced arrays for the time being.
    """

    def __init__(self, graph: Graph, leaves: Sequence[Any], captured: int) -> None:
        self._graph = graph
        self.given: list[Any] = graph.given
        self._entered: list[TracedArray | None] = []
        self._states: list[tuple[Tensor, Any]] = []  # with (level, function, whether it requires grad, gradient)
        self.new_grads: dict[int, ndarray] = {}
        begin = len(leaves) - captured
        wrapped: dict[int, Any] = {}
        for nr, x in enumerate(leaves):
            entered: TracedArray | None = None
            if isinstance(x, Tensor) and type(x._array) is TracedArray:  # given twice, or given and read
                graph.input(x._array.example)
                entered = x._array
            elif isinstance(x, Tensor):
                array: Any = x._array
                entered = TracedArray(graph.input(array), array)
                if nr < begin and (x._requires_grad or x._level or type(x) in ARRAYS):
                    x = wrap_as(x, entered, 0).requires_grad_(x._requires_grad)
                else:
                    self._states.append((x, (x._level, x._fn, x._requires_grad, grad_of(x))))
                    graph.held.append((x, array))
                    x._level, x._fn = 0, None
                    hold(x, entered)
            elif type(x) is ndarray:
                entered = TracedArray(graph.input(x), x)
                x = wrapped.setdefault(id(x), wrap_array(entered, 0))  # given twice it is one, also for writes
                entered = x._array
            elif issubclass(type(x), np.generic) and x.dtype.kind in "biufc":
                entered = TracedArray(graph.input(np.asarray(x)), np.asarray(x))
                x = wrap_array(entered, 0, single=True)
            self.given.append(x)
            self._entered.append(entered)
        self._require = [x._requires_grad for x in self._tensors()]

    def _tensors(self) -> Iterator[Tensor]:
        return (x for x in self.given if isinstance(x, Tensor))

    def written(self) -> list[tuple[int, Value]]:
        """The places that hold another value than in the beginning, and which."""
        pairs = list(enumerate(zip(self.given, self._entered, strict=True)))
        if any(entered is not None and type(x._array) is not TracedArray for _, (x, entered) in pairs):
            raise UntraceableError("it gives an argument other data")
        if self._require != [x._requires_grad for x in self._tensors()]:
            raise UntraceableError("it changes whether an argument requires grad")
        return [
            (nr, x._array.at) for nr, (x, entered) in pairs if entered is not None and x._array.at is not entered.at
        ]

    def written_apart(self) -> list[tuple[ndarray, ndarray]]:
        """The memories of other tensors that have been written into, made in the trace perhaps, and the numbers.

        Whoever keeps such a tensor has them at the next trace, which is not like this one then.
        """
        leaves = set(map(id, self.given))
        held = [(x._array, memory) for x, memory in self._graph.held if id(x) not in leaves]
        if any(not memory.flags.writeable for _, memory in held):
            raise UntraceableError("it writes into an array that is read-only")
        return [(memory, now.example) for now, memory in held if type(now) is TracedArray]

    def grads(self) -> list[tuple[int, Value | None]]:
        """The places of tensors whose gradient is another one, and which."""
        found: list[tuple[int, Value | None]] = []
        before = {id(x): grad for x, (*_, grad) in self._states}
        for nr, x in enumerate(self.given):
            if id(x) in before and (grad := grad_of(x)) is not before[id(x)]:
                found.append((nr, None if grad is None else _shown(self._graph, grad)[1]))
                if grad is not None:
                    array: Any = grad._array
                    self.new_grads[nr] = array.example if type(array) is TracedArray else array
        return found

    def put_back(self) -> None:
        """Let every tensor be what it was."""
        for x, array in reversed(self._graph.held):
            hold(x, array)
            if (extra := x._extra) is not None:
                extra.steps = None  # it has its place in memory again
        for x, (level, fn, requires_grad, grad) in self._states:
            x._level, x._fn, x._requires_grad = level, fn, requires_grad
            if x._extra is not None:
                x._extra.grad = grad


def grad_of(x: Tensor) -> Tensor | None:
    """The accumulated gradient of a tensor, without a word where it keeps none."""
    return None if x._extra is None else x._extra.grad


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


def _apart(array: ndarray, memories: Sequence[ndarray | None]) -> ndarray:
    """The array, or a copy where it lies in a memory that is being written into before it is read."""
    shared = any(x is not None and np.may_share_memory(array, x) for x in memories)
    return array.copy() if shared else array


def settle(container: Any) -> None:
    """Put numbers in the place of traced arrays that a function has left in a dict or a list: its trace is over."""
    items: Any = ()
    if type(container) is dict:
        items = container.items()
    elif type(container) is list:
        items = enumerate(container)
    for key, x in [*items]:
        if isinstance(x, Tensor) and type(x._array) is TracedArray:
            if type(x) in ARRAYS:
                container[key] = x._array.example[()] if type(x) in SCALAR_FACES else x._array.example
            else:
                hold(x, x._array.example)


def _leaving(out: Sequence[Any], memories: Sequence[ndarray | None]) -> tuple[list[Any], bool]:
    """(the leaves of the result as the caller gets them, true if some have got memory of their own as in a program)."""
    seen = [x for x in memories if x is not None]
    found, parted = [], False
    for x in out:
        if not isinstance(x, Tensor):
            found.append(x)
            continue
        array: Any = x._array.example if type(x._array) is TracedArray else x._array
        if any(np.may_share_memory(array, other) for other in seen):
            array, parted = array.copy(), True
        seen.append(array)
        found.append(array[()] if type(x) in SCALAR_FACES else array if type(x) in ARRAYS else wrap(array))
    return found, parted
