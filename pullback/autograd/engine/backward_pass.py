"""A backward that is fed from outside and runs in pieces: for a graph of which other parts are elsewhere.

`engine.execute` has all cotangents at hand and goes through the graph once. Where a part of the graph is in another
process, or has been compiled, gradients for the rest come from there, one by one, and the engine must stop where it
waits and go on later. What is to come must be known beforehand, or a node could run too early: so every edge to which a
gradient will be delivered is counted first.

See docs/design/engine.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from pullback.autograd.engine import dependencies, execution
from pullback.autograd.engine.run import Output, Run
from pullback.autograd.engine.structural_zeros import Masked
from pullback.core.array_type import ARRAY_TYPES
from pullback.core.errors import GradientError, with_article
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.graph.node import Edge, Node, OutputEdge


def _checked(edge: Any, name: str) -> Edge:
    """An edge that a caller gave."""
    if isinstance(edge, (Node, OutputEdge)):
        return edge
    given = "None, to which a Tensor leads that does not require grad" if edge is None else with_article(edge)
    hint = ": give graph.node.edge_to(t)" if isinstance(edge, Tensor) else ""
    raise TypeError(f"{name}: an edge of the graph is needed, got {given}{hint}.")


# What a pass can be in; anything else is said in the error.
_COUNTING = "has not begun"
_WAITING = "is waiting"
_RUNNING = "is running: what is delivered now runs before it returns"
_FAILED = "has failed"
_FINISHED = "is finished"


class BackwardPass(Run):
    """One backward through a graph, in pieces.

    Each edge given to `reach` is a promise of one gradient: `deliver` keeps it, with None where there is none. First
    comes all that is to be reached, then deliveries and runs in any order, then `finish`.

    Leaves get no `.grad` before `finish` (but where a post-accumulate hook waits for it), so a pass may be dropped at
    any time; what hooks have done stays. A node or hook that raises ends the pass, as it ends `execute`: each `.grad`
    is as it was. Hooks may deliver to the pass that runs them. One thread at a time may use it.

    Parameters are those of `engine.execute`.
    """

    __slots__ = ("promised", "state")

    def __init__(
        self,
        *,
        level: int = 0,
        keep_graph: bool = False,
        create_graph: bool = False,
        captures: dict[Output, int] | None = None,
        towards: dict[Node, dict[int, Tensor]] | None = None,
    ) -> None:
        super().__init__(level, keep_graph, create_graph, captures, towards)
        self.state = _COUNTING
        self.promised: Counter[Output] = Counter()  # how many gradients are still to come at each

    def reach(self, edges: Iterable[Edge]) -> list[Node]:
        """Promise a gradient for each of `edges`, and count what it leads to; an edge may be given several times.

        Returns
        -------
        list of Node
            Those that no call has reached before: of these, one that passes gradients on to another process has to ask
            for the same there.

        Raises
        ------
        TypeError
            One of `edges` is no edge. Nothing has changed then.
        """
        self._must_be(_COUNTING)
        edges = [_checked(edge, "reach") for edge in edges]
        known = len(self.awaited)
        self.state = _FAILED  # if a signal comes while it counts
        dependencies.count(edges, self.awaited)
        self.promised.update((edge.node(), edge.output_nr) for edge in edges)
        self.state = _COUNTING
        return list(islice(self.awaited, known, None))

    def deliver(self, edge: Edge, grad: Gradient) -> None:
        """Keep one promise for `edge`. What is complete by this runs with the next `run` or `finish`.

        `grad` is what flows through the graph: an array as the Tensors of this level wrap them, a Tensor under
        `create_graph`; None if it is undefined. Zeros in it are numbers like others, unless it comes as `Masked`.

        Raises
        ------
        RuntimeError
            Nothing (more) is promised for this edge, or the gradient has not its shape and dtype.
        TypeError
            `edge` is no edge, or `grad` not what flows. Nothing has changed then.
        """
        self._must_be(_COUNTING, _WAITING, _RUNNING)
        _checked(edge, "deliver")
        self._check_kind(grad)
        self._plan()
        output = node, nr = edge.node(), edge.output_nr
        if not self.promised[output]:
            raise GradientError(
                f"a gradient was delivered for output {nr} of {node.name()}, which is owed none from outside: give the "
                "edge to reach(), once for each gradient, before the first one is delivered."
            )
        if grad is not None and (grad.shape != edge._shape or grad.dtype != edge._dtype):
            raise GradientError(
                f"a gradient of shape {tuple(grad.shape)} and dtype {grad.dtype} was delivered for output {nr} of "
                f"{node.name()}; expected shape {edge._shape} and dtype {edge._dtype}."
            )
        self.delivered.append((edge, grad))
        self.promised[output] -= 1

    def _check_kind(self, grad: Gradient) -> None:
        """Refuse what is neither an array as the Tensors of this level wrap them nor, where recorded, a Tensor."""
        if grad is None:
            return
        value = grad.value if type(grad) is Masked else grad
        if isinstance(value, Tensor):
            fits = value._level <= self.level if self.create_graph else value._level < self.level
        else:
            fits = type(value) in ARRAY_TYPES and hasattr(value, "dtype")
        if not fits:
            wanted = "a Tensor" if self.create_graph else "an array, as Tensors of this level wrap them,"
            hint = " Give the array in it, such as t.numpy()." if isinstance(value, Tensor) else ""
            raise TypeError(f"deliver: the gradient must be {wanted} or None, got {with_article(value)}.{hint}")

    def run(self) -> list[tuple[Output, int]]:
        """Run every node whose gradients are complete, and those that this completes.

        Returns
        -------
        list of ((node, output number), int)
            The outputs for which gradients are still to be delivered, and how many: empty when nothing is left to run.
        """
        self._run(ends=False)
        return self.missing()

    def missing(self) -> list[tuple[Output, int]]:
        """Return what `run` returns, without running."""
        return [(output, owed) for output, owed in self.promised.items() if owed]

    def finish(self) -> dict[int, Gradient]:
        """Run what is left, add to `.grad` of the leaves, call what was queued; returns the captured gradients.

        Raises
        ------
        RuntimeError
            Gradients are missing. Nothing has changed then, and the pass goes on when they are delivered.
        """
        if missing := self.missing():
            named = ", ".join(f"{owed} for output {nr} of {node.name()}" for (node, nr), owed in missing[:5])
            more = f" and {len(missing) - 5} other outputs" if len(missing) > 5 else ""
            raise GradientError(
                f"the backward cannot finish: gradients are missing, {named}{more}. Deliver None where there is none."
            )
        self._run(ends=True)
        return self.captured

    def _plan(self) -> None:
        if self.state is _COUNTING:
            execution.plan(self)
            self.state = _WAITING

    def _run(self, ends: bool) -> None:
        self._must_be(_COUNTING, _WAITING)
        self._plan()
        self.state = _RUNNING
        try:
            execution.go(self, ends)
            self.state = _FINISHED if ends else _WAITING
        finally:
            if self.state is _RUNNING:
                self.state = _FAILED

    def _must_be(self, *states: str) -> None:
        if self.state not in states:
            raise GradientError(f"this backward {self.state}.")
