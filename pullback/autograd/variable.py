"""Variable, and other old names of PyTorch's that programs still use; today every Tensor is a Variable."""

from __future__ import annotations

from typing import Any

from pullback.autograd.engine.user_callbacks import queue_callback
from pullback.core.errors import type_name
from pullback.core.tensor import Tensor, set_requires_grad

__all__ = ["Variable"]


class _ExecutionEngine:
    """The part of PyTorch's engine object that programs use."""

    queue_callback = staticmethod(queue_callback)


class _VariableMeta(type):
    _execution_engine = _ExecutionEngine()

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """Kept for old code: calling it gives a Tensor, and every Tensor is an instance.

    Write `data.detach().requires_grad_()` instead.

    Parameters
    ----------
    data : Tensor
    requires_grad : bool, default False

    Returns
    -------
    Tensor
        A leaf that shares the memory of `data`.

    Raises
    ------
    TypeError
        `data` is not a Tensor.

    Examples
    --------
    >>> x = pb.autograd.Variable(pb.ones(2), requires_grad=True)
    >>> isinstance(x, pb.autograd.Variable), type(x) is pb.Tensor
    (True, True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable takes a Tensor, got {type_name(data)}; make a leaf with pullback.tensor(data, "
                "requires_grad=True) instead."
            )
        leaf = data.detach()
        return set_requires_grad(leaf) if requires_grad else leaf
