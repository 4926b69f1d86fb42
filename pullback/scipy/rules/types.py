"""Types of what formulas are given, for annotations."""

from __future__ import annotations

from typing import Protocol

from pullback.core.numpy_types import ArrayOperators


class Operators(ArrayOperators, Protocol):
    """Protocol of the table of operators, with those of the areas whose formulas name them."""

    @property
    def scipy_ndimage(self) -> ArrayOperators: ...

    @property
    def scipy_signal(self) -> ArrayOperators: ...
