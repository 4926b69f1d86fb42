"""Steps that can be taken apart along the first dimension: which of their arguments are then taken in blocks of rows.

A step works *by rows* if rows of its result depend on the same rows of some arguments and on the whole of others. A sum
over the rows is a *total*: the sum of those of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pullback.arrays.traced.graph import ONE, Step, Value, added_at
from pullback.core.types import Shape
from pullback.dispatch.operator import tags_of

_ALL = slice(None)


class ByRows(NamedTuple):
    """How a step is taken apart.

    Attributes
    ----------
    places : tuple of int
        The arguments that are taken in blocks of rows.
    total : bool
        The result is the sum of those of the blocks; otherwise it has the same rows.
    sized : int or None
        The argument that is a shape, whose first entry is the number of rows.
    """

    places: tuple[int, ...]
    total: bool = False
    sized: int | None = None


def by_rows(step: Step, rows: int) -> ByRows | None:
    """How a step is taken apart along a first dimension of so many rows; None if it cannot be."""
    if step.what is added_at:
        return _added(step, rows)
    if step.form is not ONE or not step.pure or not isinstance(step.what, str):
        return None
    if (rule := _RULES.get(step.what)) is not None:
        return rule(step, rows)
    return _pointwise(step, rows) if "pointwise" in tags_of(step.what) else None


def _has_rows(x: Any, rows: int) -> bool:
    return type(x) is Value and bool(x.shape) and x.shape[0] == rows


def _pointwise(step: Step, rows: int) -> ByRows | None:
    result = step.results[0]
    if not _has_rows(result, rows) or any(type(x) in (list, tuple) for x in step.args):
        return None
    rank = len(result.shape)
    places = [nr for nr, x in enumerate(step.args) if _has_rows(x, rows) and len(x.shape) == rank]
    return ByRows(tuple(places)) if places else None


def _reduction(step: Step, rows: int) -> ByRows | None:
    x, dims = step.args[:2]
    if not _has_rows(x, rows):
        return None
    rank = len(x.shape)
    chosen = range(rank) if dims is None else [d % rank for d in (dims if isinstance(dims, (tuple, list)) else (dims,))]
    if 0 not in chosen:
        return ByRows((0,))
    adds = step.what == "sum" and x.dtype.kind in "fc" and not any(step.args[3:])
    return ByRows((0,), total=True) if adds and x.dtype.itemsize >= 4 else None


def _scan(step: Step, rows: int) -> ByRows | None:
    x, dim = step.args[:2]
    return ByRows((0,)) if _has_rows(x, rows) and type(dim) is int and dim % len(x.shape) else None


def _slope(step: Step, rows: int) -> ByRows | None:
    x, reduced, dims = step.args[:3]
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    whole = all(_has_rows(y, rows) for y in (x, reduced)) and len(x.shape) == len(reduced.shape)
    return ByRows((0, 1)) if whole and all(d % len(x.shape) for d in dims) else None


def _unsqueeze(step: Step, rows: int) -> ByRows | None:
    x, dim = step.args
    return ByRows((0,)) if _has_rows(x, rows) and dim % (len(x.shape) + 1) else None


def _slice(step: Step, rows: int) -> ByRows | None:
    x, index = step.args
    first = index[0] if type(index) is tuple and index else index
    return ByRows((0,)) if _has_rows(x, rows) and first == _ALL and type(first) is slice else None


def _placed(step: Step, rows: int) -> ByRows | None:
    grad, shape, index = step.args
    first = index[0] if type(index) is tuple and index else index
    whole = _has_rows(grad, rows) and shape[0] == rows and type(first) is slice and first == _ALL
    return ByRows((0,), sized=1) if whole else None


def _shaped(step: Step, rows: int) -> ByRows | None:
    x, shape = step.args[:2]
    if not _has_rows(x, rows) or type(shape) is not tuple or not shape or shape[0] != rows:
        return None
    if step.what == "expand" and len(shape) != len(x.shape):
        return None
    return ByRows((0,), sized=1)


def _transposed(step: Step, rows: int) -> ByRows | None:
    x, a, b = step.args
    return ByRows((0,)) if _has_rows(x, rows) and a % len(x.shape) and b % len(x.shape) else None


def _moved(step: Step, rows: int) -> ByRows | None:
    x, source, target = step.args
    rank = len(x.shape)
    stays = all(type(dims) is tuple and all(d % rank for d in dims) for dims in (source, target))
    return ByRows((0,)) if _has_rows(x, rows) and stays else None


def _copied(step: Step, rows: int) -> ByRows | None:
    return ByRows((0,)) if _has_rows(step.args[0], rows) else None


def _cross(step: Step, rows: int) -> ByRows | None:
    a, b, dim = step.args
    whole = _has_rows(a, rows) and _has_rows(b, rows) and len(a.shape) == len(b.shape)
    return ByRows((0, 1)) if whole and type(dim) is int and dim % len(a.shape) else None


def _added(step: Step, rows: int) -> ByRows | None:
    target, index, value = step.args
    first = index[0] if type(index) is tuple and index else index
    whole = _has_rows(target, rows) and _has_rows(value, rows) and type(first) is slice and first == _ALL
    return ByRows((0, 2)) if whole else None


def _product(step: Step, rows: int) -> ByRows | None:
    a, b = step.args[:2]
    return ByRows((0,)) if _has_rows(a, rows) and len(a.shape) == 2 and len(b.shape) == 2 else None


def _einsum(step: Step, rows: int) -> ByRows | None:
    a, b, equation = step.args
    inputs, _, out = equation.partition("->")
    first, _, second = inputs.partition(",")
    for letter in {first[:1], second[:1]} - {"", "."}:
        places = tuple(nr for nr, (x, part) in enumerate(((a, first), (b, second))) if part[:1] == letter)
        counts = first.count(letter) + second.count(letter)
        if counts != len(places) or not all(_has_rows(step.args[nr], rows) for nr in places):
            continue
        if out[:1] == letter and out.count(letter) == 1:
            return ByRows(places)
        if letter not in out and step.results[0].dtype.kind in "fc":
            return ByRows(places, total=True)
    return None


_RULES: dict[str, Callable[[Step, int], ByRows | None]] = {
    **dict.fromkeys(("sum", "mean", "amax", "amin", "logsumexp", "any", "all"), _reduction),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum"), _scan),
    "logsumexp_slope": _slope, "unsqueeze": _unsqueeze, "slice_view": _slice, "slice_backward": _placed,
    "expand": _shaped, "reshape": _shaped, "transpose": _transposed, "matmul": _product, "mm": _product,
    "einsum_pair": _einsum, "movedim": _moved, "clone": _copied, "cross": _cross,
}  # fmt: skip


def elements_of(x: Value) -> int:
    """The number of elements in a row."""
    count = 1
    for n in x.shape[1:]:
        count *= n
    return count


def trailing(x: Value) -> Shape:
    """The shape of a row."""
    return x.shape[1:]


def values_at(step: Step, places: Sequence[int]) -> list[Value]:
    """The values at these places of the arguments."""
    return [step.args[nr] for nr in places]
