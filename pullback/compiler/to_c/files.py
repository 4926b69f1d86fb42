"""The text of the two files: kernels, constants, rows of data, and the function that runs them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pullback.arrays.traced.graph import Value
from pullback.compiler.native import render_c
from pullback.compiler.native.code import Type
from pullback.compiler.native.lowering import BOOL
from pullback.compiler.native.nodes import MAP
from pullback.compiler.native.program import Kernels
from pullback.compiler.native.schedule import Nest
from pullback.core.tensor import ndarray

_TYPES = {"f8": "double", "f4": "float", "i8": "int64_t", "b1": "unsigned char"}
_DIRECT = 64  # kernels that are called one by one; where there are more, a table takes a compiler less time
_WIDTH = 118
_OF_MATH = re.compile(r"\b((?:fabs|sqrt|floor|ceil|rint|trunc)f?\(|INFINITY\b|NAN\b)")


class Parameter(NamedTuple):
    """An argument or a result.

    Attributes
    ----------
    name : str
        In C.
    path : str
        How it is reached in Python.
    value : Value
    """

    name: str
    path: str
    value: Value

    @property
    def type(self) -> str:
        """The type of its elements in C."""
        return _TYPES[self.value.dtype.str[1:]]


class Files:
    """The two files of a function.

    Parameters
    ----------
    name : str
        Of the function in C.
    origin : str
        What the function is in Python.
    kernels : Kernels
    arguments, results : sequence of Parameter
    fixed : sequence of str
        What of the arguments and of the result is the same at each call.

    Attributes
    ----------
    source, header : str
    """

    def __init__(
        self, name: str, origin: str, kernels: Kernels, arguments: Sequence[Parameter], results: Sequence[Parameter],
        fixed: Sequence[str],
    ) -> None:  # fmt: skip
        self._name, self._origin, self._kernels = name, origin, kernels
        self._arguments, self._results, self._fixed = arguments, results, fixed
        body = self._kernel_text()
        self._needs_math = _OF_MATH.search(body) is not None
        self.source = self._source(body)
        self.header = self._header()

    # -- the source ----------------------------------------------------------------------------------------------------
    def _kernel_text(self) -> str:
        module = self._kernels.module
        for code in module.functions:
            code.shared = False
        text = render_c.render(module, "")
        for name, nest in dict(zip(reversed(self._kernels.names), reversed(self._kernels.nests), strict=True)).items():
            head = f"static int64_t {name}("
            text = text.replace(head, f"\n/* {_described(nest)} */\n{head}", 1)
        return text

    def _source(self, body: str) -> str:
        headers = ["stdint", "string", *(["math"] if self._needs_math else [])]
        includes = [f'#include "{self._name}.h"', "", *(f"#include <{x}.h>" for x in sorted(headers))]
        parts = ["\n".join(includes), body.strip(), *self._constants(), self._rows(), self._function()]
        if "vector_size" in body:  # its functions are called here alone
            parts.insert(1, '#pragma GCC diagnostic ignored "-Wpsabi"')  # which gcc notes nevertheless
        return "\n\n".join(part for part in parts if part) + "\n"

    def _constants(self) -> list[str]:
        return [_table(f"constant{nr}", x) for nr, x in enumerate(self._kernels.constants)]

    def _rows(self) -> str:
        """The data of all kernels, one behind the other."""
        numbers = [str(word) for row in self._kernels.data for word in row]
        if not numbers:
            return ""
        said = "Of each kernel: sizes, and of each array its base, its offset and its strides, in bytes."
        return f"/* {said} */\n" + _braced("static const int64_t rows[]", numbers)

    def _function(self) -> str:
        bases = ["workspace", *(f"(char *){p.name}" for p in self._arguments)]
        bases += [f"(char *)constant{nr}" for nr in range(len(self._kernels.constants))]
        bases += [f"(char *){p.name}" for p in self._results]
        lines = ["    const union { char *at; int64_t word; } bases[] = {"]
        lines += [f"        {{{base}}}," for base in bases]
        lines += ["    };"]
        names, begin, calls = self._kernels.names, 0, list[tuple[str, int]]()
        for name, row in zip(names, self._kernels.data, strict=True):
            calls.append((name, begin))
            begin += len(row)
        if len(calls) <= _DIRECT:
            lines += [f"    if ({name}((char *)bases, (char *)(rows + {at}))) return 1;" for name, at in calls]
        else:
            steps = [f"{{{name}, {at}}}" for name, at in calls]
            lines += [
                _braced("    static const struct { int64_t (*run)(char *, char *); int64_t at; } steps[]", steps),
                f"    for (int k = 0; k < {len(calls)}; k++) {{",
                "        if (steps[k].run((char *)bases, (char *)(rows + steps[k].at))) return 1;",
                "    }",
            ]
        return "\n".join([f"{self._declared()} {{", *lines, "    return 0;", "}"])

    # -- the header ----------------------------------------------------------------------------------------------------
    def _declared(self) -> str:
        given = [f"const {p.type} *{p.name}" for p in self._arguments]
        given += [f"{p.type} *{p.name}" for p in self._results]
        text = f"int {self._name}({', '.join([*given, 'void *workspace'])})"
        return text if len(text) <= _WIDTH else text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")

    def _header(self) -> str:
        guard, size = f"{self._name.upper()}_H", f"{self._name.upper()}_WORKSPACE"
        rows = [("", "in C", "in Python", "")]
        rows += [("argument", f"{p.type} {p.name}[{prod(p.value.shape)}]", p.path, _form(p)) for p in self._arguments]
        rows += [("result", f"{p.type} {p.name}[{prod(p.value.shape)}]", p.path, _form(p)) for p in self._results]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        table = ["  ".join([*(x.ljust(w) for x, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows]
        link = " Link with the library of math.h." if self._needs_math else ""
        said = [
            f"Arrays are in C order: the last index moves fastest. Results and `workspace`, {size} bytes at any",
            "address, must overlap neither one another nor an argument. Nothing is allocated, nothing is kept: threads",
            f"may run it together, each with a workspace of its own.{link}",
            "",
            "It returns 0; or 1 if an index was out of range or a check has failed: then the results are of no use.",
        ]
        parameters = (*self._arguments, *self._results)
        said += ["A bool is 0 or 1 in a byte."] if any(p.value.dtype == BOOL for p in parameters) else []
        said += ["", "The same at each call:", *(f"    {x}" for x in self._fixed)] if self._fixed else []
        comment = [f"{self._name}: {self._origin}, exported by pullback.", "", *table, "", *said]
        text = "\n".join(f"   {line}".rstrip() for line in comment).replace("*/", "* /")
        integers = ["#include <stdint.h>", ""] if any(p.type == "int64_t" for p in parameters) else []
        lines = [f"/* {text.strip()}", "*/", f"#ifndef {guard}", f"#define {guard}", "", *integers]
        lines += [f"enum {{ {size} = {max(self._kernels.workspace, 1)} }};", ""]
        lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"{self._declared()};", ""]
        return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _described(nest: Nest) -> str:
    """A line that tells of a kernel."""
    names = [x.node.attr.name if x.node.op == MAP else x.node.op for x in nest.members.values()]
    text = f"{', '.join(dict.fromkeys(names))} over {nest.space}".replace("*/", "* /")
    return text if len(text) <= _WIDTH - 6 else f"{text[: _WIDTH - 9]}..."


def _form(p: Parameter) -> str:
    return f"{p.value.dtype} {p.value.shape}"


def _table(name: str, array: ndarray) -> str:
    """A constant, as it lies in memory."""
    span = 1 + sum((n - 1) * s // array.itemsize for n, s in zip(array.shape, array.strides, strict=True))
    memory = np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,))
    type_ = _TYPES[array.dtype.str[1:]]
    if array.dtype == BOOL:
        numbers = [str(int(x)) for x in memory.tolist()]
    else:
        kind = Type(array.dtype.kind, array.itemsize * 8)
        numbers = [render_c.literal(x, kind) for x in memory.tolist()]
    return _braced(f"static const {type_} {name}[]", numbers)


def _braced(head: str, numbers: Sequence[Any]) -> str:
    """A definition with these numbers, in lines that are not too long."""
    indent = head[: len(head) - len(head.lstrip())]
    lines, line = [f"{head} = {{"], ""
    for x in numbers:
        if len(line) + len(x) + 2 > _WIDTH - 4 - len(indent):
            lines.append(f"{indent}    {line.rstrip()}")
            line = ""
        line += f"{x}, "
    return "\n".join([*lines, f"{indent}    {line.rstrip().rstrip(',')}", f"{indent}}};"])
