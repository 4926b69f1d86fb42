"""One hook for the gradients of several tensors.

It is made of hooks on the single tensors, which take notes of the run they are in: so runs that go on side by side, or
inside each other, do not mix, and the notes of one that failed go with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from pullback.autograd.engine.node_hooks import RunHook
from pullback.autograd.engine.run import Run
from pullback.core.errors import GradientError, type_name
from pullback.core.hook_dict import RemovableHandle, hook_of
from pullback.core.named import named
from pullback.core.tensor import Tensor
from pullback.graph.node import Node

# Gives the node at which a tensor's gradient arrives, if a graph that leads there is alive: the hook itself is kept by
# the nodes and leaves, and must not keep them.
Arrival: TypeAlias = Callable[[], Node | None]


class MultiHandle(RemovableHandle):
    """Removes a hook on several tensors from all of them."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        """Take the hook away; harmless when it has gone already."""
        for handle in self._handles:
            handle.remove()


class _Progress:
    """How far one run has come: the gradients so far, and how many are still to arrive."""

    def __init__(self, tensors: int, awaited: int) -> None:
        self.grads: list[Tensor | None] = [None] * tensors
        self.awaited = awaited


class _All:
    """Calls `function` with all gradients, when the last that a run computes has arrived."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[..., Any]) -> None:
        self.function = function
        self.arrivals = [_arrival(tensor) for tensor in tensors]
        self.runs: weakref.WeakKeyDictionary[Run, _Progress] = weakref.WeakKeyDictionary()

    def note(self, run: Run, position: int, grad: Tensor | None) -> None:
        """Take down one gradient; call the function if it is the last."""
        progress = self.runs.get(run)
        if progress is None:
            nodes = [arrival() for arrival in self.arrivals]
            awaited = sum(node is not None and node in run.awaited for node in nodes)
            progress = self.runs[run] = _Progress(len(nodes), awaited)
        progress.grads[position] = grad
        progress.awaited -= 1
        if not progress.awaited:
            del self.runs[run]
            self.function(progress.grads)


class _OneOfAll(RunHook):
    """The hook on one of the tensors of an `_All`."""

    def __init__(self, whole: _All, position: int) -> None:
        self.whole, self.position = whole, position

    def __call__(self, run: Run, grad: Tensor | None) -> None:
        self.whole.note(run, self.position, grad)


class _Any(RunHook):
    """The hook on each of the tensors, which calls `function` with the first gradient that a run computes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.runs: weakref.WeakSet[Run] = weakref.WeakSet()

    def __call__(self, run: Run, grad: Tensor | None) -> None:
        if run not in self.runs:
            self.runs.add(run)
            self.function(grad)


@named("autograd.graph.register_multi_grad_hook", "any tensors, callable fn")
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call `fn` in each backward that computes gradients of these tensors.

    Parameters
    ----------
    tensors : sequence of Tensor
    fn : callable
        In the mode "all" called as `fn(grads)`, once a backward has computed the last gradient that it will compute of
        these tensors: a list with one for each, None for the tensors that are not in its graph or not on the way to
        its `inputs`, and for undefined gradients. In the mode "any" called as `fn(grad)` with the first gradient
        alone. It must not modify its arguments. What it returns is not used.
    mode : {"all", "any"}

    Returns
    -------
    RemovableHandle
        Removes the hook from all the tensors.

    Raises
    ------
    ValueError
        There is no such mode.
    RuntimeError
        In the mode "all", a tensor does not require grad. In the mode "any" such a tensor is left out.
    TypeError
        One of `tensors` is not a Tensor. In a backward: `fn` is not callable.

    Notes
    -----
    It runs among the hooks of the tensor whose gradient comes last, in the order of their registration: it sees the
    gradients as the hooks registered before it have left them.

    Examples
    --------
    >>> a = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> b = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> c = a * b
    >>> handle = pb.autograd.graph.register_multi_grad_hook(
    ...     (a, b, c), lambda grads: print([g is not None for g in grads])
    ... )
    >>> c.sum().backward(retain_graph=True)
    [True, True, True]
    >>> c.sum().backward(inputs=[a])
    [True, False, True]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode!r}.")
    fn = hook_of(fn)
    tensors = tuple(tensors)
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"tensors[{i}] must be a Tensor, got {type_name(x)}.")
        if mode == "all" and not x._requires_grad:
            raise GradientError(
                f"tensors[{i}] (shape {x.shape}) does not require grad, so a hook would never see a gradient of it. "
                "Leave it out, or call requires_grad_() on it before computing with it."
            )
    first: Any  # of two arguments: hooks of this kind are told the run too
    if mode == "any":
        first = _Any(fn)
        return MultiHandle([x.register_hook(first) for x in tensors if x._requires_grad])
    whole = _All(tensors, fn)
    one_of_all: Any = _OneOfAll  # likewise
    return MultiHandle([x.register_hook(one_of_all(whole, i)) for i, x in enumerate(tensors)])


def _arrival(tensor: Tensor) -> Arrival:
    if tensor.grad_fn is not None:
        return weakref.ref(tensor.grad_fn)
    leaf = weakref.ref(tensor)

    def accumulator() -> Node | None:
        extra: Any = getattr(leaf(), "_extra", None)
        return extra.accumulator() if extra is not None and extra.accumulator is not None else None

    return accumulator
