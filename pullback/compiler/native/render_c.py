"""Writes a module in C11; vectors are those of GNU C, and code without vectors needs no extension of the language.

Names are numbers in order of appearance, so equal functions have equal text. A mask is 0 or 1, in vectors 0 or -1 as
wide as the numbers that were compared. Whole numbers are computed without a sign, where C lets them wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_float
from math import isfinite, isnan
from typing import Final

from pullback.compiler.native.code import (
    Branch,
    Code,
    Loop,
    Module,
    Return,
    Set,
    Statement,
    Store,
    Type,
    Value,
    Variable,
)
from pullback.compiler.native.renderer import Renderer
from pullback.core.tensor import ndarray

HEAD: Final = """#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef _WIN32
#define SHARED __declspec(dllexport)
#else
#define SHARED
#endif
"""

# The same without headers, for a compiler that finds none.
BARE_HEAD: Final = """typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;
typedef unsigned long long uint64_t, size_t; typedef long long intptr_t;
#define INT64_C(x) x##LL
#define INFINITY (1.0 / 0.0)
#define NAN (0.0 / 0.0)
#define SHARED
void *memcpy(void *, const void *, size_t);
""" + "".join(
    f"double {name}(double); float {name}f(float);\n" for name in ("fabs", "sqrt", "floor", "ceil", "rint", "trunc")
)

# {0}, {1}, ... are arguments, {t} the type of the result, {u} and {m} the whole numbers as wide as it without and with
# a sign, {f} what C puts behind names of functions of single precision, {attr} what stands with the instruction.
_INSTRUCTIONS: Final = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "neg": "-{0}", "abs": "fabs{f}({0})", "sqrt": "sqrt{f}({0})", "floor": "floor{f}({0})", "ceil": "ceil{f}({0})",
    "rint": "rint{f}({0})", "trunc": "trunc{f}({0})",
    "iadd": "({t})(({u}){0} + ({u}){1})", "isub": "({t})(({u}){0} - ({u}){1})",
    "imul": "({t})(1u * ({u}){0} * ({u}){1})", "ineg": "({t})(0 - ({u}){0})",
    "iand": "{0} & {1}", "ior": "{0} | {1}", "ixor": "{0} ^ {1}",
    "shl": "({t})(({u}){0} << {1})", "sra": "{0} >> {1}", "srl": "({t})(({u}){0} >> {1})", "idiv": "{0} / {1}",
    "irem": "{0} % {1}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}",
    "ilt": "{0} < {1}", "ile": "{0} <= {1}", "ieq": "{0} == {1}", "ine": "{0} != {1}",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "not": "!{0}", "not i": "~{0}", "sel": "{0} ? {1} : {2}",
    "tofloat": "({t}){0}", "toint": "({t}){0}", "cast": "({t}){0}", "cast m": "{0}", "lane": "{0}[{attr}]",
    "lane m": "{0}[{attr}] != 0",
    "shift": "{0} + {1}", "toaddress": "(char *)(intptr_t){0}", "tobits": "(int64_t)(intptr_t){0}",
    "global": "(char *){attr}",
}  # fmt: skip

# Where vectors are written in another way.
_VECTORS: Final = {
    "imul": "({t})(({u}){0} * ({u}){1})", "ineg": "({t})(-({u}){0})", "not": "~{0}", "bits": "({t}){0}",
    "float": "({t}){0}", "sel": "({t})(({0} & ({m}){1}) | (~{0} & ({m}){2}))",
    "tofloat": "__builtin_convertvector({0}, {t})", "toint": "__builtin_convertvector({0}, {t})",
    "cast": "__builtin_convertvector({0}, {t})",
} | {op: f"({{t}})({{0}} {sign} {{1}})" for op, sign in {
    "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "ilt": "<", "ile": "<=", "ieq": "==", "ine": "!=",
}.items()}  # fmt: skip

# What gcc calls the instruction; clang makes it of a product and a sum in one expression, and of no other ones.
_FMA: Final = {
    (64, 1): "__builtin_fma(x, y, z)", (64, 2): "__builtin_ia32_vfmaddpd(x, y, z)",
    (64, 4): "__builtin_ia32_vfmaddpd256(x, y, z)", (64, 8): "__builtin_ia32_vfmaddpd512_mask(x, y, z, -1, 4)",
    (32, 1): "__builtin_fmaf(x, y, z)", (32, 4): "__builtin_ia32_vfmaddps(x, y, z)",
    (32, 8): "__builtin_ia32_vfmaddps256(x, y, z)", (32, 16): "__builtin_ia32_vfmaddps512_mask(x, y, z, -1, 4)",
}  # fmt: skip

_LANE_BY_LANE: Final = frozenset({"abs", "sqrt", "floor", "ceil", "rint", "trunc"})
_NUMBERS: Final = {("f", 64): "double", ("f", 32): "float"}


def render(module: Module, head: str = HEAD) -> str:
    """The module's text."""
    writer = _Writer()
    tables = [writer.table(name, array) for name, array in module.tables.items()]
    functions = [writer.function(code) for code in module.functions]
    return "\n".join([head, *writer.helpers.values(), *tables, *functions, ""])


def literal(x: float, type_: Type) -> str:
    """A number of C."""
    if type_.kind == "m":
        return str(int(x))
    if type_.kind == "p":
        assert not x
        return "(char *)0"
    if type_.kind == "i":
        number = int(x)
        text = f"INT64_C({number})" if number > -(2**63) else "(-INT64_C(9223372036854775807) - 1)"
        return text if type_.bits == 64 else f"({type_name(type_.one)}){number}"
    x = c_float(x).value if type_.bits == 32 else float(x)
    if not isfinite(x):
        return "NAN" if isnan(x) else "INFINITY" if x > 0 else "(-INFINITY)"
    return f"({x.hex()}{_suffix(type_)})"


def type_name(type_: Type, kind: str = "") -> str:
    """The type in C; of another kind, if one is given: "u" is a whole number without a sign."""
    kind = kind or type_.kind
    if type_.lanes > 1:
        return f"{'i' if kind == 'm' else kind}{type_.bits}x{type_.lanes}"
    return {
        "f": _NUMBERS.get(("f", type_.bits), ""), "i": f"int{type_.bits}_t", "u": f"uint{type_.bits}_t", "m": "int",
        "p": "char *", "v": "void",
    }[kind]  # fmt: skip


def _suffix(type_: Type) -> str:
    return "f" if type_.bits == 32 else ""


def _limited(lanes: int) -> str:
    """The count of lanes in a helper's text."""
    return f"(size_t)(n < 0 ? 0 : n < {lanes} ? n : {lanes})"


class _Writer(Renderer):
    """Writes functions, and the helpers that they call before them."""

    def __init__(self) -> None:
        super().__init__()
        self.helpers: dict[str, str] = {}
        self._depth = 1

    def table(self, name: str, array: ndarray) -> str:
        """The definition of an array of numbers."""
        type_ = Type(array.dtype.kind, array.dtype.itemsize * 8)
        numbers = ", ".join(literal(x, type_) for x in array.ravel().tolist())
        return f"static const _Alignas(64) {type_name(type_)} {name}[] = {{{numbers}}};"

    def function(self, code: Code) -> str:
        """The definition of a function."""
        self.begin(code)
        params = [self._declared(x.type, x) for x in code.params]
        returns = "void" if code.returns is None else self._type(code.returns)
        self.body(code.body)
        head = f"{'SHARED' if code.shared else 'static'} {returns} {code.name}({', '.join(params) or 'void'})"
        return "\n".join([f"{head} {{", *self.lines, "}"])

    # -- names ---------------------------------------------------------------------------------------------------------
    def _declared(self, type_: Type, x: Value | Variable) -> str:
        return f"{self._type(type_)} {self.name(x)}".replace("* ", "*")

    def _type(self, type_: Type) -> str:
        if type_.lanes > 1:
            self._vectors(type_)
        return type_name(type_)

    def _vectors(self, type_: Type) -> None:
        bits, lanes = type_.bits, type_.lanes
        if f"x{bits}x{lanes}" in self.helpers:
            return
        self.helpers[f"x{bits}x{lanes}"] = "\n".join(
            f"typedef {type_name(Type(kind, bits), kind)} {kind}{bits}x{lanes} "
            f"__attribute__((vector_size({bits // 8 * lanes})));"
            for kind in "fiu"
            if kind != "f" or ("f", bits) in _NUMBERS
        )

    def _key(self, type_: Type) -> str:
        return f"{type_.kind}{type_.bits}x{type_.lanes}"

    def _element(self, type_: Type) -> str:
        """The type of one lane, of a mask too."""
        return type_name(type_.one, "i" if type_.kind == "m" and type_.lanes > 1 else type_.kind)

    def _helper(self, name: str, returns: str, params: Sequence[str], *lines: str) -> str:
        text = f"static inline {returns} {name}({', '.join(params)}) {{ {' '.join(lines)} }}"
        self.helpers.setdefault(name, text)
        return name

    # -- statements ----------------------------------------------------------------------------------------------------
    def write(self, line: str) -> None:
        """Add a line."""
        super().write("    " * self._depth + line)

    def variable(self, x: Variable) -> None:
        """Declare it."""
        first = self.name(x.first)
        self.write(f"{self._declared(x.type, x)} = {first};")

    def set(self, x: Set) -> None:
        """Assign to it."""
        self.write(f"{self.name(x.variable)} = {self.name(x.value)};")

    def loop(self, x: Loop) -> None:
        """A `for`."""
        begin, end, step, i = (self.name(y) for y in (x.begin, x.end, x.step, x.place))
        self._block(f"for (int64_t {i} = {begin}; {i} < {end}; {i} += {step})", x.body)

    def branch(self, x: Branch) -> None:
        """An `if`."""
        self._block(f"if ({self.name(x.condition)})", x.body)
        if x.otherwise:
            self._block("else", x.otherwise)

    def give(self, x: Return) -> None:
        """A `return`."""
        self.write("return;" if x.value is None else f"return {self.name(x.value)};")

    def _block(self, head: str, body: Sequence[Statement]) -> None:
        self.write(f"{head} {{")
        self._depth += 1
        self.body(body)
        self._depth -= 1
        self.write("}")

    def value(self, x: Value) -> None:
        """Compute it."""
        if x.op == "const":
            self.names[x] = self._splat(literal(x.attr, x.type), x.type)
            return
        if x.op == "room":
            self.names[x] = name = f"room{len(self.names)}"
            self.write(f"_Alignas(64) char {name}[{x.attr}];")
            return
        text = self._expression(x)
        self.write(f"{self._declared(x.type, x)} = {text};" if x in self.used else f"{text};")

    def store(self, x: Store) -> None:
        """Write to memory."""
        type_, args = x.value.type, [self.name(y) for y in (x.address, x.value, x.count, x.stride) if y is not None]
        name, key, lanes = self._type(type_), self._key(type_), type_.lanes
        params = ["char *p", f"{name} x"]
        if lanes == 1:
            line = "*p = x != 0;" if type_.kind == "m" else "memcpy(p, &x, sizeof x);"
            helper = self._helper(f"store_{key}", "void", params, line)
            if x.count is not None:
                helper = f"if ({args[2]} > 0) {helper}"
            args = args[:2]
        elif x.stride is not None:
            if x.count is None:
                args.insert(2, str(lanes))
            line = f"{self._element(type_)} y = x[k]; memcpy(p + k * s, &y, sizeof y);"
            if type_.kind == "m":
                line = "p[k * s] = x[k] != 0;"
            line = f"for (int k = 0; k < {lanes} && k < n; k++) {{ {line} }}"
            helper = self._helper(f"store_strided_{key}", "void", [*params, "int64_t n", "int64_t s"], line)
        else:
            what, before = "x", ""
            if type_.kind == "m":
                bytes_ = self._type(Type("i", 8, lanes))
                what, before = "y", f"{bytes_} y = __builtin_convertvector(-x, {bytes_}); "
            if x.count is None:
                helper = self._helper(f"store_{key}", "void", params, f"{before}memcpy(p, &{what}, sizeof {what});")
            else:
                line = f"{before}memcpy(p, &{what}, {_limited(lanes)} * sizeof {what}[0]);"
                helper = self._helper(f"store_part_{key}", "void", [*params, "int64_t n"], line)
        self.write(f"{helper}({', '.join(args)});")

    # -- expressions ---------------------------------------------------------------------------------------------------
    def _expression(self, x: Value) -> str:
        args, name, op = [self.name(y) for y in x.args], self._type(x.type), x.op
        if (special := getattr(self, f"_of_{op}", None)) is not None:
            return str(special(x, args))
        if x.type.lanes > 1 and op in _LANE_BY_LANE:
            return self._lane_by_lane(x, args)
        template = _INSTRUCTIONS.get(f"{op} {x.type.kind}") or _INSTRUCTIONS[op]
        if x.type.lanes > 1:
            template = _VECTORS.get(op, template)
        letters = {"u": type_name(x.type, "u"), "m": type_name(x.type, "m"), "f": _suffix(x.type)}
        return template.format(*args, t=name, attr=x.attr, **letters)

    def _lane_by_lane(self, x: Value, args: list[str]) -> str:
        # Compilers put the lanes together again, where the machine has an instruction for it.
        name, one = self._type(x.type), _INSTRUCTIONS[x.op]
        lanes = ", ".join(one.format(f"x[{k}]", f=_suffix(x.type)) for k in range(x.type.lanes))
        helper = self._helper(f"{x.op}_{name}", name, [f"{name} x"], f"return ({name}){{{lanes}}};")
        return f"{helper}({args[0]})"

    def _splat(self, x: str, type_: Type) -> str:
        if type_.lanes == 1:
            return x
        name, sign = self._type(type_), "-" if type_.kind == "m" else ""
        line = f"return ({name}){{{', '.join([f'{sign}x'] * type_.lanes)}}};"
        helper = self._helper(f"splat_{self._key(type_)}", name, [f"{self._element(type_)} x"], line)
        return f"{helper}({x})"

    def _of_splat(self, x: Value, args: list[str]) -> str:
        return self._splat(args[0], x.type)

    def _of_lanes(self, x: Value, _: list[str]) -> str:
        return f"({self._type(x.type)}){{{', '.join(map(str, range(x.type.lanes)))}}}"

    def _of_fma(self, x: Value, args: list[str]) -> str:
        name, bits, lanes = self._type(x.type), x.type.bits, x.type.lanes
        text = "return x * y + z;"
        if (fused := _FMA.get((bits, lanes))) is not None:
            has = "__AVX512F__" if bits * lanes == 512 else "__FMA__"
            text = f"\n#if defined __GNUC__ && !defined __clang__ && defined {has}\nreturn {fused};\n#else\n{text}"
            text += "\n#endif\n"
        helper = self._helper(f"fma_{self._key(x.type)}", name, [f"{name} x", f"{name} y", f"{name} z"], text)
        return f"{helper}({', '.join(args)})"

    def _of_half(self, x: Value, args: list[str]) -> str:
        lanes, name = x.type.lanes, self._type(x.type)
        if lanes == 1:
            return f"{args[0]}[{x.attr}]" + " != 0" * (x.type.kind == "m")
        return f"({name}){{{', '.join(f'{args[0]}[{x.attr * lanes + k}]' for k in range(lanes))}}}"

    def _of_any(self, x: Value, args: list[str], op: str = "|") -> str:
        type_ = x.args[0].type
        name, lanes = self._type(type_), type_.lanes
        lines = [f"{name} x{lanes} = x;"]
        while (lanes := lanes // 2) > 1:
            half = self._type(type_._replace(lanes=lanes))
            parts = [f"({half}){{{', '.join(f'x{2 * lanes}[{n + k}]' for k in range(lanes))}}}" for n in (0, lanes)]
            lines.append(f"{half} x{lanes} = {f' {op} '.join(parts)};")
        lines.append(f"return (x2[0] {op} x2[1]) != 0;")
        return f"{self._helper(f'{x.op}_{name}', 'int', [f'{name} x'], *lines)}({args[0]})"

    def _of_all(self, x: Value, args: list[str]) -> str:
        return self._of_any(x, args, "&")

    def _of_bits(self, x: Value, args: list[str]) -> str:
        if x.type.lanes > 1:
            return f"({self._type(x.type)}){args[0]}"
        to, of = type_name(x.type), type_name(x.args[0].type)
        line = f"{to} y; memcpy(&y, &x, sizeof y); return y;"
        return f"{self._helper(f'bits_{self._key(x.type)}', to, [f'{of} x'], line)}({args[0]})"

    _of_float = _of_bits

    def _of_load(self, x: Value, args: list[str]) -> str:
        type_, name, key, lanes = x.type, self._type(x.type), self._key(x.type), x.type.lanes
        counted, strided, fill = x.attr
        if lanes == 1:
            line = "return *p != 0;" if type_.kind == "m" else f"{name} x; memcpy(&x, p, sizeof x); return x;"
            text = f"{self._helper(f'load_{key}', name, ['const char *p'], line)}({args[0]})"
            return f"{args[1]} > 0 ? {text} : {literal(fill, type_)}" if counted else text
        params = ["const char *p"] + ["int64_t n"] * counted + ["int64_t s"] * strided
        one, element = self._load_one(type_), "" if type_.kind == "m" else f" * {type_.bytes}"
        if not counted and not strided and type_.kind != "m":
            lines = [f"{name} x; memcpy(&x, p, sizeof x); return x;"]
        elif not counted:
            parts = [one.format(f"p + {k} * s" if strided else f"p + {k}") for k in range(lanes)]
            lines = [f"return ({name})({name}){{{', '.join(parts)}}}{' != 0' * (type_.kind == 'm')};"]
        elif not strided and type_.kind != "m":
            lines = [f"memcpy(&x, p, {_limited(lanes)} * sizeof x[0]); return x;"]
        else:
            at = one.format("p + k * s" if strided else f"p + k{element}")
            lines = [f"for (int k = 0; k < {lanes} && k < n; k++) x[k] = {'-!!' * (type_.kind == 'm')}{at}; return x;"]
        if counted:
            params.insert(0, f"{name} x")
            args = [self._splat(literal(fill, type_), type_), *args]
        helper = self._helper(f"load{'_part' * counted}{'_strided' * strided}_{key}", name, params, *lines)
        return f"{helper}({', '.join(args)})"

    def _load_one(self, type_: Type) -> str:
        """How a lane is read."""
        if type_.kind == "m":
            return "*({})"
        one = type_.one
        name = type_name(one)
        line = f"{name} x; memcpy(&x, p, sizeof x); return x;"
        return f"{self._helper(f'load_{self._key(one)}', name, ['const char *p'], line)}({{}})"

    def _of_get(self, x: Value, _: list[str]) -> str:
        return self.name(x.attr)

    def _of_call(self, x: Value, args: list[str]) -> str:
        return f"{x.attr}({', '.join(args)})"

    def _of_call_at(self, x: Value, args: list[str]) -> str:
        types = ", ".join(self._type(y.type) for y in x.args[1:])
        return f"(({self._type(x.type)} (*)({types or 'void'})){args[0]})({', '.join(args[1:])})"
