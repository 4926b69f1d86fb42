"""The engine: runs the nodes of a graph from the outputs back to the leaves.

It counts how many gradients each node will receive, then runs the nodes that have theirs complete, the latest recorded
first. What flows is raw arrays (whatever the Tensors of this level wrap), or Tensors when the backward is itself
recorded (`create_graph`). Nothing recurses: a graph may be a million nodes deep. All state of a backward is in its Run,
so backwards may nest and threads may run side by side over shared graphs; and one may wait for gradients from outside
and go on (`autograd/engine/backward_pass.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from pullback.arrays.numpy import for_few
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.autograd.engine import dependencies, node_hooks, user_callbacks
from pullback.autograd.engine.accumulate import FEW, accumulate_grad, add, add_pending, put_back
from pullback.autograd.engine.large_backwards import looks
from pullback.autograd.engine.run import Box, Output, Roots, Run
from pullback.autograd.engine.structural_zeros import (
    LARGE,
    Masked,
    is_masked,
    masked_again,
    root_cotangent,
    run_masked,
    unmasked,
)
from pullback.autograd.engine.validate import validate_grad
from pullback.core import modes, slots
from pullback.core.array_face import Array
from pullback.core.array_type import CONSTANTS, NUMPY, TENSOR, table_for_graph, table_of
from pullback.core.errors import BackwardTwiceError
from pullback.core.overrides import ENTERED, put_modes_aside
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.graph.kept_values import earlier_call, refuse_kept
from pullback.graph.node import (
    KEEPS_ARGUMENT,
    KEEPS_FEW,
    LEAF,
    MASKING,
    AccumulateGrad,
    Edge,
    Node,
    NodeExtra,
    OutputEdge,
)
from pullback.graph.saved import Released, unpack_nested, unpack_raw
from pullback.ops.formulas.decompositions.spectra_in_use import in_use, put_aside, take_up


def execute(
    roots: Roots,
    *,
    level: int = 0,
    keep_graph: bool = False,
    create_graph: bool = False,
    captures: dict[Output, int] | None = None,
    towards: dict[Node, dict[int, Tensor]] | None = None,
) -> dict[int, Gradient]:
    """Pull the cotangents `roots` (pairs of edge and gradient) back through the graph.

    Without `captures` gradients are accumulated in the leaves: in all, or in those of the nodes `towards`, and in the
    outputs of these that it names by number. With it, a dict from (node, output number) to a key, they are collected
    there instead, and only nodes on the way to them run; returns the dict of captured gradients.
    """
    run = Run(level, keep_graph, create_graph, captures, towards)
    for edge, grad in roots:
        if type(grad) is ndarray or not issubclass(type(grad), np.generic):  # a loss's own 1 has no zeros
            grad = root_cotangent(grad)
        run.delivered.append((edge, grad))
    dependencies.count([edge for edge, _ in roots], run.awaited)
    plan(run)
    go(run, True)
    return run.captured


def plan(run: Run) -> None:
    """Settle which nodes run, of those that were counted."""
    if run.targets is not None and not dependencies.only_leaves(run.targets, run.awaited):
        if run.level:
            refuse_kept(run.awaited, run.targets)
        run.needed = dependencies.towards(run.targets, run.awaited)
        # Whoever passes a gradient to a node on the way is on the way itself, so the counts stay.
        run.awaited = {node: run.awaited[node] for node in run.needed}
    if not run.create_graph:
        run.ops = table_for_graph(run.awaited, NUMPY)


def go(run: Run, ends: bool) -> None:
    """Run every node that is complete, and those that this completes; with `ends` add to `.grad` then.

    What this thread knows of the backward that it is in holds from here to there, and is put back.
    """
    runs = user_callbacks.here.runs
    outside, noted = len(runs), put_aside() if in_use else None
    state = put_modes_aside() if ENTERED else None  # modes see a user's calls, and not those of formulas
    try:
        runs.append(run)
        if run.notes is not None:
            take_up(run.notes)
        if run.create_graph:
            run.call(_go_quietly, run, ends)
        else:
            _go_quietly(run, ends)
        if user_callbacks.queued or run.callbacks:
            _call_queued(run, ends)
    except BaseException:
        if user_callbacks.queued:
            user_callbacks.drop_queued()
        raise
    finally:
        del runs[outside:]
        if in_use or noted is not None:
            run.notes = None if ends else put_aside()
            take_up(noted)
        if state is not None:
            modes.restore(state)
    if ends and perf_counter() >= looks.due:
        looks.look(run.awaited)


def _call_queued(run: Run, ends: bool) -> None:
    """Call what users' code has queued for the end of this backward, or keep it until then."""
    while True:
        while (callback := user_callbacks.take_queued()) is not None:
            run.callbacks.append(callback)
        if not ends or not run.callbacks:
            return
        run.call(run.callbacks.pop(0))


def _go_quietly(run: Run, ends: bool) -> None:
    before = warning_state()
    try:
        ignore_warnings()
        if run.observers:
            _run_plainly(run)
        else:
            _run_ready(run)
        if ends:
            add_pending(run)
    except BaseException as error:
        try:
            put_back(run)
        except BaseException:  # a signal's, in the midst of it
            put_back(run)
            raise
        if isinstance(error, Exception):
            slots.formula_failed(error)
        for observer in run.observers:
            observer.failed(getattr(run, "running", None), error)
        if run.level and type(error) is BackwardTwiceError and (earlier := earlier_call(run.awaited)) is not None:
            raise BackwardTwiceError(error.node, str(earlier)) from None
        raise
    finally:
        restore(before)


_NOTHING = (None, None)


def _run_plainly(run: Run) -> None:
    """The loop in full generality: run the latest recorded node that is complete, hand its gradients on.

    `_run_ready` does the same and is faster. What it computes is defined here.
    """
    while run.heap or (run.delivered and _take_in(run)):
        _, node, grad = heappop(run.heap)
        box, grad = [grad], None
        grads = _run_special(run, node, box)
        for edge, g in zip(node.edges(), grads, strict=False):
            if edge is not None:
                _deliver(run, edge, g, node)
        box = grads = g = None  # type: ignore[assignment]  # a reference kept here would make the next leaf copy


# Long, and nested, for speed: with `_deliver` in place of the lines that it says in general, a chain of 20,000 nodes
# takes 1.09 us a node instead of 0.77, one with two edges to a node 2.2 instead of 1.7.
def _run_ready(run: Run) -> None:  # noqa: C901, PLR0912, PLR0915
    """The loop where nobody observes: run a node, hand its gradients on, go to the latest that is complete.

    The common case is written out here, a node with one or two edges to nodes of one output; the rest goes through
    `_run_special` and `_deliver`, which say the same in general. First what is most common, nodes that keep their only
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
    while heap or (run.delivered and _take_in(run)):
        ops, masks = run.ops, run.masks
        few: Any = for_few if ops is NUMPY else ops
        _, node, grad = heappop(heap)
        extra = node._extra
        while True:
            while (
                (extra is KEEPS_FEW or extra is KEEPS_ARGUMENT)
                and plain
                and grad is not None
                and not (masks and type(grad) is Masked)
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
                        edge = node._next0
                        alone = node._next1 is None and node._nexts is None and type(edge) is AccumulateGrad
                        # Cotangents of parts of a large array come together before they are put in their places.
                        alone = alone and (get(edge) == 1 or prod(edge._shape) < LARGE)  # type: ignore[arg-type, union-attr]
                        if alone and type(grad) is ndarray and edge._extra is LEAF:  # type: ignore[union-attr]
                            # A mask would end at the leaf, where nothing asks for it.
                            grads = node.apply(ops, grad, unpack)
                        else:
                            run.masks = masks = True
                            grads = run_masked(node, grad, ops, unpack)
                        if release:
                            node.release()
                    else:
                        box, grad = [grad], None
                        grads = _run_special(run, node, box)
                        masks = run.masks
                else:
                    if masks and is_masked(grad):
                        grads = run_masked(node, grad, ops, unpack)
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
                    edge, g = next(later, _NOTHING)
            following = grad = None
            while True:
                if edge is not None and (needed is None or edge.node() in needed):
                    if type(edge) is OutputEdge:
                        _deliver(run, edge, g, node)
                    else:
                        if g is not None and (g.shape != edge._shape or g.dtype is not edge._dtype):
                            g = validate_grad(g, edge, node, run)
                        count = awaited[edge]
                        if count != 1:
                            if masks and type(g) is Masked and edge._extra is LEAF and not g.waits:
                                g = g.cleaned()
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
                            if edge._extra is LEAF and _deliver_to_leaf(run, edge, g):  # type: ignore[arg-type]  # a leaf's
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


def _take_in(run: Run) -> bool:
    """Deliver what has come from outside; whether a node is complete then."""
    delivered, run.delivered = run.delivered, []
    if len(delivered) == 1 and type(delivered[0][1]) in CONSTANTS:
        ((edge, grad),) = delivered
        if type(edge) is not OutputEdge and run.awaited.get(edge) == 1:  # the usual case of _deliver
            heappush(run.heap, (-edge._sequence_nr, edge, grad))
            return True
    else:
        _look_at(run, [grad for _, grad in delivered])
    for edge, grad in delivered:
        _deliver(run, edge, grad)
    return bool(run.heap)


def _look_at(run: Run, grads: Sequence[Gradient]) -> None:
    """Choose the operators for these gradients too, and see whether one is masked."""
    run.masks = run.masks or any(type(g) is Masked for g in grads)
    if run.create_graph:
        return
    table = table_of([g.value if type(g) is Masked else g for g in grads])
    if table is not NUMPY and (run.table is NUMPY or table is not TENSOR):  # as table_of chooses among several
        run.table = table
        run.ops = table_for_graph(run.awaited, table)


def _deliver(run: Run, edge: Edge, g: Gradient, maker: Node | None = None) -> None:
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


def _run_special(run: Run, node: Node, box: Box) -> Sequence[Gradient]:
    """Run a node that is hooked, captured, a leaf, or whose gradient is undefined. The gradient comes in a box."""
    if run.observers:
        run.running = node
    kept: Any = None
    if run.masks:
        box[0], kept = unmasked(box[0])
    extra = node._extra
    if extra is not None or run.targets is not None:
        node_hooks.of_tensors(run, node, box)
    if type(node) is AccumulateGrad:
        _run_leaf(run, node, box, extra)
        return ()
    if run.captures is not None:
        _capture(run, node, box[0])
    if run.needed is not None and not _leads_on(node, run.needed):
        return _NOTHING
    if extra is not None and extra.pre_hooks:
        node_hooks.before(run, node, box)
    grad = box[0]
    if kept is not None:
        grad = masked_again(grad, kept)
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


def _deliver_to_leaf(run: Run, node: AccumulateGrad, grad: Gradient) -> bool:
    """Capture the complete gradient of a leaf, or keep it for `.grad`, unless a hook wants to see it first."""
    variable = node.variable
    extra: Any = variable._extra
    if extra.hooks or extra.post_accumulate_hooks:
        return False
    if type(grad) is Masked:
        grad = grad.cleaned()
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
