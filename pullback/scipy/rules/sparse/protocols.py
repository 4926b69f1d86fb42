"""Protocols of what the kernels are given beside arrays: how a system is solved, and how eigenpairs are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pullback.scipy.rules.sparse.pattern import Pattern

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.types import Compressed

PlainArray = np.ndarray[Any, Any]


class Method(Protocol):
    """Protocol of how a linear system is solved: see `solvers`."""

    @property
    def adjoint(self) -> Method: ...

    @property
    def again(self) -> Method: ...

    def solve(self, values: PlainArray, pattern: Pattern, b: PlainArray) -> PlainArray:
        """The solution of A x = b."""
        ...


class Solver(Protocol):
    """Protocol of how eigenpairs are found: see `eigenpairs`."""

    @property
    def pairs(self) -> Callable[[Compressed], tuple[PlainArray, PlainArray]]: ...
