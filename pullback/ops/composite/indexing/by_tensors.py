"""Reading and writing at an index with Tensors in it whose numbers are not at hand, as inside vmap.

Such an index is an argument like any other, so it goes into operators that take Tensors: the indexed dimensions are
laid in a row, and the places in it computed.
"""

from math import prod

from pullback.core.array_face import ARRAYS
from pullback.core.array_type import SCALARS, array_type, innermost, refuse_where
from pullback.core.errors import OperatorError
from pullback.core.tensor import Tensor
from pullback.dispatch.results import copy_into
from pullback.graph.gathered import tie
from pullback.graph.view import base_of
from pullback.ops.formulas.indexing.by_index import is_basic_index
from pullback.ops.shapes import broadcast_shapes

MANY = frozenset([slice, type(None), type(...)])  # of an item that stands for other than one place


def has_tensors(index):
    """True if there is a Tensor in an index that `plain_index` has left one."""
    return any(isinstance(item, Tensor) for item in (index if isinstance(index, tuple) else (index,)))


def read_at(self, index, *, ops):
    """self[index]: a copy, tied to self where it is a view for one sample."""
    mask = _only_mask(index, self)
    if mask is not None and (len(mask.shape) == len(self.shape) or not _count_known(mask)):
        return ops.masked_select(self, mask)
    if (view := _view_at(self, index, ops)) is not None:
        return view
    copy = _gathered(self, index, ops)
    if is_basic_index(index) and isinstance(self, Tensor) and not _is_number(self, index):
        copy = ops.clone(copy) if base_of(copy) is not None else copy  # so that its own views keep it
        _tie_to(copy, self, index, ops)
    return copy


def _gathered(self, index, ops):
    basic, arrays, places, at = _parsed(self, index, ops)
    row, flat, shape, rest = _in_row(ops.slice_view(self, basic), arrays, places, ops)
    found = ops.reshape(ops.index_select(row, 0, ops.reshape(flat, (-1,))), (*shape, *rest))
    return _moved(found, len(shape), 0, at, ops)


def _view_at(self, index, ops):
    """self[index] where that is a view at a place that is told by numbers: these are read, if their type lets them."""
    items = index if isinstance(index, tuple) else (index,)
    if not is_basic_index(index) or any(array_type(innermost(i)).many for i in items if isinstance(i, Tensor)):
        return None
    if _is_number(self, index):
        return None
    return ops.slice_view(self, tuple([int(i) if isinstance(i, Tensor) else i for i in items]))


def _is_number(self, index):
    """True if NumPy gives a number for self[index], which nobody writes into."""
    items = index if isinstance(index, tuple) else (index,)
    return type(self) in ARRAYS and len(items) == len(self.shape) and not any(type(i) in MANY for i in items)


def _tie_to(copy, self, index, ops):
    """Where self[index] is a view, let writes go both ways."""
    items = index if isinstance(index, tuple) else (index,)
    at = tuple([ops.clone(i) if isinstance(i, Tensor) else i for i in items])  # whatever is written into these later
    tie(
        copy, self,
        lambda copy: copy_into(copy, _gathered(self, at, ops), "__getitem__"),
        lambda copy: copy_into(self, written_at(self, at, copy, ops=ops), "__setitem__"),
    )  # fmt: skip


def written_at(self, index, value, accumulate=False, *, ops):
    """A copy of self with value at (or added to) an index."""
    if self.dtype.kind != "c" and (issubclass(type(value), complex) or getattr(value, "dtype", self.dtype).kind == "c"):
        raise OperatorError(
            f"setitem: a complex value cannot be written into an array of dtype {self.dtype}; take its .real"
        )
    mask = _only_mask(index, self)
    if mask is not None and not accumulate and not (_count_known(mask) and _is_for_each(value, self, mask)):
        return _where(self, mask, value, ops)
    basic, arrays, places, at = _parsed(self, index, ops)
    view = ops.slice_view(self, basic)
    row, flat, shape, rest = _in_row(view, arrays, places, ops)
    region = (*rest[:at], *shape, *rest[at:])
    value = ops.to(value, self.dtype) if hasattr(value, "shape") else ops.scalar_tensor(value, dtype=self.dtype)
    while len(value.shape) > len(region) and value.shape[0] == 1:
        value = ops.reshape(value, value.shape[1:])
    value = _moved(ops.expand(value, region), len(shape), at, 0, ops)
    value, flat = ops.reshape(value, (prod(shape), *rest)), ops.reshape(flat, (-1,))
    row = ops.index_add(row, 0, flat, value) if accumulate else ops.index_copy(row, 0, flat, value)
    sizes = [view.shape[d] for d in places]
    whole = ops.movedim(ops.reshape(row, (*sizes, *rest)), tuple(range(len(places))), tuple(places))
    return ops.setitem(self, basic, whole)


def _only_mask(index, self):
    """The mask if the index is a truth value for each element; one with a mask beside other items is refused."""
    items = index if isinstance(index, tuple) else (index,)
    masks = [item for item in items if isinstance(item, Tensor) and item.dtype.kind == "b"]
    if not masks:
        return None
    if len(masks) == 1 and all(item is masks[0] or item is Ellipsis for item in items[:2]) and items[0] is masks[0]:
        _check_mask(masks[0], self, 0)
        return masks[0]
    if all(map(_count_known, masks)):
        return None
    raise OperatorError("an index with a mask whose values are not known here can have no other items; use where.")


def _count_known(mask):
    """True if it is known how many elements of a mask are true, as it is in a trace; inside vmap that differs."""
    return not array_type(innermost(mask)).many


def _check_mask(mask, self, first):
    """Raise if a mask has not the sizes of the dimensions that it is for, from the first on."""
    for d, (n, size) in enumerate(zip(mask.shape, self.shape[first:], strict=False), first):
        if n != size:
            raise IndexError(
                f"boolean index did not match indexed array along axis {d}; size of axis is {size} but size of "
                f"corresponding boolean axis is {n}"
            )


def _is_for_each(value, self, mask):
    """True if a value has an element for each place of the mask, or may have."""
    return len(getattr(value, "shape", ())) > len(self.shape) - len(mask.shape)


def _where(self, mask, value, ops):
    rest = len(self.shape) - len(mask.shape)
    if _is_for_each(value, self, mask):
        raise OperatorError(
            f"a value of shape {tuple(value.shape)} has an element for each place of the mask, whose number is not "
            "known here; give it the shape of what is written into, in pullback.where(mask, value, x)."
        )
    value = ops.to(value, self.dtype) if hasattr(value, "dtype") else self.dtype.type(value)
    return ops.where(ops.reshape(mask, (*mask.shape, *(1,) * rest)), value, self)


def _parsed(self, index, ops):
    """(the index with whole dimensions for arrays, the arrays, their dimensions, where those that they make go)."""
    items = list(index if isinstance(index, tuple) else (index,))
    taken = sum(_dims(item) for item in items)
    whole = [slice(None)] * (len(self.shape) - taken)
    if len(self.shape) < taken:
        raise IndexError(f"too many indices: an array of shape {tuple(self.shape)} was indexed with {taken}.")
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can have a single ellipsis.")
    at = places[0] if places else len(items)
    items[at : at + 1] = whole
    basic, arrays, dims = [], [], []
    for nr, item in enumerate(items):
        if item is None or isinstance(item, slice):
            basic.append(item)
            continue
        if _is_mask(item):
            _check_mask(item, self, sum(map(_dims, items[:nr])))
        for array in _as_integers(item, ops):
            dims.append(len(basic))
            basic.append(slice(None))
            arrays.append(array)
    together = dims[-1] - dims[0] + 1 == len(dims)
    return tuple(basic), arrays, dims, dims[0] if together else 0


def _dims(item):
    """How many dimensions one item of an index takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item):
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def _as_integers(item, ops):
    if _is_mask(item):
        return ops.nonzero(item, as_tuple=True)
    return (ops.scalar_tensor(int(item), dtype="int64") if type(item) in SCALARS else item,)


def _in_row(view, arrays, places, ops):
    """(the view with its indexed dimensions in one in front, the places in that, their shape, the other sizes)."""
    k = len(places)
    front = ops.movedim(view, tuple(places), tuple(range(k)))
    sizes, rest = front.shape[:k], tuple(front.shape[k:])
    flat = None
    for array, n in zip(arrays, sizes, strict=True):
        refuse_where(
            ops.logical_or(ops.lt(array, -n), ops.ge(array, n)),
            lambda n=n: IndexError(f"an index is out of bounds for a dimension of size {n}."),
        )
        place = ops.where(ops.lt(array, 0), ops.add(array, n), array)
        flat = place if flat is None else ops.add(ops.mul(flat, n), place)
    shape = tuple(broadcast_shapes(*[tuple(a.shape) for a in arrays]))
    return ops.reshape(front, (prod(sizes), *rest)), flat, shape, rest


def _moved(x, count, come, go, ops):
    """x with `count` dimensions from `come` on at `go`."""
    if come == go:
        return x
    return ops.movedim(x, tuple(range(come, come + count)), tuple(range(go, go + count)))
