"""Compiled autograd: backwards of graphs of one shape run as one program, which the first of them record.

One walk through a graph collects a key, with the nodes' classes, shapes, edges and plain arguments, and the saved
arrays. Backward is a function of these arrays and of the cotangents: the ordinary engine, with saved arrays replaced by
arguments. That function is compiled as any other, one for each key.

What the engine does with results stays outside: gradients are added to `.grad`, or given to the caller, and nodes let
go of what they saved. A graph in which somebody looks on (hooks, retained gradients, anomaly mode) runs as it is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import ContextDecorator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.autograd.engine import dependencies, execution
from pullback.autograd.engine.accumulate import add_pending
from pullback.autograd.engine.run import Output, Roots, Run
from pullback.autograd.engine.structural_zeros import root_cotangent
from pullback.autograd.engine.user_callbacks import here
from pullback.compiler.callbacks import Callback
from pullback.compiler.graph_walks import walk_of
from pullback.core.errors import UntraceableError, type_name
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.dispatch.steps import wrap_result
from pullback.graph.node import LEAF, STANDING_IN, AccumulateGrad, Node, NotCompiledError
from pullback.graph.packed import Packed
from pullback.graph.saved import Form, unpack_raw

_MOST = 64  # graphs of different shapes
_TIMED = 3  # backwards by the engine, and by a program with its walk


class compiled_autograd(ContextDecorator):
    """Context manager, or decorator: backwards inside run as programs, one for each shape of graph.

    `backward` and `grad` look whether a graph of the same operators and shapes was met before. The first two such
    graphs are recorded, the program of the next three is compared with the engine, and then the program runs alone,
    unless the engine is as fast. A program has no steps of an engine, and uses arrays again. It costs a walk that
    compares the graph, about 1 us a node, and the forward records that graph as ever. So it pays for heavy backwards.
    `compile` compiles forward and backward together, which pays more often.

    Attributes
    ----------
    graphs : dict
        The shapes of graphs that were met, each with what runs for it.

    Notes
    -----
    A graph runs as ever if a node has hooks or retains its gradient, if a custom Function or a write into a view is in
    it, under `create_graph`, anomaly mode and the profiler, and at levels of `func`'s transforms. Values that formulas
    look at are guarded. Versions are checked as the engine does. `repr` tells what has run how often, and why.

    Examples
    --------
    >>> x = pb.ones(3, requires_grad=True)
    >>> with pb.compiled_autograd() as compiled:
    ...     for _ in range(6):
    ...         x.grad = None
    ...         (x.sin() * x).sum().backward()
    >>> compiled
    <compiled_autograd: 5 backwards of 1 shape of graph compiled>
    >>> x.grad
    tensor([1.38177329, 1.38177329, 1.38177329])
    """

    def __init__(self) -> None:
        self.graphs: dict[Hashable, _Shape] = {}
        self._walked: list[_Shape] = []  # those with a walk, the latest first
        self._compiled = 0
        self._eager: Counter[str] = Counter()
        self._before: list[Any] = []

    def __enter__(self) -> compiled_autograd:
        self._before.append(here.compiler)
        here.compiler = self
        return self

    def __exit__(self, *_: object) -> None:
        here.compiler = self._before.pop()

    def __repr__(self) -> str:
        count = len(self.graphs)
        said = [f"{self._compiled} backwards of {count} shape{'s' * (count != 1)} of graph compiled"]
        said += [f"{n} as they are ({why})" for why, n in self._eager.most_common()]
        return f"<compiled_autograd: {'; '.join(said)}>"

    def _execute(
        self,
        roots: Roots,
        keep_graph: bool,
        captures: dict[Output, int] | None,
        towards: dict[Node, dict[int, Tensor]] | None,
    ) -> dict[int, Gradient] | None:
        """Do what the engine does, by a program; None if it is to do it itself."""
        begin = perf_counter()
        if captures is None and towards is None:
            for nr, known in enumerate(self._walked):
                if (met := known.walk(roots)) is not None:
                    if nr:
                        self._walked.insert(0, self._walked.pop(nr))
                    return self._run(known, _Graph(roots, None, None, met), keep_graph, begin)
        try:
            graph = _Graph(roots, captures, towards)
            if graph.key not in self.graphs:
                if len(self.graphs) >= _MOST:
                    raise NotCompiledError(f"there were graphs of {_MOST} other shapes")
                self.graphs[graph.key] = _Shape()
            shape = self.graphs[graph.key]
        except NotCompiledError as error:
            self._eager[str(error)] += 1
            return None
        if captures is None and towards is None and shape.walk is None and shape.met:
            shape.walk = graph.walk()
            self._walked.append(shape)
        shape.met = True
        return self._run(shape, graph, keep_graph, begin)

    def _run(self, shape: _Shape, graph: _Graph, keep_graph: bool, begin: float) -> dict[int, Gradient] | None:
        if shape.is_slower:
            self._eager["the walk through the graph and its program take longer"] += 1
            return None
        if shape.wants_engine_timed():
            before, here.compiler = here.compiler, None
            try:
                found = execution.execute(
                    graph.roots, keep_graph=keep_graph, captures=graph.captures, towards=graph.towards
                )
            finally:
                here.compiler = before
            shape.time(perf_counter() - begin)
            return found
        self._compiled += 1
        shape.function.graph.now = graph
        before, here.compiler = here.compiler, None
        try:
            pulled = shape.program(*graph.arrays)
        finally:
            here.compiler, shape.function.graph.now = before, None
        done = graph.finish([None if g is None else g._array for g in pulled], keep_graph)
        shape.time(perf_counter() - begin)
        return done


class _Shape:
    """Graphs of one shape: the program of their backward, and the walk that finds what it reads."""

    walk: Any = None
    met = is_slower = False
    _first = 6  # calls in which programs are made and compared; others come behind them and are timed

    def __init__(self) -> None:
        self.function = _Backward()
        self.program = Callback(self.function, watched=False)
        self._seconds: list[float] = []  # of the engine, then of the walk and the program

    def wants_engine_timed(self) -> bool:
        """True for some calls behind the first ones, which the engine does."""
        self._first -= self._first > 0
        return not self._first and len(self._seconds) < _TIMED

    def time(self, seconds: float) -> None:
        """Note how long a backward took, in which the engine ran or a program; the slower one is given up."""
        if self._first or len(self._seconds) >= 2 * _TIMED:
            return
        self._seconds.append(seconds)
        if len(self._seconds) == 2 * _TIMED:
            self.is_slower = min(self._seconds[_TIMED:]) > min(self._seconds[:_TIMED])


class _Backward:
    """The backward of graphs of one shape, as a function of arrays; the graph at hand is another in each thread."""

    __name__ = "backward"

    def __init__(self) -> None:
        self.graph = threading.local()

    def __call__(self, *arrays: Any) -> list[Tensor | None]:
        return self.graph.now.pulled(arrays)  # type: ignore[no-any-return]


class _Graph:
    """The graph of one backward: its key, and the arrays in it."""

    def __init__(
        self,
        roots: Roots,
        captures: dict[Output, int] | None,
        towards: dict[Node, dict[int, Tensor]] | None,
        met: tuple[list[Node], list[ndarray]] | None = None,
    ) -> None:
        self.roots, self.captures, self.towards = roots, captures, towards
        self.nodes: list[Node] = []
        self.arrays: list[ndarray] = []
        if met is not None:
            self.nodes, self.arrays = met
            self._find_leaves()
            return
        if towards and any(towards.values()):
            raise NotCompiledError("a computed tensor is among the inputs of backward")
        run = self._run()
        dependencies.count([edge for edge, _ in roots], run.awaited)
        execution.plan(run)
        self.nodes = list(run.awaited)
        self._numbers: dict[int, int] = {}  # of arrays, by identity
        self._number = {node: i for i, node in enumerate(self.nodes)}
        key: list[Any] = [self._of_root(edge, grad) for edge, grad in roots]
        key += map(self._of_node, self.nodes)
        self._find_leaves()
        key += [(self._number.get(node, -1), nr, place) for (node, nr), place in self.captured.items()]
        self.key = tuple(key)

    def _find_leaves(self) -> None:
        wanted = self.nodes if self.captures is None else ()
        towards = self.towards
        self.leaves = [n for n in wanted if type(n) is AccumulateGrad and (towards is None or n in towards)]
        of_leaves: dict[Output, int] = {(n, 0): i for i, n in enumerate(self.leaves)}
        self.captured = of_leaves if self.captures is None else self.captures

    def walk(self) -> Any:
        """The walk through graphs like this one."""
        return walk_of(self.roots, self.nodes, self._numbers, len(self.arrays))

    def _run(self, captures: dict[Output, int] | None = None) -> Run:
        return Run(0, True, False, self.captures if captures is None else captures, self.towards)

    def _of_root(self, edge: Any, grad: Gradient) -> Hashable:
        if edge.node() not in self._number:
            raise NotCompiledError("a root does not lead to what is asked for")
        return self._number[edge.node()], edge.output_nr, self.stands_for(grad)

    def _of_node(self, node: Node) -> Hashable:
        extra = node._extra
        if extra not in STANDING_IN:
            raise NotCompiledError(f"{node.name()} has hooks, or its gradient is retained")
        if type(node) is AccumulateGrad:
            held: Any = node.variable._extra
            if extra is not LEAF or held.hooks or held.post_accumulate_hooks:
                raise NotCompiledError("a leaf has hooks")
            return AccumulateGrad, node._shape, node._dtype
        edges = tuple([None if e is None else (self._number.get(e.node(), -1), e.output_nr) for e in node.edges()])
        return type(node), node._shape, node._dtype, edges, node.compiled_args(self.kept)

    def kept(self, saved: Any, version: Any, node: Node) -> Hashable:
        """Return what stands in the key for something that a node has saved."""
        if type(version) is Packed:
            raise NotCompiledError("hooks have packed what it has saved")
        return self.stands_for(unpack_raw(saved, version, node))

    def stands_for(self, x: Any) -> Hashable:
        """Return what stands in the key for an array: its form, and its number among the arrays; for others `x`."""
        if type(x) is not ndarray:
            if issubclass(type(x), np.generic) or type(x) in (float, complex):
                return type(x), repr(x)
            if isinstance(x, (int, type(None))):
                return type(x), x
            if type(x) is Form:
                return Form, x.shape, x.dtype
            raise NotCompiledError(f"a {type_name(x)} is saved in it, or flows")
        number = self._numbers.get(id(x))
        if number is None:
            number = self._numbers[id(x)] = len(self.arrays)
            self.arrays.append(x)
        return number, x.shape, x.dtype, x.flags.c_contiguous

    def pulled(self, arrays: Sequence[Any]) -> list[Tensor | None]:
        """The gradients, for these arrays in the places of those of the graph."""
        given = [x._array if isinstance(x, Tensor) else x for x in arrays]
        by_identity = {id(x): g for x, g in zip(self.arrays, given, strict=True)}
        run = self._run(self.captured)
        traced = any(type(x) is not ndarray for x in given)
        run.unpack = partial(_replaced, unpack_raw, by_identity, traced)
        roots = [(edge, root_cotangent(by_identity.get(id(grad), grad))) for edge, grad in self.roots]
        run.delivered += roots
        dependencies.count([edge for edge, _ in roots], run.awaited)
        execution.plan(run)
        run.look_at(given)  # which may be traced, where the cotangents are not
        execution.go(run, True)
        places = sorted(self.captured.values())
        found = [run.captured.get(i) for i in places]
        return [None if g is None else wrap_result(g, 0) for g in found]

    def finish(self, found: Sequence[Gradient], keep_graph: bool) -> dict[int, Gradient]:
        """Do with the gradients what the engine does, and let go of what the nodes have saved."""
        run = self._run()
        if self.captures is None:
            run.pending += [
                (node.variable, [g])
                for node, g in zip(self.leaves, found, strict=True)
                if g is not None and node.variable._requires_grad
            ]
            del found
            before = warning_state()
            try:
                ignore_warnings()  # add_pending counts on that
                add_pending(run)
            finally:
                restore(before)
        else:
            places = sorted(self.captured.values())
            run.captured = {i: g for i, g in zip(places, found, strict=True) if g is not None}
        if not keep_graph:
            for node in self.nodes:
                node.release()
        return run.captured


def _replaced(
    unpack: Callable[..., Any], by_identity: dict[int, Any], traced: bool, saved: Any, version: Any, node: Node
) -> Any:
    raw = unpack(saved, version, node)
    found = by_identity.get(id(raw), raw)
    if traced and type(found) is ndarray:
        raise UntraceableError(f"{node.name()} reads an array that the walk through the graph has not met")
    return found
