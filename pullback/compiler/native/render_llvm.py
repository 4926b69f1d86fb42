"""Writes a module as text for LLVM.

A mask is `i1`, or a vector of it. Variables lie on the stack, from where the optimiser takes them into registers;
addresses are moved by `getelementptr` alone, since what is made from whole numbers may alias anything.
"""

from __future__ import annotations

import struct
from ctypes import c_float
from math import isnan
from typing import Final

from pullback.compiler.native.code import (
    INDEX,
    Branch,
    Code,
    Loop,
    Module,
    Return,
    Set,
    Store,
    Type,
    Value,
    Variable,
)
from pullback.compiler.native.renderer import Renderer
from pullback.core.tensor import ndarray

# {0}, {1}, ... are arguments, {t} the type of the result, {t0} that of the first argument, {m} how an intrinsic's name
# says the type of the result, {attr} what stands with the instruction.
_INSTRUCTIONS: Final = {
    "neg": "fneg {t} {0}", "iand": "and {t} {0}, {1}", "ior": "or {t} {0}, {1}", "ixor": "xor {t} {0}, {1}",
    "ineg": "sub {t} zeroinitializer, {0}", "sra": "ashr {t} {0}, {1}", "srl": "lshr {t} {0}, {1}",
    "idiv": "sdiv {t} {0}, {1}", "irem": "srem {t} {0}, {1}", "and": "and {t} {0}, {1}", "or": "or {t} {0}, {1}",
    "xor": "xor {t} {0}, {1}", "shl": "shl {t} {0}, {1}", "sel": "select {t0} {0}, {t} {1}, {t} {2}",
    "bits": "bitcast {t0} {0} to {t}", "float": "bitcast {t0} {0} to {t}", "tofloat": "sitofp {t0} {0} to {t}",
    "lane": "extractelement {t0} {0}, i32 {attr}", "shift": "getelementptr i8, ptr {0}, i64 {1}",
    "toaddress": "inttoptr i64 {0} to ptr", "tobits": "ptrtoint ptr {0} to i64",
} | {op: f"f{op} {{t}} {{0}}, {{1}}" for op in ("add", "sub", "mul", "div")} | {
    f"i{op}": f"{op} {{t}} {{0}}, {{1}}" for op in ("add", "sub", "mul")
} | {op: f"fcmp {name} {{t0}} {{0}}, {{1}}" for op, name in {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}.items()
} | {f"i{op}": f"icmp {name} {{t0}} {{0}}, {{1}}" for op, name in {
    "lt": "slt", "le": "sle", "eq": "eq", "ne": "ne",
}.items()}  # fmt: skip

_INTRINSICS: Final = {
    "fma": "fmuladd", "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "rint": "rint", "trunc": "trunc",
}  # fmt: skip
_REDUCTIONS: Final = {"any": "or", "all": "and"}
_NUMBERS: Final = {("f", 64): "double", ("f", 32): "float"}


def render(module: Module) -> str:
    """The module's text."""
    writer = _Writer({code.name for code in module.functions})
    tables = [writer.table(name, array) for name, array in module.tables.items()]
    functions = [writer.function(code) for code in module.functions]
    return "\n".join([*tables, *functions, *writer.declared.values(), ""])


def type_name(type_: Type) -> str:
    """The type in LLVM's text."""
    one = {
        "f": _NUMBERS.get(("f", type_.bits), ""), "i": f"i{type_.bits}", "m": "i1", "p": "ptr", "v": "void",
    }[type_.kind]  # fmt: skip
    return one if type_.lanes == 1 else f"<{type_.lanes} x {one}>"


def literal(x: float, type_: Type) -> str:
    """A number, in every lane."""
    if type_.lanes > 1:
        return f"<{', '.join([f'{type_name(type_.one)} {literal(x, type_.one)}'] * type_.lanes)}>"
    if type_.kind == "m":
        return str(bool(x)).lower()
    if type_.kind == "p":
        assert not x
        return "null"
    if type_.kind == "i":
        return str(int(x))
    x = c_float(x).value if type_.bits == 32 else float(x)
    return "0x7FF8000000000000" if isnan(x) else f"0x{struct.pack('>d', x).hex().upper()}"


def _mangled(type_: Type) -> str:
    one = "p0" if type_.kind == "p" else "i1" if type_.kind == "m" else f"{type_.kind}{type_.bits}"
    return one if type_.lanes == 1 else f"v{type_.lanes}{one}"


class _Writer(Renderer):
    """Writes functions, and declares what they call."""

    prefix = "%v"

    def __init__(self, functions: set[str]) -> None:
        super().__init__()
        self.declared: dict[str, str] = {}
        self._functions = functions
        self._block = ""  # the block that is being written
        self._count = 0  # of blocks, and of values that have no name in the code
        self._stack: list[str] = []  # what is taken from it, at the beginning of the function

    def table(self, name: str, array: ndarray) -> str:
        """The definition of an array of numbers."""
        one = Type(array.dtype.kind, array.dtype.itemsize * 8)
        numbers = ", ".join(f"{type_name(one)} {literal(x, one)}" for x in array.ravel().tolist())
        return f"@{name} = internal constant [{array.size} x {type_name(one)}] [{numbers}], align 64"

    def function(self, code: Code) -> str:
        """The definition of a function."""
        self.begin(code)
        self._block, self._count, self._stack = "entry", 0, []
        params = ", ".join(f"{type_name(x.type)} {self.name(x)}" for x in code.params)
        returns = "void" if code.returns is None else type_name(code.returns)
        self.body(code.body)
        self.write("ret void" if code.returns is None else "unreachable")
        scope = "" if code.shared else "internal "
        head = f"define {scope}{returns} @{code.name}({params}) nounwind {{"
        return "\n".join([head, "entry:", *self._stack, *self.lines, "}"])

    # -- names ---------------------------------------------------------------------------------------------------------
    def write(self, line: str) -> None:
        """Add an instruction."""
        super().write(f"  {line}")

    def _typed(self, x: Value) -> str:
        return f"{type_name(x.type)} {self.name(x)}"

    def _new(self, text: str) -> str:
        """A value that has no name in the code."""
        self._count += 1
        self.write(f"%t{self._count} = {text}")
        return f"%t{self._count}"

    def _label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def _start(self, label: str) -> None:
        self._block = label
        super().write(f"{label}:")

    def _intrinsic(self, name: str, returns: str, *args: str) -> str:
        """A call of a function of LLVM's own; arguments are written with their types."""
        types = ", ".join(x[: x.index(">") + 1] if x[0] == "<" else x.split()[0] for x in args)
        self.declared.setdefault(name, f"declare {returns} @{name}({types})")
        return f"call {returns} @{name}({', '.join(args)})"

    # -- statements ----------------------------------------------------------------------------------------------------
    def variable(self, x: Variable) -> None:
        """Take room on the stack."""
        self._stack.append(f"  {self.name(x)} = alloca {type_name(x.type)}")
        self.write(f"store {self._typed(x.first)}, ptr {self.name(x)}")

    def set(self, x: Set) -> None:
        """Write to the stack."""
        self.write(f"store {self._typed(x.value)}, ptr {self.name(x.variable)}")

    def loop(self, x: Loop) -> None:
        """Four blocks: whether to go on, the body, the step, and what comes after."""
        before, head, body, step, after = self._block, *(self._label() for _ in range(4))
        begin, end, by, place = (self.name(y) for y in (x.begin, x.end, x.step, x.place))
        self.write(f"br label %{head}")
        self._start(head)
        following = f"%n{head}"
        self.write(f"{place} = phi i64 [ {begin}, %{before} ], [ {following}, %{step} ]")
        goes_on = self._new(f"icmp slt i64 {place}, {end}")
        self.write(f"br i1 {goes_on}, label %{body}, label %{after}")
        self._start(body)
        self.body(x.body)
        self.write(f"br label %{step}")
        self._start(step)
        self.write(f"{following} = add i64 {place}, {by}")
        self.write(f"br label %{head}")
        self._start(after)

    def branch(self, x: Branch) -> None:
        """A block for each, and what comes after."""
        yes, no, after = (self._label() for _ in range(3))
        self.write(f"br i1 {self.name(x.condition)}, label %{yes}, label %{no}")
        for label, body in ((yes, x.body), (no, x.otherwise)):
            self._start(label)
            self.body(body)
            self.write(f"br label %{after}")
        self._start(after)

    def give(self, x: Return) -> None:
        """The function's end; what may follow is a block that nothing leads to."""
        self.write("ret void" if x.value is None else f"ret {self._typed(x.value)}")
        self._start(self._label())

    def value(self, x: Value) -> None:
        """Compute it."""
        if x.op == "const":
            self.names[x] = literal(x.attr, x.type)
        elif x.op == "global":
            self.names[x] = f"@{x.attr}"
        elif x.op == "room":
            self._stack.append(f"  {self.name(x)} = alloca [{x.attr} x i8], align 64")
        elif x.op == "cast" and x.type.kind == "m":
            self.names[x] = self.name(x.args[0])
        elif x.op == "lanes":
            numbers = ", ".join(f"{type_name(x.type.one)} {k}" for k in range(x.type.lanes))
            self.names[x] = f"<{numbers}>"
        else:
            text = self._instruction(x)
            self.write(text if x.type.kind == "v" else f"{self.name(x)} = {text}")

    # -- instructions --------------------------------------------------------------------------------------------------
    def _instruction(self, x: Value) -> str:
        if (special := getattr(self, f"_of_{x.op}", None)) is not None:
            return str(special(x))
        if (name := _INTRINSICS.get(x.op)) is not None:
            full = f"llvm.{name}.{_mangled(x.type)}"
            return self._intrinsic(full, type_name(x.type), *map(self._typed, x.args))
        if (name := _REDUCTIONS.get(x.op)) is not None:
            return self._intrinsic(
                f"llvm.vector.reduce.{name}.{_mangled(x.args[0].type)}", "i1", self._typed(x.args[0])
            )
        first = type_name(x.args[0].type)
        return _INSTRUCTIONS[x.op].format(*map(self.name, x.args), t=type_name(x.type), t0=first, attr=x.attr)

    def _of_not(self, x: Value) -> str:
        ones = literal(1 if x.type.kind == "m" else -1, x.type)
        return f"xor {self._typed(x.args[0])}, {ones}"

    def _of_toint(self, x: Value) -> str:
        # Of a number that is too large, any number: frozen, so that it is the same wherever it is used.
        return f"freeze {type_name(x.type)} {self._new(f'fptosi {self._typed(x.args[0])} to {type_name(x.type)}')}"

    def _of_cast(self, x: Value) -> str:
        wider = x.type.bits > x.args[0].type.bits
        name = {"f": ("fptrunc", "fpext"), "i": ("trunc", "sext")}[x.type.kind][wider]
        return f"{name} {self._typed(x.args[0])} to {type_name(x.type)}"

    def _splat(self, x: str, type_: Type) -> str:
        name, one = type_name(type_), type_name(type_.one)
        first = self._new(f"insertelement {name} poison, {one} {x}, i32 0")
        return f"shufflevector {name} {first}, {name} poison, <{type_.lanes} x i32> zeroinitializer"

    def _of_splat(self, x: Value) -> str:
        return self._splat(self.name(x.args[0]), x.type)

    def _of_half(self, x: Value) -> str:
        of, lanes = x.args[0].type, x.type.lanes
        if lanes == 1:
            return f"extractelement {self._typed(x.args[0])}, i32 {x.attr}"
        places = ", ".join(f"i32 {x.attr * lanes + k}" for k in range(lanes))
        return f"shufflevector {self._typed(x.args[0])}, {type_name(of)} poison, <{lanes} x i32> <{places}>"

    def _of_get(self, x: Value) -> str:
        return f"load {type_name(x.type)}, ptr {self.name(x.attr)}"

    def _of_call(self, x: Value) -> str:
        if x.attr not in self._functions:
            types = ", ".join(type_name(y.type) for y in x.args)
            self.declared.setdefault(x.attr, f"declare {type_name(x.type)} @{x.attr}({types})")
        return f"call {type_name(x.type)} @{x.attr}({', '.join(map(self._typed, x.args))})"

    def _of_call_at(self, x: Value) -> str:
        return f"call {type_name(x.type)} {self.name(x.args[0])}({', '.join(map(self._typed, x.args[1:]))})"

    # -- memory --------------------------------------------------------------------------------------------------------
    def _first(self, count: str, type_: Type) -> str:
        """A mask of the lanes that are below the count."""
        limited = count
        for name, bound in (("smax", 0), ("smin", type_.lanes)):
            limited = self._new(self._intrinsic(f"llvm.{name}.i64", "i64", f"i64 {limited}", f"i64 {bound}"))
        if type_.lanes == 1:
            return self._new(f"icmp ne i64 {limited}, 0")
        number = Type("i", 64 if type_.kind == "p" else type_.bits, type_.lanes)
        if number.bits < 64:
            limited = self._new(f"trunc i64 {limited} to i{number.bits}")
        many = self._new(self._splat(limited, number))
        lanes = ", ".join(f"i{number.bits} {k}" for k in range(type_.lanes))
        return self._new(f"icmp slt {type_name(number)} <{lanes}>, {many}")

    def _places(self, address: str, stride: str, lanes: int) -> str:
        """The addresses of lanes so many bytes apart."""
        type_ = INDEX._replace(lanes=lanes)
        numbers = f"<{', '.join(f'i64 {k}' for k in range(lanes))}>"
        offsets = self._new(f"mul {type_name(type_)} {numbers}, {self._new(self._splat(stride, type_))}")
        return self._new(f"getelementptr i8, ptr {address}, {type_name(type_)} {offsets}")

    def _of_load(self, x: Value) -> str:
        counted, strided, fill = x.attr
        address, rest = self.name(x.args[0]), [self.name(y) for y in x.args[1:]]
        stored = Type("i", 8, x.type.lanes) if x.type.kind == "m" else x.type
        name, lanes = type_name(stored), x.type.lanes
        if counted:
            first = f"{type_name(Type('m', 8, lanes))} {self._first(rest[0], x.type)}"
            if lanes == 1:
                text = self._load_or(address, stored, first, literal(fill, stored))
            else:
                where = f"ptr {address}"
                if strided:
                    where = f"<{lanes} x ptr> {self._places(address, rest[1], lanes)}"
                kind, suffix = ("gather", f"v{lanes}p0") if strided else ("load", "p0")
                full = f"llvm.masked.{kind}.{_mangled(stored)}.{suffix}"
                text = self._intrinsic(full, name, where, "i32 1", first, f"{name} {literal(fill, stored)}")
        elif strided and lanes > 1:
            made = "poison"
            for k in range(lanes):
                at = self._new(f"getelementptr i8, ptr {address}, i64 {self._new(f'mul i64 {rest[0]}, {k}')}")
                one = self._new(f"load {type_name(stored.one)}, ptr {at}, align 1")
                text = f"insertelement {name} {made}, {type_name(stored.one)} {one}, i32 {k}"
                made = self._new(text) if k + 1 < lanes else ""
        else:
            text = f"load {name}, ptr {address}, align 1"
        return f"icmp ne {name} {self._new(text)}, {literal(0, stored)}" if x.type.kind == "m" else text

    def _load_or(self, address: str, type_: Type, condition: str, otherwise: str) -> str:
        """One number, if the condition holds."""
        before, yes, after = self._block, self._label(), self._label()
        self.write(f"br {condition}, label %{yes}, label %{after}")
        self._start(yes)
        one = self._new(f"load {type_name(type_)}, ptr {address}, align 1")
        self.write(f"br label %{after}")
        self._start(after)
        return f"phi {type_name(type_)} [ {one}, %{yes} ], [ {otherwise}, %{before} ]"

    def store(self, x: Store) -> None:
        """Write to memory."""
        type_, value, address = x.value.type, self.name(x.value), self.name(x.address)
        if type_.kind == "m":
            stored = Type("i", 8, type_.lanes)
            value = self._new(f"zext {type_name(type_)} {value} to {type_name(stored)}")
        else:
            stored = type_
        name, lanes = type_name(stored), type_.lanes
        if x.count is not None and lanes > 1:
            first = f"<{lanes} x i1> {self._first(self.name(x.count), type_)}"
            where, kind, suffix = f"ptr {address}", "store", "p0"
            if x.stride is not None:
                where = f"<{lanes} x ptr> {self._places(address, self.name(x.stride), lanes)}"
                kind, suffix = "scatter", f"v{lanes}p0"
            full = f"llvm.masked.{kind}.{_mangled(stored)}.{suffix}"
            self.write(self._intrinsic(full, "void", f"{name} {value}", where, "i32 1", first))
        elif x.count is not None:
            yes, after = self._label(), self._label()
            self.write(f"br i1 {self._first(self.name(x.count), type_)}, label %{yes}, label %{after}")
            self._start(yes)
            self.write(f"store {name} {value}, ptr {address}, align 1")
            self.write(f"br label %{after}")
            self._start(after)
        elif x.stride is not None and lanes > 1:
            for k in range(lanes):
                one = self._new(f"extractelement {name} {value}, i32 {k}")
                offset = self._new(f"mul i64 {self.name(x.stride)}, {k}")
                at = self._new(f"getelementptr i8, ptr {address}, i64 {offset}")
                self.write(f"store {type_name(stored.one)} {one}, ptr {at}, align 1")
        else:
            self.write(f"store {name} {value}, ptr {address}, align 1")
