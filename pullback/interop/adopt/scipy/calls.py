"""SciPy's functions, as adopted modules see them.

A dispatcher looks for our tensors before it calls anything, because SciPy's own Python would run on some way and give
an answer whose gradient is not that of the solution. Where a gradient is at stake a rule must be in the table, else
the error says what to write; tensors without one go on as the plain arrays that they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, SCALAR_FACES, program_run
from pullback.core.array_type import numbers_of
from pullback.core.cuts import left_behind, transform_runs
from pullback.core.errors import DetachingError, GradientError, UnsupportedError, refusals
from pullback.core.tensor import Tensor, ndarray
from pullback.core.version import bump
from pullback.dispatch.call_errors import explained_call
from pullback.explain.call_site import home_of
from pullback.func.closures import capture_tensors, tensors_at_stake
from pullback.func.rules.calls import as_step, moves
from pullback.graph.journal import note_write
from pullback.interop.adopt.dispatchers import PLAIN, Dispatcher, at_stake, first_tensor, slots_like
from pullback.interop.adopt.rules import IMPLICIT, RULES
from pullback.interop.holders import Holder
from pullback.interop.suggest import unsupported
from pullback.interop.unseen import unseen


def scipy_name(function: Callable[..., Any]) -> str:
    """The public name of a function, or that of where it is defined."""
    name = _public_names.get(function)
    if name is None:
        name = home_of(function, function.__name__)
        if not name:  # so far: its public module may be imported later
            return f"{function.__module__.replace('numpy.', 'np.')}.{function.__name__}"
        _public_names[function] = name
    return name


_public_names: dict[Any, str] = {}


class ScipyFunction(Dispatcher):
    """A function of SciPy, and its rule for our tensors if it has one."""

    __slots__ = ()

    def __new__(cls, genuine: Callable[..., Any]) -> ScipyFunction:
        @unseen
        def call(first: Any = _NOTHING, second: Any = _NOTHING, /, *more: Any, **kwargs: Any) -> object:
            if type(first) is ndarray and not more and not kwargs:  # the most frequent calls cost least
                if second is _NOTHING:
                    return genuine(first)
                if type(second) in _PLAIN:
                    return genuine(first, second)
            given = (first, second, *more) if second is not _NOTHING else (first,) if first is not _NOTHING else ()
            for x in (*given, *kwargs.values()) if kwargs else given:
                kind = type(x)
                if kind not in _PLAIN and not (kind is list and _PLAIN.issuperset(map(type, x))):
                    return made.on_any(given, kwargs)
            return genuine(*given, **kwargs) if kwargs else genuine(*given)

        # A class of its own, so that __call__ looks nothing up and needs no `self`: half the cost.
        kind = type(cls.__name__, (cls,), {"__slots__": slots_like(genuine), "__call__": staticmethod(call)})
        made: ScipyFunction = object.__new__(kind)
        return made

    @unseen
    def on_any(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """The result, whatever the arguments are."""
        for x in (*args, *kwargs.values()) if kwargs else args:
            if type(x) not in _PLAIN and isinstance(x, _LOOKED_INTO) and (isinstance(x, Tensor) or has_tensor(x)):
                return self.on_tensors(args, kwargs)
        if self.captures(args, kwargs):
            return self.by_rule(args, kwargs)
        if not self.genuine.__module__.startswith("scipy.optimize"):
            return self.genuine(*args, **kwargs)
        if transform_runs():
            args = tuple(self.guarded(args))
            kwargs = dict(zip(kwargs, self.guarded(kwargs.values()), strict=True))
        refused = refusals.last
        try:
            return self.genuine(*args, **kwargs)
        except Exception as error:
            if (refusal := _refusal_behind(error, refused)) is None:
                raise
            raise refusal from error

    def captures(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """True if there is a rule by what functions among the arguments capture, and they do."""
        module = self.genuine.__module__
        if module.startswith("scipy.optimize") and scipy_name(self.genuine) not in RULES:
            return False  # what the functions give is looked at: see `guarded`
        return module.startswith(_BY_CAPTURES) and capture_tensors((*args, *kwargs.values()))

    def guarded(self, args: Iterable[Any]) -> list[Any]:
        """The arguments of a solver, whose functions are guarded; SciPy's own capture nothing."""
        name = scipy_name(self.genuine)
        return [_Guarded(x, name) if type(x) in (FunctionType, MethodType) else x for x in args]

    @unseen
    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        if not (at_stake(args) or at_stake(kwargs) or is_unknown((*args, *kwargs.values()))):
            given = None if any(map(_names_an_output, kwargs)) else read_memory
            if not self.captures(args, kwargs):
                return self.genuine(*plain(args, given), **plain(kwargs, given))
        return self.by_rule(args, kwargs)

    @unseen
    def by_rule(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Return what the rule gives, which there must be."""
        name = scipy_name(self.genuine)
        rule = RULES.get(name)
        traced = program_run.get() is not None
        if traced and (rule is None or name in IMPLICIT) and not any(map(_names_an_output, kwargs)):
            found = [*tensors_at_stake((*args, *kwargs.values()))]
            if found and not any(map(moves, found)):  # it is recorded
                return as_step(found[0], name, self.genuine, args, kwargs)
        if rule is None:
            raise unsupported(name)
        try:
            return rule(*args, **kwargs)
        except Exception as error:
            if isinstance(error, np.linalg.LinAlgError) or type(error) is NotImplementedError:
                raise  # which programs catch
            if "._" in name:
                raise  # to be explained by the public function that called this one
            if "nan" in str(error).lower() and (left := left_behind()):  # it met a number that nobody knows
                raise GradientError(left) from error
            raise named(name, explained_call(name, self.genuine, args, kwargs, error))  # noqa: B904


class _Guarded:
    """A function for a solver, which may give nothing that is being differentiated.

    The steps depend on such a value by comparisons, so the answer would have the gradient zero, or another one.
    """

    def __init__(self, function: Callable[..., Any], solver: str) -> None:
        functools.update_wrapper(self, function)
        self.function, self.solver = function, solver

    @unseen
    def __call__(self, *args: object, **kwargs: object) -> object:
        found = self.function(*args, **kwargs)
        if at_stake((found,)):
            raise unsupported(self.solver)
        return found

    def __reduce__(self) -> tuple[Any, ...]:  # for solvers with workers
        return _Guarded, (self.function, self.solver)


def _refusal_behind(error: Exception, before: str) -> Exception | None:
    """The refusal of a gradient because of which this other error was raised; `before` is the last one until then.

    Some solvers say of any error that the function is no function; those in C go on after it, to end in another.
    """
    if isinstance(error, (DetachingError, UnsupportedError)):
        return None
    behind: Any = error.__cause__ or error.__context__
    while behind is not None and not isinstance(behind, (DetachingError, UnsupportedError)):
        behind = behind.__cause__ or behind.__context__
    if behind is None and refusals.last is not before:
        return DetachingError(refusals.last)
    return behind


def named(name: str, error: Exception) -> Exception:
    """The error with the name of the function, where it says only what a rule, or SciPy's Python, has called."""
    if type(error) not in (DetachingError, UnsupportedError) or name.rpartition(".")[2] in str(error):
        return error
    made: Exception = type(error)(f"{name}: {error}")
    made.__cause__ = error
    return made


class ScipyMaker(ScipyFunction):
    """A function of SciPy whose rule runs on plain arguments too: what it makes meets our tensors later."""

    __slots__ = ()

    def __new__(cls, genuine: Callable[..., Any]) -> ScipyMaker:
        return Dispatcher.__new__(cls, genuine)

    @unseen
    def __call__(self, *args: object, **kwargs: object) -> object:
        if first_tensor(args, kwargs) is None:
            return RULES[scipy_name(self.genuine)](*args, **kwargs)  # and with its errors
        return self.on_tensors(args, kwargs)


_NOTHING = object()
# Their rules differentiate by what functions among their arguments capture, too.
_BY_CAPTURES = ("scipy.integrate", "scipy.optimize")
_PLAIN = PLAIN | {ndarray}
_LOOKED_INTO = (Tensor, list, tuple, dict, Holder)


def has_tensor(x: Any) -> bool:
    """True if this container holds one of our tensors, at whatever depth."""
    if issubclass(type(x), Holder):
        return True
    for item in x.values() if isinstance(x, dict) else x:
        if isinstance(item, _LOOKED_INTO) and (isinstance(item, Tensor) or has_tensor(item)):
            return True
    return False


def is_unknown(x: Any) -> bool:
    """True if the numbers of a tensor in here are not at hand, as inside of `vmap`: a rule may do without them."""
    if isinstance(x, Tensor):
        return numbers_of(x) is None
    if issubclass(type(x), Holder):
        x = x.held()
    return isinstance(x, (list, tuple, dict)) and any(map(is_unknown, x.values() if isinstance(x, dict) else x))


def plain(x: Any, of_tensor: Callable[[Any], Any] | None = None) -> Any:
    """The argument with plain arrays in place of our tensors."""
    if isinstance(x, Tensor):
        return (of_tensor or _memory)(x)
    if issubclass(type(x), Holder):
        return x.plain()
    if not isinstance(x, (dict, list, tuple)) or not has_tensor(x):
        return x  # as it is, for classes of SciPy's are dicts too: dok_array
    if isinstance(x, dict):
        return {name: plain(item, of_tensor) for name, item in x.items()}
    items = (plain(item, of_tensor) for item in x)
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)


def _names_an_output(name: str) -> bool:
    """True if an argument of this name may say that another one is written into."""
    return name in ("out", "output") or name.startswith("overwrite_")


def read_memory(tensor: Tensor) -> Any:
    """The same, which nobody writes into where a transform is inside of another.

    A note that it may be written would make nodes of an outer level take its old contents for a constant, if it is a
    detached tensor that shares its memory with one that is not.
    """
    if isinstance(tensor._array, Tensor) and type(tensor) not in SCALAR_FACES:
        return _read_only(tensor.numpy())
    return _memory(tensor)


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = array.view()
    array.flags.writeable = False
    return array


def _memory(tensor: Any) -> Any:
    """The plain array, which SciPy may write into (`overwrite_a`, `output`) where it stands for an array of NumPy's."""
    array = tensor.numpy()
    if type(tensor) in SCALAR_FACES:
        return array[()]
    if type(tensor) not in ARRAYS:
        return _read_only(array)
    while isinstance(tensor, Tensor):  # nodes that saved it get what was in it before
        note_write(tensor)
        bump(tensor, "a function of SciPy")
        tensor = tensor._array
    return array
