"""Run: the state of one backward, from the engine to the hooks."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from pullback.autograd import users_code
from pullback.autograd.structural_zeros import is_masked, masked_again, plain, run_masked, unmasked
from pullback.core import modes
from pullback.core.array_type import CONSTANTS, NUMPY, TENSOR, OperatorTable, table_of
from pullback.core.instruments import run_node
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.graph.node import Edge, Node, Unpack
from pullback.graph.saved import tensor_unpacker, unpack_nested, unpack_raw

# A list of one gradient. Who hands it over keeps no reference to what is inside, so that the memory can be reused.
Box: TypeAlias = list[Gradient]
Roots: TypeAlias = Sequence[tuple[Edge, Gradient]]
Output: TypeAlias = tuple[Node, int]  # a node and the number of one of its outputs

# Whether this thread or task is inside of a backward that seeks some gradients alone, of which one that a node starts
# knows nothing.
PARTIAL: ContextVar[bool] = ContextVar("pullback_partial_backward", default=False)


class Run:
    """The level of one backward, its operators, what it keeps, what it captures."""

    __slots__ = (
        "__weakref__", "captured", "captures", "create_graph", "instruments", "keep_graph", "level", "masks", "nodes",
        "ops", "pending", "replaced", "running", "targets", "unpack",
    )  # fmt: skip
    nodes: Container[Node]  # those that this backward comes to
    running: Node  # kept for instruments alone, and unset until the first node runs
    # The nodes that gradients are wanted of, None for all leaves. As a dict, with those of their output tensors, by
    # number, that keep theirs in .grad as if it were retained.
    targets: set[Node] | dict[Node, dict[int, Tensor]] | None

    def __init__(
        self,
        level: int,
        roots: Roots,
        keep_graph: bool,
        create_graph: bool,
        captures: dict[Output, int] | None,
    ) -> None:
        self.level = level
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures = captures  # positions among the results
        self.captured: dict[int, Gradient] = {}
        self.masks = False  # whether gradients may be Masked from here on
        state = modes.current()  # what wants to see every node run:
        self.instruments = () if state.plain else tuple(i for i in state.instruments if i.watches_nodes)
        # Leaves, each with its gradient: added to .grad once nothing can fail any more.
        self.pending: list[tuple[Tensor, Box]] = []
        # Computed tensors whose .grad is kept, with the one before and the new one: put back if the run fails.
        self.replaced: list[tuple[Tensor, Tensor | None, Tensor]] | None = None
        plain = len(roots) == 1 and type(roots[0][1]) in CONSTANTS
        self.ops: OperatorTable = TENSOR if create_graph else NUMPY if plain else table_of([g for _, g in roots])
        self.unpack: Unpack = tensor_unpacker(level) if create_graph else unpack_nested if level else unpack_raw

    def apply(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        """Run a node on its gradient, under the eyes of instruments, which see it without masks."""
        if not self.instruments:
            return self._apply(node, grad)
        kept: Any = None

        def run() -> Sequence[Gradient]:
            nonlocal kept
            grads, kept = unmasked(list(self._apply(node, grad)))
            return grads  # type: ignore[no-any-return]

        grads = run_node(self.instruments, node, plain(grad), run)
        return grads if kept is None else masked_again(list(grads), kept)  # type: ignore[no-any-return]

    def _apply(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        if node.masking or (self.masks and is_masked(grad)):
            self.masks = True
            return run_masked(node, grad, self.ops, self.unpack)
        return node.apply(self.ops, grad, self.unpack)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a user's function, which records only if this backward is itself recorded.

        Formulas on arrays record nothing in any mode, so the mode is switched for users' code alone.
        """
        return users_code.call(function, args, self.create_graph, self.level)
