"""jacobian with `workers=`: rows or columns of one Jacobian, each worker some of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core.errors import GradientError
from pullback.core.factory import from_numpy
from pullback.core.pytree import flatten, unflatten
from pullback.func.boundary import TENSOR_FACES, Choice
from pullback.func.ravel import ravel_pytree
from pullback.func.rules.calls import moves
from pullback.workers.engines import Mapped, engine_of
from pullback.workers.processes import available
from pullback.workers.spreading import Spreading

_NAME = "func.jacobian"
Transform = Callable[..., Callable[[Any], Any]]  # jacfwd or jacrev, of a function of a vector


def spread_jacobian(choice: Choice, workers: Any, mode: str, forward: Transform, reverse: Transform) -> Any:
    """Return the function that computes the Jacobian over workers."""
    spreading = Spreading(_NAME, engine_of(workers, _NAME), False)

    def which(*args: Any, **kwargs: Any) -> str:
        """Which mode is taken for these arguments."""
        return _mode(mode, *_Problem(choice, args, kwargs).sizes())

    def computed(*args: Any, **kwargs: Any) -> Any:
        problem = _Problem(choice, args, kwargs)
        rows, columns = problem.sizes()
        if _mode(mode, rows, columns) == "reverse":
            parts = _parts(spreading, _Rows(problem, reverse), rows)
            return problem.blocks(np.concatenate(parts))
        parts = _parts(spreading, _Columns(problem, forward), columns)
        return problem.blocks(np.concatenate(parts, axis=1))

    computed.mode = which  # type: ignore[attr-defined]
    return computed


def _mode(mode: str, rows: int, columns: int) -> str:
    return mode if mode != "auto" else "forward" if columns < rows else "reverse"


def _parts(spreading: Spreading, work: Any, count: int) -> list[Any]:
    """As many parts as there are workers, in order."""
    pieces = min(count, available() if isinstance(spreading.engine, Mapped) else spreading.engine.slots)
    bounds = [(count * k // pieces, count * (k + 1) // pieces) for k in range(pieces)]
    found: dict[int, Any] = {}

    def take(start: int, stop: int, value: Any) -> None:
        found.update(zip(range(start, stop), value, strict=True))

    spreading.over(work, bounds, f"{_NAME}: the function with its arguments", take)
    return [found[k] for k in range(pieces)]


class _Problem:
    """A function of chosen arguments, as one of a vector that gives a vector."""

    def __init__(self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        if any(moves(x) for x in flatten((args, kwargs))[0]):
            raise GradientError(
                f"{_NAME}: with workers= the arguments must be plain arrays, but one of them is being differentiated; "
                "leave workers out there."
            )
        self.function, self.several = choice.function, choice.several
        self.args, self.kwargs = list(args), dict(kwargs)
        self.places = choice.places(args, kwargs)
        self.primals = [self._holder(n)[n] for n in self.places]
        self.vector, self.unravel = ravel_pytree(self.primals)

    def _holder(self, place: Any) -> Any:
        return self.kwargs if isinstance(place, str) else self.args

    def value(self, vector: Any) -> Any:
        """The function's value at a vector, as the user returned it."""
        for n, x in zip(self.places, self.unravel(vector), strict=True):
            self._holder(n)[n] = x
        return self.function(*self.args, **self.kwargs)

    def flat(self, vector: Any) -> Any:
        """The same as a vector."""
        return ravel_pytree(self.value(vector))[0]

    def sizes(self) -> tuple[int, int]:
        """How many rows and columns the Jacobian has; the function runs once here, for its form."""
        found, self.structure = flatten(self.value(self.vector))
        self.shapes = [np.shape(y) for y in found]
        rows = sum(map(math.prod, self.shapes))
        if not rows or not len(self.vector):
            raise GradientError(f"{_NAME}: the function has no results, or the chosen arguments hold no numbers.")
        return rows, len(self.vector)

    def blocks(self, matrix: Any) -> Any:
        """The Jacobian in the structures of results and arguments."""
        tensors = any(type(x) in TENSOR_FACES for x in flatten(self.primals)[0])
        rows = np.split(matrix, np.cumsum([*map(math.prod, self.shapes)])[:-1])
        found = []
        for shape, row in zip(self.shapes, rows, strict=True):
            leaves, structure = flatten(self.primals)
            ends = np.cumsum([math.prod(np.shape(x)) for x in leaves])[:-1]
            parts = [
                _shown(part.reshape((*shape, *np.shape(x))), tensors)
                for x, part in zip(leaves, np.split(row, ends, axis=1), strict=True)
            ]
            arranged = unflatten(structure, parts)
            found.append(tuple(arranged) if self.several else arranged[0])
        return unflatten(self.structure, found)


class _Rows:
    """Rows of a Jacobian, by reverse mode."""

    def __init__(self, problem: _Problem, transform: Transform) -> None:
        self.problem, self.transform = problem, transform

    def __call__(self, _: int, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        flat, vector = self.problem.flat, self.problem.vector
        return [np.asarray(self.transform(lambda v, a=a, b=b: flat(v)[a:b])(vector)) for a, b in bounds]


class _Columns(_Rows):
    """Columns of a Jacobian, by forward mode."""

    def __call__(self, _: int, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        flat, vector = self.problem.flat, self.problem.vector

        def of_part(part: Any, a: int, b: int) -> Any:
            return flat(np.concatenate([vector[:a], part, vector[b:]]))

        return [np.asarray(self.transform(lambda t, a=a, b=b: of_part(t, a, b))(vector[a:b])) for a, b in bounds]


def _shown(block: Any, tensors: bool) -> Any:
    block = block.copy()
    return from_numpy(block) if tensors else block if block.shape else block[()]
