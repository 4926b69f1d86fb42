"""Operators without a derivative: their nodes raise when a backward or a tangent reaches them, not in the forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from pullback.core.errors import Explained, Portable
from pullback.core.tensor import Tensor
from pullback.core.types import DType, Gradient, Shape
from pullback.graph.node import Edge, MultiNode, Node, Unpack, edge_to, start_multi, start_node


class DerivativeNotImplementedError(Portable, Explained, NotImplementedError):
    """Nobody has derived this yet. A NotImplementedError, which is a RuntimeError, as PyTorch's is."""

    def __init__(self, operator: str, argument: str = "") -> None:
        self.operator = operator
        of = f" with respect to {argument!r}" if argument else ""
        give = f"If no gradient in {argument!r} is wanted, detach() it. Else give" if argument else "Give"
        super().__init__(
            f"the derivative for {operator!r}{of} is not implemented. {give} the computation a derivative of its own: "
            "pullback.custom_vjp, or a pullback.autograd.Function. (An operator of yours has it in its declaration.)"
        )


class Error(Node):
    """Raises when a gradient reaches it, an undefined one too.

    Parameters
    ----------
    message : str
    edges : iterable of Edge or None, optional
    further : iterable of Edge or None, optional
        Edges on which it raises too, and which `next_functions` leaves out.

    Examples
    --------
    >>> pb.autograd.basic_nodes.Error("not this way").name()
    'Error'
    """

    __slots__ = ("message", "shown")
    takes_undefined = True

    def __init__(self, message: str, edges: Iterable[Edge | None] = (), further: Iterable[Edge | None] = ()) -> None:
        edges = tuple(edges)
        super().__init__((*edges, *further))
        self.message, self.shown = message, len(edges)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Tuple of (node, output number) for each of `edges`."""
        return super().next_functions[: getattr(self, "shown", None)]  # a NotImplemented has all in one

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        raise RuntimeError(self.message)


class NotImplemented(Error):  # noqa: N818 - a node, by the name that it has in PyTorch
    """Stands in the graph for an operator without derivative: an `Error` that names the operator.

    Parameters
    ----------
    edges : iterable of Edge or None, optional
    shape : tuple of int, optional
    dtype : dtype, optional
    """

    __slots__ = ("operator",)
    operator: str

    def __init__(
        self, edges: Iterable[Edge | None] = (), shape: Shape | None = None, dtype: DType | None = None
    ) -> None:
        Node.__init__(self, edges, shape, dtype)

    @property
    def message(self) -> str:  # type: ignore[override]  # read alone
        """The text of the error that it raises."""
        return str(DerivativeNotImplementedError(self.operator))

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> NoReturn:
        raise DerivativeNotImplementedError(self.operator)


class NotImplementedMulti(MultiNode):
    """The node of an operator without derivative that has several outputs."""

    __slots__ = ("operator",)
    operator: str
    takes_undefined = True

    def name(self) -> str:
        return "NotImplemented"

    def apply(self, ops: Any, grads: Gradient, unpack: Unpack) -> NoReturn:
        raise DerivativeNotImplementedError(self.operator)


def not_implemented(operator: str, owner: Any = None) -> Callable[..., None]:
    """The record function of an operator without derivative, or whose `owner` has been given one since (`derived`)."""

    def record(out: Tensor | Sequence[Tensor], *args: Any) -> None:
        if owner is not None and owner.derived is not None:
            owner.derived(out, *args)
            return
        if isinstance(out, Tensor):
            if out.dtype.kind not in "fc":
                return
            node: NotImplemented | NotImplementedMulti = start_node(NotImplemented, out)
        else:
            node = start_multi(NotImplementedMulti, out, tuple(o.dtype.kind in "fc" for o in out))
        node.operator = operator
        flat = [y for x in args for y in (x if isinstance(x, (list, tuple)) else (x,))]
        node._nexts = tuple(edge_to(x) for x in flat)

    return record


def derivative_not_implemented(node: Node, operator: str, argument: str) -> DerivativeNotImplementedError:
    """The error of a node one of whose formulas is `not_implemented`."""
    return DerivativeNotImplementedError(operator, argument)


def no_tangent(operator: str, output: str) -> NoReturn:
    """Raise for an output without tangent formula."""
    raise NotImplementedError(
        f"the tangent of {operator!r} (output {output!r}) is not implemented. Give the computation a tangent of its "
        "own: pullback.custom_jvp. (An operator of yours has it as the `result:` formula of its declaration.)"
    )


def tangent_or_zeros(tangent: Any, primal: Any, ops: Any) -> Any:
    """The tangent, or zeros for an undefined one; None for that of an argument that was not given."""
    if tangent is not None or primal is None:
        return tangent
    return ops.zeros_like(primal if hasattr(primal, "dtype") else np.asarray(primal))


def tangents_or_zeros(tangents: Sequence[Any], primals: Sequence[Any], ops: Any) -> list[Any]:
    """The tangents of a list, with zeros for the undefined ones."""
    for tangent in tangents:
        if tangent is None:
            break
    else:
        return list(tangents)
    return [tangent_or_zeros(t, p, ops) for t, p in zip(tangents, primals, strict=True)]


def sum_of_terms(*terms: Any) -> Any:
    """The sum of the terms that are there; None if none is."""
    found = [term for term in terms if term is not None]
    return sum(found[1:], found[0]) if found else None
