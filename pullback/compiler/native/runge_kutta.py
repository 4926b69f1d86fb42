"""Explicit Runge-Kutta methods in machine code, for a slope that is: SciPy's steps, of the lengths that SciPy chooses.

The tableau is data, so one function serves RK23, RK45 and DOP853. It takes as many steps as there is room for, and
leaves of each the time, y and all slopes, of which SciPy's interpolation is made.

P. Virtanen et al., SciPy 1.0, Nature Methods 17, 2020 (`scipy.integrate.RK45`); E. Hairer, S. Norsett, G. Wanner,
Solving Ordinary Differential Equations I, Sec. II.4.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from pullback.compiler.native import runtime
from pullback.compiler.native.code import ADDRESS, INDEX, Code, Module, Type, Value
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.toolchain import Library, Toolchain, store
from pullback.core.tensor import ndarray

WORD: Final = 8
_FLOAT: Final = Type("f", 64)
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0  # of the factors by which a step grows
_FOREVER = 1 << 40
ENDED, FULL, TOO_SHORT, LEFT = range(4)  # why it has stopped

_WORDS: Final = (  # whole numbers and addresses
    "bases", "steps", "rows", "at_t", "at_y", "slot", "n", "stages", "extra", "width", "A", "C", "B", "E", "E3", "atol",
    "K", "y", "new", "ts", "ys", "Ks", "room", "why", "evaluations",
)  # fmt: skip
_NUMBERS: Final = ("t", "end", "direction", "length", "longest", "rtol", "power", "rejected")


class _Frame:
    """The fields of a run, by name."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.words, self.numbers = code.params[:2]

    def _place(self, name: str) -> Value:
        if name in _WORDS:
            return self.code.shift(self.words, _WORDS.index(name) * WORD)
        return self.code.shift(self.numbers, _NUMBERS.index(name) * WORD)

    def get(self, name: str, type_: Type = _FLOAT) -> Value:
        return self.code.load(type_, self._place(name))

    def count(self, name: str) -> Value:
        return self.get(name, INDEX)

    def address(self, name: str) -> Value:
        return self.get(name, ADDRESS)

    def set(self, name: str, value: Value) -> None:
        self.code.store(value, self._place(name))

    def row(self, name: str, nr: Value, width: str) -> Value:
        """A row of a matrix."""
        return self.address(name).at(nr * self.count(width), WORD)

    def element(self, address: Value, nr: Value) -> Value:
        return self.code.load(_FLOAT, address.at(nr, WORD))


_PARAMS: Final = [("words", ADDRESS), ("numbers", ADDRESS)]


def _slope() -> Code:
    """The slope at a time and at the y in the memory for it, into row `row` of K; gives 0, or what has ended it."""
    code = Code("slope", [*_PARAMS, ("t", _FLOAT), ("row", INDEX)], INDEX, shared=False)
    frame, (t, row) = _Frame(code), code.params[2:]
    code.store(t, frame.address("at_t"))
    bases = frame.address("bases")
    code.store(frame.row("K", row, "n"), bases.at(frame.count("slot"), WORD))
    frame.set("evaluations", frame.count("evaluations") + 1)
    code.give(code.call("run", INDEX, bases, frame.address("steps"), frame.count("rows")))
    return code


def _moved() -> Code:
    """y + h times the sum of the first slopes with these weights, into the memory for y."""
    code = Code("moved", [*_PARAMS, ("h", _FLOAT), ("weights", ADDRESS), ("many", INDEX)], shared=False)
    frame, (h, weights, many) = _Frame(code), code.params[2:]
    n, y, slopes, to = frame.count("n"), frame.address("y"), frame.address("K"), frame.address("at_y")
    with code.loop(0, n) as i:
        total = code.variable(code.number(0.0, _FLOAT))
        with code.loop(0, many) as j:
            code.set(total, code.get(total) + frame.element(weights, j) * frame.element(slopes, j * n + i))
        code.store(frame.element(y, i) + code.get(total) * h, to.at(i, WORD))
    code.give()
    return code


def _error() -> Code:
    """The norm of the error of a step to the y in `new`, in units of what is allowed."""
    code = Code("error", [*_PARAMS, ("h", _FLOAT)], _FLOAT, shared=False)
    frame, h = _Frame(code), code.params[2]
    n, slopes, many = frame.count("n"), frame.address("K"), frame.count("stages") + 1
    rtol, atol = frame.get("rtol"), frame.address("atol")
    y, new, weights, others = (frame.address(name) for name in ("y", "new", "E", "E3"))
    null, zero = code.number(0, ADDRESS), code.number(0.0, _FLOAT)
    two = others.ne(null)
    squares, more = code.variable(zero), code.variable(zero)
    with code.loop(0, n) as i:
        size = FUNCTIONS["maximum"](
            code, code.unary("abs", frame.element(y, i)), code.unary("abs", frame.element(new, i))
        )
        scale = frame.element(atol, i) + size * rtol

        def part(of: Value, i: Value = i, scale: Value = scale) -> Value:
            total = code.variable(zero)
            with code.loop(0, many) as j:
                code.set(total, code.get(total) + frame.element(of, j) * frame.element(slopes, j * n + i))
            return code.get(total) / scale

        with code.when(two) as both:
            one, other = part(weights), part(others)
            code.set(squares, code.get(squares) + one * one)
            code.set(more, code.get(more) + other * other)
        with code.otherwise(both):
            one = part(weights) * h
            code.set(squares, code.get(squares) + one * one)
    count, found = code.tofloat(n), code.get(squares)
    with code.when(two):
        both_ = found + code.get(more) * 0.01
        norm = code.unary("abs", h) * found / code.unary("sqrt", both_ * count)
        code.give(code.sel(both_.eq(0.0), zero, norm))
    code.give(code.unary("sqrt", found) / code.unary("sqrt", count))
    return code


def _taken() -> Code:
    """The slopes of a step from t, of length h, and y after it in `new`; gives 0, or what has ended it."""
    code = Code("taken", [*_PARAMS, ("t", _FLOAT), ("h", _FLOAT)], INDEX, shared=False)
    frame, (t, h) = _Frame(code), code.params[2:]
    stages, given = frame.count("stages"), code.params[:2]

    def slope(at: Value, row: Value) -> None:
        status = code.call("slope", INDEX, *given, at, row)
        with code.when(status.ne(0)):
            code.give(status)

    with code.loop(1, stages) as s:
        code.call("moved", None, *given, h, frame.row("A", s, "width"), s)
        slope(t + frame.element(frame.address("C"), s) * h, s)
    code.call("moved", None, *given, h, frame.address("B"), stages)
    with code.loop(0, frame.count("n")) as i:
        code.store(frame.element(frame.address("at_y"), i), frame.address("new").at(i, WORD))
    slope(t + h, stages)
    code.give(code.index(0))
    return code


def _further() -> Code:
    """The slopes for the interpolation alone, of a step that counts."""
    code = Code("further", [*_PARAMS, ("t", _FLOAT), ("h", _FLOAT)], INDEX, shared=False)
    frame, (t, h) = _Frame(code), code.params[2:]
    first = frame.count("stages") + 1
    with code.loop(first, first + frame.count("extra")) as s:
        code.call("moved", None, *code.params[:2], h, frame.row("A", s, "width"), s)
        status = code.call("slope", INDEX, *code.params[:2], t + frame.element(frame.address("C"), s) * h, s)
        with code.when(status.ne(0)):
            code.give(status)
    code.give(code.index(0))
    return code


def _keep() -> Code:
    """Leaves what a step has found in row `nr`, and goes on from there."""
    code = Code("keep", [*_PARAMS, ("nr", INDEX), ("t", _FLOAT)], shared=False)
    frame, (nr, t) = _Frame(code), code.params[2:]
    n, slopes = frame.count("n"), frame.address("K")
    many = (frame.count("stages") + frame.count("extra") + 1) * n
    kept, last = frame.address("Ks").at(nr * many, WORD), frame.row("K", frame.count("stages"), "n")
    frame.set("t", t)
    code.store(t, frame.address("ts").at(nr, WORD))
    with code.loop(0, many) as i:
        code.store(frame.element(slopes, i), kept.at(i, WORD))
    with code.loop(0, n) as i:
        y = frame.element(frame.address("new"), i)
        code.store(y, frame.address("y").at(i, WORD))
        code.store(y, frame.row("ys", nr, "n").at(i, WORD))
        code.store(frame.element(last, i), slopes.at(i, WORD))
    code.give()
    return code


def _spacing(code: Code, t: Value, direction: Value) -> Value:
    """The distance from t to the next number in this direction."""
    bits = code.bits(t)
    away = (t * direction) >= 0.0
    zero = t.eq(0.0)
    following = code.float(code.sel(away, bits + 1, bits - 1))
    return code.sel(zero, code.number(5e-324, _FLOAT), code.unary("abs", following - t))


def _steps() -> Code:
    """Steps up to the end, or as many as there is room for; gives how many, and says in `why` what has ended it."""
    code = Code("steps", list(_PARAMS), INDEX)
    frame, given = _Frame(code), code.params
    direction, end = frame.get("direction"), frame.get("end")
    taken = code.variable(code.index(0))

    def stop(why: int) -> None:
        frame.set("why", code.index(why))
        code.give(code.get(taken))

    with code.loop(0, _FOREVER):
        t, length, longest = frame.get("t"), frame.get("length"), frame.get("longest")
        with code.when((direction * (t - end)) >= 0.0):
            stop(ENDED)
        with code.when(code.get(taken) >= frame.count("room")):
            stop(FULL)
        rejected, least = frame.get("rejected"), _spacing(code, t, direction) * 10.0
        at_first = code.sel(length > longest, longest, code.sel(length < least, least, length))
        length = code.sel(rejected.eq(0.0), at_first, length)
        with code.when(length < least):
            stop(TOO_SHORT)
        new = t + length * direction
        new = code.sel((direction * (new - end)) > 0.0, end, new)
        h, asked = new - t, length
        length = code.unary("abs", h)
        status = code.call("taken", INDEX, *given, t, h)
        with code.when(status.ne(0)):
            stop(LEFT)
        error = code.call("error", _FLOAT, *given, h)
        growth = FUNCTIONS["pow"](code, error, frame.get("power")) * _SAFETY
        with code.when(error < 1.0) as accepted:
            status = code.call("further", INDEX, *given, t, h)
            with code.when(status.ne(0)):
                stop(LEFT)
            factor = code.sel(error.eq(0.0), code.number(_MOST, _FLOAT), code.sel(growth > _MOST, _MOST, growth))
            factor = code.sel(rejected.ne(0.0) & (factor > 1.0), code.number(1.0, _FLOAT), factor)
            # One that was cut short at the end tells nothing of how long the next one may be.
            frame.set("length", FUNCTIONS["maximum"](code, length * factor, code.sel(new.eq(end), asked, 0.0)))
            frame.set("rejected", code.number(0.0, _FLOAT))
            code.call("keep", None, *given, code.get(taken), new)
            code.set(taken, code.get(taken) + 1)
        with code.otherwise(accepted):
            frame.set("length", length * code.sel(growth > _LEAST, growth, code.number(_LEAST, _FLOAT)))
            frame.set("rejected", code.number(1.0, _FLOAT))
    stop(FULL)
    return code


def module() -> Module:
    """The functions of this page, and the run of a program, which they call."""
    return Module([*runtime.runs(), _slope(), _moved(), _error(), _taken(), _further(), _keep(), _steps()])


@cache
def _library(tool: Toolchain) -> Library:
    return tool.build(module(), store())


class Stepper:
    """A method, with its tableau, for a slope in machine code.

    Parameters
    ----------
    method : class
        SciPy's: RK23, RK45 or DOP853.
    tables : callable
        (t, y, result) -> the tables of a way through a round whose first inputs are in these streams.
    """

    def __init__(self, tool: Toolchain, method: Any) -> None:
        self._library = _library(tool)
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(self._library.address("steps"))
        extra = getattr(method, "A_EXTRA", np.zeros((0, 0)))
        self.stages, self.extra = int(method.n_stages), len(extra)
        width = self.stages + self.extra + 1
        self.A, self.C = np.zeros((width, width)), np.zeros(width)
        self.A[: self.stages, : method.A.shape[1]] = method.A[: self.stages]
        self.C[: self.stages] = method.C[: self.stages]
        if self.extra:
            self.A[self.stages + 1 :, : extra.shape[1]], self.C[self.stages + 1 :] = extra, method.C_EXTRA
        self.B = np.ascontiguousarray(method.B)
        self.E = np.ascontiguousarray(method.E5 if self.extra else method.E)
        self.E3 = np.ascontiguousarray(method.E3) if self.extra else None

    def run(self, tables: Any, cells: tuple[ndarray, ndarray, int], solver: Any, room: int) -> Any:
        """(why it has stopped, times, y after each step, all slopes of each) from where SciPy's solver stands.

        `cells` are the memory for t and y, and the number of the base of the slope.
        """
        t, y, slot = cells
        n, rows = y.size, self.stages + self.extra + 1
        slopes, current, new = np.empty((rows, n)), np.array(solver.y), np.empty(n)
        slopes[0] = solver.f
        atol = np.ascontiguousarray(np.broadcast_to(np.asarray(solver.atol, np.float64), (n,)))
        ts, ys, kept = np.empty(room), np.empty((room, n)), np.empty((room, rows, n))
        at = {
            "at_t": t, "at_y": y, "A": self.A, "C": self.C, "B": self.B, "E": self.E, "E3": self.E3, "atol": atol,
            "K": slopes, "y": current, "new": new, "ts": ts, "ys": ys, "Ks": kept,
        }  # fmt: skip
        fields = tables.fields() | {name: 0 if x is None else x.ctypes.data for name, x in at.items()}
        fields |= {
            "slot": slot, "n": n, "stages": self.stages, "extra": self.extra, "width": len(self.A), "room": room,
            "why": 0, "evaluations": 0,
        }  # fmt: skip
        words = np.array([fields[name] for name in _WORDS], np.int64)
        numbers = np.array(
            [
                solver.t, solver.t_bound, solver.direction, solver.h_abs, solver.max_step, solver.rtol,
                solver.error_exponent, 0.0,
            ]
        )  # fmt: skip
        count = self._run(words.ctypes.data, numbers.ctypes.data)
        why, evaluations = (int(words[_WORDS.index(name)]) for name in ("why", "evaluations"))
        solver.t, solver.y, solver.f, solver.h_abs = float(numbers[0]), current, slopes[0], float(numbers[3])
        solver.nfev += evaluations
        return why, ts[:count], ys[:count], kept[:count]
