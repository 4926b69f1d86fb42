"""Hooks on what nodes save for backward: packing it, keeping it elsewhere, refusing such hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pullback.core import modes
from pullback.core.array_type import is_array
from pullback.core.errors import GradientError
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor, wrap
from pullback.core.types import Version
from pullback.core.version import Counter, version_of
from pullback.graph.node import Edge, Node, edge_to
from pullback.graph.packed import Packed, place_of
from pullback.graph.saved import own_output_nr


class saved_tensors_hooks(Observer, ModeSwitch):
    """Context manager and decorator: `pack_hook` decides what is kept of each tensor that a node saves.

    Parameters
    ----------
    pack_hook : callable
        Takes a saved tensor, of any shape and dtype, and returns anything. It must not modify the tensor in place. It
        runs without recording, once for each tensor that an operator inside the context saves.
    unpack_hook : callable
        Takes what `pack_hook` returned and gives the tensor back: the same values, shape and dtype. It runs each time
        that backward needs the tensor, and when `grad_fn._saved_...` is looked at.

    Notes
    -----
    An input is handed over as the very tensor that the operator was given (so that `t is weight` tells parameters
    apart), and an ndarray among the inputs as a tensor around it. An output comes detached, so that keeping it makes no
    reference cycle. What is given back takes the place of the original in the graph: second derivatives go on from
    there.

    Of nested contexts the innermost alone is in force. Memory that the hooks keep as it is, without a copy, is still
    checked for in-place modification; of a copy, what was packed is what backward gets.

    Raises
    ------
    TypeError
        A hook is not callable; in backward, `unpack_hook` returned no Tensor.
    RuntimeError
        Hooks are disabled (`disable_saved_tensors_hooks`); `pack_hook` modified its input; in backward, `unpack_hook`
        returned a Tensor of another shape or dtype.

    Examples
    --------
    Keep float64 as float32, in half of the memory:

    >>> x = pb.ones(3, requires_grad=True)
    >>> half = lambda t: t.detach().to(pb.float32)
    >>> with pb.autograd.graph.saved_tensors_hooks(half, lambda t: t.to(pb.float64)):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """

    trusts_unpack = False  # whether shape and dtype of what unpack_hook gives back are left unchecked
    keeps_tangents = False  # whether what unpack_hook gives back has the tangents of forward mode

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: {name} must be callable, got {type(hook).__name__}.")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _fresh(self) -> Self:
        return self  # has no state but the hooks

    def _changed(self, modes: Modes) -> Modes:
        for observer in reversed(modes.observers):
            if isinstance(observer, disable_saved_tensors_hooks):
                raise GradientError(observer.message)
        return modes.with_observer(self)

    def takes(self, level: int) -> bool:
        """True if what nodes of that level save is packed."""
        return True

    def recorded(self, node: Node, level: int) -> None:
        state = modes.current()
        if innermost_hooks(state) is not self or not self.takes(level):
            return
        before = modes.set_modes(state.with_recording(False, level))
        try:
            node.repack(lambda saved, version: self.packed(node, saved, version, level))
        finally:
            modes.restore(before)

    def packed(self, node: Node, saved: Any, version: Version, level: int) -> tuple[Any, Version]:
        """The packed object that a node keeps in place of a saved tensor."""
        if isinstance(version, Counter) or type(version) is tuple:  # its own output, as data
            output = wrap(saved, level)
            output._counter = version[0] if type(version) is tuple else version  # type: ignore[assignment]
            return pack(self, output, None, own_output_nr(node, saved))
        if isinstance(saved, Tensor):
            return pack(self, saved, edge_to(saved))
        if is_array(saved):
            return pack(self, wrap(saved, level), None)
        return saved, version


def pack(
    hooks: saved_tensors_hooks, tensor: Tensor, edge: Edge | None, output_nr: int | None = None
) -> tuple[Any, Packed]:
    """Call the pack hook on a tensor; returns the packed object, and the record that unpacks it."""
    place = Packed(hooks.unpack_hook, tensor, edge, output_nr, hooks.trusts_unpack)
    if not hooks.keeps_tangents:
        place.around = place_of(tensor._array)
    packed = hooks.pack_hook(tensor)
    if version_of(tensor) != place.expected:
        raise GradientError(
            "A saved tensor pack hook is modifying its input in place, which would change the values of the "
            "forward computation. Let it work on a clone()."
        )
    return packed, place


def innermost_hooks(state: Modes) -> saved_tensors_hooks | None:
    """The hooks in force."""
    for observer in reversed(state.observers):
        if isinstance(observer, saved_tensors_hooks):
            return observer
    return None


class save_on_cpu(saved_tensors_hooks):
    """Context manager and decorator: keep what nodes save in the CPU's memory until backward asks for it.

    Parameters
    ----------
    pin_memory : bool, default False
        Only False: memory of NumPy arrays is not page-locked.
    device_type : str, default "cpu"
        The device of the computation. Tensors that are on the CPU already are kept as they are, without a copy.

    Raises
    ------
    RuntimeError
        `pin_memory` is True, or there is no such device.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        if pin_memory:
            raise GradientError("save_on_cpu: NumPy arrays cannot be pinned; leave pin_memory=False.")
        if device_type != "cpu":
            raise GradientError(
                f"save_on_cpu: device {device_type!r} is not available: this version supports only 'cpu'."
            )
        super().__init__(lambda tensor: (tensor.device, tensor.to("cpu")), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks(Observer, ModeSwitch):
    """Context manager and decorator: entering `saved_tensors_hooks` inside raises.

    Parameters
    ----------
    error_message : str
        The message of the RuntimeError, which is raised at once if hooks are in force already.

    Raises
    ------
    RuntimeError
        Hooks are in force, or are entered inside.
    TypeError
        `error_message` is not a str.

    Examples
    --------
    >>> with pb.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with pb.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    pullback.core.errors.GradientError: not here
    """

    def __init__(self, error_message: str) -> None:
        if not isinstance(error_message, str):
            raise TypeError(
                "disable_saved_tensors_hooks: give the message of the error, a str, got "
                f"{type(error_message).__name__}."
            )
        self.message = error_message

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        if innermost_hooks(modes) is not None:
            raise GradientError(self.message)
        return modes.with_observer(self)
