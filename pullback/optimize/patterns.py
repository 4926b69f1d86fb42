"""Decides from its pattern whether a derivative is computed as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.errors import GradientError, UnsupportedError
from pullback.func.boundary import Choice
from pullback.func.gradient import grad
from pullback.func.sparse.coloring import Coloring, color_hessian, color_jacobian
from pullback.func.sparse.derivatives import sparse_hessian, sparse_jacobian
from pullback.func.sparse.pattern import find, symmetric
from pullback.func.sparse.vectors import Chosen

FEW = 50  # parameters, up to which a dense derivative is computed in one pass and no pattern is looked for
_FULLEST, _PASSES = 1 / 4, 1 / 3  # of the entries, and of the columns: what a pattern that pays has at most
_ENTRIES = 20_000_000  # which fit into memory


class Sparse:
    """A derivative that is evaluated as a sparse matrix, by one pass for each color."""

    def __init__(self, function: Callable[..., Any], hessian: bool, coloring: Coloring) -> None:
        self._function, self._hessian, self._coloring = function, hessian, coloring

    def __call__(self, x: object, *args: object) -> object:
        """The matrix, csr. Where the function takes other branches than before, the pattern is found anew."""
        try:
            return self._evaluate(x, *args)
        except GradientError as error:
            if "lacks an entry" not in str(error):
                raise
        before = self._coloring.pattern
        self._coloring = _colored(before + _pattern(self._function, self._hessian, x, args), self._hessian)
        return self._evaluate(x, *args)

    def _evaluate(self, x: object, *args: object) -> object:
        make = sparse_hessian if self._hessian else sparse_jacobian
        return make(self._function, sparsity=self._coloring)(x, *args)

    @property
    def text(self) -> str:
        """Return what a result says of it."""
        rows, columns = self._coloring.pattern.shape
        entries = f"{self._coloring.pattern.nnz} of {rows} x {columns} entries"
        return f"exact, sparse: {entries}, {self._coloring.passes} passes an evaluation"


def sparse_if_it_pays(
    function: Callable[..., Any], x: Any, args: tuple[Any, ...], *, hessian: bool, asked: bool | None, given: Any = None
) -> tuple[Sparse | None, str]:
    """(the sparse derivative of a function of a vector there, or None; why).

    `asked` is the user's choice, `given` a pattern of the user's.
    """
    if asked is False:
        return None, ""
    if given is not None:
        found = Sparse(function, hessian, _colored(given, hessian))
        return found, found.text
    size = x.shape[0]
    if asked is None and size <= FEW:
        return None, ""
    try:
        pattern = _pattern(function, hessian, x, args, None if asked else _ENTRIES)
    except (NotImplementedError, UnsupportedError) as error:  # of an operator without forward mode, of a custom rule
        if asked:
            raise
        return None, f" (no pattern: {error})"
    if pattern is None:
        return None, " (the pattern is too full)"
    rows, columns = pattern.shape
    if not asked and pattern.nnz > _FULLEST * rows * columns:
        return None, f" (the pattern is too full: {pattern.nnz} of {rows} x {columns} entries)"
    coloring = _colored(pattern, hessian)
    if not asked and coloring.passes > _PASSES * columns:
        return None, f" (the pattern takes {coloring.passes} passes for {columns} columns)"
    found = Sparse(function, hessian, coloring)
    return found, found.text


def _pattern(
    function: Callable[..., Any], hessian: bool, x: object, args: tuple[Any, ...], most: int | None = None
) -> Any:
    choice = Choice("hessian_sparsity" if hessian else "jacobian_sparsity", function, 0)
    if hessian:
        choice.function = grad(function)
    pattern = find(Chosen(choice, (x, *args), {}), most)
    return symmetric(pattern) if hessian and pattern is not None else pattern


def _colored(pattern: Any, hessian: bool) -> Coloring:
    return color_hessian(pattern) if hessian else color_jacobian(pattern)
