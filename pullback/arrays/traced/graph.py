"""The graph of one trace: values, and the steps that compute them, in the order in which they ran.

A value is known by its number. Steps are kernels of NumPy by name, or functions; a guard is a step that gives nothing
but must find what it found at the trace. Equal pure steps are one step, so common subexpressions never arise. Nothing
here writes into an array: a kernel that writes gets a copy of its target, and the copy is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import count
from threading import RLock
from types import CodeType
from typing import Any, Final, TypeAlias

import numpy as np

from pullback.core.array_type import NUMPY
from pullback.core.errors import UntraceableError
from pullback.core.late import ready
from pullback.core.tensor import ndarray
from pullback.dispatch.operator import BY_KERNEL, tags_of
from pullback.graph.strides import copied, is_part

_NUMBERS = count()
INT = frozenset({int})
NUMBERED = frozenset({bool, int, str, type(None)})  # of these equal ones of one type are the same
# What Python's operators of numbers are, of which come numbers of Python again.
_OF_NUMBERS = frozenset({"abs", "add", "div", "floor_divide", "mul", "neg", "pow", "remainder", "rsub", "sub"})
_COMPARED = 4096  # elements up to which an array is known by its contents


class Value:
    """An array of the program: an input, a constant, or what a step gives, in the form of an example.

    `single` says that a step gives it as NumPy's number.
    """

    __slots__ = ("dtype", "graph", "number", "shape", "single", "strides")

    def __init__(self, graph: Graph, example: ndarray | np.generic) -> None:
        self.graph = graph
        self.number = graph.count
        graph.count += 1
        self.shape = example.shape
        self.strides = example.strides
        self.dtype = example.dtype
        self.single = type(example) is not ndarray

    def __repr__(self) -> str:
        return f"%{self.number}: {self.dtype}{list(self.shape)}"


# What a step gives: one array, a tuple or a list of arrays, or nothing.
ONE: Final = "one"
TUPLE: Final = "tuple"
LIST: Final = "list"
GUARD: Final = "guard"

# The name of a kernel of NumPy's table, or a function of arrays.
What: TypeAlias = "str | Callable[..., Any]"


class Step:
    """A kernel, or a function, with its arguments; values stand among them, in lists and tuples too.

    Attributes
    ----------
    what : str or callable
    args : tuple
    results : list of Value
        What it gives.
    form : str
        ONE, TUPLE, LIST or GUARD.
    writes : bool
        Its first argument is written into, and is the result: the kernel gets a copy.
    aliases : tuple of int
        The places, among the values in the arguments, of those in whose memory a result may lie.
    pure : bool
        It gives the same for the same arguments, and does nothing else.
    cleans : bool
        It puts 0 where nothing has touched a gradient; only a NaN can have been there.
    kept : bool
        It runs even if nobody needs what it gives.
    asked : tuple of (code, int) or None
        The code of the user's that asked for it, and the place in it.
    """

    __slots__ = ("_values", "aliases", "args", "asked", "cleans", "form", "kept", "pure", "results", "what", "writes")

    def __init__(self, what: What, args: tuple[Any, ...], results: list[Value], form: str, writes: bool) -> None:
        self.what = what  # one by one, here and in `Value`: together they take twice as long, for thousands of steps
        self.args = args
        self.results = results
        self.form = form
        self.writes = writes
        self.aliases: tuple[int, ...] = ()
        self.pure = False
        self.cleans = False
        self.kept = False
        self._values: list[Value] | None = None
        self.asked: tuple[CodeType, int] | None = None  # the code and the place in it: a line is looked up when wanted

    def with_args(self, args: tuple[Any, ...]) -> Step:
        """The same step of other arguments."""
        made = Step(self.what, args, self.results, self.form, self.writes)
        made.aliases, made.pure, made.cleans = self.aliases, self.pure, self.cleans
        made.kept, made.asked = self.kept, self.asked
        return made

    @property
    def name(self) -> str:
        """The kernel's name, or the function's."""
        return self.what if isinstance(self.what, str) else getattr(self.what, "__name__", type(self.what).__name__)

    @property
    def line(self) -> tuple[str, int] | None:
        """The file and the line of the user's code that asked for it."""
        code, place = self.asked or (None, 0)
        lines = () if code is None else code.co_lines()
        found = next((line for begin, end, line in lines if begin <= place < end), None)
        return None if code is None or found is None else (code.co_filename, found)

    def values(self) -> list[Value]:
        """The values among the arguments, in order."""
        if self._values is None:
            self._values = [x for x in spread(self.args) if type(x) is Value]
        return self._values

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.results))} = {self.name}{self.args}"


class Guard:
    """Something that a program has looked at: it is right only where a look finds the same.

    Parameters
    ----------
    why : str
        Who looked, in the words of an error.
    expected
        What was found: an array, whose bits are compared, or a Python value.
    """

    __slots__ = ("expected", "why")
    __name__ = "guard"

    def __init__(self, why: str, expected: Any) -> None:
        self.why, self.expected = why, expected

    def __call__(self, found: Any) -> bool:
        """True if `found` is what was found at the trace."""
        if not isinstance(self.expected, ndarray):
            return type(found) is type(self.expected) and bool(found == self.expected)
        return same_bits(found, self.expected)

    def __repr__(self) -> str:
        return f"guard({self.why!r})"


class Raised(Guard):
    """An error of a kernel or a check, which the function has caught: a program is right only where it comes again."""

    __slots__ = ("kind", "run")

    def __init__(self, name: str, run: Callable[..., Any], kind: type[Exception]) -> None:
        super().__init__(f"the error of {name}", kind.__name__)
        self.run, self.kind = run, kind

    def __call__(self, *args: Any) -> bool:
        """True if the error comes."""
        try:
            self.run(*args)
        except self.kind:
            return True
        except Exception:  # noqa: BLE001 - another one, so another way through the function
            return False
        return False


class Check:
    """A check of a formula or an operator, which raises what is wrong with the values of the call."""

    __slots__ = ("examine",)
    __name__ = "check"

    def __init__(self, examine: Callable[..., None]) -> None:
        self.examine = examine

    def __call__(self, *arrays: Any) -> bool:
        """Raise what is wrong."""
        self.examine(*map(np.asarray, arrays))
        return True


class LeftError(Exception):
    """A program is not that of this call: a guard has not held, or a function that it calls has done something else."""


class Graph:
    """All that a function has computed of its inputs, while it ran on examples of them.

    Attributes
    ----------
    inputs : list of Value
    constants : list of (Value, ndarray, bool)
        The arrays that were there already, each with whether it is read where it lies at each run: `live` has said so.
        Others are copies.
    steps : list of Step
    records : bool
        What is computed now is recorded. Not so in a function that is one step, and after the trace: what is left of it
        then is numbers.
    reads : Reads or None
        While a function runs that is one step: what it reads of traced arrays, which show it their numbers.
    has_parts, reads_around : bool
        An input is a part of a larger memory; what is around it has been read.
    lock : RLock
        Of the functions among the steps, which one thread runs at a time.
    described : dict
        The objects that these functions hold, by identity: see `described`.
    asked_for : bool
        The user has compiled the function; not so of what solvers call.
    """

    records = asked_for = True
    reads: Any = None
    has_parts = reads_around = False

    def __init__(self, live: Callable[[ndarray], bool] = lambda array: False) -> None:
        self.id, self.count = next(_NUMBERS), 0
        self.inputs: list[Value] = []
        self.constants: list[tuple[Value, ndarray, bool]] = []
        self.steps: list[Step] = []
        self.given: list[Any] = []  # what the function is given, Tensors of the caller's among it
        self.loose: set[int] = set()  # the values that are Python's numbers outside, by their numbers
        self.held: list[tuple[Any, ndarray]] = []  # Tensors that hold traced arrays for now, and what they held
        self.cleans = False  # whether the next selection puts 0 where nothing has touched a gradient
        self.live, self.lock = live, RLock()
        self.described: dict[int, Any] = {}
        self.asked: Callable[[], Any] = lambda: None  # by what code of the user's, and where in it
        self._memo: dict[Hashable, Step] = {}
        self.fixed: dict[int, ndarray] = {}  # by number, the constants that are the same at each run
        self._by_place: dict[Hashable, Value] = {}
        self._by_bits: dict[Hashable, tuple[Value, ndarray]] = {}

    # -- values --------------------------------------------------------------------------------------------------------
    def input(self, example: ndarray) -> Value:
        """A further input of the program, in the form of `example`."""
        self.inputs.append(value := Value(self, example))
        self.has_parts = self.has_parts or (example.base is not None and is_part(example))
        return value

    def constant(self, array: ndarray, spread: bool = False) -> Value:
        """An array that was not computed here: read where it lies if it is live, else kept as it is now.

        `spread`: it may lie in the memory of fewer elements, and is not copied, for nobody else has it.
        """
        if spread:
            self.constants.append((value := Value(self, array), array, False))
            return value
        if live := self.live(array):
            if (found := self._by_place.get(key := place_of(array))) is not None:
                return found
        elif (known := self._by_bits.get(key := _bits_of(array))) is not None and (
            array.size <= _COMPARED or same_bits(array, known[1])  # another may lie where one has been
        ):
            return known[0]
        value = Value(self, array)
        if live:
            self._by_place[key] = value
        else:
            array = copied(array)
            array.flags.writeable = False
            self._by_bits[key] = value, array
            self.fixed[value.number] = array
        self.constants.append((value, array, live))
        return value

    # -- steps ---------------------------------------------------------------------------------------------------------
    def compute(
        self, name: str, args: tuple[Any, ...], examples: Sequence[Any], key: tuple[Hashable, ...] | None
    ) -> tuple[Step, Any]:
        """Run a kernel of NumPy's on the examples, and note it; returns the step and what the kernel gave.

        The key is equal for equal steps; None of arguments among which there may be arrays.
        """
        kernel, pure, writes, draws, sizes = _FACTS[name]
        if writes:
            examples = (copied(examples[0]), *examples[1:])
        if key is None:
            args, key = self._known_by(name, args)
        try:
            found = kernel(*examples)
        except Exception as error:
            self.guard(Raised(name, kernel, type(error)), args)
            raise
        if pure and key in self._memo:
            return self._memo[key], found
        if type(found) is ndarray and found.dtype.kind != "O":  # `note` written out for the usual case
            step = Step(name, args, [Value(self, found)], ONE, writes)
            step.asked = self.asked()
            self.steps.append(step)
            if found.base is not None or id(found) in map(id, examples):
                step.aliases = _aliases(found, examples)
        else:
            step = self.note(name, args, found, writes)
            if step.form is not GUARD:
                step.aliases = _aliases(found, examples)
        if self.loose:
            self._follow_loose(step)
        if pure:
            self._memo[key] = step
        if step.form is not GUARD:
            step.pure, step.kept = pure, draws
            for value in step.results if sizes else ():
                self.guard(Guard(f"how many {name} gives", value.shape), (value,), np.shape)
        step.cleans = self.cleans and name == "where"
        return step, found

    def _follow_loose(self, step: Step) -> None:
        """Note that arithmetic with Python's numbers alone gives one."""
        if step.form is not ONE or step.name not in _OF_NUMBERS:
            return
        given = step.values()
        if (
            given
            and all(x.number in self.loose for x in given)
            and not any(issubclass(type(x), np.generic) for x in step.args)
        ):
            self.loose.add(step.results[0].number)

    def _known_by(self, name: str, args: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Hashable, ...]]:
        """(the arguments with a value for every array in them, a key that is equal for equal steps)."""
        given = tuple(map(self.lifted, args))
        return given, (name, *[x if type(x) is Value else key_of(x) for x in given])

    def note(self, what: What, args: tuple[Any, ...], found: Any, writes: bool = False) -> Step:
        """Note that `what` has given `found` for these arguments, among which values stand."""
        form = TUPLE if type(found) is not list and isinstance(found, tuple) else LIST if type(found) is list else ONE
        if form is ONE and not isinstance(found, (ndarray, np.generic)):
            return self.guard(Guard(f"the result of {what}", found), args, what)
        results = [self._result(x, what) for x in (found if form is not ONE else (found,))]
        step = Step(what, tuple(map(self.lifted, args)), results, form, writes)
        step.asked = self.asked()
        self.steps.append(step)
        return step

    def has_read_since(self, begin: int) -> bool:
        """True if a guard on numbers is among the steps from this one on."""
        return any(type(step.what) is Guard for step in self.steps[begin:])

    def roll_back(self, begin: int) -> None:
        """Forget the steps from this one on, which nobody uses."""
        gone = {id(step) for step in self.steps[begin:]}
        del self.steps[begin:]
        self._memo = {key: step for key, step in self._memo.items() if id(step) not in gone}

    def note_call(self, call: Any, args: tuple[Any, ...], results: list[Value], kept: bool) -> None:
        """Note a call of a function of plain arrays; see `calls`."""
        self.steps.append(step := Step(call, args, results, TUPLE, False))
        step.asked, step.kept = self.asked(), kept

    def guard(self, guard: Guard | Check, args: Sequence[Any], what: What | None = None) -> Step:
        """Note that a program has looked: `guard` must hold of the arguments, or of what `what` gives for them."""
        given = tuple(map(self.lifted, args))
        step = Step(guard, given if what is None else (what, given), [], GUARD, False)
        step.asked = self.asked()
        self.steps.append(step)
        return step

    def lifted(self, x: Any) -> Any:
        """An argument with a value for every array in it."""
        if type(x) is ndarray:
            return self.constant(x)
        return type(x)(map(self.lifted, x)) if type(x) in (list, tuple) else x

    def _result(self, x: Any, what: What) -> Value:
        if not isinstance(x, (ndarray, np.generic)) or x.dtype.hasobject:
            raise UntraceableError(f"{what} gives {type(x).__name__}, which is no array of numbers.")
        return Value(self, x)


# -- keys: when two arguments are the same ----------------------------------------------------------------------------
def key_of(x: Any) -> Hashable:
    """A key that is equal for two arguments of a step if these are the same for every kernel."""
    kind = type(x)
    if kind is Value:
        return ("value", x.number)
    if kind is float:
        return (kind, x.hex())
    if kind is complex:
        return (kind, x.real.hex(), x.imag.hex())
    if kind is slice:
        return (kind, key_of(x.start), key_of(x.stop), key_of(x.step))
    if kind in (list, tuple):
        return (kind, *map(key_of, x))
    if kind is ndarray:
        return _bits_of(x)
    if isinstance(x, np.generic):
        return (kind, x.dtype.str, x.tobytes())
    if isinstance(x, np.dtype) or x is None or kind in (bool, int, str) or x is ...:
        return (kind, x)
    return (kind, id(x))  # of what is compared by identity it stays alive, in the step


def place_of(array: ndarray) -> Hashable:
    """A key that is equal for two arrays of one form in the same place of memory."""
    return (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)


def _bits_of(array: ndarray) -> Hashable:
    return (array.dtype.str, array.shape, array.strides, array.tobytes() if array.size <= _COMPARED else id(array))


def same_bits(a: Any, b: ndarray) -> bool:
    """True if two arrays hold the same numbers to the bit; nan is equal to itself, and 0 not to -0."""
    return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())


class _Facts(dict[str, tuple[Callable[..., Any], bool, bool, bool, bool]]):
    """By name (NumPy's kernel, if it is pure, writes into its first argument, draws, lets numbers decide on sizes)."""

    def __missing__(self, name: str) -> tuple[Callable[..., Any], bool, bool, bool, bool]:
        kernel = ready(NUMPY.kernels[name])
        operators = BY_KERNEL.get(name, {}).values()
        if any(op.holds for op in operators):
            raise UntraceableError(f"{name} makes arrays of arrays, which a program cannot hold")
        writes = any(op.mutates for op in operators)
        tags = tags_of(name)
        draws = "random" in tags
        self[name] = facts = (kernel, not (writes or draws), writes, draws, "value" in tags)
        return facts


_FACTS = _Facts()


def _aliases(found: Any, examples: Sequence[Any]) -> tuple[int, ...]:
    """The places, among the arrays in the arguments of a kernel, of those in whose memory a result may lie."""
    if type(found) is ndarray and found.base is None:
        return tuple(place for place, x in enumerate(_arrays_of(examples)) if x is found)
    outs = [x for x in (found if isinstance(found, (list, tuple)) else (found,)) if type(x) is ndarray]
    return (
        tuple(place for place, x in enumerate(_arrays_of(examples)) if any(np.may_share_memory(out, x) for out in outs))
        if outs
        else ()
    )


def _arrays_of(examples: Sequence[Any]) -> list[ndarray]:
    return [x for x in spread(examples) if type(x) is ndarray]


def added_at(target: ndarray, index: Any, value: Any) -> ndarray:
    """`target`, after value has been added to it at a basic index."""
    target[index] += value
    return target


def written_over(target: ndarray, value: Any) -> ndarray:
    """`target`, after value has been written over it."""
    target[...] = value
    return target


def spread(args: Any) -> list[Any]:
    """All that is in lists and tuples of arguments, one after the other."""
    found: list[Any] = []
    for x in args:
        if type(x) in (list, tuple):
            found += spread(x)
        else:
            found.append(x)
    return found
