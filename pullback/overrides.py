"""Classes that are no Tensor in calls of pullback's functions, and modes that see every call: names of torch.overrides.

A class takes part by one method, `__pullback_function__(cls, func, types, args=(), kwargs=None)`. It is called in place
of the public function `func` wherever an instance stands for a Tensor, alone or in a list. docs/overrides.md has
examples.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from pullback.core import slots
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.overrides import ENTERED, METHOD, ModeObserver, ask, mode_in_force, takes_part, taking_part
from pullback.core.tensor import Tensor
from pullback.dispatch.operator import CALLED
from pullback.ops import late, tables

__all__ = [
    "PullbackFunctionMode",
    "get_overridable_functions",
    "handle_pullback_function",
    "has_pullback_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_pullback_function",
]


class PullbackFunctionMode(ModeSwitch):
    """Base of modes that see every call of a public function on Tensors; `torch.overrides.TorchFunctionMode`.

    A subclass writes `__pullback_function__(self, func, types, args=(), kwargs=None)`. It is called in place of the
    function, inside ``with mode:``, and returns the result, or NotImplemented. Inside of it the mode is off, so that
    ``func(*args, **(kwargs or {}))`` makes the call. Modes nest: the innermost is asked first, and before any operand.

    Methods and Python's operators come as the functions: ``x.sin()`` as `pullback.sin`, ``x + y`` as `pullback.add`.
    What backward passes and the rules of transforms compute is no call of a user's, and is not shown.

    Examples
    --------
    >>> class Calls(pb.overrides.PullbackFunctionMode):
    ...     def __init__(self):
    ...         self.names = []
    ...     def __pullback_function__(self, func, types, args=(), kwargs=None):
    ...         self.names.append(pb.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> x = pb.ones(2, requires_grad=True)
    >>> with Calls() as calls:
    ...     (x.sin() * x).sum().backward()
    >>> calls.names
    ['pullback.sin', 'pullback.mul', 'pullback.sum']
    """

    def __pullback_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        raise NotImplementedError(
            f"{type(self).__name__}: write {METHOD}(self, func, types, args=(), kwargs=None) in it, which returns "
            "func(*args, **(kwargs or {})), say."
        )

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        if not ENTERED:
            ENTERED.append(True)
        return modes.with_observer(ModeObserver(self))


def is_tensor_like(inp: Any) -> bool:
    """True for a Tensor, and for what takes part in functions of Tensors.

    Parameters
    ----------
    inp : object

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.overrides.is_tensor_like(pb.ones(2)), pb.overrides.is_tensor_like(3.0)
    (True, False)
    """
    return isinstance(inp, Tensor) or takes_part(type(inp))


def has_pullback_function(relevant_args: Iterable[Any]) -> bool:
    """True if the class of an argument takes part, or a mode is to see the call.

    Parameters
    ----------
    relevant_args : iterable
        The arguments that may stand for Tensors.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        `relevant_args` are not iterable.

    Examples
    --------
    >>> pb.overrides.has_pullback_function([pb.ones(2), 3.0])
    False
    """
    return bool(taking_part(relevant_args)) or mode_in_force()


def handle_pullback_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call a function of yours by the operands' classes and modes, as functions of pullback are called.

    The innermost mode is asked first; then the classes of the operands, a subclass before its superclass and otherwise
    from left to right; whoever returns NotImplemented leaves the answer to the next.

    Parameters
    ----------
    public_api : callable
        The function, as its handlers are to see it.
    relevant_args : iterable
        The arguments that may stand for Tensors.
    *args, **kwargs
        Those of the call.

    Returns
    -------
    What the first one answers.

    Raises
    ------
    TypeError
        Nobody answers.

    Examples
    --------
    >>> def double(x):
    ...     if pb.overrides.has_pullback_function((x,)):
    ...         return pb.overrides.handle_pullback_function(double, (x,), x)
    ...     return 2 * x
    >>> class Length:
    ...     @classmethod
    ...     def __pullback_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a length"
    >>> double(Length())
    'double of a length'
    """
    return ask(public_api, args, kwargs, relevant_args)


def wrap_pullback_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorate a function of yours, so that classes and modes take part in it.

    Parameters
    ----------
    dispatcher : callable
        Gives, of the arguments of a call, those that may stand for Tensors.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> @pb.overrides.wrap_pullback_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(pb.ones(2))
    tensor([2., 2.])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_pullback_function(relevant):
                return handle_pullback_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


@functools.cache
def _names() -> dict[Any, str]:
    """The operators' public functions and where each stands: below the module that a user writes first."""
    late.load_all()
    found: dict[Any, str] = {}
    for home in tables.PUBLIC:
        for name, function in late.public_functions(home).items():
            found.setdefault(function, f"pullback.{home}.{name}" if home else f"pullback.{name}")
    for name, function in tables.METHODS.items():
        found.setdefault(function, f"pullback.Tensor.{name}")
    return found


@functools.cache
def _internal_names() -> dict[Any, str]:
    """The functions that Tensor's indexing, casts and the like call, by what a user writes."""
    late.load_all()
    rows = [row for overloads in tables.OPERATORS.values() for row in overloads]
    pairs = [(f, row) for row in rows for f in (row.public, row.public_in_place) if f is not None]
    return {f: f"pullback.Tensor.{CALLED.get(row.name, row.name)}" for f, row in pairs}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions in which classes and modes take part: every operator's. docs/overrides.md names what asks besides.

    Returns
    -------
    dict
        By namespace: a module of pullback's, or the class Tensor for what is a method alone.

    Examples
    --------
    >>> pb.sin in pb.overrides.get_overridable_functions()[pb]
    True
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for function, name in _names().items():
        home = name.rpartition(".")[0]
        namespace = Tensor if home == "pullback.Tensor" else slots.public_module(home.partition(".")[2])
        found.setdefault(namespace, []).append(function)
    return found


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name by which a user calls a function, 'pullback.linalg.inv' say.

    Parameters
    ----------
    f : callable

    Returns
    -------
    str, or None if the function is not pullback's. What stands behind an index is 'pullback.Tensor.__getitem__'.

    Examples
    --------
    >>> pb.overrides.resolve_name(pb.linalg.inv), pb.overrides.resolve_name(print)
    ('pullback.linalg.inv', None)
    """
    try:
        return _names().get(f) or _internal_names().get(f) or _own_name(f)
    except TypeError:  # of what has no hash
        return None


def _own_name(f: Any) -> str | None:
    """The name of what is no operator: the place that it says it has, if it is there."""
    name = f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', '')}"
    package, *path = name.split(".")
    found: Any = sys.modules.get(package) if package == "pullback" else None
    for part in path:
        found = getattr(found, part, None)
    return name if found is f is not None else None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True if a function of `get_overridable_functions()` is a method of Tensor too.

    Parameters
    ----------
    func : callable

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.overrides.is_tensor_method_or_property(pb.sin)
    True
    >>> pb.overrides.is_tensor_method_or_property(pb.stack)
    False
    """
    late.load_all()
    return any(func is method for method in tables.METHODS.values())
