"""ravel_pytree: a tree of arrays as one vector, for what takes vectors alone: optimisers, samplers, solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import surfaced
from pullback.core.errors import GradientError
from pullback.core.named import named
from pullback.core.pytree import flatten, paths_of, unflatten
from pullback.func.boundary import floating_argument


@named("func.ravel_pytree")
def ravel_pytree(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of a tree of arrays in one vector, and the function that makes a tree of such a vector again.

    JAX's `jax.flatten_util.ravel_pytree`. So parameters in a dict go to any optimiser, and its vectors come back.

    Parameters
    ----------
    tree : array, float or tree (dict, list, tuple, registered class) of these
        All of real floating-point numbers, or all of complex ones. May hold Tensors, and be differentiated.

    Returns
    -------
    vector : array, shape (n,)
        The leaves in order (a dict's by sorted keys), each in C order, in the dtype to which they promote. ndarrays
        give an ndarray.
    unravel : callable
        `unravel(vector)` gives a tree built like `tree`, in its shapes and dtypes. May be used inside of transforms;
        of an ndarray the parts are views.

    Raises
    ------
    TypeError
        A leaf is an integer or no array, or real and complex leaves are mixed.
    RuntimeError
        A vector of another shape is given to `unravel`.

    Examples
    --------
    >>> import numpy as np
    >>> vector, unravel = pb.func.ravel_pytree({"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": 0.5})
    >>> vector
    array([0.5, 1. , 2. , 3. , 4. ])
    >>> loss = lambda p: np.sum(p["w"] ** 2) * p["b"]
    >>> pb.func.grad(lambda v: loss(unravel(v)))(vector)
    array([30.,  1.,  2.,  3.,  4.])
    """
    found, structure = flatten(tree)
    level = modes.current().level
    paths = list(paths_of(structure))
    leaves = [_leaf(surfaced(x, level), path) for x, path in zip(found, paths, strict=True)]
    if len({x.dtype.kind for x in leaves}) > 1:
        kinds = ", ".join(f"{path or 'it'}: {x.dtype}" for path, x in zip(paths, leaves, strict=True))
        raise TypeError(
            f"func.ravel_pytree: real and complex arrays cannot be in one vector ({kinds}). Give the complex ones as "
            "two arrays, real and imaginary parts, or make all complex (.astype(complex))."
        )
    vector = np.concatenate([x.reshape(-1) for x in leaves]) if leaves else np.zeros(0)
    return vector, Unravel(structure, leaves)


class Unravel:
    """Makes of a vector the tree whose numbers it holds."""

    __slots__ = ("_forms", "_structure", "size")

    def __init__(self, structure: Any, leaves: Sequence[Any]) -> None:
        self._structure = structure
        self._forms = [(tuple(x.shape), x.dtype) for x in leaves]
        self.size = sum(_count(shape) for shape, _ in self._forms)

    def __repr__(self) -> str:
        return f"<unravel of {self.size} numbers to {len(self._forms)} arrays>"

    def __call__(self, vector: Any) -> Any:
        """Return the tree."""
        if np.shape(vector) != (self.size,):
            raise GradientError(
                f"unravel: the vector must have shape ({self.size},), as the one that ravel_pytree gave, got "
                f"{np.shape(vector)}."
            )
        if not hasattr(vector, "dtype"):
            vector = np.asarray(vector)
        parts, start = [], 0
        for shape, dtype in self._forms:
            stop = start + _count(shape)
            part = vector[start:stop].reshape(shape) if shape else vector[start]
            parts.append(part if part.dtype == dtype else part.astype(dtype))
            start = stop
        return unflatten(self._structure, parts)


def _leaf(given: Any, path: str) -> Any:
    refusal = f"func.ravel_pytree: cannot make a vector of {path or 'it'},"
    x = floating_argument(given, f"{refusal} which is")
    if x.dtype.kind not in "fc":
        raise TypeError(f"{refusal} whose dtype is {x.dtype}: convert it, for example with .astype(float).")
    return x


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))
