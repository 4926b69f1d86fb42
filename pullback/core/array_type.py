"""Array types: what operators run on, and all that the library must know of each.

What an operator computes on is an ndarray, a Tensor of a lower level, or an array of a registered type. One object
describes a type, an `ArrayType`; `array_type(x)` finds it by one look into a dictionary. Nobody asks otherwise what
kind of array something is, but that what is done to ndarrays all the time is written out where it happens.
docs/design/array_types.md shows how a type is added.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.errors import InplaceError, ReadError, UnsupportedError, with_article
from pullback.core.version import Counter

ndarray = np.ndarray
NUMBERS = frozenset([int, float, complex, bool])
# What may stand beside a tensor as a constant: Python's and NumPy's numbers, and arrays of these kinds of dtype.
SCALARS: frozenset[type] = frozenset([int, float, complex, bool, *(np.dtype(c).type for c in "?bhilqBHILQefdgFDG")])
NUMERIC = "biufc"
CONSTANTS = SCALARS | {ndarray}
AS_IT_IS = CONSTANTS | {type(None), type(...), str, slice}  # what a kernel takes as it is: these and settings


class OperatorTable:
    """Operators by name, as attributes: what formulas, composites and transforms call.

    Parameters
    ----------
    name : str
        For messages.
    kernels : dict, optional
        By the names that declarations give, what runs a primitive: it takes every argument of the schema by position.

    Examples
    --------
    >>> from pullback.extend import NUMPY
    >>> NUMPY.maximum(np.array([1.0, 5.0]), np.array([3.0, 2.0]))
    array([3., 5.])
    """

    table_name: str
    kernels: dict[str, Callable[..., Any]]
    write_out: Container[Any] = ()  # the kernels, ufuncs apart, that write into the array given as `out`

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, name: str, kernels: dict[str, Callable[..., Any]] | None = None) -> None:
        self.__dict__.update(table_name=name, kernels={} if kernels is None else kernels)

    def __repr__(self) -> str:
        return f"<OperatorTable {self.table_name!r}>"

    def register(self, functions: Mapping[str, Any]) -> None:
        """Add functions by their names.

        Parameters
        ----------
        functions : mapping from str to callable

        Returns
        -------
        None

        Examples
        --------
        >>> table = pb.extend.OperatorTable("mine")
        >>> table.register({"double": lambda x: 2 * x})
        >>> table.double(3)
        6
        """
        self.__dict__.update(functions)  # plain attributes: no __getattr__, which would slow every formula down


NUMPY = OperatorTable("numpy")  # raw ndarrays; filled by pullback.ops
TENSOR = OperatorTable("tensor")  # Tensors of any level; filled by pullback.ops

# Ranks: in a mixture of arrays the type of the highest computes.
PLAIN, STORED, LEVELLED, TRANSFORMED = range(4)


class ArrayType:
    """One type of array: its kernels, and the answers to all that the library asks of an array.

    The answers given here are those of an array that is a value: it is not written into but replaced, has no memory
    that others could share, no derivative of its own, and tells its numbers to nobody. A subclass says what differs.
    An array of any type has `shape`, `dtype` (NumPy's), `ndim`, `size`, Python's arithmetic, indexing, `conjugate()`
    and `reshape(shape)`, and `__array_ufunc__ = None`, so that `ndarray * array` is left to it.

    Parameters
    ----------
    table : OperatorTable
        The operators, for formulas that meet such arrays, and in `table.kernels` the kernels.

    Notes
    -----
    docs/design/array_types.md has a type of sixty lines, which counts floating-point operations.

    Examples
    --------
    >>> from pullback.extend import ArrayType, MixedTable
    >>> class Lazy(ArrayType):
    ...     def read(self, x, why):
    ...         return x.compute()
    >>> described = Lazy(MixedTable("lazy", {}))
    >>> described.carries_derivative(object())
    False
    """

    # PLAIN: numbers and ndarrays. STORED: another kind of storage, beside which ndarrays are constants. LEVELLED: a
    # Tensor. TRANSFORMED: an array around others, which belongs to a transform; Tensors beside it are constants.
    rank = STORED
    dual = False  # whether these arrays hold a derivative beside the values, for forward mode
    many = False  # whether each of these arrays stands for those of many samples, each to be judged alone
    computes_masks = True  # whether masks of structural zeros may be such arrays; if not, all of one counts as touched
    for_ndarrays = False  # whether an Array of level 0 stands for an ndarray, which beside a Tensor gives a Tensor
    may_index = False  # whether they may stand in an index though they have no numbers to show

    def __init__(self, table: OperatorTable) -> None:
        self.table = table
        self.kernels = table.kernels

    # -- what is inside ----------------------------------------------------------------------------------------------
    def values(self, x: Any) -> Any:
        """The array of values in `x`, which `x` holds derivatives or levels around; `x` itself if it does not."""
        return x

    def detached(self, x: Any) -> Any:
        """Return what a detached tensor holds instead of `x`: the same without derivative."""
        return x

    def carries_derivative(self, x: Any) -> bool:
        """True if a derivative would be lost if the values were taken alone."""
        return False

    def components(self, x: Any) -> Iterable[tuple[frozenset[int], Any, str]]:
        """(numbers of the levels whose tangent it is, holder, attribute) of each array of which `x` is made.

        None if `x` is not made of arrays of other types.
        """
        return ()

    def counters(self, x: Any) -> Iterable[Counter]:
        """The version counters of `x`, and of what it is made of."""
        for _, holder, name in self.components(x):
            yield from counters_inside(getattr(holder, name))

    def only_part(self, x: Any) -> ndarray | None:
        """The ndarray of all samples of `x`, where `x` is made of that alone; None elsewhere."""
        return None

    def add_at(self, x: Any, index: Any, value: Any) -> bool:
        """x[index] += value, in the memory of `x`, if that is a usual case; says whether it was."""
        return False

    def tangents(self, x: Any) -> Any:
        """Return what to keep of `x` beside its values: an object whose `around(values)` gives `x` again, or None."""
        return None

    def with_data(self, x: Any, data: Any) -> Any:
        """`x` with other values, as assigning to `.data` gives them: a derivative that is beside the values stays."""
        return data

    # -- its numbers -------------------------------------------------------------------------------------------------
    def numbers(self, x: Any) -> ndarray | None:
        """The numbers as an ndarray if they are at hand, so that looking at them costs nothing; else None."""
        return None

    def sample(self, x: Any) -> ndarray | None:
        """Numbers that are 0 wherever `x` is by its structure, if any are at hand: see arrays.dual.touched."""
        return self.numbers(x)

    def touched(self, x: Any) -> Any:
        """Where `x` or a derivative in it is not 0, as an array of bools without derivative."""
        return x != 0 if self.computes_masks else np.ones(x.shape, bool)

    def all_touched(self, x: Any) -> Any:
        """The same where all of `x` is touched that can be; None if that is every element."""
        return None

    def cleaned(self, x: Any, where: Callable[..., Any], *args: Any) -> Any:
        """`where(touched, a, 0)`, of a derivative and a mask in which `x` is: a type may note what it is for."""
        return where(*args)

    def read(self, x: Any, why: str) -> ndarray:
        """The numbers as an ndarray, whatever that costs; `why` says who wants them, in the words of an error."""
        found = self.numbers(x)
        if found is None:
            raise ReadError(
                f"{why} looks at the numbers of {with_article(x)} (shape {tuple(x.shape)}), which has none to show."
            )
        return found

    def check(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        """Let `examine` raise what is wrong with these numbers: now, or when they come to be known."""
        examine(*[read(array, "a check of values") for array in arrays])

    def accepts(self, x: Any) -> bool:
        """True if `x` may stand bare beside a tensor, as a constant."""
        return x.dtype.kind in NUMERIC

    def lift_constant(self, x: Any, constant: Any) -> Any:
        """A constant, such as the zeros for an undefined gradient, as it must be to stand beside `x`."""
        return constant

    def records_calls(self, x: Any) -> bool:
        """True if a function of ndarrays, called with `x` for one of them, becomes a step of a program."""
        return False

    def record_call(self, x: Any, name: str, run: Callable[..., Any], function: Any, args: Any, kwargs: Any) -> Any:
        """Return what run(function, args, kwargs) gives, as one step; arrays like `x` are leaves of the arguments."""
        raise NotImplementedError

    def loosen(self, x: Any) -> None:
        """Note that a number is one of Python's outside of a trace, which does not count for dtypes."""

    def apply(self, x: Any, ufunc: np.ufunc, args: Sequence[Any]) -> Any:
        """The result of a ufunc for arguments with `x` among them, as a step of a program; else None."""
        return None

    def copy(self, x: Any) -> Any:
        """The same numbers in memory of their own."""
        return x

    def assign(self, name: str, x: Any, value: Any) -> Any:
        """`x` after the in-place operator of that name: `x` itself, written into, or the array that replaces it."""
        return value

    def replaced(self, x: Any, value: Any) -> Any:
        """Return what replaces `x` where its view was written, and its base is `value` now.

        Of an array made of others, parts that Tensors of lower levels hold stay: they have been given their values.
        """
        return value

    def holding(self, x: Any, arrays: Sequence[ndarray]) -> Sequence[Any]:
        """ndarrays, the first of which holds the memory of all, as they must be for `x` to be written into them."""
        return arrays

    # -- where it is -------------------------------------------------------------------------------------------------
    def memory(self, x: Any) -> ndarray | None:
        """The ndarray whose memory the values lie in: its strides and addresses tell views apart. None: it has none."""
        return None

    def layout(self, x: Any) -> ndarray | None:
        """An ndarray with the strides that `x` has for its user: that of `memory`, unless several share that."""
        return self.memory(x)

    def is_view(self, result: Any, source: Any) -> bool:
        """True if what a view operator has made of `source` is a view of it, and not a copy."""
        memory, whole = self.memory(result), memory_of(source)
        if memory is None or whole is None:
            return memory is None
        return memory is whole or (memory.base is not None and (memory.base is whole or memory.base is whole.base))

    def shown(self, x: Any, level: int) -> str:
        """The repr of a tensor of a transform, at `level`, that wraps `x`."""
        return f"GradTrackingTensor(lvl={level}, value={x!r})"

    def device(self, x: Any) -> str:
        """The name of the device on which it is."""
        return "cpu"

    # -- running operators -------------------------------------------------------------------------------------------
    def prepare(self, op: Any, args: Sequence[Any], level: int) -> Sequence[Any]:
        """The arguments as this type wants them before an operator runs on Tensors of `level` around such arrays."""
        return args

    def call(self, op: Any, arity: int) -> Callable[..., Any] | None:
        """A function that runs the operator on so many arguments, some of them Tensors around such arrays.

        It is called with (modes, *arguments) and gives None in any other case. None: there is no quick way.
        """
        return None

    def prepare_target(self, name: str, target: Any, args: Sequence[Any], level: int) -> bool:
        """Let the target of the in-place operator hold what it will compute; says whether anything was changed."""
        return False

    def become_view(self, name: str, target: Any) -> None:
        """Raise if the in-place operator of that name may not make `target` another view of its memory."""

    def unwritable(self, name: str, target: Any, level: int) -> InplaceError:
        """The error for an in-place operator that would write such an array of `level` into a tensor of a lower one."""
        return InplaceError(
            f"{name} would mutate a captured Tensor: it would write a value that is being differentiated (level "
            f"{level}) into a tensor of level {target._level}, which cannot hold its derivative. Make the tensor in "
            "the function, by pullback.zeros(shape) or, of another tensor w, by w.clone(), or of a "
            "differentiated x by zeros_like(x) or x.new_zeros(shape); or use the out-of-place form."
        )

    def read_element(self, x: Any, index: Any) -> Any:
        """The number x[index], x a Tensor around such an array with NumPy's face, if that is a usual case; or None."""
        return None

    def may_be_saved(self, x: Any, level: int) -> bool:
        """True if a node may have saved `x`, of a Tensor of `level`, so that what is overwritten has to be kept."""
        return True

    def write_element(self, target: Any, index: Any, value: Any) -> bool:
        """Write `target[index] = value` if that is a usual case, and say whether it was: see dispatch.element_writes.

        `index` is made of integers and slices; `target` is a Tensor around such an array, `value` anything.
        """
        return False

    # -- backward ----------------------------------------------------------------------------------------------------
    def flows_through(self, nodes: Iterable[Any]) -> bool:
        """True if such arrays may flow in a backward through these nodes, though it begins with none."""
        return False

    def root_gradient(self, tensor: Any, gradient: Any) -> Any:
        """The gradient, raw or a Tensor, with which a backward starts at a tensor around such an array."""
        if ARRAY_TYPES[type(gradient)].rank < self.rank:
            return self.lift_constant(tensor._array, gradient)
        return gradient

    def leaving_gradient(self, gradient: Any) -> Any:
        """A gradient as its user sees it: such an array, or a Tensor around one."""
        return gradient

    def saved_again(self, x: Any) -> Any:
        """Return what a node saved, as a backward needs it that is itself recorded."""
        return x


class NdarrayType(ArrayType):
    """ndarrays, and numbers. Code that runs all the time says these answers itself."""

    rank = PLAIN

    def numbers(self, x: Any) -> Any:
        return x if type(x) is ndarray else np.asarray(x)

    def accepts(self, x: Any) -> bool:
        return type(x) is not ndarray or x.dtype.kind in NUMERIC

    def copy(self, x: Any) -> Any:
        return np.array(x)

    def only_part(self, x: Any) -> ndarray | None:
        return x if type(x) is ndarray else None

    def add_at(self, x: Any, index: Any, value: Any) -> bool:
        if type(x) is not ndarray or type(value) is not ndarray:
            return False
        x[index] += value
        return True

    def memory(self, x: Any) -> ndarray | None:
        return x if type(x) is ndarray else None


class _ArrayTypes(dict[type, ArrayType]):
    """Array types by the type of the array."""

    def __missing__(self, kind: type) -> ArrayType:
        raise TypeError(
            f"{kind.__name__} is not a type of array that operators run on; "
            "pullback.extend.register_array_type makes it one."
        )


NDARRAY = NdarrayType(NUMPY)
ARRAY_TYPES = _ArrayTypes(dict.fromkeys(CONSTANTS, NDARRAY))  # core.tensor adds Tensor
REGISTERED: dict[type, ArrayType] = {}  # those that are neither numbers nor ndarrays nor Tensors


def register_array_type(kind: type, described: ArrayType) -> None:
    """Let operators run on arrays of type `kind`, and on Tensors around them.

    Parameters
    ----------
    kind : type
        The class of the arrays.
    described : ArrayType

    Returns
    -------
    None

    Raises
    ------
    TypeError
        `kind` is not a class, or one that is known; `described` is not an ArrayType.

    Examples
    --------
    >>> from pullback.extend import ArrayType, MixedTable, register_array_type
    >>> class Lazy:
    ...     shape, dtype = (2, 3), np.dtype(float)
    >>> register_array_type(Lazy, ArrayType(MixedTable("lazy", {})))
    """
    if not isinstance(kind, type) or (kind in ARRAY_TYPES and kind not in REGISTERED):
        raise TypeError(f"register_array_type: {kind!r} is not a class of arrays of your own.")
    if not isinstance(described, ArrayType):
        raise TypeError(
            f"register_array_type: an instance of ArrayType must describe it, got {with_article(described)}."
        )
    ARRAY_TYPES[kind] = REGISTERED[kind] = described


def array_type(x: Any) -> ArrayType:
    """Return what is known of the type of an array, or of a number. Where speed counts: ARRAY_TYPES[type(x)].

    Parameters
    ----------
    x : array or number

    Returns
    -------
    ArrayType

    Raises
    ------
    TypeError
        Operators do not run on arrays of that type.

    Examples
    --------
    >>> from pullback.extend import array_type
    >>> array_type(np.ones(2)).device(np.ones(2))
    'cpu'
    """
    return ARRAY_TYPES[type(x)]


def counters_inside(x: Any) -> Iterable[Counter]:
    """The version counters of an array, a Tensor or another one, and of all that is in it."""
    kind = ARRAY_TYPES.get(type(x))
    return () if kind is None else kind.counters(x)


def is_array(x: Any) -> bool:
    """True if `x` is an array that operators run on, or a Tensor; not so a number."""
    return type(x) in ARRAY_TYPES and type(x) not in SCALARS


def type_of(raws: Iterable[Any]) -> ArrayType:
    """The type that computes with these raw arguments: that of the highest rank, NumPy's if there is none."""
    found: ArrayType = NDARRAY
    for raw in raws:
        kind = ARRAY_TYPES.get(type(raw))
        if kind is not None and kind.rank > found.rank:
            found = kind
    return found


def table_of(raws: Iterable[Any]) -> OperatorTable:
    """The table that computes with these raw arguments."""
    return type_of(raws).table


def kernel_for(raws: Sequence[Any], name: str) -> Callable[..., Any]:
    """The kernel of that name for these raw arguments."""
    described = type_of(raws)
    try:
        return described.kernels[name]
    except KeyError:
        found = next((type(raw).__name__ for raw in raws if ARRAY_TYPES.get(type(raw)) is described), "ndarray")
        raise UnsupportedError(
            f"the array type {found} has no kernel {name!r}: give its OperatorTable one, kernels[{name!r}], a function "
            "that takes every argument of the declaration by position."
        ) from None


def table_for_graph(nodes: Iterable[Any], table: OperatorTable) -> OperatorTable:
    """The table for the formulas of these nodes, where `table` is that of the gradients that a backward begins with."""
    for kind in REGISTERED.values():
        if kind.flows_through(nodes):
            return kind.table
    return table


def leaving_gradient(gradient: Any) -> Any:
    """A gradient as its user sees it, a raw one or a Tensor: of some transforms' arrays that is a part."""
    return ARRAY_TYPES[type(gradient)].leaving_gradient(gradient)


def is_constant(x: Any) -> bool:
    """True if `x` may stand beside a tensor as a constant."""
    kind = type(x)
    if kind in SCALARS or (kind is ndarray and x.dtype.kind in NUMERIC):
        return True
    return kind in REGISTERED and REGISTERED[kind].accepts(x)


def innermost(x: Any) -> Any:
    """The array at the bottom of nested tensors and arrays with derivatives of their own; anything else as it is."""
    while type(x) is not ndarray:
        kind = ARRAY_TYPES.get(type(x))
        inside = x if kind is None else kind.values(x)
        if inside is x:
            break
        x = inside
    return x


def memory_of(x: Any) -> ndarray | None:
    """The ndarray at the bottom of `x`, in whose memory it lies; None where there is none."""
    x = innermost(x)
    if type(x) is ndarray:
        return x
    kind = ARRAY_TYPES.get(type(x))
    return None if kind is None else kind.memory(x)


def layout_of(x: Any) -> ndarray | None:
    """An ndarray that tells in which order the elements of `x` lie, and nothing of where; None where there is none."""
    x = innermost(x)
    if type(x) is ndarray:
        return x
    kind = ARRAY_TYPES.get(type(x))
    return None if kind is None else kind.layout(x)


def numbers_of(x: Any) -> ndarray | None:
    """The numbers at the bottom of `x`, an argument of any kind, if they are at hand; else None."""
    x = innermost(x)
    if type(x) is ndarray:
        return x
    kind = ARRAY_TYPES.get(type(x))
    return None if kind is None else kind.numbers(x)


def carries_derivative(x: Any) -> bool:
    """True if an argument of any kind is an array that has a derivative of its own; a Tensor is asked otherwise."""
    kind = ARRAY_TYPES.get(type(x))
    return kind is not None and kind.carries_derivative(x)


def parts_of(x: Any) -> list[Any]:
    """The arrays at the bottom of nested tensors and of arrays that are made of others: values and tangents."""
    kind = ARRAY_TYPES[type(x)]
    inside = [getattr(holder, name) for _, holder, name in kind.components(x)] or [kind.values(x)]
    return inside if inside[0] is x else [part for y in inside for part in parts_of(y)]


AS_NDARRAY = "np.asarray() or the like"  # who wants the numbers where NumPy asks for an ndarray


def read(x: Any, why: str) -> ndarray:
    """The numbers of an array of any type, as an ndarray: the one door to them for formulas and composites.

    Parameters
    ----------
    x : array
    why : str
        Who wants the numbers, in the words of an error.

    Returns
    -------
    ndarray

    Raises
    ------
    ReadError
        The type of `x` does not give its numbers, as inside of `vmap`.

    Examples
    --------
    >>> from pullback.extend import read
    >>> read(np.ones(2), "to count zeros")
    array([1., 1.])
    """
    x = innermost(x)
    return x if type(x) is ndarray else ARRAY_TYPES[type(x)].read(x, why)


def check(examine: Callable[..., None], *arrays: Any) -> None:
    """Let `examine(*arrays)` raise what is wrong with the numbers of arrays of any type, given as ndarrays.

    It may run later, or elsewhere, where the numbers are not known yet: it should use nothing but its arguments.

    Parameters
    ----------
    examine : callable
        Takes the numbers of each array, as ndarrays, and raises what is wrong.
    *arrays : array

    Returns
    -------
    None

    Raises
    ------
    TypeError
        One is not an array that operators run on; or whatever `examine` raises.

    Examples
    --------
    >>> from pullback.extend import check
    >>> def positive(x):
    ...     if (x <= 0).any():
    ...         raise ValueError("not positive")
    >>> check(positive, np.ones(2))
    """
    inside = [innermost(array) for array in arrays]
    type_of(inside).check(examine, inside)


def touched_in(x: Any) -> Any:
    """Where an array of any type, or a derivative in it, is not 0."""
    return ARRAY_TYPES[type(x)].touched(x)


def refuse_where(wrong: Any, error: Callable[[], Exception]) -> None:
    """Raise `error()` where one of these truth values, an array of any type, is true; see `check`.

    Parameters
    ----------
    wrong : array of bool
    error : callable
        Gives the exception.

    Returns
    -------
    None

    Raises
    ------
    What `error()` gives.

    Examples
    --------
    >>> from pullback.extend import refuse_where
    >>> refuse_where(np.ones(2) < 0, lambda: ValueError("negative"))
    """
    check(partial(none_is_true, error), wrong)


def none_is_true(error: Callable[[], Exception], found: ndarray) -> None:
    """Raise `error()` if one of these truth values is true."""
    if found.any():
        raise error()


def is_writable_apart(data: Any, other: Any) -> bool:
    """True if `data` may be written into, and `other` does not see it."""
    memory, others = memory_of(data), memory_of(other)
    if memory is None:  # then what it is laid out as tells, which a recorded array has
        memory, others = layout_of(data), layout_of(other)
    if memory is None or others is None:
        return memory is None or bool(memory.flags.writeable)
    return bool(memory.flags.writeable) and not np.may_share_memory(memory, others)


def attribute(x: Any, name: str) -> Any:
    """The shape, ndim, dtype or size of an argument that may be a number."""
    return getattr(x if type(x) in ARRAY_TYPES and type(x) not in NUMBERS else np.asarray(x), name)
