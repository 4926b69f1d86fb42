"""Rules for losses, embeddings and normalisations: in operators that have rules, where they are no category."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.errors import unknown_shape
from pullback.arrays.batched.rules import RULES, Rule, pointwise, refuse_as_kernel, rule, with_leading
from pullback.arrays.batched.values import everywhere, is_batched, rank_of, run, shape_of
from pullback.core.array_type import TENSOR, array_type, attribute, check
from pullback.core.tensor import Tensor
from pullback.dispatch.mixed import on_wrapped

ops: Any = TENSOR


def _in_operators(function: Callable[..., Any]) -> Rule:
    """The rule of an operator that is written in others: the function takes Tensors."""
    return lambda batch, *args: on_wrapped(function, *args)


for _name in ("binary_cross_entropy_elements", "binary_cross_entropy_logit_elements"):
    RULES[_name] = pointwise(_name, (0, 1))
RULES["lifted_variance"] = with_leading("lifted_variance", (0,))
RULES["gelu_backward"] = lambda batch, *args: run("gelu_backward", *[_same_rank(batch, x, args) for x in args])


def _same_rank(batch: Batch, x: Any, args: Any) -> Any:
    if x is None or isinstance(x, str):
        return x
    return everywhere(batch, x, max(rank_of(y) for y in args if y is not None and not isinstance(y, str)))


@rule("causal_mask")
def _causal_mask(batch: Batch, x: BatchedArray) -> Any:
    return everywhere(batch, run("causal_mask", x.values))  # of which only the shape matters


@rule("bag_of_each")
def _bag_of_each(batch: Batch, starts: Any, indices: Any, rows: int, padding_idx: int | None) -> Any:
    """The last bag that begins at an index or before it; samples' bags begin where they like."""
    n = shape_of(indices)[0]
    if attribute(starts, "dtype").kind not in "iu" or (padding_idx is not None and not -rows <= padding_idx < rows):
        refuse_as_kernel("bag_of_each", batch, (starts, indices, rows, padding_idx))
    check(partial(_check_starts, n), starts)
    return on_wrapped(lambda s, i: _bags(s, i, rows, padding_idx), starts, indices)


def _check_starts(n: int, starts: Any) -> None:
    if starts.shape[-1] and ((starts[..., 0] != 0).any() or (starts[..., -1] > n).any() or (np.diff(starts) < 0).any()):
        raise RuntimeError(
            f"embedding_bag(): offsets must begin with 0, not decrease and not pass the {n} indices, for every sample."
        )


def _bags(starts: Any, indices: Any, rows: int, padding_idx: int | None) -> Any:
    bags, each = starts.shape[0], np.arange(indices.shape[0])
    bag = ops.searchsorted(starts, each, right=True) - 1 + 0 * indices  # batched where one of the two is
    if padding_idx is not None:
        bag = ops.where(ops.eq(indices, padding_idx % rows), bags, bag)
    return bag, ops.sum(ops.eq(ops.unsqueeze(bag, 0), ops.unsqueeze(ops.arange(bags), 1)), 1)


@rule("bag_argmax")
def _bag_argmax(batch: Batch, rows: Any, bag: Any, bags: int) -> Any:
    """Bags that follow each other, those of each sample after the last one's, are the bags of one kernel."""
    rows, bag = everywhere(batch, rows), everywhere(batch, bag)
    n, width = rows.shape[1:]
    first = np.arange(batch.size)[:, None] * bags
    bag = run("where", run("lt", bag, bags), run("add", bag, first), batch.size * bags)
    flattened = run("reshape", rows, (batch.size * n, width)), run("reshape", bag, (batch.size * n,))
    found = run("reshape", run("bag_argmax", *flattened, batch.size * bags), (batch.size, bags, width))
    return run("remainder", found, n) if n else found


@rule("one_hot")
def _one_hot(batch: Batch, x: BatchedArray, num_classes: int) -> Any:
    if num_classes < 0:
        raise unknown_shape("one_hot without num_classes", "Give num_classes.")
    return run("one_hot", x.values, num_classes)


# -- losses ------------------------------------------------------------------------------------------------------------
def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else ops.mean(losses) if reduction == "mean" else ops.sum(losses)


def _mse_loss(x: Any, target: Any, reduction: str) -> Any:
    return _reduced(ops.square(x - target), reduction)


def _class_dim(shape: Any) -> int:
    return 0 if len(shape) == 1 else 1


def _chosen(shape: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """(the classes, 0 where they are ignored, as an index beside the scores; the weight of each)."""
    counts = ops.ne(target, ignore_index)
    index = ops.where(counts, target, 0)
    weights = counts if weight is None else ops.where(counts, ops.take(weight, index), 0)
    return ops.unsqueeze(index, _class_dim(shape)), weights


def _nll_loss(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    index, weights = _chosen(x.shape, target, weight, ignore_index)
    picked = ops.squeeze(ops.gather(x, _class_dim(x.shape), index), _class_dim(x.shape))
    losses = ops.where(ops.ne(target, ignore_index), -picked * weights, ops.zeros_like(picked))
    if reduction != "mean":
        return _reduced(losses, reduction)
    return ops.sum(losses) / ops.sum(ops.to(weights, x.dtype))


def _nll_loss_backward(grad: Any, sizes: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    index, weights = _chosen(sizes, target, weight, ignore_index)
    each = ops.where(ops.ne(target, ignore_index), -grad * weights, ops.zeros((), dtype=grad.dtype))
    if reduction == "mean":
        each = each / ops.sum(ops.to(weights, grad.dtype))
    dim = _class_dim(sizes)
    zeros = ops.expand(ops.unsqueeze(each, dim) * 0, tuple(sizes))
    return ops.scatter(ops.zeros_like(zeros), dim, index, ops.unsqueeze(each, dim))


def _cross_entropy_loss(x: Any, target: Any, reduction: str, ignore_index: int) -> Any:
    return _nll_loss(ops.log_softmax(x, _class_dim(x.shape)), target, None, reduction, ignore_index)


def _cross_entropy_loss_backward(grad: Any, x: Any, target: Any, reduction: str, ignore_index: int) -> Any:
    dim = _class_dim(x.shape)
    grads = _nll_loss_backward(grad, x.shape, target, None, reduction, ignore_index)
    return grads - ops.softmax(x, dim) * ops.sum(grads, dim, True)


def _linear_cross_entropy_rows(
    x: Any, weight: Any, target: Any, bias: Any, weights: Any, ignore_index: int, rows: int
) -> Any:
    return _nll_loss(ops.log_softmax(ops.linear(x, weight, bias), 1), target, weights, "none", ignore_index)


RULES.update(
    mse_loss=_in_operators(_mse_loss), nll_loss=_in_operators(_nll_loss),
    nll_loss_backward=_in_operators(_nll_loss_backward), cross_entropy_loss=_in_operators(_cross_entropy_loss),
    cross_entropy_loss_backward=_in_operators(_cross_entropy_loss_backward),
    linear_cross_entropy_rows=_in_operators(_linear_cross_entropy_rows),
)  # fmt: skip


# -- rows of sequences: the batch goes into the rows -------------------------------------------------------------------
def _of_rows(name: str, times: tuple[int, ...], rows: tuple[int, ...], targets: int) -> Rule:
    """The rule, given the arguments that have the rows second, behind the frames, and those that have them first."""

    def in_rows(batch: Batch, *args: Any) -> Any:
        raws = list(args)
        for i in times:
            raws[i] = _second_in_one(batch, args[i])
        for i in (*rows, targets):
            raws[i] = _first_in_one(batch, args[i])
        if rank_of(args[targets]) == 1:  # the rows' targets one behind the other
            lengths = everywhere(batch, args[targets + 2])
            check(partial(_examine_lengths, args[targets].shape[0]), lengths)
        found = run(name, *raws)
        several = isinstance(found, (tuple, list))
        results = [_rows_apart(batch, x) for x in (found if several else (found,))]
        return tuple(results) if several else results[0]

    return in_rows


def _examine_lengths(total: int, lengths: Any) -> None:
    if (lengths.sum(-1) != total).any():
        raise RuntimeError(f"ctc_loss(): target_lengths must sum up to the {total} targets in each sample of vmap.")


def _first_in_one(batch: Batch, x: Any) -> Any:
    values = everywhere(batch, x)
    return run("reshape", values, (batch.size * values.shape[1], *values.shape[2:]))


def _second_in_one(batch: Batch, x: Any) -> Any:
    values = run("movedim", everywhere(batch, x), 0, 1)
    return run("reshape", values, (values.shape[0], batch.size * values.shape[2], *values.shape[3:]))


def _rows_apart(batch: Batch, x: Any) -> Any:
    if x.ndim == 1:
        return run("reshape", x, (batch.size, x.shape[0] // max(batch.size, 1)))
    sizes = (x.shape[0], batch.size, x.shape[1] // max(batch.size, 1), *x.shape[2:])
    return run("movedim", run("reshape", x, sizes), 1, 0)


RULES["ctc_loss_rows"] = _of_rows("ctc_loss_rows", (0,), (2, 3), 1)
RULES["ctc_loss_rows_backward"] = _of_rows("ctc_loss_rows_backward", (1, 6), (0, 3, 4, 5), 2)
RULES["ctc_loss_rows_double_backward"] = _of_rows("ctc_loss_rows_double_backward", (0, 2, 7), (1, 4, 5, 6), 3)


# -- embeddings --------------------------------------------------------------------------------------------------------
@rule("embedding_rows")
def _embedding_rows(batch: Batch, index: Any, weight: Any, padding_idx: int | None, by_frequency: bool) -> Any:
    if not is_batched(batch, weight) and not by_frequency:
        return run("embedding_rows", index.values, weight, padding_idx, False)
    tables = everywhere(batch, weight)
    rows = run("reshape", tables, (batch.size * tables.shape[1], tables.shape[2]))
    found = run("embedding_rows", _in_all(batch, index, tables.shape[1]), rows, None, by_frequency)
    if padding_idx is None:
        return found
    kept = run("unsqueeze", run("ne", everywhere(batch, index), padding_idx), -1)
    still = found.detach() if isinstance(found, Tensor) else array_type(found).detached(found)
    return run("where", kept, found, still)  # rows that are not learned


@rule("embedding_rows_backward")
def _embedding_rows_backward(
    batch: Batch, grad: Any, index: Any, count: int, padding_idx: int | None, by_frequency: bool
) -> Any:
    grad = everywhere(batch, grad)
    if padding_idx is not None:
        kept = run("unsqueeze", run("ne", everywhere(batch, index), padding_idx), -1)
        grad = run("where", kept, grad, 0)
    rows = run("embedding_rows_backward", grad, _in_all(batch, index, count), batch.size * count, None, by_frequency)
    return run("reshape", rows, (batch.size, count, *rows.shape[1:]))


def _in_all(batch: Batch, index: Any, count: int) -> Any:
    """Places in the tables of all elements, one behind the other."""
    values = everywhere(batch, index)
    first = np.arange(batch.size).reshape((-1,) + (1,) * (values.ndim - 1)) * count
    return run("add", values, first)


# -- normalisations ----------------------------------------------------------------------------------------------------
@rule("_layer_norm")
def _layer_norm(batch: Batch, x: Any, weight: Any, bias: Any, dims: int, eps: float) -> Any:
    values = everywhere(batch, x)
    if not is_batched(batch, weight) and not is_batched(batch, bias):
        return run("_layer_norm", values, weight, bias, dims, eps)
    found, mean, inverse = run("_layer_norm", values, None, None, dims, eps)
    out: Any = BatchedArray(found, batch)
    if weight is not None:
        out = run("mul", out, weight)
    return out if bias is None else run("add", out, bias), mean, inverse
