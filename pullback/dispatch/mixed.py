"""The operators that formulas call when arrays of several types meet: each call dispatches on its arguments.

An array that is neither an ndarray nor a Tensor has kernels, called by position and with every argument. What else an
operator needs (its overloads, defaults, composites) is there for Tensors already, so the arrays are wrapped in Tensors
of a level above every other for the one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from pullback.core.array_type import AS_IT_IS, NUMPY, REGISTERED, TENSOR, OperatorTable, array_type, kernel_for
from pullback.core.late import ready
from pullback.core.tensor import Tensor, wrap
from pullback.dispatch.operator import OPERATORS, Operator, defaults_of
from pullback.dispatch.steps import floated

ABOVE = 1 << 30  # a level that no transform reaches
_MORE = {"random", "buffer"}  # tags of operators that do more than their kernels


class MixedTable(OperatorTable):
    """Operators on arrays of any type, as attributes made when first asked for.

    Parameters
    ----------
    name : str
        For messages.
    kernels : dict, optional
        As of `OperatorTable`; a dict that makes each when it is first asked for serves too.

    Notes
    -----
    docs/design/array_types.md has a type of sixty lines, which counts floating-point operations.

    Examples
    --------
    >>> from pullback.extend import MixedTable
    >>> table = MixedTable("lazy", {})
    >>> table.add(np.ones(2), np.ones(2))  # ndarrays are computed as ever
    array([2., 2.])
    """

    def __getattr__(self, name: str) -> Any:
        on_tensors, on_arrays = ready(getattr(TENSOR, name)), ready(getattr(NUMPY, name))
        made: Any
        if isinstance(on_tensors, SimpleNamespace):  # the operators of a third party
            made = _Namespace(on_tensors, on_arrays)
        else:
            made = _routed(on_tensors, on_arrays, _only_kernel(name))
            self.__dict__[name] = made  # not so a namespace, which may be loaded again
        return made


class _Namespace:
    def __init__(self, on_tensors: SimpleNamespace, on_arrays: SimpleNamespace) -> None:
        self._on_tensors, self._on_arrays = on_tensors, on_arrays

    def __getattr__(self, name: str) -> Any:
        return _routed(getattr(self._on_tensors, name), getattr(self._on_arrays, name))


class _Only(NamedTuple):
    """An operator whose call is that of its kernel: the least number of arguments by position, and all defaults."""

    op: Operator
    least: int
    most: int
    defaults: list[Any]


_VALUES: dict[str, Any] = {"None": None, "True": True, "False": False, "0": 0, "-1": -1, "1": 1}  # of defaults


def _only_kernel(name: str) -> _Only | None:
    """The operator of that name as one whose call is that of its kernel; None where that is not all.

    Where an operator has one overload, its call is that of its kernel, with its defaults.
    """
    op = OPERATORS.get(name)
    if op is None or op.kernel != name or op.lists or op.returns_list or op.mutates or op.holds or op.tags & _MORE:
        return None
    most, defaults = defaults_of(op)
    least = sum(not text for text in defaults)
    if any(text not in _VALUES for text in defaults[least:]) or any(x.startswith(f"{name}.") for x in OPERATORS):
        return None
    return _Only(op, least, most, [None] * least + [_VALUES[text] for text in defaults[least:]])


def _routed(
    on_tensors: Callable[..., Any], on_arrays: Callable[..., Any], only: _Only | None = None
) -> Callable[..., Any]:
    """One operator on whatever it is given; if its kernel does all, this is called where that is possible."""
    op, least, most, defaults = only or (None, 1, 0, [])
    every = len(defaults)

    def operator(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (found := _kinds_if_plain(args)) is not None:
            kind, tensors = found
            if kind is None:
                return (on_tensors if tensors else on_arrays)(*args)
            if op is not None and least <= len(args) <= most and not tensors:
                if len(args) < every:
                    args = (*args, *defaults[len(args) :])
                return REGISTERED[kind].kernels[op.kernel](*(floated(op, [*args]) if op.floating else args))
        kinds = {kind for x in (*args, *kwargs.values()) for kind in _kinds(x)}
        if not REGISTERED.keys().isdisjoint(kinds):
            return on_wrapped(on_tensors, *args, **kwargs)
        return (on_tensors if any(issubclass(kind, Tensor) for kind in kinds) else on_arrays)(*args, **kwargs)

    return operator


def _kinds_if_plain(args: Sequence[Any]) -> tuple[type | None, bool] | None:
    """(the one registered type among the arguments, whether there are Tensors), all else being numbers and settings.

    None where there are several such types, or what may hold others.
    """
    found, tensors = None, False
    for x in args:
        kind = type(x)
        if kind in REGISTERED:
            if found is not None and found is not kind:
                return None
            found = kind
        elif issubclass(kind, Tensor):
            tensors = True
        elif not (kind in AS_IT_IS or (kind is tuple and AS_IT_IS.issuperset(map(type, x)))):
            return None
    return found, tensors


def _kinds(x: Any) -> Any:
    return map(type, x) if isinstance(x, (list, tuple)) else (type(x),)


def on_wrapped(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of Tensors on raw arrays: wrap the arguments, unwrap the result."""
    result = function(*map(_wrapped, args), **{name: _wrapped(x) for name, x in kwargs.items()})
    return _unwrapped(result)


def _wrapped(x: Any) -> Any:
    if type(x) in REGISTERED:
        return wrap(x, ABOVE)
    if isinstance(x, (list, tuple)) and any(type(y) in REGISTERED for y in x):
        return type(x)(_wrapped(y) for y in x)
    return x


def _unwrapped(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x._array if x._level == ABOVE else x
    if isinstance(x, (list, tuple)):
        return tuple(map(_unwrapped, x))
    return x


class Arithmetic:
    """Python's operators, indexing and what else formulas write on an array, for a class of arrays that has kernels.

    Examples
    --------
    >>> from pullback.extend import Arithmetic
    >>> class Lazy(Arithmetic):
    ...     def __init__(self, shape, dtype):
    ...         self.shape, self.dtype = shape, dtype
    >>> x = Lazy((2, 3), np.dtype(float))
    >>> x.ndim, x.size
    (2, 6)
    """

    __slots__ = ()
    __array_ufunc__ = None  # ndarray * array leaves the product to the latter

    shape: Any
    dtype: Any

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(array_type(self).read(self, "a truth value"))  # by its length, Python would have it

    def __getitem__(self, index: Any) -> Any:
        return on_wrapped(lambda tensor: tensor[index], self)

    def __hash__(self) -> int:
        return id(self)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _binary(name: str, swapped: bool) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        operands = (other, self) if swapped else (self, other)
        return kernel_for(operands, name)(*operands)

    return operator


def _unary(name: str) -> Callable[..., Any]:
    def operator(self: Any) -> Any:
        return array_type(self).kernels[name](self)

    return operator


def _on_tensor(name: str, keeps_reals: bool) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if keeps_reals and self.dtype.kind != "c":
            return self
        return on_wrapped(lambda tensor, *rest, **named: getattr(tensor, name)(*rest, **named), self, *args, **kwargs)

    return method


def _property_on_tensor(name: str) -> property:
    return property(lambda self: on_wrapped(lambda tensor: getattr(tensor, name), self))


for _python, _name in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(Arithmetic, f"__{_python}__", _binary(_name, swapped=False))
    setattr(Arithmetic, f"__r{_python}__", _binary(_name, swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Arithmetic, f"__{_name}__", _binary(_name, swapped=False))
for _python, _name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Arithmetic, f"__{_python}__", _unary(_name))
for _name in ("conj", "conjugate", "reshape", "sum", "clone", "transpose", "to"):
    setattr(Arithmetic, _name, _on_tensor(_name, keeps_reals=_name.startswith("conj")))
for _name in ("T", "mT", "mH", "real", "imag"):
    setattr(Arithmetic, _name, _property_on_tensor(_name))
