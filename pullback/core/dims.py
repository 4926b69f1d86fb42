"""Dimension numbers as PyTorch counts them: negative from the end, and 0 or -1 for an array without dimensions."""

from __future__ import annotations

from operator import index as as_int
from typing import Any


def wrap_dim(dim: int, ndim: int, name: str) -> int:
    """`dim` as a number in range(ndim); a 0-d array counts as having one dimension."""
    count = ndim or 1
    dim = as_int(dim)
    if dim < -count or dim >= count:
        raise IndexError(f"{name}: dim {dim} is out of range for {ndim} dimensions; expected {-count} to {count - 1}")
    return dim + count if dim < 0 else dim


def wrap_dims(dims: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Several dimension numbers, each in range(ndim), none twice; an int counts as a list of one."""
    if not isinstance(dims, (tuple, list)):
        dims = (dims,)
    wrapped = tuple(wrap_dim(d, ndim, name) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"{name}: a dimension appears more than once in {tuple(dims)}")
    return wrapped
