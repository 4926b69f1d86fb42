"""Tensor: an array and what autograd knows about it.

The slots hold what every tensor has; the rest lives in an `Extra`, which few tensors need. Operators read and write
the slots directly, because they are the hot path; everyone else uses the public properties. Mathematics is absent
here: operators become methods when `pullback.ops` is imported, `backward` and hooks when `pullback.autograd` is.
"""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

from pullback.core import modes, slots
from pullback.core.array_type import (
    ARRAY_TYPES,
    LEVELLED,
    TENSOR,
    ArrayType,
    array_type,
    counters_inside,
    innermost,
    layout_of,
    memory_of,
)
from pullback.core.cuts import WATCHED, Run, note, note_creation, runs
from pullback.core.errors import (
    DetachingError,
    DtypeError,
    GradientError,
    InplaceError,
    UnsupportedError,
    as_list,
    type_name,
    with_article,
)
from pullback.core.hook_dict import HookDict, warn_not_pickled
from pullback.core.sequence import next_sequence_nr
from pullback.core.types import DType, RawArray, Shape
from pullback.core.version import Counter, counter_of, inference_counter, parted_counter, shown_version

_T = TypeVar("_T")
_AnyTensor = TypeVar("_AnyTensor", bound="Tensor")

new: Callable[[type[_T]], _T] = object.__new__
ndarray = np.ndarray


class Extra:
    """The rarer fields of a tensor: those of leaves that require grad, of views, of hooked and retained tensors.

    What is read and written at every view has slots, which `new_extra` fills; the defaults of the rest belong to the
    class, whose attributes take ten times as long to read.
    """

    __slots__ = ("__dict__", "base", "inference", "made_by", "many_views", "no_view", "view_version", "views")

    base: Tensor | None  # the tensor whose memory a view shares
    inference: bool
    made_by: Any  # of a view: the view.Origin for which it may not be written into while recording
    # Of a copy that is a view in PyTorch: the operator that made it, whose result nobody may write into, or the
    # graph.gathered.Gathered that lets the tensor that it is of have what is written; that too has one.
    no_view: Any
    view_version: int | None  # of a view: the version at which its grad_fn was made
    # Of a base that does not require grad, or has views with steps: weak references to its views.
    views: list[weakref.ref[Tensor]] | None
    many_views: int  # from so many on it is asked which of them are gone

    accumulator: Callable[[], Any] | None = None  # weak reference to the AccumulateGrad node of a leaf
    detached_at: int | None = None  # of a tensor that detach_() took out of its graph: the sequence number then
    # Of a base that lost its function or its memory, by detach_() or .data: its counter then, and the version.
    parted: tuple[Counter, int] | None = None
    grad: Tensor | None = None
    grad_sample: Tensor | None = None  # of a leaf: the gradients of each sample, from backward(per_sample=True)
    grad_is_given = False  # whether the user assigned it: backward adds in place then
    hooks: HookDict | None = None  # of a leaf: its gradient hooks
    post_accumulate_hooks: HookDict | None = None
    retains_grad = False
    is_alias = False  # whether it is a view by detach(), which never requires grad because of its base
    # Of a view without a place in memory: the view.ViewStep of every operator between its base and it.
    steps: tuple[Any, ...] | None = None
    lent: Any = ()  # of an Array: weak references by which `graph.lent` knows who keeps a plain view of its memory
    forgets = False  # whether that is being done
    entered: Run | None = None  # of a leaf that a transform has made of an argument: its call
    made_in: tuple[Run, ...] = ()  # the runs of transforms inside which it was made, or copied


def new_extra() -> Extra:
    """An Extra of a tensor that is nobody's view."""
    made = Extra()
    made.base = made.made_by = made.no_view = made.view_version = made.views = None
    made.inference = False
    made.many_views = 64
    return made


def extra_of(tensor: Tensor) -> Extra:
    """The Extra of `tensor`, made if there is none yet."""
    extra = tensor._extra
    if extra is None:
        made = new_extra()
        tensor._extra = extra = tensor._extra or made  # one line, so that threads get the same: see core.version
    return extra


def mark_inference(tensor: Tensor) -> None:
    """Mark a fresh tensor as made in inference mode."""
    extra_of(tensor).inference = True
    if tensor._counter is None:
        tensor._counter = inference_counter()


def note_made(tensor: _AnyTensor) -> _AnyTensor:
    """Note inside which transforms a creation function has made `tensor`, which is returned."""
    if WATCHED:
        note_copied(tensor)
        note_creation(tensor)
    return tensor


def note_copied(tensor: _AnyTensor) -> _AnyTensor:
    """The same of a copy, which an index may have made: `t[rows] += x` writes into one before it writes into `t`."""
    if WATCHED:
        extra_of(tensor).made_in = tuple(runs())
    return tensor


if TYPE_CHECKING:
    from pullback.core.attached_methods import AttachedMethods
    from pullback.core.operator_methods import OperatorMethods

    class _Methods(AttachedMethods, OperatorMethods):
        """Holds what the class gets from above, by `pullback.ops.methods`, `autograd` and `interop`: stubs have it."""
else:
    _Methods = object


class Tensor(_Methods):
    """An n-dimensional array that can require a gradient.

    Make one with `pullback.tensor` (copies), `pullback.from_numpy` (shares memory) or `pullback.asarray`.

    Parameters
    ----------
    *args, **kwargs
        Refused: the functions named above make Tensors.

    Attributes
    ----------
    grad : Tensor or None
        What `backward` has accumulated in a leaf.
    grad_fn : Node or None
        What recorded it; None for a leaf.
    requires_grad : bool
    shape : tuple of int
    dtype : numpy.dtype

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    >>> y.grad_fn.name()
    'SumBackward0'
    """

    __slots__ = ("__weakref__", "_array", "_counter", "_extra", "_fn", "_level", "_requires_grad")

    # What every tensor has. The annotations make no attribute.
    _array: RawArray
    _counter: Counter | None
    _extra: Extra | None
    _fn: Any  # Node, OutputEdge or None: what the edges of consumers lead to
    _level: int
    _requires_grad: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        raise TypeError("Tensor is not made by calling it: use pullback.tensor(data) or pullback.from_numpy(array).")

    # -- the array -------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Shape:
        """Tuple of dimensions.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.shape
        (2, 3)
        """
        return self._array.shape

    @property
    def dtype(self) -> DType:
        """NumPy dtype.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.dtype
        dtype('float64')
        """
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.ndim
        2
        """
        return self._array.ndim

    @property
    def size(self) -> Size:
        """Number of elements, as NumPy has it; called, `size()` or `size(dim)`, the shape, as PyTorch has it.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.size, x.size(), x.size(1)
        (6, (2, 3), 3)
        """
        return Size(self._array.size, self._array.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.itemsize
        8
        """
        return self._array.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.nbytes
        48
        """
        return self._array.size * self._array.dtype.itemsize

    @property
    def flags(self) -> Any:
        """How the elements lie in memory, as `numpy.ndarray.flags` says it.

        Raises
        ------
        UnsupportedError
            The tensor has no place in memory, such as one of a batch.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.flags.c_contiguous, x.T.flags.c_contiguous
        (True, False)
        """
        return strided(self, "flags").flags

    @property
    def device(self) -> str:
        """Where the array lives: 'cpu'.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.device
        'cpu'
        """
        return "cpu" if type(self._array) is ndarray else array_type(self._array).device(self._array)

    def dim(self) -> int:
        """Number of dimensions.

        Returns
        -------
        int

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.dim()
        2
        """
        return self._array.ndim

    def numel(self) -> int:
        """Number of elements.

        Returns
        -------
        int

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.numel()
        6
        """
        return int(self._array.size)

    @overload
    def stride(self, dim: None = None) -> Shape: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Shape | int:
        """Strides in elements, of all dimensions or of one.

        Parameters
        ----------
        dim : int, optional
            By default all.

        Returns
        -------
        tuple of int, or int

        Raises
        ------
        IndexError
            `dim` is out of range.

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.stride(), x.T.stride(), x.stride(0)
        ((3, 1), (1, 3), 3)
        """
        array = strided(self, "stride")
        strides = tuple(s // array.itemsize for s in array.strides)
        return strides if dim is None else _one_of("Tensor.stride", strides, dim)

    def is_contiguous(self, memory_format: str | None = None) -> bool:
        """True if the elements lie in C order without gaps, the only order that `memory_format` can ask for.

        Parameters
        ----------
        memory_format : optional
            For PyTorch's sake.

        Returns
        -------
        bool

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.is_contiguous(), x.T.is_contiguous()
        (True, False)
        """
        memory = layout_of(self)
        return memory is None or bool(memory.flags.c_contiguous)  # what has no memory has no gaps in it

    def is_floating_point(self) -> bool:
        """True if the dtype is a real floating-point one.

        Returns
        -------
        bool

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.is_floating_point()
        True
        """
        return self._array.dtype.kind == "f"

    def is_complex(self) -> bool:
        """True if the dtype is complex.

        Returns
        -------
        bool

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.is_complex()
        False
        """
        return self._array.dtype.kind == "c"

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    # -- autograd metadata -----------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """True if a gradient with respect to this tensor, or through it, can be asked for.

        Examples
        --------
        >>> x = pb.ones(2)
        >>> x.requires_grad = True
        >>> (x * 2).requires_grad
        True
        """
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        set_requires_grad(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise _undeletable("requires_grad")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` of a leaf; returns the tensor.

        Parameters
        ----------
        requires_grad : bool, default True

        Returns
        -------
        Tensor
            `self`.

        Raises
        ------
        RuntimeError
            The dtype is neither floating nor complex, the tensor is not a leaf, or the call is inside a transform.

        Examples
        --------
        >>> x = pb.ones(2).requires_grad_()
        >>> x.requires_grad
        True
        """
        if modes.current().level:
            raise GradientError(
                "You are attempting to call Tensor.requires_grad_() inside of a function being transformed by a "
                "transform of pullback.func. The transform itself marks what it differentiates: choose arguments with "
                "argnums, nest func.grad, vjp or jvp for a derivative inside, or call requires_grad_() before the "
                "transform. What the function makes may require grad from the start: pullback.ones(3, "
                "requires_grad=True)."
            )
        return set_requires_grad(self, requires_grad)

    @property
    def is_leaf(self) -> bool:
        """True unless an operator that recorded a node made this tensor.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        return not self._requires_grad or self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """The Node that made this tensor, or None for a leaf.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> x.exp().grad_fn.name()
        'ExpBackward0'
        """
        if not self._requires_grad:
            return None
        extra = self._extra
        fn = slots.refresh_view(self) if extra is not None and extra.base is not None else self._fn
        return fn if fn is None else fn.node()

    @property
    def _grad_fn(self) -> Any:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise GradientError("_grad_fn of a tensor cannot be deleted: detach() gives one without.")

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is.

        Examples
        --------
        >>> x = pb.tensor([3.0, 1.0], requires_grad=True)
        >>> values, places = x.max(dim=0)
        >>> values.output_nr
        0
        """
        # Asked for first: the function of a view may have to be made anew.
        return 0 if self.grad_fn is None else self._fn.output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward(): a Tensor, or None.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> x.exp().sum().backward()
        >>> x.grad.round(decimals=4)
        tensor([2.7183, 7.3891])
        """
        extra = self._extra
        found = None if extra is None else extra.grad
        if found is None and self._fn is not None and not self.retains_grad:
            _say_that_nothing_fills_grad(self)
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_new_grad(self, value)
        elif self._extra is None:
            return
        extra = extra_of(self)
        extra.grad = value
        extra.grad_is_given = value is not None

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def grad_sample(self) -> Tensor | None:
        """The gradients of each sample that backward(per_sample=True) left, samples first: a Tensor, or None.

        Examples
        --------
        >>> w = pb.ones(2, requires_grad=True)
        >>> samples = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (samples @ w).sum().backward(per_sample=True)
        >>> w.grad_sample
        tensor([[1., 2.],
                [3., 4.]])
        """
        return None if self._extra is None else self._extra.grad_sample

    @grad_sample.setter
    def grad_sample(self, value: Tensor | None) -> None:
        if value is not None and (not isinstance(value, Tensor) or value.shape[1:] != self.shape):
            raise TypeError(
                f"grad_sample must be None or a Tensor of shape (samples, *{tuple(self.shape)}), got "
                f"{f'one of shape {tuple(value.shape)}' if isinstance(value, Tensor) else type_name(value)}."
            )
        extra_of(self).grad_sample = value

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor outside the graphs of all levels, with a version counter of its own.

        Modifications through it are not tracked: prefer `detach()`.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> x.data.requires_grad
        False
        """
        data = _without_derivative(self._array)
        # Where there is no memory to share, what is written has to be followed, and so has its version.
        followed = data is self._array and type(data) is not ndarray and memory_of(data) is None
        out = _alias(self, data) if followed else wrap_like(type(self), data, self._level)
        if WATCHED:
            note("data", self, by_user=True, made=out)
        if self._extra is not None and self._extra.no_view is not None:
            extra_of(out).no_view = self._extra.no_view
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}.")
        if value._level != self._level:
            raise mismatch(self, value, "data")
        if value.shape != self.shape or value.dtype != self.dtype:
            _take_other_form(self, value)
        if self._requires_grad and self._counter is not None and self._counter.n:
            if self._is_view():
                slots.refresh_view(self)  # while what it shows of its base can be told
            elif self._fn is not None:
                slots.part_from_views(self)
        hold(self, array_type(self._array).with_data(self._array, value._array))
        # A counter of its own from now on: views and detached aliases stay with the old memory. Nodes that have saved
        # this tensor notice, although `_version` stays what it is.
        self._counter = parted_counter(self, "assigning to .data")

    @data.deleter
    def data(self) -> None:
        raise _undeletable("data")

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise GradientError(
                "Inference tensors do not track version counter: this tensor was made in inference_mode(). A clone() "
                "is a normal tensor."
            )
        return shown_version(self)

    @property
    def _backward_hooks(self) -> HookDict | None:
        """The hooks of its gradient by handle id; a dict may be assigned to a leaf."""
        if self._fn is None:
            return None if self._extra is None else self._extra.hooks
        known = self._fn.node()._extra
        return known and known.tensor_hooks.get(self._fn.output_nr)  # type: ignore[no-any-return]

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict[Any, Callable[..., Any]] | None) -> None:
        if self._fn is not None:
            raise GradientError(f"_backward_hooks: {self.grad_fn.name()} holds the hooks; call register_hook.")
        extra_of(self).hooks = None if hooks is None else HookDict(hooks)

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise _undeletable("_backward_hooks")

    @property
    def volatile(self) -> bool:
        """False, with a warning: it stood for what `no_grad()` is for."""
        warnings.warn(
            "volatile was removed (Variable.volatile is always False); compute inside `with pullback.no_grad():`.",
            stacklevel=2,
        )
        return False

    @property
    def _base(self) -> Tensor | None:
        extra = self._extra
        return None if extra is None else extra.base

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """True if this tensor was made in inference mode.

        Returns
        -------
        bool

        Examples
        --------
        >>> with pb.inference_mode():
        ...     x = pb.ones(2)
        >>> x.is_inference()
        True
        """
        extra = self._extra
        return extra is not None and extra.inference

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad` was called on this non-leaf tensor.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.retains_grad
        True
        """
        extra = self._extra
        return extra is not None and extra.retains_grad

    def detach(self) -> Tensor:
        """The same memory outside the graphs of all levels; writes into the one are noticed by those of the other.

        Returns
        -------
        Tensor
            That does not require grad.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> x.detach()
        tensor([1., 2.])
        """
        out = _alias(self, _without_derivative(self._array))
        if WATCHED:
            note("detach()", self, by_user=True, made=out)
        return out

    def detach_(self) -> Self:
        """Take this tensor out of the graphs of all levels, and its tangent away; it becomes a leaf. Returns it.

        Returns
        -------
        Tensor
            `self`.

        Raises
        ------
        RuntimeError
            It is a view, whose graph is that of its base.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True) * 2
        >>> x.detach_().is_leaf
        True
        """
        if self._is_view():
            raise InplaceError("Can't detach views in-place: the base would keep the graph. Use detach() instead.")
        if WATCHED:
            note("detach_()", self, by_user=True, made=self)
        if self._fn is not None:
            if self._counter is not None and self._counter.n:
                slots.part_from_views(self)
            extra = extra_of(self)
            extra.detached_at = next_sequence_nr()
            known = self._fn.node()._extra
            hooks = known and known.tensor_hooks.get(self._fn.output_nr)
            if hooks:
                extra.hooks = hooks.continued()
        self._fn = None
        self._requires_grad = False
        plain = _without_derivative(self._array)
        if plain is not self._array:
            hold(self, plain)
        return self

    # -- leaving for Python and NumPy ------------------------------------------------------------------------
    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The ndarray inside, sharing memory.

        Parameters
        ----------
        force : bool, default False
            Detach first, so that a tensor that requires grad is accepted.

        Returns
        -------
        ndarray

        Raises
        ------
        RuntimeError
            The tensor requires grad and recording is on, or it has a tangent, and `force` is False.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> x.numpy(force=True)
        array([1., 2.])
        """
        if force is not False and force is not True:
            force = _flag("numpy", "force", force)  # type: ignore[unreachable]
        if WATCHED:
            note("numpy()", self, by_user=True)
        return _values_in(self, force, "Tensor.numpy()")  # type: ignore[no-any-return]

    def item(self) -> Any:
        """The only element as a Python number.

        Returns
        -------
        int, float, complex or bool

        Raises
        ------
        RuntimeError
            There are several elements, or none.

        Examples
        --------
        >>> pb.tensor([2.5]).item()
        2.5
        """
        if WATCHED:
            note("item()", self, by_user=True)
        data = self._array
        if data.size != 1:
            raise not_one_element(self)
        return data.item() if type(data) is ndarray else _values_in(self, True, "item()").item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers.

        Returns
        -------
        list, or a number for a tensor without dimensions

        Examples
        --------
        >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.tolist()
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        """
        if WATCHED:
            note("tolist()", self, by_user=True)
        return _values_in(self, True, "tolist()").tolist()

    def __copy__(self) -> Tensor:
        if self._level or type(self._array) is not ndarray or not self.is_leaf:
            return self.clone()  # inside a transform a Tensor stands for an array, whose copy depends on it
        rebuild, parts = self.__reduce__()
        return rebuild(*parts)  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self._level or type(self._array) is not ndarray:
            memo[id(self)] = out = self.clone()
            return out
        if not self.is_leaf:
            raise GradientError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                f"moment; this one was computed by {self.grad_fn.name()}. Copy t.detach() instead."
            )
        out = wrap(self._array.copy())
        memo[id(self)] = out
        if WATCHED:
            note("deepcopy", self, made=out)
        if self._requires_grad:
            set_requires_grad(out)
            if self.grad is not None:
                out.grad = self.grad.__deepcopy__(memo)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        if WATCHED:
            note("pickle", self)
        if not self.is_leaf:
            raise _cannot_be_copied(self)
        extra = self._extra
        if extra is not None:
            for hooks in filter(None, (extra.hooks, extra.post_accumulate_hooks)):
                warn_not_pickled(hooks)
        return _unpickle, (detached_here(self).numpy(), self._requires_grad)


class NestedTensor(Tensor):
    """A Tensor around something other than an ndarray: a Tensor of a lower level, or another array type.

    A class of its own so that `type(x) is Tensor` is all that the fast path of an operator must ask.
    """

    __slots__ = ()


class TensorType(ArrayType):
    """Tensors of a lower level, as arrays inside of others: they answer as what they are around."""

    rank = LEVELLED

    def values(self, x: Any) -> Any:
        return x._array

    def numbers(self, x: Any) -> Any:
        x = innermost(x)
        return array_type(x).numbers(x)

    def read(self, x: Any, why: str) -> Any:
        x = innermost(x)
        return array_type(x).read(x, why)

    def counters(self, x: Any) -> Iterable[Counter]:
        if x._counter is not None:
            yield x._counter
        yield from counters_inside(x._array)

    def only_part(self, x: Any) -> Any:
        return None if x._requires_grad else array_type(x._array).only_part(x._array)

    def add_at(self, x: Any, index: Any, value: Any) -> bool:
        if not isinstance(value, Tensor) or value._level != x._level or x._requires_grad or value._requires_grad:
            return False
        return array_type(x._array).add_at(x._array, index, value._array)

    def touched(self, x: Any) -> Any:
        found = array_type(x._array).touched(x._array)
        return found if issubclass(type(found), (ndarray, np.generic)) else wrap(found, x._level)

    def copy(self, x: Any) -> Any:
        if x._requires_grad:
            return x.clone()
        made = new(type(x))  # nothing is recorded
        made._array, made._level, made._requires_grad = array_type(x._array).copy(x._array), x._level, False
        made._fn = made._counter = made._extra = None
        return note_copied(made)

    def memory(self, x: Any) -> ndarray | None:
        return memory_of(x._array)

    def layout(self, x: Any) -> ndarray | None:
        return layout_of(x._array)

    def is_view(self, result: Any, source: Any) -> bool:
        result = innermost(result)
        return array_type(result).is_view(result, innermost(source))

    def device(self, x: Any) -> str:
        return array_type(x._array).device(x._array)

    def leaving_gradient(self, gradient: Any) -> Any:
        kind = array_type(gradient._array)
        return gradient if kind is self else kind.leaving_gradient(gradient)


# The class of each face around an ndarray, and around anything else; `core.array_face` adds its own.
AROUND_NDARRAY: dict[type, type] = {NestedTensor: Tensor}
AROUND_OTHERS: dict[type, type] = {Tensor: NestedTensor}
_become = object.__dict__["__class__"].__set__


def inside_tensors(x: Any) -> Any:
    """The array in a Tensor, or in Tensors around each other; anything else as it is."""
    while isinstance(x, Tensor):
        x = x._array
    return x


def _values_in(x: RawArray, force: bool, why: str) -> Any:
    """The ndarray inside, for what is named `why`."""
    while isinstance(x, Tensor):
        if x._requires_grad and not force and modes.current().records(x._level):
            raise DetachingError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead (or "
                "numpy(force=True)) to plot or store values; inside a model keep the Tensor and call NumPy's "
                "functions on it directly."
            )
        x = x._array
        if type(x) is not ndarray and not isinstance(x, Tensor):
            x = _values_of(x, force)
    return x if type(x) is ndarray else array_type(x).read(x, why)


def only_number(x: Tensor, why: str) -> Any:
    """The only element as a Python number, for what is named `why`."""
    return Tensor.item(x) if type(x._array) is ndarray or x._array.size != 1 else _values_in(x, True, why).item()


def hold(tensor: Tensor, data: RawArray) -> None:
    """Let `tensor` be around another array, which may be of another type."""
    tensor._array = data
    kind = (AROUND_NDARRAY if type(data) is ndarray else AROUND_OTHERS).get(type(tensor))
    if kind is not None:
        _become(tensor, kind)


TENSORS = TensorType(TENSOR)
ARRAY_TYPES.update({Tensor: TENSORS, NestedTensor: TENSORS})


class Size(int):
    """Number of elements that, called, gives the shape or one dimension of it."""

    _shape: Shape

    def __new__(cls, count: int, shape: Shape) -> Self:
        made = super().__new__(cls, count)
        made._shape = shape
        return made

    @overload
    def __call__(self, dim: None = None) -> Shape: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> Shape | int:
        return self._shape if dim is None else _one_of("Tensor.size", self._shape, dim)


def _flag(name: str, argument: str, value: Any) -> bool:
    """`value` as a bool, refused if it is none."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}(): argument {argument!r} must be True or False, got {type(value).__name__}.")
    return bool(value)


def _one_of(name: str, values: Shape, dim: Any) -> int:
    """The entry of one dimension."""
    try:
        return values[operator.index(dim)]
    except IndexError:
        last = max(len(values), 1)
        raise IndexError(
            f"{name}(): Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {dim})"
        ) from None
    except TypeError:
        raise TypeError(f"{name}(): argument 'dim' must be an int or None, got {type(dim).__name__}.") from None


def wrap(data: RawArray, level: int = 0) -> Tensor:
    """A fresh tensor of `level` around an array, outside any graph."""
    out = new(Tensor if type(data) is ndarray else NestedTensor)
    out._array = data
    out._fn = out._counter = out._extra = None
    out._requires_grad = False
    out._level = level
    return out


def wrap_like(kind: type[Tensor], data: RawArray, level: int) -> Tensor:
    """The same with the face of the tensors of class `kind`."""
    out = wrap(data, level)
    _become(out, (AROUND_NDARRAY if type(data) is ndarray else AROUND_OTHERS).get(kind, kind))
    return out


def set_requires_grad(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """`requires_grad_`, inside of transforms too."""
    if type(requires_grad) is not bool:
        requires_grad = _flag("requires_grad_", "requires_grad", requires_grad)  # type: ignore[unreachable]
    if requires_grad == tensor._requires_grad:
        return tensor
    if not requires_grad:
        if not tensor.is_leaf:
            raise GradientError(
                "you can only change requires_grad flags of leaf variables. This tensor was computed by "
                f"{tensor.grad_fn.name()}; use detach() for a tensor outside the graph."
            )
        tensor._requires_grad = False
        return tensor
    if tensor._array.dtype.kind not in "fc":
        raise DtypeError(
            "requires_grad_(): Only Tensors of floating point and complex dtype can require gradients; this one "
            f"has dtype {tensor._array.dtype}. Convert it first, for example with .to(pullback.float64)."
        )
    extra = tensor._extra
    if extra is not None and extra.inference and not modes.current().inference:
        raise InplaceError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed: an inference "
            "tensor cannot require gradients outside inference_mode; make a copy with clone()."
        )
    extra_of(tensor)  # first: a tensor with neither Extra nor function looks like a constant to operators
    tensor._requires_grad = True
    return tensor


def detached_here(tensor: Tensor) -> Tensor:
    """`tensor` outside the graph of its own level alone: what lower levels know of it stays."""
    data = tensor._array
    return _alias(tensor, data if isinstance(data, Tensor) else array_type(data).detached(data))


def _without_derivative(data: RawArray) -> RawArray:
    """The array in a detached tensor: a constant for every level, without tangents."""
    while type(data) is not ndarray:
        if isinstance(data, Tensor):
            return _alias(data, _without_derivative(data._array))  # it may be written into, and have a function then
        plain: RawArray = array_type(data).detached(data)
        if plain is data:
            break
        data = plain
    return data


def _follow(alias: Tensor, source: Tensor) -> None:
    """Let a detached alias of an array without memory have what is written into the other, and the other way."""
    extra = source._extra
    base = None if extra is None else extra.base
    made = extra_of(alias)
    if extra is None or base is None or base._counter is not source._counter:
        made.base, made.steps = source, ()
    else:
        made.base, made.steps = base, extra.steps
    made.is_alias = True
    slots.remember_view(made.base, alias)


def _alias(tensor: Tensor, data: RawArray) -> Tensor:
    """A tensor outside the graph around `data`, which lies in the memory of `tensor`: they share the counter."""
    counter_of(tensor)
    out = wrap_like(type(tensor), data, tensor._level)
    out._counter = tensor._counter
    extra = tensor._extra
    if extra is not None and (extra.inference or extra.no_view is not None):
        made = extra_of(out)
        made.inference, made.no_view = extra.inference, extra.no_view
    if data is tensor._array and memory_of(data) is None:
        _follow(out, tensor)
    return out


def _values_of(data: Any, force: bool) -> Any:
    """The values for numpy() where the tensor holds an array of another type."""
    kind = array_type(data)
    if not force and kind.carries_derivative(data):
        raise DetachingError(
            "Can't call numpy() on a Tensor that has a tangent: forward mode would silently lose it. "
            "forward_ad.unpack_dual(tensor) has both; for the primal alone use tensor.detach().numpy() (or "
            "numpy(force=True))."
        )
    return kind.values(data)


def strided(tensor: Tensor, name: str) -> ndarray:
    """The memory in which a tensor lies, for the method of that name."""
    memory = layout_of(tensor)
    if memory is None:
        raise UnsupportedError(f"{name}(): {with_article(innermost(tensor))} has no place in memory, and no strides.")
    return memory


def _cannot_be_copied(tensor: Tensor) -> GradientError:
    call = slots.call_site()
    if call.library not in ("", "copy", "pickle"):  # as matplotlib's plot copies what it draws
        return GradientError(
            f"{call.name or call.library} would copy a tensor computed by {tensor.grad_fn.name()}, which cannot be "
            f"copied with its graph.{call.where()}Give it plain values: t.detach().numpy()."
        )
    return GradientError(
        f"a tensor computed by {tensor.grad_fn.name()} cannot be pickled or copied with its graph; pickle t.detach() "
        "(and call requires_grad_() on what is loaded), copy t.clone() or t.detach()."
    )


def _undeletable(name: str) -> GradientError:
    return GradientError(f"{name} of a tensor cannot be deleted: assign to it.")


def _say_that_nothing_fills_grad(tensor: Tensor) -> None:
    warnings.warn(
        f"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed (it was computed by "
        f"{tensor._fn.node().name()}): backward() does not fill it. Call retain_grad() on it before backward().",
        stacklevel=3,
    )


def _take_other_form(tensor: Tensor, value: Tensor) -> None:
    """See to it that a tensor may have another shape and dtype from now on: what knows of the old ones is let go."""
    if not tensor._requires_grad:
        return
    if value.dtype.kind not in "fc":
        raise GradientError(
            "data set to a tensor that requires gradients must be floating point or complex dtype, got "
            f"{value.dtype}; convert it first, or call requires_grad_(False)."
        )
    if not tensor.is_leaf:
        raise mismatch(tensor, value, "data")
    extra = extra_of(tensor)
    if extra.grad is not None:
        warnings.warn(
            f"assigning to .data: .grad, of shape {extra.grad.shape} and dtype {extra.grad.dtype}, does not fit the "
            f"new shape {value.shape} and dtype {value.dtype}, and was set to None. Set it to None yourself first.",
            stacklevel=3,
        )
        extra.grad = None
    node = extra.accumulator and extra.accumulator()
    if node is not None:  # graphs lead to it, whose gradients have the old form
        node.variable = before = wrap(tensor._array, tensor._level)
        set_requires_grad(before)
        before.register_hook(_refuse_gradient)
        extra.accumulator = None


def _refuse_gradient(grad: Tensor) -> None:
    raise GradientError(
        f"a gradient of shape {grad.shape} and dtype {grad.dtype} has arrived for a leaf that got another shape or "
        "dtype since, by assigning to .data. Compute the loss again."
    )


def mismatch(tensor: Tensor, value: Any, attribute: str, phrase: str = "") -> GradientError:
    """The error of assigning to .data or .grad what does not look like the tensor."""
    found = (
        f"shape {value.shape}, dtype {value.dtype} and level {value._level}"
        if isinstance(value, Tensor)
        else type(value).__name__
    )
    return GradientError(
        f"{phrase}assigning to .{attribute}: expected a Tensor of shape {tensor.shape}, dtype {tensor.dtype} and "
        f"level {tensor._level}, got {found}. Reshape or convert it first."
    )


def not_one_element(tensor: Tensor) -> GradientError:
    """The error of item() on anything but one element."""
    return GradientError(
        f"item(): a Tensor with {tensor.numel()} elements cannot be converted to Scalar: item() needs one element, and "
        f"the shape is {tensor.shape}. Use tolist() for all of them."
    )


def _check_new_grad(tensor: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}: grad must be "
            "a "
            f"Tensor or None, got {type_name(value)}; wrap it in pullback.from_numpy."
        )
    if value is tensor:
        raise GradientError("can't assign Variable as its own grad: assign a detach() or clone() of the Tensor.")
    if value.shape != tensor.shape or value.dtype != tensor.dtype:
        sizes = value.shape != tensor.shape
        known = f"of size '{as_list(value.shape)}'" if sizes else f"with dtype '{value.dtype}'"
        other = f"of size '{as_list(tensor.shape)}'" if sizes else f"with grad_dtype '{tensor.dtype}'"
        raise mismatch(tensor, value, "grad", f"attempting to assign a gradient {known} to a tensor {other}: ")


def _unpickle(array: RawArray, requires_grad: bool) -> Tensor:
    out = wrap(array)
    return set_requires_grad(out) if requires_grad else out
