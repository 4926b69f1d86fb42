"""Observers, called when operators run, when nodes are recorded, and when a backward runs these nodes.

Hooks for saved tensors, anomaly detection, the profiler and the search for NaNs are observers. One is switched on
for a thread or an asyncio task by `modes.Modes.with_observer`; the state is then not `plain`, so that operators leave
their fast paths and come past the calls below. Without observers nothing here is ever called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any


class Observer:
    """Does nothing at every occasion; subclasses override those that they are about."""

    watches_operators = False  # whether run_operator is to be called
    watches_nodes = False  # whether run_node is
    watches_kernels = False  # whether run_kernel is
    drops_tangents = False  # whether operators lose the tangents of what they are given
    replays_views = False  # whether views are followed by replay even where geometry would do

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Run a primitive operator, or the forward of a custom Function, on these arguments; returns what `run()` does.

        `name` is the operator's, with an underscore behind it for the in-place form.
        """
        return run()

    def run_kernel(self, name: str, raws: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Compute the result of a primitive operator, no in-place one, on these raw arguments, as `run()` does.

        Where levels are nested the kernel is itself an operator on Tensors of the level below.
        """
        return run()

    def run_node(self, node: Any, grad: Any, run: Callable[[], Any]) -> Any:
        """Run a node in backward on the cotangent of its output (or list of them) and return what `run()` does."""
        return run()

    def recorded(self, node: Any, level: int) -> None:
        """A node has just been made at this level, with everything that it saves."""

    def mutating(self, target: Any, name: str) -> None:
        """The operator of this name is about to write into the memory of the tensor `target`."""

    def mutated(self, target: Any) -> None:
        """An operator has just written into the memory of the tensor `target` and moved its version."""

    def failed(self, node: Any, error: BaseException) -> None:
        """A backward stops with `error`, which this node, one of its hooks or one of its gradients has caused."""


def run_operator(observers: Sequence[Observer], name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Run an operator under the eyes of these observers; the one switched on last is the innermost."""
    for observer in reversed(observers):
        if observer.watches_operators:
            run = partial(observer.run_operator, name, args, run)
    return run()


def run_kernel(observers: Sequence[Observer], name: str, raws: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Run the kernel inside an operator under the eyes of these observers."""
    for observer in reversed(observers):
        if observer.watches_kernels:
            run = partial(observer.run_kernel, name, raws, run)
    return run()


def run_node(observers: Sequence[Observer], node: Any, grad: Any, run: Callable[[], Any]) -> Any:
    """Run a node in backward under the eyes of these observers."""
    for observer in reversed(observers):
        if observer.watches_nodes:
            run = partial(observer.run_node, node, grad, run)
    return run()
