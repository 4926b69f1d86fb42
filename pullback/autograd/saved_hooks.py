"""Hooks on what nodes save for backward: packing, moving it elsewhere, keeping it through in-place operations."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

from pullback.core import modes
from pullback.core.errors import GradientError
from pullback.core.instruments import Instrument
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.node import Node, port
from pullback.core.saved import Packed
from pullback.core.tensor import Tensor, wrap
from pullback.core.types import RawArray, Version
from pullback.core.version import Counter, counter_of, version_of


class saved_tensors_hooks(Instrument, ModeSwitch):
    """Context manager and decorator: `pack_hook` decides what is kept of each tensor that a node saves.

    Parameters
    ----------
    pack_hook : callable
        Takes a saved tensor (detached, of any shape and dtype) and returns anything. Must not modify the tensor in
        place. Runs without recording, once for each tensor saved, at the time of the forward operation.
    unpack_hook : callable
        Takes what `pack_hook` returned and gives the tensor back: same values, shape and dtype. Runs each time that
        backward needs it.

    Notes
    -----
    Of nested contexts the innermost alone is in force. Packed tensors are not checked for in-place modification: what
    was packed is what backward gets. Constants (numbers and ndarrays) are not packed.

    Raises
    ------
    TypeError
        A hook is not callable; in backward, `unpack_hook` returned no Tensor.
    RuntimeError
        Hooks are disabled (`disable_saved_tensors_hooks`), or `pack_hook` modified its input.

    Examples
    --------
    >>> x = pb.ones(3, requires_grad=True)
    >>> with pb.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().astype("f4"), pb.from_numpy):
    ...     y = x * x
    >>> y.grad_fn._saved_self.dtype
    dtype('float32')
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: {name} must be callable, got {type(hook).__name__}.")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _fresh(self) -> Self:
        return self  # has no state but the hooks and the modes to return to

    def _changed(self, modes: Modes) -> Modes:
        for instrument in modes.instruments:
            if isinstance(instrument, disable_saved_tensors_hooks):
                raise GradientError(instrument.message)
        return modes.with_instrument(self)

    def recorded(self, node: Node, level: int) -> None:
        state = modes.current()
        if _innermost(state) is not self:
            return
        before = modes.set_modes(state.with_recording(False, level))
        try:
            node.repack(lambda saved, version: self._packed(saved, version, level))
        finally:
            modes.set_modes(before)

    def _packed(self, saved: Any, version: Version, level: int) -> tuple[Any, Version]:
        of_output = type(version) is Counter or type(version) is tuple
        if of_output:
            alias = wrap(saved, level)
            alias._counter = version[0] if type(version) is tuple else version
            edge = None
        elif isinstance(saved, Tensor):
            alias, edge = saved.detach(), port(saved)
        else:
            return saved, version
        before = version_of(alias)
        packed = self.pack_hook(alias)
        if version_of(alias) != before:
            raise GradientError(
                "A saved tensor pack hook is modifying its input in place, which would change the values of the "
                "forward computation. Let it work on a clone()."
            )
        return packed, Packed(self._unpacked, edge, level, of_output)

    def _unpacked(self, packed: Any) -> Tensor:
        tensor = self.unpack_hook(packed)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"the unpack hook of saved_tensors_hooks returned a {type(tensor).__name__}; expected the Tensor that "
                "was packed, for example pullback.from_numpy(array)."
            )
        return tensor


def _innermost(state: Modes) -> saved_tensors_hooks | None:
    """The hooks in force."""
    for instrument in reversed(state.instruments):
        if isinstance(instrument, saved_tensors_hooks):
            return instrument
    return None


class save_on_cpu(saved_tensors_hooks):
    """Context manager and decorator: keep what nodes save in the CPU's memory until backward asks for it.

    Parameters
    ----------
    pin_memory : bool, default False
        Only False: memory of NumPy arrays is not page-locked.
    device_type : str, default "cpu"
        The device of the computation. Tensors that are on the CPU already are kept as they are.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        if pin_memory:
            raise GradientError("save_on_cpu: NumPy arrays cannot be pinned; leave pin_memory=False.")
        if device_type != "cpu":
            raise GradientError(
                f"save_on_cpu: device {device_type!r} is not available: this version computes on 'cpu' alone."
            )
        super().__init__(lambda tensor: (tensor.device, tensor.to("cpu")), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks(Instrument, ModeSwitch):
    """Context manager and decorator: entering `saved_tensors_hooks` inside raises.

    Parameters
    ----------
    error_message : str
        The message of the RuntimeError, also raised at once if hooks are in force already.
    """

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        if _innermost(modes) is not None:
            raise GradientError(self.message)
        return modes.with_instrument(self)


class _Handle:
    """A saved tensor of `allow_mutation_on_saved_tensors`: its array, a copy once the original is about to change."""

    __slots__ = ("__weakref__", "array", "level")

    def __init__(self, array: RawArray, level: int) -> None:
        self.array, self.level = array, level


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context manager: a saved tensor may be modified in place; it is cloned just before that happens.

    Backward must run inside the context too, because what was saved is let go at its end.

    Raises
    ------
    RuntimeError
        Contexts are nested, or backward runs outside.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.add_(1)
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__(self._keep, self._give_back)
        self._by_memory: dict[Counter, weakref.WeakSet[_Handle]] = {}
        self._active = False

    def __enter__(self) -> Self:
        if any(isinstance(i, allow_mutation_on_saved_tensors) for i in modes.current().instruments):
            raise GradientError("allow_mutation_on_saved_tensors contexts cannot be nested.")
        self._active = True
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        self._active = False
        self._by_memory.clear()
        super().__exit__(*exception)

    def _keep(self, tensor: Tensor) -> _Handle:
        handle = _Handle(tensor._array, tensor._level)
        # Whatever shares the memory shares the counter.
        self._by_memory.setdefault(counter_of(tensor), weakref.WeakSet()).add(handle)
        return handle

    def _give_back(self, handle: _Handle) -> Tensor:
        if not self._active:
            raise GradientError(
                "trying to run backward outside of the allow_mutation_on_saved_tensors context in which the graph was "
                "recorded; move the backward inside the context."
            )
        return wrap(handle.array, handle.level)

    def mutating(self, target: Tensor, name: str) -> None:
        if target._counter is not None:
            for handle in self._by_memory.pop(target._counter, ()):
                handle.array = handle.array.copy()  # type: ignore[attr-defined]  # ndarrays and Tensors have it
