"""The simplest rules of maps, by the names that all who use them give to the map."""

from __future__ import annotations

from typing import Any


def copy(c: Any, t: Any, x: Any) -> Any:
    """x."""
    return x


def fill(c: Any, t: Any, x: Any) -> Any:
    """A number everywhere."""
    return c.number(x, t)


def number(c: Any, t: Any, x: Any) -> Any:
    """1 for true, 0 for false."""
    return c.sel(x, c.number(1.0, t), 0.0)


def whole(c: Any, t: Any, x: Any) -> Any:
    """A float that is a whole number as one of these."""
    return c.toint(x)


def add(c: Any, t: Any, a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


def sub(c: Any, t: Any, a: Any, b: Any) -> Any:
    """a - b."""
    return a - b


def mul(c: Any, t: Any, a: Any, b: Any) -> Any:
    """a b."""
    return a * b


def div(c: Any, t: Any, a: Any, b: Any) -> Any:
    """a / b."""
    return a / b


def neg(c: Any, t: Any, x: Any) -> Any:
    """-x."""
    return -x
