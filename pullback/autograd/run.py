"""What one backward needs to know everywhere, from the engine to the hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from pullback.core import modes
from pullback.core.dispatch import CONSTANTS, NUMPY, TENSOR, OperatorTable, table_of
from pullback.core.instruments import run_node
from pullback.core.node import Edge, Node, Unpack
from pullback.core.saved import tensor_unpacker, unpack_raw
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient

# A list of one gradient. Who hands it over keeps no reference to what is inside, so that the memory can be reused.
Box: TypeAlias = list[Gradient]
Roots: TypeAlias = Sequence[tuple[Edge, Gradient]]
Output: TypeAlias = tuple[Node, int]  # a node and the number of one of its outputs


class Run:
    """The level of one backward, its operators, what it keeps, what it captures."""

    __slots__ = (
        "captured", "captures", "create_graph", "instruments", "keep_graph", "level", "ops", "pending", "targets",
        "unpack",
    )  # fmt: skip
    targets: set[Node] | None  # the nodes that gradients are wanted of; None for all leaves

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
        state = modes.current()  # what wants to see every node run:
        self.instruments = () if state.plain else tuple(i for i in state.instruments if i.watches_nodes)
        # Leaves, each with its gradient: added to .grad once nothing can fail any more.
        self.pending: list[tuple[Tensor, Box]] = []
        plain = len(roots) == 1 and type(roots[0][1]) in CONSTANTS
        self.ops: OperatorTable = TENSOR if create_graph else NUMPY if plain else table_of([g for _, g in roots])
        self.unpack: Unpack = tensor_unpacker(level) if create_graph else unpack_raw

    def apply(self, node: Node, grad: Gradient) -> Sequence[Gradient]:
        """What a node makes of its gradient; instruments look on."""
        if self.instruments:
            run = partial(node.apply, self.ops, grad, self.unpack)
            return run_node(self.instruments, node, grad, run)  # type: ignore[no-any-return]
        return node.apply(self.ops, grad, self.unpack)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a user's function, which records only if this backward is itself recorded.

        Formulas on arrays record nothing in any mode, so the mode is switched for users' code alone.
        """
        before = modes.set_modes(modes.current().with_recording(self.create_graph, self.level))
        try:
            return function(*args)
        finally:
            modes.set_modes(before)
