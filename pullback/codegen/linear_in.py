"""Whether the value of a formula is made of certain names, its cotangents or tangents, in which it must be linear."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator


def made_of(tree: ast.expr, names: Collection[str]) -> bool:
    """Whether one of `names` reaches the value, whichever branch is taken.

    It does not by its shape or dtype, as a condition, in a comparison or as an index. All of what a tuple has is a
    value; what a call does with its arguments nobody knows here, so one that is made of the names is enough.
    """
    match tree:
        case ast.Name():
            return tree.id in names
        case ast.IfExp():
            return made_of(tree.body, names) and made_of(tree.orelse, names)
        case ast.BoolOp():
            return all(made_of(value, names) for value in tree.values)
        case ast.Tuple() | ast.List():
            return bool(tree.elts) and all(made_of(item, names) for item in tree.elts)
        case ast.Subscript():
            return made_of(tree.value, names)
        case ast.BinOp():
            return made_of(tree.left, names) or made_of(tree.right, names)
        case ast.UnaryOp():
            return not isinstance(tree.op, ast.Not) and made_of(tree.operand, names)
        case ast.Call():
            return any(made_of(arg, names) for arg in _given(tree))
    return False  # a number, a comparison, an attribute


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call, the items of tuples and lists one by one."""
    waiting = [*call.args, *(keyword.value for keyword in call.keywords)]
    while waiting:
        arg = waiting.pop()
        if isinstance(arg, ast.Tuple | ast.List):
            waiting += arg.elts
        else:
            yield arg


def is_zero(tree: ast.expr) -> bool:
    """Whether a formula is `zeros_like(...)`, the derivative of what does not move."""
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "zeros_like"


def made_of_or_zero(tree: ast.expr, names: Collection[str]) -> bool:
    """The same, where a branch may also be zero."""
    if isinstance(tree, ast.IfExp):
        return made_of_or_zero(tree.body, names) and made_of_or_zero(tree.orelse, names)
    return is_zero(tree) or made_of(tree, names)
