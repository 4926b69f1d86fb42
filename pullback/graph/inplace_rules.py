"""Says what may be written into in place, and why the rest may not."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from pullback.core import modes
from pullback.core.array_type import innermost, layout_of, memory_of
from pullback.core.errors import InplaceError, ReadOnlyError, with_article
from pullback.core.named import named
from pullback.core.tensor import Tensor
from pullback.core.types import Shape
from pullback.graph.node import edge_to
from pullback.graph.strides import overlaps_itself
from pullback.graph.view import Origin, base_of
from pullback.graph.view_geometry import ViewGeometry


def check_inplace(target: Tensor, name: str, records: bool) -> None:
    """Raise where the in-place operator `name` cannot be allowed on `target`; `records`: whether it makes a node."""
    extra: Any = target._extra
    state = modes.current()
    refuse_inference(target, name)
    if extra is not None and isinstance(extra.no_view, str):
        _refuse_copy(extra.no_view, name)
    if memory_of(target._array) is None:
        refuse_overlap(target, name)  # what is written in one place could not be shown in the other
    if not state.records(target._level):
        return
    base = base_of(target)
    tracked = records or target._requires_grad or (base is not None and base._requires_grad)
    if not tracked:
        return
    if base is not None and extra.is_alias:
        raise InplaceError(
            f"{name}: a detached alias of an array without memory cannot be written into while its base, of shape "
            f"{base.shape}, is recorded; write into a clone()."
        )
    if base is not None:
        _check_view(target, base, name)
        whole = memory_of(base._array)
        if records and extra.steps is None and whole is not None and whole.base is not None:
            ViewGeometry(whole, target._array)  # raises where the view lies in memory around its base
    if target._requires_grad and target.grad_fn is None:
        raise _leaf(target, name, "a leaf Variable")
    if records:
        refuse_overlap(target, name)


def refuse_inference(target: Tensor, name: str) -> None:
    """Refuse to write outside of inference mode into what was made inside."""
    if target._extra is not None and target._extra.inference and not modes.current().inference:
        raise InplaceError(
            f"{name}: Inplace update to inference tensor outside InferenceMode is not allowed: clone() it first, or "
            "write under inference_mode()."
        )


def refuse_overlap(target: Tensor, name: str) -> None:
    """Refuse to write, with a derivative, into a tensor of which two elements share memory."""
    data = layout_of(target._array)
    if data is not None and not data.flags.forc and overlaps_itself(data):
        raise ReadOnlyError(
            f"{name}: more than one element of the written-to tensor (shape {target.shape}) refers to a single memory "
            "location, so the write has no derivative; write into the tensor that it is a view of, or into a clone()."
        )


def _refuse_copy(operator: str, name: str) -> NoReturn:
    """Refuse what PyTorch would write through to another tensor."""
    raise InplaceError(
        f"{name}: {operator}() computes at once here and gives a copy, so this write would not reach the tensor that "
        "was conjugated, as it does in PyTorch. Write into that tensor (z.mul_(w.conj()) for z.conj().mul_(w)), or "
        "into a copy: z.conj().clone(), z.conjugate()."
    )


def _check_view(target: Tensor, base: Tensor, name: str) -> None:
    extra: Any = target._extra
    if extra.made_by is not None:
        raise InplaceError(f"{name}: {_described(extra.made_by)} {_REMEDIES[extra.made_by.kind]}")
    leaf = base._requires_grad and edge_to(base) is not None and base.grad_fn is None
    if leaf:
        raise _leaf(target, name, "a view of a leaf Variable")
    if target._requires_grad and target._fn is not None and base.grad_fn is None:
        raise InplaceError(
            f"{name}: a view of a leaf Variable that requires grad is being used in an in-place operation: the view "
            "was recorded before detach_() or requires_grad_(False) took its base out of the graph. Write under "
            "pullback.no_grad(), or into a clone()."
        )
    if extra.steps is None and memory_of(target._array) is None:
        raise InplaceError(
            f"{name}: this view of a tensor around {with_article(innermost(target._array))} cannot be written into "
            "while recording, because such an array has no strides and the steps that made the view are unknown; use "
            "the out-of-place form."
        )


def _leaf(target: Tensor, name: str, what: str) -> InplaceError:
    said = f"{name}: {what} that requires grad is being used in an in-place operation. "
    if target._level:  # an argument of func.grad's function: the user has no Tensor, no no_grad() in mind
        return InplaceError(
            f"{said}It is an argument of the function that is being differentiated: write into a copy of it "
            "(x = x.copy() first), or use an expression that writes nowhere (np.where, np.concatenate)."
        )
    return InplaceError(
        f"{said}Do it under pullback.no_grad() to change a parameter; to differentiate, use the out-of-place form, or "
        "write into a copy (t = t.clone())."
    )


def check_use(view: Tensor) -> None:
    """Raise if this view of a base that was written into since cannot be traced back to it."""
    made_by = view._extra.made_by  # type: ignore[union-attr]  # every view has an Extra
    if made_by is not None:
        raise InplaceError(f"{_described(made_by, _BASE_CHANGED.format(view.shape))} {_REMEDIES[made_by.kind]}")


_CHANGED = "and is being modified inplace"
_BASE_CHANGED = "and its base or another view of its base has been modified inplace since (it has shape {})"


def _described(origin: Origin, change: str = _CHANGED) -> str:
    if origin.kind == "function":
        return (
            f"Output 0 of {origin.name} is a view {change}. This view was created inside a custom "
            "Function (or because an input was returned as-is), and a write that is followed through it would bypass "
            "the backward of that Function."
        )
    if origin.kind == "multiple":
        return (
            f"Output 0 of {origin.name} is a view {change}. This view is the output of a function "
            "that returns multiple views."
        )
    where = "under no_grad()" if origin.kind == "no_grad" else "in inference_mode()"
    mode = "no_grad" if origin.kind == "no_grad" else "inference"
    return (
        f"A view was created in {mode} mode {change} with grad mode enabled: this view was made "
        f"{where}, where nothing is recorded, and its base is written into while recording."
    )


_REMEDIES = {
    "function": "Write into a clone() of it, or let its forward return a clone().",
    "multiple": "Make the view by itself (t[i], t.narrow(...)) to write into it, or use the out-of-place form.",
    "no_grad": "Move the view and the write both under no_grad(), or neither.",
    "inference": "Move the view and the write both into inference_mode(), or neither.",
}


# -- other memory ------------------------------------------------------------------------------------------------------
def _refused_memory(self: Tensor, name: str) -> InplaceError:
    resized = "cannot resize variables that require grad: " if self._requires_grad else ""
    return InplaceError(
        f"{name}: {resized}this tensor (shape {self.shape}) cannot take other memory in place: its views, detached "
        "aliases and the arrays of NumPy that share the memory would be left behind. Assign a tensor of the same shape "
        "to .data = ..., or make a new tensor (reshape, narrow, zeros, cat)."
    )


@named("Tensor.resize_", "Tensor self, int[] size")
def resize_(self: Tensor, *size: Any) -> Tensor:
    """Show the first elements of the memory in another shape; more memory than there is, it cannot take.

    Parameters
    ----------
    *size : int
        The shape, or one tuple; of no more elements than there are.

    Returns
    -------
    Tensor
        `self`.

    Raises
    ------
    RuntimeError
        There are not so many elements, or the tensor requires grad.

    Examples
    --------
    >>> pb.ones(2, 3).resize_(2, 2)
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _resized(self, "resize_", tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)


def _resized(self: Tensor, name: str, shape: Shape) -> Tensor:
    if self._requires_grad or math.prod(shape) > self._array.size:
        raise _refused_memory(self, name)
    return self.as_strided_(shape, [math.prod(shape[i + 1 :]) for i in range(len(shape))])


def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    """`resize_`, to the shape of another tensor.

    Parameters
    ----------
    the_template : Tensor

    Returns
    -------
    Tensor
        `self`.

    Examples
    --------
    >>> pb.ones(2, 3).resize_as_(pb.zeros(2)).shape
    (2,)
    """
    if not isinstance(the_template, Tensor):
        raise TypeError(f"resize_as_ takes the shape of another Tensor, got {with_article(the_template)}.")
    return _resized(self, "resize_as_", the_template.shape)


def set_(self: Tensor, source: Tensor) -> Tensor:
    """Take the memory of another tensor, as `self.data = source` does. Views keep the old memory.

    Parameters
    ----------
    source : Tensor

    Returns
    -------
    Tensor
        `self`.

    Raises
    ------
    RuntimeError
        The tensor requires grad, and recording is on.

    Examples
    --------
    >>> x = pb.ones(3)
    >>> x.set_(x[1:]).shape
    (2,)
    """
    if self._requires_grad and modes.current().records(self._level):
        raise _refused_memory(self, "set_")
    self.data = source
    return self


for _method in (resize_, resize_as_, set_):
    setattr(Tensor, _method.__name__, _method)
