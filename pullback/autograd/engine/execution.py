"""The engine: runs the nodes of a graph from the outputs back to the leaves.

It counts how many gradients each node will receive, then runs the nodes that have theirs complete, the latest recorded
first. What flows is raw arrays (whatever the Tensors of this level wrap), or Tensors when the backward is itself
recorded (`create_graph`). Nothing recurses: a graph may be a million nodes deep. All state of a backward is in its Run,
so backwards may nest and threads may run side by side over shared graphs; and one may wait for gradients from outside
and go on (`autograd/engine/backward_pass.py`).
"""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from pullback.arrays.masks import may_be_nan
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.autograd.engine import dependencies, user_callbacks
from pullback.autograd.engine.accumulate import add_pending, put_back
from pullback.autograd.engine.fast_loop import run_fast
from pullback.autograd.engine.large_backwards import looks
from pullback.autograd.engine.plain_loop import run_plainly
from pullback.autograd.engine.run import Output, Roots, Run, RunWithoutMasks
from pullback.autograd.engine.structural_zeros import root_cotangent
from pullback.core import modes, slots
from pullback.core.array_type import NUMPY, array_type, table_for_graph
from pullback.core.errors import BackwardTwiceError
from pullback.core.overrides import ENTERED, put_modes_aside
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.graph.kept_values import earlier_call, refuse_kept
from pullback.graph.node import STANDING_IN, AccumulateGrad, Node
from pullback.ops import generated
from pullback.ops.formulas.decompositions.spectra_in_use import in_use, put_aside, take_up

_FEW = 1 << 14  # numbers in a cotangent


def execute(
    roots: Roots,
    *,
    level: int = 0,
    keep_graph: bool = False,
    create_graph: bool = False,
    captures: dict[Output, int] | None = None,
    towards: dict[Node, dict[int, Tensor]] | None = None,
    numbers: bool = False,
    ones: bool = False,
) -> dict[int, Gradient]:
    """Pull the cotangents `roots` (pairs of edge and gradient) back through the graph.

    Without `captures` gradients are accumulated in the leaves: in all, or in those of the nodes `towards`, and in the
    outputs of these that it names by number. With it, a dict from (node, output number) to a key, they are collected
    there instead, and only nodes on the way to them run; returns the dict of captured gradients.

    `numbers` says that the outputs show their numbers: with few of them the backward runs without masks first. `ones`
    says that the cotangents are the library's own ones.
    """
    compiler = user_callbacks.here.compiler
    if compiler is not None and not level and not create_graph and modes.current().plain:
        found: dict[int, Gradient] | None = compiler._execute(roots, keep_graph, captures, towards)
        if found is not None:
            return found
    if numbers and keep_graph and not create_graph and all(_are_few(grad) for _, grad in roots):
        found = _without_masks(roots, level, captures)
        if found is not None:
            return found
    run = Run(level, keep_graph, create_graph, captures, towards)
    for edge, grad in roots:
        if not ones and (type(grad) is ndarray or not issubclass(type(grad), np.generic)):  # 1 has no zeros
            grad = root_cotangent(grad)
        run.delivered.append((edge, grad))
    dependencies.count([edge for edge, _ in roots], run.awaited)
    plan(run)
    go(run, True)
    return run.captured


def _without_masks(roots: Roots, level: int, captures: dict[Output, int] | None) -> dict[int, Gradient] | None:
    """The captured gradients by a run without masks, which takes less time; None where masks may matter.

    They do where a 0 of theirs meets an infinite slope, which shows as a NaN.
    """
    run = RunWithoutMasks(level, True, False, captures, None)
    run.delivered += roots
    dependencies.count([edge for edge, _ in roots], run.awaited)
    if run.observers or not all(map(_is_usual, run.awaited)):
        return None
    plan(run)
    go(run, True)
    shows = any(g is not None and may_be_nan(g) for g in run.captured.values())
    return None if shows else run.captured


def _are_few(grad: Any) -> bool:
    """True of so few numbers that masks take longer than what they are for."""
    part = array_type(grad).only_part(grad)
    return part is not None and part.size < _FEW


def _is_usual(node: Node) -> bool:
    """True if a NaN that comes to a node comes out of it, or is not chosen, and nobody sees the node run."""
    if node._extra not in STANDING_IN:
        return False
    if type(node) is AccumulateGrad:
        return not node.variable._extra.hooks  # type: ignore[union-attr]  # leaves have an Extra
    return type(node).outputs == 1 and _is_linear(type(node))  # type: ignore[arg-type]  # types have a hash


@cache
def _is_linear(cls: Any) -> bool:
    """True of a class of nodes whose formula is arithmetic: that of a solver would try to make something of a NaN."""
    return bool(cls.pointwise or cls.structural or cls.__module__.startswith(generated.__name__))


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
            run_plainly(run)
        else:
            run_fast(run)
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
