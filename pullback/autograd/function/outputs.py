"""The outputs of a custom Function: checked, and made Tensors of the graph."""

from __future__ import annotations

import warnings
from itertools import compress
from typing import Any

from pullback.autograd.function.intermediates import intermediates
from pullback.autograd.function.node import FunctionNode
from pullback.core import cuts, modes
from pullback.core.errors import GradientError, InplaceError, with_article
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, detached_here, wrap
from pullback.core.types import Version
from pullback.core.version import bump, counter_of, version_of
from pullback.dispatch.steps import lift
from pullback.graph.gathered import tie_of
from pullback.graph.inplace_nodes import rebase_history
from pullback.graph.inplace_rules import check_inplace
from pullback.graph.node import Edge, OutputEdge, edge_to
from pullback.graph.saved import (
    save_other,
    watch_output,
)
from pullback.graph.view import Origin, make_view


def check_forward(ctx: FunctionNode, args: tuple[Any, ...], versions: list[int], output: Any) -> None:
    """Refuse what would silently lose gradients: a list of outputs, inputs modified without mark_dirty."""
    if isinstance(output, (list, dict)):
        raise TypeError(
            f"{ctx.name()}: forward returned {with_article(output)}, through which no gradient flows; return a "
            "Tensor or a tuple of Tensors."
        )
    differentiated = compress(args, ctx.needs_input_grad)
    dirty = [a for a, before in zip(differentiated, versions, strict=True) if version_of(a) != before]
    if dirty and not all(any(a is d for d in ctx._dirty) for a in dirty):
        raise InplaceError(
            f"{ctx.name()}: forward silently modified an input in place; call ctx.mark_dirty(x) and return x, or "
            "work on x.clone()."
        )
    if not ctx._dirty:
        return
    outputs = output if isinstance(output, tuple) else (output,)
    if not all(any(x is out for out in outputs) for x in ctx._dirty):
        raise InplaceError(
            "Some elements marked as dirty during the forward method were not returned as output. An input that "
            f"{ctx.name()} marks with mark_dirty must be returned by forward as well."
        )
    several = len(outputs) > 1
    if several and any(a._is_view() and a._requires_grad and not has_no_gradient(ctx, a) for a in ctx._dirty):
        raise InplaceError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            f"more than one Tensor: {ctx.name()}: forward modified a view in place and returned more than one output, "
            "which cannot be "
            "differentiated; return the modified view alone, or work on a clone()."
        )


def finish(
    ctx: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...], edges: tuple[Edge | None, ...], records: bool
) -> list[Any]:
    """The outputs as tensors of the graph, the saved tensors kept, the modified inputs rebased."""
    for x in ctx._dirty:
        if not isinstance(x, Tensor):
            raise InplaceError(f"{ctx.name()}: mark_dirty can only accept variables (Tensors), got {with_article(x)}.")
        if not any(x is a for a in args):
            warnings.warn(
                f"{ctx.name()}: ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
                "been mutated should be passed to ctx.mark_dirty(); leave this one out.",
                stacklevel=4,
            )
        bump(x, ctx.name())  # forward may have written through NumPy, which nobody else noticed
    results = [_own_output(ctx, args, out, records) for out in outputs]
    if ctx._arrays:
        for result in results:
            if isinstance(result, Tensor) and not any(result is x for x in ctx._dirty):
                ctx._faced(result)
    if records:
        ctx._sequence_nr = next_sequence_nr()
        ctx._nexts = edges
        ctx._output_metadata = tuple((r.shape, r.dtype) if isinstance(r, Tensor) else ((), None) for r in results)
        for nr, (out, result) in enumerate(zip(outputs, results, strict=True)):
            _connect(ctx, args, nr, out, result)
        if ctx._function.follows_intermediates and (found := intermediates(ctx, args, results)) is not None:
            ctx._intermediates = found
    ctx._saved = tuple(_keep(ctx, x, outputs, results) for x in ctx._to_save) if records else ()
    ctx._to_save = ctx._for_forward = ctx._dirty = ctx._non_differentiable = ()  # jvp, if there is one, has run
    if records:
        for observer in modes.current().observers:
            observer.recorded(ctx, ctx._level)
    return results


def _own_output(ctx: FunctionNode, args: tuple[Any, ...], out: Any, records: bool) -> Any:
    """An output that may get a function of its own: an input that was returned unchanged is aliased."""
    if not isinstance(out, Tensor) or (any(out is x for x in ctx._dirty) and not has_no_gradient(ctx, out)):
        return out
    if out._level != ctx._level:
        return _at_level(ctx, out)
    given = next((a for a in args if out is a), None)
    if given is None and (extra := out._extra) is not None and extra.base is not None:
        # Only a view of an input can be led back to where its function is not this one.
        given = next((a for a in args if isinstance(a, Tensor) and any(extra.base is b for b in (a, a._base))), None)
    result = detached_here(out) if out._fn is not None or out._requires_grad or given is out else out
    if records and given is not None and given._requires_grad:
        make_view(result, given)
    if (extra := result._extra) is not None and extra.base is not None and modes.current().records(ctx._level):
        extra.made_by = Origin("function", ctx.name())
    return result


def _at_level(ctx: FunctionNode, out: Tensor) -> Tensor:
    """A tensor that forward made at a lower level (from an ndarray, say) as an output at the level of the arguments."""
    if out._level > ctx._level:
        raise GradientError(
            f"{ctx.name()}: forward used a tensor of level {out._level} that is not among its arguments (of level "
            f"{ctx._level}), so its gradient would be lost; pass it as an argument."
        )
    if out._requires_grad:
        return lift(out, ctx._level)
    result = wrap(out._array, ctx._level)
    result._counter = counter_of(out)
    return result


def has_no_gradient(ctx: FunctionNode, out: Any) -> bool:
    """True if forward marked this output with mark_non_differentiable."""
    return any(out is x for x in ctx._non_differentiable)


def _connect(ctx: FunctionNode, args: tuple[Any, ...], nr: int, out: Any, result: Any) -> None:
    if not isinstance(result, Tensor) or result.dtype.kind not in "fc":
        return
    if has_no_gradient(ctx, out):
        if cuts.WATCHED:
            cuts.note(f"mark_non_differentiable of {ctx._function.__name__}", *args, made=result)
        return
    entrance = OutputEdge(ctx, nr, result.shape, result.dtype)
    if any(out is x for x in ctx._dirty):
        check_inplace(result, ctx.name(), True)
        rebase_history(result, entrance, edge_to(result), ctx.name())
        if (tied := tie_of(result)) is not None:
            tied.written()
    else:
        result._fn, result._requires_grad = entrance, True


def _keep(
    ctx: FunctionNode, x: Tensor | None, outputs: tuple[Any, ...], results: list[Any]
) -> tuple[Any, Version, int | None]:
    """(what is kept, its version, which output it is) for one saved tensor; of an output the data, to make no cycle."""
    if x is None:
        return None, None, None
    for out, result in zip(outputs, results, strict=True):
        if x is out and result._fn is not None and result._fn.node() is ctx:
            return result._array, watch_output(result), result._fn.output_nr
    return (*save_other(x), None)
