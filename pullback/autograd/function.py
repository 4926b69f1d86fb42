"""Custom Functions: an operation with a backward of its own, written in Python."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.autograd import user_callbacks
from pullback.autograd.differentiable_once import has_tangent, once_differentiable
from pullback.autograd.function_agreement import check_agreement
from pullback.autograd.function_arguments import explain_missing_attribute, explain_missing_ctx, in_order
from pullback.autograd.function_arrays import (
    batched_inside,
    differentiated_inside,
    further_out,
    named,
    refuse_what_detached,
    wrapped,
)
from pullback.autograd.function_intermediates import exchanged, intermediates, run_followed, run_nested
from pullback.autograd.function_reads import Draws
from pullback.autograd.node_hooks import raw_of
from pullback.core import cuts, modes, slots
from pullback.core.array_face import ARRAYS, as_tensor, show_as_array, shown_as_tensors, wrap_as
from pullback.core.array_type import TENSOR, array_type, is_array
from pullback.core.errors import GradientError, GradientTypeError, InplaceError, with_article
from pullback.core.observers import run_operator
from pullback.core.pytree import flatten
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, detached_here, hold, inside_tensors, ndarray, wrap
from pullback.core.types import Gradient, Version
from pullback.core.version import bump, counter_of, version_of
from pullback.dispatch.steps import lift, wrap_result
from pullback.graph.inplace_nodes import rebase_history
from pullback.graph.inplace_rules import check_inplace
from pullback.graph.node import Edge, MultiNode, OutputEdge, Unpack, begin, edge_to
from pullback.graph.packed import Packed
from pullback.graph.saved import (
    Released,
    checked,
    gives_raw,
    output_again,
    save_other,
    saved_again,
    watch_output,
)
from pullback.graph.view import Origin, make_view

__all__ = ["Function", "FunctionCtx", "FunctionNode", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


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

    def __init__(self, function: type[Function], level: int, args: tuple[Any, ...]) -> None:
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


# (Function, arguments, level) -> the outputs, where an argument has a tangent; filled when forward mode is first used.
dual_apply: Callable[..., Any] | None = None
# The same where an argument is batched, by the Function's own vmap; None: there is none. Filled with vmap.
batched_apply: Callable[..., Any] | None = None
# The same where an argument moves along a curve. Filled with jet.
taylor_apply: Callable[..., Any] | None = None


def _has_both(name: str) -> Any:
    """A forward that refuses to be called, for a Function with both names of backward."""

    def forward(*args: Any) -> None:
        raise GradientError(
            f"{name}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed: they are two names "
            "of one method."
        )

    return staticmethod(forward)


class _FunctionMeta(type):
    """Gives every Function its node class, named as PyTorch names it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if "vjp" in namespace and bases:  # the other name of backward
            if "backward" in namespace:
                cls.forward = _has_both(name)
            cls.backward = namespace["vjp"]
        if (word := namespace.get("double_backward")) not in (None, "exact"):
            raise ValueError(
                f'{name}: double_backward is "exact" (all that backward reads is saved or constant) or None, got '
                f"{word!r}."
            )
        cls._backward_cls = type(f"{name}Backward", (FunctionNode,), {"__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """Base class of operations with a backward of their own.

    Write the static methods `forward(ctx, *args)` and `backward(ctx, *grads)`, or `forward(*args)`,
    `setup_context(ctx, inputs, output)` and `backward`; call it through `apply`. `backward` takes one gradient for each
    output and returns one for each argument of forward: conj(J)^T applied to the cotangent, None for an argument
    without gradient. For forward mode write `jvp(ctx, *tangents)` too: it takes one tangent for each argument of
    forward (None for what is not a Tensor) and returns one for each output, J applied to the tangents. In it
    `ctx.saved_tensors` are what was given to `ctx.save_for_forward`.

    Inside several transforms (`func.grad` of `func.grad`) a Function serves them all by its rule. With `setup_context`
    forward runs once; `forward(ctx, ...)` runs for each transform, and must give the same again.

    Forward may compute with NumPy and SciPy: an ndarray or a floating-point number that it returns, alone or in a
    tuple, becomes a Tensor of the graph, and an ndarray given to `ctx.save_for_backward` one of `ctx.saved_tensors`.
    Backward returns Tensors.

    Parameters
    ----------
    *args, **kwargs
        Not used. A Function is called by `apply`: objects of it are of no use, and to make one gives a warning.

    Raises
    ------
    TypeError
        An object of it is called instead of its `apply`; of `apply`: arguments do not fit forward, which takes no ctx,
        say, or backward returned something that is not a Tensor.
    RuntimeError
        Of `apply`: forward modified an input without `mark_dirty`. Of a backward: another number of gradients than
        arguments, or one of another shape.
    NotImplementedError
        `forward`, `backward` or `jvp` is needed and not there.
    AttributeError
        ctx lacks what backward asks it for: the message names what forward has kept on it.

    Examples
    --------
    >>> class Square(pb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    double_backward: str | None = None  # "exact": what backward reads is saved or constant, by the author's word
    _agrees: bool  # of a class that has been tried: see function_agreement
    _reads_outside: bool  # of a class that has been looked at: see function_reads
    follows_intermediates = True  # whether what forward keeps on the way is looked at: see function_intermediates

    @staticmethod
    def forward(*args: Any) -> Any:
        """Compute the outputs. The first argument is ctx, unless `setup_context` is defined.

        Parameters
        ----------
        *args
            What `apply` was given: Tensors (or ndarrays) and anything else.

        Returns
        -------
        Tensor, ndarray, or tuple of these and of other objects

        Raises
        ------
        NotImplementedError
            A subclass has none.

        Examples
        --------
        >>> class Sine(pb.autograd.Function):  # computed by NumPy, outside of the graph
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return np.sin(x.numpy())
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * x.cos()
        >>> Sine.apply(pb.tensor(0.0, requires_grad=True))
        tensor(0., grad_fn=<SineBackward>)
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function: a static method forward."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save on ctx what backward needs.

        Parameters
        ----------
        ctx : FunctionCtx
            The node, on which to save what backward needs: `ctx.save_for_backward(...)`.
        inputs : tuple
            The arguments of forward.
        output
            What forward returned.

        Returns
        -------
        None

        Examples
        --------
        >>> class Cube(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x**3
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * 3 * x**2
        >>> x = pb.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the inputs.

        Parameters
        ----------
        ctx : FunctionCtx
            With `saved_tensors` and `needs_input_grad`.
        *grads : Tensor or None
            The cotangent of each output.

        Returns
        -------
        Tensor or None, or a tuple of them
            The gradient of each argument of forward, of its shape; None where there is none.

        Raises
        ------
        NotImplementedError
            A subclass has neither `backward` nor `vjp`, and a gradient is asked for.

        Examples
        --------
        >>> class Product(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, y, power):
        ...         ctx.save_for_backward(x, y)
        ...         ctx.power = power
        ...         return x * y**power
        ...     @staticmethod
        ...     def backward(ctx, grad):  # a gradient for each of x, y, power
        ...         x, y = ctx.saved_tensors
        ...         return grad * y**ctx.power, grad * x * ctx.power * y ** (ctx.power - 1), None
        >>> x, y = pb.tensor(3.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
        >>> Product.apply(x, y, 2).backward()
        >>> x.grad, y.grad
        (tensor(4.), tensor(12.))
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD: a static method backward(ctx, *grads)."
        )

    vjp = backward  # its other name, by which a subclass may define it

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents of the outputs.

        Parameters
        ----------
        ctx : FunctionCtx
            With `saved_tensors` of `save_for_forward`.
        *tangents : Tensor or None
            The tangent of each argument of forward.

        Returns
        -------
        Tensor or None, or a tuple of them
            The tangent of each output.

        Raises
        ------
        NotImplementedError
            A subclass has none, and a tangent is asked for.

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
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD: a static "
            "method jvp(ctx, *tangents)."
        )

    # PyTorch's switch. Under vmap forward and backward run on batched values in any case; in the backward of
    # grad(is_grads_batched=True) only if this says that backward is written for them.
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """(outputs, their batch dimensions) for a batch of arguments, where forward cannot run on batched values.

        `info` has `batch_size` and `randomness`; `in_dims` says which arguments are batched, with 0, or None, and of a
        list or dict, which parts. What comes back are Tensors or ndarrays, or trees of them. Under a
        gradient it takes effect for Functions with `setup_context`.

        Parameters
        ----------
        info
            With `batch_size` and `randomness`.
        in_dims : tuple
            For each argument 0 where it is batched, or None; of a list or dict, which of its parts.
        *args
            The arguments, with the batch in front.

        Returns
        -------
        (outputs, their batch dimensions)

        Examples
        --------
        >>> class Cube(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return pb.from_numpy(x.detach().numpy() ** 3)  # cannot run on batched values
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 3 * ctx.saved_tensors[0] ** 2
        ...     @staticmethod
        ...     def vmap(info, in_dims, x):
        ...         return Cube.apply(x), 0
        >>> pb.func.vmap(Cube.apply)(pb.tensor([1.0, 2.0]))
        tensor([1., 8.])
        """
        raise NotImplementedError("vmap is not implemented.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static: an object of it "
            f"records nothing, and is of no use. Call {name}.apply(...).",
            DeprecationWarning,
            stacklevel=cuts.frames_to_user(),
        )

    def __call__(self, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        raise GradientTypeError(
            "Legacy autograd function with non-static forward method is deprecated: an object of a Function is not "
            f"called, for it has no ctx. Make forward and backward of {name} static methods and call {name}.apply(...)."
        )

    @classmethod
    def _written(cls) -> tuple[Any, ...]:
        """Return the functions of the author's: forward, setup_context and backward."""
        return cls.forward, cls.setup_context, cls.backward

    @classmethod
    def _with(cls, written: Sequence[Any]) -> type[Function]:
        """The same Function with these in place of the author's."""
        named = zip(("forward", "setup_context", "backward"), written, strict=True)
        kind: Any = type(cls)
        made: type[Function] = kind(cls.__name__, (cls,), {name: staticmethod(method) for name, method in named})
        return made

    @classmethod
    def _pull(cls, backward: Any, ctx: Any, *grads: Any) -> Any:
        """The gradients that a backward of the author's gives for this Function."""
        return backward(ctx, *grads)

    @classmethod
    def _named_backward(cls, ctx: Any) -> tuple[str, Callable[..., Any]]:
        """Return what messages call the function that gives the gradients, and that function as its author knows it."""
        return "backward", cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record a node whose backward is this Function's.

        What is given by keyword counts by its place among forward's arguments; with `setup_context` its defaults count
        as given.

        Parameters
        ----------
        *args, **kwargs
            The arguments of forward, without ctx.

        Returns
        -------
        What forward returned: Tensors are recorded, ndarrays become Tensors.

        Raises
        ------
        RuntimeError, TypeError
            What forward, or in a backward its backward, gave does not fit; the message names the Function.

        Examples
        --------
        >>> class Scale(pb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, factor=2.0):
        ...         ctx.factor = factor
        ...         return x * factor
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.factor, None
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> Scale.apply(x, factor=3.0).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        """
        if kwargs or cls.setup_context is not Function.setup_context:
            args = in_order(cls, args, kwargs, cls.setup_context is Function.setup_context)
        level = max([a._level for a in args if isinstance(a, Tensor)], default=0)
        if level:
            args = tuple(lift(a, level) if isinstance(a, Tensor) and a._level != level else a for a in args)
        if batched_apply is not None and (cls.vmap is not Function.vmap or differentiated_inside(args)):
            found = batched_apply(cls, args, level)
            if found is not None:
                return found
        if taylor_apply is not None:
            found = taylor_apply(cls, args)
            if found is not None:
                return found[0]
        if dual_apply is not None and any(has_tangent(a) for a in args):
            return dual_apply(cls, args, level)
        ctx = cls._backward_cls(cls, level, args)
        state = modes.current()
        records = True in ctx.needs_input_grad and state.records(level)
        edges = tuple(map(edge_to, args)) if records else ()
        versions = [*map(version_of, compress(args, ctx.needs_input_grad))]
        output = forward_of(cls, ctx, args, state)
        single = not isinstance(output, tuple)
        if records:
            check_forward(ctx, args, versions, output)
        results = finish(ctx, args, (output,) if single else output, edges, records)
        return results[0] if single else tuple(results)

    @classmethod
    def _run_forward(cls, ctx: FunctionNode, args: tuple[Any, ...]) -> Any:
        with_ctx = cls.setup_context is Function.setup_context
        with shown_as_tensors(args) if ctx._arrays else _AS_THEY_ARE:
            if with_ctx:
                try:
                    found = [cls.forward(ctx, *args)]
                except TypeError:
                    explain_missing_ctx(cls, args)
                    raise
            elif differentiated_inside(args) or (cls.vmap is not Function.vmap and batched_inside(args)):
                found = [cls._run_further_out(ctx._level, args)]
            else:
                found = [cls.forward(*args)]
            output, pairs = wrapped(ctx.name(), ctx._level, args, found)
            if not with_ctx:
                cls.setup_context(ctx, args, output)
        for attribute, method in _KEPT:
            if tensors := getattr(ctx, attribute):
                setattr(ctx, attribute, named(ctx.name(), ctx._level, args, pairs, tensors, method))
        return output

    @classmethod
    def _run_further_out(cls, level: int, args: tuple[Any, ...]) -> Any:
        """The result of forward on what the Tensors are around, recorded there by this same Function.

        So its backward and jvp serve every transform that differentiates. A forward that has the ctx of one level runs
        on its tensors too, for what it keeps there.
        """
        inside = further_out(args)
        found = cls.apply(*inside)
        results = tuple(_seen_at(level, y, args, inside) for y in (found if isinstance(found, tuple) else (found,)))
        return results if isinstance(found, tuple) else results[0]


class InplaceFunction(Function):
    """`Function` by a name that PyTorch keeps for old code: to modify an input use `ctx.mark_dirty`.

    Parameters
    ----------
    *args, **kwargs
        Not used, as by `Function`.

    Examples
    --------
    >>> issubclass(pb.autograd.function.InplaceFunction, pb.autograd.Function)
    True
    """


class NestedIOFunction(Function):
    """`Function` by the name that PyTorch has for old code with nested inputs: it is written as any `Function` here.

    Parameters
    ----------
    *args, **kwargs
        Not used, as by `Function`.

    Examples
    --------
    >>> issubclass(pb.autograd.function.NestedIOFunction, pb.autograd.Function)
    True
    """


FunctionCtx = FunctionNode  # PyTorch's name for the class of ctx: for annotations and isinstance


_AS_THEY_ARE = nullcontext()
# Where a ctx keeps what its methods are given.
_KEPT = (
    ("_to_save", "save_for_backward"),
    ("_for_forward", "save_for_forward"),
    ("_dirty", "mark_dirty"),
    ("_non_differentiable", "mark_non_differentiable"),
)


def _only_arrays(method: str, tensors: tuple[Any, ...]) -> None:
    for i, x in enumerate(tensors):
        if x is not None and not isinstance(x, (Tensor, ndarray, np.floating, np.complexfloating)):
            raise TypeError(
                f"{method} can only save variables, but argument {i} is of type {type(x).__name__}: Tensors, ndarrays "
                "(which become Tensors) or None; keep other values as attributes of ctx."
            )


def forward_of(cls: type[Function], ctx: FunctionNode, args: tuple[Any, ...], state: modes.Modes) -> Any:
    """Runs the user's forward without recording, and returns what it returned."""
    run = functools.partial(cls._run_forward, ctx, args)
    outer = ctx._outer = differentiated_inside(args)
    try:
        modes.set_modes(state.with_recording(False, ctx._level))
        if state.observers:
            run = functools.partial(run_operator, state.observers, cls.__name__, args, run)
        if not outer:
            return run()
        watch, drawn = cuts.Run(max(outer)), Draws()
        output = watch.watch(run)
        outputs = output if isinstance(output, tuple) else (output,)
        refuse_what_detached(ctx.name(), watch, [y for y in outputs if not _has_no_gradient(ctx, y)])
        if watch.cuts and cls.follows_intermediates and cls.setup_context is Function.setup_context:
            refuse_what_detached(ctx.name(), watch, ctx._to_save, "saves")
            for name, kept in islice(ctx.__dict__.items(), ctx._own, None):
                refuse_what_detached(ctx.name(), watch, flatten(kept)[0], f"keeps as ctx.{name}")
        # What follows custom rules (func/rule_nodes.py) has run them further out itself.
        if cls.setup_context is not Function.setup_context or ctx._dirty or not cls.follows_intermediates:
            return output
        if cls.jvp is Function.jvp and any(_is_dual_inside(x) for x in args):
            # There is no rule for forward mode, which follows the operations of forward instead.
            if "_agrees" not in cls.__dict__:  # tried once
                with drawn:
                    check_agreement(cls, args, outputs)
                cls._agrees = True
            return output
        with drawn:
            found = cls._run_further_out(ctx._level, args)
        results = exchanged(ctx, outputs, found if isinstance(found, tuple) else (found,))
        return results if isinstance(output, tuple) else results[0]
    except AttributeError as error:
        explain_missing_attribute(ctx, error)
        raise
    finally:
        modes.restore(state)


def _is_dual_inside(x: Any) -> bool:
    """True if there is a dual array inside of a Tensor of several levels."""
    x = inside_tensors(x)
    return is_array(x) and array_type(x).dual


def check_forward(ctx: FunctionNode, args: tuple[Any, ...], versions: list[int], output: Any) -> None:
    """Refuse what would silently lose gradients: a list of outputs, inputs modified without mark_dirty."""
    if isinstance(output, (list, dict)):
        raise TypeError(
            f"{ctx.name()}: forward returned {with_article(output)}, through which no gradient flows; return a "
            "Tensor or a tuple of Tensors."
        )
    differentiated = compress(args, ctx.needs_input_grad)
    dirty = [a for a, before in zip(differentiated, versions, strict=True) if version_of(a) != before]
    if dirty and not all(any(a is d for d in ctx._dirty) for a in dirty):
        raise InplaceError(
            f"{ctx.name()}: forward silently modified an input in place; call ctx.mark_dirty(x) and return x, or "
            "work on x.clone()."
        )
    if not ctx._dirty:
        return
    outputs = output if isinstance(output, tuple) else (output,)
    if not all(any(x is out for out in outputs) for x in ctx._dirty):
        raise InplaceError(
            "Some elements marked as dirty during the forward method were not returned as output. An input that "
            f"{ctx.name()} marks with mark_dirty must be returned by forward as well."
        )
    several = len(outputs) > 1
    if several and any(a._is_view() and a._requires_grad and not _has_no_gradient(ctx, a) for a in ctx._dirty):
        raise InplaceError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            f"more than one Tensor: {ctx.name()}: forward modified a view in place and returned more than one output, "
            "which cannot be "
            "differentiated; return the modified view alone, or work on a clone()."
        )


def finish(
    ctx: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...], edges: tuple[Edge | None, ...], records: bool
) -> list[Any]:
    """The outputs as tensors of the graph, the saved tensors kept, the modified inputs rebased."""
    for x in ctx._dirty:
        if not isinstance(x, Tensor):
            raise InplaceError(f"{ctx.name()}: mark_dirty can only accept variables (Tensors), got {with_article(x)}.")
        if not any(x is a for a in args):
            warnings.warn(
                f"{ctx.name()}: ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
                "been mutated should be passed to ctx.mark_dirty(); leave this one out.",
                stacklevel=4,
            )
        bump(x, ctx.name())  # forward may have written through NumPy, which nobody else noticed
    results = [_own_output(ctx, args, out, records) for out in outputs]
    if ctx._arrays:
        for result in results:
            if isinstance(result, Tensor) and not any(result is x for x in ctx._dirty):
                ctx._faced(result)
    if records:
        ctx._sequence_nr = next_sequence_nr()
        ctx._nexts = edges
        ctx._output_metadata = tuple((r.shape, r.dtype) if isinstance(r, Tensor) else ((), None) for r in results)
        for nr, (out, result) in enumerate(zip(outputs, results, strict=True)):
            _connect(ctx, args, nr, out, result)
        if ctx._function.follows_intermediates and (found := intermediates(ctx, args, results)) is not None:
            ctx._intermediates = found
    ctx._saved = tuple(_keep(ctx, x, outputs, results) for x in ctx._to_save) if records else ()
    ctx._to_save = ctx._for_forward = ctx._dirty = ctx._non_differentiable = ()  # jvp, if there is one, has run
    if records:
        for observer in modes.current().observers:
            observer.recorded(ctx, ctx._level)
    return results


def _seen_at(level: int, result: Any, args: Sequence[Any], inside: Sequence[Any]) -> Any:
    """Return the result of a call further out as the call at `level` returns it: an argument, a view of one, or new."""
    if not isinstance(result, Tensor):
        return result
    seen = result if result._level == level else wrap_as(result, result, level)
    for x, y in zip(args, inside, strict=True):
        if result is y:  # modified in place
            hold(x, result if result._level < level else result._array)
            return x
        if isinstance(y, Tensor) and y._counter is not None and y._counter is result._counter:  # in one memory
            seen._counter = counter_of(x)
            if x._requires_grad:
                make_view(seen, x)
    return seen


def _own_output(ctx: FunctionNode, args: tuple[Any, ...], out: Any, records: bool) -> Any:
    """An output that may get a function of its own: an input that was returned unchanged is aliased."""
    if not isinstance(out, Tensor) or (any(out is x for x in ctx._dirty) and not _has_no_gradient(ctx, out)):
        return out
    if out._level != ctx._level:
        return _at_level(ctx, out)
    given = next((a for a in args if out is a), None)
    if given is None and (extra := out._extra) is not None and extra.base is not None:
        # Only a view of an input can be led back to where its function is not this one.
        given = next((a for a in args if isinstance(a, Tensor) and any(extra.base is b for b in (a, a._base))), None)
    result = detached_here(out) if out._fn is not None or out._requires_grad or given is out else out
    if records and given is not None and given._requires_grad:
        make_view(result, given)
    if (extra := result._extra) is not None and extra.base is not None and modes.current().records(ctx._level):
        extra.made_by = Origin("function", ctx.name())
    return result


def _at_level(ctx: FunctionNode, out: Tensor) -> Tensor:
    """A tensor that forward made at a lower level (from an ndarray, say) as an output at the level of the arguments."""
    if out._level > ctx._level:
        raise GradientError(
            f"{ctx.name()}: forward used a tensor of level {out._level} that is not among its arguments (of level "
            f"{ctx._level}), so its gradient would be lost; pass it as an argument."
        )
    if out._requires_grad:
        return lift(out, ctx._level)
    result = wrap(out._array, ctx._level)
    result._counter = counter_of(out)
    return result


def _has_no_gradient(ctx: FunctionNode, out: Any) -> bool:
    """True if forward marked this output with mark_non_differentiable."""
    return any(out is x for x in ctx._non_differentiable)


def _connect(ctx: FunctionNode, args: tuple[Any, ...], nr: int, out: Any, result: Any) -> None:
    if not isinstance(result, Tensor) or result.dtype.kind not in "fc":
        return
    if _has_no_gradient(ctx, out):
        if cuts.WATCHED:
            cuts.note(f"mark_non_differentiable of {ctx._function.__name__}", *args, made=result)
        return
    entrance = OutputEdge(ctx, nr, result.shape, result.dtype)
    if any(out is x for x in ctx._dirty):
        check_inplace(result, ctx.name(), True)
        rebase_history(result, entrance, edge_to(result), ctx.name())
    else:
        result._fn, result._requires_grad = entrance, True


def _keep(
    ctx: FunctionNode, x: Tensor | None, outputs: tuple[Any, ...], results: list[Any]
) -> tuple[Any, Version, int | None]:
    """(what is kept, its version, which output it is) for one saved tensor; of an output the data, to make no cycle."""
    if x is None:
        return None, None, None
    for out, result in zip(outputs, results, strict=True):
        if x is out and result._fn is not None and result._fn.node() is ctx:
            return result._array, watch_output(result), result._fn.output_nr
    return (*save_other(x), None)
