"""The function that Python calls: a builtin over machine code, which checks its arguments and makes its results itself.

Where Python or NumPy lays out its objects in another way than is known here, a Python function does the same.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]
from numpy.lib.stride_tricks import as_strided

from pullback.arrays.traced.graph import LeftError
from pullback.compiler.native import runtime
from pullback.compiler.native.nodes import contiguous
from pullback.compiler.native.runtime import FIELDS, METHOD, TABLE, WORD
from pullback.compiler.native.toolchain import CompilerError, Library, Toolchain, chosen, store
from pullback.core.tensor import ndarray
from pullback.core.types import Shape

_FASTCALL = 0x80
_API = {"PyArray_Scalar": 60, "PyArray_NewFromDescr": 94}  # places in NumPy's table, which do not change


class Form(NamedTuple):
    """How an input or an output lies in memory.

    Attributes
    ----------
    shape : tuple of int
    strides : tuple of int
        In bytes; of an output such that its elements lie side by side, in any order of the dimensions.
    dtype : numpy.dtype
    number : bool
        An output without dimensions that is one of NumPy's numbers.
    """

    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]
    number: bool = False

    @classmethod
    def of(cls, x: ndarray | np.generic) -> Form:
        """The form of an example."""
        return cls(x.shape, x.strides, x.dtype, type(x) is not ndarray)


def made(  # what a program consists of
    inputs: Sequence[Form],
    outputs: Sequence[Form],
    constants: Sequence[ndarray],
    workspace: int,
    steps: ndarray,
    single: bool = False,
    releases: bool = False,
    keep: Any = None,
    tool: Toolchain | None = None,
    watches: Sequence[tuple[int, int, int]] | None = None,
) -> Callable[..., Any]:
    """The function of arrays that runs a program.

    Parameters
    ----------
    inputs, outputs : sequence of Form
    constants : sequence of ndarray
    workspace : int
        Bytes.
    steps : ndarray of int64
        Rows `[words of this row, address of its kernel, data...]`, one after another.
    single : bool
        It gives its one output, not a tuple.
    releases : bool
        Other threads of Python run meanwhile; pays from some 20 us on.
    keep
        What must live as long: the libraries of the kernels.
    tool : Toolchain or None
        Which renders the entry; that of this machine.
    watches : sequence of (address, key, expected) or None
        Words of memory, or items of dicts by the addresses of their keys, that must be what they were; then it runs as
        often as `allow` says, and never where objects are laid out in another way.

    Returns
    -------
    callable
        It gives NotImplemented for arguments of other forms, and raises LeftError with what a kernel has given, where
        that is not 0. Dtypes are compared by identity.
    """
    if (tool := tool or chosen()) is None:
        raise CompilerError("there is no compiler, so no native code that could be called")
    library = runtime_library(tool)
    assert steps.dtype == np.int64, steps.dtype
    assert all(map(_is_dense, outputs)), outputs
    parts = _Parts(inputs, outputs, constants, workspace, steps, single, releases, (keep, library), watches)
    return _builtin(parts, library) if has_known_layout() else _function(parts, library)


def allow(function: Callable[..., Any], calls: int) -> None:
    """Let a function with watches run so often."""
    _words(function)[_LEFT] = calls


def left(function: Callable[..., Any]) -> int:
    """How often it may run yet."""
    return int(_words(function)[_LEFT])


def _words(function: Any) -> ndarray:
    return np.frombuffer(function.__self__.base, np.int64)


_LEFT = METHOD + FIELDS.index("left")


class _Parts(NamedTuple):
    inputs: Sequence[Form]
    outputs: Sequence[Form]
    constants: Sequence[ndarray]
    workspace: int
    steps: ndarray
    single: bool
    releases: bool
    keep: Any
    watches: Sequence[tuple[int, int, int]] | None = None

    def rows(self) -> int:
        """How many steps there are."""
        return rows_of(self.steps)

    def head(self) -> int:
        """The bytes of memory before the workspace."""
        words = 1 + len(self.inputs) + len(self.constants) + 2 * len(self.outputs)
        return -(-words * WORD // 64) * 64 + 64 * len(self.outputs)


def rows_of(steps: ndarray) -> int:
    """How many rows there are in a table of steps."""
    count, at = 0, 0
    while at < steps.size:
        at += int(steps[at])
        count += 1
    assert at == steps.size
    return count


@cache
def runtime_library(tool: Toolchain) -> Library:
    """The run of a program, the rounds of a loop, and the entry, in machine code."""
    return tool.build(runtime.module(), store())


# -- the builtin -------------------------------------------------------------------------------------------------------
class _Memory(bytearray):
    """A descriptor's memory, and what it points to."""

    __slots__ = ("keep",)
    keep: Any


def _builtin(parts: _Parts, library: Library) -> Callable[..., Any]:
    name = ctypes.create_string_buffer(b"compiled")
    constants = [x.ctypes.data for x in parts.constants]
    head, rows = parts.head(), [_row_of_input(x) for x in parts.inputs]
    own = np.empty(head + parts.workspace + 64, np.uint8)
    results = [_row_of_output(x) for x in parts.outputs]
    first = METHOD + len(FIELDS)
    watches = [(4, *watch) for watch in parts.watches or ()]
    memory = _Memory((first + sum(map(len, rows + results)) + len(constants) + 4 * len(watches)) * WORD)
    descriptor = np.frombuffer(memory, np.int64)
    start = descriptor.ctypes.data
    places = np.cumsum([first, sum(map(len, rows)), sum(map(len, results)), len(constants)]) * WORD + start
    fields = {
        "busy": 0, "table": _table().ctypes.data, "workspace": own.ctypes.data + -own.ctypes.data % 64,
        "size": head + parts.workspace, "head": head, "inputs": len(parts.inputs), "outputs": len(parts.outputs),
        "constants": len(constants), "single": parts.single, "releases": parts.releases,
        "steps": parts.steps.ctypes.data, "rows": parts.rows(), "input_rows": places[0], "output_rows": places[1],
        "constant_rows": places[2], "left": parts.watches is None, "once": parts.watches is not None,
        "watches": len(watches), "watch_rows": places[3],
    }  # fmt: skip
    method = [ctypes.addressof(name), library.address("entry"), _FASTCALL, 0]
    words = [x for row in rows + results for x in row]
    descriptor[:] = [*method, *(fields[x] for x in FIELDS), *words, *constants, *(x for row in watches for x in row)]
    descriptor.flags.writeable = False
    memory.keep = (name, own, parts)
    # Python reads the method's definition in the object that the function is bound to, to the very end.
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    function: Callable[..., Any] = new(("PyCFunction_NewEx", ctypes.pythonapi))(start, descriptor, None)
    return function


def _row_of_input(form: Form) -> list[int]:
    shape = [(k * WORD, n) for k, n in enumerate(form.shape)]
    # The strides of a dimension in which there is one step, or none, are whatever they are.
    some = 0 not in form.shape
    strides = [(k * WORD, form.strides[k]) for k, n in enumerate(form.shape) if n > 1 and some]
    flat = [x for pair in (*shape, *strides) for x in pair]
    head = [id(form.dtype), len(form.shape), form.dtype.alignment - 1, len(shape), len(strides)]
    return [1 + len(head) + len(flat), *head, *flat]


def _row_of_output(form: Form) -> list[int]:
    strided = form.strides != tuple(s * form.dtype.itemsize for s in contiguous(form.shape))
    row = [id(form.dtype), len(form.shape), form.number, strided, *form.shape, *form.strides]
    return [1 + len(row), *row]


def _is_dense(form: Form) -> bool:
    """True if the elements fill their memory, so that none lies outside of it."""
    steps = sorted((s, n) for n, s in zip(form.shape, form.strides, strict=True) if n > 1)
    wanted = form.dtype.itemsize
    for stride, n in steps:
        if stride != wanted:
            return 0 in form.shape
        wanted *= n
    return True


@cache
def _table() -> ndarray:
    """The addresses of what the entry calls."""
    python = ctypes.pythonapi
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
    api = pointer(_multiarray_umath._ARRAY_API, None)
    objects = {"ndarray": ndarray, "NotImplemented": NotImplemented, "LeftError": LeftError}

    def address(name: str) -> int:
        if name in objects:
            return id(objects[name])
        if name in _API:
            return ctypes.c_void_p.from_address(api + _API[name] * WORD).value or 0
        return ctypes.cast(getattr(python, name), ctypes.c_void_p).value or 0

    return np.array([address(name) for name in TABLE], np.int64)


@cache
def has_known_layout() -> bool:
    """True if arrays lie in memory as the entry reads them: what lies there is compared with what NumPy says."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if struct.calcsize("P") != WORD or ndarray.__basicsize__ < runtime.DTYPE + WORD:
        return False
    examples = [np.zeros((3, 4), np.float32)[:, ::2], np.arange(5.0), np.array(2), np.zeros((2, 0, 3), bool)]
    return all(map(_lies_as_read, examples))


def _lies_as_read(x: ndarray) -> bool:
    def word(at: int) -> int:
        return ctypes.c_int64.from_address(at).value

    at = id(x)
    known = [(runtime.TYPE, id(type(x))), (runtime.DTYPE, id(x.dtype)), (runtime.DATA, x.ctypes.data)]
    if any(word(at + offset) != value for offset, value in known):
        return False
    if ctypes.c_int32.from_address(at + runtime.NDIM).value != x.ndim:
        return False
    return all(
        [word(word(at + offset) + k * WORD) for k in range(x.ndim)] == [*numbers]
        for offset, numbers in ((runtime.SHAPE, x.shape), (runtime.STRIDES, x.strides))
    )


# -- the function ------------------------------------------------------------------------------------------------------
def _function(parts: _Parts, library: Library) -> Callable[..., Any]:
    """The same in Python: a hundred times slower, and it knows nothing of how objects lie in memory."""
    kind = ctypes.CFUNCTYPE if parts.releases else ctypes.PYFUNCTYPE
    run = kind(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library.address("run"))
    own, lock, rows = np.empty(parts.workspace + 64, np.uint8), Lock(), parts.rows()
    constants = [x.ctypes.data for x in parts.constants]

    def compiled(*arrays: ndarray) -> Any:
        if len(arrays) != len(parts.inputs) or not all(map(_is_like, arrays, parts.inputs)):
            return NotImplemented
        outputs = [_empty(form) for form in parts.outputs]
        free = lock.acquire(blocking=False)
        try:
            memory = own if free else np.empty_like(own)
            start = memory.ctypes.data
            given, made = ([x.ctypes.data for x in some] for some in (arrays, outputs))
            bases = np.array([start + -start % 64, *given, *constants, *made], np.int64)
            status = run(bases.ctypes.data, parts.steps.ctypes.data, rows)
        finally:
            if free:
                lock.release()
        if status:
            raise LeftError(status)
        results = [x[()] if form.number else x for x, form in zip(outputs, parts.outputs, strict=True)]
        return results[0] if parts.single else tuple(results)

    return compiled


def _is_like(x: Any, form: Form) -> bool:
    if type(x) is not ndarray or x.dtype is not form.dtype or x.shape != form.shape:
        return False
    steps = zip(x.shape, x.strides, form.strides, strict=True)
    return not (x.ctypes.data % x.dtype.alignment or (x.size and any(n > 1 and a != b for n, a, b in steps)))


def _empty(form: Form) -> ndarray:
    return np.empty_like(as_strided(np.empty(1, form.dtype), form.shape, form.strides), order="K", subok=False)
