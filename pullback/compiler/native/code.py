"""A small language for loops, in which kernels are written before a renderer writes them down in C or for LLVM.

A function is straight-line code of typed values, with loops, branches and variables. A value is a number, a mask or an
address, or a vector of these; code for vectors of one lane is code for scalars. Equal pure values are one value.

    code = Code("scale", [("to", ADDRESS), ("of", ADDRESS), ("count", INDEX)])
    to, of, count = code.params
    vector = Type("f", 64, 8)
    with code.loop(code.index(0), count, 8) as i:
        code.store(code.load(vector, of.at(i, 8)) * 2.0, to.at(i, 8))
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from pullback.core.tensor import ndarray


class Type(NamedTuple):
    """The type of a value.

    Attributes
    ----------
    kind : str
        "f" for floating-point numbers, "i" for signed whole numbers, "m" for masks, "p" for addresses.
    bits : int
        Of one lane; of a mask, those of the numbers that were compared.
    lanes : int
        1 for a scalar.
    """

    kind: str
    bits: int
    lanes: int = 1

    def to(self, kind: str) -> Type:
        """The type of another kind, as wide as this one."""
        return Type(kind, self.bits, self.lanes)

    @property
    def one(self) -> Type:
        """The type of one lane."""
        return Type(self.kind, self.bits)

    @property
    def bytes(self) -> int:
        """Bytes of one lane in memory; of a mask 1, as NumPy has it."""
        return 1 if self.kind == "m" else self.bits // 8


INDEX: Final = Type("i", 64)
ADDRESS: Final = Type("p", 64)
BOOL: Final = Type("m", 64)

Number: TypeAlias = "Value | float | int"
Plain: TypeAlias = float

# Instructions that give the same for the same arguments. `load` and what follows memory is not among them.
PURE: Final = frozenset({
    "const",                                              # attr: the number
    "add", "sub", "mul", "div", "fma", "neg", "abs", "sqrt", "floor", "ceil", "rint", "trunc",     # floats
    "iadd", "isub", "imul", "ineg", "iand", "ior", "ixor", "shl", "sra", "srl", "idiv", "irem",    # whole numbers
    "lt", "le", "eq", "ne",                               # floats -> mask; ne is true of NaN, the others are not
    "ilt", "ile", "ieq", "ine",                           # whole numbers or addresses -> mask
    "and", "or", "xor", "not", "sel",                     # of masks; sel(mask, a, b)
    "bits", "float",                                      # the bits of a float as a whole number, and back
    "tofloat", "toint",                                   # the number itself, towards zero
    "cast",                                               # to another width of the same kind
    "splat", "lane", "lanes",                             # scalar -> vector; attr: which; 0, 1, 2, ...
    "half",                                               # attr: 0, 1: the lower or the upper lanes
    "any", "all",                                         # mask -> scalar mask
    "shift",                                              # (address, bytes) -> address
    "toaddress", "tobits",                                # whole number -> address, and back
    "global",                                             # attr: the address of a function or an array of the module
})  # fmt: skip


CALLS: Final = frozenset({"call", "call_at"})  # which are made though nobody needs what they give


class Value:
    """The result of an instruction. Python's operators of floats and whole numbers make further instructions."""

    __slots__ = ("args", "attr", "code", "op", "type")

    def __init__(self, code: Code, op: str, type_: Type, args: tuple[Any, ...], attr: Any) -> None:
        self.code, self.op, self.type, self.args, self.attr = code, op, type_, args, attr

    def __add__(self, other: Number) -> Value:
        return self.code.arithmetic("add", self, other)

    def __radd__(self, other: Number) -> Value:
        return self.code.arithmetic("add", other, self)

    def __sub__(self, other: Number) -> Value:
        return self.code.arithmetic("sub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.code.arithmetic("sub", other, self)

    def __mul__(self, other: Number) -> Value:
        return self.code.arithmetic("mul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.code.arithmetic("mul", other, self)

    def __truediv__(self, other: Number) -> Value:
        return self.code.arithmetic("div", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.code.arithmetic("div", other, self)

    def __neg__(self) -> Value:
        return self.code.make("neg" if self.type.kind == "f" else "ineg", self.type, self)

    def __and__(self, other: Number) -> Value:
        return self.code.bitwise("and", self, other)

    def __or__(self, other: Number) -> Value:
        return self.code.bitwise("or", self, other)

    def __xor__(self, other: Number) -> Value:
        return self.code.bitwise("xor", self, other)

    def __invert__(self) -> Value:
        return self.code.make("not", self.type, self)

    def __lt__(self, other: Number) -> Value:
        return self.code.compare("lt", self, other)

    def __le__(self, other: Number) -> Value:
        return self.code.compare("le", self, other)

    def __gt__(self, other: Number) -> Value:
        return self.code.compare("lt", other, self)

    def __ge__(self, other: Number) -> Value:
        return self.code.compare("le", other, self)

    def eq(self, other: Number) -> Value:
        """A mask of where it is equal; Python's `==` compares identity."""
        return self.code.compare("eq", self, other)

    def ne(self, other: Number) -> Value:
        """A mask of where it is not equal; NaN is not."""
        return self.code.compare("ne", self, other)

    def at(self, place: Number, size: int) -> Value:
        """An address: that of the element at this place, of `size` bytes each."""
        return self.code.shift(self, place * size)

    def __repr__(self) -> str:
        return f"{self.op}:{self.type.kind}{self.type.bits}x{self.type.lanes}"


class Variable:
    """A value that changes: a sum, a pointer that moves on."""

    __slots__ = ("first", "type")

    def __init__(self, type_: Type, first: Value) -> None:
        self.type, self.first = type_, first


class Set(NamedTuple):
    """A variable gets a value."""

    variable: Variable
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A value is written to memory; of a vector the first `count` lanes, or all; with `stride` bytes between lanes."""

    value: Value
    address: Value
    count: Value | None
    stride: Value | None


class Loop(NamedTuple):
    """`place` runs from `begin` while it is below `end`, by `step`."""

    place: Value
    begin: Value
    end: Value
    step: Value
    body: list[Statement]


class Branch(NamedTuple):
    """One of two bodies."""

    condition: Value
    body: list[Statement]
    otherwise: list[Statement]


class Return(NamedTuple):
    """The end of the function."""

    value: Value | None


Statement: TypeAlias = "Value | Variable | Set | Store | Loop | Branch | Return"


class Code:
    """A function in the making.

    Parameters
    ----------
    name : str
    params : sequence of (str, Type)
    returns : Type or None
    shared : bool
        Other modules call it; else it may be inlined, and is known in its module alone.

    Attributes
    ----------
    params : list of Value
    body : list of Statement
        In order: a Value stands where it is computed, a Variable where it begins.
    """

    def __init__(
        self, name: str, params: Sequence[tuple[str, Type]], returns: Type | None = None, shared: bool = True
    ) -> None:
        self.name, self.returns, self.shared = name, returns, shared
        self.params = [Value(self, "param", type_, (), label) for label, type_ in params]
        self.body: list[Statement] = []
        self._blocks: list[tuple[list[Statement], dict[Hashable, Value]]] = [(self.body, {})]

    # -- values --------------------------------------------------------------------------------------------------------
    def make(self, op: str, type_: Type, *args: Value, attr: Any = None) -> Value:
        """The value of an instruction; a pure one that is there already is given again."""
        key = (op, type_, tuple(map(id, args)), repr(attr) if type(attr) is float else attr)
        if op in PURE:
            for _, known in reversed(self._blocks):
                if (found := known.get(key)) is not None:
                    return found
        value = Value(self, op, type_, args, attr)
        statements, known = self._blocks[-1]
        statements.append(value)
        if op in PURE:
            known[key] = value
        return value

    def number(self, x: float, type_: Type) -> Value:
        """A constant in every lane: a float, a whole number, or a bool for a mask."""
        return self.make(
            "const", type_, attr=float(x) if type_.kind == "f" else bool(x) if type_.kind == "m" else int(x)
        )

    def index(self, x: Number) -> Value:
        """A whole number that counts elements or bytes."""
        return x if isinstance(x, Value) else self.number(x, INDEX)

    def like(self, x: Number, other: Value) -> Value:
        """A Python number as a value of the type of another one."""
        return x if isinstance(x, Value) else self.number(x, other.type)

    def _two(self, a: Number, b: Number) -> tuple[Value, Value]:
        if isinstance(a, Value):
            return a, self.like(b, a)
        assert isinstance(b, Value)
        return self.number(a, b.type), b

    def arithmetic(self, op: str, a: Number, b: Number) -> Value:
        """`add`, `sub`, `mul` or `div` of floats or of whole numbers."""
        x, y = self._two(a, b)
        assert x.type == y.type, (op, x.type, y.type)
        return self.make(op if x.type.kind == "f" else f"i{op}", x.type, x, y)

    def bitwise(self, op: str, a: Number, b: Number) -> Value:
        """`and`, `or` or `xor` of masks or of whole numbers."""
        x, y = self._two(a, b)
        assert x.type == y.type, (op, x.type, y.type)
        return self.make(op if x.type.kind == "m" else f"i{op}", x.type, x, y)

    def compare(self, op: str, a: Number, b: Number) -> Value:
        """A mask."""
        x, y = self._two(a, b)
        assert x.type == y.type, (op, x.type, y.type)
        return self.make(op if x.type.kind == "f" else f"i{op}", x.type.to("m"), x, y)

    def fma(self, a: Value, b: Number, c: Number) -> Value:
        """a * b + c with one rounding where the machine has it."""
        return self.make("fma", a.type, a, self.like(b, a), self.like(c, a))

    def sel(self, mask: Value, a: Number, b: Number) -> Value:
        """a where the mask holds, else b."""
        x, y = self._two(a, b)
        assert x.type == y.type, (x.type, y.type)
        return self.make("sel", x.type, mask, x, y)

    def unary(self, op: str, x: Value) -> Value:
        """`abs`, `sqrt`, `floor`, `ceil`, `rint`, `trunc`."""
        return self.make(op, x.type, x)

    def shifted(self, op: str, x: Value, by: int) -> Value:
        """The bits of whole numbers moved: `shl`, `sra` (keeps the sign), `srl`."""
        return self.make(op, x.type, x, self.number(by, x.type))

    def bits(self, x: Value) -> Value:
        """The bits of a float as a whole number."""
        return self.make("bits", x.type.to("i"), x)

    def float(self, x: Value) -> Value:
        """The float with these bits."""
        return self.make("float", x.type.to("f"), x)

    def tofloat(self, x: Value) -> Value:
        """A whole number as a float."""
        return self.make("tofloat", x.type.to("f"), x)

    def toint(self, x: Value) -> Value:
        """A float as a whole number, towards zero."""
        return self.make("toint", x.type.to("i"), x)

    def cast(self, x: Value, bits: int) -> Value:
        """The number, or the mask, of another width."""
        return x if x.type.bits == bits else self.make("cast", Type(x.type.kind, bits, x.type.lanes), x)

    def splat(self, x: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        return x if lanes == 1 else self.make("splat", Type(x.type.kind, x.type.bits, lanes), x)

    def lane(self, x: Value, nr: int) -> Value:
        """One lane."""
        return x if x.type.lanes == 1 else self.make("lane", x.type.one, x, attr=nr)

    def lanes(self, type_: Type) -> Value:
        """The whole numbers 0, 1, 2, ... in the lanes."""
        return self.make("lanes", type_)

    def across(self, op: str, x: Value) -> Value:
        """`add`, `mul`, `max` or `min` of all lanes, half with half; NaN if one of them is."""
        while x.type.lanes > 1:
            a, b = (self.half(x, nr) for nr in (0, 1))
            if op in ("add", "mul"):
                x = self.arithmetic(op, a, b)
            else:
                first = b < a if op == "max" else a < b
                x = self.sel(first | a.ne(a) if x.type.kind == "f" else first, a, b)
        return x

    def half(self, x: Value, nr: int) -> Value:
        """The lower lanes (0), or the upper ones (1)."""
        return self.make("half", Type(x.type.kind, x.type.bits, x.type.lanes // 2), x, attr=nr)

    def any(self, mask: Value) -> Value:
        """A scalar mask: whether it holds in a lane."""
        return mask if mask.type.lanes == 1 else self.make("any", mask.type.one, mask)

    def all(self, mask: Value) -> Value:
        """A scalar mask: whether it holds in every lane."""
        return mask if mask.type.lanes == 1 else self.make("all", mask.type.one, mask)

    def shift(self, address: Value, by: Number) -> Value:
        """The address so many bytes further."""
        return self.make("shift", ADDRESS, address, self.index(by))

    # -- memory --------------------------------------------------------------------------------------------------------
    def load(
        self, type_: Type, address: Value, count: Value | None = None, stride: Value | None = None, fill: Plain = 0
    ) -> Value:
        """The value there; of a vector the first `count` lanes, with `fill` in the others, or all.

        `stride`: bytes between the lanes, if these do not lie side by side. A mask is read from bytes.
        """
        stride = stride if type_.lanes > 1 else None
        args = [address, *(x for x in (count, stride) if x is not None)]
        return self.make("load", type_, *args, attr=(count is not None, stride is not None, fill))

    def store(self, value: Value, address: Value, count: Value | None = None, stride: Value | None = None) -> None:
        """Write a value; see `load`."""
        self._add(Store(value, address, count, stride if value.type.lanes > 1 else None))

    def variable(self, first: Value) -> Variable:
        """A variable that begins with this value."""
        self._add(made := Variable(first.type, first))
        return made

    def get(self, variable: Variable) -> Value:
        """Its value now."""
        return self.make("get", variable.type, attr=variable)

    def set(self, variable: Variable, value: Value) -> None:
        """Let it have another one."""
        self._add(Set(variable, value))

    def room(self, size: int) -> Value:
        """The address of so many bytes of the stack, at a multiple of 64."""
        return self.make("room", ADDRESS, attr=size)

    # -- calls ---------------------------------------------------------------------------------------------------------
    def call(self, name: str, returns: Type | None, *args: Value) -> Value:
        """A call of a function of the module, or of the C library."""
        return self.make("call", returns or Type("v", 0), *args, attr=name)

    def call_at(self, address: Value, returns: Type | None, *args: Value) -> Value:
        """A call of the function at an address."""
        return self.make("call_at", returns or Type("v", 0), address, *args)

    def address_of(self, name: str) -> Value:
        """The address of a function or of a table of the module."""
        return self.make("global", ADDRESS, attr=name)

    # -- order ---------------------------------------------------------------------------------------------------------
    @contextmanager
    def loop(self, begin: Number, end: Number, step: Number = 1) -> Iterator[Value]:
        """A loop; what is made meanwhile is its body."""
        body: list[Statement] = []
        place = Value(self, "place", INDEX, (), None)
        made = Loop(place, self.index(begin), self.index(end), self.index(step), body)
        self._add(made)
        with self._block(body):
            yield place

    @contextmanager
    def when(self, condition: Value) -> Iterator[Branch]:
        """A branch that is taken where the scalar mask holds."""
        made = Branch(condition, [], [])
        self._add(made)
        with self._block(made.body):
            yield made

    @contextmanager
    def otherwise(self, branch: Branch) -> Iterator[None]:
        """The other one."""
        with self._block(branch.otherwise):
            yield

    def give(self, value: Value | None = None) -> None:
        """End the function."""
        self._add(Return(value))

    def statements(self) -> Iterator[Statement]:
        """All statements, those of loops and branches too."""
        waiting = [self.body]
        while waiting:
            for x in waiting.pop():
                yield x
                if isinstance(x, Loop | Branch):
                    waiting += [x.body] if isinstance(x, Loop) else [x.body, x.otherwise]

    def used(self) -> frozenset[Value | Variable]:
        """Values and variables that others, or what the function does, depend on; the others need not be there."""
        waiting: list[Value | None] = []
        given: dict[Variable, list[Value]] = {}
        for x in self.statements():
            if isinstance(x, Value):
                waiting += x.args if x.op in CALLS else ()
            elif isinstance(x, Variable):
                given.setdefault(x, []).append(x.first)
            elif isinstance(x, Set):
                given.setdefault(x.variable, []).append(x.value)
            elif isinstance(x, Loop):
                waiting += x.begin, x.end, x.step
            elif isinstance(x, Store):
                waiting += x.value, x.address, x.count, x.stride
            else:
                waiting.append(x.condition if isinstance(x, Branch) else x.value)
        found: set[Value | Variable] = set()
        while waiting:
            value = waiting.pop()
            if value is not None and value not in found:
                found.add(value)
                waiting += value.args
                if value.op == "get" and value.attr not in found:
                    found.add(value.attr)
                    waiting += given[value.attr]
        return frozenset(found)

    def _add(self, statement: Statement) -> None:
        self._blocks[-1][0].append(statement)

    @contextmanager
    def _block(self, body: list[Statement]) -> Iterator[None]:
        self._blocks.append((body, {}))
        try:
            yield
        finally:
            self._blocks.pop()


class Module:
    """Functions that call one another, rendered and loaded together.

    Attributes
    ----------
    functions : list of Code
        Each after those that it calls.
    tables : dict of str to ndarray
        Numbers that do not change; code reaches them by `global`.
    """

    def __init__(self, functions: Sequence[Code] = (), tables: Mapping[str, ndarray] | None = None) -> None:
        self.functions, self.tables = list(functions), dict(tables or {})
