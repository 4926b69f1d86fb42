"""Choices between numbers, by NumPy's rules for NaN."""

from __future__ import annotations

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.floats import is_nan


def maximum(c: Code, x: Value, y: Value) -> Value:
    """The larger one; NaN if one of them is."""
    return c.sel((x > y) | is_nan(c, x), x, y)


def minimum(c: Code, x: Value, y: Value) -> Value:
    """The smaller one; NaN if one of them is."""
    return c.sel((x < y) | is_nan(c, x), x, y)


def fmax(c: Code, x: Value, y: Value) -> Value:
    """The larger one; the other one if one is NaN."""
    return c.sel((x > y) | is_nan(c, y), x, y)


def fmin(c: Code, x: Value, y: Value) -> Value:
    """The smaller one; the other one if one is NaN."""
    return c.sel((x < y) | is_nan(c, y), x, y)


def sign(c: Code, x: Value) -> Value:
    """-1, 0 or 1, or NaN."""
    return c.sel(x > 0.0, 1.0, c.sel(x < 0.0, -1.0, c.sel(x.eq(0.0), c.like(0.0, x), x)))


def heaviside(c: Code, x: Value, at_zero: Value) -> Value:
    """0 below 0, 1 above, `at_zero` at 0; NaN of NaN."""
    return c.sel(x.eq(0.0), at_zero, c.sel(x > 0.0, 1.0, c.sel(x < 0.0, c.like(0.0, x), x)))
