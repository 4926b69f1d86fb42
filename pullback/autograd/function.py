"""Custom Functions: an operation with a backward of its own, written in Python."""

from pullback.core import modes, slots
from pullback.core.dispatch import TENSOR, lift, wrap_result
from pullback.core.errors import GradientError, InplaceError
from pullback.core.node import MultiNode, Port, next_sequence_nr, port
from pullback.core.saved import Released, checked, output_again, unpack_raw, version_when_saved, watch_output
from pullback.core.tensor import Tensor, wrap


class FunctionNode(MultiNode):
    """The node of a custom Function; it is the `ctx` of its forward and backward, so it has room for attributes."""

    takes_undefined = True

    def __init__(self, function, level, needs_input_grad):
        self._sequence_nr = None
        self._next0 = self._next1 = self._nexts = self._extra = self._shape = self._dtype = None
        self._ports = ()
        self._function = function
        self._level = level
        self._to_save = ()
        self._saved = ()
        self._dirty = self._non_differentiable = ()
        self._materialize = True
        self.needs_input_grad = needs_input_grad

    # -- what forward and setup_context may call -------------------------------------------------------------
    def save_for_backward(self, *tensors):
        """Keep tensors (inputs, outputs or others; None is kept too) for `backward`, checked for modification."""
        for i, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward can only save Tensors or None, but argument {i} is of type {type(x).__name__}; "
                    "keep other values as attributes of ctx."
                )
        self._to_save = tensors

    def mark_dirty(self, *tensors):
        """Say that forward modified these inputs in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say that these outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether `backward` gets zeros (True, the default) or None for undefined gradients."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self):
        """The tensors given to save_for_backward, after checking that none was modified in place since."""
        return tuple(self._unpack(*kept) for kept in self._saved)

    def _unpack(self, x, version, nr):
        x = checked(x, version, self)
        return x if nr is None else output_again(x, version, Port(self, nr, *self._ports[nr]), self._level)

    # -- as a node -------------------------------------------------------------------------------------------
    def apply(self, ops, grads, unpack):
        raw = unpack is unpack_raw
        grads = [grads] if self.outputs == 1 else (grads or [None] * self.outputs)
        tensors = [self._as_tensor(g, nr, raw) for nr, g in enumerate(grads)]
        results = self._function.backward(self, *tensors)
        return [self._from_tensor(r, i, raw) for i, r in self._checked(results)]

    def _as_tensor(self, g, nr, raw):
        if g is None:
            if not self._materialize:
                return None
            shape, dtype = self._ports[nr]
            return wrap(TENSOR.zeros(shape, dtype=dtype)._data, self._level)
        return wrap_result(g, self._level) if raw else g

    def _checked(self, results):
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

    def _from_tensor(self, value, i, raw):
        if value is None:
            return None
        if not isinstance(value, Tensor):
            raise TypeError(
                f"function {self.name()} returned a {type(value).__name__} as gradient {i}; expected a Tensor or None."
            )
        if self._nexts[i] is None:
            return None
        if raw and value._level == self._level:
            return value._data
        return value

    def release(self):
        self._saved = tuple((None, Released, None) for _ in self._saved)


class _FunctionMeta(type):
    """Gives every Function its node class, named as PyTorch names it."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        cls._node_class = type(f"{name}Backward", (FunctionNode,), {"__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """Base class of operations with a backward of their own.

    Write the static methods `forward(ctx, *args)` and `backward(ctx, *grads)`, or `forward(*args)`,
    `setup_context(ctx, inputs, output)` and `backward`; call it through `apply`. `backward` takes one gradient for each
    output and returns one for each argument of forward: conj(J)^T applied to the cotangent, None for an argument
    without gradient.

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

    @staticmethod
    def forward(*args):
        """Compute the outputs; the first argument is ctx unless `setup_context` is defined."""
        raise NotImplementedError("You must implement the static method forward for a custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save on ctx what backward needs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of the inputs."""
        raise NotImplementedError(
            "You must implement the static method backward for a custom autograd.Function to use it with backward()."
        )

    def __init__(self):
        raise TypeError(
            f"{type(self).__name__} should not be instantiated: a Function has static methods and is called through "
            f"{type(self).__name__}.apply(...)."
        )

    @classmethod
    def apply(cls, *args):
        """Run forward, and record a node whose backward is this Function's."""
        level = max((a._level for a in args if isinstance(a, Tensor)), default=0)
        args = tuple(lift(a, level) if isinstance(a, Tensor) and a._level != level else a for a in args)
        needs = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        state = modes.current()
        records = any(needs) and state.records(level)
        ctx = cls._node_class(cls, level, needs)
        edges = tuple(port(a) for a in args) if records else ()
        before = modes.set_modes(state.with_recording(False, level))
        try:
            output = cls._run_forward(ctx, args)
        finally:
            modes.set_modes(before)
        single = not isinstance(output, tuple)
        results = _finish(ctx, args, (output,) if single else output, edges, records)
        return results[0] if single else tuple(results)

    @classmethod
    def _run_forward(cls, ctx, args):
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output


def _finish(ctx, args, outputs, edges, records):
    """The outputs as tensors of the graph, the saved tensors kept, the modified inputs rebased."""
    for x in ctx._dirty:
        if not any(x is out for out in outputs):
            raise InplaceError(f"{ctx.name()}: an input marked as dirty must be returned by forward as well.")
    results = [_own_output(ctx, args, out) for out in outputs]
    if records:
        ctx._sequence_nr = next_sequence_nr()
        ctx._nexts = edges
        ctx._ports = tuple((r.shape, r.dtype) if isinstance(r, Tensor) else ((), None) for r in results)
        for nr, (out, result) in enumerate(zip(outputs, results, strict=True)):
            _connect(ctx, nr, out, result)
    ctx._saved = tuple(_keep(ctx, x, outputs, results) for x in ctx._to_save) if records else ()
    ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
    return results


def _own_output(ctx, args, out):
    """An output that may get a function of its own: an input that was returned unchanged is aliased."""
    if not isinstance(out, Tensor) or any(out is x for x in ctx._dirty):
        return out
    if any(out is a for a in args) or out._fn is not None or out._requires_grad:
        return out.detach()
    return out


def _connect(ctx, nr, out, result):
    if not isinstance(result, Tensor) or result.dtype.kind not in "fc":
        return
    if any(out is x for x in ctx._non_differentiable):
        return
    entrance = Port(ctx, nr, result.shape, result.dtype)
    if any(out is x for x in ctx._dirty):
        slots.check_inplace(result, ctx.name(), True)
        slots.rebase_history(result, entrance, port(result), ctx.name())
    else:
        result._fn, result._requires_grad = entrance, True


def _keep(ctx, x, outputs, results):
    """(what is kept, its version, which output it is) for one saved tensor; an output is kept as data, so that no cycle arises."""
    if x is None:
        return None, None, None
    for out, result in zip(outputs, results, strict=True):
        if x is out and result._fn is not None and result._fn.node() is ctx:
            return result._data, watch_output(result), result._fn.output_nr
    return x, version_when_saved(x), None
