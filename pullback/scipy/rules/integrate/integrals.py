"""The integral of a vector over an interval as a function with rules: of its ends, and of what the integrand takes.

Its derivatives are integrals again, of the derivatives of the integrand, found by the same quadrature, and values of
the integrand at the ends; so every order and nesting follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pullback.core.array_type import numbers_of
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.core.tensor import Tensor
from pullback.func.batching import vmap
from pullback.func.implicit.adopting import adopting
from pullback.func.implicit.by_sample import by_sample
from pullback.func.implicit.functions import plain, without_capture
from pullback.func.implicit.linear_maps import Leaves, Linearized, push, replaced, restricted
from pullback.func.left_behind import leave
from pullback.func.repeated import while_solving
from pullback.func.rules.calls import handed_out, moves
from pullback.func.rules.custom import CustomFunction
from pullback.scipy.rules.integrate.calls import Call

if TYPE_CHECKING:
    from pullback.autograd.function.vmap import VmapInfo

_ONE = "Its integrand cannot run on all samples at once, or its limits differ; quad_vec integrates them as one vector"
_FEW = 32
Integrand: TypeAlias = Callable[[Any, Leaves], Any]  # (x, leaves) -> a vector
Quadrature: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Any]  # (of x alone, limits) -> a vector


class Integral:
    """Says what is integrated, and how.

    Parameters
    ----------
    call : Call
        Of the function of SciPy.
    quadrature : callable
        `quadrature(f, limits)` for plain f and limits; the first two of these are the ends, others are places where
        the integrand may jump. `f.each` takes many points.
    weight : callable, optional
        A factor of the integrand that the quadrature knows.
    said : list, optional
        To which the quadrature adds what else it has found.
    """

    def __init__(
        self,
        call: Call,
        quadrature: Quadrature,
        weight: Callable[[Any], Any] | None = None,
        said: list[Any] | None = None,
    ) -> None:
        self.said = [] if said is None else said
        self.name, self.captures, self.quadrature, self.weight = call.name, call.captures, quadrature, weight

    def of(self, integrand: Integrand, limits: Sequence[Any], leaves: list[Any]) -> AnyArray:
        """The integral, differentiable by limits and leaves; with it the call is over."""
        found = self.part(integrand, limits, leaves)
        leave(self.captures)
        return found

    def part(self, integrand: Integrand, limits: Sequence[Any], leaves: list[Any], derived: bool = False) -> AnyArray:
        """The same, as one of several of a call; `derived` if this is the integrand of a derivative."""
        return _integral(_Call(self, integrand, len(limits), [*limits, *leaves], derived), *limits, *leaves)


class _Call:
    """One call: how many of the leaves are limits, and which of the others are differentiated."""

    def __init__(self, integral: Integral, integrand: Integrand, count: int, leaves: list[Any], derived: bool) -> None:
        self.integral, self.integrand, self.count, self.derived = integral, integrand, count, derived
        self.quadrature = integral.quadrature
        self._moving = [moves(x) and x.dtype.kind in "fc" and x.size > 0 for x in leaves]
        self.free = [i for i in range(len(leaves) - count) if self._moving[count + i]]
        self.one_interval = all(not isinstance(x, Tensor) or numbers_of(x) is not None for x in leaves[:count])

    def moving(self, limits: Leaves) -> list[int]:
        """The limits that are differentiated."""
        known = within(list(map(plain, limits)))
        return [i for i, x in enumerate(limits) if self._moving[i] and np.isfinite(plain(x)) and plain(x) in known]

    def split(self, leaves: Sequence[Any]) -> tuple[Leaves, Leaves]:
        """(the limits, the others)."""
        return list(leaves[: self.count]), list(leaves[self.count :])

    def edge(self, i: int, limits: Leaves, leaves: list[Any]) -> AnyArray:
        """By what the integral grows as limit number i does."""
        at, weight = limits[i], self.integral.weight
        if i > 1:  # a jump: what is on its left grows, what is on its right shrinks
            below, above = (np.nextafter(plain(at), to) - plain(at) for to in (-np.inf, np.inf))
            jump = self.integrand(at + below, leaves) - self.integrand(at + above, leaves)
            jump = jump if plain(limits[0]) < plain(limits[1]) else -jump
            return jump if weight is None else jump * weight(at)
        value = self.integrand(at, leaves) if weight is None else self.integrand(at, leaves) * weight(at)
        return value if i else -value


def within(limits: Sequence[Any]) -> list[Any]:
    """The ends, and those of the other places that are between them."""
    low, high = sorted(map(float, limits[:2]))
    return [*limits[:2], *(x for x in limits[2:] if low < x < high)]


def _integral(how: _Call, *leaves: Any) -> AnyArray:
    how.integral.captures.begin()
    limits, others = how.split(leaves)
    return how.quadrature(_Plain(how, others), limits)


class _Plain:
    """An integrand on plain numbers."""

    def __init__(self, how: _Call, leaves: list[Any]) -> None:
        self.name, self.integrand, self.leaves = how.integral.name, how.integrand, leaves
        of = how.integrand  # and not a method, by which this would hold itself
        self._repeated: Any = (
            while_solving(how.integral.captures, lambda x, *leaves: of(x, [*leaves])) if how.derived else None
        )

    def __call__(self, x: Numeric) -> AnyArray:
        if self._repeated is None:
            return self._checked(self.integrand(x, self.leaves))
        return self._checked(self._repeated(np.float64(x) if type(x) is float else x, *self.leaves))

    def each(self, points: AnyArray) -> AnyArray:
        """Return its values at many points, found at once: where it needs a number this fails."""
        return self._checked(vmap(lambda x: self.integrand(x, self.leaves))(points))

    def _checked(self, value: AnyArray) -> AnyArray:
        return np.asarray(without_capture(value, self.name, "integrand"))


class _OfSample:
    """The part of one sample in an integrand of several, whose values are known from then on."""

    def __init__(self, whole: _Plain, size: int, known: dict[bytes, Any], nr: int) -> None:
        self.whole, self.size, self.known, self.nr = whole, size, known, nr

    def __call__(self, x: Numeric) -> AnyArray:
        if (place := np.asarray(x).tobytes()) not in self.known:
            self.known[place] = np.reshape(self.whole(x), (self.size, -1))
        return self.known[place][self.nr]

    def each(self, points: AnyArray) -> AnyArray:
        """Return its values at many points, found at once."""
        new = [x for x in points if x.tobytes() not in self.known]
        values = np.reshape(self.whole.each(np.array(new)), (len(new), self.size, -1)) if new else new
        self.known.update(zip([x.tobytes() for x in new], values, strict=True))
        return np.stack([self(x) for x in points])


def _of_samples(info: VmapInfo, dims: tuple[int | None, ...], how: _Call, *leaves: Any) -> Any:
    """The integrals of all samples as one vector: the integrand runs once at a place, by vmap.

    Each sample takes the steps that it takes alone. A few samples of plain numbers are faster one after the other.
    """
    own, size = list(dims[1 + how.count :]), info.batch_size
    if not how.one_interval or not size:
        return NotImplemented
    if size < _FEW and not how.derived and not any(isinstance(x, Tensor) for x in leaves):
        pairs = [*zip(leaves, dims[1:], strict=True)]
        samples = ([handed_out(x if d is None else x[i]) for x, d in pairs] for i in range(size))
        return np.stack([_integral(how, *sample) for sample in samples]), 0

    def integrand(x: Numeric, given: Leaves) -> AnyArray:
        of_sample = vmap(lambda *one: how.integrand(x, list(one)), tuple(own), randomness=info.randomness)
        return np.reshape(of_sample(*given), (-1,))

    def quadrature(f: Any, limits: Sequence[Any]) -> AnyArray:
        known: dict[bytes, Any] = {}
        return np.concatenate([how.quadrature(_OfSample(f, size, known, i), limits) for i in range(size)])

    together = _Call(how.integral, integrand, how.count, list(leaves), how.derived)
    together.quadrature = quadrature
    try:
        found = _integral(together, *leaves)
    except Exception:  # noqa: BLE001 - the integrand may need numbers; what else fails does so again in the loop
        return NotImplemented
    return np.reshape(found, (size, -1)), 0


@adopting
def _vjp(cotangent: AnyArray, value: AnyArray, how: _Call, *leaves: Any) -> tuple[Any, ...]:
    how.integral.captures.renew()
    limits, others = how.split(leaves)
    ends = how.moving(limits)
    by_limit = [_inner(cotangent, how.edge(i, limits, others)) for i in ends]
    gathered: Leaves = []
    if how.free:
        points = [others[i] for i in how.free]
        shapes = [(np.shape(x), np.iscomplexobj(x)) for x in points]

        def pulled(x: Numeric, given: Leaves) -> AnyArray:
            function = restricted(lambda leaves: [how.integrand(x, leaves)], given[2:], how.free)
            linearized = Linearized(function, [given[2 + i] for i in how.free])
            return _joined(linearized.pull([given[0]]), shapes) * given[1]

        # Quadratures have absolute tolerances: they see numbers of the size of the integral's own.
        size = _or_one(_largest(cotangent))
        sizes = np.concatenate(
            [np.tile(_sizes(x).ravel(), 1 + is_pair) for x, (_, is_pair) in zip(points, shapes, strict=True)]
        )
        found = how.integral.part(pulled, limits, [cotangent / size, sizes, *others], derived=True)
        gathered = _parted(found * (size / sizes), shapes)
    return (
        None,
        *replaced([None] * how.count, ends, by_limit),
        *replaced([None] * len(others), how.free, gathered),
    )


@adopting
def _jvp(tangents: tuple[Any, ...], value: AnyArray, how: _Call, *leaves: Any) -> AnyArray:
    how.integral.captures.renew()
    limits, others = how.split(leaves)
    _, *moving = tangents
    by_limit, by_other = how.split(moving)
    found = sum((how.edge(i, limits, others) * by_limit[i] for i in how.moving(limits)), np.zeros_like(value))
    if how.free:
        many = len(others)

        def pushed(x: Numeric, given: Leaves) -> AnyArray:
            function = restricted(lambda leaves: [how.integrand(x, leaves)], given[:many], how.free)
            return push(function, [given[i] for i in how.free], given[many:])[0]

        tangent = [by_other[i] for i in how.free]
        parts = [_largest(_numbers(v) / _sizes(others[i])) for i, v in zip(how.free, tangent, strict=True)]
        size = _or_one(functools.reduce(np.maximum, parts))
        given = [*others, *(v / size for v in tangent)]
        found = found + size * how.integral.part(pushed, limits, given, derived=True)
    return found


def _numbers(x: Any) -> Any:
    """The numbers of a leaf as constants; those of a batch are not known yet."""
    known = plain(x)
    return known.detach() if isinstance(known, Tensor) else known


def _sizes(x: Any) -> AnyArray:
    return np.maximum(np.abs(_numbers(x)), 1)


def _largest(x: Any) -> AnyArray:
    return np.max(np.abs(_numbers(x)), initial=0)


def _or_one(size: Numeric) -> AnyArray:
    return np.where(size == 0, 1.0, size)[()]


def _inner(cotangent: AnyArray, slope: AnyArray) -> AnyArray:
    product = np.conj(cotangent) * slope
    return np.sum(np.real(product) if np.iscomplexobj(product) else product)


def _joined(parts: Leaves, shapes: list[Any]) -> AnyArray:
    """Arrays as one vector of real numbers."""
    vectors = []
    for x, (_, is_pair) in zip(parts, shapes, strict=True):
        vectors += [np.ravel(np.real(x)), np.ravel(np.imag(x))] if is_pair else [np.ravel(x)]
    return np.concatenate(vectors)


def _parted(vector: AnyArray, shapes: list[Any]) -> Leaves:
    """The arrays of such a vector."""
    parts, start = [], 0
    for shape, is_pair in shapes:
        size = int(np.prod(shape))
        taken = [np.reshape(vector[start + i * size : start + (i + 1) * size], shape) for i in range(1 + is_pair)]
        parts.append(taken[0] + 1j * taken[1] if is_pair else taken[0])
        start += size * (1 + is_pair)
    return parts


_integral.__name__ = "integral"  # of the node
_integral = CustomFunction(_integral, _vjp, _jvp)
_integral._rule.by_sample = by_sample
_integral._rule.instead = _ONE
_integral._rule.beside = lambda args: args[0].integral.said
_integral.defvmap(_of_samples)
_integral._rule.takes_batches = lambda args: next(x for x in args if isinstance(x, _Call)).one_interval
