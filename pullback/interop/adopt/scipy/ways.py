"""The ways in which a function of SciPy, or of numpy.polynomial, may take our tensors.

scipy_rule          a rule of ours: an operator, or several (interop/adopt/rules.py has it)
runs_as_it_stands   SciPy's own Python, run on our tensors by a clone
gives_no_gradient   the genuine function: what it gives is made of steps, truth values, whole numbers or text
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from pullback.core.array_face import ARRAYS, SCALAR_FACES, as_array, as_tensor
from pullback.core.errors import UnsupportedError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.interop.adopt.rules import MAKERS, RULES
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.adopt.scipy.clones import CLASSES, class_clone, clone
from pullback.interop.operands import frozen, needs_grad
from pullback.interop.suggest import unsupported

AS_IT_STANDS: set[str] = set()
WITHOUT_GRADIENT: set[str] = set()
REFUSED: set[str] = set()  # whose rule is an error, because SciPy's own would say something else


def runs_as_it_stands(*names: str) -> None:
    """Enter functions whose own Python, run on our tensors, gives a gradient that equals finite differences.

    Running an algorithm with a stopping rule differentiates its steps, not its answer: no solver can stand here.
    """
    AS_IT_STANDS.update(names)
    RULES.update({name: _OnFirstUse(name, _clone_on_arrays) for name in names})


def _clone_on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A clone that sees Arrays: SciPy's code means NumPy's methods. Where none came in, Tensors come out again."""
    run = clone(function)

    @functools.wraps(run)
    def called(*args: Any, **kwargs: Any) -> object:
        leaves, form = flatten((args, kwargs))
        kinds = {type(x) for x in leaves if isinstance(x, Tensor)}
        if kinds <= ARRAYS:
            return run(*args, **kwargs)
        args, kwargs = unflatten(form, [as_array(x) if isinstance(x, Tensor) else x for x in leaves])
        found = run(*args, **kwargs)
        if kinds & ARRAYS:
            return found
        parts, form = flatten(found)
        return unflatten(form, [as_tensor(x) if isinstance(x, Tensor) else x for x in parts])

    return called


def runs_with(name: str, prepare: Callable[..., tuple[Any, Any]]) -> None:
    """Enter one that runs as it stands with other arguments: `prepare` gives (args, kwargs).

    SciPy's code may take a short way where a number is 0 or 1, in which this number does not occur, nor its slope.
    """
    AS_IT_STANDS.add(name)

    def run(*args: Any, **kwargs: Any) -> object:
        args, kwargs = prepare(*args, **kwargs)
        return on_arrays(name)(*args, **kwargs)

    RULES[name] = run


@functools.cache
def on_arrays(name: str) -> Callable[..., Any]:
    """SciPy's own Python of a function that has a rule: for the arguments which the rule does not take."""
    return _clone_on_arrays(genuine(name))


def leaves_out(name: str, argument: str, *numbers: float) -> None:
    """Enter one that runs as it stands, but for a gradient by this argument where it is exactly one of the numbers."""

    def checked(*args: object, **kwargs: object) -> tuple[Any, Any]:
        x = inspect.signature(genuine(name)).bind(*args, **kwargs).arguments.get(argument)
        if needs_grad(x) and (found := frozen(x, argument)).ndim == 0 and found in numbers:
            raise UnsupportedError(
                f"{name}: where {argument!r} is exactly {found}, SciPy's code leaves it out, and its gradient is lost. "
                "Start at a number close to it, or give it as a constant."
            )
        return args, kwargs

    runs_with(name, checked)


def classes_run_as_they_stand(module: str, *names: str, always: bool = True) -> None:
    """Enter classes of a module of SciPy's, of which all are cloned: those that these are derived from, or make.

    `always`: objects of plain arrays are clones too, so that their methods take our tensors later.
    """
    CLASSES.add(module)
    AS_IT_STANDS.update(names)
    MAKERS.update(names if always else ())
    RULES.update({name: _OnFirstUse(name, class_clone) for name in names})


def methods_run_as_they_stand(*names: str) -> None:
    """Enter classes whose methods run on our tensors; what they call in compiled code has rules."""
    CLASSES.update(names)
    RULES.update({name: _OnFirstUse(name, class_clone) for name in names})


def functions_run_as_they_stand(kind: str, *names: str) -> None:
    """Enter static and class methods of such a class."""
    RULES.update({f"{kind}.{name}": _of_class(kind, name) for name in names})


def _of_class(kind: str, name: str) -> Callable[..., Any]:
    def call(*args: object, **kwargs: object) -> object:
        return getattr(class_clone(genuine(kind)), name)(*args, **kwargs)

    return call


def gives_no_gradient(*names: str) -> None:
    """Enter functions that are constant between jumps: they get plain arrays, and give plain results."""
    WITHOUT_GRADIENT.update(names)
    RULES.update({name: _OnFirstUse(name, _of_plain) for name in names})


def is_refused(*names: str) -> None:
    """Enter functions and classes that are refused where what they are given is differentiated, or what is in it."""
    REFUSED.update(names)
    for name in names:
        RULES[name] = functools.partial(_refuse, name)


def _refuse(name: str, *_: object, **__: object) -> NoReturn:
    raise unsupported(name)


class _OnFirstUse:
    """The rule that is made of a function or class, whose module is imported by then."""

    def __init__(self, name: str, made_of: Callable[[Any], Any]) -> None:
        self._name, self._made_of = name, made_of

    def _made(self) -> Any:
        RULES[self._name] = made = self._made_of(genuine(self._name))
        return made

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._made()(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._made(), attribute)


def genuine(name: str) -> Any:
    """Return what SciPy, or NumPy, has under this name."""
    home, _, function = name.replace("np.", "numpy.").rpartition(".")
    return getattr(importlib.import_module(home), function)


def _of_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the values of tensors, through which no gradient goes."""

    def values(x: object) -> object:
        return frozen(x, function.__name__)[()] if type(x) in SCALAR_FACES else frozen(x, function.__name__)

    return lambda *args, **kwargs: function(*plain(args, values), **plain(kwargs, values))
