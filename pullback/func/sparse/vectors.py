"""A function of one of its arguments, a tree of arrays, as a function of vectors: what a Jacobian as a matrix needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, surfaced
from pullback.core.array_type import memory_of
from pullback.core.errors import GradientError, UntraceableError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.func.batching import vmap
from pullback.func.boundary import Argnums, Choice, floating_argument, split_aux
from pullback.func.held_arrays import arrays_held
from pullback.func.rules.calls import is_recorded, stripped


def one_argument(transform: str, function: Any, argnums: Argnums) -> Choice:
    """The choice of one argument, an array or a tree of arrays, of a function."""
    choice = Choice(transform, function, argnums)
    if choice.several:
        raise TypeError(
            f"func.{transform}: argnums must name one argument, got {argnums!r}; give several as one tree, a tuple or "
            "dict of arrays."
        )
    return choice


class Chosen:
    """A function and the argument with respect to which it is differentiated.

    Attributes
    ----------
    leaves : list of arrays
        Those of the argument.
    size : int
        How many elements they have.
    has_aux : bool
        Whether the function returns a pair of its result and anything else.
    """

    def __init__(self, choice: Choice, args: Sequence[Any], kwargs: dict[str, Any], has_aux: bool = False) -> None:
        (self._place,) = choice.places(args, kwargs)
        self.transform, self._function, self.has_aux = choice.transform, choice.function, has_aux
        self._args, self._kwargs = list(args), kwargs
        given = kwargs[self._place] if isinstance(self._place, str) else args[self._place]
        found, self._structure = flatten(given)
        self.leaves = [self._leaf(x) for x in found]
        self.size = sum(x.size for x in self.leaves)

    def _leaf(self, given: Any) -> Any:
        refusal = f"func.{self.transform}: cannot differentiate with respect to"
        x = floating_argument(surfaced(given, modes.current().level), refusal)
        if x.dtype.kind == "c":
            raise TypeError(f"{refusal} an array of dtype {x.dtype}: give its real and imaginary parts as two arrays.")
        if x.dtype.kind != "f":
            raise TypeError(f"{refusal} an array of dtype {x.dtype}: convert it, for example with .astype(float).")
        return plain(x, self.transform)

    def constants(self) -> list[ndarray]:
        """The ndarrays that the function holds, or is given beside the argument, and that share no memory with that."""
        others = {key: x for key, x in [*enumerate(self._args), *self._kwargs.items()] if key != self._place}
        own = [memory_of(x) for x in self.leaves]
        held = arrays_held(self._function, others)
        return [x for x in held if not any(y is not None and np.may_share_memory(x, y) for y in own)]

    def of_leaves(self, *leaves: Any) -> Any:
        """The function of the leaves alone; with `has_aux` a pair."""
        args, kwargs = list(self._args), dict(self._kwargs)
        holder: Any = kwargs if isinstance(self._place, str) else args
        holder[self._place] = unflatten(self._structure, list(leaves))
        return self._function(*args, **kwargs)

    def result_of_leaves(self, *leaves: Any) -> Any:
        """The same without what is auxiliary."""
        found = self.of_leaves(*leaves)
        return split_aux(self.transform, found)[0] if self.has_aux else found


FEW = 24  # vectors, of which each alone is faster through a linear map than all at once


def products(transform: str, linear: Callable[[Any], Any], vectors: ndarray, like: Any) -> ndarray:
    """A linear map of trees that look like `like`, on each of k vectors: the numbers of its results, shaped (k, m)."""
    found, structure = flatten(like)
    batches = batches_of(vectors, found)
    if len(vectors) > FEW:
        rows = vmap(lambda *parts: linear(unflatten(structure, list(parts))), chunk_size=_chunk(vectors))(*batches)
        return np.concatenate([_numbers(x, transform).reshape(len(vectors), -1) for x in flatten(rows)[0]], 1)
    rows = (joined(transform, linear(unflatten(structure, [b[k] for b in batches]))) for k in range(len(vectors)))
    first = next(rows)
    made = np.empty((len(vectors), first.size), first.dtype)
    made[0] = first
    for k, row in enumerate(rows, 1):  # each into its place while it is in the cache
        made[k] = row
    return made


def batches_of(vectors: ndarray, leaves: Sequence[Any]) -> list[Any]:
    """Vectors as arrays that look like the leaves, one after another in their first dimension."""
    batches, start = [], 0
    for x in leaves:
        numbers = vectors[:, start : start + x.size].reshape(len(vectors), *x.shape).astype(x.dtype, copy=False)
        batches.append(x.new_tensor(numbers) if isinstance(x, Tensor) else numbers)
        start += x.size
    return batches


def _chunk(vectors: ndarray) -> int:
    """How many at a time, so that an array of them has no more than some millions of numbers."""
    return max(FEW, 4_000_000 // max(1, int(vectors.shape[1])))


def joined(transform: str, tree: Any) -> ndarray:
    """The numbers of all leaves of a tree in one vector."""
    leaves = [_numbers(x, transform) for x in flatten(tree)[0]]
    if len(leaves) == 1:
        return np.ravel(leaves[0])
    return np.concatenate([np.ravel(x) for x in leaves]) if leaves else np.zeros(0)


def plain(x: Any, transform: str) -> Any:
    """An array without levels: a Tensor for a Tensor, an ndarray for any other. Nothing may be lost with them."""
    inside = stripped(x)
    if isinstance(inside, Tensor):
        raise GradientError(
            f"func.{transform} gives a scipy.sparse matrix, which holds no derivative, but here it depends on what is "
            "being differentiated (or batched by vmap) further out. Use func.jacobian or func.hessian, or func.jvp for "
            "a product with it; where a constant is meant, func.stop_gradient(x)."
        )
    if is_recorded(x):
        raise UntraceableError(
            f"func.{transform} gives a scipy.sparse matrix, which no program can hold. Call it outside of the compiled "
            "function, or use func.jacobian or func.hessian."
        )
    return wrap(np.asarray(inside), 0) if isinstance(x, Tensor) and type(x) not in ARRAYS else np.asarray(inside)


def _numbers(x: Any, transform: str) -> ndarray:
    found = plain(x, transform)
    return found.numpy() if isinstance(found, Tensor) else found
