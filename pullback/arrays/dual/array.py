"""DualArray: an array with a tangent beside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from pullback.arrays.dual.levels import ForwardLevel
from pullback.core.array_type import REGISTERED, array_type, memory_of
from pullback.core.tensor import Tensor, inside_tensors, ndarray
from pullback.core.types import DType, RawArray, Shape
from pullback.core.version import Counter, counter_of


class Kin:
    """State shared by dual arrays in the same memory: a write into one of them invalidates the masks of all.

    `parted` are those, while they live, whose tangents are not in the memory of the others' tangents. With
    `zero_primal` their primals are 0 by structure until the first write. `counter` is that of a Tensor in the memory of
    the tangent, which the user gave for it or got of it, and `given` is the one that was given.
    """

    __slots__ = ("counter", "given", "parted", "version", "was_written", "zero_primal")

    def __init__(self, zero_primal: bool = False) -> None:
        self.was_written, self.zero_primal = False, zero_primal
        self.parted: list[weakref.ref[DualArray]] = []
        self.given: Tensor | None = None
        self.counter: Counter | None = None
        self.version = 0

    def share(self, tangent: Tensor) -> None:
        """Note that a user has a Tensor in the memory of the tangents."""
        if self.counter is None:
            self.counter = counter_of(tangent)
            self.version = self.counter.n
        elif tangent._counter is None:
            tangent._counter = self.counter

    def note_write(self) -> None:
        """A write has come through one of them, and so into the Tensor in the memory of the tangent."""
        self.was_written = True
        if self.counter is not None:
            self.counter.n += 1
            self.counter.culprit = "its dual Tensor"

    def is_written(self) -> bool:
        """True if a write has come, through one of them or through the Tensor in the memory of the tangent."""
        return self.was_written or (self.counter is not None and self.counter.n != self.version)


class DualArray:
    """The dual number primal + eps tangent, with the infinitesimal eps of a forward level.

    Parameters
    ----------
    primal, tangent : array of any type, of the same shape and dtype
        ndarrays, Tensors of a lower level, or DualArrays of a lower forward level. A tangent of None is zero.
    level : ForwardLevel
    co : bool, default False
        Whether this is a cotangent v + eps u that stands for the functional <u, primal> + <v, tangent> of a dual
        number: see `arrays.dual.boundary`. Kernels hand the mark on.
    apart : bool, default False
        Whether the primal is a view of another array's memory and the tangent is not, so that writing would part them.
    touched : ndarray of bool, optional
        Where the tangent is not 0 by structure: see `arrays.dual.touched`.
    """

    __slots__ = ("__weakref__", "apart", "co", "given", "kin", "level", "primal", "tangent", "touched")
    __array_ufunc__ = None  # ndarray * DualArray leaves the product to the latter

    primal: Any
    tangent: Any
    kin: Kin | None  # what it shares with others in its memory
    given: Tensor | None  # the Tensor that forward_ad.make_dual got for the tangent; only what it makes has one

    def __init__(
        self,
        primal: RawArray,
        tangent: RawArray | None,
        level: ForwardLevel,
        co: bool = False,
        apart: bool = False,
        touched: Any = None,
    ) -> None:
        self.primal, self.tangent, self.level, self.co, self.apart = primal, tangent, level, co, apart
        self.touched = touched
        self.given = self.kin = None

    def __repr__(self) -> str:
        return f"dual({_numbers(self.primal)}, tangent={_numbers(self.tangent)})"

    # -- what an array tells of itself, as the primal says it ------------------------------------------------
    @property
    def shape(self) -> Shape:
        """Tuple of dimensions."""
        return self.primal.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """NumPy dtype."""
        return self.primal.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.primal.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.primal.size)

    @property
    def itemsize(self) -> int:
        """Bytes of one element of the primal."""
        return self.primal.dtype.itemsize  # type: ignore[no-any-return]

    @property
    def strides(self) -> Shape:
        """Strides of the primal in bytes."""
        return plain_part(self).strides  # type: ignore[no-any-return]

    @property
    def flags(self) -> Any:
        """Layout of the primal's memory."""
        return plain_part(self).flags

    def __len__(self) -> int:
        return len(self.primal)

    def __bool__(self) -> bool:
        return bool(self.primal)

    # -- what the type tells of one: see arrays.dual.described ------------------------------------------------
    def values(self) -> RawArray:
        """The primal alone, of the innermost level, and so on inwards."""
        array: Any = self
        while type(array) is DualArray:
            array = array.primal
        return array  # type: ignore[no-any-return]

    def detached(self) -> RawArray:
        """The same; but a co-dual stays what it is, for its two parts are one gradient."""
        return self if self.co else self.values()

    def tangents(self) -> DualArray | None:
        """The tangents alone, with nothing in the place of the primal: for `around`."""
        inside: Any = self.primal.tangents() if type(self.primal) is DualArray else None
        return None if self.co else self._beside(inside)

    def around(self, values: RawArray) -> DualArray:
        """These tangents with a primal again."""
        inside = values if self.primal is None else self.primal.around(values)
        return self._beside(inside)

    def _beside(self, primal: Any) -> DualArray:
        """The tangent, in its memory, beside another primal."""
        made = DualArray(primal, self.tangent, self.level, self.co, self.apart, self._mask())
        made.kin = self.kin
        return made

    def components(self) -> Iterator[tuple[frozenset[int], Any, str]]:
        """(numbers of the levels whose tangent it is, holder, attribute) of each array inside."""
        for name, own in (("primal", frozenset[int]()), ("tangent", frozenset((self.level.number,)))):
            part = getattr(self, name)
            if type(part) is DualArray:
                yield from ((own | numbers, holder, inside) for numbers, holder, inside in part.components())
            elif part is not None:
                yield own, self, name

    def carries_derivative(self) -> bool:
        """True if something would be lost if the primal were taken alone."""
        array: Any = self
        while type(array) is DualArray:
            if array.co or (array.level.open and array.tangent is not None):
                return True
            array = array.primal
        return False

    def has_zero_primal(self) -> bool:
        """True if the primal is 0 by structure, as that of the co-dual which `primal_of` pulls back."""
        return self.kin is not None and self.kin.zero_primal and not self.kin.is_written()

    def copy(self) -> DualArray:
        """The same numbers in memory of their own."""
        return self._each(_copied)

    def lasting(self) -> DualArray:
        """The same at levels that are never closed, for a backward."""
        part = self._each(lambda x: x.lasting() if type(x) is DualArray else x)
        part.level, part.kin = self.level.lasting, self.kin
        return part

    def _each(self, function: Callable[[Any], Any]) -> DualArray:
        tangent = None if self.tangent is None else function(self.tangent)
        return DualArray(function(self.primal), tangent, self.level, self.co, self.apart, self._mask())

    def _mask(self) -> Any:
        return None if self.kin is not None and self.kin.is_written() else frozen(self.touched)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        raise TypeError("an array with a tangent belongs to its dual level and cannot be copied out of it.")


def frozen(mask: Any) -> Any:
    """A mask that two arrays will have: who writes into one of them makes another mask."""
    if type(mask) is ndarray:  # or a number, which nobody writes into
        mask.flags.writeable = False
    return mask


def plain_part(array: Any) -> Any:
    """The array without any tangents or Tensors around it."""
    while type(array) is DualArray or isinstance(array, Tensor):
        array = array.primal if type(array) is DualArray else memory_of(array)
    return memory_of(array) if type(array) in REGISTERED else array


def holds_dual(x: Any) -> bool:
    """True if an array is a dual one, or a Tensor around one."""
    return type(inside_tensors(x)) is DualArray


def duals_in(args: Any) -> Iterator[DualArray]:
    """The dual arrays among the arguments of a kernel, those in lists too."""
    for x in args:
        if type(x) is DualArray:
            yield x
        elif type(x) is list or type(x) is tuple:
            yield from (y for y in x if type(y) is DualArray)


def _copied(x: Any) -> Any:
    return x.copy() if type(x) is ndarray else array_type(x).copy(x)


def _numbers(x: Any) -> str:
    return np.array2string(x, separator=", ") if type(x) is ndarray else repr(x)
