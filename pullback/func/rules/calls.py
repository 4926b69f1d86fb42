"""One call of a function with custom rules: its arguments in leaves, what users' functions get of them, and checks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core import cuts, modes
from pullback.core.array_face import ARRAYS, as_array, plain_until, program_run, show_as_array, wrap_array
from pullback.core.array_type import (
    ARRAY_TYPES,
    NDARRAY,
    NUMBERS,
    REGISTERED,
    array_type,
    carries_derivative,
    innermost,
    is_array,
    read,
)
from pullback.core.errors import (
    DetachingError,
    GradientError,
    GradientTypeError,
    UnsupportedError,
    type_name,
    with_article,
)
from pullback.core.pytree import Structure, flatten, leaves_like, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.func.rules.not_held import NotHeld, is_object
from pullback.graph.snapshot import kept_apart

# What a library raises when it is given a Tensor instead of an ndarray.
_OF_COMPILED_CODE = (DetachingError, TypeError, AttributeError, NotImplementedError, SystemError)
_NUMBERS = {"float()", "complex()", "int()", "item()", "tolist()"}  # by which values leave for Python
# What rules are called with before the arguments.
_FIRST = {
    "vjp": ("cotangent", "result"),
    "jvp": ("tangents", "result"),
    "forward": (),
    "backward": ("residuals", "cotangent"),
}


# (name, run, args, kwargs, rule) -> (what a function gives for a batch,), or None if no argument is batched at the
# innermost level: see func.rules.vmap, which comes with vmap.
batched_apply: Callable[..., Any] | None = None
# (name, run, args, kwargs) -> the same along curves: see func.rules.taylor, which comes with jet.
taylor_apply: Callable[..., Any] | None = None
# (linear function, args) -> its results for tangents that are not known yet, or None: see func.linearization.
tape_apply: Callable[..., Any] | None = None


class Rule:
    """A user's function, and what is known of its derivative."""

    def __init__(self, function: Callable[..., Any], vjp: Any, jvp: Any, writable: bool = False) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.function, self.vjp, self.jvp = function, vjp, jvp
        self.writable = writable
        self.forward: Callable[..., Any] | None = None  # of (result, residuals); the vjp takes these then
        self.vjps: dict[int, Callable[..., Any] | None] | None = None  # by argument, which the vjp then calls
        self.vmap: Callable[..., Any] | None = None
        self.has_looped = False  # over a batch, and said so
        # (a rule that needs numbers, arguments) -> what it gives where a batch is further in: func.implicit.by_sample
        self.by_sample: Callable[..., Any] | None = None
        # (its arguments) -> the list in which a call leaves what else it has found, for its caller
        self.beside: Callable[[tuple[Any, ...]], list[Any]] | None = None
        # (a rule's arguments) -> True where vjp and jvp are made of operators and such rules, and so know batches
        self.takes_batches: Callable[[tuple[Any, ...]], bool] | None = None
        self.instead = f"If you know its result for all samples at once, name it with @{self.name}.defvmap"
        self.seen_linear: Any = None  # the rule, its vjp or its jvp, that has been seen to be linear
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # of some compiled functions
            self.signature = None

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call one of the user's functions with plain values: their own copies, where it may write into them.

        Where arrays record calls, that is one step for them.
        """
        if program_run.get() is None:  # no trace runs
            return self._call(function, args, kwargs)
        for x in flatten((args, kwargs))[0]:
            if (kind := REGISTERED.get(type(x))) is not None and kind.records_calls(x):
                break
        else:
            return self._call(function, args, kwargs)
        if self.beside is None or function is not self.function:
            return kind.record_call(x, self.name, self._call, function, args, kwargs)
        said = self.beside(args)

        def run(*given: Any) -> Any:
            before = len(said)
            found = self._call(*given)
            more = [said.pop() for _ in said[before:]]
            leaves, structure = flatten(more)
            return found, unflatten(structure, [np.asarray(x)[()] if type(x) in (int, bool) else x for x in leaves])

        found, more = kind.record_call(x, self.name, run, function, args, kwargs)
        said += _shown(more)
        return found

    def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self.writable:
            leaves, structure = flatten((args, kwargs))
            args, kwargs = unflatten(structure, [x.copy() if type(x) is ndarray else x for x in leaves])
        with on_plain_arrays(self.name):
            return function(*args, **kwargs)

    def places(self) -> list[inspect.Parameter]:
        """The parameters that take arguments by position, as far as they are known."""
        found = () if self.signature is None else self.signature.parameters.values()
        return [p for p in found if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]


class Call:
    """One call of a custom function, in leaves."""

    result: Structure
    single: list[bool]  # which of its leaves are numbers, not arrays without dimensions

    def __init__(self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> None:
        self.rule, self.state, name = rule, state, rule.name
        if kwargs and rule.signature is not None:
            args, kwargs = _by_position(name, rule.signature, args, kwargs)
        self.leaves, self.args = flatten(args)
        self.count = len(args)
        self.differentiated = any(isinstance(stripped(x), Tensor) for x in self.leaves)
        self.arrays = any(type(x) in ARRAYS for x in self.leaves)  # whether it wears NumPy's face
        found, structure = flatten(kwargs)
        found = [stripped(x) for x in found]
        if any(isinstance(x, Tensor) for x in found):
            names = [key for key, x in kwargs.items() if any(isinstance(stripped(y), Tensor) for y in flatten(x)[0])]
            raise GradientError(
                f"{name}: the argument {names[0]!r}, given by keyword only, is being differentiated, but its vjp gives "
                f"gradients of arguments by position. Make {names[0]!r} an ordinary argument, or detach() it."
            )
        self.kwargs = unflatten(structure, [handed_out(x) for x in found])
        if rule.vjp is None and rule.jvp is None and self.differentiated:
            raise GradientError(
                f"{name} has no derivative yet: name its vjp with @{name}.defvjp, or its jvp with @{name}.defjvp."
            )
        if rule.vjps is not None and rule.jvp is None:
            self.refuse_missing([i for i, x in enumerate(self.leaves) if isinstance(stripped(x), Tensor)])

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments by position, with these leaves."""
        return unflatten(self.args, [handed_out(x) for x in leaves])  # type: ignore[no-any-return]

    def run(self, role: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, why: str = "") -> Any:
        """Call one of the user's functions: plain values of plain arguments, or Tensors that have recorded."""
        leaves, structure = flatten((args, kwargs))
        levels = {x._level for t in leaves for x in levels_of(t)}
        together = levels and self.rule.takes_batches is not None and self.rule.takes_batches(args)
        if levels and not together and batched_apply is not None:
            again = functools.partial(self._run_one, role, function, why)
            found = batched_apply(f"the {role} of {self.rule.name}", again, args, kwargs)
            if found is not None:
                return found[0]
        if levels and not together and self.rule.by_sample is not None and any(map(_holds_batch, leaves)):
            return self.rule.by_sample(function, args)
        if levels:
            args, kwargs = unflatten(structure, [_beside(x, max(levels)) for x in leaves])
        else:
            try:
                return _apart(self.rule.call(function, args, kwargs))
            except TypeError:
                self._refuse_count(role, function, args, kwargs)
                raise
        runs = [cuts.Run(level) for level in levels]
        watched: Any = function
        for run in runs:
            watched = functools.partial(run.watch, watched)
        try:
            found = _apart(watched(*args, **kwargs))
        except Exception as error:
            if isinstance(error, TypeError):
                self._refuse_count(role, function, args, kwargs)
            if not isinstance(error, _OF_COMPILED_CODE):
                error.add_note(f"This is the {role} of {self.rule.name}, which runs on Tensors here: {why}.")
                raise
            kind = DetachingError if isinstance(error, DetachingError) else UnsupportedError
            raise kind(self._refusal(role, why, f"{type(error).__name__}: {error}")) from error
        for run in runs:
            for what in run.cuts.keys() & _NUMBERS:
                file, line = run.cuts[what]
                refusal = self._refusal(role, why, f"{what} at {file}:{line} makes a plain number of an array.")
                raise DetachingError(refusal)
        return found

    def _run_one(self, role: str, function: Callable[..., Any], why: str, args: tuple[Any, ...], kwargs: Any) -> Any:
        """The same for one sample of a batch."""
        leaves, structure = flatten((args, kwargs))
        args, kwargs = unflatten(structure, [handed_out(x) for x in leaves])
        return self.run(role, function, args, kwargs, why)

    def _refuse_count(self, role: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> None:
        """Raise if a rule takes another number of arguments."""
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            given = [*_FIRST[role], *(() if role == "backward" else self.names()), *(f"{key}=" for key in kwargs)]
            called = f"{getattr(function, '__name__', type_name(function))}{signature}"
            raise TypeError(
                f"{self.rule.name}: its {role} is called with ({', '.join(given)}), but {called} does not take these "
                f"{len(given)} arguments: {error}."
            ) from None

    def _refusal(self, role: str, why: str, what: str) -> str:
        return (
            f"{self.rule.name}: its {role} cannot be differentiated, but it must be: {why}.\n{what}\nWrite the "
            f"{role} with NumPy's or pullback's functions, which record here, or give what it calls a rule of its own "
            "(pullback.custom_vjp)."
        )

    def vjp(self, given: tuple[Any, ...], why: str, wanted: Collection[int]) -> Any:
        """Call the user's vjp; of one for each argument, those alone with a leaf among the wanted ones."""
        rules = self.rule.vjps
        if rules is None:
            return self.run("vjp", self.rule.vjp, given, self.kwargs, why)
        found = []
        for i, part in enumerate(self.args[2]):
            rule = rules.get(i) if any(n in wanted for n in _leaves_of(part)) else None
            found.append(rule and self.run("vjp", rule, given, self.kwargs, why))
        return tuple(found)

    def refuse_missing(self, wanted: Collection[int]) -> None:
        """Raise if a wanted leaf is one of an argument that has no vjp of its own, where the others have."""
        rules = self.rule.vjps
        if rules is None:
            return
        for i, part in enumerate(self.args[2]):
            if i not in rules and any(n in wanted for n in _leaves_of(part)):
                raise GradientError(
                    f"{self.rule.name}: there is no vjp for the argument {self.names()[i]!r}, which is being "
                    f"differentiated. Give {self.rule.name}.defvjps one for it, or None if it has no gradient; or "
                    "detach() the argument."
                )

    def gradients(self, found: Any, points: Sequence[Any]) -> list[Any]:
        """Return what a vjp has returned, by leaves: checked, None where there is none."""
        name, names = self.rule.name, self.names()
        parts = self.args[2]
        most = max(self.count, len(self.rule.places()))  # those of defaults may come too
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
        """Return what a jvp has returned, by leaves of the result: checked, None where there is none."""
        whose = f"the jvp of {self.rule.name}: the tangent of the result"
        by_leaf: list[Any] = [None] * len(points)
        for nr, value, path in _leaves_like(found, self.result, whose):
            by_leaf[nr] = _fitting(value, points[nr], whose + path, sums=False)
        return by_leaf

    def names(self) -> list[str]:
        """The names of the arguments by position."""
        names: list[str] = []
        for parameter in self.rule.places():
            several = parameter.kind is parameter.VAR_POSITIONAL
            names += [f"{parameter.name}[{i}]" for i in range(self.count - len(names))] if several else [parameter.name]
        return names[: self.count] or [f"argument {i}" for i in range(self.count)]


def as_step(
    tensor: Tensor, name: str, function: Callable[..., Any], args: Any, kwargs: Any, numbers: bool = False
) -> Any:
    """Return what a function of plain arrays gives, as one step for the array in a tensor, which records calls.

    With `numbers`, integers and truth values are Python's, and must be the same at each run.
    """
    leaves, structure = flatten((args, kwargs))
    args, kwargs = unflatten(structure, [stripped(x) for x in leaves])
    inside = stripped(tensor)

    def run(function: Any, args: Any, kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        args, kwargs = unflatten(structure, [x.copy() if is_array(x) else x for x in leaves])  # to write into
        leaves, structure = flatten(function(*args, **kwargs))
        if numbers:
            return unflatten(structure, leaves)
        return unflatten(structure, [np.asarray(x)[()] if type(x) in (int, bool) else x for x in map(stripped, leaves)])

    return _shown(array_type(inside).record_call(inside, name, run, function, args, kwargs))


def _shown(tree: Any) -> Any:
    """A tree that a step has given beside its result, as users see it."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [NotHeld() if is_object(x) else _beside(x, 0) if is_array(x) else x for x in leaves])


def _by_position(name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments as they were given, by position if they can be; a default only where it stands before one."""
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


def _leaves_of(structure: Structure) -> Iterator[int]:
    """The numbers of the leaves in a part of a tree."""
    if isinstance(structure, int):
        yield structure
    elif structure is not None:
        parts = structure[2]
        for part in parts.values() if isinstance(parts, dict) else parts:
            yield from _leaves_of(part)


# -- leaves: what is inside of Tensors, and what users see of it ------------------------------------------------------
def stripped(x: Any, rule: Rule | None = None) -> Any:
    """Return what is inside of a Tensor once the levels are left at which nothing is being differentiated."""
    state = modes.current()
    while isinstance(x, Tensor):
        inside = x._array
        if (x._requires_grad and state.records(x._level)) or carries_derivative(inside) or array_type(inside).many:
            return x
        if type(inside) is not ndarray and not isinstance(inside, Tensor):
            if array_type(inside).records_calls(inside):
                return inside
            inside = read(inside, "a custom rule" if rule is None else f"the custom rule of {rule.name}")
        x = inside
    return x


def moves(x: Any) -> bool:
    """True if a derivative with respect to an argument is wanted."""
    return isinstance(stripped(x), Tensor)


def is_at_stake(x: Any) -> bool:
    """True if a derivative with respect to a tensor is wanted, or if its numbers are recorded by a trace."""
    inside = stripped(x)
    return isinstance(inside, Tensor) or type(inside) in REGISTERED


def is_recorded(x: Any) -> bool:
    """True if the numbers at the bottom of a tensor are recorded by a trace."""
    inside = innermost(x)
    kind = REGISTERED.get(type(inside))
    return kind is not None and kind.records_calls(inside)


def levels_of(x: Any) -> Iterator[Tensor]:
    """A Tensor, and those inside of it."""
    while isinstance(x, Tensor):
        yield x
        x = x._array


def _holds_batch(x: Any) -> bool:
    """True if there is a batch inside of a Tensor, or of its tangents."""
    if isinstance(x, Tensor):
        return _holds_batch(x._array)
    kind = ARRAY_TYPES.get(type(x))
    if kind is None or kind is NDARRAY:
        return False
    parts = kind.components(x) or ()
    return kind.many or any(_holds_batch(getattr(holder, name)) for _, holder, name in parts)


def handed_out(x: Any) -> Any:
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
    if type(x) is not ndarray:
        return wrap_array(x, level, not x.ndim) if is_array(x) and not isinstance(x, Tensor) else x
    if x.dtype.kind not in "fc":
        return x
    owner = x if x.base is None else x.base
    fixed = type(owner) is ndarray and not owner.flags.writeable
    return wrap_array(x if fixed else x.copy(), level)  # what records saves it, and others may write into it


def _apart(found: Any) -> Any:
    """Return what a user's function has returned, in memory that nobody else holds."""
    held = [found]
    del found
    leaves, structure = flatten(held.pop())
    return unflatten(structure, kept_apart(leaves))


@contextmanager
def on_plain_arrays(name: str) -> Iterator[None]:
    """Around a user's function of ndarrays: its own buffers are ndarrays, what it gets cannot be written into."""
    outside = plain_until.set(modes.current().level)
    try:
        yield
    except ValueError as error:
        if "read-only" in str(error):
            error.add_note(
                f"The arguments of {name} and of its rules are read-only, because others need them unchanged: work on "
                "a copy (np.array(x)), or let custom_vjp make one (writable=True)."
            )
        raise
    finally:
        plain_until.reset(outside)


# -- checks -----------------------------------------------------------------------------------------------------------
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
    if not isinstance(value, (Tensor, ndarray, np.generic, int, float, complex)) and not is_array(value):
        raise GradientTypeError(
            f"{whose} must be an array of shape {shape_of(point)} and dtype {dtype}, got {with_article(value)}."
        )
    value = stripped(value)
    value = value if is_array(value) else np.asarray(value)
    if value.dtype.kind not in "biufc":
        raise GradientTypeError(f"{whose} must be of dtype {dtype}, got dtype {value.dtype}.")
    shape = shape_of(point)
    if value.shape != shape and not (sums and _broadcasts(shape, value.shape)):
        raise GradientError(f"{whose} must have shape {shape}, got shape {value.shape}.")
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise GradientError(f"{whose} must be real ({dtype}), got a complex one ({value.dtype}); return its real part.")
    if value.dtype == dtype:
        return value
    value = wrap(value) if type(value) in REGISTERED else value
    return value.to(dtype) if isinstance(value, Tensor) else value.astype(dtype)


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a leaf, which may be a number."""
    return () if type(x) in NUMBERS else tuple(x.shape)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """True if an array of this shape was broadcast, so that the gradient is summed by whoever takes it."""
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(reversed(shape), reversed(to), strict=False))
