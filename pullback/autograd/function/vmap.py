"""Custom Functions on batched values that a `vmap` of their own serves, or that are differentiated outside of vmap.

Imported with vmap, which nothing else needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.arrays.batched import Batch, BatchedArray
from pullback.arrays.batched.boundary import at_front
from pullback.autograd.function import definition
from pullback.autograd.function.arrays import differentiated_inside
from pullback.core.array_face import wrap_array
from pullback.core.array_type import NDARRAY, SCALARS, TENSOR, is_array, type_of
from pullback.core.cuts import frames_to_user
from pullback.core.errors import GradientError, with_article
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.outer_levels import constant_part


class VmapInfo(NamedTuple):
    """Describes the call of vmap that `Function.vmap` serves."""

    batch_size: int
    randomness: str


def apply(cls: Any, args: tuple[Any, ...], level: int) -> Any:
    """Return what the Function gives for a batch at that level; None where forward and backward run on batched values.

    It is given by its own vmap, or one by one where derivatives are taken outside of vmap, and recorded there.
    """
    leaves, structure = flatten(args)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    level = max([level, *[x._level for x in tensors]])
    batches = [x._array.batch for x in tensors if x._level == level and type(x._array) is BatchedArray]
    if not batches or any(x._requires_grad and x._level == level for x in tensors):
        return None  # what is differentiated at the level of vmap itself goes through forward and backward
    batch: Batch = max(batches, key=lambda found: found.number)
    own = cls.vmap is not definition.Function.vmap
    if not own and not differentiated_inside(tensors):
        return None
    if own and cls.generate_vmap_rule:
        raise GradientError(
            f"{cls.__name__}: generate_vmap_rule=True, and there is a vmap staticmethod; define one of the two."
        )
    dims = [0 if _is_batched(x, batch) and x._level == level else None for x in leaves]
    values = [_values(x, dim, level) for x, dim in zip(leaves, dims, strict=True)]
    if not own:
        _say_that_it_loops(cls, batch)
        written: dict[int, int] = {}  # results that are arguments, into which forward has written

        def run(given: Any) -> Any:
            found, inputs = cls.apply(*given), flatten(given)[0]
            for nr, y in enumerate(flatten(found)[0]):
                written.update((nr, i) for i, x in enumerate(inputs) if x is y and dims[i] == 0)
            return found

        results, form = one_by_one(cls.__name__, run, batch, dims, values, structure)
        made = [_result(cls.__name__, x, dim, batch, level) for x, dim in results]
        return unflatten(form, [leaves[written[nr]] if nr in written else x for nr, x in enumerate(made)])
    given = unflatten(structure, values)
    found = cls.vmap(VmapInfo(batch.size, batch.randomness), unflatten(structure, dims), *given)
    results, form = results_and_dims(f"{cls.__name__}.vmap", found)
    return unflatten(form, [_result(f"{cls.__name__}.vmap", x, dim, batch, level) for x, dim in results])


def one_by_one(
    name: str, run: Callable[[Any], Any], batch: Batch, dims: Sequence[Any], inside: Sequence[Any], structure: Any
) -> tuple[list[tuple[Any, int | None]], Any]:
    """Return what `run` gives for the tree of each sample, one after the other: as `results_and_dims`."""
    if not batch.size:
        raise GradientError(f"{batch.called}: {name} runs on one sample after the other, and there is none.")
    columns: list[list[Any]] = []
    form = None
    for i in range(batch.size):
        sample = [x if d is None else x[i] for x, d in zip(inside, dims, strict=True)]
        found, form = flatten(run(unflatten(structure, sample)))
        columns = columns or [[] for _ in found]
        for column, x in zip(columns, found, strict=True):
            column.append(x)
    return [_stacked(column) for column in columns or []], form


def _stacked(column: Sequence[Any]) -> tuple[Any, int | None]:
    """(the results of all samples in one array, 0); what is no array as it is, without dimension."""
    first = column[0]
    if any(isinstance(x, Tensor) for x in column):
        return TENSOR.stack([x if isinstance(x, Tensor) else np.asarray(x) for x in column]), 0
    if type(first) in SCALARS or is_array(first):
        if (kind := type_of(column)) is not NDARRAY:
            return wrap_array(kind.table.stack(list(column)), 0), 0
        return np.stack([np.asarray(x) for x in column]), 0
    return first, None


def _say_that_it_loops(cls: Any, batch: Batch) -> None:
    if "_has_looped" not in cls.__dict__:  # said once
        cls._has_looped = True
        warnings.warn(
            f"{batch.called}: {cls.__name__}, a custom Function, runs on one sample after the other, which is slow, "
            "because derivatives are taken outside of vmap. Give it a static method vmap(info, in_dims, *args), or "
            "take them inside: vmap(grad(f)).",
            stacklevel=frames_to_user(),
        )


def results_and_dims(called: str, found: Any) -> tuple[list[tuple[Any, int | None]], Any]:
    """(each result with its dimension of the samples, or None, their structure) of what a user's vmap returns."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise GradientError(
            f"{called} must return (output, out_dims) (is to have two returns), but gave {with_article(found)}: "
            "out_dims says where each output has the batch dimension, or None."
        )
    output, out_dims = found
    results, form = flatten(output)
    try:
        by_leaf = {nr: dim for nr, dim, _ in leaves_like(out_dims, form, "out_dims", prefixes=(int, np.integer))}
    except ValueError as error:
        raise _incompatible(called, out_dims, str(error)) from None
    if any(not isinstance(dim, (int, np.integer)) or isinstance(dim, bool) for dim in by_leaf.values()):
        raise _incompatible(
            called, out_dims, "they are to be ints or None, one for each output, built as the output is."
        )
    return [(x, by_leaf.get(nr)) for nr, x in enumerate(results)], form


def _incompatible(called: str, out_dims: Any, why: str) -> GradientError:
    return GradientError(f"{called} returned an incompatible out_dims, {out_dims!r}: {why}")


def samples_first(called: str, x: Any, dim: int, batch: Batch) -> Any:
    """The values of a result, with the dimension of the samples in front."""
    if not is_array(x) and not issubclass(type(x), ndarray):
        x = np.asarray(x)
    shape = tuple(x.shape)
    if not -len(shape) <= dim < len(shape) or shape[dim] != batch.size:
        raise GradientError(
            f"{called} gave a result of shape {shape}, which has no {batch.size} samples at dimension {dim}."
        )
    return at_front(x, dim)


def _is_batched(a: Any, batch: Batch) -> bool:
    return isinstance(a, Tensor) and type(a._array) is BatchedArray and a._array.batch is batch


def _values(a: Any, dim: int | None, level: int) -> Any:
    """Return what vmap is given for one argument: a Tensor, with the batch dimension in front if it has one."""
    if not isinstance(a, Tensor) or a._level != level:
        return a
    inside: Any = a._array.values if dim == 0 else a._array  # type: ignore[attr-defined]
    return inside if isinstance(inside, Tensor) else wrap(inside, 0)


def _result(called: str, x: Any, dim: int | None, batch: Batch, level: int) -> Any:
    if dim is None:
        return wrap(constant_part(x), level) if isinstance(x, Tensor) else x
    return wrap(BatchedArray(samples_first(called, constant_part(x), dim, batch), batch), level)


definition.batched_apply = apply
