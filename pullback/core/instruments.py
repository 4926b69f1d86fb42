"""Instruments: what looks on while operators run, nodes are recorded and backward runs them.

Hooks for saved tensors, anomaly detection, the profiler and the search for NaNs are instruments. One is switched on
for a thread or an asyncio task by `modes.Modes.with_instrument`; the state is then not `plain`, so that operators leave
their fast paths and come past the calls below. Without instruments nothing here is ever called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any


class Instrument:
    """Does nothing at every occasion; subclasses override those that they are about."""

    watches_operators = False  # whether run_operator is to be called
    watches_nodes = False  # whether run_node is

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Run a primitive operator on these arguments and return what `run()` does."""
        return run()

    def run_node(self, node: Any, grad: Any, run: Callable[[], Any]) -> Any:
        """Run a node in backward on the cotangent of its output (or list of them) and return what `run()` does."""
        return run()

    def recorded(self, node: Any, level: int) -> None:
        """A node has just been made at this level, with everything that it saves."""

    def mutating(self, target: Any, name: str) -> None:
        """The operator of this name is about to write into the memory of the tensor `target`."""


def run_operator(instruments: Sequence[Instrument], name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Run an operator under the eyes of these instruments; the one switched on last is the innermost."""
    for instrument in reversed(instruments):
        if instrument.watches_operators:
            run = partial(instrument.run_operator, name, args, run)
    return run()


def run_node(instruments: Sequence[Instrument], node: Any, grad: Any, run: Callable[[], Any]) -> Any:
    """The same for a node in backward."""
    for instrument in reversed(instruments):
        if instrument.watches_nodes:
            run = partial(instrument.run_node, node, grad, run)
    return run()
