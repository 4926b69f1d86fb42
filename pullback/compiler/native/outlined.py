"""Long rules that a program has many of: each is one function, which the kernels call.

Written out every time, two hundred sines would take a compiler ten seconds. A call of a function with vectors in
registers takes no longer than one that is written out, if the rule is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.compiler.native.code import Code, Type, Value
from pullback.compiler.native.nodes import MAP, Map, Node, Window

_LONG = 12  # instructions
_MANY = 4  # long rules that a program may have written out


def kinds_of(attr: Map, operands: Sequence[Any], lanes: int = 1) -> list[Type | None]:
    """The types of the operands of a map, None of what is no array."""
    return [
        Type("m" if x.node.dtype.kind == "b" else attr.kind, attr.bits, lanes) if type(x) is Window else None
        for x in operands
    ]


def written(attr: Map, operands: Sequence[Any]) -> Code:
    """The rule of a map as a function of scalars."""
    return _written("rule", attr, Type(attr.kind, attr.bits), operands, kinds_of(attr, operands))


def operations(attr: Map, operands: Sequence[Any]) -> list[str]:
    """The instructions of a map, constants aside."""
    return [x.op for x in written(attr, operands).body if isinstance(x, Value) and x.op != "const"]


def applied(attr: Map, code: Code, type_: Type, args: Sequence[Any]) -> Value:
    """The value of a rule; of numbers alone a number."""
    found = attr.rule(code, type_, *args)
    return found if isinstance(found, Value) else code.number(found, type_)


def _written(name: str, attr: Map, type_: Type, operands: Sequence[Any], kinds: Sequence[Type | None]) -> Code:
    params = [(f"x{nr}", kind) for nr, kind in enumerate(kinds) if kind is not None]
    code = Code(name, params, shared=False)
    given = iter(code.params)
    args = [x if kind is None else next(given) for x, kind in zip(operands, kinds, strict=True)]
    found = applied(attr, code, type_, args)
    code.returns = found.type
    code.give(found)
    return code


class Outlined:
    """The functions of one program, made when they are first called.

    Parameters
    ----------
    nodes : iterable of Node
        All of the program: from them it is known which rules are many.

    Attributes
    ----------
    functions : dict of str to Code
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.functions: dict[str, Code] = {}
        self._long: dict[Any, bool] = {}
        long = sum(self._is_long(x) for x in nodes if x.op == MAP)
        self._many = long > _MANY

    def _is_long(self, node: Node) -> bool:
        attr = node.attr
        key = attr.name, attr.bits, tuple(x.node.dtype.kind if type(x) is Window else (x,) for x in node.operands)
        if (found := self._long.get(key)) is None:
            found = self._long[key] = len(operations(attr, node.operands)) > _LONG
        return found

    def value(self, code: Code, node: Node, type_: Type, args: Sequence[Any]) -> Value:
        """The value of a node by its rule, written out or called."""
        attr: Map = node.attr
        if not self._many or not self._is_long(node):
            return applied(attr, code, type_, args)
        values = [x for x in args if isinstance(x, Value)]
        kinds = [x.type if isinstance(x, Value) else None for x in args]
        numbers = "".join(f"_{x!r}" for x in args if not isinstance(x, Value))
        label = "".join(ch if ch.isalnum() else "_" for ch in f"{attr.name}{numbers}")
        widths = "_".join(f"{x.kind}{x.bits}x{x.lanes}" for x in kinds if x is not None)
        name = f"map_{label}_{widths}"
        if (made := self.functions.get(name)) is None:
            made = self.functions[name] = _written(name, attr, type_, args, kinds)
        assert made.returns is not None
        return code.call(name, made.returns, *values)
