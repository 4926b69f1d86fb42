"""Accumulates a gradient into the `.grad` of a leaf. Gradients never share memory with each other or with anyone else.

A gradient often arrives in an array that nobody else holds, and then need not be copied. Whether that is so is read
off its reference count: it is handed over in a list (a box), so that the box is the only holder besides the reader.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import starmap
from operator import call
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.numpy.quiet import IGNORE_ALL, restore
from pullback.autograd.engine.run import Box, Run
from pullback.autograd.engine.structural_zeros import Masked, added
from pullback.core.array_face import wrap_as
from pullback.core.array_type import array_type, leaving_gradient
from pullback.core.errors import GradientError, with_article
from pullback.core.lock import one_thread
from pullback.core.tensor import Tensor, extra_of, ndarray
from pullback.core.types import Gradient, RawArray
from pullback.core.version import counter_of
from pullback.graph.kept_values import refuse_kept
from pullback.graph.node import AccumulateGrad

Step: TypeAlias = tuple[Any, ...]  # a function of C's and its arguments


def _references_when_alone() -> int:
    box = [np.ones(1)]
    held = box[0]
    return sys.getrefcount(held)


# What getrefcount says of an array held by one container and one local variable: measured, since it depends on how
# this version of Python passes arguments.
_ALONE = _references_when_alone()
# Below this many elements asking whether an array may be reused costs more than a new one.
FEW = 2000


def add(held: Gradient, grad: Gradient) -> Gradient:
    """held + grad; in the memory of `held` if that is a large array which the caller has let go of."""
    if (
        type(held) is ndarray
        and type(grad) is ndarray
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
    if type(held) is Masked or type(grad) is Masked:
        return added(held, grad)
    return held + grad


def owned(box: Box) -> RawArray:
    """The raw gradient in `box`, copied if it is a view, read-only or held by anyone else."""
    grad = box[0]
    if type(grad) is not ndarray:
        return np.array(grad) if issubclass(type(grad), np.generic) else _handed_out(grad)
    if grad.base is not None or sys.getrefcount(grad) > _ALONE or not grad.flags.writeable:
        return grad.copy()
    return grad


def _handed_out(grad: Gradient) -> RawArray:
    """A gradient that is no ndarray, in memory of its own if it has any."""
    grad = leaving_gradient(grad)
    return grad if isinstance(grad, Tensor) else array_type(grad).copy(grad)


def accumulate_grad(run: Run, node: AccumulateGrad, box: Box) -> None:
    """Accept the gradient in `box` for `.grad` of a leaf.

    It is added when the whole run has succeeded, so that one that fails leaves every `.grad` as it was; at once only
    where a hook waits for it.
    """
    variable = node.variable
    if not variable._requires_grad:
        return
    hooks = variable._extra.post_accumulate_hooks  # type: ignore[union-attr]  # leaves have an Extra, and so do
    if not hooks and not node._extra.post_hooks:  # type: ignore[union-attr]  # their nodes
        if box[0] is not None:
            run.pending.append((variable, box))
        return
    if box[0] is not None:
        with one_thread:  # which must not lose each other's gradients
            _commit(_steps_to_add(run, variable, box))
    for hook in list(hooks.values() if hooks else ()):
        if (result := run.call(hook, variable)) is not None:
            raise GradientError(
                f"post-accumulate hook {getattr(hook, '__name__', hook)!r} returned {with_article(result)}; it must "
                "return None. Write into the tensor's .grad instead."
            )


def add_pending(run: Run) -> None:
    """Add the gradients of a run that has succeeded."""
    if not run.pending and run.replaced is None:
        return
    for variable, _ in run.pending:  # before the first is added
        if variable._fn is not None:
            raise GradientError(
                "leaf variable has been moved into the graph interior: a tensor that was a leaf when it was used was "
                "taken out of the graph, by detach_() or requires_grad_(False), and then written into; it comes from "
                f"{variable._fn.node().name()} now, and its gradient as a leaf cannot be stored. Use another tensor "
                "for the new values."
            )
        if run.level and (entered := variable._extra.entered) is not None and entered.over:  # type: ignore[union-attr]
            refuse_kept(run.awaited)
    with one_thread:
        if len(run.pending) == 1 and run.replaced is None and not run.create_graph:
            ((variable, box),) = run.pending
            extra: Any = variable._extra
            if extra.grad is None and not extra.grad_is_given:  # the usual case, one step
                extra.grad = wrap_as(variable, owned(box), run.level)
                return
        steps = []
        for variable, box in run.pending:
            steps += _steps_to_add(run, variable, box)
            box.clear()  # of which a copy was made is let go before the next copy
        if run.replaced is not None:
            steps.append((setattr, run, "replaced", None))  # from here on there is nothing to put back
        _commit(steps)


def _steps_to_add(run: Run, variable: Tensor, box: Box) -> list[Step]:
    """Prepare to add the gradient in `box` to `variable.grad`: returns the steps that store it, which cannot fail.

    It is added in place, so that who holds `.grad` sees the sum, and a bucket of which each leaf's `.grad` is a part
    fills. Under create_graph, where the sum has a history, and where shapes or dtypes differ, `.grad` is a new tensor.
    """
    extra: Any = variable._extra
    held: Any = extra.grad  # read once: another thread may set it to None
    if held is None and not extra.grad_is_given and not run.create_graph:
        return [(setattr, extra, "grad", wrap_as(variable, owned(box), run.level))]
    replace = [(setattr, extra, "grad_is_given", False)] if extra.grad_is_given else []
    if run.create_graph:
        grad = leaving_gradient(box[0])
        return [(setattr, extra, "grad", _copied(grad) if held is None else held + grad), *replace]
    if held is None:
        return [(setattr, extra, "grad", wrap_as(variable, owned(box), run.level)), *replace]
    data = held._array
    if held._level == run.level and _takes_in_place(data, box[0]):
        grad = box[0]
        alone = not extra.grad_is_given and data.base is None and sys.getrefcount(data) <= _ALONE
        if alone and sys.getrefcount(held) <= _ALONE and held._fn is None:
            return [(np.add, data, grad, data)]
        counter = counter_of(held)
        if grad.base is not None or sys.getrefcount(grad) > _ALONE:  # it may be part of the bucket
            grad = grad.copy()
        moved = [(setattr, counter, "n", counter.n + 1), (setattr, counter, "culprit", "backward()")]
        return [(np.add, data, grad, data), *moved]
    total = wrap_as(variable, _whole(data + leaving_gradient(box[0])), run.level)
    return [(setattr, extra, "grad", total), *replace]


def _copied(grad: Tensor) -> Tensor:
    """A gradient with its history in memory of its own; written into it, as in PyTorch, whose node is CopyBackwards."""
    return grad.detach().new_empty(grad.shape).copy_(grad)


def _takes_in_place(data: Gradient, grad: Gradient) -> bool:
    """True if the array `data` can take `grad` as it is; nothing that the writing refuses is left then."""
    if type(data) is not ndarray or not data.flags.writeable:
        return False
    return issubclass(type(grad), (ndarray, np.generic)) and grad.shape == data.shape and grad.dtype == data.dtype


def _commit(steps: list[Step]) -> None:
    """Take all of these steps or none: one call of C, in the midst of which no signal's exception can come."""
    if len(steps) == 1:
        ((do, *given),) = steps
        do(*given)
        return
    if any(step[0] is np.add for step in steps):
        steps.insert(0, (restore, IGNORE_ALL))  # inf - inf would call a function of Python's
    deque(starmap(call, steps), 0)


def keep_grad(run: Run, tensor: Tensor, grad: Tensor) -> None:
    """Add the gradient of a computed tensor to its `.grad`; `put_back` undoes it."""
    extra = extra_of(tensor)
    with one_thread:
        before = extra.grad
        now = grad if before is None else before + grad
        if run.replaced is None:
            run.replaced = []
        run.replaced.append((tensor, before, now))  # first: a signal's exception may come next
        extra.grad = now


def put_back(run: Run) -> None:
    """Give the computed tensors back the `.grad` that they had before this run, which has failed."""
    for tensor, before, now in reversed(run.replaced or ()):
        with one_thread:
            if extra_of(tensor).grad is now:  # and nobody has added to it since
                extra_of(tensor).grad = before


def _whole(array: RawArray) -> RawArray:
    return np.asarray(array) if issubclass(type(array), np.generic) else array
