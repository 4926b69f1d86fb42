"""Registering hooks on tensors and nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from pullback.core import modes
from pullback.core.errors import GradientError
from pullback.core.hook_dict import HookDict, RemovableHandle, hooks_in
from pullback.core.named import named
from pullback.core.tensor import Tensor, extra_of
from pullback.graph.node import Node, node_extra


@named("Tensor.register_hook", "Tensor self, callable hook")
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` whenever the gradient with respect to this tensor is computed.

    The hook belongs to the function that made the tensor: after an in-place operation on the tensor it goes on to see
    the gradient with respect to the value before.

    Parameters
    ----------
    hook : callable
        Takes the whole gradient, of the tensor's shape and dtype (None where it is undefined), and must not modify it.
        It returns a Tensor of that shape and dtype to go on with instead, or None to leave the gradient as it is.

    Returns
    -------
    RemovableHandle
        Its `remove()` takes the hook away again; so does leaving a `with` block around it.

    Raises
    ------
    RuntimeError
        The tensor does not require grad. In a backward: the hook returned a gradient of another shape or dtype.
    TypeError
        In a backward: the hook is not callable, or it returned something other than a Tensor or None.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10):
    ...     (x * x).sum().backward()
    >>> x.grad
    tensor([20., 40.])
    """
    if not self._requires_grad:
        raise _no_gradient("cannot register a hook on a tensor that doesn't require gradient")
    fn = self.grad_fn
    if fn is None:
        extra = extra_of(self)
        return hooks_in(extra, "hooks").add(hook)
    hooks = node_extra(fn).tensor_hooks
    return hooks.setdefault(self.output_nr, HookDict()).add(hook)


@named("Tensor.register_post_accumulate_grad_hook", "Tensor self, callable hook")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a backward has added the whole gradient of this leaf to its `.grad`.

    Parameters
    ----------
    hook : callable
        Takes the leaf itself, and may write into it and its `.grad` (grad mode is off, but for `create_graph=True`):
        an optimiser's step can be taken, and the gradient let go, while the backward goes on. It returns None.

    Returns
    -------
    RemovableHandle

    Raises
    ------
    RuntimeError
        The tensor does not require grad, or is not a leaf.
    TypeError
        In a backward: the hook is not callable.

    Examples
    --------
    >>> w = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> def step(parameter):
    ...     parameter -= 0.5 * parameter.grad
    ...     parameter.grad = None
    >>> handle = w.register_post_accumulate_grad_hook(step)
    >>> (w * 2).sum().backward()
    >>> w.tolist(), w.grad
    ([0.0, 1.0], None)
    """
    if not self._requires_grad:
        raise _no_gradient("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise GradientError(
            "post accumulate grad hooks cannot be registered on non-leaf tensors: backward() accumulates nothing in "
            f"the .grad of this one, computed by {self.grad_fn.name()}. Use register_hook(), which sees its gradient."
        )
    return hooks_in(extra_of(self), "post_accumulate_hooks").add(hook)


def retain_grad(self: Tensor) -> None:
    """Let this non-leaf tensor keep its gradient in `.grad`, as leaves do; does nothing on a leaf.

    The gradient is kept as all hooks of the tensor have left it, whenever they were registered, and is the gradient
    with respect to the tensor as it is at the time of backward, after any in-place operations.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        The tensor does not require grad.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 3
    >>> y.retain_grad()
    >>> (y * y).sum().backward()
    >>> y.grad
    tensor([ 6., 12.])
    """
    if self._level and self._level in modes.current().differentiated:
        raise GradientError(
            "Tensor.retain_grad() is for backward(), and this tensor is inside of a function that a transform of "
            "pullback.func differentiates. Take the gradient by it with func.grad of the rest there."
        )
    if not self._requires_grad:
        raise _no_gradient("can't retain_grad on Tensor that has requires_grad=False")
    fn = self.grad_fn
    extra = extra_of(self)
    if fn is None or extra.retains_grad:
        return
    extra.retains_grad = True
    node_extra(fn).retained[self.output_nr] = weakref.ref(self)


def register_node_hook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after each time that a backward has run this node.

    Parameters
    ----------
    hook : callable
        Takes two tuples of Tensors, with None for what is undefined or not asked for: the gradients of the node's
        inputs (in the order of `next_functions`), and those of its outputs, and must not modify them. It returns a
        tuple to go on with instead of `grad_inputs`, or None.

    Returns
    -------
    RemovableHandle

    Raises
    ------
    TypeError
        In a backward: the hook is not callable, or it returned something other than a tuple of Tensors and None.
    RuntimeError
        In a backward: the number of gradients, or the shape or dtype of one, is another than it was given.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp()
    >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_outputs[0],))
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return hooks_in(node_extra(self), "post_hooks").add(hook)


def register_prehook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_outputs)` each time before a backward runs this node.

    Parameters
    ----------
    hook : callable
        Takes a tuple with the gradient of each output of the node (a Tensor, or None), and must not modify them. It
        returns a tuple to go on with instead, or None.

    Returns
    -------
    RemovableHandle

    Raises
    ------
    TypeError, RuntimeError
        As for `register_hook` of a node.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 3
    >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 10,))
    >>> y.sum().backward()
    >>> x.grad
    tensor([30., 30.])
    """
    return hooks_in(node_extra(self), "pre_hooks").add(hook)


def _no_gradient(what: str) -> GradientError:
    return GradientError(
        f"{what}: none will ever be computed for it. Call requires_grad_() on it, or compute it from a tensor that "
        "requires grad (and not under no_grad)."
    )


__all__ = [
    "HookDict",
    "RemovableHandle",
    "register_hook",
    "register_node_hook",
    "register_post_accumulate_grad_hook",
    "register_prehook",
    "retain_grad",
]
