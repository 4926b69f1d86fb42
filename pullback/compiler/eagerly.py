"""The stand-in for the result of a call that the function itself must do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pullback.compiler.places import Place
from pullback.compiler.variants import Variants


class Eagerly(NamedTuple):
    """Stands for the result of a call that the function itself must do; then `variants` are given up, if any.

    `beside` takes what the function gives, how long it has taken, and its arguments, and gives the result.
    """

    variants: Variants | None = None
    why: str = ""
    place: Place | None = None
    beside: Callable[[Any, float, Any], Any] | None = None


EAGERLY: Final = Eagerly()
