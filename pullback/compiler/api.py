"""`pullback.compile`: a function that is recorded at its first calls, and runs as a program from then on."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any, TypeVar, overload

from pullback.arrays.traced.graph import UntraceableError
from pullback.compiler.agreement import first_difference
from pullback.compiler.errors import CompileWarning, StaleProgramError
from pullback.compiler.numbers import differs
from pullback.compiler.program import Program
from pullback.compiler.signature import Unfit, signature_of, surroundings
from pullback.compiler.tracing import trace
from pullback.compiler.variants import MOST, Variants
from pullback.core import modes
from pullback.core.pytree import unflatten

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
        if self._off or self._running or not state.plain:
            return self._function(*args, **kwargs)
        signature, leaves, structure = signature_of(args, kwargs)
        key = (surroundings(), signature)
        try:
            variants = self._by_signature.get(key)
        except TypeError:  # an Unfit has no hash
            variants = None
        if variants is None:
            variants = self._new(key, signature, structure)
        if variants.eager is not None:
            return self._function(*args, **kwargs)
        found = variants.find(leaves)
        if found is None:
            return self._trace(variants, leaves)
        program, result = found
        if (program.calls <= _TIMED or self._check) and not program.written:
            self._compare(variants, program, result, leaves)
        return result

    def _new(self, key: Hashable, signature: Any, structure: Any) -> Variants:
        variants = Variants(functools.partial(_call, self._function, structure))
        for form in signature:
            if type(form) is Unfit:
                variants.eager = f"it is given {form.why}"
                if form.why:
                    self._say(variants.eager)
                return variants
        if len(self._by_signature) >= _SIGNATURES:
            self._by_signature.pop(next(iter(self._by_signature)))
        self._by_signature[key] = variants
        return variants

    def _trace(self, variants: Variants, leaves: list[Any]) -> Any:
        self._running = True
        try:
            made = trace(leaves, variants.call, lambda array: False)
        except UntraceableError as error:
            variants.eager = str(error)
            self._say(variants.eager)
            return variants.call(leaves)
        finally:
            self._running = False
        if not variants.take(made) and len(variants.candidates) > MOST:
            one, other = (made for made, _ in variants.candidates[-2:])
            variants.eager = f"no two of {len(variants.candidates)} runs did the same: {first_difference(one, other)}"
            self._say(variants.eager)
        return made.result if made.pulled is None else variants.program_of(made).run(leaves)

    def _compare(self, variants: Variants, program: Any, result: Any, leaves: list[Any]) -> None:
        """Let the function run beside its program: the results must be equal, and the program no slower."""
        begin = perf_counter()
        expected = variants.call(leaves)
        middle = perf_counter()
        program.run(leaves)
        took = perf_counter() - middle
        if how := differs(result, expected):
            variants.eager = f"its program gave {how}"
            if self._check:
                raise StaleProgramError(f"{self._name}: the program gave {how}.")
            self._say(variants.eager)
        if isinstance(program, Program):  # of one that goes on backward this is not half of the time
            program.slower += took > 1.1 * (middle - begin)
        if program.slower == _TIMED:
            variants.eager = "its program is not faster than the function itself"

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    def _say(self, why: str) -> None:
        if why not in self._said:
            self._said.add(why)
            warnings.warn(f"compile({self._name}) runs eagerly: {why}.", CompileWarning, stacklevel=4)


def _call(function: Callable[..., Any], structure: Any, leaves: list[Any]) -> Any:
    """Call the function with arguments of this structure."""
    if structure is None:
        return function(*leaves)
    args, kwargs = unflatten(structure, leaves)
    return function(*args, **kwargs)


@overload
def compile(function: _F, /) -> _F: ...
@overload
def compile(*, check: bool = ..., pure: bool = ...) -> Callable[[_F], _F]: ...


def compile(function: Any = None, /, *, check: bool = False, pure: bool = False) -> Any:
    """Compile a function."""
    if function is None:
        return functools.partial(compile, check=check, pure=pure)
    return Compiled(function, check, pure)
