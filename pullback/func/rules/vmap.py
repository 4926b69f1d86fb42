"""Functions with custom rules on batched values: one sample after the other, or by a rule. Imported with vmap."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.batched import Batch, BatchedArray
from pullback.autograd.function.vmap import VmapInfo, one_by_one, results_and_dims, samples_first
from pullback.core.array_face import ARRAYS, wrap_array
from pullback.core.cuts import frames_to_user
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, wrap
from pullback.func.rules import calls
from pullback.func.rules.calls import Rule
from pullback.graph.kept_values import refuse_kept_at_batch

Run = Callable[[Any, Any], Any]  # of the arguments by position and by keyword


def apply(name: str, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any], rule: Rule | None = None) -> Any:
    """(what a function gives for a batch,), where the innermost level of its arguments is that of a vmap; else None.

    `rule` is that of the function; None where one of its rules runs: they have no vmap of their own.
    """
    leaves, structure = flatten((args, kwargs))
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    level = max((x._level for x in tensors), default=0)
    batches = [x._array.batch for x in tensors if x._level == level and type(x._array) is BatchedArray]
    if not batches:
        return None
    batch: Batch = max(batches, key=lambda found: found.number)
    arrays = any(type(x) in ARRAYS for x in leaves)
    dims = [0 if _is_batched(x, batch) and x._level == level else None for x in leaves]
    inside = [_values(x, batch, level) for x in leaves]
    found = None
    if rule is not None and rule.vmap is not None:
        found = _by_rule(name, rule.vmap, batch, dims, inside, structure)
    if found is None:
        if rule is not None and not rule.has_looped:
            rule.has_looped = True
            _say_that_it_loops(rule, batch)
        found = one_by_one(name, lambda given: run(*given), batch, dims, inside, structure)
    results, form = found
    return (unflatten(form, [_batched(x, dim, batch, level, arrays) for x, dim in results]),)


def _is_batched(x: Any, batch: Batch) -> bool:
    return isinstance(x, Tensor) and type(x._array) is BatchedArray and x._array.batch is batch


def _values(x: Any, batch: Batch, level: int) -> Any:
    """Return what is inside of a Tensor of the level of vmap: the values of all samples, or of each."""
    if not isinstance(x, Tensor) or x._level != level:
        return x
    if _is_batched(x, batch):
        return x._array.values  # type: ignore[attr-defined]
    refuse_kept_at_batch(x)
    return x._array


def _say_that_it_loops(rule: Rule, batch: Batch) -> None:
    warnings.warn(
        f"{batch.called}: {rule.name}, which has custom rules, runs on one sample after the other, which is slow. "
        f"{rule.instead}.",
        stacklevel=frames_to_user(),
    )


def _by_rule(
    name: str, rule: Callable[..., Any], batch: Batch, dims: Sequence[Any], inside: Sequence[Any], structure: Any
) -> tuple[list[tuple[Any, int | None]], Any] | None:
    args, kwargs = unflatten(structure, list(inside))
    in_dims, _ = unflatten(structure, list(dims))
    found = rule(VmapInfo(batch.size, batch.randomness), in_dims, *args, **kwargs)
    return None if found is NotImplemented else results_and_dims(f"{name}: its vmap", found)


def _batched(x: Any, dim: int | None, batch: Batch, level: int, arrays: bool) -> Any:
    """A result with the samples at a dimension, as a tensor of the level of vmap."""
    if dim is None:
        return x
    values = samples_first(f"{batch.called}: a rule", x, dim, batch)
    made = BatchedArray(values, batch)
    return wrap_array(made, level, values.ndim == 1) if arrays else wrap(made, level)


calls.batched_apply = apply
