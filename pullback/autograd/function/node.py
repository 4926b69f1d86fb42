"""The node of a custom Function, which is the `ctx` of its forward and backward."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.autograd.engine import user_callbacks
from pullback.autograd.engine.node_hooks import raw_of
from pullback.autograd.function.arguments import explain_missing_attribute
from pullback.autograd.function.intermediates import run_followed, run_nested
from pullback.core import cuts, slots
from pullback.core.array_face import ARRAYS, as_tensor, show_as_array
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, GradientTypeError, with_article
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Gradient, Version
from pullback.dispatch.steps import wrap_result
from pullback.graph.node import Edge, MultiNode, OutputEdge, Unpack, begin
from pullback.graph.packed import Packed
from pullback.graph.saved import (
    Released,
    checked,
    gives_raw,
    output_again,
    saved_again,
)


class FunctionNode(MultiNode):
    """The node of a custom Function; it is the `ctx` of its forward and backward, so it has room for attributes.

    Parameters
    ----------
    Made by `Function.apply`.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument of forward whether backward is asked for its gradient.

    Examples
    --------
    >>> class Scale(pb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor  # whatever is not a tensor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return (grad * ctx.factor if ctx.needs_input_grad[0] else None), None
    >>> y = Scale.apply(pb.tensor(2.0, requires_grad=True), 3.0)
    >>> isinstance(y.grad_fn, pb.autograd.function.FunctionCtx), y.grad_fn.factor
    (True, 3.0)
    """

    takes_undefined = True

    _nexts: tuple[Edge | None, ...]
    _to_save: tuple[Tensor | None, ...]
    _for_forward: tuple[Any, ...]
    _in_jvp: bool  # whether `saved_tensors` are those saved for forward
    _saved: tuple[tuple[Any, Version, int | None], ...]  # what is kept, its version, which output it is
    _dirty: tuple[Tensor, ...]
    _non_differentiable: tuple[Tensor, ...]
    _arrays: bool
    _own: int  # how many attributes are not the user's
    _intermediates: Any = None  # the Intermediates that forward has kept
    _again: dict[int, Callable[[Any], Any]] | None = None  # while backward is recorded: what makes others of the saved
    _outer: Sequence[int]  # levels of the transforms that differentiate what is inside of the arguments
    _withheld: tuple[int, ...]  # inputs that need a gradient and for which backward returned None

    def __init__(self, function: type[Any], level: int, args: tuple[Any, ...]) -> None:
        begin(self, None)  # type: ignore[arg-type]  # the number and the edges are found when forward has run
        self._output_metadata = ()
        self._function = function
        self._level = level
        self._to_save = self._for_forward = ()
        self._in_jvp = False
        self._saved = ()
        self._dirty = self._non_differentiable = ()
        self._materialize = True
        self._withheld = self._outer = ()
        self._given_tensors = given = tuple([isinstance(a, Tensor) for a in args])
        # Results have NumPy's face then; forward and backward are written for Tensors.
        self._arrays = not ARRAYS.isdisjoint(map(type, args))
        self.needs_input_grad = tuple([t and a._requires_grad for a, t in zip(args, given, strict=True)])
        self._own = len(self.__dict__) + 1  # what comes behind is the user's

    if TYPE_CHECKING:  # the attributes that a user's forward puts on its ctx

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def _like(self, function: Any, args: Sequence[Any]) -> Any:
        """Return a fresh node for another run of the same call."""
        return function._backward_cls(function, self._level, args)

    # -- what forward and setup_context may call -------------------------------------------------------------
    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors and arrays for `backward`, which finds them in `saved_tensors`, checked for modification.

        Parameters
        ----------
        *tensors : Tensor, ndarray or None
            Inputs, outputs or others. Only those of the last call are kept.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            One is nothing of these: keep it as an attribute of ctx.

        Examples
        --------
        >>> class Exp(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         result = x.exp()
        ...         ctx.save_for_backward(result)
        ...         return result
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (result,) = ctx.saved_tensors
        ...         return grad * result
        >>> x = pb.tensor(0.0, requires_grad=True)
        >>> Exp.apply(x).backward()
        >>> x.grad
        tensor(1.)
        """
        _only_arrays("save_for_backward", tensors)
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`; they are let go of when it has run.

        Parameters
        ----------
        *tensors : Tensor, ndarray or None
            Inputs, outputs or others.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            One is nothing of these.

        Examples
        --------
        >>> class Square(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_forward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * tangent
        >>> pb.func.jvp(Square.apply, (pb.tensor(3.0),), (pb.tensor(1.0),))
        (tensor(9.), tensor(6.))
        """
        _only_arrays("save_for_forward", tensors)
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that forward modified these inputs in place; it returns them too.

        Parameters
        ----------
        *tensors : Tensor

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            Of `Function.apply`: one is not an input, or forward does not return it.

        Examples
        --------
        >>> class Double(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = pb.tensor(3.0, requires_grad=True)
        >>> y = x.clone()
        >>> Double.apply(y) is y, y.item()
        (True, 6.0)
        """
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient; backward gets zeros for them.

        Parameters
        ----------
        *tensors : Tensor

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            Of `Function.apply`: one is not an output.

        Examples
        --------
        >>> class Sorted(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, order = x.sort()
        ...         ctx.mark_non_differentiable(order)
        ...         ctx.save_for_backward(order)
        ...         return values, order
        ...     @staticmethod
        ...     def backward(ctx, grad, _):
        ...         (order,) = ctx.saved_tensors
        ...         return pb.zeros_like(grad).scatter(0, order, grad)
        >>> values, order = Sorted.apply(pb.tensor([3.0, 1.0], requires_grad=True))
        >>> values.requires_grad, order.requires_grad
        (True, False)
        """
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether `backward` gets zeros (True, the default) or None for undefined gradients.

        Parameters
        ----------
        value : bool

        Returns
        -------
        None

        Examples
        --------
        >>> class Both(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x.sin(), x.cos()
        ...     @staticmethod
        ...     def backward(ctx, *grads):
        ...         print(grads)
        >>> first, second = Both.apply(pb.tensor(0.0, requires_grad=True))
        >>> first.backward()
        (tensor(1.), None)
        """
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors given to save_for_backward, None for None, after checking that none was modified since.

        In `jvp` those given to save_for_forward.

        Raises
        ------
        RuntimeError
            One was modified in place since, or a backward without `retain_graph` has released them.
        """
        if self._in_jvp:
            return self._for_forward
        found = tuple(self._unpack(*kept) for kept in self._saved)
        return (
            tuple(self._again[i](x) if i in self._again else x for i, x in enumerate(found)) if self._again else found
        )

    @property
    def saved_variables(self) -> tuple[Tensor, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=cuts.frames_to_user()
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return slots.raw_saved(self, "tensors")  # type: ignore[no-any-return]

    def _unpack(self, x: Any, version: Version, nr: int | None) -> Any:
        if type(version) is Packed:
            entrance = None if nr is None else OutputEdge(self, nr, *self._output_metadata[nr])
            return as_tensor(saved_again(version.tensor(x, self, entrance)))
        x = saved_again(checked(x, version, self))
        if nr is None:
            return wrap(x, self._level) if type(x) is ndarray else as_tensor(x)
        return output_again(x, version, OutputEdge(self, nr, *self._output_metadata[nr]), self._level)

    def _faced(self, fresh: Tensor) -> Tensor:
        """A tensor that nobody else knows yet, with the face of the arguments."""
        if self._arrays and type(fresh) not in ARRAYS:
            show_as_array(fresh, not fresh.ndim)
        return fresh

    # -- as a node -------------------------------------------------------------------------------------------
    def apply(self, ops: Any, grads: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        raw = gives_raw(unpack)
        grads = [grads] if self.outputs == 1 else (grads or [None] * self.outputs)
        tensors = [self._as_tensor(g, nr, raw) for nr, g in enumerate(grads)]
        backward: Any = self._function.backward
        if (not raw or self._outer) and self._function.follows_intermediates:
            backward = functools.partial(run_nested if raw else run_followed, backward=backward)
        try:
            results = user_callbacks.call(backward, (self, *tensors), not raw, self._level)
        except AttributeError as error:
            explain_missing_attribute(self, error)
            raise
        found = [self._from_tensor(r, i, raw) for i, r in self._checked(results)]
        complete = all(t is not None for t in tensors)  # None for None is no loss
        self._withheld = tuple(i for i, g in enumerate(found) if g is None and self.needs_input_grad[i] and complete)
        return found

    def _as_tensor(self, g: Gradient, nr: int, raw: bool) -> Tensor | None:
        if g is None:
            if not self._materialize:
                return None
            shape, dtype = self._output_metadata[nr]
            if dtype is None:  # an output that is no tensor
                return None
            return wrap(TENSOR.zeros(shape, dtype=dtype)._array, self._level)
        g = saved_again(g)  # whose tangents operators would drop where their level has ended
        return wrap_result(g, self._level) if raw else as_tensor(g)

    def _checked(self, results: Any) -> Iterable[tuple[int, Any]]:
        results = results if isinstance(results, tuple) else (results,)
        count = len(self._nexts)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise GradientError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)}): backward returns one for each argument of forward, None for those without."
            )
        return enumerate(results)

    def _from_tensor(self, value: Any, i: int, raw: bool) -> Gradient:
        if value is None:
            return None
        if not isinstance(value, Tensor):
            raise GradientTypeError(
                f"function {self.name()} returned {with_article(value)} as gradient {i}; expected a Tensor or None."
                + (" Write pullback.from_numpy(array)." if issubclass(type(value), ndarray) else "")
            )
        if not self._given_tensors[i]:
            raise GradientError(
                f"function {self.name()} returned a gradient for argument {i} of forward, which was not a Tensor; "
                "return None."
            )
        edge = self._nexts[i]
        if edge is None:
            return None
        if value.dtype.kind == "c" and edge._dtype is not None and edge._dtype.kind != "c":
            raise GradientError(
                f"function {self.name()} returned a complex gradient ({value.dtype}) for argument {i} of forward, "
                f"which is real ({edge._dtype}); return its real part."
            )
        return raw_of(value, self._level) if raw else value

    def repack(self, pack: Callable[[Any, Version], tuple[Any, Version]]) -> None:
        self._saved = tuple((*pack(x, version), nr) for x, version, nr in self._saved)

    def release(self) -> None:
        self._saved = tuple((None, Released, None) for _ in self._saved)
        if self._intermediates is not None:
            self._intermediates.args = None


FunctionCtx = FunctionNode  # PyTorch's name for the class of ctx: for annotations and isinstance


def _only_arrays(method: str, tensors: tuple[Any, ...]) -> None:
    for i, x in enumerate(tensors):
        if x is not None and not isinstance(x, (Tensor, ndarray, np.floating, np.complexfloating)):
            raise TypeError(
                f"{method} can only save variables, but argument {i} is of type {type(x).__name__}: Tensors, ndarrays "
                "(which become Tensors) or None; keep other values as attributes of ctx."
            )
