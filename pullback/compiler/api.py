"""`pullback.compile`: a function that is recorded at its first calls, and runs as a program from then on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from pullback.compiler.compiled import Compiled
from pullback.core.errors import with_article

_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def compile(function: _F, /) -> _F: ...
@overload
def compile(function: _F, /, *, check: bool = ..., pure: bool = ...) -> _F: ...
@overload
def compile(*, check: bool = ..., pure: bool = ...) -> Callable[[_F], _F]: ...


def compile(function: Any = None, /, *, check: bool = False, pure: bool = False) -> Any:
    """Record a function at its first calls, and run it as a program of NumPy's kernels from then on.

    The first two calls run the function and record what it computes. If both did the same, they make a program. At the
    next three calls the program runs beside the function, which is compared and timed. From then on the program runs
    alone, as long as nothing has changed that the function reads: each call looks at the globals, closures' variables
    and attributes that it names, and whoever looks at numbers (``if x.sum() > 0``) leaves a guard in the program.
    Calls that no program fits run the function, and are recorded. What cannot be followed runs eagerly, and a
    `CompileWarning` says why. docs/guide/compile.md tells more.

    Parameters
    ----------
    function : callable, optional
        Of arrays, Tensors, numbers and trees of them. Without it, `compile` is a decorator with options.
    check : bool, default False
        Run the function beside its program at every call, and raise StaleProgramError if the results differ: for
        tests, and to find a mistake.
    pure : bool, default False
        You promise that the function gives the same for the same arguments and the same contents of what is watched,
        also where `compile` sees something that it cannot follow.

    Returns
    -------
    Compiled
        Called as the function is; for a method, one for each instance. Its results are new arrays, equal to the
        function's within a few units in the last place.

    Raises
    ------
    TypeError
        `function` is no callable, or a generator or coroutine function.

    Examples
    --------
    >>> @pb.compile
    ... def f(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> for _ in range(5):
    ...     y = f(x)
    >>> round(float(y), 6)
    1.534895

    Derivatives are compiled with the function: compile the whole.

    >>> slope = pb.compile(pb.func.grad(f))
    >>> for _ in range(5):
    ...     dy = slope(x)
    >>> dy
    array([ 0.        ,  0.90929743, -0.7568025 ])
    """
    for name, option in (("check", check), ("pure", pure)):
        if type(option) is not bool:
            raise TypeError(f"compile: {name} must be True or False, got {with_article(option)}.")
    if function is None:
        return functools.partial(compile, check=check, pure=pure)
    if isinstance(function, (staticmethod, classmethod)):
        kind = type(function).__name__
        raise TypeError(f"compile: a {kind} comes first: write @{kind} above @pb.compile.")
    if not callable(function):
        raise TypeError(
            f"compile: expected a function, got {with_article(function)}. Write compile(f), not compile(f(x))."
        )
    if type(function) is Compiled:
        function = function._function
    name = getattr(function, "__name__", type(function).__name__)
    code = function if inspect.isroutine(function) or isinstance(function, functools.partial) else function.__call__
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise TypeError(
            f"compile: {name} is a generator function, which gives its results one by one while others "
            "run. Compile the function that computes one of them, and call that in the generator."
        )
    if inspect.iscoroutinefunction(code):
        raise TypeError(
            f"compile: {name} is a coroutine function, which waits for others. Compile the function that "
            "computes, and call that in the coroutine."
        )
    return Compiled(function, check, pure)
