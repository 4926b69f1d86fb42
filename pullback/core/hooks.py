"""Registering hooks on tensors and nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from pullback.core.errors import GradientError
from pullback.core.hook_dict import HookDict, RemovableHandle
from pullback.core.node import Node, node_extra
from pullback.core.tensor import Tensor, extra_of


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` whenever a gradient with respect to this tensor is computed; it may return a new one.

    Returns
    -------
    RemovableHandle

    Raises
    ------
    RuntimeError
        The tensor does not require grad.
    """
    if not self._requires_grad:
        raise GradientError("cannot register a hook on a tensor that doesn't require gradient.")
    fn = self.grad_fn
    if fn is None:
        extra = extra_of(self)
        if extra.hooks is None:
            extra.hooks = HookDict()
        return extra.hooks.add(hook)
    hooks = node_extra(fn).tensor_hooks
    return hooks.setdefault(self.output_nr, HookDict()).add(hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient has been added to `.grad` of this leaf."""
    if not self._requires_grad:
        raise GradientError("cannot register a hook on a tensor that doesn't require gradient.")
    if self.grad_fn is not None:
        raise GradientError("post accumulate grad hooks cannot be registered on non-leaf tensors.")
    extra = extra_of(self)
    if extra.post_accumulate_hooks is None:
        extra.post_accumulate_hooks = HookDict()
    return extra.post_accumulate_hooks.add(hook)


def retain_grad(self: Tensor) -> None:
    """Let this non-leaf tensor keep its gradient in `.grad`; does nothing on a leaf."""
    if not self._requires_grad:
        raise GradientError("can't retain_grad on Tensor that has requires_grad=False.")
    fn = self.grad_fn
    extra = extra_of(self)
    if fn is None or extra.retains_grad:
        return
    extra.retains_grad = True
    node_extra(fn).retained[self.output_nr] = weakref.ref(self)


def register_node_hook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after this node has run; it may return new grad_inputs."""
    extra = node_extra(self)
    if extra.post_hooks is None:
        extra.post_hooks = HookDict()
    return extra.post_hooks.add(hook)


def register_prehook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_outputs)` before this node runs; it may return new grad_outputs."""
    extra = node_extra(self)
    if extra.pre_hooks is None:
        extra.pre_hooks = HookDict()
    return extra.pre_hooks.add(hook)


__all__ = [
    "HookDict",
    "RemovableHandle",
    "register_hook",
    "register_node_hook",
    "register_post_accumulate_grad_hook",
    "register_prehook",
    "retain_grad",
]
