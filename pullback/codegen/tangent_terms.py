"""Splits a tangent formula into terms, to find what remains of it where some tangents are undefined.

A formula is linear in its tangents, so without some of them it is the sum of the terms of the others. A tangent that is
not there takes no part: no zeros stand in for it, which would turn into NaN where they meet an infinity. Where a call
takes several tangents at once, such as `scatter(self_t, dim, index, src_t)`, these stay together.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import replace

from pullback.codegen.formula import Formula

_ZERO = ast.Constant(0)


def groups(formulas: Collection[Formula], tangents: Sequence[str]) -> list[frozenset[str]]:
    """The tangents that formulas use, each alone or with those that it must not be parted from, in their order."""
    found = [frozenset({name}) for name in tangents if any(name in formula.uses for formula in formulas)]
    for bound in (names for formula in formulas for names in _bound(formula.tree, frozenset(tangents))):
        together = frozenset(bound).union(*(group for group in found if group & bound))
        found = [*(group for group in found if not group & bound), together]
    return sorted(found, key=lambda group: min(map(tangents.index, group)))


def term_of(formula: Formula, present: Collection[str], tangents: Collection[str]) -> Formula | None:
    """The terms of the formula that remain where all other tangents are zero; None if there are none."""
    tree = _Reduction(frozenset(tangents), frozenset(tangents) - frozenset(present)).visit(formula.tree)
    return None if tree is _ZERO else replace(formula, tree=tree)


def _names(node: ast.AST, tangents: frozenset[str]) -> frozenset[str]:
    return tangents.intersection(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _bound(node: ast.AST, tangents: frozenset[str]) -> list[frozenset[str]]:
    """The sets of tangents that one call, or anything else but arithmetic, takes in several places."""
    moving = [part for part in ast.iter_child_nodes(node) if _names(part, tangents)]
    if isinstance(node, ast.Attribute) and moving:
        return [tangents]  # such as self_t.shape: what is not there has none
    found = [names for part in moving for names in _bound(part, tangents)]
    if len(moving) > 1 and not _is_linear(node, moving):
        found.append(_names(node, tangents))
    return found


def _is_linear(node: ast.AST, moving: Sequence[ast.AST]) -> bool:
    """True if the node is linear in all its moving parts at once, so that one that is zero can be left out."""
    if isinstance(node, ast.Call):
        return _is_choice(node) and moving[0] is not node.args[0]
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub)
    return isinstance(node, ast.IfExp) and moving[0] is not node.test


def _is_choice(node: ast.Call) -> bool:
    """True if it is `where(condition, x, y)`, which takes a number in the place of an undefined tangent."""
    return isinstance(node.func, ast.Name) and node.func.id == "where" and len(node.args) == 3 and not node.keywords


class _Reduction:
    """Builds a tree without some tangents; `_ZERO` stands for what vanished."""

    def __init__(self, tangents: frozenset[str], absent: frozenset[str]) -> None:
        self.tangents, self.absent = tangents, absent

    def visit(self, node: ast.expr) -> ast.expr:
        """Visit a node; what moved and does so no longer is zero."""
        if not _names(node, self.absent):
            return node
        found: ast.expr = getattr(self, f"visit_{type(node).__name__}", self.generic_visit)(node)
        return found if _names(found, self.tangents) else _ZERO

    def generic_visit(self, node: ast.expr) -> ast.expr:
        """Leave a node as it is: its tangents stand and fall together."""
        return node if _names(node, self.tangents - self.absent) else _ZERO

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """A sum loses a part, a product vanishes."""
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            if right is _ZERO:
                return left
            if left is _ZERO:
                return right if isinstance(node.op, ast.Add) else ast.UnaryOp(op=ast.USub(), operand=right)
        elif left is _ZERO or right is _ZERO:
            return _ZERO
        return ast.BinOp(left=left, op=node.op, right=right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """A sign of nothing is nothing."""
        operand = self.visit(node.operand)
        return _ZERO if operand is _ZERO else ast.UnaryOp(op=node.op, operand=operand)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """A branch may vanish."""
        branches = (self.visit(node.body), self.visit(node.orelse))
        body, orelse = (ast.Constant(None) if branch is _ZERO else branch for branch in branches)
        return ast.IfExp(test=node.test, body=body, orelse=orelse)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call vanishes with what moves in it; `where` takes a 0 for a branch that does not."""
        args = [self.visit(arg) for arg in node.args]
        keywords = [ast.keyword(arg=keyword.arg, value=self.visit(keyword.value)) for keyword in node.keywords]
        gone = any(x is _ZERO for x in (*args, *(keyword.value for keyword in keywords)))
        return _ZERO if gone and not _is_choice(node) else ast.Call(func=node.func, args=args, keywords=keywords)
