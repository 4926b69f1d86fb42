"""Sample makers: callables that give an OpInfo its samples: 0-d, empty, non-contiguous and broadcast inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from pullback.core.tensor import ndarray
from pullback.testing.opinfo.core import How, Make, Sample, Samples, Values

__all__ = ["T", "broadcasting", "broadcasting_pairs", "cases", "matrices", "on", "reductions", "unary"]

Shape: TypeAlias = int | tuple[int, ...]
MatrixKind: TypeAlias = Literal["square", "well_conditioned", "symmetric", "positive_definite", "any"]

SHAPES = ((), (3,), (2, 3), (0,), (2, 0))
PAIRS = (((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 2), ()), ((), (2,)), ((2, 0), (1,)))


def unary(
    *args: Any,
    shapes: Sequence[Shape] = SHAPES,
    low: float | None = None,
    high: float | None = None,
    away_from: float | Sequence[float] = (),
    distinct: bool = False,
    **kwargs: Any,
) -> Samples:
    """One input in several shapes; further arguments are the operator's: `unary(3, low=0.1)` calls op(x, 3)."""
    how: Values = {"low": low, "high": high, "away_from": away_from, "distinct": distinct}

    def samples(make: Make) -> Iterator[Sample]:
        for shape in shapes:
            yield Sample(make(shape, **how), *args, **kwargs)
        yield Sample(make((2, 3), noncontiguous=True, **how), *args, **kwargs).named("every_second")
        yield Sample(make((3, 2), **how).T, *args, **kwargs).named("transposed")

    return samples


def broadcasting(
    count: int,
    *args: Any,
    low: float | None = None,
    high: float | None = None,
    away_from: float | Sequence[float] = (),
    each: Sequence[Values] | None = None,
    numbers: bool = True,
    **kwargs: Any,
) -> Samples:
    """`count` inputs whose shapes broadcast; the operator's further arguments follow.

    `each` is a list with a dict of range settings for each input (over low, high, away_from); `numbers` adds calls in
    which the last, and the first, input is a Python number.
    """
    common: Values = {"low": low, "high": high, "away_from": away_from}
    ways: list[Values] = [common | (each[i] if each else {}) for i in range(count)]

    def samples(make: Make) -> Iterator[Sample]:
        for left, right in PAIRS:
            shapes = (left, right, (1,))[:count] if count <= 3 else (left, right) * ((count + 1) // 2)
            inputs = [make(s, **way) for s, way in zip(shapes[:count], ways, strict=True)]
            yield Sample(*inputs, *args, **kwargs)
        strided = [make((2, 3), noncontiguous=i == 0, **way) for i, way in enumerate(ways)]
        strided[-1] = make((3, 2), **ways[-1]).T
        yield Sample(*strided, *args, **kwargs).named("strided")
        if numbers:
            inputs = [make((3,), **way) for way in ways]
            last, first = make((), **ways[-1]).item(), make((), **ways[0]).item()
            yield Sample(*inputs[:-1], last, *args, **kwargs).named("last_is_a_number")
            yield Sample(first, *inputs[1:], *args, **kwargs).named("first_is_a_number")

    return samples


def broadcasting_pairs(
    *args: Any,
    low: float | None = None,
    high: float | None = None,
    away_from: float | Sequence[float] = (),
    left: Values | None = None,
    right: Values | None = None,
    numbers: bool = True,
    **kwargs: Any,
) -> Samples:
    """Two inputs whose shapes broadcast; `left` and `right` are dicts of range settings for one of them."""
    each = [left or {}, right or {}]
    return broadcasting(2, *args, low=low, high=high, away_from=away_from, each=each, numbers=numbers, **kwargs)


def reductions(
    *args: Any,
    low: float | None = None,
    high: float | None = None,
    away_from: float | Sequence[float] = (),
    distinct: bool = False,
    full: bool = True,
    many_dims: bool = True,
    empty: bool = True,
    **kwargs: Any,
) -> Samples:
    """One input reduced over all, one, or several dimensions, with and without keepdim.

    `full=False`: the operator must have a dim. `many_dims=False`: it takes one int only. `empty=False`: it has no value
    over an empty dimension (empty ones that are kept are still given).
    """
    how: Values = {"low": low, "high": high, "away_from": away_from, "distinct": distinct}

    def samples(make: Make) -> Iterator[Sample]:
        if full:
            yield Sample(make((), **how), *args, **kwargs)
            yield Sample(make((2, 3), **how), *args, **kwargs)
            yield Sample(make((2, 3), noncontiguous=True, **how), *args, **kwargs).named("every_second")
        for shape, dim in (((3,), 0), ((2, 3), 1), ((2, 3, 2), -2), ((), 0), ((0, 2), 1)):
            yield Sample(make(shape, **how), *args, dim=dim, **kwargs)
        yield Sample(make((2, 3), **how), *args, dim=0, keepdim=True, **kwargs)
        yield Sample(make((3, 2), **how).T, *args, dim=1, keepdim=True, **kwargs).named("transposed")
        if empty:
            yield Sample(make((0, 2), **how), *args, dim=0, **kwargs)
        if many_dims:
            yield Sample(make((2, 3, 2), **how), *args, dim=(0, 2), **kwargs)
            yield Sample(make((2, 3, 2), **how), *args, dim=(-1, 0), keepdim=True, **kwargs)

    return samples


@dataclasses.dataclass(frozen=True)
class T:
    """Stands in `on(...)` for an input of that shape: T((2, 3), low=0).

    Attributes
    ----------
    shape : tuple of int, or int
    how : dict
        How its values are drawn, over what `cases` says for every input.
    """

    shape: Shape
    how: How

    def __init__(self, shape: Shape = (), **how: Unpack[How]) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "how", how)


def on(shape: Shape | list[tuple[int, ...]] | None, *args: Any, name: str = "", **kwargs: Any) -> Sample:
    """One call for `cases`: an input of `shape` (a tuple), a list of inputs (list of tuples), or no input (None).

    `T(shape, low=...)` anywhere in the arguments stands for a further input.
    """
    if shape is None:
        return Sample(*args, **kwargs).named(name)
    first = [T(s) for s in shape] if isinstance(shape, list) else T(shape)
    return Sample(first, *args, **kwargs).named(name)


def cases(*calls: Sample, noncontiguous: bool = False, **how: Unpack[Values]) -> Samples:
    """The calls listed, each written with `on`; `how` (low=, high=, ...) holds for every input.

    `noncontiguous=True` adds each call again with strided inputs.
    """

    def samples(make: Make) -> Iterator[Sample]:
        for call in calls:
            for strided in (False, True) if noncontiguous else (False,):
                extra: How = {**how, "noncontiguous": strided}
                args, kwargs = _fill((call.args, call.kwargs), make, extra)
                yield Sample(*args, **kwargs).named(call.name + ("_strided" if strided else ""))

    return samples


def matrices(
    *args: Any,
    kind: MatrixKind = "square",
    sizes: Sequence[tuple[int, int]] = ((2, 2), (3, 3)),
    batches: Sequence[tuple[int, ...]] = ((), (2,), (0,)),
    **kwargs: Any,
) -> Samples:
    """Matrices, single and batched. `kind`: square, well_conditioned, symmetric (Hermitian), positive_definite, any.

    With kind="any", `sizes` are taken as they stand and may be oblong.
    """

    def samples(make: Make) -> Iterator[Sample]:
        for batch in batches:
            for rows, columns in sizes:
                a = make((*batch, rows, columns), low=-1, high=1)
                yield Sample(_shaped_as(kind, a), *args, **kwargs)

    return samples


def _shaped_as(kind: MatrixKind, a: ndarray) -> ndarray:
    """`a` made symmetric, positive definite, ..."""
    if kind in ("any", "square"):
        return a
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    adjoint = a.conj().swapaxes(-1, -2)
    shaped: ndarray
    if kind == "well_conditioned":
        shaped = a + 3 * eye
    elif kind == "symmetric":
        shaped = a + adjoint + np.diag(np.arange(a.shape[-1])).astype(a.dtype)  # eigenvalues apart
    elif kind == "positive_definite":
        shaped = a @ adjoint + eye
    else:
        raise ValueError(
            f"matrices(kind={kind!r}): choose any, square, well_conditioned, symmetric, positive_definite."
        )
    return shaped


def _fill(tree: Any, make: Make, how: How) -> Any:
    """`tree` with every T replaced by an input, and every list, tuple and dict copied."""
    if isinstance(tree, T):
        return make(tree.shape, **(how | tree.how))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_fill(t, make, how) for t in tree)
    if isinstance(tree, dict):
        return {k: _fill(t, make, how) for k, t in tree.items()}
    return tree
