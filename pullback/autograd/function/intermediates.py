"""Finds what a custom Function's forward keeps beside inputs and outputs, where its backward is itself recorded.

    forward:  ctx.save_for_backward(3 * x * x)        backward:  return grad * ctx.saved_tensors[0]

Forward records nothing, so what it has computed on the way is a constant to the backward, though it depends on the
inputs; a second derivative would lack that part. So in a backward that is recorded forward runs again, recording, and
what it keeps then has its place in the graph. Where that cannot be done (forward leaves for NumPy, draws random
numbers, has written into its inputs, or these are gone) a second derivative that needs the place is an error.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from pullback.autograd.basic_nodes import DelayedError, Error
from pullback.autograd.function.reads import (
    Cuts,
    Draws,
    all_numbers,
    as_differences,
    is_apart,
    is_plain,
    reads_outside,
    unseen,
)
from pullback.core import cuts
from pullback.core.errors import GradientError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, wrap
from pullback.core.version import version_of
from pullback.graph.node import Node, edge_to
from pullback.graph.snapshot import MANY


class Intermediates:
    """Which of the tensors that a node keeps are intermediate results, what else it keeps, and of which arguments."""

    __slots__ = ("agreed", "args", "dirty", "names", "others", "places", "unseen", "versions")

    def __init__(self, places: list[int], names: list[str], others: list[str], args: Sequence[Any], ctx: Any) -> None:
        self.places, self.names = places, names  # among what was given to save_for_backward; attributes of ctx
        self.others = others  # attributes of ctx, no tensors, that may depend on the arguments all the same
        self.args: list[Any] | None = [_reference(x) for x in args]
        self.dirty = bool(ctx._dirty)
        self.versions = [version_of(x) if isinstance(x, Tensor) else 0 for x in args]
        self.agreed: bool | None = None
        self.unseen: dict[bool, str | None] = {}  # see `Intermediates.reads`

    def arguments(self) -> list[Any] | None:
        """The arguments of forward, if they are all there."""
        if self.args is None:
            return None
        found = [x() if type(x) is weakref.ref else x for x in self.args]
        gone = any(x is None and type(kept) is weakref.ref for x, kept in zip(found, self.args, strict=True))
        return None if gone else found

    def unchanged(self) -> list[Any] | None:
        """The arguments of forward, if they are all there and as they were."""
        found = self.arguments()
        if found is None or self.dirty:
            return None
        pairs = zip(found, self.versions, strict=True)
        return found if all(not isinstance(x, Tensor) or version_of(x) == n for x, n in pairs) else None

    def reads(self, ctx: Any, outer: bool = False) -> str | None:
        """Say what backward reads that depends on the arguments unseen, found at the first call.

        `outer`: on those that transforms further out differentiate.
        """
        if outer not in self.unseen:
            self.unseen[outer] = unseen(ctx, self.arguments(), self.others, outer)
        return self.unseen[outer]

    def agrees(self, ctx: Any) -> bool:
        """True if the derivative of backward in the graph is that of differences, whatever it detaches."""
        if self.agreed is None:
            args = self.unchanged()
            self.agreed = args is not None and as_differences(ctx, args)
        return self.agreed


def _reference(x: Any) -> Any:
    large = isinstance(x, Tensor) and x._requires_grad and x.numel() > MANY  # is not kept alive for this
    return weakref.ref(x) if large else x


def intermediates(ctx: Any, args: Sequence[Any], outputs: Sequence[Any]) -> Intermediates | None:
    """Return what a forward has kept that is no input, no output and not their memory, and might depend on these."""
    ones = {i: x for i, x in enumerate(ctx._to_save) if isinstance(x, Tensor) and _is_one(x, ctx, args, outputs)}
    places = [i for i, x in ones.items() if not x._requires_grad]
    # What forward has set stands behind the node's own.
    names, others = _attributes(ctx, args, outputs) if len(ctx.__dict__) > ctx._own else ([], [])
    function = ctx._function
    if (outside := function.__dict__.get("_reads_outside")) is None:  # found once for each class
        outside = function._reads_outside = reads_outside(function._written()[-1])
    several = len(outputs) > 1 and any(x is y for x in ctx._to_save for y in outputs)
    if ones or names or others or several or outside:
        return Intermediates(places, names, others, args, ctx)
    return None


def _attributes(ctx: Any, args: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[str], list[str]]:
    """(names of attributes with such tensors, of those that may depend on the arguments where no graph sees it)."""
    names: list[str] = []
    others: list[str] = []
    for name, kept in islice(ctx.__dict__.items(), ctx._own, None):
        for x in flatten(kept)[0] if type(kept) in (list, tuple, dict) else (kept,):
            if not isinstance(x, Tensor):
                if not is_plain(x) and name not in others and not any(x is y for y in args):
                    others.append(name)
            elif _is_one(x, ctx, args, outputs):
                if (x._requires_grad or ctx._outer) and name not in others:
                    others.append(name)
                if not x._requires_grad and name not in names:
                    names.append(name)
    return names, others


def _is_one(x: Tensor, ctx: Any, args: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """True if a constant is no input and no output; a view of one is made without recording, as all else there."""
    if x._level > ctx._level or x._array.dtype.kind not in "fc":
        return False
    return not any(x is y for y in (*args, *outputs)) or any(x is y for y in ctx._non_differentiable)


def run_followed(ctx: Any, *grads: Any, backward: Callable[..., Any]) -> Any:
    """`backward(ctx, *grads)`, recording, with the intermediate results in their places in the graph.

    Where it depends on the inputs, or on its gradients, in a way that the graph does not see, a derivative of its
    results is an error.
    """
    edges = (*ctx.edges(), *map(edge_to, grads))
    kept, watch = ctx._intermediates, Cuts(ctx._level, edges)
    watched = functools.partial(watch.watch, backward)
    results = watched(ctx, *grads) if kept is None else _with_places(ctx, *grads, backward=watched)
    if ctx._function.double_backward == "exact" or hasattr(ctx._function._written()[-1], "once") or is_apart():
        return results
    why = None if kept is None else kept.reads(ctx)
    if why is not None:
        edges = ctx.edges()
    elif watch.found and (kept is None or not kept.agrees(ctx)):
        why = watch.found
    if why is None:
        return results
    message = _message(ctx, why)
    found = tuple(guarded(x, message, edges) for x in (results if isinstance(results, tuple) else (results,)))
    return found if isinstance(results, tuple) else found[0]


def run_nested(ctx: Any, *grads: Any, backward: Callable[..., Any]) -> Any:
    """`backward(ctx, *grads)`, where transforms further out differentiate: an error if one would lack a part."""
    kept, watch = ctx._intermediates, Cuts(max(ctx._outer))
    results = watch.watch(backward, ctx, *grads)
    if ctx._function.double_backward != "exact" and not is_apart():
        why = watch.found or (None if kept is None else kept.reads(ctx, outer=True))
        if why is not None:
            raise GradientError(_message(ctx, why))
    return results


def _message(ctx: Any, why: str) -> str:
    function = ctx._function
    or_so = (
        f'; or, where this is a constant, say so: double_backward = "exact" in the class {function.__name__}'
        if isinstance(function, type)
        else ""
    )
    return (
        f"trying to differentiate twice through {ctx.name()}, whose backward {why}: the second derivative would lack "
        "a part. Save the inputs (ctx.save_for_backward) and compute it from them in backward; mark backward with "
        f"@once_differentiable{or_so}."
    )


class Guarded(Node):
    """Passes a gradient on, and to an `Error` node, which raises where it is on the way to what is asked for."""

    __slots__ = ()

    def apply(self, ops: Any, grad: Any, unpack: Any) -> Sequence[Any]:
        return grad, grad


def guarded(x: Any, message: str, edges: Sequence[Any]) -> Any:
    """A gradient, of which a derivative towards these edges raises."""
    if not isinstance(x, Tensor) or x.dtype.kind not in "fc":
        return x
    error = Error(message, edges)
    error._shape, error._dtype = x.shape, x.dtype
    out = wrap(x._array, x._level)
    out._fn, out._requires_grad = Guarded((edge_to(x), error), x.shape, x.dtype), True
    return out


def _with_places(ctx: Any, *grads: Any, backward: Callable[..., Any]) -> Any:
    kept = ctx._intermediates
    if not (kept.places or kept.names):
        return backward(ctx, *grads)
    fresh, is_cut = _forward_again(ctx, kept.unchanged())
    before = {name: ctx.__dict__[name] for name in kept.names if name in ctx.__dict__}

    def followed(old: Any, new: Any) -> Any:
        if new is old or (isinstance(new, Tensor) and not new._requires_grad and not is_cut):
            return old
        if isinstance(new, Tensor) and new._requires_grad and _same(old, new):
            return new
        return old if ctx._function.double_backward == "exact" else _refused(ctx, old)

    try:
        for name, old in before.items():
            leaves, structure = flatten(old)
            again, other = flatten(None if fresh is None else fresh.__dict__.get(name))
            if other != structure:
                again = [None] * len(leaves)
            pairs = zip(leaves, again, strict=True)
            ctx.__dict__[name] = unflatten(
                structure, [followed(x, y) if isinstance(x, Tensor) else x for x, y in pairs]
            )
        saved = {i: None if fresh is None else fresh._to_save[i] for i in kept.places}
        ctx._again = {i: lambda old, new=new: followed(old, new) for i, new in saved.items()}
        return backward(ctx, *grads)
    finally:
        ctx._again = None
        ctx.__dict__.update(before)


def _forward_again(ctx: Any, args: list[Any] | None) -> tuple[Any, bool]:
    """(the ctx of another run of forward, which has recorded, or None, whether that has left the graph somewhere)."""
    if args is None:
        return None, True
    function = ctx._function
    fresh, run = ctx._like(function, args), cuts.Run(ctx._level)
    try:
        with Draws():
            run.watch(function._run_forward, fresh, tuple(args))
    except Exception:  # noqa: BLE001 - it may do what cannot be recorded
        return None, True
    return fresh, bool(run.cuts)


def exchanged(ctx: Any, outputs: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a forward that has the ctx of one level, with the derivatives further out that its rule gives.

    `found` is what the same Function has returned there; forward ran on the tensors of the level for what it keeps.
    """
    for old, new in zip(outputs, found, strict=True):
        if isinstance(old, Tensor) and not (isinstance(new, Tensor) and _same(old, new)):
            raise GradientError(
                f"{ctx.name()}: forward(ctx, ...) runs once for each transform that differentiates, and has not "
                "returned the same again (random numbers that are not pullback's, a counter). Write forward without "
                "ctx, and setup_context: it runs once then."
            )
    pairs = [(old, new) for old, new in zip(outputs, found, strict=True) if isinstance(old, Tensor)]

    def now(x: Any) -> Any:
        return next((new for old, new in pairs if old is x), x)

    ctx._to_save, ctx._for_forward, ctx._non_differentiable = (
        tuple(map(now, kept)) for kept in (ctx._to_save, ctx._for_forward, ctx._non_differentiable)
    )
    for name, x in list(islice(ctx.__dict__.items(), ctx._own, None)):
        ctx.__dict__[name] = now(x)
    return tuple(map(now, outputs))


def _same(old: Any, new: Any) -> bool:
    a, b = all_numbers(old), all_numbers(new)
    return a is not None and b is not None and np.array_equal(a, b, equal_nan=True)


def _refused(ctx: Any, old: Any) -> Any:
    error = DelayedError(
        f"trying to differentiate twice through {ctx.name()}, whose forward keeps an intermediate result (shape "
        f"{tuple(old.shape)}) that its backward takes for a constant, and it cannot be found how that depends on the "
        "inputs: forward leaves for NumPy, draws random numbers, writes into its inputs, or they are gone. Save the "
        "inputs and compute it from them in backward; give a constant as an argument of apply, or mark backward with "
        "@once_differentiable.",
        ctx.edges(),
    )
    return error(old)
