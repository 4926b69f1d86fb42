"""The names that other packages may build on. None of them goes without a release that announces it.

A name that is neither here nor public elsewhere in `pullback` may change at any time.

    declarations    load: your own operators, declared in YAML (examples/third_party_ops); DeclarationError,
                    NameTakenError
    custom rules    Function, once_differentiable; numpy_rule: a decorator for the rule of a NumPy function on Tensors;
                    scipy_rule: the same for a function of SciPy under adopt() (docs/adopt.md)
    array types     ArrayType, register_array_type, array_type, OperatorTable, NUMPY, MixedTable, Arithmetic, tags_of;
                    read, check, refuse_where: how to look at an array's numbers (docs/design/array_types.md)
    the graph       Node: the class of Tensor.grad_fn and of the nodes in next_functions
    checking        gradcheck, gradgradcheck, GradcheckError; OpInfo and its parts, check_operator, make_tensor,
                    assert_close
    errors          every class of error that pullback raises

Examples
--------
>>> import pullback as pb
>>> from pullback.extend import Function, gradcheck
>>> class Cube(Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x**3
...
...     @staticmethod
...     def backward(ctx, grad):
...         (x,) = ctx.saved_tensors
...         return 3 * x**2 * grad
>>> gradcheck(Cube.apply, (pb.tensor([1.0, 2.0], requires_grad=True),))
True
"""

from pullback.autograd.function import Function, once_differentiable
from pullback.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from pullback.core.array_type import (
    NUMPY,
    ArrayType,
    OperatorTable,
    array_type,
    check,
    read,
    refuse_where,
    register_array_type,
)
from pullback.core.errors import (
    BackwardTwiceError,
    ConvergenceError,
    DetachingError,
    DtypeError,
    GradientError,
    IndependentResultWarning,
    InplaceError,
    NonFiniteError,
    OperatorError,
    ReadError,
    SavedTensorModifiedError,
    UnsupportedError,
)
from pullback.dispatch.mixed import Arithmetic, MixedTable
from pullback.dispatch.operator import tags_of
from pullback.graph.node import Node
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.registry import rule as numpy_rule
from pullback.ops.extension import NameTakenError
from pullback.ops.loading import DeclarationError, load
from pullback.testing import (
    DecorateInfo,
    Limit,
    OpInfo,
    Plain,
    Raises,
    Sample,
    Skip,
    assert_close,
    check_operator,
    make_tensor,
)

__all__ = [
    "NUMPY",
    "Arithmetic",
    "ArrayType",
    "BackwardTwiceError",
    "ConvergenceError",
    "DeclarationError",
    "DecorateInfo",
    "DerivativeNotImplementedError",
    "DetachingError",
    "DtypeError",
    "Function",
    "GradcheckError",
    "GradientError",
    "IndependentResultWarning",
    "InplaceError",
    "Limit",
    "MixedTable",
    "NameTakenError",
    "Node",
    "NonFiniteError",
    "OpInfo",
    "OperatorError",
    "OperatorTable",
    "Plain",
    "Raises",
    "ReadError",
    "Sample",
    "SavedTensorModifiedError",
    "Skip",
    "UnsupportedError",
    "array_type",
    "assert_close",
    "check",
    "check_operator",
    "gradcheck",
    "gradgradcheck",
    "load",
    "make_tensor",
    "numpy_rule",
    "once_differentiable",
    "read",
    "refuse_where",
    "register_array_type",
    "scipy_rule",
    "tags_of",
]
