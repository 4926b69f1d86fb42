"""Kernels on index sets: what of which input elements each element of a linear operator's result may be made.

Tangent formulas are linear, so a dual array whose tangent is an `IndexSets` tells, when a function has run, on what its
results depend. Numbers that move never matter: a product with 0 keeps the set. So the result holds for other inputs
too, as long as the same operators run. A kernel is chosen by what the declaration of the operator promises:

- *pointwise*: each element has the union of the sets at its place;
- *moving* (views, indexing, joining): the kernel of NumPy, run on the numbers of the sets, with 0 for constants;
- *adding*, the adjoint of one that moves: the union of what is added at a place;
- *products*: the union over the dimensions that are summed, but for the zeros of a constant;
- *running*: the union of what comes before along a dimension, or after;
- *along* some dimensions: the union along these; which element a maximum or a sort takes is not looked at;
- any other: each element may depend on all that any element of an argument depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from pullback.arrays.index_sets.array import IndexSets
from pullback.arrays.index_sets.store import Store
from pullback.core.array_type import NUMPY
from pullback.core.errors import ReadError
from pullback.core.types import DType, Shape
from pullback.dispatch.mixed import MixedTable
from pullback.dispatch.operator import BY_KERNEL, Operator, parameters_of

ndarray = np.ndarray
Kernel = Callable[..., Any]

# Each element of the result is an element of an argument, or a constant, whatever the numbers are.
MOVING = frozenset({
    "clone", "copy", "fill", "zero", "fill_diagonal", "flip", "roll", "rot90", "repeat", "tril", "triu",
    "slice_backward", "diagonal_backward", "advanced_index", "setitem", "index_select", "index_copy", "index_fill",
    "take", "masked_select", "masked_select_backward", "masked_scatter", "diagonal_scatter", "cat",
    "stack", "diag_embed", "im2col", "scatter", "scatter_value",
})  # fmt: skip
# What adds -> what moves, and of which it is the adjoint: adding(x, shape, *rest) and moving(y, *rest).
ADJOINTS = {
    "index_accumulate": "advanced_index", "gather_backward": "gather", "index_select_backward": "index_select",
    "take_backward": "take", "unfold_backward": "unfold",
}  # fmt: skip
SAME = frozenset(
    {"to_copy", "real", "imag", "view_as_real", "view_as_complex"}
)  # element by element, though not tagged
PRODUCTS = {"mm": "ab,bc->ac", "mv": "ab,b->a", "bmm": "zab,zbc->zac", "dot": "a,a->", "vdot": "a,a->",
            "outer": "a,b->ab"}  # fmt: skip


RULES: dict[str, Callable[[Operator, Sequence[Any], Any], Any]] = {}  # by kernel, for some


def rule(*names: str) -> Callable[[Any], Any]:
    """Registers what the kernels of these names do: a function of the operator, its arguments and the store."""

    def register(function: Any) -> Any:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


class SetKernels(dict[str, Kernel]):
    """Kernels by name, each made when first asked for."""

    def __missing__(self, name: str) -> Kernel:
        made = self[name] = partial(_run, name)
        return made


SETS = MixedTable("index sets", SetKernels())


def _run(name: str, *args: Any) -> Any:
    op = next(op for op in BY_KERNEL[name].values() if op.arity in (0, len(args)))
    given = [args[position] for position, _ in (*op.tensors, *op.lists)]
    store = max((x.store for x in _spread(given) if type(x) is IndexSets), key=lambda store: store.number)
    return _rule(op, name)(op, [_of_store(x, store) for x in args], store)


def _of_store(x: Any, store: Store) -> Any:
    """An argument in which the sets of an outer run are constants."""
    if isinstance(x, (list, tuple)) and any(type(y) is IndexSets for y in x):
        return type(x)(_of_store(y, store) for y in x)
    return np.zeros(x.shape, x.dtype) if type(x) is IndexSets and x.store is not store else x


def _rule(op: Operator, name: str) -> Callable[[Operator, Sequence[Any], Store], Any]:
    if "pointwise" in op.tags:
        return _pointwise
    if name in SAME:
        return _same
    if name in RULES:
        return RULES[name]
    if op.view or name in MOVING:
        return _moving
    if name in ADJOINTS:
        return _adding
    if name in ("scatter_add", "index_add"):
        return _adding_to
    if name in PRODUCTS or name in ("matmul", "einsum_pair"):
        return _product
    if op.node is None:
        return _undifferentiated
    if op.along is not None or "matrices" in op.tags:
        return _along
    return _rows if "rows" in op.tags else everything


# -- the rules ---------------------------------------------------------------------------------------------------------
def _pointwise(op: Operator, args: Sequence[Any], store: Store) -> Any:
    operands = _operands(op, args)
    shape = np.broadcast_shapes(*[np.shape(x) for x in operands])
    ids = [np.broadcast_to(x.ids, shape) for x in operands if type(x) is IndexSets]
    return IndexSets(_joined(store, ids), store, _dtype(operands))


def _same(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x = args[0]
    if op.kernel == "to_copy":
        return IndexSets(x.ids.copy(), store, args[1])
    if op.kernel == "view_as_complex":
        return IndexSets(_joined(store, [x.ids[..., 0], x.ids[..., 1]]), store, np.result_type(x.dtype, np.complex64))
    if op.kernel == "view_as_real":
        return IndexSets(np.broadcast_to(x.ids[..., None], (*x.shape, 2)), store, _real(x.dtype))
    return IndexSets(x.ids[...], store, _real(x.dtype))


def _moving(op: Operator, args: Sequence[Any], store: Store) -> Any:
    moves = _differentiable(op)
    numbers = [_numbers(x) if i in moves else _plain(x, op) for i, x in enumerate(args)]
    found = NUMPY.kernels[op.kernel](*numbers)
    dtype = _dtype([x for i in moves for x in _spread([args[i]])])
    if isinstance(found, (list, tuple)):
        return type(found)(IndexSets(x, store, dtype) for x in found)
    return IndexSets(np.asarray(found), store, dtype)


def _adding(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x, shape, *rest = args
    places = NUMPY.kernels[ADJOINTS[op.kernel]](_positions(shape), *rest)
    return IndexSets(gathered(store, shape, [(places, x.ids)]), store, x.dtype)


def _adding_to(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x, dim, index, source, *_ = args
    positions = _positions(x.shape)
    if op.kernel == "scatter_add":
        places = NUMPY.kernels["gather"](positions, dim, index)
        parts = [(places, _numbers(source)[tuple(map(slice, index.shape))])]
    else:
        parts = [(NUMPY.kernels["index_select"](positions, dim, index), _numbers(source))]
    return IndexSets(gathered(store, x.shape, [(positions, _numbers(x)), *parts]), store, _dtype([x, source]))


@rule("index_put")
def _put(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x, index, values, accumulate = args
    if not accumulate:
        return _moving(op, args, store)
    positions = _positions(x.shape)
    parts = [(positions, _numbers(x)), (positions[index], _numbers(values))]
    return IndexSets(gathered(store, x.shape, parts), store, _dtype([x, values]))


def _product(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x, y, *rest = args
    if op.kernel == "matmul":
        batch = "zyxwvutsrqponmlkjihgfed"
        first = "b" if x.ndim == 1 else batch[: x.ndim - 2][::-1] + "ab"
        second = "b" if y.ndim == 1 else batch[: y.ndim - 2][::-1] + "bc"
        longer = max(first[:-2], second[:-2], key=len)
        result = longer + "a" * (x.ndim > 1) + "c" * (y.ndim > 1)
    else:
        operands, result = (rest[0] if op.kernel == "einsum_pair" else PRODUCTS[op.kernel]).replace(" ", "").split("->")
        first, second = operands.split(",")
    sizes: dict[str, int] = {}
    for letters, operand in ((first, x), (second, y)):
        for letter, size in zip(letters, operand.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, size)) if 0 not in (size, sizes.get(letter)) else 0
    shape = tuple(sizes[letter] for letter in result)
    parts = []
    for letters, operand, others, factor in ((first, x, second, y), (second, y, first, x)):
        if type(operand) is not IndexSets:
            continue
        sifted = None
        if _has_lasting_zeros(store, factor):
            of_ids = letters, np.broadcast_to(operand.ids, [sizes[letter] for letter in letters])
            of_factor = others, np.broadcast_to(factor, [sizes[letter] for letter in others])
            sifted = _sifted(store, of_ids, of_factor, result, shape)
        if sifted is not None:
            parts.append(sifted)
        else:
            left = [letter for letter in result if letter in letters]
            summed = tuple(i for i, letter in enumerate(letters) if letter not in result)
            ids = union_along(store, operand.ids, summed)
            ids = ids.reshape([n for i, n in enumerate(ids.shape) if i not in summed])
            rest_of = [letter for letter in letters if letter in result]
            ids = ids.transpose([rest_of.index(letter) for letter in left])
            ids = ids.reshape([ids.shape[left.index(letter)] if letter in left else 1 for letter in result])
            parts.append(np.broadcast_to(ids, shape))
    empty = any(sizes[letter] == 0 for letter in sizes if letter not in result)
    return IndexSets(np.zeros(shape, np.int64) if empty else _joined(store, parts), store, _dtype([x, y]))


def _has_lasting_zeros(store: Store, factor: Any) -> bool:
    """True if this is a constant with zeros. Those of what is computed happen to be there, and do not count."""
    return store.is_constant(factor) and not factor.all()


_MANY = 20_000_000  # members of sets, which take 160 MB for a moment


def _sifted(
    store: Store, of_ids: tuple[str, ndarray], of_factor: tuple[str, ndarray], result: str, shape: Shape
) -> ndarray | None:
    """The unions in a product with a constant, of what stands beside the numbers in that other than 0.

    None where these are so many that they cost too much.
    """
    (letters, ids), (others, factor) = of_ids, of_factor
    shared = [letter for letter in letters if letter in others]
    rest = [letter for letter in letters if letter not in others]
    nonzero = np.nonzero(factor)
    sizes = [ids.shape[letters.index(letter)] for letter in rest]
    if np.count_nonzero(factor) * math.prod(sizes) * (1 + store.counts(ids).sum() / max(ids.size, 1)) > _MANY:
        return None
    behind = np.indices(sizes, sparse=True)
    at = {letter: places.reshape(-1, *[1] * len(rest)) for letter, places in zip(others, nonzero, strict=True)}
    at |= dict(zip(rest, (x[None] for x in behind), strict=True))
    taken = ids[tuple(at[letter] for letter in letters)] if shared or rest else ids
    everywhere = np.broadcast_shapes((nonzero[0].size, *[1] * len(rest)) if nonzero else (), taken.shape)
    places = np.ravel_multi_index(tuple(at[letter] for letter in result), shape) if result else np.zeros((), np.int64)
    return gathered(store, shape, [(np.broadcast_to(places, everywhere), taken)])


@rule("cross")
def _cross(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """Of vectors of 3: element i is made of i + 1 of the one and i + 2 of the other, and the other way round."""
    x, y, dim = args
    shape = np.broadcast_shapes(x.shape, y.shape)
    dim = x.shape.index(3) if dim is None else dim
    parts = []
    for operand, factor in ((x, y), (y, x)):
        for own, other in ((-1, -2), (-2, -1)) if type(operand) is IndexSets else ():
            ids = np.roll(np.broadcast_to(operand.ids, shape), own, dim)
            if _has_lasting_zeros(store, factor):
                ids = np.where(np.roll(np.broadcast_to(factor, shape), other, dim), ids, 0)
            parts.append(ids)
    return IndexSets(_joined(store, parts), store, _dtype([x, y]))


@rule("cumsum", "cumsum_backward", "linear_recurrence")
def _running(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """The union of all up to each along a dimension, or from each on."""
    x, dim = args[0], args[parameters_of(op).index("dim")]
    if not x.size or not x.ndim or any(type(y) is IndexSets for y in args[1:]):
        return _along(op, args, store)
    backwards = op.kernel == "cumsum_backward" or (op.kernel == "linear_recurrence" and args[3])
    ids = np.moveaxis(x.ids, dim, 0)
    found = store.running((ids[::-1] if backwards else ids).reshape(len(ids), -1), _MANY)
    if found is None:
        return _along(op, args, store)
    ids = (found[::-1] if backwards else found).reshape(ids.shape)
    dtype = args[2] if op.kernel == "cumsum" and args[2] is not None else x.dtype
    return IndexSets(np.moveaxis(ids, 0, dim).copy(), store, dtype)


def _along(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """Of each argument with as many dimensions as the first the union along `dim`, of others that of everything."""
    operands = _operands(op, args)
    ndim = np.ndim(operands[0])
    dims = (-2, -1) if "matrices" in op.tags else args[parameters_of(op).index(op.along or "dim")]
    if ndim == 0 or dims is None or dims == ():
        return everything(op, args, store)
    dims = tuple(d % ndim for d in (dims if isinstance(dims, (tuple, list)) else (dims,)))
    return _like_zeros(op, args, store, partial(_kept_apart, store, operands, ndim, dims))


def _rows(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """Row by row of the first argument; all of any other."""
    first, *others = operands = _operands(op, args)

    def sets(shape: Shape) -> ndarray:
        by_row = np.ndim(first) > 1 and shape[:1] == first.shape[:1]
        parts = [_all_of(store, x.ids, shape) for x in (others if by_row else operands) if type(x) is IndexSets]
        if by_row and type(first) is IndexSets:
            rows = union_along(store, first.ids, range(1, first.ndim)).ravel()
            parts.append(np.broadcast_to(rows.reshape(-1, *[1] * (len(shape) - 1)), shape))
        return _joined(store, parts)

    return _like_zeros(op, args, store, sets)


def _kept_apart(store: Store, operands: Sequence[Any], ndim: int, dims: Sequence[int], shape: Shape) -> ndarray:
    parts = []
    for x in operands:
        if type(x) is not IndexSets:
            continue
        if x.ndim == ndim and (len(shape) == ndim or len(shape) == ndim - len(dims)):
            ids = union_along(store, x.ids, dims)
            if len(shape) != ndim:
                ids = ids.reshape([n for i, n in enumerate(ids.shape) if i not in dims])
            if all(a in (1, b) for a, b in zip(ids.shape, shape, strict=True)):
                parts.append(np.broadcast_to(ids, shape))
                continue
        parts.append(_all_of(store, x.ids, shape))
    return _joined(store, parts)


@rule("masked_fill")
def _masked_fill(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """A mask chooses what is filled; one that is computed may come out otherwise, and counts with every outcome."""
    return (_moving if store.is_constant(args[1]) else _pointwise)(op, args, store)


@rule("setitem")
def _setitem(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """A computed mask may hold anywhere: each place that it covers keeps what it has, or takes the value."""
    x, index, value = args
    moved = _moving(op, args, store)
    items = index if isinstance(index, tuple) else (index,)
    unsure = [type(i) is ndarray and i.dtype.kind == "b" and not store.is_constant(i) for i in items]
    if not any(unsure):
        return moved
    anywhere = tuple(np.ones_like(i) if mask else i for i, mask in zip(items, unsure, strict=True))
    try:
        written = _moving(op, (x, anywhere, value), store).ids
    except (ValueError, IndexError):  # one value for each place where the mask holds: of the outcome that was seen
        written = moved.ids
    return IndexSets(_joined(store, [_numbers(x), moved.ids, written]), store, moved.dtype)


def everything(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """Sets of all, for an operator of which nothing closer is known."""
    sets = [x for x in _operands(op, args) if type(x) is IndexSets]
    return _like_zeros(op, args, store, lambda shape: _joined(store, [_all_of(store, x.ids, shape) for x in sets]))


def _undifferentiated(op: Operator, args: Sequence[Any], store: Store) -> Any:
    """A rule for what has no derivative: arrays of ones and the like, of which only the shape matters."""
    if op.kernel == "storage_geometry":  # of the numbers of the sets, whose views are the views
        return NUMPY.kernels[op.kernel](*[x.ids if type(x) is IndexSets else x for x in args])
    if op.kernel in ("any", "all"):  # a number that is not known may be any
        found = NUMPY.kernels[op.kernel](*[_zeros(x) for x in args])
        return np.full(np.shape(found), op.kernel == "any")
    if "creation" in op.tags:
        return NUMPY.kernels[op.kernel](*[_zeros(x) for x in args])
    raise unknown_numbers(op.shown)


def unknown_numbers(why: str) -> ReadError:
    """The error for what looks at numbers of index sets; `why` says who."""
    return ReadError(
        f"{why} looks at the numbers of a derivative, which are not known while its sparsity is found. Give the "
        "pattern as `sparsity` (np.eye(n) for a function that works element by element), or use func.jacobian or "
        "func.hessian."
    )


def _like_zeros(op: Operator, args: Sequence[Any], store: Store, sets: Callable[[Shape], ndarray]) -> Any:
    """Sets for the results that the kernel of NumPy gives for zeros: shapes and dtypes are told by these.

    Or for ones on the diagonal, of functions of matrices that are not defined at 0.
    """
    with np.errstate(all="ignore"):
        try:
            found = NUMPY.kernels[op.kernel](*[_zeros(x) for x in args])
        except LinAlgError:
            found = NUMPY.kernels[op.kernel](
                *[_zeros(x) + np.eye(*x.shape[-2:]) if _is_matrix(x) else _zeros(x) for x in args]
            )
    if isinstance(found, (list, tuple)):
        made = [IndexSets(sets(np.shape(x)), store, x.dtype) if x.dtype.kind in "fc" else x for x in found]
        return made if isinstance(found, list) else tuple(made)
    return IndexSets(sets(np.shape(found)), store, found.dtype)


# -- sets --------------------------------------------------------------------------------------------------------------
def _joined(store: Store, parts: Sequence[ndarray]) -> ndarray:
    """Element by element the union of arrays of one shape."""
    first = parts[0]
    if all(x is first for x in parts):
        return first.copy()
    places = np.arange(first.size)
    return store.unions([places] * len(parts), [x.ravel() for x in parts], first.size).reshape(first.shape)


def gathered(store: Store, shape: Shape, parts: Iterable[tuple[ndarray, ndarray]]) -> ndarray:
    """An array of this shape, with the union of what lies at each place: pairs of places and sets."""
    pairs = [(places.ravel(), np.broadcast_to(ids, places.shape).ravel()) for places, ids in parts]
    count = int(np.prod(shape, dtype=np.int64))
    return store.unions([p for p, _ in pairs], [i for _, i in pairs], count).reshape(shape)


def union_along(store: Store, ids: ndarray, dims: Sequence[int]) -> ndarray:
    """The unions over these dimensions, which are then of size 1."""
    kept = tuple(1 if i in dims else n for i, n in enumerate(ids.shape))
    places = np.broadcast_to(_positions(kept), ids.shape)
    return gathered(store, kept, [(places, ids)])


def _all_of(store: Store, ids: ndarray, shape: Shape) -> ndarray:
    number = store.unions([np.zeros(ids.size, np.int64)], [ids.ravel()], 1)[0]
    return np.full(shape, number)


# -- arguments ---------------------------------------------------------------------------------------------------------
def _operands(op: Operator, args: Sequence[Any]) -> list[Any]:
    return [x for x in _spread([args[p] for p, _ in (*op.tensors, *op.lists)]) if x is not None]


def _spread(items: Iterable[Any]) -> list[Any]:
    return [y for x in items for y in (x if isinstance(x, (list, tuple)) else (x,))]


def _differentiable(op: Operator) -> tuple[int, ...]:
    return op.node.inputs if op.node is not None else tuple(p for p, _ in (*op.tensors, *op.lists))


def _numbers(x: Any) -> Any:
    """The numbers of the sets of an argument, 0 where it is a constant."""
    if isinstance(x, (list, tuple)):
        return [_numbers(y) for y in x]
    return x.ids if type(x) is IndexSets else np.zeros(np.shape(x), np.int64)


def _plain(x: Any, op: Operator) -> Any:
    if type(x) is IndexSets:
        raise ReadError(f"{op.shown}: an index or a mask was made of a tangent; take it of the values.")
    return x


def _zeros(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(_zeros, x))
    return np.zeros(x.shape, x.dtype) if type(x) is IndexSets else x


def _is_matrix(x: Any) -> bool:
    return type(x) is IndexSets and x.ndim > 1


def _positions(shape: Sequence[int]) -> ndarray:
    return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(tuple(shape))


def _dtype(operands: Sequence[Any]) -> DType:
    return np.result_type(*[getattr(x, "dtype", type(x)) for x in operands])


def _real(dtype: DType) -> DType:
    return np.zeros((), dtype).real.dtype
