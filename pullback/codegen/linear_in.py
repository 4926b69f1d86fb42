"""Says of what a formula is made: of its cotangents or tangents, in which it must be linear."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

_SHAPED_AS = ("expand_as", "reshape_as", "view_as")  # of what comes after the first argument only the shape matters
WITH_A_MEANING = ("conj", "zeros_like", "wrap_opt_if", *_SHAPED_AS)  # names that have a meaning here, and in formulas


def made_of(tree: ast.expr, names: Collection[str], unmoved: Collection[str], zeros: bool = True) -> bool:
    """True if one of `names` reaches the value, whichever branch is taken.

    It does not by its shape or dtype, as a condition, in a comparison or as an index, nor through one of the operators
    `unmoved`, which have no derivative. All of what a tuple has is a value; what any other call does with its arguments
    nobody knows here, so one that is made of the names is enough. `zeros`: a value may be `zeros_like` of one.
    """
    match tree:
        case ast.Name():
            return tree.id in names
        case ast.IfExp():
            return made_of(tree.body, names, unmoved, zeros) and made_of(tree.orelse, names, unmoved, zeros)
        case ast.BoolOp():
            return all(made_of(value, names, unmoved, zeros) for value in tree.values)
        case ast.Tuple() | ast.List():
            return bool(tree.elts) and all(made_of(item, names, unmoved, zeros) for item in tree.elts)
        case ast.Subscript():
            return made_of(tree.value, names, unmoved, zeros)
        case ast.BinOp():
            return made_of(tree.left, names, unmoved, False) or made_of(tree.right, names, unmoved, False)
        case ast.UnaryOp():
            return not isinstance(tree.op, ast.Not) and made_of(tree.operand, names, unmoved, zeros)
        case ast.Call():
            if is_zero(tree) and zeros:
                return any(made_of(arg, names, unmoved, False) for arg in _given(tree))
            if isinstance(tree.func, ast.Name) and tree.func.id in unmoved:
                return False
            return any(made_of(arg, names, unmoved, False) for arg in _given(tree))
    return False  # a number, a comparison, an attribute


def not_linear(tree: ast.expr, names: Collection[str], unmoved: Collection[str]) -> ast.expr | None:
    """The first part of a formula in which Python's arithmetic is not linear in `names`, such as `grad + 1`.

    What a call does with its arguments nobody knows here.
    """

    def moves(part: ast.expr) -> bool:
        return made_of(part, names, unmoved, zeros=False)

    if not moves(tree):
        return None
    if isinstance(tree, ast.BinOp):
        of_left, of_right = moves(tree.left), moves(tree.right)
        match tree.op:
            case ast.Add() | ast.Sub():
                linear = (of_left or _is_null(tree.left)) and (of_right or _is_null(tree.right))
            case ast.Mult() | ast.MatMult():
                linear = not (of_left and of_right)
            case operation:
                linear = isinstance(operation, ast.Div) and not of_right
        if not linear:
            return tree
    return next(filter(None, (not_linear(part, names, unmoved) for part in _parts(tree))), None)


def _is_null(tree: ast.expr) -> bool:
    """True for what adds nothing to a sum: 0, zeros(...) and zeros_like(...)."""
    name = tree.func if isinstance(tree, ast.Call) else None
    return is_zero(tree) or ast.unparse(tree) == "0" or (isinstance(name, ast.Name) and name.id == "zeros")


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """The parts of a formula that its value is made of: no condition, no index."""
    match tree:
        case ast.IfExp():
            yield from (tree.body, tree.orelse)
        case ast.Subscript():
            yield tree.value
        case ast.Call():
            yield from _given(tree)
        case _:
            yield from (part for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr))


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call whose values matter, the items of tuples and lists one by one."""
    waiting = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Name) and call.func.id in _SHAPED_AS:
        waiting = call.args[:1]
    while waiting:
        arg = waiting.pop()
        if isinstance(arg, ast.Tuple | ast.List):
            waiting += arg.elts
        else:
            yield arg


def is_zero(tree: ast.expr) -> bool:
    """True if a formula is `zeros_like(...)`, the derivative of what does not move."""
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "zeros_like"


def made_of_or_zero(tree: ast.expr, names: Collection[str], unmoved: Collection[str]) -> bool:
    """The same, where a branch may also be zero, of whatever shape."""
    if isinstance(tree, ast.IfExp):
        return made_of_or_zero(tree.body, names, unmoved) and made_of_or_zero(tree.orelse, names, unmoved)
    return is_zero(tree) or made_of(tree, names, unmoved)
