"""View records: which tensor a view shares its memory with, and which part of it."""

from __future__ import annotations

import weakref
from typing import Any

from pullback.core.tensor import Extra, Tensor, extra_of, ndarray
from pullback.core.types import RawArray
from pullback.core.version import counter_of


def shares_memory(result: RawArray, source: RawArray) -> bool:
    """Whether the array `result`, just computed from `source`, is a view of it."""
    if result is source:
        return True
    if type(result) is ndarray and type(source) is ndarray:
        base = result.base
        return base is not None and (base is source or base is source.base)
    if isinstance(result, Tensor):  # nested levels: the memory is at the bottom
        result, source = memory_of(result), memory_of(source)
    base = getattr(result, "base", None)
    return base is not None and (base is source or base is getattr(source, "base", None))


def memory_of(data: Any) -> Any:
    """The array at the bottom of nested tensors."""
    while isinstance(data, Tensor):
        data = data._array
    return data


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
    counter = source._counter = out._counter = counter_of(base)
    made = out._extra
    if made is None:
        made = out._extra = Extra()
    made.base = base
    made.view_version = counter.n
    if extra is not None and extra.made_by is not None:
        made.made_by = extra.made_by
    if not base._requires_grad:
        _remember(base, out)
    return out


def _remember(base: Tensor, view: Tensor) -> None:
    """Let the base find its view: should an in-place operation make the base require grad, the view does too."""
    extra = extra_of(base)
    if extra.views is None:
        extra.views = {}
    views, key = extra.views, id(view)
    views[key] = weakref.ref(view, lambda _: views.pop(key, None))


def wake_views(base: Tensor) -> None:
    """The base has come to require grad: so do the views of it that are alive."""
    extra = base._extra
    if extra is not None and extra.views:
        for reference in list(extra.views.values()):
            view = reference()
            if view is not None:
                view._requires_grad = True
                view._extra.view_version = -1  # type: ignore[union-attr]  # every view has an Extra
        extra.views = None
