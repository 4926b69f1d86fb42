"""Tensor's methods: the generated ones, Python's operators, indexing, casts and conversions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from pullback.core import inspection
from pullback.core.arguments import a_flag, number_type
from pullback.core.array_type import TENSOR
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.devices import device_name, names_device
from pullback.core.errors import GradientError
from pullback.core.late import LateAttribute, from_module
from pullback.core.named import named
from pullback.core.overrides import ENTERED
from pullback.core.tensor import NestedTensor, Tensor, ndarray, only_number
from pullback.core.types import DType
from pullback.dispatch.call_errors import explained
from pullback.dispatch.nested_calls import on_nested
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch, inplace
from pullback.dispatch.right_operand import answers
from pullback.graph.node import Node
from pullback.graph.tensor_hooks import (
    register_hook,
    register_node_hook,
    register_post_accumulate_grad_hook,
    register_prehook,
    retain_grad,
)
from pullback.ops.declarations import runner
from pullback.ops.generated import calls
from pullback.ops.late import method, method_names
from pullback.ops.tables import OPERATORS


def _plain(name: str) -> Callable[..., Any]:
    """The function of an operator's first overload: operators skip the choice among overloads."""
    function: Callable[..., Any] = OPERATORS[name][0].function
    return function


def _binary(name: str) -> Callable[..., Any]:
    """The same function, but that it leaves to its class what no array is.

    So SciPy's sparse matrices say what `t @ A` is, and None and texts are not equal to a tensor. The common case runs
    the same code.
    """
    op = OPERATORS[name][0].operator
    if op is None or op.factory is None or op.factory.__module__ != calls.__name__:
        return _plain(name)
    factory = FunctionType(op.factory.__code__, {**vars(calls), "dispatch": _in_order})
    call = runner(factory(op, op.kernel_on_ndarrays), op.shown)
    call.__doc__ = _plain(name).__doc__
    return call


def _in_order(op: Operator, args: Sequence[Any]) -> object:
    try:
        return dispatch(op, args)
    except TypeError:
        return _theirs(op.name, args)


def _in_place_in_order(op: Operator, args: Sequence[Any]) -> object:
    try:
        return inplace(op, args)
    except TypeError:
        return _theirs(op.name, args)


def _theirs(name: str, args: Sequence[Any]) -> object:
    """NotImplemented, where the class of an operand is to answer; else the error that is being handled."""
    if any(answers(x, name) for x in args):
        return NotImplemented
    raise  # noqa: PLE0704 - in a handler, whose error is this


def _in_place(name: str) -> Callable[..., Any]:
    """The same of an operator that writes into its first operand."""
    write = OPERATORS[name][0].inplace
    if "inplace" not in write.__code__.co_names:  # it chooses among overloads first
        return _with_theirs(write, name)
    names = {**write.__globals__, "inplace": _in_place_in_order}
    call = FunctionType(write.__code__, names, write.__name__, write.__defaults__, write.__closure__)
    call.__kwdefaults__ = write.__kwdefaults__
    return update_wrapper(call, write)


def _with_theirs(write: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(self: Tensor, other: object) -> object:
        try:
            return write(self, other)
        except TypeError:
            return _theirs(name, (other,))

    return update_wrapper(call, write)


def _swapped(operator: str, name: str) -> Callable[..., Any]:
    function = _binary(operator)

    def reflected(self: Tensor, other: object) -> object:
        return function(other, self)

    reflected.__name__, reflected.__qualname__ = name, f"Tensor.{name}"
    return reflected


def _failed(op: Operator, args: Sequence[Any]) -> object:
    if isinstance(sys.exception(), TypeError):
        return _theirs(op.name, args)
    raise  # noqa: PLE0704 - in a handler, whose error is this


def _nested(python: str, name: str, swapped: bool = False) -> Callable[..., Any]:
    """The same for a nested Tensor. What it is swapped with is no Tensor, or of a class that it is derived from."""
    op, general = OPERATORS[name][0].operator, getattr(Tensor, python)
    if op is None:
        return general  # type: ignore[no-any-return]
    call = on_nested(op, general, _failed, swapped)
    call.__name__, call.__qualname__, call.__doc__ = python, f"Tensor.{python}", general.__doc__
    return call


_COMMUTATIVE = ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


def _attach_operators() -> None:
    """Give Tensor Python's operators, each made when it is first used."""
    binary = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
        "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
        "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    }  # fmt: skip
    for python, name in binary.items():
        LateAttribute(Tensor, f"__{python}__", _binary, name)
        if name in _COMMUTATIVE:
            LateAttribute(Tensor, f"__r{python}__", _binary, name)
        else:
            LateAttribute(Tensor, f"__r{python}__", _swapped, name, f"__r{python}__")
        LateAttribute(NestedTensor, f"__{python}__", _nested, f"__{python}__", name)
        LateAttribute(NestedTensor, f"__r{python}__", _nested, f"__r{python}__", name, name not in _COMMUTATIVE)
        if name != "matmul":  # a product of matrices cannot be written into one of them
            LateAttribute(Tensor, f"__i{python}__", _in_place, name)
    for python in ("lt", "le", "gt", "ge", "eq", "ne"):
        LateAttribute(Tensor, f"__{python}__", _binary, python)
    for python, name in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}.items():
        LateAttribute(Tensor, f"__{python}__", _plain, name)
        LateAttribute(NestedTensor, f"__{python}__", _nested, f"__{python}__", name)


@named("Tensor.__divmod__")
def _divmod(self: Tensor, other: Any) -> Any:
    """divmod(self, other): both results, as for ndarrays."""
    return NotImplemented if answers(other, "divmod") else (self // other, self % other)


@named("Tensor.__rdivmod__")
def _rdivmod(self: Tensor, other: Any) -> tuple[Any, Any]:
    """divmod(other, self)."""
    return other // self, other % self


@named("Tensor.__round__")
def _round(self: Tensor, ndigits: object = None) -> None:
    """round(self): of a number Python's round makes an int, which has no gradient."""
    given = "" if ndigits is None else f", decimals={ndigits}"
    raise TypeError(f"round() takes no Tensor; write pullback.round(x{given}), whose slope is zero.")


def iterate(self: Tensor) -> Iterator[Tensor]:
    """The slices along the first dimension."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(TENSOR.unbind(self, 0))


@named("Tensor.__contains__", "Tensor self, any item")
def contains(self: Tensor, item: object) -> bool:
    """True if any element equals `item`."""
    return bool(Tensor.item(TENSOR.any(TENSOR.eq(self, item))))


def to_bool(self: Tensor) -> bool:
    """True if the only element is nonzero; ambiguous for several."""
    if self._array.size != 1:
        raise GradientError(
            f"Boolean value of Tensor with {'more than one value' if self.numel() else 'no values'} is ambiguous "
            "(shape "
            f"{self.shape}); use .any() or .all()."
        )
    if type(self._array) is ndarray:
        return bool(Tensor.item(self))
    return bool(only_number(self, "bool() (if, while, and, or, not, max(), sorted())"))


def to_index(self: Tensor) -> int:
    """A 0-d integer tensor as a Python int; no other, because NumPy asks for an index before it looks for a mask."""
    if self._array.dtype.kind not in "iu" or self._array.ndim:
        raise TypeError(
            "only integer tensors of a single element and no dimension can be converted to an index, not one of shape "
            f"{self.shape} and dtype {self.dtype}; write int(t)."
        )
    return int(only_number(self, "a place or a count (list[n], range(n))"))


def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: str | None = None,
) -> Tensor:
    """`self` in another dtype, on a device, or as another tensor is; itself if nothing changes.

    Called as `to(dtype, ...)`, `to(device, dtype, ...)` or `to(other, ...)`, where `...` are non_blocking and copy.
    The gradient comes back in the dtype of `self`. A cast to whole numbers or bools ends the graph.

    Parameters
    ----------
    dtype : NumPy dtype, or what numpy.dtype takes
    device : str
        'cpu': there is no other yet.
    non_blocking : bool, default False
        For PyTorch's sake: a copy within memory is done when the call returns.
    copy : bool, default False
        Copy even if nothing changes.
    memory_format : pullback.preserve_format (default) or pullback.contiguous_format
        The order of memory of the copy, if there is one.

    Returns
    -------
    Tensor, of the shape of `self`, recorded as ToCopyBackward0 unless it is `self`.

    Raises
    ------
    UnsupportedError
        The device is not available.
    TypeError
        The argument is not a dtype, or not one of numbers.

    Warns
    -----
    ComplexToRealWarning
        The imaginary part of a complex tensor is dropped.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], dtype=pb.float32, requires_grad=True)
    >>> x.to(pb.float64).sum().backward()
    >>> x.grad
    tensor([1., 1.], dtype=float32)
    """
    given = [arg for arg in args if arg is not None]
    if given and isinstance(given[0], Tensor):
        other = given.pop(0)
        dtype, device = other.dtype, other.device
    else:
        if given and names_device(given[0]):
            device = given.pop(0)
        if given and not isinstance(given[0], bool):
            dtype = given.pop(0)
    _only_flags(given)
    flag: Any = given[1] if len(given) == 2 else copy
    if flag is not False and flag is not True:
        flag = a_flag("to", "copy", flag)
    if device is not None:
        device_name(device, "to")
    dtype = self.dtype if dtype is None else number_type("to", dtype)
    return _in_dtype(self, dtype, flag, memory_format)


def _in_dtype(self: Tensor, dtype: DType, copy: bool = False, memory_format: str | None = None) -> Tensor:
    """`self` in a NumPy dtype of numbers."""
    if not copy and dtype == self.dtype:
        return self
    if WATCHED and dtype.kind not in "fc":
        note_operator(f"the cast to {dtype}", self)
    copied: Tensor = TENSOR._to_copy(self, dtype, memory_format=memory_format)
    return copied


def _only_flags(given: Sequence[object]) -> None:
    """Refuse what `to` cannot make sense of."""
    if len(given) > 2 or not all(isinstance(flag, bool) for flag in given):
        names = ", ".join(type(arg).__name__ for arg in given)
        raise TypeError(
            f"to() takes a dtype, a device or a Tensor, then non_blocking and copy (True or False); what is left over "
            f"here: {names}."
        )


_CAST_DOC = """`self` as {dtype}; itself if it is that already.

Parameters
----------
memory_format : optional
    As of `to`.

Returns
-------
Tensor

Examples
--------
>>> pb.tensor([2, 0]).{name}().dtype
dtype('{dtype}')
"""


def _cast(name: str, code: str) -> Callable[..., Any]:
    dtype = np.dtype(code)

    def cast(self: Tensor, memory_format: str | None = None) -> Tensor:
        try:
            return _in_dtype(self, dtype, memory_format=memory_format)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            signature = "Tensor self, str? memory_format=None"
            raise explained(f"Tensor.{name}", signature, (self, memory_format), error)  # noqa: B904

    cast.__name__, cast.__qualname__ = name, f"Tensor.{name}"
    cast.__doc__ = _CAST_DOC.format(name=name, dtype=dtype)
    return cast


_CASTS = {
    "double": "f8", "float": "f4", "half": "f2", "long": "i8", "int": "i4", "short": "i2", "char": "i1", "byte": "u1",
    "bool": "?", "cdouble": "c16", "cfloat": "c8",
}  # fmt: skip


@named("Tensor.where", "Tensor self, Tensor condition, Tensor other")
def where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """`self` where condition holds, `other` elsewhere: `pullback.where(condition, self, other)`.

    Parameters
    ----------
    condition : Tensor or ndarray of bool
    other : Tensor, ndarray or number

    Returns
    -------
    Tensor
        Of the shape to which the three broadcast.

    Examples
    --------
    >>> x = pb.tensor([-1.0, 2.0])
    >>> x.where(x > 0, 0.0)
    tensor([0., 2.])
    """
    chosen: Tensor = TENSOR.where(condition, self, other)
    return chosen


@named("Tensor.astype", "Tensor self, ScalarType dtype, bool copy=True")
def astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """NumPy's name of `to`; differentiable.

    Parameters
    ----------
    dtype : dtype
    copy : bool, default True
        False gives `self` if nothing changes.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> pb.tensor([1.0, 2.0], requires_grad=True).astype(np.float32)
    tensor([1., 2.], dtype=float32, grad_fn=<ToCopyBackward0>)
    """
    return to(self, dtype, copy=copy)


@named("Tensor.cpu", "Tensor self, str? memory_format=None")
def cpu(self: Tensor, memory_format: str | None = None) -> Tensor:
    """`self`: everything is on the CPU.

    Parameters
    ----------
    memory_format : optional
        As of `to`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> x = pb.ones(2)
    >>> x.cpu() is x
    True
    """
    return to(self, memory_format=memory_format)


@named("Tensor.cuda")
def cuda(self: Tensor, device: object = None, non_blocking: bool = False, memory_format: str | None = None) -> Tensor:
    """Refused: there is no such device yet.

    Parameters
    ----------
    device : int, optional
    non_blocking : bool, default False
    memory_format : optional

    Returns
    -------
    Never.

    Raises
    ------
    UnsupportedError
        Always.

    Examples
    --------
    >>> try:
    ...     pb.ones(2).cuda()
    ... except RuntimeError as error:
    ...     print("refused")
    refused
    """
    return to(self, "cuda" if device is None else f"cuda:{device}")


@named("Tensor.type_as", "Tensor self, Tensor other")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """`self` in the dtype of `other`.

    Parameters
    ----------
    other : Tensor

    Returns
    -------
    Tensor

    Examples
    --------
    >>> pb.tensor([1, 2]).type_as(pb.tensor([0.5]))
    tensor([1., 2.])
    """
    return to(self, other.dtype)


@named("Tensor.type", "Tensor self, ScalarType dtype")
def type_to(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Tensor | str:
    """`self` in another dtype, as `to(dtype)`.

    PyTorch's names of legacy tensor types ('torch.FloatTensor'), which it takes and gives here, do not exist.

    Parameters
    ----------
    dtype : dtype, optional
    non_blocking : bool, default False

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        `dtype` is missing, or not one of numbers.

    Examples
    --------
    >>> pb.tensor([1, 2]).type(pb.float64)
    tensor([1., 2.])
    """
    if dtype is None:
        raise TypeError("type() needs a dtype: there are no names of tensor types. Read t.dtype instead.")
    return to(self, dtype)


def _property(name: str, doc: str) -> property:
    def get(self: Tensor) -> Tensor:
        found: Tensor = getattr(TENSOR, name)(self)  # looked up when asked for
        return found

    def write(self: Tensor, value: Any) -> None:
        get(self)[...] = value  # after z.real += 1 too, which writes a second time what is there

    return property(get, write if name in ("real", "imag") else None, doc=doc)


def _conjugate(self: Tensor) -> Tensor:
    """The conjugate, for formulas; almost every tensor is real, and its own."""
    return self if self._array.dtype.kind != "c" and not ENTERED else TENSOR.conjugate(self)


def attach() -> None:
    """Give Tensor its methods."""
    for name in method_names():
        if name not in Tensor.__dict__:
            LateAttribute(Tensor, name, method, name)
    NestedTensor.conjugate = _conjugate  # type: ignore[method-assign,assignment]
    _attach_operators()
    for name, function in {"getitem": "__getitem__", "setitem": "__setitem__"}.items():
        LateAttribute(Tensor, function, from_module, "pullback.ops.subscripts", name)
    LateAttribute(Tensor, "view", from_module, "pullback.ops.reinterpreting", "view")
    for name, code in _CASTS.items():
        setattr(Tensor, name, _cast(name, code))
    others: dict[str, Any] = {
        "__iter__": iterate, "__contains__": contains, "__divmod__": _divmod, "__rdivmod__": _rdivmod,
        "__round__": _round, "__bool__": to_bool, "__index__": to_index, "__hash__": object.__hash__, "to": to,
        "astype": astype, "cpu": cpu, "cuda": cuda, "type": type_to, "type_as": type_as, "where": where,
        "register_hook": register_hook, "retain_grad": retain_grad,
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    }  # fmt: skip
    for name, value in others.items():
        if value is not object.__hash__:
            value.__qualname__ = f"Tensor.{name}"  # which Python's own errors show
    for name, value in (*others.items(), *inspection.METHODS.items()):
        setattr(Tensor, name, value)
    for name, (operator, doc) in _PROPERTIES.items():
        setattr(Tensor, name, _property(operator, doc))
    Node.register_hook = register_node_hook  # type: ignore[attr-defined]
    Node.register_prehook = register_prehook  # type: ignore[attr-defined]


_PROPERTIES = {
    "T": (
        "numpy_T",
        """The dimensions in reverse order.

Examples
--------
>>> x = pb.ones(2, 3)
>>> x.T.shape
(3, 2)
""",
    ),
    "mT": (
        "mT",
        """The last two dimensions swapped.

Examples
--------
>>> x = pb.ones(4, 2, 3)
>>> x.mT.shape
(4, 3, 2)
""",
    ),
    "mH": (
        "mH",
        """The last two dimensions swapped, conjugated.

Examples
--------
>>> pb.tensor([[1j, 2.0]]).mH
tensor([[0.-1.j],
        [2.-0.j]])
""",
    ),
    "H": (
        "matrix_H",
        """The conjugate transpose of a matrix.

Examples
--------
>>> pb.tensor([[1j, 2.0]]).H
tensor([[0.-1.j],
        [2.-0.j]])
""",
    ),
    "real": (
        "real",
        """The real part; a view for a complex tensor. Assigning writes into it.

Examples
--------
>>> z = pb.tensor([1 + 2j])
>>> z.real = 5
>>> z
tensor([5.+2.j])
""",
    ),
    "imag": (
        "imag",
        """The imaginary part of a complex tensor, a view. Assigning writes into it.

Examples
--------
>>> pb.tensor([1 + 2j]).imag
tensor([2.])
""",
    ),
}
