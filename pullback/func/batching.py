"""vmap: a function of one sample, as a function of a batch of them that runs once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.batched import Batch
from pullback.arrays.batched.boundary import checked_dim, constant, enter, leave
from pullback.arrays.batched.random import Draws, note_state
from pullback.arrays.numpy.random.draws import default_generator
from pullback.autograd.engine.large_backwards import looks
from pullback.autograd.function import vmap as _function_vmap  # noqa: F401 - lets custom Functions meet batches
from pullback.core import modes
from pullback.core.array_face import ARRAYS, surfaced
from pullback.core.array_type import memory_of, numbers_of, table_of
from pullback.core.drawing import drawing
from pullback.core.errors import GradientError, explained, refusals, type_name, with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.core.tensor import Tensor, ndarray
from pullback.func.rules import vmap as _rule_vmap  # noqa: F401 - lets functions with custom rules meet batches

_PLAIN = frozenset([ndarray, Tensor])  # leaves, beyond doubt
Dims: TypeAlias = Any  # int, None, or a tree of these
_RANDOMNESS = ("error", "different", "same")


@named("func.vmap", "callable func")
def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func` for a batch of samples, which it computes all at once and as if there were one.

    Parameters
    ----------
    func : callable
        Takes arrays, or trees (dict, list, tuple) of arrays, written with NumPy's or pullback's functions; returns an
        array or a tree of these.
    in_dims : int, None or tree of these, default 0
        Which dimension of each argument counts the samples; None for an argument that is the same for all. One number
        may stand for a whole tree; negative ones count from the end. Keyword arguments are always mapped over 0.
    out_dims : int, None or tree of these, default 0
        Where the results have that dimension; None for what is the same for all samples.
    randomness : {'error', 'different', 'same'}, default 'error'
        What random operators in `func` do: each sample gets numbers of its own, or all the same, or it is an error.
    chunk_size : int, optional
        How many samples are computed at once, to save memory; all by default.

    Returns
    -------
    callable
        Takes the same arguments with one dimension more. Returns ndarrays for ndarrays, Tensors for Tensors.

    Raises
    ------
    ValueError
        An argument has no such dimension, the sizes of the dimensions differ, or nothing is mapped.
    RuntimeError
        An operator on the way has no rule for batches, its result would have a shape that depends on values, or it
        would write different values into one array that is the same for all samples.

    Notes
    -----
    Inside, each array is one sample's. Whatever asks for its numbers (`if x > 0`, `float(x)`, `x.item()`) is refused:
    choose with `np.where`. It nests with itself and with every other transform: `vmap(grad(f))` gives a gradient for
    each sample, at little more than the cost of one. For many small ndarrays the results may lie in memory with each
    element beside that of the next sample (`np.ascontiguousarray` puts them one by one).

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.vmap(np.dot)(np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    >>> loss = lambda w, x: np.sum(w * x) ** 2
    >>> pb.func.vmap(pb.func.grad(loss), in_dims=(None, 0))(np.ones(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 6., 12.],
           [42., 56.]])
    """
    if not callable(func):
        raise TypeError(f"func.vmap: the function to map must be callable, got {type_name(func)}. Write vmap(f)(x).")
    if randomness not in _RANDOMNESS:
        raise GradientError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness!r}."
        )
    if chunk_size is not None and not (isinstance(chunk_size, (int, np.integer)) and chunk_size > 0):
        raise ValueError(f"func.vmap: chunk_size should be None or greater than 0, got {chunk_size!r}.")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return map_over(func, args, kwargs, in_dims, out_dims, randomness, chunk_size)

    return mapped


def map_over(
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Any:
    """The results of a function for each sample of these arguments: what the function that `vmap` returns gives."""
    given = _Given(func, in_dims, args, kwargs)
    if chunk_size is None or chunk_size >= given.size:
        return _run(func, given, given.leaves, given.size, out_dims, randomness)
    return _in_chunks(func, given, chunk_size, out_dims, randomness)


# -- arguments ---------------------------------------------------------------------------------------------------------
class _Given:
    """The arguments of one call: leaves, the dimension of each that is mapped, and the size of these."""

    __slots__ = ("dims", "leaves", "size", "structure")

    def __init__(self, func: Any, in_dims: Dims, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if type(in_dims) is int and not kwargs and args and _PLAIN.issuperset(map(type, args)):
            leaves, self.structure, dims = list(args), None, [in_dims] * len(args)  # the usual case
        else:
            leaves, self.structure = flatten((args, kwargs))
            dims = _dims_of(func, in_dims, args, kwargs, self.structure)
        level, size = modes.current().level, -1
        for i, dim in enumerate(dims):
            if dim is not None:
                x = leaves[i] = surfaced(leaves[i], level)
                dim = dims[i] = checked_dim(x, dim, f"vmap({_name(func)})")
                if size >= 0 and x.shape[dim] != size:
                    raise _unequal(func, leaves, dims)
                size = x.shape[dim]
        if size < 0:
            raise ValueError(
                f"vmap({_name(func)}): at least one argument must be mapped: got no inputs, or in_dims is None for all "
                "of them. Call the function itself."
            )
        self.leaves, self.dims, self.size = leaves, dims, size

    def rebuilt(self, leaves: list[Any]) -> tuple[Any, Any]:
        """(positional arguments, keyword arguments) with these leaves."""
        return (leaves, {}) if self.structure is None else unflatten(self.structure, leaves)


def _dims_of(func: Any, in_dims: Dims, args: Any, kwargs: Any, structure: Any) -> list[Any]:
    """The dimension of each leaf."""
    own, named_ones = structure[2]
    dims: list[Any] = [None] * len(flatten((args, kwargs))[0])
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if not _is_dim(in_dims) and not isinstance(in_dims, tuple):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims!r}): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    trees = (in_dims, own, "in_dims"), (0, named_ones, "in_dims")
    try:
        for tree, part, path in trees:
            for number, dim, where in leaves_like(tree, part, path, prefixes=(int, np.integer)):
                if not _is_dim(dim):
                    raise ValueError(f"{where} must be an int or None, got {with_article(dim)}.")
                dims[number] = dim
    except ValueError as error:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims!r}): in_dims is not compatible with the structure of the inputs: "
            f"{error}"
        ) from None
    return dims


def _is_dim(x: Any) -> bool:
    return x is None or (isinstance(x, (int, np.integer)) and not isinstance(x, bool))


def _unequal(func: Any, leaves: Sequence[Any], dims: Sequence[Any]) -> ValueError:
    sizes = [x.shape[dim] for x, dim in zip(leaves, dims, strict=True) if isinstance(dim, int) and hasattr(x, "shape")]
    return ValueError(
        f"vmap({_name(func)}): Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} "
        "for the mapped dimension."
    )


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or type_name(func)


# -- one run -----------------------------------------------------------------------------------------------------------
def _run(
    func: Any, given: _Given, leaves: Sequence[Any], size: int, out_dims: Dims, randomness: str, drew_from: Any = None
) -> Any:
    """The results for the samples in these leaves."""
    state, refused = modes.current(), refusals.last
    level, batch = state.level + 1, Batch(size, randomness, f"vmap({_name(func)})", drew_from, func)
    drew = drawing.get()
    try:  # with nothing between it and what it undoes: a signal's exception may come after any call of C's
        modes.restore(state.batching())
        drawing.set(Draws(batch, level))
        inside = [
            constant(x, batch, level) if dim is None else enter(x, dim, batch, level)
            for x, dim in zip(leaves, given.dims, strict=True)
        ]
        args, kwargs = given.rebuilt(inside)
        output = func(*args, **kwargs)
        if isinstance(output, Tensor) and type(out_dims) is int:
            return _left(output, out_dims, batch, level)
        found, structure = flatten(output)
        dims = _dims_of_output(func, out_dims, structure, len(found))
        return unflatten(structure, _apart([_left(x, d, batch, level) for x, d in zip(found, dims, strict=True)], dims))
    except Exception as error:
        if (better := explained(error, refused)) is error:
            raise
        raise better from None
    finally:
        try:
            drawing.set(drew)
        finally:
            modes.restore(state)
            batch.close()


# -- results -----------------------------------------------------------------------------------------------------------
def _left(output: Any, dim: int | None, batch: Batch, level: int) -> Any:
    """A result one level further out."""
    values = leave(output, dim, batch, level)
    if (numbers := numbers_of(values)) is not None:
        looks.look_at_batch(numbers.nbytes)
    return values


def _apart(results: list[Any], dims: Sequence[Any]) -> list[Any]:
    """Arrays in memory of their own, as a loop's: what is written into one of `(x, x.T)` does not change the other.

    Tensors share theirs, as in PyTorch.
    """
    seen: list[Any] = []
    for i, x in enumerate(results):
        if dims[i] is None or (isinstance(x, Tensor) and type(x) not in ARRAYS):
            continue
        if (memory := memory_of(x)) is not None:
            if any(np.may_share_memory(memory, other) for other in seen):
                results[i] = x.copy()
            else:
                seen.append(memory)
    return results


def _dims_of_output(func: Any, out_dims: Dims, structure: Any, count: int) -> list[Any]:
    dims: list[Any] = [None] * count
    if isinstance(structure, int) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        out_dims = out_dims[0]
    try:
        for number, dim, where in leaves_like(out_dims, structure, "out_dims", prefixes=(int, np.integer)):
            if not _is_dim(dim):
                raise ValueError(f"{where} must be an int or None, got {with_article(dim)}.")
            dims[number] = dim
    except ValueError as error:
        raise ValueError(
            f"vmap({_name(func)}, out_dims={out_dims!r}): out_dims is not compatible with the structure of the "
            f"outputs: {error}"
        ) from None
    return dims


# -- in chunks ---------------------------------------------------------------------------------------------------------
def _in_chunks(func: Any, given: _Given, chunk_size: int, out_dims: Dims, randomness: str) -> Any:
    """The results for so many samples at a time, joined."""
    parts: list[list[Any]] = []
    structure: Any = None
    drew_from: dict[int, Any] = {}  # the generators, by identity, as they were before the first chunk drew from them
    if randomness == "same":
        note_state(drew_from, default_generator())
    for start in range(0, given.size, chunk_size):
        stop = min(start + chunk_size, given.size)
        leaves = [
            x if dim is None else x[(slice(None),) * dim + (slice(start, stop),)]
            for x, dim in zip(given.leaves, given.dims, strict=True)
        ]
        for generator, state in drew_from.values():
            generator.bit_generator.state = state
        found, structure = flatten(_run(func, given, leaves, stop - start, out_dims, randomness, drew_from))
        parts.append(found)
    dims = _dims_of_output(func, out_dims, structure, len(parts[0]))
    joined = [
        pieces[0] if dim is None else table_of(pieces).cat(list(pieces), dim)
        for pieces, dim in zip(zip(*parts, strict=True), dims, strict=True)
    ]
    return unflatten(structure, joined)
