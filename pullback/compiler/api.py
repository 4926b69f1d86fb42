"""`pullback.compile`: a function that is recorded at its first calls, and runs as a program from then on."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter
from typing import Any, TypeVar, overload

import numpy as np

from pullback.arrays.traced.graph import LeftError
from pullback.compiler.drawing import put_back
from pullback.compiler.errors import CompileWarning, StaleProgramError
from pullback.compiler.signature import Unfit, signature_of, surroundings
from pullback.compiler.tracing import trace
from pullback.compiler.variants import MOST, Program, Variants, differs, first_difference
from pullback.core import modes
from pullback.core.errors import UntraceableError
from pullback.core.pytree import unflatten
from pullback.core.tensor import Tensor, ndarray

_F = TypeVar("_F", bound=Callable[..., Any])
_SIGNATURES = 64
_TIMED = 3  # calls at which a program must not be slower than the function, of the first so many


class Compiled:
    """A function, and the programs that have been made of it; called as the function is."""

    def __init__(self, function: Callable[..., Any], check: bool, pure: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._check, self._pure = function, check, pure
        self._by_signature: dict[Hashable, Variants] = {}
        self._off = os.environ.get("PULLBACK_COMPILE") == "0"
        self._said: set[str] = set()
        self._running = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = modes.current()
        if self._off or self._running or state.level or not state.plain:
            return self._function(*args, **kwargs)
        signature, leaves, structure = signature_of(args, kwargs)
        key = (surroundings(), signature)
        try:
            variants = self._by_signature.get(key)
        except TypeError:
            variants = None
        if variants is None:
            variants = self._new(key, signature)
        if variants.eager is not None:
            return self._function(*args, **kwargs)
        arrays = _arrays_of(leaves)
        found = variants.find(leaves, arrays)
        if found is None:
            return self._trace(variants, leaves, structure)
        program, result = found
        if program.calls <= _TIMED or self._check:
            self._compare(variants, program, result, args, kwargs, leaves, arrays)
        return result

    def _new(self, key: Hashable, signature: Any) -> Variants:
        variants = Variants()
        for form in signature:
            if type(form) is Unfit:
                variants.eager = f"it is given {form.why}"
                self._say(variants.eager)
                return variants
        if len(self._by_signature) >= _SIGNATURES:
            self._by_signature.pop(next(iter(self._by_signature)))
        self._by_signature[key] = variants
        return variants

    def _call(self, leaves: list[Any], structure: Any) -> Any:
        if structure is None:
            return self._function(*leaves)
        args, kwargs = unflatten(structure, leaves)
        return self._function(*args, **kwargs)

    def _trace(self, variants: Variants, leaves: list[Any], structure: Any) -> Any:
        self._running = True
        try:
            made = trace(self._function, leaves, lambda given: self._call(given, structure), lambda array: False)
        except Exception as error:  # noqa: BLE001 - the function itself tells whether it is one of its own
            refusal = str(error) if isinstance(error, UntraceableError) else f"its trace raised {_named(error)}"
            result = self._call(leaves, structure)
            variants.eager = refusal
            self._say(refusal)
            return result
        finally:
            self._running = False
        if not variants.take(made) and len(variants.candidates) > MOST:
            one, other = (made for made, _ in variants.candidates[-2:])
            variants.eager = f"no two of {len(variants.candidates)} runs did the same: {first_difference(one, other)}"
            self._say(variants.eager)
        return made.result

    def _compare(self, variants: Variants, program: Program, result: Any, args: Any, kwargs: Any, *again: Any) -> None:
        if program.written:
            return
        now = program.rewind()
        begin = perf_counter()
        expected = self._function(*args, **kwargs)
        middle = perf_counter()
        with contextlib.suppress(LeftError):
            program.run(*again)
        took = perf_counter() - middle
        put_back(now)
        if how := differs(result, expected):
            variants.eager = f"its program gave {how}"
            if self._check:
                raise StaleProgramError(f"{self._name}: the program gave {how}.")
            self._say(variants.eager)
        program.slower += took > 1.1 * (middle - begin)
        if program.slower == _TIMED:
            variants.eager = "its program is not faster than the function itself"

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    def _say(self, why: str) -> None:
        if why not in self._said:
            self._said.add(why)
            warnings.warn(f"compile({self._name}) runs eagerly: {why.rstrip('.')}.", CompileWarning, stacklevel=4)


def _named(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arrays_of(leaves: Sequence[Any]) -> list[Any]:
    """The inputs of a program among the leaves."""
    return [
        x._array if isinstance(x, Tensor) else np.asarray(x)
        for x in leaves
        if isinstance(x, (Tensor, ndarray, np.generic))
    ]


@overload
def compile(function: _F, /) -> _F: ...
@overload
def compile(*, check: bool = ..., pure: bool = ...) -> Callable[[_F], _F]: ...


def compile(function: Any = None, /, *, check: bool = False, pure: bool = False) -> Any:
    """Compile a function."""
    if function is None:
        return functools.partial(compile, check=check, pure=pure)
    return Compiled(function, check, pure)
