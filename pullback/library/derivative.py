"""The derivatives of a custom operator: what its author registers, as the node and the tangent rule of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from pullback.autograd.function.arrays import differentiated_inside, named
from pullback.autograd.function.node import FunctionNode
from pullback.autograd.function.outputs import finish
from pullback.core import modes
from pullback.core.array_face import as_array, shown_as_tensors
from pullback.core.array_type import SCALARS, TENSOR
from pullback.core.errors import GradientError, with_article
from pullback.core.tensor import Tensor
from pullback.graph.node import edge_to
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.library.annotations import Signature
from pullback.library.kernel import Face, by_name, spread


class OperatorNode(FunctionNode):
    """The node of a custom operator, which is the ctx of its setup_context and backward."""

    _lists: tuple[int | None, ...]  # for each argument how many tensors it is a list of, or None

    def _like(self, function: Any, args: Sequence[Any]) -> Any:
        made = type(self)(function, self._level, tuple(args))
        made._lists, made._nexts = self._lists, self._nexts
        return made

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """As of a custom Function, with NumPy's face where the operator is written for ndarrays."""
        derivative: Any = self._function
        if derivative.setup_context is None:
            raise GradientError(
                f"{derivative.name}: its backward reads ctx.saved_tensors, and nothing saves any. Write "
                f"{derivative.name.rpartition('::')[2]}.register_autograd(backward, setup_context=setup_context) with "
                "def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)."
            )
        found = super().saved_tensors
        return tuple(as_array(x) if isinstance(x, Tensor) else x for x in found) if derivative.arrays else found


class Derivative:
    """The backward and the tangent of one operator. It stands where a node of a custom Function has the Function."""

    follows_intermediates, double_backward = True, None  # as of a custom Function

    def __init__(self, name: str, signature: Signature, function: Callable[..., Any]) -> None:
        self.function = function  # the operator as it is called
        self.name, self.signature, self.arrays = name, signature, bool(signature.arrays)
        self.__name__ = name
        self.setup_context: Callable[..., Any] | None = None
        self.pull: Callable[..., Any] | None = None  # the user's backward
        self.tangent: Callable[..., Any] | None = None
        camel = "".join(part[:1].upper() + part[1:] for part in name.partition("::")[2].split("_"))
        self.node = type(f"{camel}Backward0", (OperatorNode,), {"__slots__": (), "__module__": __name__})
        self.inputs = tuple(i for i, kind in enumerate(signature.kinds) if kind.startswith("Tensor"))

    # -- backward ----------------------------------------------------------------------------------------------------
    def record(self, out: Any, *args: Any) -> None:
        """Make a node the function of what was computed."""
        outputs = (out,) if isinstance(out, Tensor) else tuple(out)
        level = outputs[0]._level
        # A number in an array's place may be saved as an array can.
        args = tuple(np.asarray(x) if i in self.inputs and type(x) in SCALARS else x for i, x in enumerate(args))
        leaves = tuple(spread(args))
        ctx = self.node(self, level, leaves)
        ctx._lists = tuple(len(x) if type(x) in (list, tuple) else None for x in args)
        arrays = [a for i, x in enumerate(args) for a in [i in self.inputs] * (1 if ctx._lists[i] is None else len(x))]
        # A gradient for a constant array is no mistake, and leads nowhere.
        ctx._given_tensors = tuple(a and x is not None for a, x in zip(arrays, leaves, strict=True))
        edges = tuple(edge_to(x) for x in leaves)
        ctx._outer = differentiated_inside(leaves)
        before = modes.set_modes(modes.current().with_recording(False, level))
        try:
            self._set_up(ctx, args, leaves, out)
        finally:
            modes.restore(before)
        before = modes.set_modes(modes.current().with_observers(()))  # whom the operator tells of the node
        try:
            finish(ctx, leaves, outputs, edges, True)
        finally:
            modes.restore(before)

    def _set_up(self, ctx: OperatorNode, args: Sequence[Any], leaves: Sequence[Any], out: Any) -> None:
        if self.setup_context is None:
            return
        outputs = (out,) if isinstance(out, Tensor) else tuple(out)
        with shown_as_tensors((*leaves, *outputs)), self._seen_by_user(ctx):
            self.setup_context(ctx, tuple(args), list(outputs) if self.signature.outputs is None else out)
        ctx._to_save = named(ctx.name(), ctx._level, leaves, [], ctx._to_save, "save_for_backward")

    # -- what is asked of a custom Function: see autograd/function/reads.py ------------------------------------------
    def _written(self) -> tuple[Any, ...]:
        return self.setup_context, self.pull

    def _with(self, written: Sequence[Any]) -> Derivative:
        """The same with these in place of the author's setup_context and backward."""
        other = copy(self)
        other.setup_context, other.pull = written
        return other

    def _pull(self, pull: Any, ctx: OperatorNode, *grads: Any) -> Any:
        return self._with((self.setup_context, pull)).backward(ctx, *grads)

    def _run_forward(self, ctx: OperatorNode, leaves: Sequence[Any]) -> tuple[Any, ...]:
        args = tuple(_gathered(leaves, ctx._lists))
        out = by_name(self.function, self.signature, (), args)
        self._set_up(ctx, args, leaves, out)
        return (out,) if isinstance(out, Tensor) else tuple(out)

    @contextmanager
    def _seen_by_user(self, ctx: OperatorNode) -> Iterator[None]:
        """`needs_input_grad` has one entry for each argument inside, a list for a list."""
        flat = ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_gathered(flat, ctx._lists))
        try:
            yield
        finally:
            ctx.needs_input_grad = flat

    def backward(self, ctx: OperatorNode, *grads: Any) -> Any:
        """The gradients of all tensors among the arguments, by the user's backward."""
        if self.pull is None:
            raise self._underived("derivative for", "{}.register_autograd(backward, setup_context=setup_context)")
        given = [as_array(g) if self.arrays and g is not None else g for g in grads]
        with self._seen_by_user(ctx):
            found = self.pull(ctx, *([given] if self.signature.outputs is None else given))
        found = found if isinstance(found, tuple) else (found,)
        names = [p.name for p in self.signature.parameters]
        if len(found) != len(names):
            raise GradientError(
                f"the backward of {self.name} returned an incorrect number of gradients (expected {len(names)}, got "
                f"{len(found)}): it returns one for each argument ({', '.join(names)}), None for those without."
            )
        each = [g for about in zip(names, ctx._lists, found, strict=True) for g in self._each(*about)]
        return tuple(_fitting(g, edge) for g, edge in zip(each, ctx._nexts, strict=True))

    def _each(self, name: str, count: int | None, found: Any) -> Sequence[Any]:
        """The gradients of one argument: several of a list."""
        if count is None:
            return (found,)
        if found is None:
            return (None,) * count
        if not isinstance(found, (list, tuple)) or len(found) != count:
            raise GradientError(
                f"the backward of {self.name} returned {with_article(found)} as the gradient of {name!r}, a list of "
                f"{count}: return a list of {count} gradients, or None."
            )
        return found

    def _underived(self, what: str, missing: str) -> DerivativeNotImplementedError:
        """The error for a derivative that nobody has registered."""
        if self.signature.mutated:
            remedy = (
                f"It writes into {', '.join(self.signature.mutated)}: make an operator that returns the result, and "
                "register its derivative."
            )
        else:
            remedy = f"Write {missing.format(self.name.partition('::')[2])}."
        error = DerivativeNotImplementedError(self.name)
        error.args = (f"the {what} {self.name!r} is not implemented. {remedy}",)
        return error

    # -- forward mode ------------------------------------------------------------------------------------------------
    def push(self, *values: Any, ops: Any) -> tuple[Any, ...]:
        """The tangents of the results: a rule as `dispatch.tangent_rules.Rule` describes it."""
        if self.tangent is None:
            raise self._underived(
                "tangent of", "@{}.register_tangent above a function tangent(tangents, result, *args)"
            )
        left = iter(values)
        pairs = [(next(left), next(left) if i in self.inputs else None) for i in range(len(self.signature.kinds))]
        results = list(left)
        primals = [p for p, _ in pairs]
        face = Face(self.arrays, [*values, *spread(results)])
        tangents = tuple(face.show(_tangent(p, t, ops)) for p, t in pairs)
        result = face.show(results[0]) if self.signature.outputs == 1 else tuple(map(face.show, results))
        shown = [face.show(p) if i in self.inputs else p for i, p in enumerate(primals)]
        found = by_name(self.tangent, self.signature, (tangents, result), shown)
        outputs = results[0] if self.signature.outputs is None else results
        found = (found,) if self.signature.outputs == 1 else found
        called = f"the tangent of {self.name}"
        if not isinstance(found, (list, tuple)) or len(found) != len(outputs):
            raise GradientError(
                f"{called} must return {len(outputs)} tangents, one for each result, got {with_article(found)}."
            )
        moved = [self._taken(t, y, face, called) for t, y in zip(found, outputs, strict=True)]
        return (moved,) if self.signature.outputs is None else tuple(moved)

    def _taken(self, tangent: Any, result: Any, face: Face, called: str) -> Any:
        if tangent is None:
            return None
        raw = face.take(tangent, called)
        shape = np.shape(result)
        if np.shape(raw) != shape:
            raise GradientError(f"{called} has the shape {np.shape(raw)}, but the result has {shape}.")
        if _kind(raw) == "c" and _kind(result) != "c":
            raise GradientError(f"{called} is complex, but the result is real; return its real part.")
        return raw


def _fitting(gradient: Any, edge: Any) -> Any:
    """A gradient without its imaginary part where the argument is real, as the engine leaves it away of formulas."""
    if isinstance(gradient, Tensor) and edge is not None and gradient.dtype.kind == "c" and edge._dtype.kind != "c":
        return TENSOR.real(gradient)
    return gradient


def _kind(x: Any) -> str:
    return str((x if hasattr(x, "dtype") else np.asarray(x)).dtype.kind)


def _tangent(primal: Any, tangent: Any, ops: Any) -> Any:
    """A tangent as a user's function gets it: zeros where the argument does not move."""
    if type(primal) in (list, tuple):
        return [_tangent(p, t, ops) for p, t in zip(primal, tangent or [None] * len(primal), strict=True)]
    if tangent is not None or primal is None or _kind(primal) not in "fc":
        return tangent
    return ops.zeros_like(primal if hasattr(primal, "dtype") else np.asarray(primal))


def _gathered(flat: Sequence[Any], lists: Sequence[int | None]) -> Iterator[Any]:
    """The entries of a flat sequence by arguments, those of a list in a list."""
    left = iter(flat)
    for count in lists:
        yield next(left) if count is None else [next(left) for _ in range(count)]
