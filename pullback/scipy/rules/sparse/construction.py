"""scipy.sparse's classes and functions that make matrices, of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.adopt.scipy.ways import gives_no_gradient
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.sparse.pattern import Pattern
from pullback.scipy.rules.sparse.sparse_array import (
    DROPPED,
    KINDS,
    STORED,
    MatrixLike,
    Sparse,
    SparseLike,
    compressed,
    from_entries,
    is_sparse,
    joined_entries,
    rearranged,
    sparse,
)

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.types import Genuine, Places


def _class_rule(kind: type) -> None:
    form = kind.__name__[:3]

    def rule(
        arg1: MatrixLike | tuple[Any, ...],
        shape: tuple[int, int] | None = None,
        dtype: DTypeLike = None,
        copy: bool = False,
        **options: Any,
    ) -> Sparse:
        made = _made(kind, form, arg1, shape, options if not copy else {**options, "copy": copy})
        return made if dtype is None else made.astype(dtype, copy=False)

    scipy_rule(f"scipy.sparse.{kind.__name__}")(rule)


def _made(
    kind: type, form: str, arg1: MatrixLike | tuple[Any, ...], shape: tuple[int, int] | None, options: dict[str, Any]
) -> Sparse:
    if is_sparse(arg1):
        return sparse(arg1).asformat(form, **options).like(kind)
    if isinstance(arg1, tuple) and len(arg1) == 2 and form == "bsr":
        return _made(_kind_of("coo", kind), "coo", arg1, shape, {}).asformat(form, **options).like(kind)
    if isinstance(arg1, tuple) and len(arg1) == 2 and form in ("csr", "csc", "coo"):
        data, (rows, cols) = arg1
        return _of_coordinates(kind, array(data), rows, cols, shape, form != "coo" or "copy" in options)
    if isinstance(arg1, tuple):
        data, *places = arg1
        places = [plain(p) for p in places]
        if form in KINDS and data.ndim == 1:
            marks = np.zeros(data.shape)
            found = _genuine(kind, (marks, *places), shape, options)  # which checks the places
            if found.data.size == data.size:
                return compressed(data if np.may_share_memory(found.data, marks) else data.copy(), found)
        return rearranged(lambda x: _genuine(kind, (x, *places), shape, options), array(data), STORED)
    dense = array(arg1)
    if dense.ndim != 2:
        if dense.ndim > 2 or not issubclass(kind, scipy.sparse.spmatrix):
            name = f"scipy.sparse.{kind.__name__}"
            raise UnsupportedError(f"{name}: a Tensor must have two dimensions here, got {dense.ndim}.")
        dense = dense.reshape(1, -1)
    return rearranged(lambda x: _genuine(kind, x, shape, options), dense, DROPPED)


def _of_coordinates(
    kind: type, data: AnyArray, rows: ArrayLike, cols: ArrayLike, shape: tuple[int, int] | None, copy: bool
) -> Sparse:
    i, j = (np.asarray(plain(x)).ravel() for x in (rows, cols))
    if data.ndim != 1 or not len(i) == len(j) == data.shape[0]:
        checked = np.zeros(data.shape)  # SciPy says what is wrong, or broadcasts
        i, j = scipy.sparse.coo_array((checked, (i, j)), shape).coords
        data = np.ravel(data)
    if shape is None:
        shape = (i.max() + 1, j.max() + 1)
    scipy.sparse.coo_array((np.zeros(len(i)), (i, j)), shape)  # which checks the indices
    index = scipy.sparse.get_index_dtype(maxval=max(*shape, len(i)))
    return from_entries(data, i.astype(index), j.astype(index), shape, kind, STORED, copy=copy)


def _kind_of(form: str, like: type) -> type:
    return getattr(scipy.sparse, f"{form}_{like.__name__[4:]}")


def _genuine(
    kind: type, arg1: ArrayLike | tuple[Any, ...], shape: tuple[int, int] | None, options: dict[str, Any]
) -> Genuine:
    return kind(arg1, shape=shape, **options)


for _name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
    for _face in ("array", "matrix"):
        _class_rule(getattr(scipy.sparse, f"{_name}_{_face}"))


def _arranging(name: str) -> Callable[..., Any]:
    """The rule of a function that arranges the numbers of its first argument."""
    function = getattr(scipy.sparse, name)

    def rule(first: object, *args: object, **kwargs: object) -> Sparse:
        dtype = kwargs.pop("dtype", None)
        rest, named = plain(args), plain(kwargs)
        tree = list(first) if isinstance(first, tuple) else first
        zeros = DROPPED if name in ("tril", "triu") and not is_sparse(first) else None
        made = rearranged(lambda x: function(x, *rest, **named), tree, zeros)
        return made if dtype is None else made.astype(dtype, copy=False)

    return scipy_rule(f"scipy.sparse.{name}")(rule)


for _name in (
    "block_array", "block_diag", "bmat", "diags", "diags_array", "hstack", "permute_dims", "spdiags",
    "swapaxes", "tril", "triu", "vstack",
):  # fmt: skip
    if hasattr(scipy.sparse, _name):  # older versions of SciPy lack some
        _arranging(_name)


@scipy_rule("scipy.sparse.kron")
def kron(A: MatrixLike, B: MatrixLike, format: str | None = None) -> Sparse:
    """The Kronecker product."""
    A, B = _two(A, B)
    data = np.ravel(np.expand_dims(A._data, 1) * B._data)
    rows = (np.asarray(A.row, np.int64)[:, None] * B.shape[0] + B.row).ravel()
    cols = (np.asarray(A.col, np.int64)[:, None] * B.shape[1] + B.col).ravel()
    shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
    made = Sparse(data, Pattern(rows, cols, shape), _kind("coo", A, B))
    return made.asformat(format or "coo")


@scipy_rule("scipy.sparse.kronsum")
def kronsum(A: MatrixLike, B: MatrixLike, format: str | None = None) -> Sparse:
    """The Kronecker sum: of I and A, and of B and I."""
    A, B = _two(A, B)
    one, two = (scipy.sparse.eye_array(X.shape[0], format="csr") for X in (A, B))
    found = joined_entries([kron(two, A).tocsr(), kron(B, one).tocsr()], _kind("csr", A, B))
    return found.asformat(format)


def _two(A: MatrixLike, B: MatrixLike) -> tuple[Sparse, Sparse]:
    first, second = (sparse(x) if is_sparse(x) else _made(scipy.sparse.csr_matrix, "csr", x, None, {}) for x in (A, B))
    return first.asformat("csr"), second.asformat("csr")


def _kind(form: str, *parts: Sparse) -> type:
    face = "array" if any(not p.is_matrix for p in parts) else "matrix"
    return getattr(scipy.sparse, f"{form}_{face}")


@scipy_rule("scipy.sparse.find")
def find(A: SparseLike) -> tuple[Places, Places, AnyArray]:
    """Rows, columns and values of the entries."""
    A = sparse(A)
    A = A if A.pattern.is_canonical(None) else A.merged()
    plain = frozen(A._data, "find")
    rows, cols, places = scipy.sparse.find(A.with_values(np.arange(1, len(plain) + 1) * (plain != 0)))
    return rows, cols, A._data[places - 1]


gives_no_gradient(
    *(f"scipy.sparse.{name}" for name in (
        "issparse", "isspmatrix", "isspmatrix_bsr", "isspmatrix_coo", "isspmatrix_csc", "isspmatrix_csr",
        "isspmatrix_dia", "isspmatrix_dok", "isspmatrix_lil", "get_index_dtype", "safely_cast_index_arrays",
        "eye", "eye_array", "identity",
    ))
)  # fmt: skip
