"""A compiled function: which program runs at a call, when one is made, compared, and given up."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from threading import RLock, get_ident
from time import perf_counter
from types import FunctionType, MethodType
from typing import Any

from pullback.arrays.traced.graph import Guard, LeftError
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.adoption import needs_adoption
from pullback.compiler.advice import remedy
from pullback.compiler.agreement import first_difference
from pullback.compiler.arguments import CHANGED, Call
from pullback.compiler.audit import FIRST, Audit, StaleError
from pullback.compiler.eagerly import EAGERLY, Eagerly
from pullback.compiler.entry import entry_of
from pullback.compiler.errors import CompileWarning, StaleProgramError
from pullback.compiler.explanation import Explanation
from pullback.compiler.numbers import differs
from pullback.compiler.places import Place, place_of, said
from pullback.compiler.program import inputs_of
from pullback.compiler.quick import Quick, quick_way
from pullback.compiler.reach.kinds import is_librarys_class
from pullback.compiler.reach.objects import StandsFor
from pullback.compiler.reach.reached import Reach, reach_of
from pullback.compiler.reach.reads import asks_what_arrays_are
from pullback.compiler.rehearsal import Rehearsal, Rehearsed
from pullback.compiler.signature import (
    Floats,
    Unfit,
    classes_of,
    form_of,
    frozen,
    in_words,
    repeated,
    signature_of,
    unfit,
)
from pullback.compiler.tracing import Trace, grad_of, settle, trace
from pullback.compiler.variants import FEW, MOST, Variants
from pullback.core import modes
from pullback.core.cuts import frames_to_user
from pullback.core.dtypes import get_default_dtype
from pullback.core.errors import UntraceableError
from pullback.core.tensor import ndarray
from pullback.graph.held_records import owner_of

_SIGNATURES = 64
_WRAPPER, _QUICK = 2e-6, 5e-7  # seconds that the way to a program takes, and to one of machine code
_CHANGES = 8  # how often what a function reads may change before its programs are given up
_TOO_MANY = (
    f"it has been called with arguments of {_SIGNATURES} kinds (shapes, dtypes, values of numbers); others run "
    "eagerly: give numbers that vary as arrays, such as np.float64(x)"
)
_SLOWER = "its program is not faster than the function itself"
TIMED = 3  # calls at which a program must not be slower than the function, of the first so many
# One trace at a time, and nobody else in a function that captures Tensors, which hold traced arrays meanwhile.
_TRACING = RLock()


class Compiled(StandsFor):
    """A function, and the programs that have been made of it; called as the function is. Made by `compile`.

    A method of a class that is compiled is bound as any other. Each instance has programs of its own, for what they
    read of it is watched. They live as long as the instance does.

    Parameters
    ----------
    function : callable
    check, pure : bool
        As `compile` takes them.

    Examples
    --------
    >>> f = pb.compile(lambda x: np.sin(x) * 2.0)
    >>> f
    <compiled function <lambda>: not called yet>
    >>> x = np.array([0.0, 1.0])
    >>> [f(x) for _ in range(5)][-1]
    array([0.        , 1.68294197])
    >>> f
    <compiled function <lambda>: 1 program>
    """

    def __init__(self, function: Callable[..., Any], check: bool, pure: bool) -> None:
        functools.update_wrapper(self, function, updated=["__dict__"] if type(function) is FunctionType else [])
        self._function, self._check, self._pure = function, check, pure
        self._by_signature: dict[Hashable, Variants] = {}
        self._entry: Any = None  # to what the call before has run
        self._quick: Quick | None = None  # the same in machine code
        self._reach: Reach | None = None
        self._live: set[int] = set()
        self._kinds: set[type] = set()  # the user's classes among the arguments
        self._alone = True
        self._adopts: Sequence[dict[str, Any]] | None = None  # the namespaces that are adopted in a trace, None for all
        self._doubts = asks_what_arrays_are(function)
        self._rehearses = True  # unless the function keeps what it writes otherwise than a program
        self._changes = 0
        self._eager = "PULLBACK_COMPILE=0" if os.environ.get("PULLBACK_COMPILE") == "0" else None
        self._floats = Floats()
        self._fallbacks: dict[str, Place | None] = {}  # why calls have run eagerly, and the lines to blame
        self._running: set[int] = set()  # the threads that trace it
        self._key = self._method = ""  # of a method: where an instance keeps its Compiled, and the name in the class

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (quick := self._quick) is not None and not kwargs and modes.current() is quick.modes:
            try:
                if (found := quick.call(*args)) is not NotImplemented:
                    return found
            except LeftError:  # a NaN where a mask may be missing
                pass
        if (
            self._eager is not None
            or (self._running and get_ident() in self._running)
            or not (state := modes.current()).plain
        ):
            return self._function(*args, **kwargs)
        if self._alone:
            with _TRACING:
                result = self._run(state, args, kwargs)
        else:
            result = self._run(state, args, kwargs)
        return self._do(result, args, kwargs) if type(result) is Eagerly else result

    def _do(self, result: Eagerly, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call that no program does."""
        begin = perf_counter()
        found = self._function(*args, **kwargs)
        if result.beside is not None:
            return result.beside(found, perf_counter() - begin, (args, kwargs))
        if result.variants is not None:  # else the error of the trace was the function's own
            self._give_up(result.variants, result.why, result.place)
        return found

    def explain(self, watches: bool = False) -> Explanation:
        """Tell which programs there are, what they look at, what they cost, and why calls run eagerly.

        Parameters
        ----------
        watches : bool, default False
            Name each place that the function reads and that is watched, not only their number.

        Returns
        -------
        Explanation
            It prints as a text; `source`, `text` and `picture` show the programs themselves.

        Examples
        --------
        >>> f = pb.compile(pb.func.hessian(lambda x: np.sum(np.sin(x) ** 2)))
        >>> x = np.array([0.0, 1.0])
        >>> for _ in range(5):
        ...     y = f(x)
        >>> print(f.explain())  # doctest: +ELLIPSIS
        compile(<lambda>): 1 signature, 1 program, ... watches
        <lambda>(float64 (2,))
          program 1: ... steps of ... recorded; 3 calls
        ...
        """
        if self._quick is not None:
            self._quick.count()
        return Explanation(self, watches)

    # -- calls ---------------------------------------------------------------------------------------------------------
    def _run(self, state: modes.Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call by a program or a trace; EAGERLY if the function itself is to be called."""
        if (quick := self._quick) is not None:  # which could not do it
            self._quick = None
            quick.count()
        if self._reach is None or self._reach.watches.stale():
            self._look_again()
        if self._eager is not None:
            return EAGERLY
        if (entry := self._entry) and (leaves := entry.leaves_of(state.off, args, kwargs)) is not None:
            result = self._by_program(entry.variants, leaves, leaves)
            self._quick_again(entry.variants, state)
            return result
        reach, (signature, leaves, structure) = self._reach, signature_of(args, kwargs)
        given = leaves
        if float in map(type, leaves) and (lifted := self._floats.lifted(signature, leaves)) is not None:
            signature, leaves = (*map(form_of, lifted), frozen(structure)), lifted
        count = len(leaves)
        signature = (*signature, *self._with_captured(leaves))
        captured = len(leaves) - count
        if len(leaves) > 1 and len({*map(id, leaves)}) < len(leaves):
            signature = (*signature, repeated(leaves))
        key = (state.off, get_default_dtype(), signature)
        try:
            variants = self._by_signature.get(key)
        except TypeError:  # an Unfit has no hash
            variants = None
        if variants is None:
            if self._meet(structure, leaves):
                return self._run(state, args, kwargs)
            variants = self._new(key, unfit(leaves, signature), structure, leaves, captured)
        result = self._by_program(variants, leaves, [*given, *leaves[count:]])
        settled = variants.eager is not None or (variants.programs and variants.programs[0].calls >= TIMED)
        if leaves is given and not captured and settled and self._reach is reach:  # which the call may have changed
            if variants.entry is None:
                variants.entry = entry_of(variants, state.off, args, kwargs, structure) or ()
                if variants.entry and not kwargs and variants.programs and reach is not None:
                    variants.quick = quick_way(variants.programs[0], args, reach.watches, state)
            self._entry = variants.entry
            self._quick_again(variants, state)
        return result

    def _quick_again(self, variants: Variants, state: modes.Modes) -> None:
        """Let calls like this one take the quick way, if there is one."""
        quick = variants.quick
        if quick is not None and variants.eager is None and quick.modes is state and not self._check:
            quick.allow()
            self._quick = quick

    def _by_program(self, variants: Variants, leaves: list[Any], given: Sequence[Any]) -> Any:
        """The result of a call by one of these programs, or by a trace.

        `given` are the leaves before numbers that vary were taken as arrays.
        """
        if variants.eager is not None:
            return EAGERLY
        left = 0
        if variants.programs and (program := variants.programs[0]).is_simple:  # what `find` does, written out for speed
            try:
                result = program.run(leaves, leaves if variants.bare else inputs_of(leaves))
            except LeftError:
                left = 1
            except Exception:  # noqa: BLE001 - the function itself says what is wrong
                return EAGERLY
            else:
                program.calls += 1
                if program.calls < program.look and not self._check:
                    return result
                return self._look_at(variants, program, result, leaves, given)
        try:
            found = variants.find(leaves, left)
        except StaleError as error:
            self._give_up(variants, f"an audit found a difference: {error}", tell=False)
            raise error.told(f"{self._name}{variants.called}") from None
        except Exception:  # noqa: BLE001 - the function itself says what is wrong
            return EAGERLY
        if found is None:
            return self._trace(variants, leaves, given)
        program, result = found
        if program.calls >= program.look or self._check:
            return self._look_at(variants, program, result, leaves, given)
        return result

    def _with_captured(self, leaves: list[Any]) -> Sequence[Any]:
        """Put the Tensors that the function reads behind the leaves, and their gradients; returns their forms."""
        tensors = self._reach.tensors  # type: ignore[union-attr]  # looked up before
        if not tensors:
            return ()
        grads = [grad_of(x) for x in tensors]
        given = [*tensors, *(x for x in grads if x is not None)]
        leaves += given
        return (*map(form_of, given), *[x is None for x in grads])

    # -- what the function reads ---------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Find what the function can reach, and watch it."""
        self._by_signature.clear()
        self._entry = None
        self._reach = reach = reach_of(self._function, self._kinds)
        self._alone = bool(reach.tensors)
        if reach.refused and not self._pure:
            first = reach.refused[0]
            self._run_eagerly(f"{first.what} {first.why}", (first.filename, first.lineno))
            return
        reach.watches.arrays(contents=True)
        self._live = {id(owner_of(x)) for x in reach.arrays}
        if reach.refused:
            self._adopts = None
        else:
            self._adopts = reach.namespaces if needs_adoption(watch.was for watch in reach.watches.all) else ()

    def _meet(self, structure: Any, leaves: Sequence[Any]) -> bool:
        """Look again if there are new classes among the arguments, whose methods are reached too; True if so."""
        new = {kind for kind in classes_of(structure, leaves) if not is_librarys_class(kind)} - self._kinds
        if new:
            self._kinds |= new
            self._look()
        return bool(new)

    def _look_again(self) -> None:
        """Something that the function reads has changed: its programs are of no use any more."""
        if self._reach is None:  # the first call
            self._look()
            return
        change = self._reach.watches.changed()
        self._changes += 1
        if self._changes > _CHANGES:
            self._run_eagerly(f"{change}: it has changed {self._changes} times; make it an argument")
        else:
            self._look()

    def _run_eagerly(self, why: str, place: Place | None = None) -> None:
        """Run the function from now on, and say so."""
        self._eager, self._alone, self._entry = why, False, None
        self._by_signature.clear()
        self._say(why, place)

    # -- programs ------------------------------------------------------------------------------------------------------
    def _new(
        self, key: Hashable, wrong: Unfit | None, structure: Any, leaves: Sequence[Any], captured: int
    ) -> Variants:
        call = Call(self._function, structure, len(leaves) - captured)
        variants = Variants(call, captured, all(type(x) is ndarray for x in leaves))
        variants.structure, variants.forms = structure, [in_words(x) for x in leaves[: len(leaves) - captured]]
        if wrong is not None or len(self._by_signature) >= _SIGNATURES:
            variants.eager, variants.entry = _TOO_MANY if wrong is None else f"it is given {wrong.why}", ()
            if wrong is None or wrong.why:
                self._say(variants.eager)
            return variants
        self._by_signature[key], variants.rehearses = variants, self._rehearses
        self._reach.watches.arrays(contents=True)  # type: ignore[union-attr]  # if all others run eagerly
        return variants

    def _traced(self, variants: Variants, leaves: list[Any]) -> tuple[Trace | None, Any]:
        """(the trace of a call, its result as the caller gets it), or (None, the result of the function)."""
        me, states = get_ident(), generator_states()
        with _TRACING:
            self._running.add(me)
            try:
                begin = perf_counter()
                made = trace(leaves, variants.captured, variants.call, self._is_live, self._adopts)
                variants.trace_seconds = perf_counter() - begin
            except Exception as error:  # noqa: BLE001 - a function may meet what records nothing, in whatever way
                why = str(error).partition("\n")[0]
                why = getattr(error, "refused", None) or f"{type(error).__name__}: {why}"
                place = place_of(error)
                restore(states)
            else:
                return made, made.result
            finally:
                self._running.discard(me)
        return None, Eagerly(variants, why, place)

    def _trace(self, variants: Variants, leaves: list[Any], given: Sequence[Any]) -> Any:
        states = generator_states()
        made, result = self._traced(variants, leaves)
        if made is None:
            return result
        assert self._reach is not None
        change, program = self._reach.watches.changed(), None
        own, is_other = result, False
        if change is None and not made.written and not made.grads:
            # In a recording a dtype may be another, or what is an error pass: the caller gets the function's result.
            own, _ = self._expected(variants, given, states)
            if (is_other := bool(differs(result, own, leaves))) and self._doubts:
                self._give_up(variants, "it asks for the type or the identity of an array, which is another in a trace")
                return own
        if self._adopts == () and any(isinstance(step.what, Guard) for step in made.graph.steps):
            self._adopts = self._reach.namespaces  # numbers may have left unseen
        if change is not None:
            for watch in self._reach.watches.all:
                settle(watch.of)
            self._changes += 1
            if self._changes > _CHANGES:
                self._run_eagerly(f"it changes what it reads: {change}")
            else:
                self._look()
        elif len(variants.programs) >= MOST:
            what, place = first_difference(variants.programs[0].trace, made)
            self._give_up(variants, f"what it looks at had more than {MOST} outcomes: {what}", place)
        else:
            program, agrees = variants.take(made)
            if not agrees and (len(variants.candidates) > MOST or variants.apart >= FEW):
                one, other = (made for made, *_ in variants.candidates[-2:])
                what, place = first_difference(one, other)
                self._give_up(variants, f"no two of {len(variants.candidates)} runs did the same: {what}", place)
        if is_other or made.pulled is None:
            return own if is_other else result
        restore(states)  # the program draws the same numbers
        return (program or variants.program_of(made)).run(leaves, inputs_of(leaves))

    def _expected(self, variants: Variants, given: Sequence[Any], states: Any) -> tuple[Any, float]:
        """(what the function gives, its seconds) where random numbers begin so; afterwards they go on as before."""
        after, me = generator_states(), get_ident()
        restore(states)
        self._running.add(me)  # where the function calls itself, that is the function too
        try:
            found, seconds = variants.call.timed(given)
            return found, seconds
        finally:
            self._running.discard(me)
            restore(after)

    def _is_live(self, array: ndarray) -> bool:
        return id(owner_of(array)) in self._live

    # -- programs and the function, side by side -----------------------------------------------------------------------
    def _look_at(self, variants: Variants, program: Any, result: Any, leaves: list[Any], given: Sequence[Any]) -> Any:
        """Compare a program with the function, now, or by an audit at the next call; returns the call's result."""
        if isinstance(program, Rehearsal):
            return Eagerly(beside=functools.partial(self._rehearsed, variants, program, result, leaves, given))
        if isinstance(program, Audit):
            program = program.program
        elif (program.calls <= TIMED or self._check) and not program.effects:
            result = self._compare(variants, program, result, leaves, given)
        if program.calls == TIMED:
            program.look = FIRST - 1
        always = self._check and program.effects  # one that was not rehearsed can be compared in no other way
        if always or program.calls >= program.look >= TIMED:
            audit = Audit(program, lambda: self._audited(variants, audit), lambda given: self._traced(variants, given))
            variants.replace(program, audit)
        return result

    def _audited(self, variants: Variants, audit: Audit) -> None:
        """Put a program back that is being audited."""
        variants.replace(audit, audit.program)
        audit.program.audits.append(audit.program.calls)
        audit.program.look = audit.next(variants.trace_seconds)

    def _compare(self, variants: Variants, program: Any, result: Any, leaves: list[Any], given: Sequence[Any]) -> Any:
        """Let the function run beside its program: the results must be equal, and the program no slower.

        Returns the result of the call, which is the function's where the program gives another.
        """
        states = generator_states()
        try:
            expected, eager = self._expected(variants, given, states)
        except UntraceableError as error:  # it changes a list or a dict: on the way through it that no trace has taken
            return Eagerly(variants, str(error))
        begin = perf_counter()
        again = program.run(leaves, inputs_of(leaves))
        took = perf_counter() - begin + _way_to(program, variants) + variants.call.seconds_to_take_in(given)
        restore(states)
        if how := differs(again if program.draws else result, expected, leaves):
            self._differs(variants, how)
            return expected
        program.timed(eager, took)
        self._drop_a_slow(variants, program)
        return result

    def _rehearsed(
        self, variants: Variants, rehearsal: Rehearsal, found: Rehearsed, leaves: Sequence[Any], given: Sequence[Any],
        expected: Any, took: float, args: Any,
    ) -> Any:  # fmt: skip
        """Compare a program that has rehearsed a call with the function, which has done it; returns its result."""
        program = rehearsal.program
        program.calls += 1
        if self._reach is None or self._reach.watches.stale():  # as by an optimizer, which counts in Python by itself
            self._rehearses = False
            self._look()
            return expected
        if variants.call.has_changed(args, given):
            self._give_up(variants, CHANGED)
            return expected
        if how := rehearsal.differs(found, expected, leaves):
            self._differs(variants, how)
            return expected
        program.timed(took, found.seconds + _way_to(program, variants) + variants.call.seconds_to_take_in(given))
        self._drop_a_slow(variants, program)
        if program.calls == TIMED and not self._check:  # else each call is compared
            program.look = FIRST - 1
            variants.replace(rehearsal, program)
        return program.results(found.arrays)

    def _drop_a_slow(self, variants: Variants, program: Any) -> None:
        """Run the function, if that is faster; not if its results would then lie in other memory, by chance."""
        if program.calls == TIMED and self._is_slow(program) and not (self._check or program.trace.parted):
            self._run_as_it_is(variants, _SLOWER)

    def _differs(self, variants: Variants, how: str) -> None:
        """Give the programs up, one of which has given something else than the function."""
        self._give_up(variants, f"its program gave {how}", tell=not self._check)
        if self._check:
            raise StaleProgramError(f"{self._name}{variants.called}: the program gave {how}.")

    def _is_slow(self, program: Any) -> bool:
        """True of a program that is to be given up."""
        return bool(program.is_slower)

    # -- what is said --------------------------------------------------------------------------------------------------
    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    def _give_up(self, variants: Variants, why: str, place: Place | None = None, tell: bool = True) -> None:
        """Run the function for this signature from now on."""
        variants.programs.clear()
        variants.candidates.clear()
        self._run_as_it_is(variants, why)
        if tell:
            self._say(why, place)

    def _run_as_it_is(self, variants: Variants, why: str) -> None:
        """Let calls of this kind run eagerly. Where all do, contents of arrays are watched for nothing."""
        variants.eager = why
        if self._reach is not None and all(x.eager is not None for x in self._by_signature.values()):
            self._reach.watches.arrays(contents=False)

    def _say(self, why: str, place: Place | None = None) -> None:
        if why not in self._fallbacks:
            self._fallbacks[why] = place
            where = f" ({said(place)})" if place else ""
            instead = f". Instead, {text}" if (text := remedy(why)) else ""
            warnings.warn(
                f"compile({self._name}) runs eagerly: {why.rstrip('.')}{where}{instead}.",
                CompileWarning,
                stacklevel=frames_to_user(),
            )

    def __repr__(self) -> str:
        """One line: how many programs there are, or why there are none."""
        programs = sum(len(variants.programs) for variants in self._by_signature.values())
        said = f"{programs} program{'s' * (programs != 1)}" if self._reach else "not called yet"
        return f"<compiled function {self._name}: {said if self._eager is None else f'eager, {self._eager}'}>"

    # -- methods, copies -----------------------------------------------------------------------------------------------
    def __set_name__(self, owner: type, name: str) -> None:
        self._key, self._method = f"_compiled_{owner.__module__}.{owner.__qualname__}.{name}", name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The compiled method of an instance, which keeps it; each has its own, for its attributes are watched."""
        if instance is None or type(self._function) is not FunctionType:
            return self
        space = getattr(instance, "__dict__", None)
        key = self._key or f"_compiled_{id(self)}"
        if type(space) is not dict:  # nowhere to keep it
            return MethodType(self, instance)
        found = space.get(key)
        if (
            type(found) is not Compiled
            or getattr(found._function, "__self__", None) is not instance
            or found._of is not self
        ):
            found = Compiled(MethodType(self._function, instance), self._check, self._pure)
            found._of, found._method = self, self._method or self._name
            space[key] = found
        return found

    _of: Compiled | None = None  # of a method's: the one in the class

    def __reduce__(self) -> Any:
        if self._of is not None:
            return getattr, (self._function.__self__, self._method)  # type: ignore[attr-defined]
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for part in (name := getattr(self, "__qualname__", "")).split("."):
            found = getattr(found, part, None)
        return name if found is self else (_compiled, (self._function, self._check, self._pure))


def _way_to(program: Any, variants: Variants) -> float:
    """Seconds that a call spends besides the program."""
    return _QUICK if variants.bare and program.is_native else _WRAPPER


def _compiled(function: Callable[..., Any], check: bool, pure: bool) -> Compiled:
    return Compiled(function, check, pure)
