"""A try of a toolchain before its first use: every instruction, compared with NumPy bit by bit."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from pullback.compiler.native import code as language
from pullback.compiler.native import render_c, render_llvm
from pullback.compiler.native.code import ADDRESS, INDEX, Code, Module, Type, Value
from pullback.core.tensor import ndarray

if TYPE_CHECKING:
    from pullback.compiler.native.cache import Cache


class Tried(Protocol):
    """A toolchain, as far as it is tried."""

    identity: str
    vectors: bool

    def build(self, module: Module, store: Any, /) -> Any:
        """The machine code of a module."""


SLOT: Final = 64  # bytes of an operand, and of a result
STRIDE: Final = 24  # bytes between the lanes of what is not contiguous
OPERANDS: Final = ("a", "b", "c", "small", "i", "j", "p", "q", "far", "far_p")


class Case(NamedTuple):
    """An instruction as the language has it, and as NumPy has it."""

    name: str
    made: Callable[[Code, Any], Value]
    expected: Callable[[Any], Any]


def _same(name: str, f: Callable[[Any], Any]) -> Case:
    return Case(name, lambda _, x: f(x), f)


def _unary(op: str, f: Callable[[Any], Any]) -> Case:
    return Case(op, lambda code, x: code.unary(op, x.a), lambda x: f(x.a))


def _shift(op: str, by: int, f: Callable[[Any], Any]) -> Case:
    return Case(f"{op} {by}", lambda code, x: code.shifted(op, x.i, by), f)


def _across(op: str, f: Callable[[Any, Any], Any], kind: str) -> Case:
    def halves(x: Any) -> Any:
        x = x.a if kind == "f" else x.i
        while x.size > 1:
            x = f(x[: x.size // 2], x[x.size // 2 :])
        return x

    return Case(f"across {op} {kind}", lambda code, x: code.across(op, x.a if kind == "f" else x.i), halves)


def _max(x: Any, y: Any) -> Any:
    """NumPy's but for zeros, of which NumPy gives now the one, now the other."""
    return np.where((y < x) | np.isnan(x), x, y)


def _min(x: Any, y: Any) -> Any:
    return np.where((x < y) | np.isnan(x), x, y)


def cases(type_: Type) -> list[Case]:
    """Every instruction for floats of this type, with whole numbers and masks as wide."""
    bits, lanes = type_.bits, type_.lanes
    whole, unsigned = np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")
    other = 96 - bits  # the other width
    made = [
        _same("add", lambda x: x.a + x.b), _same("sub", lambda x: x.a - x.b), _same("mul", lambda x: x.a * x.b),
        _same("div", lambda x: x.a / x.b), _same("neg", lambda x: -x.a), _unary("abs", np.abs), _unary("sqrt", np.sqrt),
        _unary("floor", np.floor), _unary("ceil", np.ceil), _unary("rint", np.rint), _unary("trunc", np.trunc),
        Case("fma", lambda code, x: code.fma(x.small, x.small, x.c), lambda x: x.small * x.small + x.c),
        _same("iadd", lambda x: x.i + x.j), _same("isub", lambda x: x.i - x.j), _same("imul", lambda x: x.i * x.j),
        _same("ineg", lambda x: -x.i), _same("iand", lambda x: x.i & x.j), _same("ior", lambda x: x.i | x.j),
        _same("ixor", lambda x: x.i ^ x.j), _same("inot", lambda x: ~x.i),
        Case("idiv", lambda code, x: code.make("idiv", x.i.type, x.i, code.like(7, x.i)),
             lambda x: (x.i - np.fmod(x.i, 7)) // 7),
        Case("irem", lambda code, x: code.make("irem", x.i.type, x.i, code.like(7, x.i)), lambda x: np.fmod(x.i, 7)),
        _shift("shl", 3, lambda x: x.i << 3), _shift("sra", 3, lambda x: x.i >> 3),
        _shift("srl", 3, lambda x: (x.i.view(unsigned) >> unsigned.type(3)).view(whole)),
        _same("lt", lambda x: x.a < x.b), _same("le", lambda x: x.a <= x.b),
        _same("gt", lambda x: x.a > x.b), _same("ge", lambda x: x.a >= x.b),
        Case("eq", lambda _, x: x.a.eq(x.b), lambda x: x.a == x.b),
        Case("ne", lambda _, x: x.a.ne(x.b), lambda x: x.a != x.b),
        _same("ilt", lambda x: x.i < x.j), _same("ile", lambda x: x.i <= x.j),
        Case("ieq", lambda _, x: x.i.eq(x.j), lambda x: x.i == x.j),
        Case("ine", lambda _, x: x.i.ne(x.j), lambda x: x.i != x.j),
        _same("and", lambda x: x.p & x.q), _same("or", lambda x: x.p | x.q), _same("xor", lambda x: x.p ^ x.q),
        _same("not", lambda x: ~x.p),
        Case("sel", lambda code, x: code.sel(x.p, x.a, x.b), lambda x: np.where(x.p, x.a, x.b)),
        Case("sel of whole numbers", lambda code, x: code.sel(x.a < x.b, x.i, 5),
             lambda x: np.where(x.a < x.b, x.i, whole.type(5))),
        Case("sel of masks", lambda code, x: code.sel(x.p, x.q, x.a < x.b), lambda x: np.where(x.p, x.q, x.a < x.b)),
        Case("bits", lambda code, x: code.bits(x.a), lambda x: x.a.view(whole)),
        Case("float", lambda code, x: code.float(x.i), lambda x: x.i.view(x.a.dtype)),
        Case("tofloat", lambda code, x: code.tofloat(x.i), lambda x: x.i.astype(x.a.dtype)),
        Case("toint", lambda code, x: code.toint(x.small), lambda x: x.small.astype(whole)),
        Case("cast f", lambda code, x: code.cast(x.small, other), lambda x: x.small.astype(f"f{other // 8}")),
        Case("cast i", lambda code, x: code.cast(x.i, other), lambda x: x.i.astype(f"i{other // 8}")),
        Case("cast m", lambda code, x: code.cast(x.p, other), lambda x: x.p),
        Case("const", lambda code, x: x.a + 1.1, lambda x: x.a + x.a.dtype.type(1.1)),
        Case("infinite", lambda code, x: code.sel(x.p, np.inf, x.a),
             lambda x: np.where(x.p, x.a.dtype.type(np.inf), x.a)),
        Case("any", lambda code, x: code.sel(code.splat(code.any(x.p), lanes), x.a, x.b),
             lambda x: x.a if x.p.any() else x.b),
        Case("all", lambda code, x: code.sel(code.splat(code.all(x.p), lanes), x.a, x.b),
             lambda x: x.a if x.p.all() else x.b),
        _across("add", np.add, "f"), _across("mul", np.multiply, "f"), _across("max", _max, "f"),
        _across("min", _min, "f"), _across("add", np.add, "i"), _across("max", np.maximum, "i"),
        Case("lane", lambda code, x: code.lane(x.a, lanes - 1), lambda x: x.a[-1:]),
        Case("lane of a mask", lambda code, x: code.lane(x.p, lanes - 1), lambda x: x.p[-1:]),
        Case("splat", lambda code, x: code.splat(code.lane(x.b, 0), lanes), lambda x: np.repeat(x.b[:1], lanes)),
    ]  # fmt: skip
    if lanes > 1:
        made.append(
            Case("lanes", lambda code, x: x.i + code.lanes(x.i.type), lambda x: x.i + np.arange(lanes, dtype=whole))
        )
    return made + [case for count in _counts(lanes) for case in _loads(type_, count)]


def _counts(lanes: int) -> list[int]:
    return sorted({-1, 0, 1, lanes // 2 + 1, lanes - 1, lanes, lanes + 1})


def _loads(type_: Type, count: int) -> list[Case]:
    """Loads of the first lanes, and of what is not contiguous."""

    def load(kind: str, name: str, fill: float, strided: bool) -> Case:
        def made(code: Code, x: Any) -> Value:
            stride = code.index(STRIDE) if strided else None
            return code.load(type_.to(kind), x.at[name], code.index(count), stride, fill)

        def expected(x: Any) -> ndarray:
            values = getattr(x, name)
            return np.asarray(np.where(np.arange(type_.lanes) < count, values, values.dtype.type(fill)))

        return Case(f"load {count} of {name}, else {fill}", made, expected)

    return [
        load("f", "a", 0, False), load("f", "a", 1.5, False), load("i", "j", -3, False), load("m", "p", 0, False),
        load("m", "q", 1, False), load("f", "far", 2, True), load("m", "far_p", 1, True),
    ]  # fmt: skip


def operands(type_: Type, seed: int) -> SimpleNamespace:
    """Numbers to try it with, special ones among them."""
    rng = np.random.default_rng(seed)
    lanes, float_, whole = type_.lanes, np.dtype(f"f{type_.bits // 8}"), np.dtype(f"i{type_.bits // 8}")
    limits, ends = np.finfo(float_), np.iinfo(whole)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, limits.tiny, limits.smallest_subnormal, -limits.max, 0.5, -1.5, 2.5]

    def floats() -> ndarray:
        wide = rng.standard_normal(lanes) * 10.0 ** rng.integers(-30, 30, lanes)
        return np.where(rng.random(lanes) < 0.5, rng.choice(special, lanes), wide).astype(float_)

    def wholes() -> ndarray:
        wide = rng.integers(ends.min, ends.max, lanes, dtype=whole)
        special = rng.choice(np.array([0, 1, -1, ends.min + 1, ends.max], whole), lanes)
        return np.where(rng.random(lanes) < 0.5, special, wide)

    a, i = floats(), wholes()
    b, j = (np.where(rng.random(lanes) < 0.3, x, y) for x, y in ((a, floats()), (i, wholes())))
    return SimpleNamespace(
        a=a, b=b, c=rng.standard_normal(lanes).astype(float_), i=i, j=j,
        small=(rng.standard_normal(lanes) * 1000).astype(float_), p=rng.random(lanes) < 0.5, q=rng.random(lanes) < 0.2,
        far=floats(), far_p=rng.random(lanes) < 0.5,
    )  # fmt: skip


def _kind(name: str) -> str:
    return "i" if name in ("i", "j") else "m" if name in ("p", "q", "far_p") else "f"


def function(type_: Type, name: str) -> Code:
    """The function (operands, results) that computes every case; a call within it must take vectors too."""
    code = Code(name, [("of", ADDRESS), ("to", ADDRESS)])
    of, to = code.params
    at = {operand: code.shift(of, nr * SLOT * 8) for nr, operand in enumerate(OPERANDS)}
    x = SimpleNamespace(at=at)
    for operand, address in at.items():
        stride = code.index(STRIDE) if operand.startswith("far") else None
        setattr(x, operand, code.load(type_.to(_kind(operand)), address, None, stride))
    nr = 0
    for case in cases(type_):
        code.store(case.made(code, x), code.shift(to, nr * SLOT * 2))
        nr += 1
    for count in _counts(type_.lanes):
        for what in (x.a, x.i, x.p):
            for stride in (None, code.index(2 * what.type.bytes)):
                code.store(what, code.shift(to, nr * SLOT * 2), code.index(count), stride)
                nr += 1
    code.store(x.far, code.shift(to, nr * SLOT * 2), None, code.index(2 * x.far.type.bytes))
    nr += 1
    _flow(code, x, code.shift(to, nr * SLOT * 2))
    code.give()
    return code


def _flow(code: Code, x: Any, to: Value) -> None:
    """Loops, branches, variables, the stack, tables, calls."""
    total, room = code.variable(x.c), code.room(SLOT)
    with code.loop(0, 10, 3) as place:
        with code.when(place.eq(6)) as branch:
            code.set(total, code.get(total) + 1.0)
        with code.otherwise(branch):
            code.set(total, code.call("twice", x.c.type, code.get(total)))
    code.store(code.get(total), room)
    table = code.load(x.c.type, code.address_of("table").at(1, x.c.type.bytes))
    code.store(code.load(x.c.type, room) + table, to)
    met = code.call_at(code.address_of("third"), INDEX, code.index(5))
    code.store(met, code.shift(to, SLOT))


def module(type_: Type) -> Module:
    """The functions that a try consists of."""
    twice = Code("twice", [("x", type_)], type_, shared=False)
    twice.give(twice.params[0] * 2.0)
    third = Code("third", [("x", INDEX)], INDEX, shared=False)
    with third.when(third.params[0] < 3):
        third.give(third.index(0))
    third.give(third.params[0] * 3)
    table = np.arange(type_.lanes + 1).astype(f"f{type_.bits // 8}")
    return Module([twice, third, function(type_, "check")], {"table": table})


def expected(type_: Type, x: Any) -> list[ndarray]:
    """The results that it must write, slot by slot."""
    found = [np.asarray(case.expected(x)) for case in cases(type_)]
    for count in _counts(type_.lanes):
        for what in (x.a, x.i, x.p):
            part = what[: max(0, count)]
            found += [part, _spread(part)]
    found.append(_spread(x.far))
    total = x.c
    for place in range(0, 10, 3):
        total = total + 1 if place == 6 else total * 2
    table = np.arange(1, type_.lanes + 1).astype(total.dtype)
    return [*found, total + table, np.array([15])]


def _spread(x: ndarray) -> ndarray:
    """The elements with as much room between them, where nothing is written."""
    made = np.full(2 * x.nbytes, -1, np.int8).view(x.dtype)
    made[::2] = x
    return made[:-1]


def differences(type_: Type, address: int, seed: int) -> list[str]:
    """Where the function at this address computes wrongly."""
    x = operands(type_, seed)
    of = np.zeros(len(OPERANDS) * SLOT * 8, np.int8)
    for nr, name in enumerate(OPERANDS):
        values = getattr(x, name)
        for lane, value in enumerate(values):
            start = nr * SLOT * 8 + lane * (STRIDE if name.startswith("far") else values.itemsize)
            of[start : start + values.itemsize] = np.frombuffer(value.tobytes(), np.int8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = expected(type_, x)
    names = [case.name for case in cases(type_)]
    to = np.full((len(wanted) + 1) * SLOT * 2, -1, np.int8)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(of.ctypes.data, to.ctypes.data)
    wrong = []
    places = [*range(0, SLOT * 2 * (len(wanted) - 1), SLOT * 2), SLOT * 2 * (len(wanted) - 2) + SLOT]
    for nr, (value, start) in enumerate(zip(wanted, places, strict=True)):
        found = to[start : start + value.nbytes].view(value.dtype) if value.size else value
        rest = to[start + value.nbytes : start + SLOT]
        name = names[nr] if nr < len(names) else f"store {nr - len(names)}"
        near = name == "fma" and np.allclose(found, value, rtol=4 * np.finfo(value.dtype).eps, atol=0)
        if not near and not _equal(found, value):
            wrong.append(f"{name}: {found} instead of {value}")
        elif (rest != -1).any():
            wrong.append(f"{name}: writes past its end")
    return wrong


def _equal(x: ndarray, y: ndarray) -> bool:
    """Bit for bit; NaN may have any sign."""
    x, y = (np.where(np.isnan(z), np.nan, z) if z.dtype.kind == "f" else z for z in (x, y))
    return x.tobytes() == y.tobytes()


def passes(tool: Tried, vector_bytes: int, store: Cache) -> bool:
    """True if the toolchain computes what NumPy does; found out once on a machine."""
    sources = [Path(x.__file__ or "").read_bytes() for x in (language, render_c, render_llvm, sys.modules[__name__])]
    key = sha256(b"\0".join([tool.identity.encode(), str(vector_bytes).encode(), *sources])).hexdigest()
    if store.find(key) is not None:
        return True
    for bits in (32, 64):
        for lanes in {1, vector_bytes * 8 // bits if tool.vectors else 1}:
            type_ = Type("f", bits, lanes)
            library = tool.build(module(type_), None)
            if any(differences(type_, library.address("check"), seed) for seed in range(4)):
                return False
    store.keep(key, b"passed")
    return True
