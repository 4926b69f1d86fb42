"""The engine: runs the nodes of a graph from the outputs back to the leaves.

It counts how many gradients each node will receive, then runs the nodes that have theirs complete, the latest recorded
first. What flows is raw arrays (whatever the Tensors of this level wrap), or Tensors when the backward is itself
recorded (`create_graph`). Nothing recurses: a graph may be a million nodes deep. All state of a run is local to it, so
runs may nest and threads may run side by side over shared graphs.
"""

from heapq import heappop, heappush

import numpy as np

from pullback.autograd import node_hooks
from pullback.autograd.accumulate import accumulate_grad, add
from pullback.autograd.fit import fit
from pullback.core import modes
from pullback.core.dispatch import TENSOR, table_of
from pullback.core.node import LEAF, AccumulateGrad, Port
from pullback.core.saved import tensor_unpacker, unpack_raw


class Run:
    """What one backward needs to know everywhere: its level, its operators, what to keep, what to capture."""

    __slots__ = ("captured", "captures", "create_graph", "keep_graph", "level", "ops", "unpack")

    def __init__(self, level, raws, keep_graph, create_graph, captures):
        self.level = level
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures = captures  # (node, output number) -> positions among the results
        self.captured = {}
        self.ops = TENSOR if create_graph else table_of(raws)
        self.unpack = tensor_unpacker(level) if create_graph else unpack_raw


def execute(roots, *, level=0, keep_graph=False, create_graph=False, captures=None):
    """Pull the cotangents `roots` (pairs of edge and gradient) back through the graph.

    Without `captures` gradients are accumulated in the leaves. With it, a dict from (node, output number) to a key,
    they are collected there instead, and only nodes on the way to them run; returns the dict of captured gradients.
    """
    run = Run(level, [g for _, g in roots], keep_graph, create_graph, captures)
    needed = None if captures is None else _nodes_towards(roots, captures)
    dependencies = _count_dependencies(roots, needed)
    before = modes.current()
    modes.set_modes(before.with_recording(create_graph, level))
    try:
        with np.errstate(all="ignore"):  # formulas may pass through 0/0 on their way to a masked result
            _run_ready(run, roots, dependencies, needed)
    finally:
        modes.set_modes(before)
    return run.captured


def _count_dependencies(roots, needed):
    """How many gradients each node will receive, defined or not, roots included."""
    dependencies = {}
    stack = []
    for edge, _ in roots:
        node = edge.node()
        if node not in dependencies:
            dependencies[node] = 0
            stack.append(node)
        dependencies[node] += 1
    while stack:
        node = stack.pop()
        while node is not None:  # along a chain without the stack
            following = None
            for edge in (node._next0, node._next1) if node._nexts is None else node._nexts:
                if edge is None:
                    continue
                if type(edge) is Port:
                    edge = edge._node
                if edge in dependencies:
                    dependencies[edge] += 1
                elif needed is None or edge in needed:
                    dependencies[edge] = 1
                    if following is None:
                        following = edge
                    else:
                        stack.append(edge)
            node = following
    return dependencies


def _nodes_towards(roots, captures):
    """The nodes through which the captured places are reached, these included."""
    targets = {node for node, _ in captures}
    seen = set()
    stack = [edge.node() for edge, _ in roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(edge.node() for edge in node.edges() if edge is not None)
    needed = set()
    # Edges lead to nodes recorded earlier (leaves count as the earliest), so one ordered sweep decides.
    for node in sorted(seen, key=lambda n: -1 if isinstance(n, AccumulateGrad) else n._sequence_nr):
        if node in targets or any(e is not None and e.node() in needed for e in node.edges()):
            needed.add(node)
    return needed


def _run_ready(run, roots, dependencies, needed):
    """The loop: run a node, hand its gradients on, go to the latest recorded node that is complete.

    The common case is written out here, a node with one or two edges to nodes of one output; the rest goes through
    `_run_special` and `_deliver`, which say the same in general.
    """
    ops, unpack, release = run.ops, run.unpack, not run.keep_graph
    heap = []  # complete nodes: (-sequence number, node, gradient)
    buffers = {}  # incomplete nodes: the sum so far, or a list of sums for a node with several outputs
    for edge, grad in roots:
        _deliver(edge, grad, run, buffers, dependencies, heap)
    while heap:
        _, node, grad = heappop(heap)
        while True:
            if node._extra is not None or needed is not None or grad is None:
                box, grad = [grad], None
                grads = _run_special(run, node, box, needed)
            else:
                grads = node.apply(ops, grad, unpack)
                if release:
                    node.release()
            following = grad = None
            # Stepping along the edges by hand: a tuple of two and a zip would cost 0.1 us a node.
            nexts = node._nexts
            if nexts is None:
                edge = node._next0
            else:
                later = iter(nexts)
                edge = next(later, None)
            for g in grads:
                if edge is not None and (needed is None or edge.node() in needed):
                    if type(edge) is Port:
                        _deliver(edge, g, run, buffers, dependencies, heap)
                    else:
                        if g is not None and (g.shape != edge._shape or g.dtype is not edge._dtype):
                            g = fit(g, edge, node, run)
                        count = dependencies[edge] - 1
                        if count:
                            dependencies[edge] = count
                            if g is not None:
                                buffers[edge] = add(buffers.pop(edge), g) if edge in buffers else g
                        else:
                            if edge in buffers:
                                g = buffers.pop(edge) if g is None else add(buffers.pop(edge), g)
                            if following is None:
                                following, grad = edge, g
                            elif edge._sequence_nr > following._sequence_nr:
                                heappush(heap, (-following._sequence_nr, following, grad))
                                following, grad = edge, g
                            else:
                                heappush(heap, (-edge._sequence_nr, edge, g))
                edge = node._next1 if nexts is None else next(later, None)
            grads = g = None  # a reference kept here would make the next leaf copy its gradient
            if following is None:
                break
            if heap and -heap[0][0] > following._sequence_nr:
                heappush(heap, (-following._sequence_nr, following, grad))
                break
            node = following


def _deliver(edge, g, run, buffers, dependencies, heap, needed=None):
    """Hand a gradient to any entrance: the general form of what the loop does for nodes with one output."""
    node = edge.node()
    if needed is not None and node not in needed:
        return
    if g is not None and (g.shape != edge._shape or g.dtype is not edge._dtype):
        g = fit(g, edge, node, run)
    if node.outputs == 1:
        if g is not None:
            buffers[node] = add(buffers.pop(node), g) if node in buffers else g
    else:
        grads = buffers.setdefault(node, [None] * node.outputs)
        if g is not None:
            held, grads[edge.output_nr] = grads[edge.output_nr], None
            grads[edge.output_nr] = g if held is None else add(held, g)
    count = dependencies[node] = dependencies[node] - 1
    if not count:
        heappush(heap, (-node._sequence_nr, node, buffers.pop(node, None)))


def _run_special(run, node, box, needed):
    """Run a node that is hooked, captured, a leaf, or whose gradient is undefined. The gradient comes in a box."""
    extra = node._extra
    if extra is not None and extra is not LEAF:
        box[0] = node_hooks.before(run, node, box[0])
    if run.captures is not None:
        _capture(run, node, box[0])
        if node.__class__ is AccumulateGrad or not _leads_on(node, needed):
            return ()
    if node.__class__ is AccumulateGrad:
        accumulate_grad(run, node, box)
        return ()
    grad = box[0]
    undefined = grad is None or (node.outputs != 1 and all(g is None for g in grad))
    if undefined and not node.takes_undefined:
        grads = (None,) * len(node.edges())
    else:
        grads = node.apply(run.ops, grad, run.unpack)
        if not run.keep_graph:
            node.release()
    if extra is not None and extra.post_hooks:
        grads = node_hooks.after(run, node, grads, grad)
    return grads


def _leads_on(node, needed):
    return any(edge is not None and edge.node() in needed for edge in node.edges())


def _capture(run, node, grad):
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
