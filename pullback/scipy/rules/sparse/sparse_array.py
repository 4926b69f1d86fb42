"""Sparse matrices whose values are tensors: what scipy.sparse's classes make of our arrays."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse
from scipy.sparse import coo_array, csc_array, csr_array

from pullback.core.errors import OperatorError, UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Axis, DTypeLike, Index, Numeric, Order
from pullback.core.tensor import Tensor
from pullback.interop.adopt.scipy.calls import plain as plain_of
from pullback.interop.holders import Holder
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.sparse import kernels
from pullback.scipy.rules.sparse.operators import spmap, spmm
from pullback.scipy.rules.sparse.pattern import Pattern, merged

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from pullback.scipy.rules.sparse.types import Compressed, Genuine, Places

# What users give: a sparse matrix, or also a dense one, or also a function that multiplies.
SparseLike: TypeAlias = "Sparse | Genuine"
MatrixLike: TypeAlias = "SparseLike | ArrayLike"
OperatorLike: TypeAlias = "MatrixLike | LinearOperator"
# What rules give where SciPy gives a matrix of its own, or an array.
Product: TypeAlias = "Sparse | AnyArray"

KINDS = {"csr": csr_array, "csc": csc_array}
# Functions that are 0 at 0.
_ELEMENTWISE = (
    "sin", "tan", "arcsin", "arctan", "sinh", "arcsinh", "tanh", "arctanh", "deg2rad", "rad2deg", "expm1", "log1p",
    "sqrt", "sign", "floor", "ceil", "rint", "trunc",
)  # fmt: skip
_OF_ONE: dict[str, Callable[[Any], Any]] = {
    **{name: operator.methodcaller(name) for name in (*_ELEMENTWISE, "conjugate")},
    "absolute": abs,
    "negative": operator.neg,
}
# NumPy's operators by their ufunc.
_OF_TWO = {
    "add": "add", "subtract": "sub", "multiply": "mul", "matmul": "matmul", "true_divide": "truediv",
    "divide": "truediv", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
# What SciPy has where an entry of value 0 is kept here: an entry too, or none, as in a matrix made of a dense array.
STORED, DROPPED = "stored", "dropped"
_FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")


class Sparse(Holder):
    """A sparse matrix of which the values are a tensor, or an array beside tensors.

    It stands for one of SciPy's classes, of which it has the methods that are named here; entries that are stored stay,
    those of value 0 too, because their derivative need not be 0.

    It shares memory with what it is made of where SciPy's class does: a write into the one is seen in the other.

    values : those that SciPy keeps as `A.data`, of any shape
    pattern : Pattern; in the order of the format for csr and csc
    kind : the class of SciPy that it stands for
    gather : Pattern of the matrix of ones that takes an entry each out of the values; None if they are the entries
    zeros : what SciPy has in place of an entry of value 0: STORED, DROPPED, or None if that is not known
    """

    __slots__ = ("_gather", "_values", "kind", "pattern", "zeros")
    __array_priority__ = 11.0  # with no __array__, so that our arrays leave operators to it

    def __init__(
        self, values: AnyArray, pattern: Pattern, kind: type, gather: Pattern | None = None, zeros: str | None = None
    ) -> None:
        self._values, self.pattern, self.kind, self._gather, self.zeros = values, pattern, kind, gather, zeros

    __class__ = property(lambda self: self.kind)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: MatrixLike, **kwargs: object) -> Any:
        """NumPy's operators, which ask for their ufunc, and the functions of one matrix that SciPy has."""
        if method == "__call__" and not kwargs:
            if len(inputs) == 1 and ufunc.__name__ in _OF_ONE:
                return _OF_ONE[ufunc.__name__](self)
            if len(inputs) == 2 and ufunc.__name__ in _OF_TWO:
                name = _OF_TWO[ufunc.__name__]
                first, second = inputs
                if first is self:
                    return getattr(self, f"__{name}__")(second)
                return getattr(self, f"__{name if name in ('eq', 'ne') else 'r' + name}__")(first)
        raise _refused(self, f"np.{ufunc.__name__}", "compute with its values A.data, or with A.toarray()")

    # -- what it is made of

    def held(self) -> tuple[AnyArray]:
        return (self._values,)

    @property
    def _data(self) -> AnyArray:
        """The values of the entries, in the order of the pattern."""
        flat = self._values if self._values.ndim == 1 else self._values.reshape(-1)
        return flat if self._gather is None else applied(spmap, flat, self._gather)

    @_data.setter
    def _data(self, values: AnyArray) -> None:
        self._values, self._gather = values, None

    def like(self, kind: type) -> Sparse:
        """The same values, in the same memory, as a matrix of another class of the same format."""
        return self._made(self._values, kind=kind, gather=self._gather)

    def _made(
        self, values: AnyArray, pattern: Pattern | None = None, kind: type | None = None, gather: Pattern | None = None
    ) -> Sparse:
        """A matrix whose entries SciPy has where it has those of this one."""
        return Sparse(values, pattern or self.pattern, kind or self.kind, gather, self.zeros)

    def plain(self) -> Genuine:
        made = self.with_values(frozen(self._data, "asarray"))
        if self.zeros == DROPPED:
            entries = made.tocoo(copy=True)  # the pattern's indices stay as they are
            entries.eliminate_zeros()
            made = self.kind(entries)
        return made

    @property
    def data(self) -> AnyArray:
        """The values, in the order of the format."""
        if self.format not in ("csr", "csc", "coo"):
            raise _refused(self, "data", "values are kept by entries here: take those of A.tocsr() or A.tocoo()")
        return self._data

    @data.setter
    def data(self, values: ArrayLike) -> None:
        values = array(values)
        if tuple(values.shape) != (len(self.pattern),):
            raise ValueError(f"a sparse matrix of {self.nnz} entries needs as many values, got {tuple(values.shape)}")
        self._data = values

    @property
    def indices(self) -> Places:
        """As SciPy has them, for csr and csc."""
        return self._indices("indices")[0]

    @property
    def indptr(self) -> Places:
        """As SciPy has them, for csr and csc."""
        return self._indices("indptr")[1]

    def _indices(self, name: str) -> tuple[Places, ...]:
        if self.format not in KINDS:
            raise _refused(self, name, "only formats csr and csc have it: A.tocsr()")
        return tuple(_unwritable(x) for x in self.pattern.indices(KINDS[self.format]))

    @property
    def row(self) -> Places:
        """The rows of the entries."""
        return _unwritable(self.pattern.rows)

    @property
    def col(self) -> Places:
        """The columns of the entries."""
        return _unwritable(self.pattern.cols)

    @property
    def coords(self) -> tuple[Places, Places]:
        """Rows and columns of the entries."""
        return self.row, self.col

    @property
    def format(self) -> str:
        """The format, as SciPy names it."""
        return str(self.kind.__name__[:3])

    @property
    def is_matrix(self) -> bool:
        """True if `*` is the product of matrices."""
        return issubclass(self.kind, scipy.sparse.spmatrix)

    shape = property(lambda self: self.pattern.shape)
    ndim = property(lambda self: 2)
    dtype = property(lambda self: self._values.dtype)
    has_canonical_format = property(lambda self: self.pattern.is_canonical(KINDS.get(self.format)))
    has_sorted_indices = property(lambda self: self.pattern.is_sorted(KINDS.get(self.format)))

    @property
    def nnz(self) -> int:
        """How many values are stored: in the format dia whole diagonals, as far as the last column with an entry."""
        if self.format != "dia" or not len(self.pattern):
            return len(self.pattern)
        offsets = np.unique(self.pattern.cols - self.pattern.rows)
        ends = np.minimum(self.shape[0] + offsets, self.pattern.cols.max() + 1)
        return int(np.sum(ends - np.maximum(offsets, 0)))

    size = nnz

    def get_shape(self) -> tuple[int, int]:
        """The shape."""
        return self.pattern.shape

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<{self.kind.__name__} of tensors, dtype {self.dtype}, {self.nnz} stored elements, shape ({m}, {n})>"

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz()")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        raise _refused(self, name, "compute with its values A.data, or with A.toarray()")

    # -- other forms

    def with_values(self, values: np.ndarray[Any, Any]) -> Genuine:
        """SciPy's own matrix with these plain values."""
        pattern = self.pattern
        if self.format in KINDS:
            indices, indptr = self.pattern.indices(KINDS[self.format])
            return self.kind((values, indices, indptr), shape=self.shape)
        made = coo_array((values, (pattern.rows, pattern.cols)), shape=self.shape)
        return self.kind(made)

    def asformat(self, format: str | None, copy: bool = False, **options: object) -> Sparse:
        """The same matrix in another format; in its own, and as coo, it shares the values unless `copy`."""
        if format is None or (format == self.format and options.get("blocksize") is None):
            return self.copy() if copy else self
        if format not in _FORMATS:
            raise ValueError(f"Format {format} is unknown.")
        kind = self._face(format)
        if format in KINDS and self.format in KINDS and not self.has_canonical_format:  # SciPy adds nothing up then
            order, pattern = self.pattern.sorted(KINDS[format])
            return self._made(_taken(self._data, order), pattern, kind)
        if format in KINDS:
            return from_entries(
                self._data, self.pattern.rows, self.pattern.cols, self.shape, kind, self.zeros, copy=True
            )
        if format == "coo":
            shared = not copy and self.format in ("csr", "csc", "bsr")
            return self._made(
                self._values if shared else self._fresh(),
                Pattern(self.pattern.rows, self.pattern.cols, self.shape),
                kind,
                self._gather if shared else None,
            )
        ordered = self.asformat("csr")
        ordered.sum_duplicates()
        if format in ("bsr", "dia"):
            return rearranged(lambda A: getattr(A, f"to{format}")(copy=copy, **options), ordered)
        return self._made(ordered._fresh(), ordered.pattern, kind)

    def _fresh(self) -> AnyArray:
        """The entries, in memory of their own."""
        return self._data if self._gather is not None else self._data.copy()

    def toarray(self, order: Order = None, out: AnyArray | None = None) -> AnyArray:
        """The dense array."""
        if out is not None:
            raise _refused(self, "toarray(out=...)", "take what it returns")
        m, n = self.shape
        count = len(self.pattern)
        places = np.asarray(self.pattern.rows, np.int64) * n + self.pattern.cols
        flat = applied(spmap, self._data, Pattern(places, np.arange(count), (m * n, count)))
        return flat.reshape(m, n)

    def todense(self, order: Order = None, out: AnyArray | None = None) -> AnyArray:
        """The dense array."""
        if self.is_matrix:
            raise _refused_matrix(self, "todense()", "A.toarray()")
        return self.toarray(order, out)

    def copy(self) -> Sparse:
        """A copy, with values of its own."""
        return self._made(self._values.copy(), gather=self._gather)

    def astype(self, dtype: DTypeLike, casting: str = "unsafe", copy: bool = True) -> Sparse:
        """The same matrix in another dtype."""
        if self.dtype == np.dtype(dtype):
            return self.copy() if copy else self
        return self._made(self._data.astype(dtype))

    def sum_duplicates(self) -> None:
        """Add up the entries of one place, and sort them."""
        if not self.has_canonical_format:
            form = self.kind if self.format in KINDS else self._face("csr")
            same = from_entries(self._data, self.pattern.rows, self.pattern.cols, self.shape, form)
            self._data, self.pattern = same._data, same.pattern

    def sort_indices(self) -> None:
        """Sort the entries as the format has them."""
        if not self.has_sorted_indices:
            order, self.pattern = self.pattern.sorted(KINDS[self.format])
            self._data = _taken(self._data, order)

    def sorted_indices(self) -> Sparse:
        """A copy with sorted entries."""
        made = self.copy()
        made.sort_indices()
        return made

    def eliminate_zeros(self) -> None:
        """Entries stay, because their derivative need not be 0; to SciPy's functions of graphs they are none."""
        self.zeros = DROPPED

    def prune(self) -> None:
        """Nothing is left over here."""

    check_format = prune

    def getnnz(self, axis: Axis = None) -> int | Places:
        """The number of entries."""
        return self.nnz if axis is None else self.with_values(np.ones(len(self.pattern))).getnnz(axis)

    def nonzero(self) -> tuple[Places, Places]:
        """Rows and columns of the entries that are not 0."""
        same = self if self.format == "csc" else self.asformat("coo")
        return same.with_values(frozen(same._data, "nonzero")).nonzero()

    def rearranged(self, name: str, *args: object, **kwargs: object) -> Any:
        """Return what a method gives that puts entries elsewhere."""
        return rearranged(lambda A: getattr(A, name)(*args, **kwargs), self)

    def __getitem__(self, key: Index | tuple[Index, ...]) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, (Tensor, Holder)) for k in keys):
            key = plain_of(tuple(keys))
        indexed = hasattr(self.kind, "__getitem__") and self.format != "bsr"
        return (self if indexed else self.asformat("csr")).rearranged("__getitem__", key)

    def __setitem__(self, key: object, value: object) -> None:
        raise _refused(self, "A[...] = ...", "build it at once: scipy.sparse.coo_array((values, (rows, cols)), shape)")

    def transpose(self, axes: Sequence[int] | None = None, copy: bool = False) -> Sparse:
        """The transposed matrix."""
        if axes is not None and tuple(axes) != (1, 0):
            return self.rearranged("transpose", axes)
        name = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        if not copy and self.format in ("csr", "csc", "coo"):
            return self._made(self._values, self.pattern.T, self._face(name), self._gather)
        return self._made(self._fresh(), self.pattern.T, self._face(name))

    def _face(self, format: str) -> type:
        return getattr(scipy.sparse, f"{format}_{'matrix' if self.is_matrix else 'array'}")

    T = property(transpose)
    mT = T  # noqa: N815 - SciPy's name

    def getH(self) -> Sparse:
        """The conjugate transpose."""
        return self.conj().T

    H = property(getH)

    def diagonal(self, k: int = 0) -> AnyArray:
        """The k-th diagonal."""
        return self.asformat("csr").rearranged("diagonal", k)

    def trace(self, offset: int = 0) -> AnyArray:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def setdiag(self, values: ArrayLike, k: int = 0) -> None:
        """Replace the k-th diagonal."""
        values = array(values)
        m, n = self.shape
        length = min(m + min(k, 0), n - max(k, 0))
        if length <= 0:
            raise ValueError("k exceeds array dimensions")
        if values.ndim:
            length = min(length, values.shape[0])
            values = values[:length]
        else:
            values = values * np.ones(length)
        i = np.arange(length)
        if self.format in KINDS:
            self.sum_duplicates()
        rows, cols = self.pattern.rows, self.pattern.cols
        replaced = np.flatnonzero((cols - rows == k) & (np.minimum(rows, cols) < length))
        if self.format in KINDS and length - len(replaced) < max(1, 0.001 * len(rows)):
            self._values[replaced] = values[np.minimum(rows, cols)[replaced]]  # as SciPy, whose matrix shares memory
            if len(replaced) == length:
                return
        kept = np.flatnonzero((cols - rows != k) | (np.minimum(rows, cols) >= length))
        data = np.concatenate([_taken(self._data, kept), values])
        rows, cols = np.concatenate([rows[kept], i - min(k, 0)]), np.concatenate([cols[kept], i + max(k, 0)])
        made = from_entries(data, rows, cols, self.shape, self.kind)
        self._data, self.pattern = made._data, made.pattern
        self.zeros = STORED if self.zeros == STORED else None

    # -- element by element

    def _mapped(self, function: Callable[[Any], Any]) -> Sparse:
        """The same places with other values, of a function that is 0 at 0."""
        if self.format in ("csr", "csc", "coo"):
            self.sum_duplicates()
        same = self.asformat("csr") if self.format in ("dok", "lil") else self.merged()
        return same._made(function(same._data))

    def merged(self) -> Sparse:
        """The same with one entry a place."""
        if self.has_canonical_format:
            return self
        made = self.asformat("csr", copy=True)
        made.sum_duplicates()
        return made.asformat(self.format)

    def conj(self, copy: bool = True) -> Sparse:
        """The conjugate."""
        if self.dtype.kind != "c":
            return self.copy() if copy else self
        return self._made(np.conj(self._data))

    conjugate = conj

    @property
    def real(self) -> Sparse:
        """The real part, which shares memory."""
        if self.format in ("dok", "lil"):
            return self.asformat("csr").real
        return self._made(np.real(self._values), gather=self._gather)

    @property
    def imag(self) -> Sparse:
        """The imaginary part, which shares memory."""
        if self.format in ("dok", "lil"):
            return self.asformat("csr").imag
        return self._made(np.imag(self._values), gather=self._gather)

    def power(self, n: float, dtype: DTypeLike = None) -> Sparse:
        """Each entry to the power n."""
        scalar = np.isscalar(n)
        if not scalar or n <= 0:
            raise _refused(self, f"power({n})", "it is not 0 where A is 0: compute with A.toarray()")
        return self._mapped(lambda x: (x if dtype is None else x.astype(dtype)) ** n)

    def __neg__(self) -> Sparse:
        if self.format in ("dok", "lil"):
            return -self.asformat("csr")
        return self._made(-self._data)

    def __abs__(self) -> Sparse:
        return self._mapped(abs)

    def _scaled(self, factor: Numeric) -> Sparse:
        return self._made(self._data * factor)

    def multiply(self, other: MatrixLike) -> Any:
        """The product element by element, with a number, a dense array or a sparse matrix."""
        if not is_sparse(other):
            other = array(other)
            if other.ndim == 0:
                return self._scaled(other)
            other = np.broadcast_to(other, _same_shape(self, other))
            same = self.merged()
            return same._made(same._data * other[same.pattern.rows, same.pattern.cols])
        other = sparse(other)
        if other.shape != self.shape:
            return self.multiply(other.toarray())
        ours, other = self.asformat("csr").merged(), other.asformat("csr").merged()
        n = max(1, self.shape[1])
        one, two = (np.asarray(A.pattern.rows, np.int64) * n + A.pattern.cols for A in (ours, other))
        _, first, second = np.intersect1d(one, two, True, return_indices=True)
        data = _taken(ours._data, first) * _taken(other._data, second)
        return from_entries(data, ours.pattern.rows[first], ours.pattern.cols[first], self.shape, ours.kind, DROPPED)

    def __imul__(self, factor: MatrixLike) -> Any:
        if not _is_number(factor):
            return NotImplemented
        if self.format == "lil":
            return self._overwritten(self * factor)
        self._values *= factor
        return self

    def __itruediv__(self, divisor: MatrixLike) -> Any:
        if not _is_number(divisor):
            return NotImplemented
        if self.format == "lil":
            return self._overwritten(self / divisor)
        if self.format == "dok":
            self._values /= divisor
        else:
            self._values *= 1.0 / divisor
        return self

    def __iadd__(self, other: MatrixLike) -> Sparse:
        return self._overwritten(self + other) if self.format == "lil" else NotImplemented

    def __isub__(self, other: MatrixLike) -> Sparse:
        return self._overwritten(self - other) if self.format == "lil" else NotImplemented

    def _overwritten(self, other: Product) -> Sparse:
        if not is_sparse(other):
            raise _refused(self, "A += dense", "write A = A + dense")
        same = other.asformat(self.format)
        self._data, self.pattern, self.zeros = same._data, same.pattern, same.zeros
        return self

    def __mul__(self, other: MatrixLike) -> Any:
        if _is_number(other):
            return self._scaled(other)
        return self @ other if self.is_matrix else self.multiply(other)

    def __rmul__(self, other: MatrixLike) -> Any:
        if _is_number(other):
            return self._scaled(other)
        return self.__rmatmul__(other) if self.is_matrix else self.multiply(other)

    def __truediv__(self, other: MatrixLike) -> Any:
        if _is_number(other):
            data = self._data / other if self.format in ("dok", "lil") else self._data * (1 / other)
            return self._made(data)
        if is_sparse(other):
            raise _refused(self, "division by a sparse matrix", "it divides by 0: use A.toarray()")
        return self.multiply(1 / array(other))

    def __rtruediv__(self, other: MatrixLike) -> Any:
        raise _refused(self, "division by a sparse matrix", "it divides by 0: use A.toarray()")

    def _compared(self, name: str, other: object) -> Genuine | np.ndarray[Any, Any]:
        """SciPy's own answer, of truth values."""
        return getattr(self.plain(), name)(plain_of(other))

    def __pow__(self, power: int) -> Any:
        if not self.is_matrix:
            return self.power(power)
        return matrix_power(self, power)

    # -- sums

    def __add__(self, other: MatrixLike) -> Any:
        if is_sparse(other):
            other = sparse(other)
            if other.shape != self.shape:
                raise ValueError(f"inconsistent shapes {self.shape} and {other.shape}")
            return joined_entries([self, other], self.kind if self.format in KINDS else self._face("csr"))
        other = array(other)
        if other.ndim == 0:
            if not isinstance(other, Tensor) and other == 0:
                return self.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return self.toarray() + other

    __radd__ = __add__

    def __sub__(self, other: MatrixLike) -> Any:
        return self + -(other if is_sparse(other) else array(other))

    def __rsub__(self, other: MatrixLike) -> Any:
        return -self + other

    def sum(
        self, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike = None, out: AnyArray | None = None
    ) -> AnyArray:
        """The sum of all, or along an axis."""
        if dtype is not None or out is not None:
            raise _refused(self, "sum(dtype, out)", "cast the result: A.sum(axis).astype(dtype)")
        if axis is None or (isinstance(axis, tuple) and len(axis) == 2):
            return np.sum(self._data)
        if self.is_matrix:
            raise _refused_matrix(self, "sum(axis) or mean(axis)", f"scipy.sparse.{self.format}_array(A).sum(axis)")
        return self.sums(axis)

    def sums(self, axis: int | tuple[int, ...]) -> AnyArray:
        """The sums along an axis, as an array of one dimension."""
        axis = axis[0] if isinstance(axis, tuple) else axis
        if axis not in (-2, -1, 0, 1):
            raise ValueError("axis out of range")
        axis %= 2
        count = len(self.pattern)
        places = (self.pattern.cols, self.pattern.rows)[axis]
        return applied(spmap, self._data, Pattern(places, np.arange(count), (self.shape[1 - axis], count)))

    def mean(
        self, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike = None, out: AnyArray | None = None
    ) -> AnyArray:
        """The mean of all, or along an axis, zeros included."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis, dtype, out) / count

    # -- products

    def __matmul__(self, other: MatrixLike) -> Any:
        if is_sparse(other):
            return _product(self, sparse(other))
        other = array(other)
        if other.ndim not in (1, 2):
            raise ValueError("matmul: a sparse matrix is multiplied by a vector or a matrix here")
        if other.shape[0] != self.shape[1]:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={self.shape[1]}),(k={other.shape[0]},m)")
        return applied(spmm, self._data, other, self.pattern)

    def __rmatmul__(self, other: MatrixLike) -> Any:
        if is_sparse(other):
            return _product(sparse(other), self)
        other = array(other)
        if other.ndim > 2:
            raise ValueError("matmul: a sparse matrix is multiplied by a vector or a matrix here")
        found = self.T @ (other.T if other.ndim == 2 else other)
        return found.T if other.ndim == 2 else found

    def dot(self, other: MatrixLike) -> Any:
        """The product of matrices, or with a number."""
        return self._scaled(other) if _is_number(other) else self @ other


def _add_methods() -> None:
    def converting(format: str) -> Callable[..., Any]:
        name = f"to{format}"

        def convert(self: Sparse, *args: Any, **options: Any) -> Any:
            said = inspect.signature(getattr(self.kind, name)).bind(self, *args, **options)
            said.apply_defaults()  # in some formats SciPy copies if nothing is said
            return self.asformat(format, **dict(list(said.arguments.items())[1:]))

        return convert

    def elementwise(name: str) -> Callable[..., Any]:
        return lambda self: self._mapped(getattr(np, name))

    def comparing(name: str) -> Callable[..., Any]:
        return lambda self, other: self._compared(name, other)

    def moving(name: str) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: self.rearranged(name, *args, **kwargs)

    for format in _FORMATS:
        setattr(Sparse, f"to{format}", converting(format))
    for name in _ELEMENTWISE:
        setattr(Sparse, name, elementwise(name))
    for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(Sparse, name, comparing(name))
    for name in ("getrow", "getcol", "reshape"):
        setattr(Sparse, name, moving(name))


_add_methods()


def is_sparse(x: object) -> TypeGuard[SparseLike]:
    """True if it is a sparse matrix, of ours or of SciPy's."""
    return bool(scipy.sparse.issparse(x))


def sparse(x: SparseLike) -> Sparse:
    """A sparse matrix of SciPy's as one of ours, with constant values."""
    if issubclass(type(x), Sparse):
        return x
    if x.ndim != 2:
        raise UnsupportedError(_TWO)
    kind = type(x)
    if x.format in KINDS:
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        return Sparse(x.data, Pattern.of(x, KINDS[x.format]), kind, zeros=STORED)
    entries = x.tocoo()
    made = from_entries(entries.data, entries.row, entries.col, x.shape, kind if x.format == "coo" else csr_array)
    return Sparse(made._data, made.pattern, kind, zeros=STORED)


_TWO = "beside a Tensor a sparse array must have 2 dimensions: reshape it."


def from_entries(
    data: AnyArray,
    rows: Places,
    cols: Places,
    shape: tuple[int, int],
    kind: type,
    zeros: str | None = None,
    *,
    copy: bool = False,
) -> Sparse:
    """A matrix of these entries; in csr and csc those of one place are added up."""
    form = KINDS.get(kind.__name__[:3])
    order = None if form is None else merged(rows, cols, shape, form)
    pattern = Pattern(rows, cols, shape) if order is None else order.pattern
    if order is None or order.gather is None:
        return Sparse(data.copy() if copy else data, pattern, kind, zeros=zeros)
    return Sparse(applied(spmap, data, order.gather), pattern, kind, zeros=zeros)


def joined_entries(parts: list[Sparse], kind: type) -> Sparse:
    """The sum of matrices of one shape, in which SciPy stores no zeros."""
    data = np.concatenate([p._data for p in parts])
    rows, cols = (np.concatenate([getattr(p.pattern, name) for p in parts]) for name in ("rows", "cols"))
    return from_entries(data, rows, cols, parts[0].shape, kind, DROPPED)


def _product(A: Sparse, B: Sparse) -> Sparse:
    """The sparse product: of each entry (i, k) of A with each (k, j) of B, added up."""
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={A.shape[1]}),(k={B.shape[0]},m)")
    right = B.pattern.numbered()
    counts = np.diff(right.indptr)[A.pattern.cols]
    left = np.repeat(np.arange(len(A.pattern)), counts)
    starts = np.repeat(right.indptr[A.pattern.cols] - np.cumsum(counts) + counts, counts)
    places = starts + np.arange(len(left))
    data = _taken(A._data, left) * _taken(B._data, right.data[places])
    kind = A.kind if A.format in KINDS else A._face("csr")
    zeros = STORED if A.zeros == B.zeros == STORED else None
    return from_entries(data, A.pattern.rows[left], right.indices[places], (A.shape[0], B.shape[1]), kind, zeros)


def _taken(data: AnyArray, places: Places) -> AnyArray:
    """data[places]: a product with a matrix of ones, whose backward is as fast."""
    if not isinstance(data, Tensor):
        return np.asarray(data)[places]
    return spmap(data, Pattern.chosen(np.asarray(places), len(data)))


def matrix_power(A: Product, n: int) -> Any:
    """A to a whole power."""
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError("exponent must be a nonnegative integer")
    if n == 0:
        return scipy.sparse.eye_array(A.shape[0], format="csr")
    return A.copy() if n == 1 else A @ matrix_power(A, n - 1)


def rearranged(function: Callable[..., Any], tree: Any, zeros: str | None = None) -> Any:
    """function(tree) for a function that puts the numbers of sparse matrices and arrays elsewhere and computes nothing.

    It is run on the places of the numbers in `tree` (nested lists of tensors, matrices, arrays, numbers), with marks
    that show whether any have been added up.
    """
    parts: list[Any] = []
    handed: list[Any] = []
    given = _numbered(tree, parts, handed, _Numbers())
    found = function(given)
    zeros = zeros or _zeros_in(tree)
    if found is given and is_sparse(given) and given.format in ("bsr", "dia", "dok", "lil"):
        return tree
    entries, values = (found, found.data) if _is_compressed(found) else _entries_of(found)
    places, wrong = _Numbers.places(values, sum(p.size for p in handed))
    if wrong:
        if issubclass(type(tree), Sparse) and not (tree.format in KINDS and tree.has_canonical_format):
            same = tree.asformat("csr", copy=True)
            same.sum_duplicates()
            return rearranged(function, same, zeros)
        raise UnsupportedError("a function that adds up entries of sparse matrices has no rule: use A.toarray().")
    if not is_sparse(found):
        made = _picked(_joined(parts), np.ravel(places))
        return made.reshape(places.shape) if places.ndim else made[0]
    if found.ndim != 2:
        raise UnsupportedError(_TWO)
    pattern = _pattern_of(found) if _is_compressed(found) else Pattern(entries.row, entries.col, found.shape)
    memory = getattr(found, "data", None)
    for given, part, start in zip(handed, parts, np.cumsum([0, *(p.size for p in handed)]), strict=False):
        if issubclass(type(memory), np.ndarray) and np.may_share_memory(memory, given):
            return Sparse(part, pattern, type(found), _gather(places - start, given.size), zeros)
    return Sparse(_picked(_joined(parts), places), pattern, type(found), zeros=zeros)


def _zeros_in(tree: object) -> str | None:
    """Return what SciPy has in place of entries of value 0, where all matrices in nested lists say the same."""
    if isinstance(tree, (list, tuple)):
        said = {_zeros_in(part) for part in tree if part is not None}
        return said.pop() if len(said) == 1 else None
    if not is_sparse(tree):
        return None
    return tree.zeros if issubclass(type(tree), Sparse) else STORED


def _is_compressed(found: object) -> bool:
    """True if it is a matrix of format csr or csc."""
    return is_sparse(found) and found.format in KINDS


def compressed(data: AnyArray, found: Compressed) -> Sparse:
    """These values in the places of a genuine matrix, of format csr or csc."""
    return Sparse(data, _pattern_of(found), type(found), zeros=STORED)


def _pattern_of(found: Compressed) -> Pattern:
    # The caller may change the arrays later.
    return Pattern.compressed(KINDS[found.format], found.indices.copy(), found.indptr.copy(), found.shape)


def _entries_of(found: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return what was found as a coo_array, if it is sparse, and its values."""
    if not is_sparse(found):
        return None, found
    if found.format == "dia":  # whose values may be zeros that stand in for places outside of it
        numbers = np.arange(1, found.data.size + 1).reshape(found.data.shape)
        entries = type(found)((numbers, found.offsets), shape=found.shape).tocoo()
        values = found.data.ravel()[entries.data - 1]
        inside = values != 0
        return coo_array((values[inside], (entries.row[inside], entries.col[inside])), found.shape), values[inside]
    entries = found.tocoo()
    return entries, found.data if found.format == "coo" else entries.data


def _joined(parts: list[Any]) -> AnyArray:
    """All values, one after the other."""
    flat = [p if p.ndim == 1 else p.reshape(-1) for p in parts]
    return flat[0] if len(flat) == 1 else np.concatenate(flat)


def _gather(places: Places, count: int) -> Pattern | None:
    """The pattern that takes values by their numbers from 1 on, 0 where there is none; None if it takes all in turn."""
    if len(places) == count and np.array_equal(places, np.arange(1, count + 1)):
        return None
    used = np.flatnonzero(places > 0)
    if len(used) == len(places):
        return Pattern.chosen(places - 1, count)
    return Pattern(used, places[used] - 1, (len(places), count))


def _picked(data: AnyArray, places: Places) -> AnyArray:
    """The values with these numbers from 1 on, 0 where there is none, in memory of their own."""
    gather = _gather(places, len(data))
    return data.copy() if gather is None else applied(spmap, data, gather)


class _Numbers:
    """Hands out numbers from 1 on, each with a mark as its imaginary part that no sum of others has."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, count: int) -> np.ndarray[Any, Any]:
        numbers = np.arange(self.used + 1.0, self.used + count + 1)
        self.used += count
        return numbers + 1j * self.mark(numbers)

    @staticmethod
    def mark(numbers: np.ndarray[Any, Any] | np.generic) -> np.ndarray[Any, Any]:
        """40 bits, scattered: the mark of a sum must not be the sum of the marks."""
        bits = np.abs(np.ravel(numbers)).astype(np.uint64)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(factor)
        return (bits >> np.uint64(24)).astype(float).reshape(np.shape(numbers))

    @classmethod
    def places(cls, values: np.ndarray[Any, Any] | np.generic, total: int) -> tuple[Any, bool]:
        """The numbers, and whether some are none that were handed out."""
        numbers = np.real(values)
        wrong = (numbers < 0) | (numbers > total) | (numbers % 1 != 0) | (cls.mark(numbers) != np.imag(values))
        return numbers.astype(np.int64), bool(np.any(wrong))


def _numbered(tree: object, parts: list[Any], handed: list[Any], numbers: _Numbers) -> object:
    if tree is None:
        return None
    if isinstance(tree, (list, tuple)) and not is_sparse(tree):
        return type(tree)(_numbered(item, parts, handed, numbers) for item in tree)
    if is_sparse(tree):
        tree = sparse(tree)
        parts.append(tree._data)
        handed.append(numbers.take(len(tree.pattern)))
        return tree.with_values(handed[-1])
    values = array(tree)
    parts.append(values)
    handed.append(numbers.take(int(np.prod(values.shape))).reshape(values.shape))
    return handed[-1] if values.ndim else handed[-1][()]


def applied(operator: Callable[..., Any], *args: object) -> AnyArray:
    """An operator's result; of plain arrays a plain one."""
    if any(isinstance(x, Tensor) for x in args):
        return operator(*args)
    return getattr(kernels, operator.__name__)(*args)


def _is_number(x: object) -> TypeGuard[complex]:
    if is_sparse(x):
        return False
    return np.isscalar(x) or (hasattr(x, "ndim") and x.ndim == 0)


def _same_shape(A: Sparse, other: AnyArray) -> tuple[int, int]:
    shape = np.broadcast_shapes(A.shape, tuple(other.shape))
    if shape != A.shape:
        raise OperatorError(f"multiply: a dense array of shape {tuple(other.shape)} does not broadcast to {A.shape}.")
    return A.shape


def _unwritable(places: Places) -> Places:
    """A view that does not let the places be changed, on which the gradient depends."""
    view = places.view()
    view.flags.writeable = False
    return view


def _refused_matrix(A: Sparse, what: str, instead: str) -> UnsupportedError:
    return _refused(A, what, f"SciPy gives an np.matrix, whose * is the product of matrices: write {instead}")


def _refused(A: Sparse, what: str, instead: str) -> UnsupportedError:
    return UnsupportedError(f"scipy.sparse.{A.kind.__name__}: {what} has no rule for tensors; {instead}.")
