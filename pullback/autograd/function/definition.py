"""Custom Functions: an operation with a backward of its own, written in Python."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import compress, islice
from typing import Any

from pullback.autograd.function.agreement import check_agreement
from pullback.autograd.function.arguments import explain_missing_attribute, explain_missing_ctx, in_order
from pullback.autograd.function.arrays import (
    batched_inside,
    differentiated_inside,
    further_out,
    named,
    refuse_what_detached,
    wrapped,
)
from pullback.autograd.function.differentiable_once import has_tangent
from pullback.autograd.function.intermediates import exchanged
from pullback.autograd.function.node import FunctionNode
from pullback.autograd.function.outputs import check_forward, finish, has_no_gradient
from pullback.autograd.function.reads import Draws
from pullback.core import cuts, modes
from pullback.core.array_face import shown_as_tensors, wrap_as
from pullback.core.array_type import array_type, is_array
from pullback.core.errors import GradientError, GradientTypeError
from pullback.core.observers import run_operator
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, hold, inside_tensors
from pullback.core.version import counter_of, version_of
from pullback.dispatch.steps import lift
from pullback.graph.node import edge_to
from pullback.graph.view import make_view

# (Function, arguments, level) -> the outputs, where an argument has a tangent; filled when forward mode is first used.
dual_apply: Callable[..., Any] | None = None
# The same where an argument is batched, by the Function's own vmap; None: there is none. Filled with vmap.
batched_apply: Callable[..., Any] | None = None
# (class, arguments) -> (what it gives,) where a trace records an argument, or None: see compiler.functions.
recorded_apply: Callable[..., Any] | None = None
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
        if recorded_apply is not None:
            found = recorded_apply(cls, args)
            if found is not None:
                return found[0]
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


_AS_THEY_ARE = nullcontext()
# Where a ctx keeps what its methods are given.
_KEPT = (
    ("_to_save", "save_for_backward"),
    ("_for_forward", "save_for_forward"),
    ("_dirty", "mark_dirty"),
    ("_non_differentiable", "mark_non_differentiable"),
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
        refuse_what_detached(ctx.name(), watch, [y for y in outputs if not has_no_gradient(ctx, y)])
        if watch.cuts and cls.follows_intermediates and cls.setup_context is Function.setup_context:
            refuse_what_detached(ctx.name(), watch, ctx._to_save, "saves")
            for name, kept in islice(ctx.__dict__.items(), ctx._own, None):
                refuse_what_detached(ctx.name(), watch, flatten(kept)[0], f"keeps as ctx.{name}")
        # What follows custom rules (func/rules/nodes.py) has run them further out itself.
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
