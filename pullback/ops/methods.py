"""Tensor's methods: the generated ones, Python's operators, indexing, casts and conversions."""

import numpy as np

from pullback.core.arguments import number_type
from pullback.core.dispatch import TENSOR
from pullback.core.errors import GradientError, UnsupportedError
from pullback.core.hooks import (
    register_hook,
    register_node_hook,
    register_post_accumulate_grad_hook,
    register_prehook,
    retain_grad,
)
from pullback.core.node import Node
from pullback.core.tensor import Tensor
from pullback.ops.index import is_basic_index, plain_index
from pullback.ops.tables import METHODS, OPERATORS


def _plain(name):
    """The function of an operator's first overload: operators skip the choice among overloads."""
    return OPERATORS[name][0].function


def _swapped(function):
    def reflected(self, other):
        return function(other, self)

    reflected.__name__ = f"reflected_{function.__name__}"
    return reflected


_COMMUTATIVE = ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


def _operators():
    """Python's operators as methods."""
    binary = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
        "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
        "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    }  # fmt: skip
    methods = {}
    for python, name in binary.items():
        function = _plain(name)
        methods[f"__{python}__"] = function
        methods[f"__r{python}__"] = function if name in _COMMUTATIVE else _swapped(function)
        in_place = OPERATORS[name][0].inplace
        if in_place is not None:
            methods[f"__i{python}__"] = in_place
    for python in ("eq", "ne", "lt", "le", "gt", "ge"):
        methods[f"__{python}__"] = _plain(python)
    for python, name in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}.items():
        methods[f"__{python}__"] = _plain(name)
    return methods


_setitem = OPERATORS["setitem"][0].inplace


slice_view = _plain("slice_view")


def getitem(self, index):
    """self[index]: a view for integers, slices, Ellipsis and None; a copy for integer and boolean arrays."""
    kind = type(index)
    if kind is slice or kind is int:
        return slice_view(self, index)
    index = plain_index(index)
    return TENSOR.slice_view(self, index) if is_basic_index(index) else TENSOR.advanced_index(self, index)


def setitem(self, index, value):
    """self[index] = value, recorded like any in-place operation."""
    _setitem(self, plain_index(index), value)


def iterate(self):
    """The slices along the first dimension."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(TENSOR.unbind(self, 0))


def contains(self, item):
    """Whether any element equals `item`."""
    return bool((self == item).any().item())


def to_bool(self):
    """Whether the only element is nonzero; ambiguous for several."""
    if self._array.size != 1:
        raise GradientError(
            f"Boolean value of Tensor with more than one value is ambiguous (shape {self.shape}); use .any() or .all()."
        )
    return bool(self.item())


def to_index(self):
    """An integer tensor of one element as a Python int."""
    if self._array.dtype.kind not in "iub" or self._array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False):
    """`self` in another dtype (or that of another tensor); gradients come back in the dtype of `self`.

    Parameters
    ----------
    dtype : NumPy dtype
        May be given by position, as may a device or another Tensor.
    copy : bool, default False
        Copy even if nothing changes.
    """
    for arg in args:
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, str) and arg.split(":")[0] in ("cpu", "cuda", "mps"):
            device = arg
        elif isinstance(arg, bool):
            continue
        elif arg is not None:
            dtype = arg
    if device is not None and str(device) != "cpu":
        raise UnsupportedError(f"device {device!r} is not available: this version computes on 'cpu' alone.")
    dtype = self.dtype if dtype is None else number_type("to", dtype)
    if dtype == self.dtype:
        return self.clone() if copy else self
    return TENSOR.to(self, dtype)


def _cast(dtype):
    dtype = np.dtype(dtype)

    def cast(self):
        return to(self, dtype)

    cast.__doc__ = f"`self` as {dtype}."
    return cast


_CASTS = {
    "double": "f8", "float": "f4", "half": "f2", "long": "i8", "int": "i4", "short": "i2", "char": "i1", "byte": "u1",
    "bool": "?", "cdouble": "c16", "cfloat": "c8",
}  # fmt: skip


def astype(self, dtype, copy=True):
    """NumPy's name of `to`; differentiable."""
    return to(self, dtype, copy=copy)


def cpu(self):
    """`self`: everything is on the CPU."""
    return self


def type_as(self, other):
    """`self` in the dtype of `other`."""
    return to(self, other.dtype)


def _property(name, doc):
    return property(lambda self: getattr(TENSOR, name)(self), doc=doc)  # noqa: PLW0108 - looked up when asked for


def attach():
    """Give Tensor its methods."""
    for name, function in METHODS.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, function)
    for name, function in _operators().items():
        setattr(Tensor, name, function)
    for name, code in _CASTS.items():
        setattr(Tensor, name, _cast(code))
    others = {
        "__getitem__": getitem, "__setitem__": setitem, "__iter__": iterate, "__contains__": contains,
        "__bool__": to_bool, "__index__": to_index, "__hash__": object.__hash__, "to": to, "astype": astype,
        "cpu": cpu, "type_as": type_as, "register_hook": register_hook, "retain_grad": retain_grad,
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    }  # fmt: skip
    for name, value in others.items():
        setattr(Tensor, name, value)
    for name, (operator, doc) in _PROPERTIES.items():
        setattr(Tensor, name, _property(operator, doc))
    Node.register_hook = register_node_hook
    Node.register_prehook = register_prehook


_PROPERTIES = {
    "T": ("numpy_T", "The dimensions in reverse order."),
    "mT": ("mT", "The last two dimensions swapped."),
    "mH": ("mH", "The last two dimensions swapped, conjugated."),
    "H": ("matrix_H", "The conjugate transpose of a matrix."),
    "real": ("real", "The real part; a view for a complex tensor."),
    "imag": ("imag", "The imaginary part of a complex tensor, a view."),
}
