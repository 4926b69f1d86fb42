"""Kernels on batched arrays: the operator's rule, on the values.

No kernel is written here by hand: each is made of a name when it is first asked for. The values may be arrays of any
type, and the table of theirs computes with them, so batches nest in batches, in Tensors and in dual arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.errors import ended, no_rule
from pullback.arrays.batched.fallback import one_by_one
from pullback.arrays.batched.rules import RULES, as_batched, rule_by_category
from pullback.core.arguments import spread_lists
from pullback.core.array_type import AS_IT_IS, NUMPY, REGISTERED, TENSOR, TRANSFORMED, kernel_for
from pullback.core.array_type import innermost as innermost_array
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.operator import BY_KERNEL, FOUND


class BatchedKernels(dict[str, Callable[..., Any]]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        if any(op.holds for op in BY_KERNEL.get(name, {}).values()):
            return NUMPY.kernels[name]  # makes an array of another type around these, or takes one apart
        rule = FOUND.get

        def kernel(*args: Any) -> Any:
            batch = only_batch(args)
            if batch is not None and batch.open:
                result = (rule((name, len(args), "batched")) or rule_for(name, len(args)))(batch, *args)
                return BatchedArray(result, batch) if type(result) is ndarray else as_batched(batch, result)
            batch = innermost(args)
            if (around := held_in(args)) is not None:  # forward_ad inside of vmap
                return kernel_for((around,), name)(*args)
            level = level_of(args, batch)
            if level >= 0:  # one stands bare, as formulas examine it, beside a Tensor
                return TENSOR.kernels[name](*[wrapped(x, batch, level) for x in args])
            if not batch.open:
                raise ended(batch, name)
            return as_batched(batch, rule_for(name, len(args))(batch, *args))

        self[name] = kernel
        return kernel


def only_batch(args: Sequence[Any]) -> Batch | None:
    """The batch of the arguments, where the rest is plain as in most calls; None elsewhere."""
    batch = None
    for x in args:
        kind = type(x)
        if kind is BatchedArray:
            if batch is None:
                batch = x.batch
            elif x.batch is not batch:
                return None
        elif not (kind in AS_IT_IS or (kind is tuple and AS_IT_IS.issuperset(map(type, x)))):
            return None
    return batch


def innermost(args: Sequence[Any]) -> Batch:
    """The batch that was opened last among the arguments of a kernel."""
    found: Batch | None = None
    for x in arrays_in(args):
        if found is None or x.batch.number > found.number:
            found = x.batch
    assert found is not None, "a kernel on batched arrays runs where there is one"
    return found


def arrays_in(args: Sequence[Any]) -> Iterator[BatchedArray]:
    """The batched arrays among the arguments of a kernel, those in lists too."""
    for x in args:
        if type(x) is BatchedArray:
            yield x
        elif type(x) is list or type(x) is tuple:
            yield from (y for y in x if type(y) is BatchedArray)


def held_in(args: Sequence[Any]) -> Any:
    """An argument of another transform that stands bare beside batched ones, and so is around some; None elsewhere."""
    for x in spread_lists(args):
        if type(x) in REGISTERED and type(x) is not BatchedArray and REGISTERED[type(x)].rank == TRANSFORMED:
            return x
    return None


def level_of(args: Sequence[Any], batch: Batch) -> int:
    """The highest level of Tensors among the arguments that are around arrays of the batch; -1 if none is."""
    found = -1
    for x in spread_lists(args):
        if isinstance(x, Tensor) and x._level > found:
            inside = innermost_array(x)
            if type(inside) is BatchedArray and inside.batch is batch:
                found = x._level
    return found


def wrapped(x: Any, batch: Batch, level: int) -> Any:
    """The arrays of the batch in Tensors of that level; anything else as it is."""
    if type(x) in (list, tuple):
        return type(x)([wrapped(y, batch, level) for y in x])
    return wrap(x, level) if type(x) is BatchedArray and x.batch is batch else x


def rule_for(name: str, arity: int) -> Callable[..., Any]:
    """The rule of the operator overload with so many arguments."""
    key = (name, arity, "batched")
    found = FOUND.get(key)
    if found is None:
        found = FOUND[key] = _made(name, arity)
    return found


def find_rule(name: str, arity: int) -> Callable[..., Any] | None:
    """The rule that one has written, or that follows from what is declared; None if there is none."""
    if name in RULES:
        return RULES[name]
    operators = [op for op in BY_KERNEL.get(name, {}).values() if op.arity in (0, arity)]
    return next((found for op in operators if (found := rule_by_category(op)) is not None), None)


def _made(name: str, arity: int) -> Callable[..., Any]:
    found = find_rule(name, arity)
    if found is not None:
        return found
    if "." in name:  # a third party's
        takes_lists = any(op.lists for op in BY_KERNEL.get(name, {}).values())  # to which no category applies
        return one_by_one(name, takes_lists)
    raise no_rule(name)


BATCHED = MixedTable("batched", BatchedKernels())
