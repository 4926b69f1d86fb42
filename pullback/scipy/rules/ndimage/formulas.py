"""Helpers that the formulas of declarations.yaml call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pullback.core.numpy_types import AnyArray

if TYPE_CHECKING:
    from pullback.scipy.rules.types import Operators


def gradients(
    coefficients: AnyArray, places: AnyArray, order: int, mode: str, slopes: Sequence[int], *, ops: Operators
) -> AnyArray:
    """The slopes along all dimensions, stacked first."""
    values = ops.scipy_ndimage.spline_values
    return ops.stack([values(coefficients, places, order, mode, _steeper(slopes, i)) for i in range(len(slopes))])


def sum_of_grids(x: AnyArray, *, ops: Operators) -> AnyArray:
    """Of what each grid gives, stacked behind the rows of the places, the sum: all grids have the same places."""
    return ops.sum(x, tuple(range(1, x.ndim - 1))) if x.ndim > 2 else x


def values_jvp(
    c: AnyArray,
    c_t: AnyArray | None,
    places: AnyArray,
    places_t: AnyArray | None,
    order: int,
    mode: str,
    slopes: Sequence[int],
    *,
    ops: Operators,
) -> AnyArray | None:
    """The values of the tangent, and the slopes times the movement."""
    moved = None
    if places_t is not None:
        values = ops.scipy_ndimage.spline_values
        parts = [values(c, places, order, mode, _steeper(slopes, i)) * places_t[i] for i in range(len(slopes))]
        moved = sum(parts[1:], parts[0])
    if c_t is None:
        return moved
    own = ops.scipy_ndimage.spline_values(c_t, places, order, mode, slopes)
    return own if moved is None else own + moved


def spread_jvp(
    x: AnyArray,
    x_t: AnyArray,
    places: AnyArray,
    places_t: AnyArray,
    shape: tuple[int, ...],
    order: int,
    mode: str,
    slopes: Sequence[int],
    *,
    ops: Operators,
) -> AnyArray:
    """The spread of the tangent, and each element spread by the slope along which its place moves."""
    spread = ops.scipy_ndimage.spline_spread
    parts = [] if x_t is None else [spread(x_t, places, shape, order, mode, slopes)]
    if places_t is not None:
        parts += [spread(x * places_t[i], places, shape, order, mode, _steeper(slopes, i)) for i in range(len(slopes))]
    return sum(parts[1:], parts[0])


def _steeper(slopes: Sequence[int], dim: int) -> list[int]:
    return [n + (i == dim) for i, n in enumerate(slopes)]
