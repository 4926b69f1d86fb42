"""`custom_op`: an operator of a Python function, declared, loaded and run as one that is declared in YAML."""

from __future__ import annotations

import functools
import json
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.array_type import ARRAY_TYPES, NUMPY
from pullback.core.errors import type_name
from pullback.core.tensor import ndarray
from pullback.dispatch.operator import FOUND, OPERATORS, Operator
from pullback.dispatch.tangent_rules import rule_of
from pullback.library.annotations import Signature
from pullback.library.derivative import Derivative
from pullback.library.kernel import kernel_of, rule_of_batches
from pullback.ops.extension import NameTakenError
from pullback.ops.loading import DeclarationError, declare

_SOURCE = "pullback.library.custom_op"
_made: dict[tuple[str, str], CustomOp] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    tags: str | Iterable[str] = (),
) -> Any:
    """Make an operator of a function, whose type annotations are its schema.

    It is the operator that a declaration in YAML would make: it has a node of its own in graphs, is found as
    `pb.ops.<namespace>.<name>`, and runs under every transform and on every type of array that it has a rule for.

    Parameters
    ----------
    name : str
        "namespace::name". The namespace is that of your project.
    fn : callable, optional
        Computes. Its arguments and results are annotated: Tensor or numpy.ndarray, whichever it is to be given (all the
        same one); float, int, bool, str, complex; lists and Optional of these. It returns one array, a tuple of arrays,
        a NamedTuple of them or a list. What it is given is read-only. Without it, a decorator.
    mutates_args : iterable of str
        The argument that it writes into: () for none, or the first array, which the call then returns. The function
        itself is then annotated `-> None`.
    tags : str or iterable of str
        Those of a declaration in YAML, such as "pointwise", from which follow rules for vmap. `opcheck` tries what they
        promise.

    Returns
    -------
    CustomOp
        To be called with Tensors, ndarrays and numbers; with methods that register its derivatives.

    Raises
    ------
    DeclarationError
        A ValueError: an annotation, the name or a tag is wrong.
    NameTakenError
        A ValueError: another function has the name already. The same function may be defined again, as when a cell or
        a module runs twice.

    Examples
    --------
    >>> @pb.library.custom_op("doc_custom::sinc2", mutates_args=())
    ... def sinc2(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    ...     return np.sinc(scale * x) ** 2
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    ...     ctx.scale = inputs[1]
    >>> def backward(ctx, grad):
    ...     (x,) = ctx.saved_tensors
    ...     s = np.sinc(ctx.scale * x)
    ...     return grad * 2 * s * (np.cos(np.pi * ctx.scale * x) - s) / x, None
    >>> _ = sinc2.register_autograd(backward, setup_context=setup_context)
    >>> x = pb.tensor([0.25, 0.5], requires_grad=True)
    >>> y = sinc2(x)
    >>> y
    tensor([0.81056947, 0.40528473], grad_fn=<Sinc2Backward0>)
    >>> pb.autograd.gradcheck(sinc2, x)
    True
    """
    if fn is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, tags=tags)
    if not callable(fn):
        raise TypeError(f"custom_op: give it a function, not {type_name(fn)}: @custom_op({name!r}, mutates_args=()).")
    return CustomOp(name, fn, mutates_args, tags)


class CustomOp:
    """An operator that `custom_op` has made; call it as the function.

    Parameters
    ----------
    name, fn, mutates_args, tags
        As `custom_op` takes them.

    Raises
    ------
    RuntimeError
        By the methods that register: there is one already; or the operator writes into an argument, and has no
        derivative to register.
    TypeError
        By these: what they are given cannot be called, or is no class of arrays where `register_kernel` takes one.

    Examples
    --------
    >>> @pb.library.custom_op("doc_custom::twice", mutates_args=())
    ... def twice(x: pb.Tensor) -> pb.Tensor:
    ...     return 2 * x
    >>> twice
    <CustomOp doc_custom::twice(Tensor x) -> Tensor>
    >>> pb.ops.doc_custom.twice(pb.tensor(3.0))
    tensor(6.)
    """

    _is_operator = True  # see autograd/function/reads.py
    _origin: tuple[str, str]  # the module and the name of the function

    def __init__(
        self, name: str, fn: Callable[..., Any], mutates_args: str | Iterable[str], tags: str | Iterable[str]
    ) -> None:
        functools.update_wrapper(self, fn)
        signature = Signature(fn, mutates_args)
        namespace, colons, leaf = name.partition("::")
        if not (colons and namespace.isidentifier() and leaf.isidentifier()):
            raise signature.error(f"the name {name!r} is not namespace::name", 'Write one such as "mylib::sinc2"')
        before = _made.get((namespace, leaf))
        if before is not None and before._origin != _origin(fn):
            raise NameTakenError(
                f"custom_op: {name!r} is taken by {'.'.join(before._origin)}. Choose another name for "
                f"{'.'.join(_origin(fn))}."
            )
        self._name, self._schema, self._origin = name, f"{leaf}{signature.schema}", _origin(fn)
        self._kernels: dict[Any, Callable[..., Any]] = {}  # what is registered: by type of array
        # The module in which the declaration finds the kernel.
        module = types.ModuleType(f"{__package__}.kernel_of_{namespace}__{leaf}")
        kernel = module.__dict__[leaf] = kernel_of(fn, signature, name)
        sys.modules[module.__name__] = module
        loaded = self._declared(namespace, leaf, module.__name__, tags, signature)
        self._function = getattr(loaded, leaf)
        self._operator: Operator = OPERATORS[f"{namespace}.{leaf}"]
        self._signature, self._kernel = signature, kernel
        self._derivative = Derivative(name, signature, self._function)
        arity, inputs = len(signature.kinds), self._derivative.inputs
        self._operator.rule = rule_of(self._operator, self._derivative.push, arity, inputs)
        self._operator.derived = self._derivative.record
        self._vmap: Any = None
        if before is not None:
            before._withdraw()
            before.__dict__ = self.__dict__  # whoever holds it calls what has replaced it
        _made[namespace, leaf] = self

    def _declared(
        self, namespace: str, leaf: str, module: str, tags: str | Iterable[str], signature: Signature
    ) -> types.ModuleType:
        """The module of the namespace, with the operator."""
        tags = tags if isinstance(tags, str) else ", ".join(tags)
        doc = (self.__doc__ or f"{leaf} of {namespace}.").strip().partition("\n")[0]
        lines = [
            f"namespace: {namespace}", f"kernels: {module}", "native_functions:",
            f"  - func: {json.dumps(self._schema)}", f"    kernel: {leaf}", f"    doc: {json.dumps(doc)}",
        ]  # fmt: skip
        if tags:
            lines.append(f"    tags: {tags}")
        try:
            return declare("\n".join([*lines, ""]), _SOURCE)
        except DeclarationError as error:
            raise signature.error(error.problem, error.remedy) from None

    def __repr__(self) -> str:
        return f"<CustomOp {self._name.partition('::')[0]}::{self._schema}>"

    def __reduce__(self) -> str:
        return self._origin[1]  # of the function, in whose place it stands

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """Register the backward, as a custom Function has it.

        Parameters
        ----------
        backward : callable
            `backward(ctx, *grads)` is given the cotangent of each output (a list of them where the operator returns a
            list) and returns a gradient for each argument of the operator: None for those without, a list for a list.
            If it is made of differentiable operations, so is the gradient.
        setup_context : callable, optional
            `setup_context(ctx, inputs, output)` saves what backward needs: ctx.save_for_backward(...), or attributes of
            ctx. `inputs` has every argument, defaults too.

        Returns
        -------
        callable
            `backward`, so this is a decorator.

        Examples
        --------
        >>> @pb.library.custom_op("doc_custom::cube", mutates_args=())
        ... def cube(x: pb.Tensor) -> pb.Tensor:
        ...     return x**3
        >>> def backward(ctx, grad):
        ...     return grad * 3 * ctx.saved_tensors[0] ** 2
        >>> def setup_context(ctx, inputs, output):
        ...     ctx.save_for_backward(inputs[0])
        >>> _ = cube.register_autograd(backward, setup_context=setup_context)
        >>> pb.func.grad(cube)(2.0)
        np.float64(12.0)
        """
        self._admit("register_autograd", backward, self._derivative.pull)
        if setup_context is not None:
            self._admit("register_autograd(setup_context=...)", setup_context, None)
        self._derivative.pull, self._derivative.setup_context = backward, setup_context
        self._derivative.__dict__.pop("_reads_outside", None)  # of the one that was missing
        return backward

    def register_tangent(self, tangent: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the tangent of the results, for forward mode, as a decorator.

        Parameters
        ----------
        tangent : callable
            `tangent(tangents, result, *args)` as the jvp of `custom_jvp`: `tangents` has one for each argument, zeros
            where it does not move, None where it is no floating-point array. Returns the tangent of the result: one for
            each if there are several, None for whole numbers.

        Returns
        -------
        callable
            `tangent` itself.

        Examples
        --------
        >>> @pb.library.custom_op("doc_custom::exp3", mutates_args=())
        ... def exp3(x: pb.Tensor) -> pb.Tensor:
        ...     return (3 * x).exp()
        >>> @exp3.register_tangent
        ... def tangent(tangents, result, x):
        ...     return 3 * result * tangents[0]
        >>> pb.func.jvp(exp3, (pb.tensor(0.0),), (pb.tensor(1.0),))
        (tensor(1.), tensor(3.))
        """
        self._admit("register_tangent", tangent, self._derivative.tangent)
        self._derivative.tangent = tangent
        return tangent

    def register_vmap(self, vmap: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what the operator gives for a batch, as a decorator. Without it samples run one after the other.

        Parameters
        ----------
        vmap : callable
            `vmap(info, in_dims, *args)` returns (output, out_dims). `info.batch_size` is the number of samples.
            `in_dims` has 0 for each argument that is batched, in front, and None for any other.

        Returns
        -------
        callable
            `vmap` itself.

        Examples
        --------
        >>> @pb.library.custom_op("doc_custom::sort1", mutates_args=())
        ... def sort1(x: np.ndarray) -> np.ndarray:
        ...     return np.sort(x)
        >>> @sort1.register_vmap
        ... def vmap(info, in_dims, x):
        ...     return np.sort(x, axis=-1), 0
        >>> pb.func.vmap(sort1)(np.array([[2.0, 1.0], [3.0, 4.0]]))
        array([[1., 2.],
               [3., 4.]])
        """
        from pullback.arrays.batched.rules import RULES  # which nothing but vmap needs

        self._admit("register_vmap", vmap, self._vmap, writing=True)
        self._vmap = vmap
        RULES[self._operator.kernel] = rule_of_batches(vmap, self._signature, self._name)
        self._forget()
        return vmap

    def register_kernel(self, array_type: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what computes on another type of array, or on ndarrays in place of the function itself.

        Parameters
        ----------
        array_type : class of arrays, or sequence of these
            numpy.ndarray, or a class that `pullback.extend.register_array_type` has made known.
        fn : callable, optional
            The same function for such arrays, which it is given as they are. Without it, a decorator.

        Returns
        -------
        callable
            `fn` itself.

        Examples
        --------
        >>> @pb.library.custom_op("doc_custom::half", mutates_args=())
        ... def half(x: pb.Tensor) -> pb.Tensor:
        ...     return x / 2
        >>> @half.register_kernel(np.ndarray)
        ... def half_of_arrays(x):
        ...     return np.multiply(x, 0.5)
        >>> half(pb.tensor(3.0))
        tensor(1.5)
        """
        if fn is None:
            return functools.partial(self.register_kernel, array_type)
        for kind in array_type if isinstance(array_type, (tuple, list)) else (array_type,):
            if kind not in ARRAY_TYPES:
                raise TypeError(
                    f"{self._name}: register_kernel takes a class of arrays, numpy.ndarray or one that "
                    f"pullback.extend.register_array_type knows, got {kind!r}."
                )
            self._admit(f"register_kernel({kind.__name__})", fn, self._kernels.get(kind), writing=True)
            self._kernels[kind] = fn
            if kind is ndarray:
                self._kernel.replace(fn)  # type: ignore[attr-defined]
            elif ARRAY_TYPES[kind].table is NUMPY:
                raise TypeError(f"{self._name}: {kind.__name__} computes with the kernel of numpy.ndarray.")
            else:
                ARRAY_TYPES[kind].kernels[self._operator.kernel] = self._kernel.of(fn)  # type: ignore[attr-defined]
        self._forget()
        return fn

    def _admit(self, method: str, given: Any, before: Any, writing: bool = False) -> None:
        if not callable(given):
            raise TypeError(f"{self._name}: {method} takes a function, got {type_name(given)}.")
        if self._signature.mutated and not writing:
            raise RuntimeError(
                f"{self._name} writes into {', '.join(self._signature.mutated)}, so it has no derivative to register. "
                "Make an operator that returns the result, and register it there."
            )
        if before is not None:
            raise RuntimeError(
                f"{self._name}: {method} was called before, with {getattr(before, '__qualname__', before)}. Remove one "
                "of the two calls."
            )

    def _withdraw(self) -> None:
        """Take what is registered for other arrays out of their tables, before a new definition takes the name."""
        for kind in self._kernels:
            if kind is not ndarray:
                del ARRAY_TYPES[kind].kernels[self._operator.kernel]
        if self._vmap is not None:
            from pullback.arrays.batched.rules import RULES

            del RULES[self._operator.kernel]

    def _forget(self) -> None:
        """Let what was made of the operator for types of arrays be made again."""
        FOUND.clear()
        self._operator.calls.clear()
        self._operator.array_calls.clear()


def _origin(fn: Any) -> tuple[str, str]:
    """The module and the name of a function."""
    return str(getattr(fn, "__module__", "")), str(getattr(fn, "__qualname__", type(fn).__qualname__))
