"""Normalises the index in `tensor[index]` for kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core.array_type import TENSOR, array_type, innermost, numbers_of, read
from pullback.core.cuts import frames_to_user
from pullback.core.errors import ReadError, with_article
from pullback.core.tensor import Tensor
from pullback.ops.formulas.indexing.by_index import is_basic_index

_READY = frozenset([int, slice, type(None), type(Ellipsis)])


def plain_index(index: Any) -> Any:
    """The index with its Tensors and lists as ndarrays; 0-d integer tensors count as integers.

    Tensors that have no numbers to show, but may stand in an index, stay: see composite.indexing.by_tensors.
    """
    if type(index) in _READY:
        return index
    if isinstance(index, tuple):
        return _each_plain(index)
    if type(index) is list:
        return _of_list(index)
    return _plain(index)


def _each_plain(index: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(i if type(i) in _READY else _plain(i) for i in index)


def _of_list(index: list[Any]) -> Any:
    """The index that a list stands for: an array if it makes one, else an index for each dimension, as in PyTorch.

    A list of lists of one length is an array, as in NumPy.
    """
    if any(isinstance(i, Tensor) and i.ndim for i in index):
        return _each_plain(index)
    try:
        found = _plain(index)
    except ValueError:  # lists of unequal lengths, or lists and slices
        if not any(isinstance(i, (list, slice)) for i in index):
            raise
        return _each_plain(index)
    return _each_plain(index) if found.dtype == object else found


def _plain(i: Any) -> Any:
    if isinstance(i, Tensor):
        if i.dtype.kind not in "iub":
            raise IndexError(f"tensors used as indices must be integer or bool tensors, got dtype {i.dtype}.")
        found = numbers_of(i)
        if found is None:
            kind = array_type(innermost(i))
            if kind.may_index and (kind.many or i.ndim or i.dtype.kind != "b"):
                return i
            if kind.may_index:  # one truth value, which takes everything or nothing
                return read(i, "an index")
            raise ReadError(
                f"a tensor around {with_article(innermost(i))} cannot be used as an index: its values are not known "
                "here. Use pullback.where or take_along_dim instead."
            )
        i = found
        return int(i) if i.ndim == 0 and i.dtype.kind in "iu" else i
    if isinstance(i, list):
        if any(isinstance(x, Tensor) and numbers_of(x) is None for x in i):  # of each sample of a batch
            return _plain(
                TENSOR.stack([x if isinstance(x, Tensor) else TENSOR.scalar_tensor(x, dtype="int64") for x in i])
            )
        array = np.asarray([x.item() if isinstance(x, Tensor) else x for x in i])
        return array.astype(np.intp) if array.size == 0 else array
    return i


def warn_of_bytes(self: Tensor, index: object) -> None:
    """Warn of a Tensor of uint8 in an index of a Tensor, if it has the shape of a mask, which it is in PyTorch."""
    if type(self) is not Tensor:
        return
    for item in index if type(index) is tuple else (index,):
        if type(item) is Tensor and item.ndim and item.dtype == np.uint8:
            sizes = tuple(self.shape)
            if any(sizes[d : d + item.ndim] == tuple(item.shape) for d in range(len(sizes))):
                warnings.warn(
                    f"indexing with dtype uint8: a tensor of shape {tuple(item.shape)} names elements by number here, "
                    "as in NumPy, and so 0 and 1 where it was meant for a mask, as it is in PyTorch. Write "
                    "x[mask.bool()] for a mask, x[index.long()] for an index.",
                    stacklevel=frames_to_user(),
                )


__all__ = ["is_basic_index", "plain_index", "warn_of_bytes"]
