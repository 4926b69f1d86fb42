"""How arrays enter a batch and leave it: as a sample's, with the face that they have, and with the dimension again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.values import FEW, MANY
from pullback.core.array_face import ARRAYS, as_given, faced_as, given_back, surfaced, unlabelled, wrap_array
from pullback.core.array_type import NUMERIC, REGISTERED, SCALARS, array_type, is_array, table_of
from pullback.core.errors import GradientError, with_article
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.version import counter_inside, counter_of
from pullback.dispatch.outer_levels import constant_part, seen_outside
from pullback.graph.kept_values import refuse_kept_at_batch
from pullback.graph.view import base_of, make_view


def checked_dim(x: Any, dim: int, called: str) -> int:
    """The mapped dimension of an argument, counted from the front."""
    kind = type(x)
    if kind is not ndarray:
        if not is_array(x) and not issubclass(kind, (ndarray, np.generic)):
            raise ValueError(
                f"{called}: got in_dim={dim} for an input but the input is of type {kind}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim."
            )
        if issubclass(kind, (np.ma.MaskedArray, np.matrix)):
            raise TypeError(
                f"{called}: cannot map over {with_article(x)}, whose meaning of the operators would be lost."
            )
    if x.dtype.kind not in NUMERIC:
        raise TypeError(f"{called}: cannot map over an array of dtype {x.dtype}.")
    rank: int = x.ndim
    if not -rank <= dim < rank:
        raise ValueError(
            f"{called}: got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank}, so "
            f"expected in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


def constant(x: Any, batch: Batch, level: int) -> Any:
    """Return what the function sees of an argument that is not mapped: of an ndarray an Array, a copy to write into."""
    if type(x) is not ndarray or x.dtype.kind not in NUMERIC:
        return x
    made = wrap_array(np.array(x), level)
    batch.shared += (made,)
    return made


def enter(x: Any, dim: int, batch: Batch, level: int) -> Any:
    """Return what the function sees of an argument whose dimension `dim` is mapped.

    Code for NumPy may write into it, and the caller's array stays as it is; what is written into a Tensor is there
    afterwards, as in PyTorch.
    """
    if not isinstance(x, Tensor) and not is_registered(x):
        front = x.transpose((dim, *[d for d in range(x.ndim) if d != dim])) if dim else x
        return wrap_array(BatchedArray(_copied(front), batch), level, x.ndim == 1)
    inside = at_front(as_given(constant_part(x)), dim)
    if type(x) in ARRAYS:
        return wrap_array(BatchedArray(array_type(inside).copy(inside), batch), level, x.ndim == 1)
    out = wrap(BatchedArray(inside, batch), level)
    if isinstance(x, Tensor):
        out._counter = counter_inside(x)
        batch.outside[out._counter] = x, out._counter not in batch.outside
    return out


def _copied(x: ndarray) -> ndarray:
    """A copy: the samples one by one, or of many small ones in columns, each element beside that of the next sample.

    NumPy's loops run along what lies side by side, so over columns they are long; over a few elements each sample costs
    as much as an array. What pointwise operators and reductions make of columns lies in columns again. A sample's own
    dimensions keep their order, and `ArrayType.layout` gives the strides that it has alone.
    """
    samples, *shape = x.shape
    if shape and samples >= MANY and math.prod(shape) <= FEW:
        return np.moveaxis(np.array(np.moveaxis(x, 0, -1), order="C"), -1, 0)
    return np.array(x, order="C")


def at_front(x: Any, dim: int) -> Any:
    """`x` with the dimension `dim` as its first."""
    return table_of((x,)).movedim(x, dim, 0) if dim else x


def is_registered(x: Any) -> bool:
    """True if it is an array of a type that was registered."""
    return type(x) in REGISTERED


def leave(output: Any, dim: int | None, batch: Batch, level: int) -> Any:
    """A result of the function one level further out, with the batch dimension at `dim`."""
    x = surfaced(unlabelled(output), level)
    if isinstance(x, Tensor) and x._level == level:
        refuse_kept_at_batch(x)
    raw = x._array if isinstance(x, Tensor) and x._level == level else x
    raw = given_back(x, raw)
    if type(raw) is BatchedArray and raw.batch is batch:
        if dim is None:
            raise ValueError(
                f"{batch.called}: the function returned a batched value, but out_dims is None there; say where the "
                "batch dimension goes. None is for what does not depend on the mapped arguments."
            )
        values = given_back(x, raw.values)
    else:
        refuse_other(raw, batch)
        if dim is None:
            return seen_outside(raw, level - 1)
        values = _repeated(raw, batch)
    if dim:
        rank = values.ndim
        if not -rank <= dim < rank:
            raise IndexError(
                f"{batch.called}: Dimension out of range: out_dims is {dim}, but a result of shape "
                f"{tuple(values.shape[1:])} has room for the batch dimension at {-rank} to {rank - 1}."
            )
        values = table_of((values,)).movedim(values, 0, dim)
    if isinstance(values, Tensor) and isinstance(x, Tensor):
        values = faced_as(x, values)  # beside a constant Tensor of a program it has another
    values = seen_outside(values, level - 1)
    copied = type(values) is ndarray and not values.flags.writeable  # of broadcast_to, say
    if copied:
        values = values.copy()
    if type(values) is ndarray and isinstance(x, Tensor) and type(x) not in ARRAYS:
        return wrap(values, 0) if copied else _in_memory(x, values, batch)
    return values


def _in_memory(inside: Tensor, values: ndarray, batch: Batch) -> Tensor:
    """A Tensor over memory that others may share: an argument or what another result is, a view of that, or a new one.

    Else what is written into one of them would change the others without their graphs and versions.
    """
    counter = counter_of(inside)
    whole, alone = batch.outside.get(counter, (None, False))
    if whole is None:
        base: Any = base_of(inside)
        held = values if base is None or type(base._array) is not BatchedArray else base._array.values
        whole = wrap(held if type(held) is ndarray else values, 0)
        whole._counter = counter
        batch.outside[counter] = whole, False
    if whole._array is values:
        return whole
    out = wrap(values, 0)
    if _lies_in(values, whole, alone):
        return make_view(out, whole)
    out._counter = counter
    return out


def _lies_in(part: ndarray, whole: Tensor, alone: bool) -> bool:
    """True if every element of `part` is one of `whole`, whose memory it shares, be it `alone` with gaps in it."""
    memory = whole._array
    if type(memory) is not ndarray or not (alone or memory.flags.forc):
        return False
    (low, high), (begin, end) = map(np.lib.array_utils.byte_bounds, (memory, part))
    return low <= begin and end <= high


def _repeated(raw: Any, batch: Batch) -> Any:
    """Return what is the same for all, once for each."""
    values = np.asarray(raw) if type(raw) in SCALARS or not is_array(raw) else raw
    values = table_of((values,)).expand(values, (batch.size, *values.shape))
    return np.array(values) if type(values) is ndarray else values


def refuse_other(raw: Any, batch: Batch) -> None:
    """Raise an error for a result that is no array, or an array of another transform."""
    if not is_array(raw) and not issubclass(type(raw), (ndarray, np.generic, *SCALARS)):
        raise ValueError(
            f"{batch.called}: must only return Tensors or arrays, got type {type(raw)}; did the function forget to "
            "return something?"
        )
    if is_registered(raw):
        raise GradientError(
            f"{batch.called}: the function returned {with_article(raw)}, which belongs to a transform that has ended "
            "or is still open. Return what that transform returned."
        )
