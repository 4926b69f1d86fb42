"""Elements of a gradient that nothing has touched: no slope reaches them, however infinite it is.

`where(x > 0, sqrt(x), 0)` does not depend on sqrt at x = 0 and below, so no cotangent flows there. As numbers, though,
the zeros that stand there meet an infinite slope, and 0 * inf is NaN. A zero of this kind has a known place: an
operator that masks has made it (tagged `masking` in native_functions.yaml: where, an index, relu, ...), or the user's
own cotangent holds it. A zero that was computed, by an underflow say, is another matter: there 0 * inf may stand for
any number, and stays NaN.

So behind an operator that masks, a gradient goes through the graph as a `Masked`: with a mask of what was touched.

- A pointwise node hands the mask on. Its NaNs at untouched places stay there, and may wait (`dirty`) until the gradient
  comes to anything that is not pointwise: then they are cleaned, put to 0.
- A structural node (tags `structural`, `masking`, views) takes, moves and adds elements. Its own formula, run on 1 for
  touched and 0 for the rest, gives the mask of its input.
- Any other node hands on only that nothing at all was touched.
- In a sum, touched is what either part has touched.

Masks are found when someone asks, and only a NaN asks: until then a mask is a note of how to find it. Where gradients
are themselves differentiated (Tensors, dual numbers), untouched elements are cleaned without being NaN, for their
derivative may be.

Inside vmap a gradient is that of many samples, each with zeros of its own. And there are arrays that show no numbers: a
tangent that is not known yet, or an array of a storage elsewhere. Then a mask is a Tensor or an array as the gradient
is, nobody looks before an element is cleaned, and what concerns all elements (`_IfAny`) is computed too, for each
sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from threading import get_ident
from typing import Any

import numpy as np
from numpy import vdot

from pullback.core.array_type import ARRAY_TYPES, array_type, cleaned, numbers_of, parts_of, table_of, touched_in
from pullback.core.tensor import Tensor, inside_tensors, ndarray
from pullback.core.types import DType, Gradient, Shape
from pullback.graph.node import AccumulateGrad, Edge, Node, Unpack
from pullback.ops.formulas.decompositions.spectra_in_use import masks_of_outputs

_FEW = 3000  # elements, below which a cotangent's zeros are counted
LARGE = 2000  # elements, from where on a pass over them costs more than what saves it


class Mask:
    """Which elements of a gradient were touched: an array of bools, once `touched` has found it.

    Subclasses say how it follows from what was found of the `sources` (None: all touched).
    """

    __slots__ = ("found", "sources")
    found: Any
    sources: Sequence[Mask | None]

    def find(self, *found: Any) -> Any:
        """The mask, from those of the sources."""
        raise NotImplementedError

    def touched(self) -> Any:
        """The mask as an array. It may have come a long way, so nothing recurses here."""
        stack = [self]
        while stack:
            mask = stack[-1]
            if mask.found is None:
                waiting = [source for source in mask.sources if source is not None and source.found is None]
                if waiting:
                    stack += waiting
                    continue
                mask.found = mask.find(*[None if source is None else source.found for source in mask.sources])
                mask.sources = ()
            stack.pop()
        return self.found


class _Known(Mask):
    """A mask that needs no finding."""

    __slots__ = ()

    def __init__(self, found: Any) -> None:
        self.found, self.sources = found, ()


NOTHING = _Known(np.False_)


class _Nonzero(Mask):
    """The mask of a gradient that a user gave, whose numbers nobody knows here: touched is what is not 0."""

    __slots__ = ("grad",)

    def __init__(self, grad: Any) -> None:
        self.found, self.sources, self.grad = None, (), grad

    def find(self) -> Any:
        grad, self.grad = _constant(self.grad), None
        return touched_in(grad)


class _Either(Mask):
    """The union of two masks: elements that either gradient has touched."""

    __slots__ = ()

    def __init__(self, a: Mask, b: Mask) -> None:
        self.found, self.sources = None, (a, b)

    def find(self, *found: Any) -> Any:
        return found[0] | found[1]


class _Summed(Mask):
    """The mask of a gradient summed to `shape`: a sum is touched if one of its terms is."""

    __slots__ = ("shape",)

    def __init__(self, mask: Mask, shape: Shape) -> None:
        self.found, self.sources, self.shape = None, (mask,), shape

    def find(self, *found: Any) -> Any:
        (touched,), shape = found, self.shape
        lead = touched.ndim - len(shape)
        axes = [lead + i for i, n in enumerate(shape) if n == 1]
        dims = (*range(lead), *axes)
        if not _is_plain(touched):
            return table_of((touched,)).any(touched, dims, True).reshape(shape)
        return touched.any(axis=dims, keepdims=True).reshape(shape)


class _Pulled(Mask):
    """The mask of the only input of a structural node, or a list of all inputs' masks: its formula run on masks."""

    __slots__ = ("grads", "node", "only", "saved")

    def __init__(
        self, node: Node, saved: Sequence[Any], grads: Sequence[Gradient], masks: Sequence[Mask | None], only: bool
    ) -> None:
        self.found, self.sources = None, masks
        self.node, self.saved, self.only = node, saved, only
        self.grads = [None if g is None else (g.shape, g.dtype, _whole(g)) for g in grads]

    def find(self, *found: Any) -> Any:
        numbers = [None if g is None else _numbers(mask, *g) for mask, g in zip(found, self.grads, strict=True)]
        # In the order of the first run: the node may have been released since, and hooks unpack a tensor only once.
        saved = [_values(x) for x in self.saved]
        node, self.saved = self.node, ()
        given = numbers if node.outputs != 1 else numbers[0]
        ops, each = table_of((*numbers, *saved)), iter(saved)
        pulled = node.pull_touched(ops, given, lambda *_: next(each))
        return pulled[0] != 0 if self.only else pulled


class _IfAny(Mask):
    """The mask of what an opaque node made: all is touched if anything was, of each sample or of the array at all."""

    __slots__ = ("grad",)

    def __init__(self, masks: Sequence[Mask], grad: Any) -> None:
        self.found, self.sources, self.grad = None, masks, grad

    def find(self, *found: Any) -> Any:
        grad, moved, self.grad = _constant(self.grad), touched_in(self.grad), None
        ops = table_of((grad, moved, *found))
        number = ops.logical_and(moved, ops.logical_not(ops.isnan(grad)))  # it may make these of nothing
        return ops.expand(reduce(ops.logical_or, [ops.any(x) for x in (*found, number)]), grad.shape)


class _Taken(Mask):
    """The mask of one input, taken from the masks of all inputs."""

    __slots__ = ("nr",)

    def __init__(self, pulled: _Pulled, nr: int) -> None:
        self.found, self.sources, self.nr = None, (pulled,), nr

    def find(self, *found: Any) -> Any:
        return found[0][self.nr] != 0


def _whole(g: Any) -> Any:
    """The mask of a gradient that is touched wherever it can be, None for all of it."""
    return None if _is_plain(g) else array_type(g).all_touched(g)


def _numbers(mask: Any, shape: Shape, dtype: DType, whole: Any) -> Any:
    """0 and 1, or 1 + i, so that real and imaginary part are touched."""
    one = 1 + 1j if dtype.kind == "c" else 1.0
    mask = whole if mask is None else mask
    if mask is None:
        return np.full(shape, one)
    return (np.broadcast_to(mask, shape) if _is_plain(mask) else table_of((mask,)).expand(mask, shape)) * one


class Masked:
    """A gradient in flow, and the mask of what was touched. `dirty`: it may hold NaNs elsewhere; if not, zeros."""

    __slots__ = ("_pieces", "_value", "dirty", "dtype", "mask", "shape")
    __array_ufunc__ = None  # an ndarray must not treat it as a number

    def __init__(self, value: Any, mask: Mask, dirty: bool) -> None:
        self._value, self.mask, self.dirty = value, mask, dirty
        self.shape, self.dtype = value.shape, value.dtype
        self._pieces: Sequence[tuple[Any, Any, Any]] = ()

    @classmethod
    def placed(cls, pieces: Sequence[tuple[Any, Any, Any]], shape: Shape, mask: Mask) -> Masked:
        """Zeros of `shape` to which each piece, (operators, index, gradient), is added at its index: when asked for.

        So the gradients of many slices of one array come together in a single array of its size.
        """
        made = cls.__new__(cls)
        made._value, made._pieces, made.mask, made.dirty = None, pieces, mask, False
        made.shape, made.dtype = shape, pieces[0][2].dtype
        return made

    @property
    def value(self) -> Any:
        """The gradient."""
        if self._value is None:
            (ops, index, first), *rest = self._pieces
            total = ops.slice_backward(first, self.shape, index)
            for ops, index, grad in rest:
                if not array_type(total).add_at(total, index, grad):
                    total = total + ops.slice_backward(grad, self.shape, index)
            self._value, self._pieces = total, ()
        return self._value

    @property
    def waits(self) -> bool:
        """True if its pieces may still be joined by others."""
        return bool(self._pieces)

    @property
    def size(self) -> int:
        """The number of elements of the gradient."""
        return math.prod(self.shape)

    def cleaned(self) -> Gradient:
        """The gradient with 0 where nothing has touched it."""
        value: Any = self.value
        if not self.dirty:
            return value
        if _is_plain(value):
            if not _has_nan(value):
                return value
            return np.where(self.mask.touched(), value, value.dtype.type(0))
        parts: list[ndarray] | None = None
        if (only := array_type(value).only_part(value)) is not None:
            parts = [only]
        elif _of_many(value) and not _is_wanted(value):
            parts = _parts(value)
        if parts is not None and not any(map(_has_nan, parts)):
            return value
        touched = self.mask.touched()
        return cleaned(table_of((value, touched)).where, touched, value, value.dtype.type(0))


def _is_plain(x: Any) -> bool:
    return type(x) is ndarray or issubclass(type(x), np.generic)


def _shows(x: Any) -> bool:
    """True if all its numbers are at hand, and judged together."""
    return _is_plain(x) or not (_of_many(x) or any(part is None for part in _all_parts(x)))


def _of_many(x: Any) -> bool:
    """True if an array stands for those of many samples, be it by a tangent alone."""
    if _is_plain(x):
        return False
    x = inside_tensors(x)
    kind = array_type(x)
    return kind.many or any(_of_many(getattr(holder, name)) for _, holder, name in kind.components(x))


def _constant(x: Any) -> Any:
    """An array without its place in graphs, and without derivatives."""
    return x.detach() if isinstance(x, Tensor) else array_type(x).detached(x)


def _has_nan(x: Any) -> bool:
    if not x.ndim:
        number = x.item()
        return bool(number != number)  # noqa: PLR0124
    if not x.flags.c_contiguous:
        x = x.ravel("K")  # what has another order only is not copied
    # One number tells: infinities give inf here, or a NaN too many for complex ones, which does no harm.
    squares = x.dot(x) if x.ndim == 1 else vdot(x, x)  # the method is twice as fast where x is short
    return bool(squares != squares)  # noqa: PLR0124 - in a tenth of np.isnan's time


def plain(g: Any) -> Any:
    """A gradient, or the list of those of several outputs, cleaned and without mask."""
    if type(g) is list:
        return [x.cleaned() if type(x) is Masked else x for x in g]
    return g.cleaned() if type(g) is Masked else g


def is_masked(g: Any) -> bool:
    """True if a gradient has a mask, or one of those of several outputs."""
    return type(g) is Masked or (type(g) is list and any(type(x) is Masked for x in g))


# -- where masks begin ------------------------------------------------------------------------------------------------
def root_cotangent(cotangent: Any) -> Any:
    """The cotangent that a user gave; its zeros touch nothing, unless a derivative in their direction is wanted."""
    if type(cotangent) is ndarray:
        # all() of floats takes twice as long as the comparison and all() of its bools; counting is faster for few.
        few = cotangent.size < _FEW
        whole = np.count_nonzero(cotangent) == cotangent.size if few else (cotangent != 0).all()
        return cotangent if whole else Masked(cotangent, _Known(cotangent != 0), False)
    if _is_wanted(cotangent):
        return cotangent
    parts = _parts(cotangent)
    if parts is not None and all(part.all() for part in parts):
        return cotangent
    return Masked(cotangent, _Nonzero(cotangent) if parts is None else _Known(_numbers_in(cotangent, parts)), False)


def _is_wanted(x: Any) -> bool:
    """True if a derivative in the direction of `x` is wanted, or one that only its whole array tells."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return True
        x = x._array
    kind = array_type(x)
    if kind.only_part(x) is not None:
        return False
    inside = [getattr(holder, name) for _, holder, name in kind.components(x)]
    return any(map(_is_wanted, inside)) if inside else kind.carries_derivative(x)


def _numbers_in(x: Any, parts: Iterable[ndarray]) -> Any:
    """Where there is a number other than 0 in `x`, whose numbers are `parts`."""
    return touched_in(x) if _of_many(x) else _or(part != 0 for part in parts)


def _parts(x: Any) -> list[ndarray] | None:
    """The numbers of `x`, values and tangents; None if they are not at hand."""
    parts = _all_parts(x)
    return None if any(part is None for part in parts) else parts


def _all_parts(x: Any) -> list[Any]:
    """The same; None for each that is not at hand."""
    if (only := array_type(x).only_part(x)) is not None:
        return [only]
    return [numbers_of(part) for part in parts_of(x)]


def _values(x: Any) -> Any:
    """The plain array of values in what a node saved, a constant where that shows none; anything else as it is."""
    found = numbers_of(x)
    if found is not None:
        return found
    return _constant(x) if type(x) in ARRAY_TYPES else x


def _or(masks: Iterable[Any]) -> Any:
    found: Any = False
    for mask in masks:
        found = mask | found
    return found


# -- how nodes hand them on -------------------------------------------------------------------------------------------
def run_masked(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    """Run a node on its gradient where that is masked, or the node itself masks."""
    if node.structural:
        return _run_structural(node, grad, ops, unpack)
    if not node.pointwise:
        return (_run_opaque if type(grad) is not list else _run_outputs)(node, grad, ops, unpack)
    if type(grad) is list:
        return _run_each_output(node, grad, ops, unpack)
    grads = node.apply(ops, grad.value, unpack)
    if len(grads) == 1 and grads[0] is not None:
        return (Masked(grads[0], grad.mask, True),)
    return [None if g is None else Masked(g, grad.mask, True) for g in grads]


def _run_each_output(node: Node, grads: list[Any], ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    """Run a pointwise node on the gradient of each of its outputs alone: what is masked in one is not in another."""
    total: list[Any] = []
    saved: list[Any] = []  # by the first run: hooks unpack a tensor only once
    again: Any = partial(_remembered, unpack, saved)
    for nr, g in enumerate(grads):
        if g is None:
            continue
        found = node.apply(ops, [plain(g) if i == nr else None for i in range(len(grads))], again)
        again = partial(_given, iter(saved))
        if type(g) is Masked:
            found = [None if x is None else Masked(x, g.mask, True) for x in found]
        total = [_added(*pair) for pair in zip(total, found, strict=True)] if total else list(found)
    return total


def _given(each: Iterator[Any], *_: Any) -> Any:
    return next(each)


def _added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else summed(a, b)


def _run_structural(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    parts: Sequence[Any]
    masks: Sequence[Mask | None]
    if node.placing and (placed := _placed(node, grad, ops)) is not None:
        return (placed,)
    if type(grad) is Masked:
        mask, dirty = grad.mask, grad.dirty and node.pointwise
        value: Any = grad.value if dirty else grad.cleaned()
        parts, masks, nothing = (value,), (mask,), mask is NOTHING
    elif type(grad) is list:
        if _all_is_touched(node, grad):
            return node.apply(ops, plain(grad), unpack)
        dirty, value = False, plain(grad)
        parts, masks = value, [part.mask if type(part) is Masked else None for part in grad]
        nothing = all(part is None or mask is NOTHING for part, mask in zip(grad, masks, strict=True))
    else:
        if node._nexts is None and _ends_there(node._next0) and _ends_there(node._next1):
            return node.apply(ops, grad, unpack)  # nobody will ask
        dirty, value, parts, masks, nothing = False, grad, (grad,), (None,), False
    dirty = dirty or node.unclean
    if nothing:
        return [None if g is None else Masked(g, NOTHING, dirty) for g in node.apply(ops, value, unpack)]
    saved: Any = ()
    if type(node).release is Node.release:  # it has saved nothing
        grads = node.apply(ops, value, unpack)
    else:
        saved = []
        grads = node.apply(ops, value, partial(_remembered, unpack, saved))
    pulled = _Pulled(node, saved, parts, masks, len(grads) == 1)
    if len(grads) == 1:
        return (Masked(grads[0], pulled, dirty),) if grads[0] is not None else grads
    if len(grads) == 2 and grads[0] is not None and grads[1] is not None:  # the rest written out, for writes
        return Masked(grads[0], _Taken(pulled, 0), dirty), Masked(grads[1], _Taken(pulled, 1), dirty)
    return [None if g is None else Masked(g, _Taken(pulled, nr), dirty) for nr, g in enumerate(grads)]


def _placed(node: Any, grad: Any, ops: Any) -> Masked | None:
    """The gradient of a large array of which a node saw a part, not yet in its place; None of a small one."""
    value: Any = plain(grad)
    part = array_type(value).only_part(value)
    if part is None or (part.size < LARGE and math.prod(node.self_shape) < LARGE):
        return None
    mask = grad.mask if type(grad) is Masked else None
    pulled = NOTHING if mask is NOTHING else _Pulled(node, (), (value,), (mask,), True)
    return Masked.placed([(ops, node.arg_index, value)], node.self_shape, pulled)


def _remembered(unpack: Unpack, saved: list[Any], x: Any, version: Any, node: Node) -> Any:
    """Unpack, and note what was found for the masks."""
    saved.append(found := unpack(x, version, node))
    return found


def _all_is_touched(node: Node, grads: list[Any]) -> bool:
    """True if these are whole gradients of all the parts into which an array was cut."""
    edge = node._next0
    if edge is None or node._next1 is not None or node._nexts is not None or node.output_names:  # type: ignore[attr-defined]
        return False
    return all(type(g) is ndarray for g in grads) and sum(g.size for g in grads) == math.prod(edge._shape)  # type: ignore[arg-type]


def _ends_there(edge: Edge | None) -> bool:
    return edge is None or type(edge) is AccumulateGrad


def _run_outputs(node: Node, grads: list[Any], ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    """Run a node of several outputs, whose formula may ask for their masks: see `spectra_in_use`."""
    masks_of_outputs[get_ident()] = [g.mask if type(g) is Masked else None for g in grads]
    try:
        return _run_opaque(node, grads, ops, unpack)
    finally:
        masks_of_outputs.pop(get_ident(), None)


def _run_opaque(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    parts = grad if type(grad) is list else (grad,)
    value = plain(grad)
    if not all(part is None or type(part) is Masked for part in parts):
        return node.apply(ops, value, unpack)
    there = [part for part in parts if part is not None]
    if all(_shows(part.value) for part in there):
        untouched = all(map(_is_untouched, there))
        grads = node.apply(ops, value, unpack)
        if not untouched:
            return grads
        masks = [part.mask for part in there]
        return [g if g is None else _of_nothing(g, masks) for g in grads]
    grads = node.apply(ops, value, unpack)
    if type(grad) is Masked and _all_samples_touched(value):
        return grads
    if not any(_of_many(part.value) for part in there):
        # Of a single array it is known at once, as a rule: masks mostly follow from what nodes have saved.
        found = [part.mask.touched() for part in there]
        if any(_is_plain(touched) and np.any(touched) for touched in found):
            return grads
    masks = [part.mask for part in there]
    return [None if g is None else Masked(g, _IfAny(masks, g), True) for g in grads]


def _of_nothing(g: Any, masks: Sequence[Mask]) -> Any:
    """The result that an opaque node made of nothing; a user's backward may make numbers of it."""
    if not _shows(g):
        return Masked(g, _IfAny(masks, g), True)
    return Masked(g, NOTHING, True) if _is_nothing(g) else g


def _all_samples_touched(g: Any) -> bool:
    """True if each sample of a clean gradient has a number, which saves looking for NaNs in what is made of it."""
    parts = _parts(g)
    if parts is None or len(parts) != 1:
        return False
    (numbers,) = parts
    own = tuple(range(numbers.ndim - g.ndim, numbers.ndim))
    return bool((numbers != 0).any(axis=own).all())


def _is_untouched(g: Masked) -> bool:
    return not any(np.any(part) for part in _all_parts(g.cleaned())) and not np.any(g.mask.touched())


def _is_nothing(g: Any) -> bool:
    return all(bool(np.all((part == 0) | np.isnan(part))) for part in _all_parts(g))


# -- sums -------------------------------------------------------------------------------------------------------------
def summed(a: Any, b: Any) -> Any:
    """The sum of two gradients that arrive at the same place; one at least is masked."""
    if type(a) is not Masked or type(b) is not Masked:
        return plain(a) + plain(b)  # the other one touches everything
    if a._pieces and b._pieces:
        return Masked.placed([*a._pieces, *b._pieces], a.shape, _either(a.mask, b.mask))
    if a.mask is b.mask:
        return Masked(a.value + b.value, a.mask, a.dirty or b.dirty)
    return Masked(a.cleaned() + b.cleaned(), _either(a.mask, b.mask), False)


def _either(a: Mask, b: Mask) -> Mask:
    if a is NOTHING:
        return b
    return a if b is NOTHING else _Either(a, b)


def summed_to(g: Masked, value: Gradient, shape: Shape) -> Any:
    """`value`, what `g` is when summed to `shape`, with its mask."""
    return Masked(value, NOTHING if g.mask is NOTHING else _Summed(g.mask, shape), False)


# -- users' eyes ------------------------------------------------------------------------------------------------------
def unmasked(g: Any) -> tuple[Any, Any]:
    """The gradient of a node as users see it, and what `masked_again` needs."""
    if type(g) is list:
        pairs = [unmasked(x) for x in g]
        return [value for value, _ in pairs], [kept for _, kept in pairs] if any(kept for _, kept in pairs) else None
    if type(g) is not Masked:
        return g, None
    value = g.cleaned()
    return value, (value, g.mask)


def masked_again(g: Any, kept: Any) -> Any:
    """The gradient after users have seen it. Where one has replaced it, what is 0 as before stays untouched."""
    if kept is None or g is None:
        return g
    if type(g) is list:
        return [masked_again(x, k) for x, k in zip(g, kept, strict=True)]
    value, mask = kept
    if g is value:
        return Masked(g, mask, False)
    if _is_wanted(g):
        return g
    parts = _parts(g)
    return Masked(g, _either(_Nonzero(g) if parts is None else _Known(_numbers_in(g, parts)), mask), False)
