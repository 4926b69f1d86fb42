"""Gradients with masks of what was touched, in a backward: see `arrays.masks`.

Behind an operator that masks, a gradient goes through the graph as a `Masked`. A NaN at an untouched place of it stays
there through pointwise nodes, and may wait (`dirty`) until the gradient comes to anything else: then it is cleaned, put
to 0. So masks are found when someone asks, and only a NaN asks: until then a mask is a note of how to find it. Where
gradients are themselves differentiated (Tensors, dual numbers), a NaN of a derivative asks too.

The formula of a structural node (tags `structural`, `masking`, views), run on 1 for touched and 0 for the rest, gives
the masks of its inputs. A node that is neither pointwise nor structural tells for each sample, or for a single array at
once, whether anything was touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from threading import get_ident
from typing import Any

import numpy as np

from pullback.arrays.masks import (
    NOTHING,
    Mask,
    all_parts,
    at_hand,
    cleaned,
    constant,
    count_nonzero,
    either,
    is_nothing,
    is_plain,
    known,
    marks,
    mask_in,
    may_be_nan,
    numbers_in,
    of_many,
    summed,
)
from pullback.core.array_type import array_type, numbers_of, table_of
from pullback.core.tensor import ndarray
from pullback.core.types import Gradient, Shape
from pullback.graph.node import AccumulateGrad, Node, Unpack
from pullback.ops.formulas.decompositions.spectra_in_use import masks_of_outputs

LARGE = 2000  # elements, from where on a pass over them costs more than what saves it


class Masked:
    """A gradient in flow, and the mask of what was touched. `dirty`: it may hold NaNs elsewhere; if not, zeros."""

    __slots__ = ("_value", "dirty", "dtype", "mask", "pieces", "shape")
    __array_ufunc__ = None  # an ndarray must not treat it as a number

    def __init__(self, value: Any, mask: Mask, dirty: bool) -> None:
        self._value, self.mask, self.dirty = value, mask, dirty
        self.shape, self.dtype = value.shape, value.dtype
        self.pieces: Sequence[tuple[Any, Any, Any]] = ()

    @classmethod
    def placed(cls, pieces: Sequence[tuple[Any, Any, Any]], shape: Shape, mask: Mask) -> Masked:
        """Zeros of `shape` to which each piece, (operators, index, gradient), is added at its index: when asked for.

        So the gradients of many slices of one array come together in a single array of its size.
        """
        made = cls.__new__(cls)
        made._value, made.pieces, made.mask, made.dirty = None, pieces, mask, False
        made.shape, made.dtype = shape, pieces[0][2].dtype
        return made

    @property
    def value(self) -> Any:
        """The gradient."""
        if self._value is None:
            (ops, index, first), *rest = self.pieces
            total = ops.slice_backward(first, self.shape, index)
            for ops, index, grad in rest:
                if not array_type(total).add_at(total, index, grad):
                    total = total + ops.slice_backward(grad, self.shape, index)
            self._value, self.pieces = total, ()
        return self._value

    @property
    def size(self) -> int:
        """The number of elements of the gradient."""
        return math.prod(self.shape)

    def cleaned(self) -> Gradient:
        """The gradient with 0 where nothing has touched it."""
        value: Any = self.value
        return cleaned(value, self.mask.touched()) if self.dirty and may_be_nan(value) else value


def plain(g: Any) -> Any:
    """A gradient, or the list of those of several outputs, cleaned and without mask."""
    if type(g) is list:
        return [x.cleaned() if type(x) is Masked else x for x in g]
    return g.cleaned() if type(g) is Masked else g


def is_masked(g: Any) -> bool:
    """True if a gradient has a mask, or one of those of several outputs."""
    return type(g) is Masked or (type(g) is list and any(type(x) is Masked for x in g))


def root_cotangent(cotangent: Any) -> Any:
    """The cotangent that a user gave; its zeros touch nothing, unless a derivative in their direction is wanted."""
    mask = mask_in(cotangent)
    return cotangent if mask is None else Masked(cotangent, mask if type(mask) is Mask else known(mask), False)


# -- how nodes hand them on -------------------------------------------------------------------------------------------
def run_masked(run: Any, node: Any, grad: Any) -> Sequence[Gradient]:
    """Run a node, in a Run, on its gradient, which may be masked, or the node itself masks."""
    edge = node._next0
    if type(grad) is not Masked and (type(grad) is not list or not is_masked(grad)):
        if not node.masking:
            return node.apply(run.ops, grad, run.unpack)  # type: ignore[no-any-return]
        # A mask ends at a leaf, where nothing asks for it. But gradients of slices of a large one come together there.
        ends = type(edge) is AccumulateGrad and node._next1 is None and node._nexts is None
        if ends and (not node.placing or run.awaited.get(edge) == 1 or math.prod(edge._shape) < LARGE):
            return node.apply(run.ops, grad, run.unpack)  # type: ignore[no-any-return]
    if not (node.pointwise or node.structural):
        return (_run_opaque if type(grad) is not list else _run_outputs)(run, node, grad)
    if node.structural:
        grads = _run_structural(run, node, grad)
    elif type(grad) is list:
        grads = _run_each_output(run, node, grad)
    else:
        grads = [None if g is None else Masked(g, grad.mask, True) for g in node.apply(run.ops, grad.value, run.unpack)]
    if node._next1 is not None or node._nexts is not None:
        return _to_leaves(node, grads)
    if type(edge) is AccumulateGrad and type(g := grads[0]) is Masked and not g.pieces:
        return (g.cleaned(), *grads[1:])
    return grads


def _to_leaves(node: Node, grads: Sequence[Gradient]) -> Sequence[Gradient]:
    """The gradients without masks where they go to leaves, so that what they were made of is let go of.

    Those whose pieces are not yet in place may be joined by others.
    """
    edges = node.edges()
    return [
        g.cleaned() if type(g) is Masked and type(edges[nr]) is AccumulateGrad and not g.pieces else g
        for nr, g in enumerate(grads)
    ]


def _run_each_output(run: Any, node: Node, grads: list[Any]) -> Sequence[Gradient]:
    """Run a pointwise node on the gradient of each of its outputs alone: what is masked in one is not in another."""
    total: list[Any] = []
    saved: list[Any] = []  # by the first run: hooks unpack a tensor only once
    again: Any = partial(_remembered, run.unpack, saved)
    for nr, g in enumerate(grads):
        if g is None:
            continue
        found = node.apply(run.ops, [plain(g) if i == nr else None for i in range(len(grads))], again)
        again = _given(saved)
        if type(g) is Masked:
            found = [None if x is None else Masked(x, g.mask, True) for x in found]
        total = [_added(*pair) for pair in zip(total, found, strict=True)] if total else list(found)
    return total


def _added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else added(a, b)


def _run_structural(run: Any, node: Any, grad: Any) -> Sequence[Gradient]:
    if node.placing and (placed := _placed(run, node, grad)) is not None:
        return (placed,)
    parts: Sequence[Any]
    masks: Sequence[Mask | None]
    dirty = False
    if type(grad) is Masked:
        dirty = grad.dirty and node.pointwise
        value: Any = grad.value if dirty else grad.cleaned()
        parts, masks = (value,), (grad.mask,)
    elif type(grad) is list:
        if _all_is_touched(node, grad):
            return node.apply(run.ops, plain(grad), run.unpack)  # type: ignore[no-any-return]
        parts = value = plain(grad)
        masks = [part.mask if type(part) is Masked else None for part in grad]
    else:
        value, parts, masks = grad, (grad,), (None,)
    run.masks, dirty = True, dirty or node.unclean
    saved: list[Any] = []
    if type(node).release is Node.release:  # it has saved nothing
        grads = node.apply(run.ops, value, run.unpack)
    else:
        grads = node.apply(run.ops, value, partial(_remembered, run.unpack, saved))
    wanted = [nr for nr, g in enumerate(grads) if g is not None]
    if len(wanted) == 1:
        (nr,) = wanted
        made = Masked(grads[nr], _pulled(node, saved, parts, masks, nr), dirty)
        return (made,) if len(grads) == 1 else [made if i == nr else None for i in range(len(grads))]
    pulled = _pulled(node, saved, parts, masks)
    return [None if g is None else Masked(g, _of_input(pulled, nr), dirty) for nr, g in enumerate(grads)]


def _placed(run: Any, node: Any, grad: Any) -> Masked | None:
    """The gradient of a large array of which a node saw a part, not yet in its place; None of a small one."""
    value: Any = plain(grad)
    part = array_type(value).only_part(value)
    if part is None or (part.size < LARGE and math.prod(node.self_shape) < LARGE):
        return None
    run.masks = True
    mask = NOTHING  # where it goes to a leaf nobody asks
    if type(node._next0) is not AccumulateGrad:
        mask = _pulled(node, (), (value,), (grad.mask if type(grad) is Masked else None,), 0)
    return Masked.placed([(run.ops, node.arg_index, value)], node.self_shape, mask)


def _pulled(
    node: Node,
    saved: Sequence[Any],
    grads: Sequence[Gradient],
    masks: Sequence[Mask | None],
    nr: int | None = None,
) -> Mask:
    """The masks of all inputs of a structural node, or of one of them: its formula, to be run on marks."""
    if NOTHING in masks and all(g is None or mask is NOTHING for g, mask in zip(grads, masks, strict=True)):
        return NOTHING
    forms = [None if g is None else (g.shape, g.dtype, None if is_plain(g) else _whole(g)) for g in grads]
    return Mask(partial(_pull_marks, node, saved, forms, nr), *masks)


def _whole(g: Any) -> Any:
    """The mask of a gradient that is touched wherever it can be, None for all of it."""
    return array_type(g).all_touched(g)


def _pull_marks(node: Node, saved: Sequence[Any], forms: Sequence[Any], nr: int | None, *found: Any) -> Any:
    numbers = []
    for mask, form in zip(found, forms, strict=True):
        if form is not None:
            shape, dtype, whole = form
            one = 1 + 1j if dtype.kind == "c" else 1.0  # so that real and imaginary part are touched
        numbers.append(None if form is None else marks(whole if mask is None else mask, shape, one))
    # In the order of the first run: the node may have been released since, and hooks unpack a tensor only once.
    saved = [_at_hand_or_constant(x) for x in saved]
    ops = table_of((*numbers, *saved))
    pulled = node.pull_touched(ops, numbers if node.outputs != 1 else numbers[0], _given(saved))
    return pulled if nr is None else _taken(nr, pulled)


def _at_hand_or_constant(x: Any) -> Any:
    found = numbers_of(x)
    return constant(x) if found is None else found


def _of_input(pulled: Mask, nr: int) -> Mask:
    """The mask of one input, of those of all."""
    return NOTHING if pulled is NOTHING else Mask(partial(_taken, nr), pulled)


def _taken(nr: int, pulled: Any) -> Any:
    return pulled[nr] != 0


def _remembered(unpack: Unpack, saved: list[Any], x: Any, version: Any, node: Node) -> Any:
    """Unpack, and note what was found for the masks."""
    saved.append(found := unpack(x, version, node))
    return found


def _given(saved: Sequence[Any]) -> Unpack:
    """An `unpack` that gives what was unpacked before, in the same order."""
    each = iter(saved)
    return lambda *_: next(each)


def _all_is_touched(node: Node, grads: list[Any]) -> bool:
    """True if these are whole gradients of all the parts into which an array was cut."""
    edge = node._next0
    if edge is None or node._next1 is not None or node._nexts is not None or node.output_names:  # type: ignore[attr-defined]
        return False
    return all(type(g) is ndarray for g in grads) and sum(g.size for g in grads) == math.prod(edge._shape)  # type: ignore[arg-type]


def _run_outputs(run: Any, node: Node, grads: list[Any]) -> Sequence[Gradient]:
    """Run a node of several outputs, whose formula may ask for their masks: see `spectra_in_use`."""
    masks_of_outputs[get_ident()] = [g.mask if type(g) is Masked else None for g in grads]
    try:
        return _run_opaque(run, node, grads)
    finally:
        masks_of_outputs.pop(get_ident(), None)


def _run_opaque(run: Any, node: Node, grad: Any) -> Sequence[Gradient]:
    value = plain(grad)
    if type(value) is ndarray and count_nonzero(value):
        return node.apply(run.ops, value, run.unpack)
    parts = grad if type(grad) is list else (grad,)
    if not all(part is None or type(part) is Masked for part in parts):
        return node.apply(run.ops, value, run.unpack)
    there = [part for part in parts if part is not None]
    masks = [part.mask for part in there]
    shown = all(_shows(part.value) for part in there)
    untouched = shown and all(map(_is_untouched, there))
    grads = node.apply(run.ops, value, run.unpack)
    if shown:
        return _to_leaves(node, [g if g is None else _of_nothing(g, masks) for g in grads]) if untouched else grads
    if type(grad) is Masked and _all_samples_touched(value):
        return grads
    if not any(of_many(part.value) for part in there):
        # Of a single array it is known at once, as a rule: masks mostly follow from what nodes have saved.
        found = [mask.touched() for mask in masks]
        if any(is_plain(touched) and np.any(touched) for touched in found):
            return grads
    return _to_leaves(node, [None if g is None else _if_any(g, masks) for g in grads])


def _if_any(g: Any, masks: Sequence[Mask]) -> Masked:
    """The result of an opaque node: all of it is touched if anything was, of each sample or of the array at all."""
    return Masked(g, Mask(partial(_any_touched, g), *masks), True)


def _any_touched(g: Any, *found: Any) -> Any:
    numbers, g = numbers_in(g), constant(g)
    ops = table_of((g, numbers, *found))
    return ops.expand(reduce(ops.logical_or, [ops.any(x) for x in (*found, numbers)]), g.shape)


def _of_nothing(g: Any, masks: Sequence[Mask]) -> Any:
    """The result that an opaque node made of nothing; a user's backward may make numbers of it."""
    if not _shows(g):
        return _if_any(g, masks)
    return Masked(g, NOTHING, True) if is_nothing(g) else g


def _shows(x: Any) -> bool:
    """True if all its numbers are at hand, and judged together."""
    return is_plain(x) or not (of_many(x) or at_hand(x) is None)


def _all_samples_touched(g: Any) -> bool:
    """True if each sample of a clean gradient has a number, which saves looking for NaNs in what is made of it."""
    parts = at_hand(g)
    if parts is None or len(parts) != 1:
        return False
    (numbers,) = parts
    own = tuple(range(numbers.ndim - g.ndim, numbers.ndim))
    return bool((numbers != 0).any(axis=own).all())


def _is_untouched(g: Masked) -> bool:
    """True if it is known that nothing of a gradient is touched: of numbers that are not at hand it is not."""
    parts = (*all_parts(g.cleaned()), g.mask.touched())
    numbers = [part if np.isscalar(part) else numbers_of(part) for part in parts]
    return not any(x is None or np.any(x) for x in numbers)


# -- sums -------------------------------------------------------------------------------------------------------------
def added(a: Any, b: Any) -> Any:
    """The sum of two gradients that arrive at the same place; one at least is masked."""
    if type(a) is not Masked or type(b) is not Masked:
        return plain(a) + plain(b)  # the other one touches everything
    if a.pieces and b.pieces:
        return Masked.placed([*a.pieces, *b.pieces], a.shape, either(a.mask, b.mask))
    if a.mask is b.mask:
        return Masked(a.value + b.value, a.mask, a.dirty or b.dirty)
    return Masked(a.cleaned() + b.cleaned(), either(a.mask, b.mask), False)


def fitted(g: Masked, fit: Callable[[Gradient], Gradient], shape: Shape) -> Masked:
    """A gradient after `fit`, which casts it, and sums it to `shape` if it has another."""
    if g.shape == shape:
        return Masked(fit(g.value), g.mask, g.dirty)
    return Masked(fit(g.cleaned()), summed(g.mask, shape), False)


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
    new = root_cotangent(g)
    return Masked(g, either(new.mask, mask), False) if type(new) is Masked else g
