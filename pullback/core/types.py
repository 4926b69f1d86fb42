"""Type aliases that the annotations of the core and of autograd use."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

# What flows through a backward: raw arrays, or Tensors when the backward is itself recorded.
Gradient: TypeAlias = Any
# What stands beside a saved tensor to tell whether it is still what it was: see `graph.saved`.
Version: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]
DType: TypeAlias = "np.dtype[Any]"


class RawArray(Protocol):
    """Protocol of arrays that a Tensor wraps: an ndarray, a Tensor of a lower level, or an array of another type."""

    @property
    def shape(self) -> Shape: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
