"""Long rules that a program has many of: each is one function, which the kernels call.

Written out every time, two hundred sines would take a compiler ten seconds. A call of a function with vectors in
registers takes no longer than one that is written out, if the rule is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pullback.compiler.native.code import Code, Type, Value
from pullback.compiler.native.nodes import MAP, Map, Node, Window

_LONG = 12  # instructions
_MANY = 4  # long rules that a program may have written out


class Scalar(NamedTuple):
    """A map for scalars: the type that it gives, and its instructions, constants aside."""

    returns: Type
    operations: tuple[str, ...]


def form_of(operands: Sequence[Any]) -> tuple[Any, ...]:
    """The operands as a rule sees them: the kinds of arrays, and numbers to the bit."""
    return tuple(x.node.dtype.kind if type(x) is Window else (type(x), repr(x), x) for x in operands)


def scalar(attr: Map, operands: Sequence[Any]) -> Scalar:
    """A map for scalars; it raises what the rule raises where it does not take these operands."""
    return _scalar(attr, form_of(operands))


@lru_cache(maxsize=4096)
def _scalar(attr: Map, form: tuple[Any, ...]) -> Scalar:
    kinds = [Type("m" if x == "b" else attr.kind, attr.bits) if type(x) is str else None for x in form]
    numbers = [None if type(x) is str else x[2] for x in form]
    code = _written("rule", attr, Type(attr.kind, attr.bits), numbers, kinds)
    assert code.returns is not None
    return Scalar(code.returns, tuple(x.op for x in code.body if isinstance(x, Value) and x.op != "const"))


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
    functions : dict of Code
        By the names of the rules, and the types of their operands.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.functions: dict[Any, Code] = {}
        self._many = sum(self._is_long(x) for x in nodes if x.op == MAP) > _MANY

    @staticmethod
    def _is_long(node: Node) -> bool:
        return len(scalar(node.attr, node.operands).operations) > _LONG

    def value(self, code: Code, node: Node, type_: Type, args: Sequence[Any]) -> Value:
        """The value of a node by its rule, written out or called."""
        attr: Map = node.attr
        if not self._many or not self._is_long(node):
            return applied(attr, code, type_, args)
        kinds = [x.type if isinstance(x, Value) else None for x in args]
        key = attr.name, *(repr(x) if kind is None else kind for x, kind in zip(args, kinds, strict=True))
        if (made := self.functions.get(key)) is None:
            name = f"map{len(self.functions)}_{''.join(ch if ch.isalnum() else '_' for ch in attr.name)}"
            made = self.functions[key] = _written(name, attr, type_, args, kinds)
        assert made.returns is not None
        return code.call(made.name, made.returns, *(x for x in args if isinstance(x, Value)))
