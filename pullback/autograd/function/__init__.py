"""Custom Functions, under the names of torch.autograd.function.

`definition` runs a Function, `node` is its ctx, and `outputs` makes its results Tensors of the graph. The other modules
serve transforms, and find what a backward would get wrong.
"""

from pullback.autograd.function.definition import Function, InplaceFunction, NestedIOFunction
from pullback.autograd.function.differentiable_once import once_differentiable
from pullback.autograd.function.node import FunctionCtx, FunctionNode

__all__ = ["Function", "FunctionCtx", "FunctionNode", "InplaceFunction", "NestedIOFunction", "once_differentiable"]
