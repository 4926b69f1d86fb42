"""Batches, one for each call of vmap, and BatchedArray: an array for each element, in one with a dimension more.

Nobody who maps a function over a batch sees that dimension, the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pullback.core.array_type import NUMERIC, NUMPY, SCALARS, TENSOR
from pullback.core.tensor import Tensor
from pullback.core.types import DType, RawArray, Shape
from pullback.core.users_function import code_of
from pullback.core.version import Counter
from pullback.dispatch.mixed import Arithmetic, on_wrapped

_next_number = itertools.count(1).__next__


class Batch:
    """The batch of one call of vmap.

    Parameters
    ----------
    size : int
        Of the batch dimension.
    randomness : str, default "error"
        What random operators do: 'different' numbers for each element, the 'same' for all, or an error.
    called : str, optional
        What the user called, for errors.
    drew_from : dict, optional
        The generators drawn from, each with its state before: for one of several chunks.
    func : callable, optional
        The function that is mapped, whose code is kept for errors.

    A batch that was opened later has a higher number, and operators run at the highest number among their arguments.
    """

    __slots__ = ("called", "code", "drew_from", "number", "open", "outside", "randomness", "shared", "size")

    def __init__(
        self, size: int, randomness: str = "error", called: str = "vmap", drew_from: Any = None, func: Any = None
    ) -> None:
        self.number = _next_number()
        self.size, self.randomness, self.called = size, randomness, called
        self.drew_from, self.code = drew_from, None if func is None else code_of(func)
        self.shared: tuple[Any, ...] = ()  # the copies of ndarrays that are not mapped, the same for all samples
        # Tensors outside by the counters of those inside over their memory; True for the one argument there.
        self.outside: dict[Counter, tuple[Tensor, bool]] = {}
        self.open = True

    def close(self) -> None:
        """End the call: what it made is of no use any more."""
        self.open = False
        self.outside.clear()

    def __repr__(self) -> str:
        return f"Batch({self.size}, {'open' if self.open else 'closed'})"


class BatchedArray(Arithmetic):
    """The arrays `values[0]`, `values[1]`, ... as one array of their shape.

    Parameters
    ----------
    values : array of any type, of shape (batch.size, ...)
        An ndarray, a Tensor of a lower level, an array of another transform.
    batch : Batch
    """

    __slots__ = ("__weakref__", "batch", "values")

    values: Any
    batch: Batch

    def __init__(self, values: RawArray, batch: Batch) -> None:
        self.values, self.batch = values, batch

    def __repr__(self) -> str:
        shown = np.array2string(self.values, separator=", ") if type(self.values) is np.ndarray else repr(self.values)
        return f"batched({shown})"

    # -- what it tells of itself: as each of its arrays would -------------------------------------------------
    @property
    def shape(self) -> Shape:
        """Tuple of dimensions, without that of the batch."""
        return self.values.shape[1:]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """NumPy dtype."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of dimensions, without that of the batch."""
        return self.values.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements of each of its arrays."""
        return prod(self.values.shape[1:])

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.values.dtype.itemsize  # type: ignore[no-any-return]

    def conjugate(self) -> Any:
        """The complex conjugate: of real numbers this array itself."""
        return super().conjugate() if self.values.dtype.kind == "c" else self  # type: ignore[misc]  # set below the class

    def astype(self, dtype: Any) -> Any:
        """The same numbers in another dtype."""
        return on_wrapped(lambda tensor: tensor.to(dtype), self)

    def __deepcopy__(self, memo: dict[int, Any]) -> BatchedArray:
        raise TypeError("an array of a batch belongs to its call of vmap and cannot be copied out of it.")


# -- operators ---------------------------------------------------------------------------------------------------------
# What flows in a backward within vmap is bare, and its formulas are mostly products and sums: the kernels do what
# follows, but they take batches in Tensors, in each other and in arrays of other transforms too.
def _quick(name: str, swapped: bool, general: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: BatchedArray, other: Any) -> Any:
        values, batch, kind = self.values, self.batch, type(other)
        if batch.open:
            beside: Any = None
            table = NUMPY if type(values) is np.ndarray else TENSOR if isinstance(values, Tensor) else None
            if table is None:
                pass
            elif kind is BatchedArray:
                if other.batch is batch and type(other.values) is type(values) and other.values.ndim == values.ndim:
                    beside = other.values
            elif kind in SCALARS:
                beside = other
            elif table is TENSOR:  # a Tensor of no higher level is a constant of this batch
                if issubclass(kind, Tensor) and other._level <= values._level and other.ndim < values.ndim:
                    beside = other
            # One number a sample beside an array is left to the rule, which may lay the result out in columns.
            elif kind is np.ndarray and other.ndim < values.ndim and values.ndim > 1 and other.dtype.kind in NUMERIC:
                beside = other if values.size > batch.size or not other.ndim else None
            if beside is not None:
                kernel = table.kernels[name]  # type: ignore[union-attr]  # there is one beside which something stands
                return BatchedArray(kernel(beside, values) if swapped else kernel(values, beside), batch)
        return general(self, other)

    return operator


for _python, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    setattr(BatchedArray, f"__{_python}__", _quick(_name, False, getattr(Arithmetic, f"__{_python}__")))
    setattr(BatchedArray, f"__r{_python}__", _quick(_name, True, getattr(Arithmetic, f"__r{_python}__")))
