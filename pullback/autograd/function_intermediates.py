"""Finds what a custom Function's forward keeps beside inputs and outputs, where its backward is itself recorded.

    forward:  ctx.save_for_backward(3 * x * x)        backward:  return grad * ctx.saved_tensors[0]

Forward records nothing, so what it has computed on the way is a constant to the backward, though it depends on the
inputs; a second derivative would lack that part. So in a backward that is recorded forward runs again, recording, and
what it keeps then has its place in the graph. Where that cannot be done (forward leaves for NumPy, draws random
numbers, has written into its inputs, or these are gone) a second derivative that needs the place is an error.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from pullback.arrays.numpy.random.draws import default_generator
from pullback.autograd.basic_nodes import DelayedError
from pullback.core import cuts
from pullback.core.array_type import array_type, innermost, numbers_of
from pullback.core.errors import GradientError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.core.version import version_of
from pullback.graph.snapshot import MANY


class Intermediates:
    """Which of the tensors that a node keeps are intermediate results, and of which arguments."""

    __slots__ = ("args", "names", "places", "versions")

    def __init__(self, places: list[int], names: list[str], args: Sequence[Any], dirty: bool) -> None:
        self.places, self.names = places, names  # among what was given to save_for_backward; attributes of ctx
        self.args = None if dirty else [_reference(x) for x in args]
        self.versions = [version_of(x) if isinstance(x, Tensor) else 0 for x in args]

    def arguments(self) -> list[Any] | None:
        """The arguments of forward, if they are all there and as they were."""
        if self.args is None:
            return None
        found = [x() if type(x) is weakref.ref else x for x in self.args]
        gone = any(x is None and type(kept) is weakref.ref for x, kept in zip(found, self.args, strict=True))
        same = gone or all(
            not isinstance(x, Tensor) or version_of(x) == n for x, n in zip(found, self.versions, strict=True)
        )
        return None if gone or not same else found


def _reference(x: Any) -> Any:
    large = isinstance(x, Tensor) and x._requires_grad and x.numel() > MANY  # is not kept alive for this
    return weakref.ref(x) if large else x


def intermediates(ctx: Any, args: Sequence[Any], outputs: Sequence[Any]) -> Intermediates | None:
    """Return what a forward has kept that is no input, no output and not their memory, and might depend on these."""
    places: list[int] = []
    names: list[str] = []
    for i, x in enumerate(ctx._to_save):
        if isinstance(x, Tensor) and not x._requires_grad and _is_one(x, ctx, args, outputs):
            places.append(i)
    if len(ctx.__dict__) > ctx._own:  # what forward has set stands behind the node's own
        for name, kept in islice(ctx.__dict__.items(), ctx._own, None):
            for x in flatten(kept)[0] if type(kept) in (list, tuple, dict) else (kept,):
                if isinstance(x, Tensor) and not x._requires_grad and _is_one(x, ctx, args, outputs):
                    names.append(name)
                    break
    return Intermediates(places, names, args, bool(ctx._dirty)) if places or names else None


def _is_one(x: Tensor, ctx: Any, args: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """True if a constant is no input and no output; a view of one is made without recording, as all else there."""
    if x._level != ctx._level or x._array.dtype.kind not in "fc":
        return False
    return not any(x is y for y in (*args, *outputs))


def run_followed(ctx: Any, *grads: Any, backward: Callable[..., Any]) -> Any:
    """`backward(ctx, *grads)`, recording, with the intermediate results in their places in the graph."""
    kept = ctx._intermediates
    fresh, is_cut = _forward_again(ctx, kept.arguments())
    before = {name: ctx.__dict__[name] for name in kept.names if name in ctx.__dict__}

    def followed(old: Any, new: Any) -> Any:
        if new is old or (isinstance(new, Tensor) and not new._requires_grad and not is_cut):
            return old
        return new if isinstance(new, Tensor) and new._requires_grad and _same(old, new) else _refused(ctx, old)

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
    fresh, run = function._backward_cls(function, ctx._level, args), cuts.Run(ctx._level)
    try:
        with Draws():
            run.watch(function._run_forward, fresh, tuple(args))
    except Exception:  # noqa: BLE001 - it may do what cannot be recorded
        return None, True
    return fresh, bool(run.cuts)


class Draws:
    """Inside, random numbers come as they did when this was made; outside, as if nothing had been drawn inside."""

    def __init__(self) -> None:
        self.generator: Any = default_generator().bit_generator
        self.state = self.generator.state

    def __enter__(self) -> None:
        self.state, self.generator.state = self.generator.state, self.state

    def __exit__(self, *_: object) -> None:
        self.generator.state = self.state


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
    a, b = _numbers(old), _numbers(new)
    return a is not None and b is not None and np.array_equal(a, b, equal_nan=True)


def _numbers(x: Any) -> Any:
    """The numbers at the bottom of `x`, those of all samples if it is batched."""
    bottom = innermost(x)
    if not array_type(bottom).many:
        return numbers_of(bottom)
    ((_, holder, name),) = array_type(bottom).components(bottom)
    return _numbers(getattr(holder, name))


def _refused(ctx: Any, old: Any) -> Any:
    error = DelayedError(
        f"trying to differentiate twice through {ctx.name()}, whose forward keeps an intermediate result (shape "
        f"{tuple(old.shape)}) that its backward takes for a constant, and it cannot be found how that depends on the "
        "inputs: forward leaves for NumPy, draws random numbers, writes into its inputs, or they are gone. Save the "
        "inputs and compute it from them in backward; give a constant as an argument of apply, or mark backward with "
        "@once_differentiable.",
        ctx.edges(),
    )
    return error(old)[0]
