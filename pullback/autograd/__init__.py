"""Floor 4: the engine, its entry points and what users build on: custom Functions, gradcheck, the graph."""

from pullback.autograd import function, graph
from pullback.autograd import inplace_nodes as _inplace_nodes  # noqa: F401 - fills slots of the core
from pullback.autograd.api import backward, grad
from pullback.autograd.api import tensor_backward as _tensor_backward
from pullback.autograd.function import Function
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from pullback.core.tensor import Tensor as _Tensor

_Tensor.backward = _tensor_backward  # type: ignore[method-assign]

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "function",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]
