"""`grad_fn._raw_saved_x`: what a node has saved, without unpacking it, so that hooks can be set for it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.autograd.saved_hooks import saved_tensors_hooks
from pullback.core import modes
from pullback.core.array_type import is_array
from pullback.core.errors import BackwardTwiceError, GradientError
from pullback.core.tensor import Tensor
from pullback.graph.node import Node
from pullback.graph.packed import Packed
from pullback.graph.saved import Released


class SavedTensor:
    """One saved tensor of a node, in its place there: `grad_fn._raw_saved_<name>`.

    Parameters
    ----------
    node : Node
    name : str
    nr : int, optional
        Its place where a list of tensors was saved under that name.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp()
    >>> saved = y.grad_fn._raw_saved_result
    >>> isinstance(saved, pb.autograd.graph.SavedTensor)
    True
    """

    def __init__(self, node: Node | None = None, name: str = "", nr: int | None = None) -> None:
        if node is None:
            raise GradientError(
                "Trying to create a SavedTensor object from Python is forbidden: nodes have them, as "
                "grad_fn._raw_saved_<name>."
            )
        self._node, self._name, self._nr = node, name, nr  # nr: in a list

    def _held(self) -> tuple[Any, Any]:
        saved, version = getattr(self._node, f"saved_{self._name}"), getattr(self._node, f"version_{self._name}")
        return (saved, version) if self._nr is None or version is Released else (saved[self._nr], version[self._nr])

    def _put(self, saved: Any, version: Any) -> None:
        for slot, new in ((f"saved_{self._name}", saved), (f"version_{self._name}", version)):
            if self._nr is not None:
                new = tuple(new if nr == self._nr else old for nr, old in enumerate(getattr(self._node, slot)))
            setattr(self._node, slot, new)

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor] | None = None
    ) -> None:
        """Pack this saved tensor at once by `pack_hook`; backward gets it back by `unpack_hook`.

        The hooks are those of `saved_tensors_hooks`, for one tensor that a node has saved already.

        Parameters
        ----------
        pack_hook, unpack_hook : callable
            As of `saved_tensors_hooks`.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            The tensor has hooks already, was released by a backward, or is not a tensor.
        TypeError
            A hook is not callable.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> y = x.exp()
        >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.to(pb.float32), lambda t: t.to(pb.float64))
        >>> y.sum().backward()
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError(
                "register_hooks(): incompatible function arguments: it takes two functions, pack_hook and unpack_hook."
            )
        hooks = saved_tensors_hooks(pack_hook, unpack_hook)
        saved, version = self._held()
        if version is Released:
            raise BackwardTwiceError(self._node.name())
        if isinstance(version, Packed):
            raise GradientError(
                "Calling register_hooks on a saved tensor whose hooks have already been set: "
                f"{self._node.name()}: {self._name!r} has hooks already, and a saved tensor can have one pair; let "
                "one pair do the work of both."
            )
        if version is None and not is_array(saved):
            raise GradientError(
                f"Calling register_hooks on a saved tensor with value {saved!r} is forbidden: {self._node.name()} "
                f"saved {self._name!r} as {saved!r}; hooks can be set for a saved tensor alone."
            )
        # An output is kept as data, and that of a nested level is a Tensor of the level below.
        level = (
            saved._level + (version is not None and not isinstance(version, int)) if isinstance(saved, Tensor) else 0
        )
        before = modes.set_modes(modes.current().with_recording(False, level))
        try:
            held = hooks.packed(self._node, saved, version, level)
        finally:
            modes.restore(before)
        self._put(*held)


class _OfFunction(SavedTensor):
    """One of those that a custom Function gave to save_for_backward."""

    def _held(self) -> tuple[Any, Any]:
        node: Any = self._node
        return node._saved[self._nr][:2]  # type: ignore[no-any-return]

    def _put(self, saved: Any, version: Any) -> None:
        node: Any = self._node
        node._saved = tuple(
            (saved, version, kept[2]) if nr == self._nr else kept for nr, kept in enumerate(node._saved)
        )


def raw_saved(node: Node, name: str) -> Any:
    """Return what `node` saved under `name`, as a SavedTensor, or a tuple of them for a list of tensors."""
    kept = getattr(node, "_saved", None)
    if kept is not None and name == "tensors":
        if any(version is Released for _, version, _ in kept):
            raise BackwardTwiceError(node.name())
        return tuple(_OfFunction(node, name, nr) for nr in range(len(kept)))
    saved, version = getattr(node, f"saved_{name}"), getattr(node, f"version_{name}", None)
    if isinstance(saved, tuple) and isinstance(version, tuple):
        return tuple(SavedTensor(node, name, nr) for nr in range(len(saved)))
    return SavedTensor(node, name)
