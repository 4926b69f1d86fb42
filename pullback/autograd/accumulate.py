"""Adding a gradient to `.grad` of a leaf. Gradients never share memory with each other or with anyone else.

A gradient often arrives in an array that nobody else holds, and then need not be copied. Whether that is so is read
off its reference count: it is handed over in a list (a box), so that the box is the only holder besides the reader.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from pullback.autograd.run import Box, Run
from pullback.core.node import AccumulateGrad
from pullback.core.tensor import Extra, Tensor, ndarray, wrap
from pullback.core.types import Gradient, RawArray


def _references_when_alone() -> int:
    box = [np.ones(1)]
    held = box[0]
    return sys.getrefcount(held)


# What getrefcount says of an array held by one container and one local variable: measured, since it depends on how
# this version of Python passes arguments.
_ALONE = _references_when_alone()
_adding = threading.RLock()  # threads that add to one leaf must not lose each other's gradients
# Below this many elements asking whether an array may be reused costs more than a new one.
FEW = 2000


def add(held: Gradient, grad: Gradient) -> Gradient:
    """held + grad; in the memory of `held` if that is a large array which the caller has let go of."""
    if (
        type(held) is ndarray
        and held.size > FEW
        and grad.shape == held.shape
        and grad.dtype == held.dtype
        and held.base is None
        and held.flags.writeable
        # Handed over by an expression, not a variable, so this function's argument is the only holder.
        and sys.getrefcount(held) < _ALONE
    ):
        held += grad
        return held
    return held + grad


def owned(box: Box) -> RawArray:
    """The raw gradient in `box`, copied if it is a view, read-only or held by anyone else."""
    grad = box[0]
    if type(grad) is not ndarray:
        return np.array(grad) if isinstance(grad, np.generic) else grad
    if grad.base is not None or sys.getrefcount(grad) > _ALONE or not grad.flags.writeable:
        return grad.copy()
    return grad


def accumulate_grad(run: Run, node: AccumulateGrad, box: Box) -> None:
    """Accept the gradient in `box` for `.grad` of a leaf.

    It is added when the whole run has succeeded, so that one that fails leaves every `.grad` as it was; at once only
    where a hook waits for it.
    """
    variable = node.variable
    if box[0] is None or not variable._requires_grad:
        return
    hooks = variable._extra.post_accumulate_hooks  # type: ignore[union-attr]  # leaves have an Extra, and so do
    if not hooks and not node._extra.post_hooks:  # type: ignore[union-attr]  # their nodes
        run.pending.append((variable, box))
        return
    with _adding:
        _add_to(run, variable, box)
    for hook in list(hooks.values() if hooks else ()):
        run.call(hook, variable)


def add_pending(run: Run) -> None:
    """Add the gradients of a run that has succeeded."""
    with _adding:
        for variable, box in run.pending:
            _add_to(run, variable, box)


def _add_to(run: Run, variable: Tensor, box: Box) -> None:
    """Add the gradient in `box` to `variable.grad`: in place only where nobody else holds the array."""
    extra: Any = variable._extra
    if run.create_graph:
        extra.grad = box[0].clone() if extra.grad is None else extra.grad + box[0]
    elif extra.grad is None:
        extra.grad = wrap(owned(box), run.level)
    elif not _add_in_place(extra, box[0]):
        extra.grad = wrap(_whole(extra.grad._array + box[0]), run.level)


def _add_in_place(extra: Extra, grad: Gradient) -> bool:
    held: Any = extra.grad
    data = held._array
    alone = type(data) is ndarray and data.base is None and sys.getrefcount(data) <= _ALONE
    if alone and sys.getrefcount(held) <= _ALONE and held._fn is None and data.flags.writeable:
        data += grad
        return True
    return False


def _whole(array: RawArray) -> RawArray:
    return np.asarray(array) if isinstance(array, np.generic) else array
