"""Scatter and Gather: split a tensor over devices, and join it again; each is the other's backward.

As in PyTorch, a node is named for what its backward does: the pieces that `scatter` gives are outputs of one `Gather`,
the tensor that `gather` gives is the output of a `Scatter`. The devices are those of the array types: 'cpu' today. What
arrives on a device has memory of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.core import modes
from pullback.core.array_type import TENSOR
from pullback.core.devices import device_name
from pullback.core.errors import OperatorError, type_name
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.dispatch.steps import lift
from pullback.graph.node import MultiNode, Node, Unpack, edge_to, start_multi, start_node


class Gather(MultiNode):
    """The node of what `scatter` gave: puts the gradients of the pieces together on the device of the input."""

    __slots__ = ("device", "dim")
    arity = 1
    structural = True
    device: str
    dim: int

    def apply(self, ops: Any, grads: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        grads = self.materialize(grads, ops)
        if any(isinstance(g, Tensor) for g in grads):
            return (gather(grads, self.dim, self.device),)
        return (ops.cat(grads, self.dim),)


class Scatter(Node):
    """The node of what `gather` gave: deals the gradient out to the devices of the inputs."""

    __slots__ = ("devices", "dim", "sizes")
    structural = True
    devices: tuple[str, ...]
    dim: int
    sizes: tuple[int, ...] | None  # None: the inputs were numbers

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        sizes = (1,) * len(self.devices) if self.sizes is None else self.sizes
        if isinstance(grad, Tensor):
            pieces = scatter(grad, self.devices, sizes, self.dim)
        else:
            pieces = ops.split_with_sizes(grad, sizes, self.dim)
        return tuple(ops.reshape(piece, ()) for piece in pieces) if self.sizes is None else tuple(pieces)


def scatter(
    tensor: Tensor, devices: Iterable[str], chunk_sizes: Iterable[int] | None = None, dim: int = 0
) -> tuple[Tensor, ...]:
    """Deal a tensor out over devices, in pieces along a dimension.

    Parameters
    ----------
    tensor : Tensor, shape (..., n, ...)
    devices : sequence of str
        Where each piece goes; 'cpu' may stand there several times.
    chunk_sizes : sequence of int, optional
        The size of each piece along `dim`; they add up to n. By default the pieces are equal but for the last ones, as
        `chunk` makes them, and there may be fewer than devices.
    dim : int, default 0

    Returns
    -------
    tuple of Tensor, each in memory of its own. Their gradients are put together by a `Gather` node.

    Raises
    ------
    UnsupportedError
        A device is not available.
    ValueError
        There are no devices, the sizes do not fit to devices or tensor, or `dim` does not exist. (An IndexError for
        the latter.)

    Examples
    --------
    >>> from pullback.autograd.device_nodes import gather, scatter
    >>> x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> first, second = scatter(x, ["cpu", "cpu"], chunk_sizes=[1, 2])
    >>> gather([first * 10, second]).tolist()
    [10.0, 2.0, 3.0]
    """
    _refuse_other_than_tensor("scatter", "tensor", tensor)
    names = tuple(device_name(d) for d in _sequence("scatter", "devices", devices))
    if not names:
        raise OperatorError("scatter: expected at least one device to scatter to, got none; pass devices=['cpu'].")
    dim = _checked_dim("scatter", dim, tensor.ndim)
    sizes = None if chunk_sizes is None else _checked_sizes(tuple(chunk_sizes), names, tensor, dim)

    def deal() -> list[Tensor]:
        count = len(names)
        parts = TENSOR.chunk(tensor, count, dim) if sizes is None else TENSOR.split_with_sizes(tensor, sizes, dim)
        return [part.clone() for part in parts]

    pieces: tuple[Tensor, ...] = tuple(_unrecorded(deal, tensor._level))
    if tensor._requires_grad and modes.current().records(tensor._level):
        node = start_multi(Gather, pieces, (True,) * len(pieces))
        node._next0, node.device, node.dim = edge_to(tensor), tensor.device, dim
        _tell(node, tensor._level)
    return pieces


def gather(tensors: Iterable[Tensor], dim: int = 0, device: str = "cpu") -> Tensor:
    """Put tensors from several devices together along a dimension, on one device.

    Parameters
    ----------
    tensors : sequence of Tensor
        Of one shape but for `dim`. Numbers (0-d tensors) become the elements of a vector, with a warning.
    dim : int, default 0
    device : str, default 'cpu'

    Returns
    -------
    Tensor in memory of its own. Its gradient is dealt out to the devices of the inputs by a `Scatter` node.

    Raises
    ------
    UnsupportedError
        The device is not available.
    ValueError
        There are no tensors, or their shapes do not fit together.
    RuntimeError
        Tensors of several transforms are mixed.

    Examples
    --------
    >>> from pullback.autograd.device_nodes import gather
    >>> a, b = pb.ones(1, 2, requires_grad=True), pb.ones(2, 2, requires_grad=True)
    >>> together = gather([a, b])
    >>> together.shape, together.grad_fn.name()
    ((3, 2), 'Scatter')
    """
    tensors = _sequence("gather", "tensors", tensors)
    for i, x in enumerate(tensors):
        _refuse_other_than_tensor("gather", f"tensors[{i}]", x)
    if not tensors:
        raise OperatorError("gather: expected at least one tensor to gather from, got none.")
    device_name(device)
    level = max(x._level for x in tensors)
    given = [x if x._level == level else lift(x, level) for x in tensors]
    numbers = all(x.ndim == 0 for x in given) and dim in (0, -1)
    if numbers:
        warnings.warn(
            "gather was asked to put numbers (0-d tensors) together along dimension 0; it makes a vector of them.",
            stacklevel=2,
        )
    dim = _checked_dim("gather", dim, 1 if numbers else given[0].ndim)
    _check_shapes(given, dim)
    join = TENSOR.stack if numbers else TENSOR.cat
    out: Tensor = _unrecorded(lambda: join(given, dim), level)
    if any(x._requires_grad for x in given) and modes.current().records(level):
        node = start_node(Scatter, out)
        node._nexts = tuple(edge_to(x) for x in given)
        node.devices, node.dim = tuple(x.device for x in given), dim
        node.sizes = None if numbers else tuple(x.shape[dim] for x in given)
        _tell(node, level)
    return out


def _unrecorded(run: Callable[[], Any], level: int) -> Any:
    """Call `run()` without recording at `level`; lower levels record."""
    before = modes.current()
    try:
        modes.set_modes(before.with_recording(False, level))
        return run()
    finally:
        modes.restore(before)


def _tell(node: Node, level: int) -> None:
    for observer in modes.current().observers:
        observer.recorded(node, level)


def _refuse_other_than_tensor(function: str, name: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{function}: {name} must be a Tensor, got {type_name(x)}.")


def _sequence(function: str, name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, (str, Tensor)) or not isinstance(given, Iterable):
        raise TypeError(f"{function}: {name} must be a sequence, got {type(given).__name__}; write [{name}] for one.")
    return tuple(given)


def _checked_dim(function: str, dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise IndexError(f"{function}: dim {dim} is out of range for a tensor of {ndim} dimensions.")
    return dim % ndim


def _checked_sizes(sizes: tuple[int, ...], devices: tuple[str, ...], tensor: Tensor, dim: int) -> tuple[int, ...]:
    if len(sizes) != len(devices):
        raise OperatorError(
            f"scatter: expected devices and chunk_sizes to be of the same length, got {len(devices)} devices and "
            f"{len(sizes)} chunk_sizes."
        )
    if any(n < 0 for n in sizes) or sum(sizes) != tensor.shape[dim]:
        raise OperatorError(
            f"scatter: expected chunk_sizes that add up to {tensor.shape[dim]}, the size of dimension {dim} of a "
            f"tensor of shape {tensor.shape}; got {list(sizes)}."
        )
    return sizes


def _check_shapes(tensors: list[Tensor], dim: int) -> None:
    first = tensors[0].shape
    for i, x in enumerate(tensors):
        if len(x.shape) != len(first) or x.shape[:dim] + x.shape[dim + 1 :] != first[:dim] + first[dim + 1 :]:
            raise OperatorError(
                f"gather: tensors[{i}] has shape {x.shape}, but tensors[0] has {first}: they may differ in dimension "
                f"{dim} alone."
            )


__all__ = ["Gather", "Scatter", "gather", "scatter"]
