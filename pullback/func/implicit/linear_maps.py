"""The derivative of a function of leaves at a point, as a linear map: pushed along, or pulled back many times.

Points, tangents and cotangents are lists of leaves: ndarrays, numbers, or Tensors that are being differentiated further
out, at whose levels everything here is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.autograd.engine.execution import execute
from pullback.core import cuts, modes
from pullback.core.array_face import wrap_array
from pullback.core.array_type import array_type, numbers_of
from pullback.core.tensor import Tensor, ndarray, new_extra
from pullback.func import forward
from pullback.func.rules.calls import levels_of, stripped
from pullback.graph.kept_values import reached
from pullback.graph.node import edge_to

Leaves: TypeAlias = "list[Any]"
Map: TypeAlias = Callable[[Leaves], Leaves]


class Linearized:
    """A function of leaves that ran once at a point: its values, and cotangents pulled back as often as is wanted."""

    def __init__(self, function: Map, points: Sequence[Any]) -> None:
        before = modes.current()
        self.state = state = _at_level_of(points).deeper().differentiating()
        self.points = points
        self.variables = [_variable(p, state.level) for p in points]
        self.run = cuts.Run(state.level)
        try:
            modes.restore(self.state)
            self.outputs = self.run.watch(function, self.variables)
        finally:
            modes.restore(before)
        if cuts.WATCHED:
            cuts.note_derivative(points)

    @property
    def values(self) -> Leaves:
        """The values of the function, one level out."""
        return [y._array if self._is_own(y) else y for y in self.outputs]

    def pull(self, cotangents: Sequence[Any], again: bool = False) -> Leaves:
        """The cotangents of the points; `again` if others are to be pulled back later."""
        level = self.state.level
        roots: list[Any] = []
        for y, cotangent in zip(self.outputs, cotangents, strict=True):
            if self._is_own(y) and y._requires_grad:
                inside: Any = y._array
                roots.append((edge_to(y), array_type(inside).root_gradient(y, beside(inside, cotangent))))
        before = modes.current()
        try:
            modes.restore(self.state)
            if roots:
                execute(roots, level=level, keep_graph=again)
            grads = [variable._extra.grad for variable in self.variables]  # type: ignore[union-attr]  # a leaf has one
        finally:
            modes.restore(before)
            for variable in self.variables:  # the gradient may lead to it, at a level further out
                variable._extra.grad = None  # type: ignore[union-attr]
        return [zeros(p) if g is None else g._array for p, g in zip(self.points, grads, strict=True)]

    def depends(self) -> bool:
        """True if the function depends on one of the points at all."""
        edges: list[Any] = [edge_to(y) for y in self.outputs if self._is_own(y) and y._requires_grad]
        nodes, leaves = reached([edge.node() for edge in edges]), (edge_to(variable) for variable in self.variables)
        return any(leaf.node() in nodes for leaf in leaves)  # type: ignore[union-attr]  # a leaf has one

    def _is_own(self, y: Any) -> bool:
        return isinstance(y, Tensor) and y._level == self.state.level


def push(function: Map, points: Sequence[Any], tangents: Sequence[Any]) -> Leaves:
    """The tangents of the values of a function of leaves, along tangents of the points."""
    return value_and_push(function, points, tangents)[1]


def value_and_push(function: Map, points: Sequence[Any], tangents: Sequence[Any]) -> tuple[Leaves, Leaves]:
    """(the values of a function of leaves, their tangents along tangents of the points)."""
    bare = [p if isinstance(p, Tensor) and numbers_of(p) is None else stripped(p) for p in points]
    points = [p if isinstance(p, Tensor) else np.asarray(p) for p in bare]
    directions = [t if isinstance(t, Tensor) else np.asarray(t, p.dtype) for p, t in zip(points, tangents, strict=True)]

    def of_leaves(*leaves: Any) -> tuple[Any, ...]:
        return tuple(function([*leaves]))

    before = modes.current()
    try:
        modes.restore(_at_level_of([*points, *directions]))
        values, moved = forward.push("jvp", of_leaves, tuple(points), tuple(directions), warns=False)
        return list(values), list(moved)
    finally:
        modes.restore(before)


def restricted(function: Map, leaves: Sequence[Any], free: Sequence[int]) -> Map:
    """The function of those leaves alone whose numbers are in `free`; the others stay as they are."""
    return lambda values: function(replaced(leaves, free, values))


def replaced(leaves: Sequence[Any], numbers: Sequence[int], values: Sequence[Any]) -> Leaves:
    """The leaves with these values in the places of these numbers."""
    every = [*leaves]
    for i, value in zip(numbers, values, strict=True):
        every[i] = value
    return every


def zeros(x: Any) -> Any:
    """Zeros of the shape and dtype of a leaf."""
    return np.zeros(np.shape(x), x.dtype if hasattr(x, "dtype") else np.result_type(x))


def beside(point: Any, cotangent: Any) -> Any:
    """A cotangent that can flow at the place of an array: a constant among Tensors is one of them."""
    if isinstance(cotangent, Tensor):
        return cotangent
    plain = np.array(cotangent, point.dtype)
    return wrap_array(plain, point._level) if isinstance(point, Tensor) else plain


def _at_level_of(points: Sequence[Any]) -> modes.Modes:
    """The modes, at the level of the innermost Tensor among these or further in."""
    state, depth = modes.current(), max((x._level for p in points for x in levels_of(p)), default=0)
    while state.level < depth:
        state = state.deeper()
    return state


def _variable(point: Any, level: int) -> Tensor:
    """A leaf of `level` around a point, with NumPy's face."""
    array: Any = point if isinstance(point, Tensor) or type(point) is ndarray else np.asarray(point)
    variable: Any = wrap_array(array, level, not array.shape)
    variable._requires_grad, variable._extra = True, new_extra()
    return variable  # type: ignore[no-any-return]
