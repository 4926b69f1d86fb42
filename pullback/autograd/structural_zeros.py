"""Elements of a gradient that nothing has touched: no slope reaches them, however infinite it is.

`where(x > 0, sqrt(x), 0)` does not depend on sqrt at x = 0 and below, so no cotangent flows there. As numbers, though,
the zeros that stand there meet an infinite slope, and 0 * inf is NaN. A zero of this kind has a known place: an operator
that masks has made it (tagged `masking` in native_functions.yaml: where, an index, relu, ...), or the user's own
cotangent holds it. A zero that was computed, by an underflow say, is another matter: 0 * inf has no value then, and
stays NaN.

So behind an operator that masks, a gradient goes through the graph as a `Masked`: with a mask of what was touched.

- A pointwise node hands the mask on. Its NaNs at untouched places stay there, and may wait (`dirty`) until the gradient
  comes to anything that is not pointwise: then they are cleaned, put to 0.
- A structural node (tags `structural`, `masking`, views) adds and moves elements. Its own formula, run on 1 for touched
  and 0 for the rest, gives the mask of its input.
- Any other node hands on only that nothing at all was touched.
- In a sum, touched is what either part has touched.

Masks are found when someone asks, and only a NaN asks: until then a mask is a note of how to find it. Where gradients
are themselves differentiated (Tensors, dual numbers), untouched elements are cleaned without being NaN, for their
derivative may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy import vdot

from pullback.core.dispatch import NUMPY, table_of
from pullback.core.node import AccumulateGrad, Node, Unpack
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient, Shape


class Mask:
    """Which elements of a gradient were touched; `NOTHING` if none was.

    It is found by `make` from what was found of the `sources` (None: all touched).
    """

    __slots__ = ("found", "make", "sources")

    def __init__(self, make: Callable[..., Any] | None, sources: tuple[Mask | None, ...], found: Any = None) -> None:
        self.make, self.sources, self.found = make, sources, found

    def touched(self) -> Any:
        """The mask as an array of bools. It may have come a long way, so nothing recurses here."""
        stack = [self]
        while stack:
            mask = stack[-1]
            if mask.found is None:
                waiting = [source for source in mask.sources if source is not None and source.found is None]
                if waiting:
                    stack += waiting
                    continue
                assert mask.make is not None, "or it would be found"
                mask.found = mask.make(*(None if source is None else source.found for source in mask.sources))
                mask.make, mask.sources = None, ()  # and with them what they hold
            stack.pop()
        return self.found


NOTHING = Mask(None, (), np.False_)


class Masked:
    """A gradient in flow, and the mask of what was touched. `dirty`: it may hold NaNs elsewhere; if not, zeros."""

    __slots__ = ("dirty", "mask", "value")
    __array_ufunc__ = None  # no array shall take it for a number

    def __init__(self, value: Any, mask: Mask, dirty: bool) -> None:
        self.value, self.mask, self.dirty = value, mask, dirty

    @property
    def shape(self) -> Shape:
        """That of the gradient."""
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """That of the gradient."""
        return self.value.dtype

    @property
    def size(self) -> int:
        """That of the gradient."""
        return self.value.size  # type: ignore[no-any-return]

    def cleaned(self) -> Gradient:
        """The gradient with 0 where nothing has touched it."""
        value = self.value
        if not self.dirty:
            return value  # type: ignore[no-any-return]
        if type(value) is ndarray or isinstance(value, np.generic):
            if not _has_nan(value):
                return value  # type: ignore[no-any-return]
            return np.where(self.mask.touched(), value, value.dtype.type(0))  # type: ignore[no-any-return]
        return table_of((value,)).where(self.mask.touched(), value, value.dtype.type(0))  # type: ignore[no-any-return]


def _has_nan(x: Any) -> bool:
    # One number tells: infinities give inf here, or a NaN too many for complex ones, which does no harm.
    squares = vdot(x, x)
    return bool(squares != squares)  # noqa: PLR0124 - in a tenth of np.isnan's time


def plain(g: Any) -> Any:
    """A gradient, or the list of those of several outputs, cleaned and without mask."""
    if type(g) is list:
        return [x.cleaned() if type(x) is Masked else x for x in g]
    return g.cleaned() if type(g) is Masked else g


def is_masked(g: Any) -> bool:
    """Whether a gradient has a mask, or one of those of several outputs."""
    return type(g) is Masked or (type(g) is list and any(type(x) is Masked for x in g))


# -- where masks begin ---------------------------------------------------------------------------------------------------
def root_cotangent(cotangent: Any) -> Any:
    """The cotangent that a user gave; its zeros touch nothing, unless a derivative in their direction is wanted."""
    if type(cotangent) is ndarray:
        return cotangent if cotangent.all() else Masked(cotangent, Mask(None, (), cotangent != 0), False)
    parts = _parts(cotangent)
    if parts is None or not parts or all(part.all() for part in parts):
        return cotangent
    return Masked(cotangent, Mask(None, (), _or(part != 0 for part in parts)), False)


def _parts(x: Any) -> list[ndarray] | None:
    """The plain arrays in nested Tensors and dual numbers; None if one of the Tensors requires a gradient."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return None
        x = x._array
    if not hasattr(x, "tangent"):
        return [x]
    primal = _parts(x.primal)
    tangent = [] if x.tangent is None else _parts(x.tangent)
    return None if primal is None or tangent is None else primal + tangent


def _values(x: Any) -> Any:
    """The plain array of values in nested Tensors and dual numbers."""
    while True:
        if isinstance(x, Tensor):
            x = x._array
        elif hasattr(x, "tangent"):
            x = x.primal
        else:
            return x


def _or(masks: Iterable[Any]) -> Any:
    found: Any = False
    for mask in masks:
        found = mask | found
    return found


# -- how nodes hand them on ----------------------------------------------------------------------------------------------
def run_masked(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    """What a node makes of its gradient, where that is masked or the node masks."""
    if node.structural:
        return _run_structural(node, grad, ops, unpack)
    if not node.pointwise:
        return _run_opaque(node, grad, ops, unpack)
    if type(grad) is list:  # of several outputs, of which one is differentiable
        shape, mask = next((part.shape, part.mask) for part in grad if type(part) is Masked)
        grads = node.apply(ops, plain(grad), unpack)
    else:
        shape, mask = grad.shape, grad.mask
        grads = node.apply(ops, grad.value, unpack)
    return [g if g is None or g.shape != shape else Masked(g, mask, True) for g in grads]


def _run_structural(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    parts = grad if type(grad) is list else (grad,)
    dirty = node.pointwise and any(type(part) is Masked and part.dirty for part in parts)
    value = grad.value if dirty and type(grad) is Masked else plain(grad)
    masks = [part.mask if type(part) is Masked else None for part in parts]
    edges = node.edges()
    if not dirty and masks == [None] and all(edge is None or type(edge) is AccumulateGrad for edge in edges):
        return node.apply(ops, value, unpack)  # nobody will ask
    values: list[Any] = []

    def remember(saved: Any, version: Any, node: Node) -> Any:
        values.append(found := unpack(saved, version, node))
        return found

    grads = node.apply(ops, value, remember)
    if all(mask is NOTHING or part is None for mask, part in zip(masks, parts, strict=True)):
        return [None if g is None else Masked(g, NOTHING, dirty or node.unclean) for g in grads]
    shapes = [None if part is None else (part.shape, part.dtype.kind) for part in parts]

    def pull(*found: Any) -> Any:
        return _pulled(node, values, shapes, found)

    pulled, dirty = Mask(pull, tuple(masks)), dirty or node.unclean
    return [None if g is None else Masked(g, Mask(_Taken(nr), (pulled,)), dirty) for nr, g in enumerate(grads)]


class _Taken:
    """Takes the mask of one edge from those of all."""

    __slots__ = ("nr",)

    def __init__(self, nr: int) -> None:
        self.nr = nr

    def __call__(self, pulled: Sequence[Any]) -> Any:
        return pulled[self.nr] != 0


def _pulled(
    node: Node, values: Sequence[Any], shapes: Sequence[tuple[Shape, str] | None], found: Sequence[Any]
) -> Sequence[Any]:
    """What the formula of a structural node makes of 1 for touched and 0 for the rest."""
    numbers = [None if shape is None else _numbers(mask, *shape) for mask, shape in zip(found, shapes, strict=True)]
    remembered = iter(values)
    # In the order of the first run: the node may have been released since, and hooks unpack a tensor only once.
    one = numbers if node.outputs != 1 else numbers[0]
    return node.pull_touched(NUMPY, one, lambda *_: _values(next(remembered)))  # type: ignore[no-any-return]


def _numbers(mask: Any, shape: Shape, kind: str) -> Any:
    """0 and 1, or 1 + i, so that real and imaginary part are touched."""
    one = 1 + 1j if kind == "c" else 1.0
    return np.full(shape, one) if mask is None else np.broadcast_to(mask, shape) * one


def _run_opaque(node: Node, grad: Any, ops: Any, unpack: Unpack) -> Sequence[Gradient]:
    parts = grad if type(grad) is list else (grad,)
    value = plain(grad)
    masked = all(part is None or type(part) is Masked for part in parts)
    untouched = masked and all(part is None or _is_untouched(part) for part in parts)
    grads = node.apply(ops, value, unpack)
    if not untouched:
        return grads
    # A user's backward may make numbers of nothing.
    return [g if g is None or not _is_nothing(g) else Masked(g, NOTHING, True) for g in grads]


def _is_untouched(g: Masked) -> bool:
    return not any(np.any(part) for part in _all_parts(g.cleaned())) and not np.any(g.mask.touched())


def _is_nothing(g: Any) -> bool:
    return all(bool(np.all((part == 0) | np.isnan(part))) for part in _all_parts(g))


def _all_parts(x: Any) -> list[Any]:
    while isinstance(x, Tensor):
        x = x._array
    if not hasattr(x, "tangent"):
        return [x]
    return _all_parts(x.primal) + ([] if x.tangent is None else _all_parts(x.tangent))


# -- sums ----------------------------------------------------------------------------------------------------------------
def summed(a: Any, b: Any) -> Any:
    """The sum of two gradients that arrive at the same place; one at least is masked."""
    if type(a) is not Masked or type(b) is not Masked:
        return plain(a) + plain(b)  # the other one touches everything
    if a.mask is b.mask:
        return Masked(a.value + b.value, a.mask, a.dirty or b.dirty)
    return Masked(a.cleaned() + b.cleaned(), _either(a.mask, b.mask), False)


def _either(a: Mask, b: Mask) -> Mask:
    if a is NOTHING:
        return b
    return a if b is NOTHING else Mask(np.logical_or, (a, b))


def reduced(mask: Mask, shape: Shape) -> Mask:
    """The mask of a gradient that is summed to `shape`: a sum is touched if one of its parts is."""
    if mask is NOTHING:
        return NOTHING

    def reduce(touched: Any) -> Any:
        lead = touched.ndim - len(shape)
        kept = [n == 1 and m != 1 for n, m in zip(shape, touched.shape[lead:], strict=True)]
        axes = (*range(lead), *(lead + i for i, one in enumerate(kept) if one))
        return np.any(touched, axis=axes, keepdims=True).reshape(shape)

    return Mask(reduce, (mask,))


# -- users' eyes ---------------------------------------------------------------------------------------------------------
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
    parts = _parts(g)
    if parts is None:  # it has a derivative of its own
        return g
    return Masked(g, Mask(None, (), _or(part != 0 for part in parts) | mask.touched()), False)
