"""The conjugate of a formula, taken inwards to where it vanishes.

The tangent of an element-wise operator is conj(f(conj(t))), f its formula for the cotangent. For grad * conj(cos(self))
that is t * cos(self), which says more to the eye and saves three calls on small arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from typing import TypeGuard

from pullback.codegen.formula import Formula


def transposed(formula: Formula, moving: Collection[str], real: Collection[str]) -> Formula:
    """conj(f(conj(t))) for a formula f of the names `moving`, which stand for t in what is returned.

    `real` are the names of what is known to be a real number.
    """
    conjugation = _Conjugation(frozenset(moving), formula.constants.union(real))
    return replace(formula, tree=conjugation.apart(formula.tree, wanted=True))


class _Conjugation:
    def __init__(self, moving: frozenset[str], real: frozenset[str]) -> None:
        self.moving, self.real = moving, real

    def apart(self, node: ast.expr, *, wanted: bool) -> ast.expr:
        """The node for conj(t) in place of t; its conjugate if `wanted`."""
        if not self._uses(node, self.moving):
            return self._constant(node) if wanted else node
        if isinstance(node, ast.Name):
            return node if wanted else _conj(node)
        if _is_call(node, "conj"):
            return self.apart(node.args[0], wanted=not wanted)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            return ast.BinOp(self.apart(node.left, wanted=wanted), node.op, self.apart(node.right, wanted=wanted))
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(node.op, self.apart(node.operand, wanted=wanted))
        if _is_call(node, "where") and len(node.args) == 3 and not self._uses(node.args[0], self.moving):
            condition, *branches = node.args
            return ast.Call(node.func, [condition, *[self.apart(x, wanted=wanted) for x in branches]], [])
        inside = _Inside(self.moving).visit(node)
        return _conj(inside) if wanted else inside

    def _constant(self, node: ast.expr) -> ast.expr:
        """The conjugate of what does not move."""
        if _is_call(node, "conj"):
            return node.args[0]
        if _is_number(node) or (isinstance(node, ast.Name) and node.id in self.real):
            return node
        parts = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Call)]
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(node.op, self._constant(node.operand))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            if all(isinstance(part, ast.Name) and part.id in self.real for part in parts):
                return node
            if any(_is_call(part, "conj") for part in parts):
                return ast.BinOp(self._constant(node.left), node.op, self._constant(node.right))
        return _conj(node)

    @staticmethod
    def _uses(node: ast.expr, names: Collection[str]) -> bool:
        return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


class _Inside(ast.NodeTransformer):
    """Puts the conjugates of some names in their place: where a call takes them, and nothing is known of it."""

    def __init__(self, moving: frozenset[str]) -> None:
        self.moving = moving

    def generic_visit(self, node: ast.AST) -> ast.AST:
        fields = {
            name: [self.visit(item) for item in value]
            if isinstance(value, list)
            else self.visit(value)
            if isinstance(value, ast.AST)
            else value
            for name, value in ast.iter_fields(node)
        }
        return type(node)(**fields)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """Shapes and dtypes are those of the name itself."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _conj(node) if node.id in self.moving else node


def _conj(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("conj"), [node], [])


def _is_call(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
