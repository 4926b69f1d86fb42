"""View records: which tensor a view shares its memory with, and which part of it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback.core import slots
from pullback.core.array_type import NUMPY, array_type, layout_of, memory_of
from pullback.core.lock import one_thread
from pullback.core.modes import current
from pullback.core.tensor import Extra, Tensor, extra_of, inside_tensors, ndarray
from pullback.core.types import DType, RawArray, Shape
from pullback.core.version import counter_of
from pullback.graph.snapshot import snapshot


class Origin(NamedTuple):
    """How a view came about that may not be written into while recording, nor be used once its base was."""

    kind: str  # 'function' (a custom Function), 'multiple', 'no_grad' or 'inference'
    name: str  # of the node or operator that returned it


NO_GRAD = Origin("no_grad", "")
INFERENCE = Origin("inference", "")
FEW_VIEWS = 64  # references that a base may keep beside those to views that are alive
_reference = weakref.ref


def several_views(name: str) -> Origin:
    """The origin of the views that one operator returns together."""
    return Origin("multiple", name)


class ViewStep(NamedTuple):
    """One operator in the chain that leads from a base to a view of it: all that is needed to run it again."""

    op: Any  # the dispatch.Operator, of a module above
    args: tuple[Any, ...]  # after the first, which is what is viewed
    shape: Shape  # this and the next: of what is viewed
    dtype: DType
    nr: int | None  # which of several results, None for the only one
    inverse: bool = False  # whether it leads the other way, because the base itself has become another view


def shares_memory(result: RawArray, source: RawArray) -> bool:
    """True if the array `result`, just computed from `source`, is a view of it."""
    if result is source:
        return True
    if type(result) is ndarray and type(source) is ndarray:
        base = result.base
        return base is not None and (base is source or base is source.base)
    if isinstance(result, Tensor) and isinstance(source, Tensor):  # tied already, by the operator on these
        tied: Any = None if result._extra is None else result._extra.base
        if tied is not None and (tied is source or (source._extra is not None and tied is source._extra.base)):
            return True
    return array_type(result).is_view(result, source)


def base_of(tensor: Tensor) -> Tensor | None:
    """The tensor whose memory `tensor` is a view of, or None."""
    extra = tensor._extra
    base = None if extra is None else extra.base
    # They share a counter until one of them gets other memory by assigning to `.data`.
    return base if base is not None and base._counter is tensor._counter else None


def make_view(out: Tensor, source: Tensor) -> Tensor:
    """Record that `out` is a differentiable view of `source` (of its base, if `source` is a view itself)."""
    extra = source._extra
    base = source
    # base_of and extra_of written out, for a slice is often the smallest thing that a program does.
    if extra is not None and extra.base is not None and extra.base._counter is source._counter:
        base = extra.base
    counter = source._counter = out._counter = base._counter or counter_of(base)
    made = out._extra
    if made is None:
        made = out._extra = Extra()  # new_extra written out
        made.made_by = made.no_view = made.views = None
        made.inference = False
        made.many_views = FEW_VIEWS
    made.base = base
    made.view_version = counter.n
    if extra is not None:
        if extra.made_by is not None:
            made.made_by = extra.made_by
        if extra.no_view is not None:
            made.no_view = extra.no_view
        if extra.inference:  # its views are constants, as in PyTorch, even if it requires grad
            made.inference, out._fn, out._requires_grad = True, None, False
            if memory_of(out._array) is not None:
                made.base = None  # they share memory, and nobody will ask in what place
                return out
    if not base._requires_grad:
        if base is not source or extra is None or (views := extra.views) is None or len(views) >= extra.many_views:
            _remember(base, out)
        else:  # of a base that has views already
            views.append(_reference(out))
        if not ((state := current()).records_all or made.inference or state.records(out._level)):
            _not_recorded(out)
    elif not out._requires_grad and not made.inference:
        _not_recorded(out)
    return out


def _not_recorded(view: Tensor) -> None:
    """Note in which mode a view was made that no graph knows of; one made in inference mode is a leaf of its own."""
    extra: Any = view._extra
    inference = current().inference
    if extra.made_by is None:
        extra.made_by = INFERENCE if inference else NO_GRAD
    view._requires_grad = inference and extra.base._requires_grad and view._array.dtype.kind in "fc"


def describe_view(view: Tensor, source: Tensor, op: Any, args: Sequence[Any], nr: int) -> None:
    """Note by which operator a view was made, where that is not plain from its place in memory."""
    extra: Any = view._extra
    if op.returns_list and extra.made_by is None:
        extra.made_by = several_views(op.name)
    if extra.base is None or not _replayed(view):
        return
    before = () if extra.base is source else source._extra.steps  # type: ignore[union-attr]  # a view has an Extra
    if before is None or (op.kernel == "strided_view" and memory_of(inside_tensors(view)) is not None):
        return  # of a view without chain, or by strides: only its place in memory says what it is
    data, given = source._array, snapshot(tuple(args[1:]))
    if op.kernel == "strided_view":  # which may show other elements of the base than its source does
        data, before = extra.base._array, ()
        if (layout := layout_of(data)) is None:
            return
        given = (*given[:-1], NUMPY.kernels["storage_geometry"](layout))
    step = ViewStep(op, given, data.shape, data.dtype, nr if op.returns_list else None)
    extra.steps = (*before, step)
    _remember(extra.base, view)


def _replayed(view: Tensor) -> bool:
    """True if this view must be followed by running its operators again; observers of tests may ask for it."""
    if memory_of(inside_tensors(view)) is None:
        return True
    observers = current().observers
    return bool(observers) and any(observer.replays_views for observer in observers)


def _remember(base: Tensor, view: Tensor) -> None:
    """Let the base find its view: should an in-place operation make the base require grad, the view does too."""
    extra = base._extra or extra_of(base)
    views = extra.views
    if views is None:
        made: list[weakref.ref[Tensor]] = []
        extra.views = views = made if extra.views is None else extra.views  # one line, as in core.version
    views.append(_reference(view))  # without callback, which would cost more than all of this
    if len(views) > extra.many_views:
        _forget(extra)
        extra.many_views = 2 * len(views) + FEW_VIEWS  # so that asking costs little for each


def _forget(extra: Extra, but_those_with_steps: bool = False) -> None:
    """Keep references to views alone that are alive, or have steps too."""
    with one_thread:
        if extra.forgets:
            return  # in a finaliser, in the midst of this
        extra.forgets = True
        try:
            views: Any = extra.views
            n = len(views)  # what others append meanwhile stands behind these
            alive = [reference for reference in views[:n] if reference() is not None]
            views[:n] = [r for r in alive if _has_steps(r())] if but_those_with_steps else alive
        finally:
            extra.forgets = False


def _has_steps(view: Tensor | None) -> bool:
    return view is not None and view._extra.steps is not None  # type: ignore[union-attr]  # every view has an Extra


def live_views(base: Tensor) -> list[Tensor]:
    """The views of a base that it remembers and that are alive."""
    extra = base._extra
    if extra is None or not extra.views:
        return []
    return list({id(view): view for reference in list(extra.views) if (view := reference()) is not None}.values())


def wake_views(base: Tensor) -> None:
    """The base has come to require grad: so do the views of it that are alive."""
    extra: Any = base._extra
    if extra is None or not extra.views:
        return
    for view in live_views(base):
        shown: Any = view._extra  # every view has one
        if not shown.is_alias:
            view._requires_grad = True
            shown.view_version = -1
    _forget(extra, True)  # these are to be found again whenever the base changes


slots.remember_view = _remember
