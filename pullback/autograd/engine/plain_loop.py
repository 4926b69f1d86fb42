"""The loop of the engine, in full: runs the nodes that are complete, and hands their gradients on.

What a backward computes is defined here; `fast_loop` does the same and is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from pullback.autograd.engine import node_hooks
from pullback.autograd.engine.accumulate import accumulate_grad, add
from pullback.autograd.engine.run import Box, Run
from pullback.autograd.engine.validate import validate_grad
from pullback.core.array_type import CONSTANTS
from pullback.core.tensor import ndarray
from pullback.core.types import Gradient
from pullback.graph.node import (
    AccumulateGrad,
    Edge,
    Node,
    NodeExtra,
    OutputEdge,
)

NOTHING = (None, None)


def run_plainly(run: Run) -> None:
    """The loop in full generality: run the latest recorded node that is complete, hand its gradients on.

    `fast_loop` does the same for speed.
    """
    while run.heap or (run.delivered and take_in(run)):
        _, node, grad = heappop(run.heap)
        box, grad = [grad], None
        grads = run_special(run, node, box)
        for edge, g in zip(node.edges(), grads, strict=False):
            if edge is not None:
                deliver(run, edge, g, node)
        box = grads = g = None  # type: ignore[assignment]  # a reference kept here would make the next leaf copy


def take_in(run: Run) -> bool:
    """Deliver what has come from outside; whether a node is complete then."""
    delivered, run.delivered = run.delivered, []
    if len(delivered) == 1 and type(delivered[0][1]) in CONSTANTS:
        ((edge, grad),) = delivered
        if type(edge) is not OutputEdge and run.awaited.get(edge) == 1:  # the usual case of deliver
            heappush(run.heap, (-edge._sequence_nr, edge, grad))
            return True
    else:
        run.look_at([grad for _, grad in delivered])
    for edge, grad in delivered:
        deliver(run, edge, grad)
    return bool(run.heap)


def deliver(run: Run, edge: Edge, g: Gradient, maker: Node | None = None) -> None:
    """Hand a gradient to any entrance: the general form of what the loop does for nodes with one output."""
    node, awaited, buffers = edge.node(), run.awaited, run.buffers
    if run.needed is not None and node not in run.needed:
        return
    if g is not None and (g.shape != edge._shape or g.dtype is not edge._dtype):
        g = validate_grad(g, edge, maker or node, run)
    if node.outputs == 1:
        if g is not None:
            buffers[node] = add(buffers.pop(node), g) if node in buffers else g
    elif g is not None:
        grads = buffers.setdefault(node, [None] * node.outputs)
        nr = edge.output_nr
        grads[nr] = g if grads[nr] is None else add(grads[nr], g)
    count = awaited[node] = awaited[node] + (-1 if awaited[node] > 0 else 1)
    if not count:
        heappush(run.heap, (-node._sequence_nr, node, buffers.pop(node, None)))


def run_special(run: Run, node: Node, box: Box) -> Sequence[Gradient]:
    """Run a node that is hooked, captured, a leaf, or whose gradient is undefined. The gradient comes in a box."""
    if run.observers:
        run.running = node
    box[0], kept = run.shown(box[0])
    extra = node._extra
    if extra is not None or run.targets is not None:
        node_hooks.of_tensors(run, node, box)
    if type(node) is AccumulateGrad:
        _run_leaf(run, node, box, extra)
        return ()
    if run.captures is not None:
        _capture(run, node, box[0])
    if run.needed is not None and not _leads_on(node, run.needed):
        return NOTHING
    if extra is not None and extra.pre_hooks:
        node_hooks.before(run, node, box)
    grad = run.shown_before(box[0], kept)
    undefined = grad is None or (node.outputs != 1 and all(g is None for g in grad))
    grads: Sequence[Gradient]
    if undefined and not node.takes_undefined:
        grads = (None,) * len(node.edges())
    else:
        grads = run.apply(node, grad)
        if not run.keep_graph:
            node.release()
    if extra is not None and extra.post_hooks:
        grads = node_hooks.after(run, node, grads, box[0])
    return grads


def deliver_to_leaf(run: Run, node: AccumulateGrad, grad: Gradient) -> bool:
    """Capture the complete gradient of a leaf, or keep it for `.grad`, unless a hook wants to see it first."""
    variable = node.variable
    extra: Any = variable._extra
    if extra.hooks or extra.post_accumulate_hooks:
        return False
    if run.masks and type(grad) is not ndarray:
        grad, _ = run.shown(grad)
    if run.captures is not None:
        _capture(run, node, grad)
    elif grad is not None and variable._requires_grad:
        run.pending.append((variable, [grad]))
    return True


def _run_leaf(run: Run, node: AccumulateGrad, box: Box, extra: NodeExtra | None) -> None:
    """Let hooks see the gradient of a leaf; capture it or add it to `.grad`."""
    hooks = node.variable._extra.hooks  # type: ignore[union-attr]  # leaves have an Extra
    if hooks:
        box[0] = node_hooks.pass_through(run, hooks, box[0], node)
    if run.captures is not None:
        _capture(run, node, box[0])
        return
    if extra is not None and extra.pre_hooks:
        node_hooks.before(run, node, box)
    if extra is None or not extra.post_hooks:
        accumulate_grad(run, node, box)
    else:
        seen = box[0]
        accumulate_grad(run, node, box)
        node_hooks.after(run, node, (), seen)


def _leads_on(node: Node, needed: set[Node]) -> bool:
    return any(edge is not None and edge.node() in needed for edge in node.edges())


def _capture(run: Run, node: Node, grad: Gradient) -> None:
    captures: Any
    captures, captured = run.captures, run.captured
    if node.outputs == 1:
        key = (node, 0)
        if key in captures:
            captured[captures[key]] = grad
        return
    for nr in range(node.outputs):
        key = (node, nr)
        if key in captures:
            captured[captures[key]] = None if grad is None else grad[nr]
