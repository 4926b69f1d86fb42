"""Collectives as differentiable functions. What is differentiated is the sum over ranks.

Each is a linear map of the arrays of all ranks together, so its backward is the transposed map, which is one of them
again, and its tangent is the map itself. They need a communicator with the lower-case methods of mpi4py's: `allreduce`,
`reduce`, `allgather`, `bcast`, `alltoall`, `sendrecv`, and `Get_rank` and `Get_size`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pullback.autograd.function import Function
from pullback.core.errors import OperatorError
from pullback.core.named import named
from pullback.core.tensor import Tensor, ndarray
from pullback.distributed.collectives_order import check


@dataclass(frozen=True)
class _Call:
    """A collective with what it needs beside its array."""

    name: str
    comm: Any
    check_order: bool
    number: int = 0  # the root, or how many ranks further
    wrap: bool = True
    batch: int = 0  # how many of the first dimensions belong to batches
    way: str = ""  # of what it is the backward
    differentiated: bool = False

    def transposed(self) -> _Call:
        """The adjoint of this map of the arrays of all ranks."""
        number = -self.number if self.name == "shift" else self.number
        return replace(self, name=_TRANSPOSED[self.name], number=number, way="" if self.way else self.name)

    def run(self, x: ndarray) -> Any:
        """The result on this rank."""
        if self.check_order:
            shown = f"backward of {self.way}" if self.way else self.name
            shown += f" {self.number}" * (self.name in ("bcast", "reduce", "shift"))
            check(self.comm, f"{shown}, {x.dtype} {x.shape}{', requires grad' * self.differentiated}")
        found = _RUN[self.name](self, x)
        return found.copy() if found is x else np.asarray(found)  # what a communicator of one rank may give back

    def parts(self, x: ndarray) -> list[ndarray]:
        """The parts of an array that has one for each rank, in the first dimension of a sample."""
        size, shape = self.comm.Get_size(), x.shape[self.batch :]
        if not shape or shape[0] != size:
            raise OperatorError(
                f"{self.name}: the first dimension must have one entry for each of the {size} ranks, got an array of "
                f"shape {shape}."
            )
        return [part.copy() for part in np.moveaxis(x, self.batch, 0)]


def _allreduce(call: _Call, x: ndarray) -> Any:
    return call.comm.allreduce(x)


def _allgather(call: _Call, x: ndarray) -> Any:
    return np.stack(_alike(call, x, call.comm.allgather(x)), call.batch)


def _bcast(call: _Call, x: ndarray) -> Any:
    here = call.comm.Get_rank() == call.number
    (found,) = _alike(call, x, [call.comm.bcast(x if here else None, call.number)])
    return found


def _reduce(call: _Call, x: ndarray) -> Any:
    total = call.comm.reduce(x, root=call.number)
    return np.zeros_like(x) if total is None else total


def _reduce_scatter(call: _Call, x: ndarray) -> Any:
    found = call.comm.alltoall(call.parts(x))
    return sum(found[1:], found[0])


def _alltoall(call: _Call, x: ndarray) -> Any:
    return np.stack(call.comm.alltoall(call.parts(x)), call.batch)


def _shift(call: _Call, x: ndarray) -> Any:
    rank, size = call.comm.Get_rank(), call.comm.Get_size()
    to, source = rank + call.number, rank - call.number
    sent = x if call.wrap or 0 <= to < size else None
    found = call.comm.sendrecv(sent, dest=to % size, source=source % size)
    return np.zeros_like(x) if found is None else _alike(call, x, [found])[0]


_RUN: dict[str, Callable[[_Call, ndarray], Any]] = {
    "allreduce": _allreduce, "allgather": _allgather, "bcast": _bcast, "reduce": _reduce,
    "reduce_scatter": _reduce_scatter, "alltoall": _alltoall, "shift": _shift,
}  # fmt: skip
_TRANSPOSED = {
    "allreduce": "allreduce", "allgather": "reduce_scatter", "reduce_scatter": "allgather", "bcast": "reduce",
    "reduce": "bcast", "alltoall": "alltoall", "shift": "shift",
}  # fmt: skip


def _alike(call: _Call, x: ndarray, found: list[ndarray]) -> list[ndarray]:
    """The arrays of other ranks, which must be as the one of this rank."""
    for other in found:
        if other.shape != x.shape or other.dtype != x.dtype:
            raise OperatorError(
                f"{call.name}: arrays must have one shape and dtype on all ranks; that of rank {call.comm.Get_rank()} "
                f"has shape {x.shape} and dtype {x.dtype}, another one {other.shape} and {other.dtype}."
            )
    return found


class _Collective(Function):
    """One collective: a subclass for each gives its nodes their name."""

    @staticmethod
    def forward(x: Any, call: _Call) -> Any:
        return call.run(x.numpy() if isinstance(x, Tensor) else np.asarray(x))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.call = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _applied(ctx.call.transposed(), grad), None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
        return _applied(ctx.call, tangent)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Any, call: _Call) -> Any:
        return _applied(replace(call, batch=call.batch + 1), x), 0


_NODES: dict[str, type[_Collective]] = {
    name: type(node, (_Collective,), {"__module__": __name__})
    for name, node in {
        "allreduce": "AllReduce", "allgather": "AllGather", "bcast": "Broadcast", "reduce": "Reduce",
        "reduce_scatter": "ReduceScatter", "alltoall": "AllToAll", "shift": "Shift",
    }.items()
}  # fmt: skip


def _applied(call: _Call, x: Any) -> Any:
    return _NODES[call.name].apply(x, replace(call, differentiated=isinstance(x, Tensor) and x.requires_grad))


def _called(name: str, x: Any, comm: Any, check_order: bool, number: int = 0, wrap: bool = True) -> Any:
    """Call a collective as a user does."""
    missing = [method for method in _METHODS if not callable(getattr(comm, method, None))]
    if missing:
        raise TypeError(
            f"{name}: comm must be a communicator such as mpi4py's MPI.COMM_WORLD, or that of on_threads; "
            f"{type(comm).__name__} has no method {missing[0]}."
        )
    if name == "bcast" and not 0 <= number < comm.Get_size():
        raise ValueError(f"bcast: root must be one of the ranks 0 to {comm.Get_size() - 1}, got {number}.")
    if not isinstance(x, Tensor):
        x = np.asarray(x)
    return _applied(_Call(name, comm, check_order, number, wrap), x)


_METHODS = ("Get_rank", "Get_size", "allreduce", "reduce", "allgather", "bcast", "alltoall", "sendrecv")


@named("distributed.allreduce")
def allreduce(x: Any, comm: Any, *, check_order: bool = False) -> Any:
    """The sum of x over ranks, on every rank. What is differentiated is the sum over ranks of all losses.

    Parameters
    ----------
    x : Tensor or array
        Of one shape and dtype on all ranks.
    comm : communicator
        Of mpi4py, that of `on_threads`, or another object with these methods.
    check_order : bool, default False
        Make sure before each exchange, forward and backward, that all ranks are at the same collective with arrays of
        one shape. Ranks that are not, and that have not come after 10 s, are an error instead of a hang.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    RuntimeError
        With `check_order`: the ranks call different collectives, or some do not come.
    TypeError
        `comm` lacks a method.

    Notes
    -----
    Rank r computes a loss L_r and calls backward on it. What arrives at its x is the derivative of L_0 + L_1 + ... by
    its x: backward sums the cotangents of all ranks. Where every rank computes the same loss from what it has received,
    divide the loss by the number of ranks, or let one of them alone have it (times 0 on the others).

    Every rank must call the same collectives in the same order, and backward does so in reverse: with equal programs it
    does by itself. So all or none of the x require grad, and each loss depends on every result.

    Examples
    --------
    >>> def f(comm):
    ...     x = pb.tensor([1.0, 2.0], requires_grad=True)
    ...     y = pb.distributed.allreduce(x, comm)
    ...     (y * (1 + comm.Get_rank())).sum().backward()
    ...     return y.tolist(), x.grad.tolist()
    >>> pb.distributed.on_threads(f, 2)
    [([2.0, 4.0], [3.0, 3.0]), ([2.0, 4.0], [3.0, 3.0])]
    """
    return _called("allreduce", x, comm, check_order)


@named("distributed.allgather")
def allgather(x: Any, comm: Any, *, check_order: bool = False) -> Any:
    """The x of all ranks, stacked, on every rank. What is differentiated is the sum over ranks of all losses.

    Parameters
    ----------
    x : Tensor or array, shape (...)
        Of one shape and dtype on all ranks.
    comm, check_order
        As for `allreduce`, where there are notes for all collectives.

    Returns
    -------
    Tensor, shape (ranks, ...)

    Raises
    ------
    RuntimeError, TypeError
        As for `allreduce`; the shapes or dtypes of the ranks differ.

    Notes
    -----
    Backward is `reduce_scatter`: the cotangents for x that all ranks have, added.

    Examples
    --------
    >>> pb.distributed.on_threads(lambda comm: pb.distributed.allgather(1.0 * comm.Get_rank(), comm).tolist(), 2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    return _called("allgather", x, comm, check_order)


@named("distributed.bcast")
def bcast(x: Any, comm: Any, root: int = 0, *, check_order: bool = False) -> Any:
    """The x of rank `root`, on every rank. What is differentiated is the sum over ranks of all losses.

    Parameters
    ----------
    x : Tensor or array
        Of one shape and dtype on all ranks, and all or none require grad; the numbers of the root alone count.
    comm : communicator
    root : int, default 0
    check_order : bool, default False
        As for `allreduce`, where there are notes for all collectives.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ValueError
        There is no such rank.
    RuntimeError, TypeError
        As for `allreduce`; the x of the root has another shape or dtype.

    Notes
    -----
    Backward sums the cotangents of all ranks at the root, and is 0 elsewhere.

    Examples
    --------
    >>> pb.distributed.on_threads(lambda comm: pb.distributed.bcast(1.0 + comm.Get_rank(), comm, 1).item(), 2)
    [2.0, 2.0]
    """
    return _called("bcast", x, comm, check_order, root)


@named("distributed.reduce_scatter")
def reduce_scatter(x: Any, comm: Any, *, check_order: bool = False) -> Any:
    """The sum over ranks of x[r], on rank r. What is differentiated is the sum over ranks of all losses.

    Parameters
    ----------
    x : Tensor or array, shape (ranks, ...)
        Of one shape and dtype on all ranks.
    comm, check_order
        As for `allreduce`, where there are notes for all collectives.

    Returns
    -------
    Tensor, shape (...)

    Raises
    ------
    RuntimeError, ValueError, TypeError
        As for `allreduce`; the first dimension of x has not one entry for each rank.

    Notes
    -----
    Backward is `allgather`.

    Examples
    --------
    >>> pb.distributed.on_threads(lambda comm: pb.distributed.reduce_scatter([1.0, 10.0], comm).item(), 2)
    [2.0, 20.0]
    """
    return _called("reduce_scatter", x, comm, check_order)


@named("distributed.alltoall")
def alltoall(x: Any, comm: Any, *, check_order: bool = False) -> Any:
    """x[r] of every rank, stacked, on rank r. What is differentiated is the sum over ranks of all losses.

    Parameters
    ----------
    x : Tensor or array, shape (ranks, ...)
        Of one shape and dtype on all ranks.
    comm, check_order
        As for `allreduce`, where there are notes for all collectives.

    Returns
    -------
    Tensor, shape (ranks, ...)
        Entry s is what rank s had for this one.

    Raises
    ------
    RuntimeError, ValueError, TypeError
        As for `allreduce`; the first dimension of x has not one entry for each rank.

    Notes
    -----
    Backward is `alltoall`: each cotangent goes back where its entry came from.

    Examples
    --------
    >>> def f(comm):
    ...     rank = comm.Get_rank()
    ...     return pb.distributed.alltoall([10.0 * rank, 10.0 * rank + 1], comm).tolist()
    >>> pb.distributed.on_threads(f, 2)
    [[0.0, 10.0], [1.0, 11.0]]
    """
    return _called("alltoall", x, comm, check_order)


@named("distributed.shift")
def shift(x: Any, comm: Any, step: int = 1, *, wrap: bool = True, check_order: bool = False) -> Any:
    """The x of the rank that is `step` before this one. What is differentiated is the sum over ranks of all losses.

    Each rank sends its x to the rank `step` further: halo exchanges are made of this.

    Parameters
    ----------
    x : Tensor or array
        Of one shape and dtype on all ranks.
    comm : communicator
    step : int, default 1
        May be negative.
    wrap : bool, default True
        Whether the last rank comes before the first. Otherwise zeros come where there is no rank.
    check_order : bool, default False
        As for `allreduce`, where there are notes for all collectives.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    RuntimeError, TypeError
        As for `allreduce`; the x that comes has another shape or dtype.

    Notes
    -----
    Backward is a shift by `-step`.

    Examples
    --------
    >>> pb.distributed.on_threads(lambda comm: pb.distributed.shift(1.0 + comm.Get_rank(), comm).item(), 3)
    [3.0, 1.0, 2.0]
    >>> pb.distributed.on_threads(lambda comm: pb.distributed.shift(1.0, comm, -1, wrap=False).item(), 3)
    [1.0, 1.0, 0.0]
    """
    return _called("shift", x, comm, check_order, step, wrap)
