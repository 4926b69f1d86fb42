"""Helpers that the formulas of declarations.yaml call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.numpy_types import AnyArray

if TYPE_CHECKING:
    from pullback.scipy.rules.types import Operators


def flipped(x: AnyArray, dims: int, *, ops: Operators) -> AnyArray:
    """The array backwards in its last dimensions."""
    return ops.flip(x, tuple(range(x.ndim - dims, x.ndim)))


def padded_around(x: AnyArray, shape: tuple[int, ...], dims: int, *, ops: Operators) -> AnyArray:
    """Zeros around, one less than `shape` on either side, so that a kernel of this shape meets each element wholly."""
    return ops.pad(x, [width for n in reversed(shape[len(shape) - dims :]) for width in (n - 1, n - 1)])


def moving_sum_jvp(x: AnyArray, x_t: AnyArray, b: AnyArray, b_t: AnyArray, *, ops: Operators) -> AnyArray:
    """The product rule; tangents that are None are zero."""
    moving_sum = ops.scipy_signal.moving_sum
    return _both(x_t if x_t is None else moving_sum(x_t, b), b_t if b_t is None else moving_sum(x, b_t))


def recursion_jvp(x_t: AnyArray, a: AnyArray, a_t: AnyArray, result: AnyArray, *, ops: Operators) -> AnyArray:
    """A^-1 (dx - dA y)."""
    driven = a_t if a_t is None else -ops.scipy_signal.moving_sum(result, a_t)
    return ops.scipy_signal.recursion(_both(x_t, driven), a)


def lagged_products_jvp(
    x: AnyArray, x_t: AnyArray, y: AnyArray, y_t: AnyArray, lags: int, *, ops: Operators
) -> AnyArray:
    """The product rule."""
    products = ops.scipy_signal.lagged_products
    return _both(x_t if x_t is None else products(x_t, y, lags), y_t if y_t is None else products(x, y_t, lags))


def correlated_jvp(x: AnyArray, x_t: AnyArray, w: AnyArray, w_t: AnyArray, dims: int, *, ops: Operators) -> AnyArray:
    """The product rule."""
    correlated = ops.scipy_signal.correlated
    return _both(x_t if x_t is None else correlated(x_t, w, dims), w_t if w_t is None else correlated(x, w_t, dims))


def _both(a: AnyArray, b: AnyArray) -> AnyArray:
    return b if a is None else a if b is None else a + b
