"""Views of arrays without strides, followed by replay: the operators that made the view run again, or their adjoints.

With strides, a view is known by its position in the memory of its base (`view_geometry.py`). An array that is a value
without memory (a traced one, a task graph) has no positions; a view of it keeps its steps, the operators that lead
to it from its base. Applied to a gradient of the base, the steps give the view's part; their adjoints, in reverse
order, put a gradient of the view into zeros of the base's shape. Since such an array is replaced and not written into,
the same two maps carry what was written into a view to its base, and from there to the other views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pullback.core import modes
from pullback.core.array_type import NUMPY, TENSOR, array_type, kernel_for, table_of
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor, inside_tensors, ndarray, wrap
from pullback.core.types import DType, Gradient, RawArray, Shape
from pullback.core.version import bump
from pullback.graph.fitting import complex_of_pairs, sum_to_shape, to_dtype
from pullback.graph.node import Edge
from pullback.graph.view import ViewStep, live_views

Steps: TypeAlias = tuple[ViewStep, ...]
PutBack: TypeAlias = Callable[[Gradient], Gradient]


class _Forced(Observer):
    replays_views = True


class force_replay(modes.ModeSwitch):
    """Context manager for tests: views made inside are followed by replay, although their arrays have strides."""

    def _changed(self, modes: modes.Modes) -> modes.Modes:
        return modes.with_observer(_Forced())


class Replay:
    """The part of a base that a view shows, known by the steps from one to the other."""

    __slots__ = ("_dtype", "_shape", "_steps", "_view_dtype", "_view_shape")

    def __init__(self, base: Any, view: Any, steps: Steps) -> None:
        self._steps = steps
        self._shape: Shape = base.shape
        self._dtype: DType = base.dtype
        self._view_shape: Shape = view.shape
        self._view_dtype: DType = view.dtype

    def extract(self, grad: Gradient, ops: Any) -> tuple[Gradient, PutBack]:
        """The view's part of a gradient of the base, and a function that gives the whole with another part there."""

        def put_back(part: Gradient) -> Gradient:
            shown = self._shown()
            if part is None:
                part = ops.zeros(self._view_shape, dtype=self._view_dtype)
            laid = self.embed(part, ops)
            if shown.all():
                return laid
            if shown.shape == self._shape:
                return ops.where(shown, laid, grad)
            return complex_of_pairs(ops.where(shown, ops.view_as_real(laid), ops.view_as_real(grad)), ops)

        return self.again(grad, ops), put_back

    def embed(self, part: Gradient, ops: Any) -> Gradient:
        """A gradient of the view in its places in zeros of the base's shape, summed where places are shown twice."""
        for step in reversed(self._steps):
            part = _apply(step, part, ops) if step.inverse else _apply_adjoint(step, part, ops)
        return part

    def again(self, x: Any, ops: Any) -> Any:
        """The view of `x`, which looks like the base."""
        for step in self._steps:
            x = _apply_adjoint(step, x, ops) if step.inverse else _apply(step, x, ops)
        return x

    def _shown(self) -> ndarray:
        """Which elements of the base the view shows; for its real and imaginary parts apart where only one is shown."""
        # The sum of ones is positive wherever anything is laid down: a complex one has a 1 in either part.
        one = 1 + 1j if self._view_dtype.kind == "c" else 1.0
        laid = NUMPY.contiguous(self.embed(np.full(self._view_shape, one), NUMPY))
        if laid.dtype.kind != "c":
            return laid != 0  # type: ignore[no-any-return]
        parts = NUMPY.view_as_real(laid) != 0
        return parts[..., 0] if (parts[..., 0] == parts[..., 1]).all() else parts  # type: ignore[no-any-return]

    def record(self, base: Tensor, edge: Edge) -> Edge:
        """The function of the view, made again from `edge`, the base's."""
        source = wrap(base._array, base._level)
        source._fn, source._requires_grad = edge, True
        source._counter = base._counter
        # Looked on by nobody: no step of the user's program runs here.
        before = modes.set_modes(modes.current().with_recording(True, base._level).with_observers(()))
        try:
            return self.again(source, TENSOR)._fn  # type: ignore[no-any-return]
        finally:
            modes.restore(before)


def _apply(step: ViewStep, x: Any, ops: Any) -> Any:
    """The step's view of `x`."""
    kernel = step.op.kernel
    if kernel == "view_as_complex":
        x = ops.contiguous(x)
    elif kernel == "view":  # what was possible on the strides of the original need not be on those of a gradient
        kernel = "reshape"
    shown = kernel_for((x,), kernel)(x, *step.args)  # formulas may be given a table that has no kernels
    return shown if step.nr is None else shown[step.nr]


def _kept(saved: Any, version: Any, node: Any) -> Any:
    """The index that the node of a view reads in its formula; it keeps no tensor."""
    return saved


def _apply_adjoint(step: ViewStep, g: Any, ops: Any) -> Any:
    """The adjoint of the step: what its node does, which needs nothing but the shapes."""
    probe = np.empty(step.shape, np.complex128 if step.dtype.kind == "c" else np.float64)
    source = wrap(probe)
    if step.nr is None:
        out = wrap(probe)
        step.op.record(out, source, *step.args)  # every view operator has a derivative
        node = out._fn
        (g,) = node.apply(ops, g, _kept)
    else:
        outs = tuple(wrap(o) for o in NUMPY.kernels[step.op.kernel](probe, *step.args))
        step.op.record(outs, source, *step.args)
        node = outs[step.nr]._fn.node()
        grads = [ops.zeros(o.shape, dtype=g.dtype) for o in outs]
        grads[step.nr] = g
        (g,) = node.apply(ops, grads if len(grads) > 1 else g, _kept)
    if g.shape != step.shape:
        g = sum_to_shape(g, step.shape, node, node, ops)
    return to_dtype(g, step.dtype, ops)


def spread_write(target: Tensor) -> None:
    """The array of `target`, one without memory, was replaced: let the tensors that share its values have them."""
    extra: Any = target._extra
    if extra is None:
        return
    base = extra.base if extra.base is not None and extra.base._counter is target._counter else target
    if base is not target and extra.steps is not None:
        raw = inside_tensors(base)
        _, put_back = Replay(raw, target._array, extra.steps).extract(raw, table_of((raw,)))
        _replace(base, put_back(target._array))
    raw = inside_tensors(base)
    for view in live_views(base):
        steps = view._extra.steps  # type: ignore[union-attr]  # every view has an Extra
        if view is not target and steps is not None:
            _replace(view, Replay(raw, view._array, steps).again(raw, table_of((raw,))))


def _replace(tensor: Tensor, value: RawArray) -> None:
    """Give `tensor` other values, at the bottom of its levels."""
    inner = tensor._array
    if not isinstance(inner, Tensor):
        tensor._array = array_type(inner).replaced(inner, value)
        return
    _replace(inner, value)
    bump(inner, "a write into a view")
    spread_write(inner)


def follow_base(base: Tensor, steps: Steps | None) -> None:
    """`base` itself has become the view of what it was that `steps` lead to: its views begin with the way back."""
    for view in live_views(base):
        extra: Any = view._extra
        if extra.steps is not None:
            back = None if steps is None else tuple(s._replace(inverse=not s.inverse) for s in reversed(steps))
            extra.steps = None if back is None else (*back, *extra.steps)
