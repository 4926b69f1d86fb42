"""autograd.graph: users' access to nodes and edges, to what a node saved, to versions, and to running one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.autograd.engine import user_callbacks
from pullback.autograd.engine.validate import validate_grad
from pullback.autograd.gradient_edge import GradientEdge, get_gradient_edge
from pullback.autograd.memory_budget import memory_budget
from pullback.autograd.multi_grad_hooks import register_multi_grad_hook
from pullback.autograd.raw_saved import SavedTensor
from pullback.autograd.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from pullback.autograd.saved_mutation import allow_mutation_on_saved_tensors
from pullback.core import modes, slots
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, UnsupportedError, type_name, with_article
from pullback.core.named import named
from pullback.core.tensor import Tensor
from pullback.core.types import Version
from pullback.core.version import bump
from pullback.graph.node import AccumulateGrad, InputMetadata, Node
from pullback.graph.saved import Form, tensor_unpacker


@named("autograd.graph.increment_version")
def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that the memory of a tensor, or of several, was modified in a way that pullback cannot see.

    A backward that needs the old values then raises, instead of computing with the new ones. Operators and
    `ctx.mark_dirty` do this themselves; it is for code that writes into `tensor.numpy()`, say. Once too often does no
    harm. A tensor made in inference mode is passed over.

    Parameters
    ----------
    tensor : Tensor, or iterable of Tensor

    Returns
    -------
    None

    Raises
    ------
    RuntimeError, TypeError
        Something is not a Tensor.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp()
    >>> y.detach().numpy()[0] = 0.0
    >>> pb.autograd.graph.increment_version(y)
    >>> y.sum().backward()
    Traceback (most recent call last):
    SavedTensorModifiedError: ... ExpBackward0 saved 'result' ...
    """
    tensors: Any = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise UnsupportedError(f"increment_version takes a Tensor or an iterable of Tensors, got {type_name(tensor)}.")
    tensors = tuple(tensors)
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise UnsupportedError(f"increment_version takes Tensors, but element {i} is of type {type(x).__name__}.")
    for x in tensors:
        if not x.is_inference():
            bump(x, "a write announced by increment_version()")


@named("autograd.graph.call_node")
def call_node(node: Node, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Run one node: the gradients of its inputs for these gradients of its outputs.

    Parameters
    ----------
    node : Node
        A tensor's `grad_fn`, say.
    grads : sequence of Tensor or None
        The cotangent of each output, of its shape; None for an output that the result does not depend on.

    Returns
    -------
    tuple of Tensor or None
        One for each input, of its shape; None where no gradient goes. Of the AccumulateGrad node of a leaf, which adds
        to its `.grad`, there is none.

    Raises
    ------
    TypeError
        There are not as many `grads` as outputs, or one is not a Tensor.
    RuntimeError
        A gradient has another shape than its output, or the node has released what it saved.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.autograd.graph.call_node((x * x).grad_fn, [pb.ones(2)])
    (tensor([1., 2.]), tensor([1., 2.]))
    """
    if not isinstance(node, Node):
        raise TypeError(f"node must be a Node (the grad_fn of a Tensor), got {with_article(node)}.")
    metadata = node.input_metadata
    if len(grads) != len(metadata):
        raise TypeError(
            f"expected {len(metadata)} arguments, got {len(grads)} arguments instead: {node.name()} takes one gradient "
            "for each output."
        )
    for i, (g, expected) in enumerate(zip(grads, metadata, strict=True)):
        _check(node, i, g, expected)
    given = [g for g in grads if g is not None]
    if type(node) is AccumulateGrad:
        for g in given:
            node.variable.backward(g, create_graph=g.requires_grad and modes.current().records(g._level))
        return ()
    if not given and not node.takes_undefined:
        return (None,) * len(node.edges())
    unpack = tensor_unpacker(max((g._level for g in given), default=0))
    try:
        results = node.apply(TENSOR, grads[0] if len(grads) == 1 else list(grads), unpack)
        if not node.edges():  # a node by hand, which leads nowhere
            return tuple(results)
        return tuple(
            None if g is None or edge is None else validate_grad(g, edge, node, None)
            for g, edge in zip(results, node.edges(), strict=False)
        )
    except Exception as error:
        slots.formula_failed(error)
        raise


def _check(node: Node, i: int, g: Tensor | None, expected: InputMetadata) -> None:
    if g is None:
        return
    if not isinstance(g, Tensor):
        raise TypeError(f"{node.name()}: gradient {i} must be a Tensor or None, got {type_name(g)}.")
    if expected.shape is not None and g.shape != tuple(expected.shape):
        raise GradientError(f"{node.name()}: gradient {i} has shape {g.shape}; expected {tuple(expected.shape)}.")


@named("autograd.graph.will_engine_execute_node", "any node")
def will_engine_execute_node(node: Node) -> bool:
    """The answer to whether the backward that is running comes to a node: PyTorch's `_will_engine_execute_node`.

    A hook, or the backward of a custom Function, asks it: one that waits for several gradients, say, learns so how many
    will come.

    Parameters
    ----------
    node : Node
        A tensor's `grad_fn`; of a leaf `get_gradient_edge(leaf).node`.

    Returns
    -------
    bool
        True if a gradient of the node's outputs is computed, or was. Of a backward with `inputs`, and of `grad()`, only
        nodes on the way to these are run.

    Raises
    ------
    RuntimeError
        No backward is running. Or it is `grad()`, and the node is that of a leaf among its inputs: it gets a gradient,
        but none is added to `.grad`.
    RuntimeError, TypeError
        `node` is not a Node.

    Examples
    --------
    >>> x = pb.tensor(1.0, requires_grad=True)
    >>> y, z = 2 * x, 3 * x
    >>> asked = [y.grad_fn, z.grad_fn]
    >>> handle = y.register_hook(lambda grad: print([*map(pb.autograd.graph.will_engine_execute_node, asked)]))
    >>> y.backward()
    [True, False]
    """
    if not isinstance(node, Node):
        raise UnsupportedError(
            f"will_engine_execute_node expects an grad_fn, but got {with_article(node)}; "
            "get_gradient_edge(tensor).node is that of any Tensor that requires grad."
        )
    if not user_callbacks.here.runs:
        raise GradientError(
            "will_engine_execute_node should only be called during the backward pass: from a hook, or from the "
            "backward of a custom Function."
        )
    run = user_callbacks.here.runs[-1]
    if node not in run.awaited:
        return False
    if type(node) is AccumulateGrad and run.captures is not None:
        raise GradientError(
            "A leaf node was passed to will_engine_execute_node but we are currently running autograd.grad(), which "
            "returns the gradient of this leaf and adds nothing to its .grad: there is no plain answer. Ask about the "
            "node of a computed tensor, or call backward(inputs=...)."
        )
    return True


@named("autograd.graph.show_saved", "any node, str name")
def show_saved(node: Node, name: str) -> Any:
    """Return what `node` saved under `name`; `node._saved_<name>` is the same.

    Parameters
    ----------
    node : Node
    name : str
        "self", "other", "result", "dim", ...: as the formula calls it.

    Returns
    -------
    Tensor, tuple of Tensor, or another value
        As it was saved. None for a tensor that the node did not need to keep.

    Raises
    ------
    RuntimeError
        The tensor was modified in place since, or the node has released what it saved.
    TypeError, ValueError
        `node` is no node; there is no such name.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.autograd.graph.show_saved(x.exp().grad_fn, "result").detach()
    tensor([2.71828183, 7.3890561 ])
    """
    if not isinstance(node, Node):
        raise TypeError(f"show_saved: node must be a node of the graph, such as t.grad_fn, got {with_article(node)}.")
    slot = f"saved_{name}" if hasattr(type(node), f"saved_{name}") else f"arg_{name}"
    if not hasattr(node, slot):
        if hasattr(type(node), slot):  # no formula that will run reads it
            return None
        known = sorted(x.partition("_")[2] for x in dir(node) if x.startswith(("saved_", "arg_")))
        raise ValueError(f"show_saved: {node.name()} saves nothing under {name!r}; its names: {', '.join(known)}.")
    saved, version = getattr(node, slot), getattr(node, f"version_{name}", None)
    if isinstance(saved, tuple) and isinstance(version, tuple):
        return tuple(_unpacked(node, s, v) for s, v in zip(saved, version, strict=True))
    return _unpacked(node, saved, version)


def _unpacked(node: Node, saved: Any, version: Version) -> Any:
    if type(saved) is Form:
        return None  # it did not save the tensor
    level = saved._level + 1 if isinstance(saved, Tensor) else 0  # matters for a saved output alone
    return tensor_unpacker(level)(saved, version, node)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "GradientEdge",
    "Node",
    "SavedTensor",
    "allow_mutation_on_saved_tensors",
    "call_node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "show_saved",
    "will_engine_execute_node",
]
