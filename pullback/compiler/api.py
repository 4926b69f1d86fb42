"""`pullback.compile`: a function that is recorded at its first calls, and runs as a program from then on."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter
from typing import Any, TypeVar, overload

from pullback.arrays.traced.graph import Guard, UntraceableError
from pullback.compiler.adoption import needs_adoption
from pullback.compiler.agreement import first_difference
from pullback.compiler.errors import CompileWarning, StaleProgramError
from pullback.compiler.numbers import differs
from pullback.compiler.program import Program, inputs_of
from pullback.compiler.reach.reached import Reach, reach_of
from pullback.compiler.signature import Floats, Unfit, form_of, frozen, signature_of, unfit
from pullback.compiler.tracing import grad_of, trace
from pullback.compiler.variants import MOST, Variants
from pullback.core import modes
from pullback.core.dtypes import get_default_dtype
from pullback.core.pytree import unflatten
from pullback.core.tensor import ndarray
from pullback.graph.held_records import owner_of

_F = TypeVar("_F", bound=Callable[..., Any])
_SIGNATURES = 64
_WRAPPER = 2e-6  # seconds that the way to a program takes
_CHANGES = 8  # how often what a function reads may change before its programs are given up
_TIMED = 3  # calls at which a program must not be slower than the function, of the first so many


class Compiled:
    """A function, and the programs that have been made of it; called as the function is."""

    def __init__(self, function: Callable[..., Any], check: bool, pure: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._check, self._pure = function, check, pure
        self._by_signature: dict[Hashable, Variants] = {}
        self._reach: Reach | None = None
        self._live: set[int] = set()
        self._adopts = True
        self._changes = 0
        self._eager = "PULLBACK_COMPILE=0" if os.environ.get("PULLBACK_COMPILE") == "0" else None
        self._floats = Floats()
        self._said: set[str] = set()
        self._running = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._running or not (state := modes.current()).plain:
            return self._function(*args, **kwargs)
        if self._reach is None:
            self._look()
        elif self._eager is None and self._reach.watches.stale():
            self._look_again()
        if self._eager is not None:
            return self._function(*args, **kwargs)
        signature, leaves, structure = signature_of(args, kwargs)
        given = leaves
        if float in map(type, leaves) and (lifted := self._floats.lifted(signature, leaves)) is not None:
            signature, leaves = (*map(form_of, lifted), frozen(structure)), lifted
        count, captured = len(leaves), 0
        if tensors := self._reach.tensors:  # type: ignore[union-attr]  # looked up above
            grads = [grad_of(x) for x in tensors]
            leaves += [*tensors, *(x for x in grads if x is not None)]
            signature = (*signature, *map(form_of, leaves[count:]), *[x is None for x in grads])
            captured = len(leaves) - count
        key = (state.off, get_default_dtype(), signature)
        try:
            variants = self._by_signature.get(key)
        except TypeError:  # an Unfit has no hash
            variants = None
        if variants is None:
            variants = self._new(key, unfit(leaves, signature), structure, leaves, captured)
        if variants.eager is not None:
            return self._function(*args, **kwargs)
        found = variants.find(leaves)
        if found is None:
            return self._trace(variants, leaves)
        program, result = found
        if (program.calls <= _TIMED or self._check) and not program.effects:
            self._compare(variants, program, result, leaves, [*given, *leaves[count:]])
        return result

    # -- what the function reads ---------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Find what the function can reach, and watch it."""
        self._reach = reach = reach_of(self._function)
        if self._eager is not None:
            return
        if reach.refused and not self._pure:
            self._run_eagerly(str(reach.refused[0]))
            return
        reach.watches.arrays(contents=True)
        self._live = {id(owner_of(x)) for x in reach.arrays}
        self._adopts = bool(reach.refused) or needs_adoption(watch.was for watch in reach.watches.all)

    def _look_again(self) -> None:
        """Something that the function reads has changed: its programs are of no use any more."""
        assert self._reach is not None
        change = self._reach.watches.changed()
        self._by_signature.clear()
        self._changes += 1
        if self._changes > _CHANGES:
            self._run_eagerly(f"{change}: it has changed {self._changes} times; make it an argument")
        else:
            self._look()

    def _run_eagerly(self, why: str) -> None:
        """Run the function from now on, and say so."""
        self._eager = why
        self._by_signature.clear()
        self._say(why)

    # -- programs ------------------------------------------------------------------------------------------------------
    def _new(
        self, key: Hashable, wrong: Unfit | None, structure: Any, leaves: Sequence[Any], captured: int
    ) -> Variants:
        call = functools.partial(_call, self._function, structure, len(leaves) - captured)
        variants = Variants(call, captured, all(type(x) is ndarray for x in leaves))
        if wrong is not None:
            variants.eager = f"it is given {wrong.why}"
            if wrong.why:
                self._say(variants.eager)
            return variants
        if len(self._by_signature) >= _SIGNATURES:
            variants.eager = (
                f"it has been called with arguments of {_SIGNATURES} kinds (shapes, dtypes, values of numbers); others "
                "run eagerly: give numbers that vary as arrays, such as np.float64(x)"
            )
            self._say(variants.eager)
            return variants
        self._by_signature[key] = variants
        return variants

    def _trace(self, variants: Variants, leaves: list[Any]) -> Any:
        self._running = True
        try:
            made = trace(leaves, variants.captured, variants.call, self._is_live, self._adopts)
        except Exception as error:  # noqa: BLE001 - a function may meet what records nothing, in whatever way
            result = variants.call(leaves)  # raises if the error is the function's own
            variants.eager = str(error) if isinstance(error, UntraceableError) else f"{type(error).__name__}: {error}"
            self._say(variants.eager)
            return result
        finally:
            self._running = False
        assert self._reach is not None
        self._adopts |= any(isinstance(step.what, Guard) for step in made.graph.steps)  # numbers may have left unseen
        if (change := self._reach.watches.changed()) is not None:
            self._changes += 1
            self._by_signature.clear()
            if self._changes > _CHANGES:
                self._run_eagerly(f"it changes what it reads: {change}")
            else:
                self._look()
        elif not variants.take(made) and len(variants.candidates) > MOST:
            one, other = (made for made, _ in variants.candidates[-2:])
            variants.eager = f"no two of {len(variants.candidates)} runs did the same: {first_difference(one, other)}"
            self._say(variants.eager)
        return made.result if made.pulled is None else variants.program_of(made).run(leaves, inputs_of(leaves))

    def _is_live(self, array: ndarray) -> bool:
        return id(owner_of(array)) in self._live

    def _compare(self, variants: Variants, program: Any, result: Any, leaves: list[Any], given: list[Any]) -> None:
        """Let the function run beside its program: the results must be equal, and the program no slower.

        `given` are the leaves before numbers that vary were taken as arrays.
        """
        begin = perf_counter()
        expected = variants.call(given)
        middle = perf_counter()
        program.run(leaves, inputs_of(leaves))
        took = perf_counter() - middle + _WRAPPER
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


def _call(function: Callable[..., Any], structure: Any, count: int, leaves: list[Any]) -> Any:
    """Call the function with arguments of this structure, the first so many leaves."""
    if structure is None:
        return function(*leaves[:count])
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
