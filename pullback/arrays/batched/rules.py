"""How an operator runs on batched arrays: by its category, which its declaration tells, or by a rule of its own.

A rule takes the batch and the arguments of the kernel, of which one at least is batched, and returns the values of the
results, each with the batch dimension in front. What a rule gives as a BatchedArray stays what it is, so a rule may be
written in other operators on batched arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.values import (
    FEW,
    MANY,
    aligned,
    all_shifted,
    everywhere,
    is_batched,
    rank_of,
    run,
    shape_of,
    shifted,
)
from pullback.core.arguments import spread_lists
from pullback.core.array_type import SCALARS, layout_of
from pullback.core.errors import OperatorError
from pullback.core.tensor import ndarray
from pullback.dispatch.operator import Operator, parameters_of

Rule: TypeAlias = Callable[..., Any]
RULES: dict[str, Rule] = {}  # by kernel: what has a rule of its own


def rule(*names: str) -> Callable[[Rule], Rule]:
    """A decorator: the rule for the kernels of these names."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def laid_out(function: Rule) -> Rule:
    """A decorator: a rule of what makes a fresh array, which lies in memory as the kernel's would for one sample.

    Only so is `y.reshape(-1)`, of what the rule gives, a view where it is one without vmap. Arguments in C order, of
    which NumPy's kernels make results in C order, are looked after; of others the rule's own order stays.
    """

    def in_order(batch: Batch, *args: Any) -> Any:
        values = function(batch, *args)
        if type(values) is not ndarray or values.ndim < 3 or not values.size or values.flags.c_contiguous:
            return values
        samples_last = np.moveaxis(values, 0, -1)
        if samples_last.flags.c_contiguous or not all(map(_is_in_order, spread_lists(args))):
            return values
        if values.strides[0] == values.itemsize:
            return np.moveaxis(np.ascontiguousarray(samples_last), -1, 0)
        return np.ascontiguousarray(values)

    return in_order


def _is_in_order(x: Any) -> bool:
    layout = layout_of(x) if type(x) in (ndarray, BatchedArray) else None
    if layout is None or layout.ndim < 2:
        return True
    steps = [abs(step) for step, n in zip(layout.strides, layout.shape, strict=True) if n > 1]
    return steps == sorted(steps, reverse=True)


def rule_by_category(op: Operator) -> Rule | None:
    """The rule that the operator's declaration tells; None if it tells none."""
    positions = tuple(position for position, _ in op.tensors)
    if "pointwise" in op.tags:
        return pointwise(op.kernel, positions)
    if op.along is not None and not op.lists:
        return along(op, positions)
    if "matrices" in op.tags and not op.lists:
        return on_matrices(op.kernel, positions)
    if "vectors" in op.tags and not op.lists:
        return on_slices(op.kernel, positions, lambda args: [1] * len(positions))
    return None


# -- element by element ------------------------------------------------------------------------------------------------
def pointwise(name: str, positions: tuple[int, ...]) -> Rule:
    """Arguments that broadcast against each other: dimensions are counted from the end, so that is where they stay."""
    both, alone = positions == (0, 1), positions == (0,)

    def of_elements(batch: Batch, *args: Any) -> Any:
        if alone:
            return run(name, args[0].values, *args[1:])
        if both and type(args[0]) is type(args[1]) is BatchedArray:
            x, y = args[0].values, args[1].values
            if x.ndim == y.ndim and args[0].batch is args[1].batch:
                return run(name, x, y, *args[2:])
        raws = list(args)
        rank = max([rank_of(args[i]) for i in positions if args[i] is not None])
        for i in positions:
            raws[i] = aligned(batch, args[i], rank)
        if rank and batch.size >= MANY and _only_numbers_meet_arrays(batch, raws, args, positions):
            return _run_in_columns(name, batch, raws, args, positions)
        return run(name, *raws)

    return of_elements


def _only_numbers_meet_arrays(batch: Batch, raws: Any, args: Any, positions: tuple[int, ...]) -> bool:
    """True if each sample has but one number and the rest is the same for all, so that no operand has an order."""
    small = False
    for i in positions:
        x = raws[i]
        if type(x) is ndarray:
            if args[i] is not x:
                if x.size != batch.size:
                    return False
            elif x.ndim:
                small = x.size <= FEW
                if not small:
                    return False
        elif type(x) not in SCALARS:
            return False
    return small


def _run_in_columns(name: str, batch: Batch, raws: Any, args: Any, positions: tuple[int, ...]) -> Any:
    """The kernel on what has the samples last, and its results with them first again."""
    for i in positions:
        x = raws[i]
        if type(x) is ndarray:
            raws[i] = np.moveaxis(x, 0, -1) if args[i] is not x else x[..., None]
    found = run(name, *raws)
    return np.moveaxis(found, -1, 0) if type(found) is ndarray else tuple(np.moveaxis(x, -1, 0) for x in found)


# -- along dimensions --------------------------------------------------------------------------------------------------
def along(op: Operator, positions: tuple[int, ...]) -> Rule:
    """A rule that goes along the dimensions that an argument names, and takes all others one by one."""
    place, name = parameters_of(op).index(op.along or ""), op.kernel
    reduces = "reduction" in op.tags and name not in ("all", "any")  # of which () asks for no dimension, not for all

    alone = positions == (0,)

    def along_dims(batch: Batch, *args: Any) -> Any:
        raws, dims = list(args), args[place]
        if alone and (rank := args[0].values.ndim - 1):  # the usual case
            raws[0], raws[place] = args[0].values, _dims(dims, rank, name, reduces)
            return run(name, *raws)
        rank = max([rank_of(args[i]) for i in positions if args[i] is not None])
        for i in positions:
            raws[i] = everywhere(batch, args[i], rank or 1)  # without dimensions, as if there were one
        raws[place] = _dims(dims, rank, name, reduces)
        result = run(name, *raws)
        return result if rank else flat(batch, result)

    return along_dims


def _dims(dims: Any, rank: int, name: str, reduces: bool) -> Any:
    """The dimensions of the values; all where the program names none."""
    if dims is None or (isinstance(dims, (tuple, list)) and not dims and reduces):
        return tuple(range(1, (rank or 1) + 1))
    if type(dims) is int and -rank <= dims < rank:
        return dims % rank + 1
    return all_shifted(dims, rank, name) if isinstance(dims, (tuple, list)) else shifted(dims, rank, name)


def flat(batch: Batch, result: Any) -> Any:
    """Results of one number for each element, whose dimension, if it is still there, the program does not know."""
    if isinstance(result, (tuple, list)):
        return tuple(flat(batch, x) for x in result)
    return run("reshape", result, (batch.size,))


# -- matrices ----------------------------------------------------------------------------------------------------------
def on_matrices(name: str, positions: tuple[int, ...]) -> Rule:
    """A rule that takes the last two dimensions for matrices and all others for batches."""

    def of_matrices(batch: Batch, *args: Any) -> Any:
        raws = list(args)
        for i in positions:
            if args[i] is not None and rank_of(args[i]) < 2:
                refuse_as_kernel(name, batch, args)
        rank = max([rank_of(args[i]) for i in positions if args[i] is not None])
        for i in positions:
            raws[i] = everywhere(batch, args[i], rank)
        return run(name, *raws)

    return of_matrices


def on_slices(name: str, positions: tuple[int, ...], cores: Callable[[Any], Any]) -> Rule:
    """A rule that broadcasts all dimensions but the last ones: `cores` says how many these are of each argument."""

    def of_slices(batch: Batch, *args: Any) -> Any:
        raws, own = list(args), cores(args)
        front = max([rank_of(args[i]) - core for i, core in zip(positions, own, strict=True)])
        for i, core in zip(positions, own, strict=True):
            raws[i] = aligned(batch, args[i], front + core)  # what is the same for all stays one
        return run(name, *raws)

    return of_slices


def refuse_as_kernel(name: str, batch: Batch, args: Any) -> None:
    """Raise what the kernel says of arguments that do not fit: it is asked with one element of the batch."""
    run(name, *[element(batch, x, 0) for x in args])
    shapes = [shape_of(x) for x in args if hasattr(x, "shape")]
    raise OperatorError(f"{name}: arguments of shapes {shapes} do not fit.")


def element(batch: Batch, x: Any, i: int) -> Any:
    """Return what one argument is for one element of the batch; in a list, each."""
    if type(x) in (list, tuple):
        return type(x)(element(batch, y, i) for y in x)
    return x.values[i] if is_batched(batch, x) else x


# -- the same for each element -----------------------------------------------------------------------------------------
def with_leading(name: str, positions: tuple[int, ...]) -> Rule:
    """A rule that takes any dimensions in front of those that it knows, the same for all arguments."""

    def of_all(batch: Batch, *args: Any) -> Any:
        raws = list(args)
        for i in positions:
            raws[i] = everywhere(batch, args[i])
        return run(name, *raws)

    return of_all


def as_batched(batch: Batch, result: Any) -> Any:
    """Return what a rule has given, in BatchedArrays."""
    if type(result) is BatchedArray:
        return result
    if isinstance(result, (tuple, list)):
        return tuple([as_batched(batch, x) for x in result])
    return BatchedArray(result, batch) if hasattr(result, "dtype") else result  # what is true of all alike
