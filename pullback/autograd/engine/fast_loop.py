"""The loop of the engine where nobody observes, for speed: it computes what `plain_loop` does."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from pullback.arrays.numpy import for_few
from pullback.autograd.engine import dependencies
from pullback.autograd.engine.accumulate import FEW, add
from pullback.autograd.engine.plain_loop import NOTHING, deliver, deliver_to_leaf, run_special, take_in
from pullback.autograd.engine.run import Run
from pullback.autograd.engine.validate import validate_grad
from pullback.core.array_face import Array
from pullback.core.array_type import NUMPY
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.graph.node import (
    KEEPS_ARGUMENT,
    KEEPS_FEW,
    LEAF,
    MASKING,
    Edge,
    Node,
    OutputEdge,
)
from pullback.graph.saved import Released, unpack_nested, unpack_raw


# Long, and nested, for speed: with `deliver` in place of the lines that it says in general, a chain of 20,000 nodes
# takes 1.09 us a node instead of 0.77, one with two edges to a node 2.2 instead of 1.7.
def run_fast(run: Run) -> None:  # noqa: C901, PLR0912, PLR0915
    """The loop where nobody observes: run a node, hand its gradients on, go to the latest that is complete.

    The common case is written out here, a node with one or two edges to nodes of one output; the rest goes through
    `run_special` and `deliver`, which say the same in general. First what is most common, nodes that keep their only
    argument: `SavesSelf.apply`, `unpack_raw` and `release` are written out for them, and the step to a next node that
    awaits this gradient alone.
    """
    unpack, release = run.unpack, not run.keep_graph
    awaited, needed, buffers, heap = run.awaited, run.needed, run.buffers, run.heap
    get: Any = awaited.get if len(awaited) < dependencies.MANY else dependencies.in_order(awaited)
    special = None if needed is None else run.targets
    plain = special is None and (unpack is unpack_raw or unpack is unpack_nested)  # which read `_array` of these too
    following: Node | None
    edge: Edge | None
    grads: Sequence[Gradient] | None
    while heap or (run.delivered and take_in(run)):
        ops, masks = run.ops, run.masks
        few: Any = for_few if ops is NUMPY else ops
        _, node, grad = heappop(heap)
        extra = node._extra
        while True:
            while (
                (extra is KEEPS_FEW or extra is KEEPS_ARGUMENT)
                and plain
                and grad is not None
                and not (masks and type(grad) is not ndarray)
            ):
                saved = node.saved_self  # type: ignore[attr-defined]  # a SavesSelf
                if (
                    node.version_self is None  # type: ignore[attr-defined]
                    and saved._counter is None
                    and (type(saved) is Tensor or type(saved) is Array)
                ):
                    g = node.pull(few if extra is KEEPS_FEW else ops, grad, saved._array)  # type: ignore[attr-defined]
                    if release:
                        node.version_self = Released  # type: ignore[attr-defined]
                        node.saved_self = None  # type: ignore[attr-defined]
                else:
                    (g,) = node.apply(ops, grad, unpack)
                    if release:
                        node.release()
                saved, edge = None, node._next0
                if (
                    get(edge) == 1
                    and g is not None
                    and g.shape == edge._shape  # type: ignore[union-attr]
                    and g.dtype is edge._dtype  # type: ignore[union-attr]
                    and (extra := edge._extra) is not LEAF  # type: ignore[union-attr]
                    and (not heap or -heap[0][0] < edge._sequence_nr)  # type: ignore[union-attr]
                ):
                    node, grad = edge, g  # type: ignore[assignment]
                    continue
                other = later = None
                break
            else:
                g = None  # who is handed `grad` must hold all there is of it
                if (
                    (extra is not None and extra is not KEEPS_ARGUMENT and extra is not KEEPS_FEW)
                    or grad is None
                    or (special is not None and node in special)
                ):
                    if extra is MASKING and grad is not None and (special is None or node not in special):
                        grads, masks = run.apply_masked(node, grad), run.masks
                        if release:
                            node.release()
                    else:
                        box, grad = [grad], None
                        grads = run_special(run, node, box)
                        masks = run.masks
                else:
                    if masks and type(grad) is not ndarray:
                        grads = run.apply_masked(node, grad)
                    else:
                        grads = node.apply(ops, grad, unpack)
                    if release:
                        node.release()
                # Stepping along the edges by hand: a tuple of two and a zip would cost 0.1 us a node.
                if (nexts := node._nexts) is None:
                    edge, other, g = node._next0, node._next1, grads[0]
                    later = None
                    if (
                        other is None
                        and get(edge) == 1
                        and g is not None
                        and g.shape == edge._shape  # type: ignore[union-attr]
                        and g.dtype is edge._dtype  # type: ignore[union-attr]
                        and (extra := edge._extra) is not LEAF  # type: ignore[union-attr]
                        and (not heap or -heap[0][0] < edge._sequence_nr)  # type: ignore[union-attr]
                    ):
                        node, grad = edge, g  # type: ignore[assignment]
                        grads = g = None
                        continue
                else:
                    other, later = None, zip(nexts, grads, strict=False)
                    edge, g = next(later, NOTHING)
            following = grad = None
            while True:
                if edge is not None and (needed is None or edge.node() in needed):
                    if type(edge) is OutputEdge:
                        deliver(run, edge, g, node)
                    else:
                        if g is not None and (g.shape != edge._shape or g.dtype is not edge._dtype):
                            g = validate_grad(g, edge, node, run)
                        count = awaited[edge]
                        if count != 1:
                            count = awaited[edge] = count + 1
                            if g is None:
                                g = buffers.pop(edge, None)
                            elif edge in buffers:
                                small = g.size < FEW and not masks
                                g = buffers[edge] + g if small else add(buffers.pop(edge), g)
                            if count:
                                if g is not None:
                                    buffers[edge] = g
                            else:
                                buffers.pop(edge, None)
                        if count >= 0:  # complete
                            if edge._extra is LEAF and deliver_to_leaf(run, edge, g):  # type: ignore[arg-type]  # a leaf's
                                pass
                            elif following is None:
                                following, grad = edge, g
                            elif edge._sequence_nr > following._sequence_nr:
                                heappush(heap, (-following._sequence_nr, following, grad))
                                following, grad = edge, g
                            else:
                                heappush(heap, (-edge._sequence_nr, edge, g))
                if other is not None:
                    edge, g, other = other, grads[1], None  # type: ignore[index]  # two edges have gradients
                elif later is None:
                    break
                else:
                    pair = next(later, None)
                    if pair is None:
                        break
                    edge, g = pair
            grads = g = pair = later = None  # a reference kept here would make the next leaf copy its gradient
            if following is None:
                break
            if heap and -heap[0][0] > following._sequence_nr:
                heappush(heap, (-following._sequence_nr, following, grad))
                break
            node, extra = following, following._extra
