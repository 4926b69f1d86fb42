"""The run of a program, and the function that Python calls, written in the language of kernels.

A program is rows of whole numbers, `[words of this row, address of its kernel, data...]`. A kernel is
`i64 kernel(ptr bases, ptr data)`: `bases` holds the addresses of the workspace, the inputs, the constants and the
outputs; it gives 0, or another number where a guard has not held, which ends the run.

The entry takes its arguments as C does in a builtin function of Python. It compares them with the forms in its
descriptor, makes the outputs, runs and packs. Functions of Python and of NumPy come by address, in a table; of their
objects it reads what `Layout` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pullback.compiler.native.code import ADDRESS, BOOL, INDEX, Code, Module, Type, Value

INT: Final = Type("i", 32)
WORD: Final = 8

# Where the fields of Python's and NumPy's objects lie; `entry.py` looks whether that is so.
TYPE, DATA, NDIM, SHAPE, STRIDES, DTYPE = 8, 16, 24, 32, 40, 56

# What stands in the table.
TABLE: Final = (
    "ndarray", "NotImplemented", "LeftError", "Py_IncRef", "Py_DecRef", "PyArray_NewFromDescr", "PyArray_Scalar",
    "PyTuple_New", "PyTuple_SetItem", "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_SetObject", "PyErr_NoMemory",
    "PyLong_FromSsize_t", "PyMem_RawMalloc", "PyMem_RawFree", "PyDict_GetItemWithError",
)  # fmt: skip

# What stands in a descriptor, a word each; four words of PyMethodDef come before. After them come rows of inputs,
# [words, dtype, dimensions, alignment - 1, comparisons, (offset in shape, size)..., (offset in strides, stride)...],
# rows of watches, [words, object, key or 0, what is expected] (an item of a dict, or a word of memory),
# rows of outputs, [words, dtype, dimensions, number, with strides, shape..., strides...], and addresses of constants.
METHOD: Final = 4
FIELDS: Final = (
    "busy", "table", "workspace", "size", "head", "inputs", "outputs", "constants", "single", "releases", "steps",
    "rows", "input_rows", "output_rows", "constant_rows", "left", "once", "watches", "watch_rows",
)  # fmt: skip


# What stands in the head of a way through a round, a word each; see `rounds.py`.
WAY: Final = ("bases", "steps", "rows", "moves", "moving")
LEFT, LAST = 1, 2  # what a kernel gives where a program must be left, and where this round has been the last


def module() -> Module:
    """The run, the rounds of a loop, and the entry with what it calls."""
    return Module([*runs(), _is_like(), _drop(), _outputs(), _packed(), _filled(), _called(), _entry()])


def runs() -> list[Code]:
    """The run, and the rounds."""
    return [_run(), _rounds()]


def checks() -> Module:
    """Kernels that look at a truth value among the results: data are the number of its base, and what it must be."""
    return Module([_expect("expect", LEFT), _expect("goes_on", LAST)])


def _run() -> Code:
    """Runs the rows until a kernel gives something other than 0."""
    code = Code("run", [("bases", ADDRESS), ("steps", ADDRESS), ("rows", INDEX)], INDEX)
    bases, steps, rows = code.params
    row = code.variable(steps)
    with code.loop(0, rows):
        at = code.get(row)
        kernel = code.load(ADDRESS, code.shift(at, WORD))
        status = code.call_at(kernel, INDEX, bases, code.shift(at, 2 * WORD))
        with code.when(status.ne(0)):
            code.give(status)
        code.set(row, at.at(code.load(INDEX, at), WORD))
    code.give(code.index(0))
    return code


def _rounds() -> Code:
    """Runs a program so often, each time on what its addresses have moved to; gives how often it has run.

    There may be several ways through a round, programs of the same inputs and outputs; the first one counts that does
    not end early. A row of moves is [base, bytes, turns]: so many bytes further after each round, or there and back
    again where `turns` is -1. `status` gets what has ended the loop early.
    """
    params = [("ways", ADDRESS), ("many", INDEX), ("count", INDEX), ("status", ADDRESS)]
    code = Code("rounds", params, INDEX)
    ways, many, count, status = code.params

    def field(way: Value, name: str, type_: Type = ADDRESS) -> Value:
        return code.load(type_, code.shift(way, WAY.index(name) * WORD))

    with code.loop(0, count) as nr:
        last = code.variable(code.index(LEFT))
        with code.loop(0, many) as which, code.when(code.get(last).eq(LEFT)):
            way = ways.at(which, len(WAY) * WORD)
            given = field(way, "bases"), field(way, "steps"), field(way, "rows", INDEX)
            code.set(last, code.call("run", INDEX, *given))
        code.store(code.get(last), status)
        with code.when(code.get(last).eq(LEFT)):
            code.give(nr)
        with code.when(code.get(last).ne(0)):
            code.give(nr + 1)
        with code.loop(0, many) as which:
            way = ways.at(which, len(WAY) * WORD)
            bases, moves = field(way, "bases"), field(way, "moves")
            with code.loop(0, field(way, "moving", INDEX)) as move:
                row = moves.at(move, 3 * WORD)
                place = bases.at(code.load(INDEX, row), WORD)
                by = code.load(INDEX, code.shift(row, WORD))
                code.store(code.load(INDEX, place) + by, place)
                code.store(by * code.load(INDEX, code.shift(row, 2 * WORD)), code.shift(row, WORD))
    code.give(count)
    return code


def _expect(name: str, otherwise: int) -> Code:
    code = Code(name, [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
    bases, data = code.params
    found = code.load(BOOL, code.load(ADDRESS, bases.at(code.load(INDEX, data), WORD)))
    wanted = code.load(INDEX, code.shift(data, WORD)).ne(0)
    with code.when(found ^ wanted):
        code.give(code.index(otherwise))
    code.give(code.index(0))
    return code


class _Frame:
    """For functions of the entry: fields of the descriptor, functions of the table."""

    def __init__(self, code: Code, descriptor: Value) -> None:
        self.code, self.descriptor = code, descriptor

    def place(self, field: str) -> Value:
        """Where a field lies."""
        return self.code.shift(self.descriptor, (METHOD + FIELDS.index(field)) * WORD)

    def number(self, field: str) -> Value:
        """A field."""
        return self.code.load(INDEX, self.place(field))

    def address(self, field: str) -> Value:
        """A field that is an address."""
        return self.code.load(ADDRESS, self.place(field))

    def known(self, name: str) -> Value:
        """A function or an object of the table."""
        return self.code.load(ADDRESS, self.code.shift(self.address("table"), TABLE.index(name) * WORD))

    def call(self, name: str, returns: Type | None, *args: Value) -> Value:
        """A call of a function of the table."""
        return self.code.call_at(self.known(name), returns, *args)

    def new(self, name: str) -> Value:
        """A further reference to an object of the table."""
        found = self.known(name)
        self.call("Py_IncRef", None, found)
        return found

    @contextmanager
    def rows(self, rows: str, count: str) -> Iterator[tuple[Value, Value]]:
        """A loop over rows, of which the first word is the length: a place, and an address."""
        code = self.code
        row = code.variable(self.address(rows))
        with code.loop(0, self.number(count)) as place:
            yield place, (at := code.get(row))
            code.set(row, at.at(code.load(INDEX, at), WORD))


def _is_like() -> Code:
    """1 for an array of the form in a row, else 0."""
    code = Code("is_like", [("array", ADDRESS), ("row", ADDRESS), ("ndarray", ADDRESS)], INDEX, shared=False)
    array, row, ndarray = code.params

    def word(nr: int, type_: Type = INDEX) -> Value:
        return code.load(type_, code.shift(row, nr * WORD))

    def unless(condition: Value) -> None:
        with code.when(condition):
            code.give(code.index(0))

    unless(code.load(ADDRESS, code.shift(array, TYPE)).ne(ndarray))
    unless(code.load(ADDRESS, code.shift(array, DTYPE)).ne(word(1, ADDRESS)))
    unless(code.cast(code.load(INT, code.shift(array, NDIM)), 64).ne(word(2)))
    data = code.make("tobits", INDEX, code.load(ADDRESS, code.shift(array, DATA)))
    unless((data & word(3)).ne(0))
    pairs = code.variable(code.shift(row, 6 * WORD))
    for field, count in ((SHAPE, word(4)), (STRIDES, word(5))):
        numbers = code.load(ADDRESS, code.shift(array, field))
        with code.loop(0, count):
            pair = code.get(pairs)
            found = code.load(INDEX, code.shift(numbers, code.load(INDEX, pair)))
            unless(found.ne(code.load(INDEX, code.shift(pair, WORD))))
            code.set(pairs, code.shift(pair, 2 * WORD))
    code.give(code.index(1))
    return code


def _drop() -> Code:
    """Lets go of the objects that there are among these."""
    code = Code("drop", [("descriptor", ADDRESS), ("objects", ADDRESS)], shared=False)
    descriptor, objects = code.params
    frame = _Frame(code, descriptor)
    with code.loop(0, frame.number("outputs")) as nr:
        found = code.load(ADDRESS, objects.at(nr, WORD))
        with code.when(found.ne(code.number(0, ADDRESS))):
            frame.call("Py_DecRef", None, found)
    code.give()
    return code


def _outputs() -> Code:
    """Makes the outputs, of which NumPy's numbers have a place in the memory; gives 0 if one could not be made."""
    params = [("descriptor", ADDRESS), ("bases", ADDRESS), ("objects", ADDRESS), ("numbers", ADDRESS)]
    code = Code("make_outputs", params, INDEX, shared=False)
    descriptor, bases, objects, numbers = code.params
    frame, null = _Frame(code, descriptor), code.number(0, ADDRESS)
    with frame.rows("output_rows", "outputs") as (nr, row):
        dtype = code.load(ADDRESS, code.shift(row, WORD))
        ndim, number, strided = (code.load(INDEX, code.shift(row, k * WORD)) for k in (2, 3, 4))
        with code.when(number.ne(0)) as branch:
            code.store(numbers.at(nr, 64), bases.at(nr, WORD))
        with code.otherwise(branch):
            frame.call("Py_IncRef", None, dtype)  # which the array takes
            shape = code.shift(row, 5 * WORD)
            strides = code.sel(strided.ne(0), shape.at(ndim, WORD), null)
            made = frame.call(
                "PyArray_NewFromDescr", ADDRESS, frame.known("ndarray"), dtype, code.cast(ndim, 32), shape, strides,
                null, code.number(0, INT), null,
            )  # fmt: skip
            with code.when(made.eq(null)):
                code.give(code.index(0))
            code.store(made, objects.at(nr, WORD))
            code.store(code.load(ADDRESS, code.shift(made, DATA)), bases.at(nr, WORD))
    code.give(code.index(1))
    return code


def _packed() -> Code:
    """The result of a call: one object, or a tuple; null if there is an error, and then the objects are let go."""
    params = [("descriptor", ADDRESS), ("objects", ADDRESS), ("numbers", ADDRESS)]
    code = Code("packed", params, ADDRESS, shared=False)
    descriptor, objects, numbers = code.params
    frame, null = _Frame(code, descriptor), code.number(0, ADDRESS)

    def unless(made: Value) -> None:
        with code.when(made.eq(null)):
            code.call("drop", None, descriptor, objects)
            code.give(null)

    with (
        frame.rows("output_rows", "outputs") as (nr, row),
        code.when(code.load(INDEX, code.shift(row, 3 * WORD)).ne(0)),
    ):
        dtype = code.load(ADDRESS, code.shift(row, WORD))
        made = frame.call("PyArray_Scalar", ADDRESS, numbers.at(nr, 64), dtype, null)
        unless(made)
        code.store(made, objects.at(nr, WORD))
    with code.when(frame.number("single").ne(0)):
        code.give(code.load(ADDRESS, objects))
    result = frame.call("PyTuple_New", ADDRESS, frame.number("outputs"))
    unless(result)
    with code.loop(0, frame.number("outputs")) as nr:
        frame.call("PyTuple_SetItem", INT, result, nr, code.load(ADDRESS, objects.at(nr, WORD)))
    code.give(result)
    return code


def _filled() -> Code:
    """The memory before a run: where inputs and constants lie, and no objects yet."""
    code = Code("fill", [("descriptor", ADDRESS), ("args", ADDRESS), ("bases", ADDRESS)], shared=False)
    descriptor, args, bases = code.params
    frame = _Frame(code, descriptor)
    inputs, constants = frame.number("inputs"), frame.number("constants")
    code.store(code.shift(bases, frame.number("head")), bases)
    with code.loop(0, inputs) as nr:
        data = code.load(ADDRESS, code.shift(code.load(ADDRESS, args.at(nr, WORD)), DATA))
        code.store(data, bases.at(nr + 1, WORD))
    with code.loop(0, constants) as nr:
        constant = code.load(ADDRESS, frame.address("constant_rows").at(nr, WORD))
        code.store(constant, bases.at(nr + inputs + 1, WORD))
    outputs = frame.number("outputs")
    with code.loop(0, outputs) as nr:
        code.store(code.number(0, ADDRESS), bases.at(nr + inputs + constants + outputs + 1, WORD))
    code.give()
    return code


def _called() -> Code:
    """A run in this memory: the result, or null if there is an error."""
    code = Code("called", [("descriptor", ADDRESS), ("bases", ADDRESS)], ADDRESS, shared=False)
    descriptor, bases = code.params
    frame, null = _Frame(code, descriptor), code.number(0, ADDRESS)
    outputs = frame.number("outputs")
    first = frame.number("inputs") + frame.number("constants") + 1
    objects = bases.at(first + outputs, WORD)
    numbers = code.shift(bases, frame.number("head") - outputs * 64)
    made = code.call("make_outputs", INDEX, descriptor, bases.at(first, WORD), objects, numbers)
    with code.when(made.ne(0)):
        status, running = code.variable(code.index(0)), (bases, frame.address("steps"), frame.number("rows"))
        with code.when(frame.number("releases").ne(0)) as long:
            thread = frame.call("PyEval_SaveThread", ADDRESS)
            code.set(status, code.call("run", INDEX, *running))
            frame.call("PyEval_RestoreThread", None, thread)
        with code.otherwise(long):
            code.set(status, code.call("run", INDEX, *running))
        with code.when(code.get(status).eq(0)):
            code.give(code.call("packed", ADDRESS, descriptor, objects, numbers))
        number = frame.call("PyLong_FromSsize_t", ADDRESS, code.get(status))
        with code.when(number.ne(null)):
            frame.call("PyErr_SetObject", None, frame.known("LeftError"), number)
            frame.call("Py_DecRef", None, number)
    code.call("drop", None, descriptor, objects)
    code.give(null)
    return code


def _entry() -> Code:
    """The function that Python calls: NotImplemented for arguments of another form."""
    code = Code("entry", [("self", ADDRESS), ("args", ADDRESS), ("count", INDEX)], ADDRESS)
    self, args, count = code.params
    descriptor = code.load(ADDRESS, code.shift(self, DATA))
    frame, null = _Frame(code, descriptor), code.number(0, ADDRESS)
    with code.when(count.ne(frame.number("inputs"))):
        code.give(frame.new("NotImplemented"))
    left = code.load(INDEX, frame.place("left"))
    with code.when(left <= 0):  # so many calls, and then somebody looks
        code.give(frame.new("NotImplemented"))
    with frame.rows("watch_rows", "watches") as (_, row):
        of, key, was = (code.load(ADDRESS, code.shift(row, k * WORD)) for k in (1, 2, 3))
        found = code.variable(null)
        with code.when(key.ne(null)) as item:
            code.set(found, frame.call("PyDict_GetItemWithError", ADDRESS, of, key))
        with code.otherwise(item):
            code.set(found, code.load(ADDRESS, of))
        with code.when(code.get(found).ne(was)):
            code.give(frame.new("NotImplemented"))
    ndarray = frame.known("ndarray")
    with frame.rows("input_rows", "inputs") as (nr, row):
        like = code.call("is_like", INDEX, code.load(ADDRESS, args.at(nr, WORD)), row, ndarray)
        with code.when(like.eq(0)):
            code.give(frame.new("NotImplemented"))

    with code.when(frame.number("once").ne(0)), code.loop(0, count) as nr, code.loop(nr + 1, count) as other:
        one, two = (code.load(ADDRESS, args.at(k, WORD)) for k in (nr, other))
        with code.when(one.eq(two)):  # an array that is given twice is another kind of call
            code.give(frame.new("NotImplemented"))
    code.store(left - frame.number("once"), frame.place("left"))

    # Memory: the addresses, the objects, a place for each number, and then what the program works in.
    memory, allocated = code.variable(frame.address("workspace")), code.variable(null)
    with code.when(frame.number("busy").eq(0)) as free:
        code.store(code.index(1), frame.place("busy"))
    with code.otherwise(free):  # another thread is in it, or this one has come here again
        got = frame.call("PyMem_RawMalloc", ADDRESS, frame.number("size") + 64)
        with code.when(got.eq(null)):
            code.give(frame.call("PyErr_NoMemory", ADDRESS))
        code.set(allocated, got)
        code.set(memory, code.shift(got, -code.make("tobits", INDEX, got) & 63))
    code.call("fill", None, descriptor, args, code.get(memory))
    result = code.call("called", ADDRESS, descriptor, code.get(memory))
    with code.when(code.get(allocated).ne(null)) as own:
        frame.call("PyMem_RawFree", None, code.get(allocated))
    with code.otherwise(own):
        code.store(code.index(0), frame.place("busy"))
    code.give(result)
    return code
