"""Run: the state of one backward, shared by the engine and the hooks, and what it keeps from node to node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pullback.autograd.engine import user_callbacks
from pullback.autograd.engine.structural_zeros import Masked, is_masked, masked_again, plain, run_masked, unmasked
from pullback.core import modes
from pullback.core.array_type import NUMPY, TENSOR, OperatorTable, table_of
from pullback.core.observers import run_node
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.graph.node import AccumulateGrad, Edge, Node, Unpack
from pullback.graph.saved import tensor_unpacker, unpack_nested, unpack_raw

# A list of one gradient. Who hands it over keeps no reference to what is inside, so that the memory can be reused.
Box: TypeAlias = list[Gradient]
Roots: TypeAlias = Sequence[tuple[Edge, Gradient]]
Output: TypeAlias = tuple[Node, int]  # a node and the number of one of its outputs

Heap: TypeAlias = list[tuple[int, Node, Gradient]]  # complete nodes: (-sequence number, node, gradient)
# Incomplete nodes: the sum so far, or a list of sums for a node with several outputs.
Buffers: TypeAlias = dict[Node, Gradient]


class Run:
    """The level of one backward, its operators, what it keeps, what it captures."""

    __slots__ = (
        "__weakref__",
        "awaited",
        "buffers",
        "callbacks",
        "captured",
        "captures",
        "create_graph",
        "delivered",
        "heap",
        "keep_graph",
        "level",
        "masks",
        "needed",
        "notes",
        "observers",
        "ops",
        "pending",
        "replaced",
        "running",
        "table",
        "targets",
        "unpack",
    )  # fmt: skip
    running: Node  # kept for observers alone, and unset until the first node runs

    def __init__(
        self,
        level: int,
        keep_graph: bool,
        create_graph: bool,
        captures: dict[Output, int] | None,
        towards: dict[Node, dict[int, Tensor]] | None,
    ) -> None:
        self.level = level
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures = captures  # positions among the results
        self.captured: dict[int, Gradient] = {}
        # The nodes that gradients are wanted of, None for all leaves. As a dict, with those of their output tensors, by
        # number, that keep theirs in .grad as if it were retained.
        self.targets: set[Node] | dict[Node, dict[int, Tensor]] | None
        self.targets = towards if captures is None else {node for node, _ in captures}
        self.needed: set[Node] | None = None  # those on the way to the targets, where that is not every node
        # The nodes that this backward comes to, with how many gradients each awaits: see `dependencies.count`.
        self.awaited: dict[Node, int] = {}
        self.buffers: Buffers = {}
        self.heap: Heap = []
        self.delivered: list[tuple[Edge, Gradient]] = []  # from outside, and not yet handed on
        self.masks = False  # whether gradients may be Masked from here on
        state = modes.current()  # what wants to see every node run:
        self.observers = () if state.plain else tuple(i for i in state.observers if i.watches_nodes)
        # Leaves, each with its gradient: added to .grad once nothing can fail any more.
        self.pending: list[tuple[Tensor, Box]] = []
        # Computed tensors whose .grad is kept, with the one before and the new one: put back if the run fails.
        self.replaced: list[tuple[Tensor, Tensor | None, Tensor]] | None = None
        self.callbacks: list[Callable[[], Any]] = []  # that users' code has queued so far, to be called at the end
        self.notes: Any = None  # those of `spectra_in_use`, while this backward waits for gradients
        self.table: OperatorTable = NUMPY  # that of the gradients that came from outside
        self.ops: OperatorTable = TENSOR if create_graph else NUMPY
        self.unpack: Unpack = tensor_unpacker(level) if create_graph else unpack_nested if level else unpack_raw

    apply_masked = run_masked

    def apply(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        """Run a node on its gradient, under the eyes of observers, which see it without masks."""
        if not self.observers:
            return self._apply(node, grad)
        kept: Any = None

        def run() -> Sequence[Gradient]:
            nonlocal kept
            grads, kept = unmasked(list(self._apply(node, grad)))
            return grads  # type: ignore[no-any-return]

        grads = run_node(self.observers, node, plain(grad), run)
        return grads if kept is None else masked_again(list(grads), kept)  # type: ignore[no-any-return]

    def _apply(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        if self.masks or node.masking:
            return self.apply_masked(node, grad)
        return node.apply(self.ops, grad, self.unpack)

    def look_at(self, grads: Sequence[Gradient]) -> None:
        """Choose the operators for these gradients too, and see whether one is masked."""
        self.masks = self.masks or any(type(g) is Masked for g in grads)
        if self.create_graph:
            return
        table = table_of([g.value if type(g) is Masked else g for g in grads])
        if table is not NUMPY and (self.table is NUMPY or table is not TENSOR):  # as table_of chooses among several
            if self.ops is NUMPY or self.ops is self.table:  # the graph itself has chosen none: see execution.plan
                self.ops = table
            self.table = table

    def shown(self, grad: Gradient) -> tuple[Gradient, Any]:
        """A gradient as users see it, and what `shown_before` needs."""
        return unmasked(grad) if self.masks else (grad, None)

    def shown_before(self, grad: Gradient, kept: Any) -> Gradient:
        """A gradient that users have seen, and may have replaced, as it flows."""
        return grad if kept is None else masked_again(grad, kept)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a user's function, which records only if this backward is itself recorded.

        Formulas on arrays record nothing in any mode, so the mode is switched for users' code alone.
        """
        return user_callbacks.call(function, args, self.create_graph, self.level)


class RunWithoutMasks(Run):
    """A backward in which no masks begin, but those of parts of large arrays, which save work: see `execute`.

    A mask matters only where a 0 meets an infinite slope, which shows as a NaN in a result.
    """

    __slots__ = ()

    def apply_masked(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        if (node.placing and type(node._next0) is AccumulateGrad) or is_masked(grad):
            return run_masked(self, node, grad)
        return node.apply(self.ops, grad, self.unpack)
