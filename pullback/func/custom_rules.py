"""custom_vjp and custom_jvp: functions of ndarrays whose derivative the user gives.

The user's functions get plain ndarrays wherever that loses no derivative. Where their own derivative is wanted
(`create_graph`, a transform inside another) they run on Tensors, and what cannot be followed there is refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine import execute
from pullback.autograd.function import Function
from pullback.core import cuts, modes
from pullback.core.array_face import ARRAYS, as_array, as_tensor, is_single, show_as_array, wrap_array
from pullback.core.array_type import NUMBERS, carries_derivative, read
from pullback.core.errors import (
    DetachingError,
    DtypeError,
    GradientError,
    GradientTypeError,
    UnsupportedError,
    type_name,
    with_article,
)
from pullback.core.pytree import Structure, flatten, leaves_like, unflatten
from pullback.core.tensor import Extra, Tensor, ndarray, wrap
from pullback.graph.node import edge_to
from pullback.graph.saved import Form, save_other

_Map = Callable[[list[Any]], Sequence[Any]]


def custom_vjp(
    function: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    *,
    jvp: Callable[..., Any] | None = None,
) -> Any:
    """A function of ndarrays, compiled code perhaps, that is differentiated by a rule of yours: its vjp.

    Parameters
    ----------
    function : callable
        Takes ndarrays, floats, trees (lists, tuples, dicts, registered classes) of these and anything else, and returns
        an array, a float or a tree. Without it, a decorator.
    vjp : callable, optional
        `vjp(cotangent, result, *args, **keywords)`: what the function returned, and its arguments as they were
        given. Gives the gradient of each argument by position: J^H cotangent in the argument's shape and structure, None
        where there is none. For one argument its gradient alone will do. Or name it later: `@f.defvjp`.
    jvp : callable, optional
        `jvp(tangents, result, *args, **keywords)` for forward mode: `tangents` is a tuple with one for each argument;
        gives that of the result, J tangents. Or name it later: `@f.defjvp`.

    Returns
    -------
    CustomFunction
        Of the same arguments. Called without Tensors it is the function itself: ndarrays in, ndarrays out.

    Raises
    ------
    RuntimeError
        On a call: neither vjp nor jvp is given; the function uses a differentiated variable that is no argument, or an
        argument by keyword only is one. In backward: the gradients do not fit, or the vjp is to be differentiated and
        leaves for compiled code.
    TypeError
        A gradient is no array, or the arguments do not fit.

    Notes
    -----
    The rules get plain, read-only ndarrays (NumPy scalars for zero dimensions). Where they are differentiated themselves
    they get arrays that record, so a rule written with NumPy's functions has derivatives of every order, and one that
    calls compiled code is refused then by name. Of vjp and jvp one is made of the other if it is not given: they are
    transposes; that too takes one that is written with NumPy's functions, as far as the cotangent (tangent) goes.

    `f.defvjp(forward, backward)` is JAX's form: `forward(*args)` gives (result, residuals), `backward(residuals,
    cotangent)` the gradients.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> @pb.custom_vjp
    ... def solve(A, b):
    ...     return scipy.linalg.solve(A, b)
    >>> @solve.defvjp
    ... def solve_vjp(cotangent, x, A, b):
    ...     y = solve(A.T, cotangent)
    ...     return -np.outer(y, x), y
    >>> A, b = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([1.0, 2.0])
    >>> solve(A, b)
    array([0.25, 0.5 ])
    >>> pb.func.grad(lambda b: solve(A, b).sum())(b)
    array([0.5  , 0.125])
    """
    return _made(function, vjp, jvp)


def custom_jvp(
    function: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    *,
    vjp: Callable[..., Any] | None = None,
) -> Any:
    """A function of ndarrays that is differentiated by a rule of yours, its jvp; see `custom_vjp`.

    Backward transposes the jvp, which must be written with NumPy's functions as far as the tangents go.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import erfcx
    >>> @pb.custom_jvp
    ... def scaled(x):
    ...     return erfcx(x)
    >>> @scaled.defjvp
    ... def scaled_jvp(tangents, y, x):
    ...     return tangents[0] * (2 * x * y - 2 / np.sqrt(np.pi))
    >>> round(pb.func.grad(scaled)(1.0).item(), 6)
    -0.273212
    """
    return _made(function, vjp, jvp)


def _made(function: Any, vjp: Any, jvp: Any) -> Any:
    if function is None:
        return functools.partial(_made, vjp=vjp, jvp=jvp)
    return CustomFunction(function, vjp, jvp)


class CustomFunction:
    """A function with a derivative of its own; `custom_vjp` and `custom_jvp` make it."""

    def __init__(self, function: Callable[..., Any], vjp: Any = None, jvp: Any = None) -> None:
        for role, given in (("the function", function), ("vjp", vjp), ("jvp", jvp)):
            if not callable(given) and (given is not None or role == "the function"):
                raise TypeError(f"custom_vjp, custom_jvp: {role} must be callable, got {type_name(given)}.")
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._function, self._forward, self._vjp, self._jvp = function, None, vjp, jvp
        self._node = type(self._name, (_Recorded,), {"__module__": getattr(function, "__module__", __name__)})
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # of some compiled functions
            self._signature = None

    def __repr__(self) -> str:
        return f"<custom rules of {self._function!r}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined,no-any-return]  # of the function, in whose place it stands

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _places(self) -> list[inspect.Parameter]:
        """The parameters that take arguments by position, as far as they are known."""
        found = () if self._signature is None else self._signature.parameters.values()
        return [p for p in found if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]

    def defvjp(self, vjp: Callable[..., Any], backward: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Name the vjp: see `custom_vjp`; or two functions, `forward` and `backward`. A decorator, too."""
        self._vjp, self._forward = (vjp, None) if backward is None else (backward, vjp)
        return self._vjp

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Name the jvp: see `custom_vjp`. A decorator, too."""
        self._jvp = jvp
        return jvp

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Tensor) for x in flatten((args, kwargs))[0]):
            return self._record(args, kwargs, modes.current())
        return self._function(*args, **kwargs)

    def _record(self, args: tuple[Any, ...], kwargs: dict[str, Any], state: modes.Modes) -> Any:
        call = _Call(self, args, kwargs, state)
        results = self._node.apply(call, *call.leaves)  # type: ignore[attr-defined]
        if call.arrays:
            pairs = zip(results, call.single, strict=True)
            results = [show_as_array(y, one) if isinstance(y, Tensor) else y for y, one in pairs]
        return unflatten(call.result, list(results))


class _Call:
    """One call of a custom function, in leaves."""

    result: Structure
    single: list[bool]  # which of its leaves are numbers, not arrays without dimensions

    def __init__(self, custom: CustomFunction, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> None:
        self.custom, self.state, name = custom, state, custom._name
        if custom._signature is not None:
            args, kwargs = _by_position(name, custom._signature, args, kwargs)
        self.leaves, self.args = flatten(args)
        self.count = len(args)
        self.arrays = any(type(x) in ARRAYS for x in self.leaves)  # whether it wears NumPy's face
        found, structure = flatten(kwargs)
        found = [_stripped(x) for x in found]
        if any(isinstance(x, Tensor) for x in found):
            names = [key for key, x in kwargs.items() if any(isinstance(_stripped(y), Tensor) for y in flatten(x)[0])]
            raise GradientError(
                f"{name}: the argument {names[0]!r}, given by keyword only, is being differentiated, but its vjp gives "
                f"gradients of arguments by position. Make {names[0]!r} an ordinary argument, or detach() it."
            )
        self.kwargs = unflatten(structure, [_given(x) for x in found])
        if custom._vjp is None and custom._jvp is None and any(isinstance(_stripped(x), Tensor) for x in self.leaves):
            raise GradientError(
                f"{name} has no derivative yet: name its vjp with @{name}.defvjp, or its jvp with @{name}.defjvp."
            )

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments by position, with these leaves."""
        return unflatten(self.args, [_given(x) for x in leaves])  # type: ignore[no-any-return]

    def run(self, role: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, why: str = "") -> Any:
        """What one of the user's functions gives: plain values of plain arguments, or Tensors that have recorded."""
        leaves, structure = flatten((args, kwargs))
        levels = {x._level for t in leaves for x in _levels_of(t)}
        if levels:
            args, kwargs = unflatten(structure, [_beside(x, max(levels)) for x in leaves])
        else:
            with _note_on_writing(self.custom._name):
                return function(*args, **kwargs)
        runs = [cuts.Run(level) for level in levels]
        watched: Any = function
        for run in runs:
            watched = functools.partial(run.watch, watched)
        try:
            found = watched(*args, **kwargs)
        except Exception as error:
            if not isinstance(error, _OF_COMPILED_CODE):
                error.add_note(f"This is the {role} of {self.custom._name}, which runs on Tensors here: {why}.")
                raise
            kind = DetachingError if isinstance(error, DetachingError) else UnsupportedError
            raise kind(self._refusal(role, why, f"{type(error).__name__}: {error}")) from error
        for run in runs:
            for what in run.cuts.keys() & _NUMBERS:
                file, line = run.cuts[what]
                refusal = self._refusal(role, why, f"{what} at {file}:{line} makes a plain number of an array.")
                raise DetachingError(refusal)
        return found

    def _refusal(self, role: str, why: str, what: str) -> str:
        return (
            f"{self.custom._name}: its {role} cannot be differentiated, but it must be: {why}.\n{what}\nWrite the "
            f"{role} with NumPy's or pullback's functions, which record here, or give what it calls a rule of its own "
            "(pullback.custom_vjp)."
        )

    def gradients(self, found: Any, points: Sequence[Any]) -> list[Any]:
        """What a vjp has returned, by leaves: checked, None where there is none."""
        name, names = self.custom._name, self.names()
        parts = self.args[2]
        most = max(self.count, len(self.custom._places()))  # those of defaults may come too
        if self.count == 1 and not (isinstance(found, tuple) and len(found) <= most and not _has_form(found, parts[0])):
            found = (found,)
        elif isinstance(found, (tuple, list)) and len(found) <= most:
            found = found[: self.count]
        if not isinstance(found, (tuple, list)) or len(found) != self.count:
            got = f"{len(found)} in a {type_name(found)}" if isinstance(found, (tuple, list)) else with_article(found)
            raise GradientError(
                f"{name}: its vjp returned an incorrect number of gradients: expected a tuple of {self.count}, one for "
                f"each argument ({', '.join(names)}), None for those without a gradient; got {got}."
            )
        by_leaf: list[Any] = [None] * len(points)
        for argument, part, gradient in zip(names, parts, found, strict=True):
            whose = f"the vjp of {name}: the gradient of {argument}"
            for nr, value, path in _leaves_like(gradient, part, whose):
                by_leaf[nr] = _fitting(value, points[nr], whose + path, sums=True)
        return by_leaf

    def tangents(self, found: Any, points: Sequence[Any]) -> list[Any]:
        """What a jvp has returned, by leaves of the result: checked, None where there is none."""
        whose = f"the jvp of {self.custom._name}: the tangent of the result"
        by_leaf: list[Any] = [None] * len(points)
        for nr, value, path in _leaves_like(found, self.result, whose):
            by_leaf[nr] = _fitting(value, points[nr], whose + path, sums=False)
        return by_leaf

    def names(self) -> list[str]:
        """The names of the arguments by position."""
        names: list[str] = []
        for parameter in self.custom._places():
            several = parameter.kind is parameter.VAR_POSITIONAL
            names += [f"{parameter.name}[{i}]" for i in range(self.count - len(names))] if several else [parameter.name]
        return names[: self.count] or [f"argument {i}" for i in range(self.count)]


class _Kept(int):
    """Stands for an array among the leaves of a call: its number among the saved tensors."""

    __slots__ = ()


class _Recorded(Function):
    """A call of a custom function with Tensors, in leaves; a subclass for each function gives the node its name."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *leaves: Any) -> tuple[Any, ...]:
        ctx.call, custom = call, call.custom
        inside = [_stripped(x) for x in leaves]
        args, residuals, ctx.has_residuals = call.arguments(inside), None, False
        if any(isinstance(x, Tensor) for x in inside):  # differentiated further out: recorded there, by this same rule
            found = custom._record(args, call.kwargs, call.state)
            outputs, call.result = flatten(found)
            outputs = [wrap(y, ctx._level) if isinstance(y, Tensor) and y._level < ctx._level else y for y in outputs]
        else:
            before = modes.set_modes(call.state)  # so that what the function should not use is seen: see _own
            try:
                with _note_on_writing(custom._name):
                    found = (custom._forward or custom._function)(*args, **call.kwargs)
                if custom._forward is not None:
                    found, residuals = _pair(custom._name, found)
                    ctx.has_residuals = True
                outputs, call.result = flatten(found)
                outputs = [_own(custom._name, y) for y in outputs]
                kept, ctx.residuals_structure = flatten(residuals)
                kept = [_own(custom._name, x) for x in kept]
            finally:
                modes.restore(before)
        call.single = [is_single(y) if isinstance(y, (Tensor, ndarray, np.generic)) else False for y in outputs]
        saved: list[Any] = []

        def keep(x: Any) -> Any:
            if not isinstance(x, (Tensor, np.floating, np.complexfloating)) and not (
                isinstance(x, ndarray) and x.dtype.kind in "biufc"
            ):
                return x
            saved.append(x)
            return _Kept(len(saved) - 1)

        ctx.leaves = [keep(x) if isinstance(x, Tensor) else save_other(x)[0] for x in leaves]
        ctx.forms = [Form(x) if isinstance(x, Tensor) else x for x in leaves]
        ctx.outputs_kept = [keep(y) for y in outputs]
        ctx.residuals = [keep(x) for x in kept] if ctx.has_residuals else []
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        call = ctx.call
        differentiable = [d is not None and d.kind in "fc" for _, d in ctx._output_metadata]
        cotangents = [_stripped(g) if is_one else None for g, is_one in zip(grads, differentiable, strict=True)]
        if call.custom._vjp is not None:
            found = _pulled(ctx, cotangents, "the gradient is itself being differentiated")
        else:
            args, outputs = _values(ctx, ctx.leaves), _values(ctx, ctx.outputs_kept)
            wanted = [i for i, needs in enumerate(ctx.needs_input_grad[1:]) if needs]

            def push(directions: list[Any]) -> list[Any]:
                given = [_zeros(x) for x in args]
                for i, direction in zip(wanted, directions, strict=True):
                    given[i] = direction
                why = "there is no vjp, so it is made of the jvp"
                return _pushed(ctx, given, args, outputs, why)

            found = [None] * len(args)
            for i, g in zip(wanted, _transposed(push, [args[i] for i in wanted], cotangents), strict=True):
                found[i] = g
        found = [g if needs else None for g, needs in zip(found, ctx.needs_input_grad[1:], strict=True)]
        return (None, *(None if g is None else _at_level(g, ctx) for g in found))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        args, outputs = _values(ctx, ctx.leaves), _values(ctx, ctx.outputs_kept)
        directions = [_zeros(x) if t is None else _stripped(t) for x, t in zip(args, tangents, strict=True)]
        if ctx.call.custom._jvp is not None:
            found = _pushed(ctx, directions, args, outputs, "the tangent is itself being differentiated")
        else:
            why = f"there is no jvp (@{ctx.call.custom._name}.defjvp), so it is made of the vjp"
            moving = [i for i, t in enumerate(tangents) if t is not None]

            def pull(cotangents: list[Any]) -> list[Any]:
                given = iter(cotangents)
                found = _pulled(ctx, [next(given) if _is_differentiable(y) else None for y in outputs], why)
                return [_summed(found[i], args[i]) for i in moving]

            points = [y for y in outputs if _is_differentiable(y)]
            moved = iter(_transposed(pull, points, [directions[i] for i in moving]))
            found = [next(moved) if _is_differentiable(y) else None for y in outputs]
        return tuple(None if t is None else _at_level(t, ctx) for t in found)


def _pulled(ctx: Any, cotangents: list[Any], why: str) -> list[Any]:
    """The gradients by leaves, from the user's vjp."""
    call, custom = ctx.call, ctx.call.custom
    cotangent = unflatten(call.result, [_given(c) for c in cotangents])
    if custom._forward is None:
        args = _values(ctx, ctx.leaves)
        result = unflatten(call.result, [_given(y) for y in _values(ctx, ctx.outputs_kept)])
        given = (cotangent, result, *call.arguments(args))
        return call.gradients(call.run("vjp", custom._vjp, given, call.kwargs, why), args)  # type: ignore[no-any-return]
    # The arguments are looked at only where the residuals depend on them: they may have been written into since.
    plain = ctx.has_residuals and not modes.current().records(ctx._level)
    args = ctx.forms if plain else _values(ctx, ctx.leaves)
    if plain or (ctx.has_residuals and not any(isinstance(x, Tensor) for x in args)):
        residuals = unflatten(ctx.residuals_structure, [_given(x) for x in _values(ctx, ctx.residuals)])
    else:
        found = call.run("forward", custom._forward, call.arguments(args), call.kwargs, why)
        _, residuals = _pair(custom._name, found)
    return call.gradients(call.run("backward", custom._vjp, (residuals, cotangent), {}, why), args)  # type: ignore[no-any-return]


def _pushed(ctx: Any, directions: list[Any], args: list[Any], outputs: list[Any], why: str) -> list[Any]:
    """The tangents by leaves of the result, from the user's jvp."""
    call = ctx.call
    result = unflatten(call.result, [_given(y) for y in outputs])
    given = (call.arguments(directions), result, *call.arguments(args))
    return call.tangents(call.run("jvp", call.custom._jvp, given, call.kwargs, why), outputs)  # type: ignore[no-any-return]


def _transposed(linear: _Map, points: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The transpose of a linear map, which takes arrays like `points`, applied to cotangents of its results."""
    state = before = modes.current()
    depth = max((x._level for p in (*points, *cotangents) if isinstance(p, Tensor) for x in _levels_of(p)), default=0)
    while state.level <= depth or state is before:
        state = state.deeper()
    level = state.level
    try:
        modes.restore(state.differentiating())
        variables = []
        for p in points:
            variables.append(variable := wrap(_zeros(p), level))
            variable._requires_grad, variable._extra = True, Extra()
        roots = []
        for y, cotangent in zip(linear(variables), cotangents, strict=True):
            if isinstance(y, Tensor) and y._level == level and y._requires_grad and cotangent is not None:
                roots.append((edge_to(y), np.asarray(cotangent) if issubclass(type(cotangent), np.generic) else cotangent))
        if roots:
            execute(roots, level=level)
        grads = [variable._extra.grad for variable in variables]  # type: ignore[union-attr]
        return [None if g is None else g._array for g in grads]
    finally:
        modes.restore(before)


def _by_position(name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments as they were given, by position if they can be; a default only where it stands before one of them."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; it is {name}{signature}.") from None
    later = [key for key in bound.kwargs if key in signature.parameters]
    later = [key for key in later if signature.parameters[key].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if later:
        for parameter in signature.parameters.values():
            if parameter.name == later[-1]:
                break
            bound.arguments.setdefault(parameter.name, parameter.default)
        bound.arguments = {key: bound.arguments[key] for key in signature.parameters if key in bound.arguments}
    return bound.args, bound.kwargs


# -- leaves: what is inside of Tensors, and what users see of it -----------------------------------------------------------
def _stripped(x: Any) -> Any:
    """What is inside of a Tensor once the levels are left at which nothing is being differentiated."""
    state = modes.current()
    while isinstance(x, Tensor):
        inside = x._array
        if (x._requires_grad and state.records(x._level)) or carries_derivative(inside):
            return x
        x = inside if type(inside) is ndarray or isinstance(inside, Tensor) else read(inside, "a custom rule")
    return x


def _levels_of(x: Any) -> Iterator[Tensor]:
    """A Tensor, and those inside of it."""
    while isinstance(x, Tensor):
        yield x
        x = x._array


def _given(x: Any) -> Any:
    """A leaf as the user's function gets it: that it cannot be written into keeps the graph right.

    Without dimensions it is a number, as NumPy has it.
    """
    if isinstance(x, Tensor):
        if type(x) in ARRAYS:
            return x
        return as_array(x) if x.ndim else show_as_array(as_array(x), True)
    if type(x) is not ndarray:
        return x
    if not x.ndim:
        return x[()]
    view = x.view()
    view.flags.writeable = False
    return view


def _beside(x: Any, level: int) -> Any:
    """A constant among arrays that record, as one of them, so that what is made like it can hold what they are."""
    floating = type(x) is ndarray and x.dtype.kind in "fc"
    return wrap_array(x, level) if floating else x


def _own(name: str, x: Any) -> Any:
    """A leaf of what the user's function returned, as a plain value."""
    x = _stripped(x)
    if isinstance(x, Tensor):
        raise GradientError(
            f"{name}: its result depends on a Tensor that is being differentiated and that is no argument (of shape "
            f"{x.shape}), for which its rule gives no gradient. Pass it as an argument, or detach() it."
        )
    return np.asarray(x)[()] if isinstance(x, (float, complex)) else x


def _values(ctx: Any, kept: list[Any]) -> list[Any]:
    """The leaves of a call again."""
    return [_stripped(_saved(ctx, x)) if type(x) is _Kept else x for x in kept]


def _saved(ctx: Any, nr: int) -> Tensor:
    return ctx._for_forward[nr] if ctx._in_jvp else ctx._unpack(*ctx._saved[nr])  # type: ignore[no-any-return]


def _zeros(x: Any) -> Any:
    """Zeros of the shape and dtype of a leaf; None where it can have no derivative."""
    if type(x) in (float, complex):
        return type(x)(0)
    return np.zeros(x.shape, x.dtype) if _is_differentiable(x) else None


def _is_differentiable(x: Any) -> bool:
    return isinstance(x, (Tensor, ndarray, np.generic)) and x.dtype.kind in "fc"


def _at_level(x: Any, ctx: Any) -> Any:
    """A gradient or tangent as a Tensor of the node's level, with the face of the arguments."""
    faced = as_array if ctx.call.arrays else as_tensor
    x = faced(x) if isinstance(x, Tensor) else np.asarray(x)
    return x if isinstance(x, Tensor) and x._level == ctx._level else faced(wrap(x, ctx._level))


# -- checks ----------------------------------------------------------------------------------------------------------------
# What a library raises when it is given a Tensor instead of an ndarray.
_OF_COMPILED_CODE = (DetachingError, DtypeError, TypeError, AttributeError, NotImplementedError, SystemError)
_NUMBERS = {"float()", "complex()", "int()", "item()", "tolist()"}  # by which values leave for Python


class _note_on_writing:
    """Explains the error of a function that writes into what it was given."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, ValueError) and "read-only" in str(error):
            error.add_note(
                f"What {self.name} and its rules are given is read-only, because others need it unchanged: work on a "
                "copy (np.array(x))."
            )


def _pair(name: str, found: Any) -> Any:
    if not isinstance(found, tuple) or len(found) != 2:
        raise GradientError(f"{name}: its forward must return a pair (result, residuals), got {with_article(found)}.")
    return found


def _has_form(tree: Any, structure: Structure) -> bool:
    try:
        list(leaves_like(tree, structure))
    except ValueError:
        return False
    return not (isinstance(structure, int) and isinstance(tree, tuple))


def _leaves_like(tree: Any, structure: Structure, whose: str) -> Iterator[tuple[int, Any, str]]:
    try:
        yield from leaves_like(tree, structure)
    except ValueError as error:
        raise GradientError(f"{whose}{error}") from None


def _fitting(value: Any, point: Any, whose: str, sums: bool) -> Any:
    """A gradient of `point`, or with `sums` False a tangent of it, in its dtype; None where it can have none."""
    dtype = np.result_type(point) if type(point) in NUMBERS else getattr(point, "dtype", None)
    if dtype is None or dtype.kind not in "fc":
        return None
    if not isinstance(value, (Tensor, ndarray, np.generic, int, float, complex)):
        raise GradientTypeError(
            f"{whose} must be an array of shape {_shape(point)} and dtype {dtype}, got {with_article(value)}."
        )
    value = _stripped(value)
    value = value if isinstance(value, Tensor) else np.asarray(value)
    if value.dtype.kind not in "biufc":
        raise GradientTypeError(f"{whose} must be of dtype {dtype}, got dtype {value.dtype}.")
    shape = _shape(point)
    if value.shape != shape and not (sums and _broadcasts(shape, value.shape)):
        raise GradientError(f"{whose} must have shape {shape}, got shape {value.shape}.")
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise GradientError(
            f"{whose} must be real ({dtype}), got a complex one ({value.dtype}); return its real part."
        )
    return value if value.dtype == dtype else value.astype(dtype) if type(value) is ndarray else value.to(dtype)  # type: ignore[union-attr]


def _shape(x: Any) -> tuple[int, ...]:
    return () if type(x) in NUMBERS else tuple(x.shape)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of this shape was broadcast, so that the gradient is summed by whoever takes it."""
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(reversed(shape), reversed(to), strict=False))


def _summed(gradient: Any, x: Any) -> Any:
    """A gradient in the shape of its argument."""
    if not isinstance(gradient, Tensor) or gradient.shape == _shape(x):
        return gradient
    return gradient.sum_to_size(_shape(x))
