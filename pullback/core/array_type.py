"""Array types: which arrays operators run on, and the tables of what computes on each.

What an operator computes on is an ndarray, a Tensor of a lower level, or an array of a registered type.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.tensor import Tensor, ndarray

NUMBERS = frozenset([int, float, complex, bool])
# What may stand beside a tensor as a constant: Python's and NumPy's numbers, and arrays of these kinds of dtype.
SCALARS = frozenset([int, float, complex, bool, *(np.dtype(c).type for c in "?bhilqBHILQefdgFDG")])
NUMERIC = "biufc"
CONSTANTS = SCALARS | {ndarray}


class OperatorTable:
    """Operators by name, as attributes: what formulas, composites and transforms call.

    `kernels` holds, under the names that declarations give, what runs a primitive on this array type: it takes every
    argument of the schema by position.
    """

    table_name: str
    kernels: dict[str, Callable[..., Any]]
    write_out: Container[Any] = ()  # the kernels, ufuncs apart, that write into the array given as `out`
    # (operator, its arguments, level) -> arguments: what an array type wants done to Tensors before an operator runs.
    prepare: Callable[[Any, Sequence[Any], int], Sequence[Any]] | None = None
    # (operator, number of arguments) -> what runs it in the usual case, called with (modes, *arguments), and gives None
    # in any other; None where nothing does.
    call: Callable[[Any, int], Callable[..., Any] | None] | None = None
    # (operator's name, target, arguments, level): lets the target of an in-place operator hold what it will compute.
    make_room: Callable[[str, Tensor, Sequence[Any], int], None] | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, name: str) -> None:
        self.__dict__.update(table_name=name, kernels={})

    def register(self, functions: Mapping[str, Any]) -> None:
        """Add a mapping of name to function."""
        self.__dict__.update(functions)  # plain attributes: no __getattr__, which would slow every formula down


NUMPY = OperatorTable("numpy")  # raw ndarrays; filled by pullback.ops
TENSOR = OperatorTable("tensor")  # Tensors of any level; filled by pullback.ops
REGISTERED: dict[type, OperatorTable] = {}  # array type -> table, for types that are neither ndarray nor Tensor


def register_array_type(array_type: type, table: OperatorTable) -> None:
    """Let operators on `array_type` (and Tensors around it) run by `table`."""
    REGISTERED[array_type] = table


def has_table(array_type: type) -> bool:
    """Whether `array_type` was registered: it is neither ndarray nor Tensor, and operators run on it."""
    return array_type in REGISTERED


def table_of(raws: Iterable[Any]) -> OperatorTable:
    """The table that computes with these raw arguments: that of a registered type, else of Tensors, else NumPy's.

    An array of a registered type belongs to the level at hand, a Tensor beside it to a lower one: a constant for it.
    """
    found = NUMPY
    for raw in raws:
        if type(raw) in REGISTERED:
            return REGISTERED[type(raw)]
        if isinstance(raw, Tensor):
            found = TENSOR
    return found


def is_constant(x: Any) -> bool:
    """Whether `x` may stand beside a tensor as a constant."""
    kind = type(x)
    return kind in SCALARS or (kind is ndarray and x.dtype.kind in NUMERIC)


def memory_of(data: Any) -> Any:
    """The array at the bottom of nested tensors and arrays with derivatives of their own."""
    while type(data) is not ndarray:
        if isinstance(data, Tensor):
            data = data._array
        elif hasattr(data, "values"):
            data = data.values()
        else:
            break
    return data


def is_writable_apart(data: Any, other: Any) -> bool:
    """Whether `data` may be written into, and `other` does not see it."""
    memory = memory_of(data)
    return bool(memory.flags.writeable) and not np.may_share_memory(memory, memory_of(other))


def attribute(x: Any, name: str) -> Any:
    """The shape, ndim, dtype or size of an argument that may be a number."""
    return getattr(x if isinstance(x, Tensor) else np.asarray(x), name)
