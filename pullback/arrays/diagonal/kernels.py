"""Kernels on diagonal arrays: those of a backward whose cotangents are unit vectors, one for each sample.

What an operator makes of the arrays of all samples is seldom as large as they are. Where it treats samples apart, the
result is diagonal again: the kernel of NumPy, run on `values`, computes it, at the cost of one array for all. Where it
sums over samples, as the gradient of a parameter does, each sample's summand is computed from its own slices, by the
rules of vmap. That holds for operators that make zeros of zeros. Which do, and along which dimensions they mix, the
declaration tells, or the rule here; where neither does, `SamplesMixed` is raised, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.batched.array import BatchedArray
from pullback.arrays.batched.kernels import BATCHED
from pullback.arrays.diagonal.array import DiagonalArray, sliced
from pullback.core.array_type import CONSTANTS, NUMPY
from pullback.core.dims import wrap_dims
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.operator import BY_KERNEL, Operator, parameters_of

ndarray = np.ndarray
Kernel = Callable[..., Any]


class SamplesMixed(BaseException):
    """An operator mixes samples, or nobody has said that it does not. `shown` is its name, as users write it.

    No error, which somebody might explain or handle: whoever makes diagonal arrays takes another way then.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown
        super().__init__(f"{shown} may mix samples: their gradients are not computed together.")


# Linear in the one diagonal argument, so that zeros need no look.
LINEAR = frozenset({"mul", "neg", "conj", "real", "imag", "positive", "clone"})
# Element by element, or with further dimensions behind, though not tagged.
SAME = frozenset({"to_copy", "real", "imag", "view_as_real", "clone"})
# The numbers of the first argument in other places, and zeros: the labels of the samples tell where.
MOVING = frozenset({
    "flip", "roll", "rot90", "repeat", "tril", "triu", "slice_backward", "diagonal_backward", "diag_embed",
    "advanced_index", "index_select", "im2col", "take",
})  # fmt: skip
# The same, and a number at certain places, which must be 0.
FILLING = frozenset({"setitem", "index_put", "index_fill", "scatter_value", "masked_fill", "constant_pad_nd"})
# What adds -> what moves, and of which it is the adjoint: adding(x, shape, *rest) and moving(y, *rest).
ADJOINTS = {
    "index_accumulate": "advanced_index", "gather_backward": "gather", "index_select_backward": "index_select",
    "take_backward": "take", "unfold_backward": "unfold",
}  # fmt: skip
# Each slice along the first dimension of the first argument alone makes that of the result.
ROWS = frozenset({
    "convolution", "convolution_input", "nll_loss_backward", "cross_entropy_loss_backward", "im2col", "col2im",
    "sample_at", "spread_at",
})  # fmt: skip
# What mixes the last dimensions alone: as many as the last argument says, or holds an item for.
LAST = frozenset({"take_pooled", "place_pooled", "put_pooled", "separable_map"})
PRODUCTS = {"mm": "ab,bc->ac", "mv": "ab,b->a", "bmm": "zab,zbc->zac", "dot": "a,a->", "outer": "a,b->ab"}


class DiagonalKernels(dict[str, Kernel]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Kernel:
        made = self[name] = partial(_run, name)
        return made


DIAGONAL = MixedTable("diagonal", DiagonalKernels())


def _run(name: str, *args: Any) -> Any:
    op = next(op for op in BY_KERNEL[name].values() if op.arity in (0, len(args)))
    if not all(type(x) is DiagonalArray or _is_constant(x) for x in _spread(args)):
        raise SamplesMixed(op.shown)
    return _rule(op, name)(op, *args)


def _rule(op: Operator, name: str) -> Kernel:
    if name in _RULES:
        return _RULES[name]
    if name in SAME:
        return _same
    if "pointwise" in op.tags:
        return _pointwise
    if name in MOVING:
        return _moving
    if name in FILLING:
        return _filling
    if op.view:
        return _viewed
    if name in ADJOINTS:
        return _adding
    if name in ROWS:
        return _rows
    if name in LAST:
        return _of_last
    if op.node is None and "creation" in op.tags:
        return _created
    if op.along is not None or "matrices" in op.tags:
        return _along
    raise SamplesMixed(op.shown)


# -- samples apart -----------------------------------------------------------------------------------------------------
def _same(op: Operator, x: DiagonalArray, *rest: Any) -> Any:
    return _like(op, x, _kernel(op, x, *rest), x.dim)


def _pointwise(op: Operator, *args: Any) -> Any:
    given = [x for x in args if type(x) is DiagonalArray]
    behind = {x.ndim - x.dim for x in given}
    found = _kernel(op, *args)
    if len(behind) > 1:
        raise SamplesMixed(op.shown)
    if not _is_linear(op, args, given):
        _check_zeros(op, args)
    return _like(op, given, found, found.ndim - behind.pop())


def _is_linear(op: Operator, args: Sequence[Any], given: Sequence[Any]) -> bool:
    name = op.kernel
    if name in ("add", "sub"):
        return len(given) == 2
    if len(given) != 1:
        return False
    first = given[0] is args[0]
    # The adjoints of operators that go by the name of backward are linear in the cotangent, their first argument.
    return name in LINEAR or (first and (name == "div" or (name.endswith("_backward") and "." not in name)))


def _along(op: Operator, *args: Any) -> Any:
    """A rule for what is whole along some dimensions, and takes all others apart; its operands have as many."""
    given = [x for x in args if type(x) is DiagonalArray]
    x, arrays = given[0], [y for y in _spread(args) if type(y) is DiagonalArray or type(y) is ndarray]
    if any(y.ndim != x.ndim or y.shape[x.dim] != x.shape[x.dim] for y in arrays) or any(y.dim != x.dim for y in given):
        raise SamplesMixed(op.shown)
    dims = (-2, -1) if "matrices" in op.tags else args[parameters_of(op).index(op.along or "")]
    dims = range(x.ndim) if dims is None or dims == () else wrap_dims(dims, x.ndim, op.shown)
    if x.dim in dims:
        raise SamplesMixed(op.shown)
    found = _kernel(op, *args)
    if type(found) is not ndarray or found.ndim not in (x.ndim, x.ndim - len(dims)):
        raise SamplesMixed(op.shown)
    if not _is_linear(op, args, given):
        _check_zeros(op, args)
    return _like(op, given, found, x.dim - (sum(d < x.dim for d in dims) if found.ndim < x.ndim else 0))


def _rows(op: Operator, x: Any, *rest: Any) -> Any:
    if type(x) is not DiagonalArray or x.dim or any(type(y) is DiagonalArray for y in _spread(rest)):
        raise SamplesMixed(op.shown)
    found = _kernel(op, x, *rest)
    if not _is_linear(op, (x, *rest), (x,)):
        _check_zeros(op, (x, *rest))
    return _like(op, x, found, 0)


def _of_last(op: Operator, x: Any, *rest: Any) -> Any:
    count = rest[-1] if isinstance(rest[-1], int) else len(rest[-1])
    if type(x) is not DiagonalArray or x.dim >= x.ndim - count:
        raise SamplesMixed(op.shown)
    return _like(op, x, _kernel(op, x, *rest), x.dim)


def _solved(op: Operator, A: Any, x: Any, *rest: Any) -> Any:
    """Linear systems: columns and stacks of these are apart from each other."""
    behind = x.ndim - x.dim if type(x) is DiagonalArray else 2
    if type(A) is DiagonalArray or behind == 2 or (op.kernel == "linalg_solve_triangular" and not rest[1]):
        raise SamplesMixed(op.shown)
    found = _kernel(op, A, x, *rest)
    if type(found) is tuple:  # with what is known of A
        return _like(op, x, found[0], found[0].ndim - behind), *found[1:]
    return _like(op, x, found, found.ndim - behind)


def _selected(op: Operator, x: Any, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Any:
    """The gradient of what takes one element along `dim`."""
    own = x.dim + (not keepdim and dim % len(sizes) <= x.dim)
    if keepdim and own == dim % len(sizes):
        raise SamplesMixed(op.shown)
    return _like(op, x, _kernel(op, x, dim, indices, sizes, keepdim), own)


def _created(op: Operator, *args: Any) -> Any:
    return _kernel(op, *args)  # like an argument in shape and dtype alone


def _joined(op: Operator, parts: Sequence[Any], dim: int) -> Any:
    given = [x for x in parts if type(x) is DiagonalArray]
    found = _kernel(op, parts, dim)
    stacked = found.ndim > given[0].ndim
    dim %= found.ndim
    at = {x.dim for x in given}
    if len(at) > 1 or (dim in at and not stacked) or any(type(x) is not DiagonalArray and np.any(x) for x in parts):
        raise SamplesMixed(op.shown)
    own = at.pop()
    return _like(op, given, found, own + (stacked and dim <= own))


# -- moved -------------------------------------------------------------------------------------------------------------
def _viewed(op: Operator, x: Any, *rest: Any) -> Any:
    """A view: samples may be merged with other dimensions, or parted from these."""
    if type(x) is not DiagonalArray:
        raise SamplesMixed(op.shown)
    found = _kernel(op, x, *rest)
    return _reshaped(op, x, found) if op.kernel in ("reshape", "view") else _moving(op, x, *rest)


def _reshaped(op: Operator, x: DiagonalArray, found: ndarray) -> DiagonalArray:
    if not found.size:
        raise SamplesMixed(op.shown)
    stride = x.inner * _product(x.shape[x.dim + 1 :])  # of samples, among the elements in their order
    after = 1
    for dim in range(found.ndim - 1, -1, -1):
        size = found.shape[dim]
        if stride % after == 0 and (after * size) % (stride * x.batch.size) == 0:
            return DiagonalArray(found, x.batch, dim, stride // after)
        after *= size
    raise SamplesMixed(op.shown)


def _moving(op: Operator, *args: Any) -> Any:
    """A rule for what puts each element somewhere else, or nowhere, and zeros where there is none."""
    given = [x for x in _spread(args) if type(x) is DiagonalArray]
    found = _kernel(op, *args)
    labels = NUMPY.kernels[op.kernel](*[
        np.broadcast_to(_labels(x), x.shape) if type(x) is DiagonalArray else x for x in args
    ])  # fmt: skip
    if isinstance(found, (list, tuple)):
        return type(found)(_placed(op, given, *pair) for pair in zip(found, labels, strict=True))
    return _placed(op, given, found, labels)


def _filling(op: Operator, *args: Any) -> Any:
    _check_zeros(op, args)
    return _moving(op, *args)


def _placed(op: Operator, given: Sequence[DiagonalArray], found: ndarray, labels: ndarray) -> DiagonalArray:
    """Moved values, if their samples still follow one another along one dimension."""
    batch = given[0].batch
    if labels.shape == found.shape:
        for dim, size in enumerate(found.shape):
            for inner in {*[x.inner for x in given], size // batch.size, 1} if size else ():
                if inner and size % (inner * batch.size) == 0:
                    made = DiagonalArray(found, batch, dim, inner)
                    if _agree(labels, _labels(made), dim):
                        return made
    raise SamplesMixed(op.shown)


def _labels(x: DiagonalArray) -> ndarray:
    """The number of the sample to which each place belongs, from 1: size 1 in all dimensions but one."""
    owners = (np.arange(x.shape[x.dim]) // x.inner) % x.batch.size + 1
    return owners.reshape([-1 if i == x.dim else 1 for i in range(x.ndim)])


def _agree(labels: ndarray, expected: ndarray, dim: int) -> bool:
    """True if these are the labels expected, or 0; of a view with strides of 0 one of the repeated ones is enough."""
    index = tuple(slice(1) if s == 0 and i != dim else slice(None) for i, s in enumerate(labels.strides))
    labels = labels[index]
    return bool(np.all((labels == expected) | (labels == 0)))


# -- sums over samples -------------------------------------------------------------------------------------------------
def _summed(op: Operator, x: DiagonalArray, dims: Any, keepdim: Any, *rest: Any) -> Any:
    """The sum, or whether any is true."""
    if not isinstance(keepdim, bool):
        raise SamplesMixed(op.shown)
    chosen = range(x.ndim) if dims is None or dims == () else wrap_dims(dims, x.ndim, op.shown)
    if x.dim in chosen:
        return BATCHED.kernels[op.kernel](BatchedArray(x.slices, x.batch), tuple(chosen), keepdim, *rest)
    found = _kernel(op, x, dims, keepdim, *rest)
    return _like(op, x, found, x.dim - (0 if keepdim else sum(d < x.dim for d in chosen)))


def _any_of_all(op: Operator, x: DiagonalArray, *rest: Any) -> Any:
    return BATCHED.kernels[op.kernel](BatchedArray(x.slices, x.batch)) if not rest else _summed(op, x, *rest)


def _product_of(op: Operator, x: Any, y: Any, *rest: Any) -> Any:
    """Products of matrices, and of any two arrays by letters: over samples, each has that of its own slices."""
    if type(x) is type(y):
        raise SamplesMixed(op.shown)
    first, second, result = _letters(op.kernel, x, y, rest)
    left = type(x) is DiagonalArray
    (own, mine), (other, others) = ((x, first), (y, second)) if left else ((y, second), (x, first))
    letter = mine[own.dim]
    if mine.count(letter) > 1 or others.count(letter) > 1:
        raise SamplesMixed(op.shown)
    if letter in result:
        return _like(op, own, _kernel(op, x, y, *rest), result.index(letter))
    if letter in others and other.shape[others.index(letter)] != 1:
        parts = sliced(np.asarray(other), others.index(letter), own.inner, own.batch.size)
        other = BatchedArray(parts, own.batch)
    cut = BatchedArray(own.slices, own.batch)
    return BATCHED.kernels[op.kernel](*((cut, other) if left else (other, cut)), *rest)


def _letters(name: str, x: Any, y: Any, rest: Sequence[Any]) -> Sequence[str]:
    if name == "einsum_pair":
        operands, result = rest[0].replace(" ", "").split("->")
        return (*operands.split(","), result)
    if name != "matmul":
        operands, result = PRODUCTS[name].split("->")
        return (*operands.split(","), result)
    batch = "zyxwvutsrqponmlkjihgfed"
    m, n = np.ndim(x), np.ndim(y)
    first = "b" if m == 1 else batch[: m - 2][::-1] + "ab"
    second = "b" if n == 1 else batch[: n - 2][::-1] + "bc"
    longer = max(first[:-2], second[:-2], key=len)
    return first, second, longer + "a" * (m > 1) + "c" * (n > 1)


def _adding(op: Operator, x: Any, shape: Any, *rest: Any) -> Any:
    """The adjoint of what moves: elements are added at places, which may be those of a parameter that all share."""
    if type(x) is not DiagonalArray:
        raise SamplesMixed(op.shown)
    shape = tuple(shape)
    size, count = _product(shape), x.batch.size
    places = np.asarray(NUMPY.kernels[ADJOINTS[op.kernel]](np.arange(size).reshape(shape), *rest))
    owners = np.broadcast_to(_labels(x) - 1, x.shape)
    if places.shape != x.shape:
        raise SamplesMixed(op.shown)
    if x.dim < len(shape) and shape[x.dim] == x.shape[x.dim]:
        target = DiagonalArray(np.empty(shape, bool), x.batch, x.dim, x.inner)
        if np.array_equal(np.broadcast_to(_labels(target) - 1, shape).ravel()[places], owners):
            return _like(op, x, _kernel(op, x, shape, *rest), x.dim)
    found = np.zeros((count, size), x.dtype)
    np.add.at(found.reshape(-1), owners * size + places, x.values)
    return BatchedArray(found.reshape((count, *shape)), x.batch)


def _weight_of_convolution(op: Operator, grad: Any, given: Any, *rest: Any) -> Any:
    own = grad if type(grad) is DiagonalArray else given
    if type(grad) is type(given) or own.dim:
        raise SamplesMixed(op.shown)
    cut = [
        BatchedArray(sliced(x.values if x is own else x, 0, own.inner, own.batch.size), own.batch)
        for x in (grad, given)
    ]
    return BATCHED.kernels[op.kernel](*cut, *rest)


def _embedded(op: Operator, grad: Any, indices: Any, count: Any, padding: Any, by_frequency: Any) -> Any:
    """The gradient of a table of which rows were taken."""
    if type(grad) is not DiagonalArray or by_frequency or grad.dim == grad.ndim - 1:
        raise SamplesMixed(op.shown)
    chosen = BatchedArray(sliced(indices, grad.dim, grad.inner, grad.batch.size), grad.batch)
    return BATCHED.kernels[op.kernel](BatchedArray(grad.slices, grad.batch), chosen, count, padding, by_frequency)


_RULES: dict[str, Kernel] = {
    **dict.fromkeys([*PRODUCTS, "matmul", "einsum_pair"], _product_of),
    "sum": _summed, "any": _any_of_all, "cat": _joined, "stack": _joined, "convolution_weight": _weight_of_convolution,
    "embedding_rows_backward": _embedded, "linalg_solve_matrices": _solved, "linalg_solve_triangular": _solved,
    "value_selecting_reduction_backward": _selected,
}  # fmt: skip


# -- what rules are written with ---------------------------------------------------------------------------------------
def _kernel(op: Operator, *args: Any) -> Any:
    """NumPy's kernel on the values."""
    return NUMPY.kernels[op.kernel](*[_values(x) for x in args])


def _values(x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(map(_values, x))
    return x.values if type(x) is DiagonalArray else x


def _like(op: Operator, given: Any, found: Any, dim: int) -> DiagonalArray:
    """The result of what takes samples apart: those of all arguments must be the same, and have stayed along `dim`."""
    own, *others = given if isinstance(given, list) else [given]
    same = type(found) is ndarray and found.ndim > dim and found.shape[dim] == own.shape[own.dim]
    if not same or any(x.batch is not own.batch or x.inner != own.inner or x.shape[x.dim] != own.shape[own.dim]
                       for x in others):  # fmt: skip
        raise SamplesMixed(op.shown)
    return DiagonalArray(found, own.batch, dim, own.inner)


def _check_zeros(op: Operator, args: Sequence[Any]) -> None:
    """Refuse an operator that makes something of the zeros of other samples."""
    with np.errstate(all="ignore"):
        found = NUMPY.kernels[op.kernel](*[_zeros(x) for x in args])
    if type(found) is not ndarray or np.count_nonzero(found):
        raise SamplesMixed(op.shown)


def _zeros(x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(map(_zeros, x))
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if type(x) is DiagonalArray else x


def _spread(items: Sequence[Any]) -> Iterator[Any]:
    for x in items:
        if type(x) in (list, tuple):
            yield from _spread(x)
        else:
            yield x


def _is_constant(x: Any) -> bool:
    """True if an argument is the same for all samples: not so an array of another type."""
    return type(x) in CONSTANTS or not hasattr(x, "dtype") or isinstance(x, np.dtype)


def _product(sizes: Sequence[int]) -> int:
    return int(np.prod(sizes, dtype=np.int64))
