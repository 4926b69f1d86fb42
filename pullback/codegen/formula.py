"""Formulas: one Python expression each, parsed and checked against a whitelist, rendered again, never evaluated.

So a file of declarations from elsewhere can call operators and helpers, and nothing else.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from pullback.codegen.expression import ExpressionError, parse_expression
from pullback.codegen.whitelist import ATTRIBUTES, CONSTANTS, MASK, WRAP_OPT_IF, Checker

if TYPE_CHECKING:
    from pullback.codegen.errors import Where

__all__ = ["ATTRIBUTES", "CONSTANTS", "Formula", "Rename", "parse_formula"]

Rename: TypeAlias = Callable[[str, str], str | None]
"""(name, how) -> the Python text for it, a name, attribute or call; None: the name itself, or the value's attribute.

`how` is "value", an attribute, or of `grad_input_mask` the number of a flag: "0".
"""


@dataclass(frozen=True)
class Formula:
    """A checked formula.

    `uses` maps each name (of an argument, output, gradient, tangent) to how it is used: "value" and the attributes
    "shape", "ndim", "dtype", "size". `operators` and `helpers` are the functions called, `constants` those
    that stand in it. `guards` has the conditions, of flags, under which `wrap_opt_if` gives the value of a name.
    """

    text: str
    tree: ast.expr = field(compare=False, repr=False)
    uses: Mapping[str, frozenset[str]] = field(hash=False)
    operators: frozenset[str]
    helpers: frozenset[str]
    constants: frozenset[str]
    guards: Mapping[str, Sequence[ast.expr]] = field(compare=False, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The names that the formula uses."""
        return frozenset(self.uses)

    def render(self, rename: Rename, tables: Mapping[str, str] = MappingProxyType({})) -> str:
        """Write the formula as Python source, its names through `rename`.

        Operators are called as `ops.f`, or as `table.f` where `tables` maps f to another table.
        """
        return ast.unparse(_Renderer(rename, self, tables).visit(self.tree))

    def when_wrapped(self, name: str, flags: Sequence[str]) -> list[str]:
        """The conditions under which `wrap_opt_if` gives the value of a name; none for a name used without it."""
        renderer = _Renderer(lambda _, how: flags[int(how)], self, {})
        return [ast.unparse(renderer.visit(guard)) for guard in self.guards.get(name, ())]


def parse_formula(
    text: str,
    names: Collection[str],
    operators: Collection[str],
    helpers: Collection[str],
    where: Where,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Formula:
    """Parse and check a formula.

    Parameters
    ----------
    text : str
    names : names of arguments, outputs and gradients that it may use
    operators, helpers : names that it may call
    where : Where, the place that errors name
    aliases : mapping, optional
        Further names, each for one of `names`, which stands in the result in its place.

    Returns
    -------
    Formula

    Raises
    ------
    DeclarationError

    Examples
    --------
    >>> from pullback.codegen.errors import Where
    >>> formula = parse_formula("grad * conj(cos(self))", {"grad", "self"}, {"cos", "conj"}, set(), Where("example"))
    >>> formula.render(lambda name, how: "self_" if name == "self" else name)
    'grad * ops.cos(self_).conjugate()'
    """
    line = " ".join(text.splitlines()).strip()
    try:
        tree = parse_expression(line)
    except ExpressionError as error:
        raise where.error(f"formula {error.problem} (column {error.column})", error.remedy) from None
    checker = Checker(line, names, operators, helpers, where, aliases)
    tree = checker.check(tree)
    if both := checker.bare.intersection(checker.guards):
        name = min(both)
        raise where.error(
            f"formula uses {name!r} in {WRAP_OPT_IF} and outside of it, so that it would be saved always",
            f"Write {name} alone, or {WRAP_OPT_IF}({name}, ...) each time (its shape and dtype need none)",
        )
    return Formula(
        text=line,
        tree=tree,
        uses={name: frozenset(how) for name, how in checker.uses.items()},
        operators=frozenset(checker.called_operators),
        helpers=frozenset(checker.called_helpers),
        constants=frozenset(checker.constants),
        guards=checker.guards,
    )


class _Renderer(ast.NodeTransformer):
    """Builds the tree that `ast.unparse` writes; a Name in it holds whatever text `rename` gave."""

    def __init__(self, rename: Rename, formula: Formula, tables: Mapping[str, str]) -> None:
        self.rename, self.tables = rename, tables
        self.operators, self.constants = formula.operators, formula.constants

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Build a new node: the formula's own tree stays as it is, to be rendered again."""
        fields = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                fields[name] = [self.visit(item) for item in value]
            else:
                fields[name] = self.visit(value) if isinstance(value, ast.AST) else value
        return type(node)(**fields)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Rename a name; a constant keeps its own."""
        return node if node.id in self.constants else ast.Name(self.rename(node.id, "value") or node.id)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Write a string in double quotes."""
        return ast.Name(json.dumps(node.value)) if isinstance(node.value, str) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Write x.shape, under its own name where `rename` gives one."""
        if isinstance(node.value, ast.Name) and node.value.id not in self.constants:
            renamed = self.rename(node.value.id, node.attr)
            if renamed is not None:
                return ast.Name(renamed)
        return ast.Attribute(self.visit(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Write one flag of grad_input_mask as the question that it answers."""
        if isinstance(node.value, ast.Name) and node.value.id == MASK and isinstance(node.slice, ast.Constant):
            return ast.Name(self.rename(MASK, str(node.slice.value)) or ast.unparse(node))
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write ops.f(x) for an operator, f(x, ops=ops) for a helper, x.conj() for conj."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        if name == WRAP_OPT_IF:
            return args[0]  # apply() unpacks it, or sets it to None
        keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
        if name == "conj":  # no third party's: see read_natives.check_names_with_a_meaning
            return ast.Call(ast.Attribute(args[0], "conjugate"), [], [])  # Python numbers have this name alone
        if name in self.operators:
            return ast.Call(ast.Attribute(ast.Name(self.tables.get(name, "ops")), name), args, keywords)
        return ast.Call(ast.Name(name), args, [*keywords, ast.keyword("ops", ast.Name("ops"))])
