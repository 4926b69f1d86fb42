"""The whitelist of formulas. What is not listed is refused, with its column and what to write instead.

Listed are names (of arguments, outputs, gradients, constants), numbers of bounded size, strings where they are passed
or compared, True, False, None, tuples and lists, + - * / // % ** @ and signs, comparisons, and/or/not,
`a if c else b`, indexing, calls of operators and helpers by name, method calls of operators, wrap_opt_if, and four
attributes.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pullback.codegen.constants_index import find_constants
from pullback.codegen.errors import Where, nearest, shorten, suggest
from pullback.codegen.expression import MAX_DEPTH
from pullback.codegen.of_pytorch import instead_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ATTRIBUTES: Final = ("shape", "ndim", "dtype", "size")
CONSTANTS: Final = find_constants(Path(__file__).resolve().parent.parent / "ops" / "constants.py")
MAX_INTEGER: Final = 2**63
MAX_EXPONENT: Final = 64
MASK: Final = "grad_input_mask"
WRAP_OPT_IF: Final = "wrap_opt_if"

_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
_UNARY = (ast.USub, ast.UAdd, ast.Not)
_NUMPY = ("np", "numpy", "math", "ops", "pb", "pullback", "torch")  # where functions of these names usually are
_LOOP = "Write a helper function that loops"
_INSTEAD: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "Write the expression itself, or a helper function"),
    ast.ListComp: ("a comprehension", _LOOP),
    ast.SetComp: ("a comprehension", _LOOP),
    ast.DictComp: ("a comprehension", _LOOP),
    ast.GeneratorExp: ("a generator expression", _LOOP),
    ast.JoinedStr: ("an f-string", "Write a plain string"),
    ast.NamedExpr: ("an assignment ':='", "Write a helper function with a local variable"),
    ast.Starred: ("a starred argument", "Write the arguments one by one, or pass the tuple to a helper function"),
    ast.Await: ("'await'", "Write the call alone"),
    ast.Yield: ("'yield'", "Write the value alone"),
    ast.YieldFrom: ("'yield from'", "Write the value alone"),
    ast.Dict: ("a dict", "Write a tuple, or a helper function"),
    ast.Set: ("a set", "Write a tuple"),
    ast.Slice: ("a slice outside of an index", "Write x[a:b]"),
    ast.BitAnd: ("the operator &", "Write logical_and(a, b), or `a and b` for Python's own values"),
    ast.BitOr: ("the operator |", "Write logical_or(a, b), or `a or b` for Python's own values"),
    ast.BitXor: ("the operator ^", "Write logical_xor(a, b), or ** for a power"),
    ast.Invert: ("the operator ~", "Write logical_not(a), or `not a` for Python's own values"),
    ast.LShift: ("the operator <<", "Multiply by a power of two"),
    ast.RShift: ("the operator >>", "Divide by a power of two with //"),
}


class Checker:
    """Walks a formula's tree once: checks it, and collects what it uses and calls."""

    def __init__(
        self,
        text: str,
        names: Collection[str],
        operators: Collection[str],
        helpers: Collection[str],
        where: Where,
        aliases: Mapping[str, str],
    ) -> None:
        self.text, self.names, self.operators, self.helpers = text, names, operators, helpers
        self.where, self.aliases = where, aliases
        self.depth = 0
        self.uses: dict[str, set[str]] = {}
        self.bare: set[str] = set()  # the names whose values are used outside of wrap_opt_if
        self.guards: dict[str, list[ast.expr]] = {}  # the conditions of those inside
        self.called_operators: set[str] = set()
        self.called_helpers: set[str] = set()
        self.constants: set[str] = set()

    def refuse(self, node: ast.AST, problem: str, remedy: str) -> Exception:
        """Make the error about `node`; `{}` in the problem stands for its text."""
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        piece = f"`{shorten(self.text[start:end])}`"
        return self.where.error(f"formula {problem.replace('{}', piece)} (column {start + 1})", remedy)

    def check(self, node: ast.expr, text_allowed: bool = False) -> ast.expr:
        """Check `node` and what is below it; return it with aliases replaced and method calls made plain calls.

        `text_allowed`: a string may stand here. Elsewhere it could be formatted or repeated into a huge one.
        """
        if self.depth == MAX_DEPTH:
            raise self.refuse(node, f"is nested more than {MAX_DEPTH} deep", "Move parts into helper functions")
        self.depth += 1
        match node:
            case ast.Name():
                self.name(node)
            case ast.Constant():
                self.constant(node, text_allowed)
            case ast.Attribute():
                self.attribute(node)
            case ast.Call():
                node = self.call(node)
            case ast.Subscript():
                self.subscript(node)
            case ast.IfExp() | ast.Tuple() | ast.List():
                self.choice(node, text_allowed)
            case _:
                self.operation(node)
        self.depth -= 1
        return node

    def name(self, node: ast.Name) -> None:
        """Check a name: of an argument, output, gradient or constant."""
        node.id = self.aliases.get(node.id, node.id)
        if node.id in self.names:
            self.uses.setdefault(node.id, set()).add("value")
            self.bare.add(node.id)
        elif node.id in CONSTANTS:
            self.constants.add(node.id)
        elif node.id in self.operators or node.id in self.helpers:
            raise self.refuse(node, f"names the function {node.id!r} without calling it", f"Write {node.id}(...)")
        elif node.id in _NUMPY:
            advice = f"Write an operator by its name alone: sqrt(self), not {node.id}.sqrt(self)"
            raise self.refuse(node, f"names {node.id!r}, which formulas do not know", advice)
        else:
            known = [*self.names, *(alias for alias in self.aliases if alias not in self.names)]
            if nearest(node.id, known) is None and (near := nearest(node.id, CONSTANTS)) is not None:
                known = [*known, near]
            remedy = instead_of(node.id) or suggest(node.id, known, limit=24)
            raise self.refuse(node, f"names unknown argument {node.id!r}", remedy)

    def constant(self, node: ast.Constant, text_allowed: bool) -> None:
        """Check a constant: a number of bounded size, a string where one may stand, True, False or None."""
        value = node.value
        if isinstance(value, str):
            if not text_allowed:
                raise self.refuse(node, "has the string {} in a computation", "Pass strings to calls, or compare them")
        elif isinstance(value, int):
            if value >= MAX_INTEGER:
                raise self.refuse(node, "has the huge integer {}", "Write a float, such as 1e30")
        elif isinstance(value, float | complex):
            if not math.isfinite(abs(value)):
                raise self.refuse(node, "has the number {}, which overflows", "Write inf")
        elif value is not None:
            raise self.refuse(node, "contains the constant {}", "Write a number, a string, True, False or None")

    def attribute(self, node: ast.Attribute) -> None:
        """Check an attribute: one of four of a tensor."""
        if node.attr not in ATTRIBUTES:
            if node.attr in self.operators:
                remedy = f"Write {node.attr}(...), or call it as a method: .{node.attr}()"
            else:
                near = nearest(node.attr, ATTRIBUTES)
                remedy = f"{_meant(near)}Use .shape, .ndim, .dtype, .size, or an operator"
            raise self.refuse(node, f"uses the attribute '.{node.attr}' in {{}}", remedy)
        if isinstance(node.value, ast.Constant):
            raise self.refuse(node, "takes an attribute of a constant: {}", "Take it of a tensor")
        if isinstance(node.value, ast.Name):
            name = self.aliases.get(node.value.id, node.value.id)
            if name in self.names:  # an attribute alone: the value itself is not used
                node.value.id = name
                self.uses.setdefault(name, set()).add(node.attr)
                return
        node.value = self.check(node.value)

    def call(self, node: ast.Call) -> ast.Call:
        """Check a call: of an operator or helper by name, or of an operator as a method, which becomes one by name."""
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr not in self.operators:
                near = _meant(nearest(function.attr, self.operators))
                remedy = instead_of(function.attr) or f"{near}A method call must be that of an operator"
                raise self.refuse(node, f"calls the unknown method '.{function.attr}' in {{}}", remedy)
            name = ast.copy_location(ast.Name(function.attr, ast.Load()), function)
            node = ast.copy_location(ast.Call(name, [function.value, *node.args], node.keywords), node)
        elif isinstance(function, ast.Name):
            name = function
        else:
            raise self.refuse(node, "calls something other than a name: {}", "Call an operator or a helper by its name")
        if name.id == WRAP_OPT_IF:
            return self.wrapped(node)
        self.function(name)
        if name.id == "conj" and (len(node.args) != 1 or node.keywords):
            raise self.refuse(node, "calls conj with other than one argument: {}", "Write conj(x)")
        node.args = [self.check(arg, text_allowed=True) for arg in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(keyword, "unpacks keyword arguments: {}", "Write the arguments one by one")
            if keyword.arg in ("ops", "out") or keyword.arg.startswith("__"):
                remedy = "Leave it out: the generator passes `ops`, and a formula writes to nothing"
                raise self.refuse(keyword, f"passes {keyword.arg!r}: {{}}", remedy)
            keyword.value = self.check(keyword.value, text_allowed=True)
        return node

    def wrapped(self, node: ast.Call) -> ast.Call:
        """Check wrap_opt_if(x, condition), whose x is saved where the condition, of flags of grad_input_mask, holds."""
        if MASK not in self.names:
            raise self.refuse(
                node, f"calls {WRAP_OPT_IF} in a tangent, for which nothing is saved: {{}}", "Write x alone"
            )
        name = node.args[0] if len(node.args) == 2 and not node.keywords else None
        if not isinstance(name, ast.Name):
            remedy = f"Write {WRAP_OPT_IF}(self, {MASK}[1])"
            raise self.refuse(node, f"calls {WRAP_OPT_IF} with other than a name and a condition: {{}}", remedy)
        name.id = self.aliases.get(name.id, name.id)
        if name.id in self.names:
            self.uses.setdefault(name.id, set()).add("value")
        else:
            self.name(name)
        self.condition(node.args[1])
        self.guards.setdefault(name.id, []).append(node.args[1])
        return node

    def condition(self, node: ast.expr) -> None:
        """Check when something is saved: one flag of grad_input_mask, or several with `and` and `or`."""
        match node:
            case ast.BoolOp(values=values):
                for value in values:
                    self.condition(value)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int())) if name == MASK:
                self.check(node)
            case _:
                remedy = f"Write {MASK}[0] for what the first input needs, and `or` or `and` between several"
                raise self.refuse(node, "saves something under the condition {}", remedy)

    def function(self, node: ast.Name) -> None:
        """Check the name that is called."""
        name = node.id
        if name in self.operators:
            self.called_operators.add(name)
        elif name in self.helpers:
            if name in CONSTANTS:
                raise self.refuse(node, f"calls {name!r}, which is a constant too", "Rename the helper")
            self.called_helpers.add(name)
        elif name in self.names or name in self.aliases or name in CONSTANTS:
            raise self.refuse(node, f"calls {name!r}, which is not a function", f"Write {name} * (...), or {name}[...]")
        else:
            near = nearest(name, [*self.operators, *self.helpers])
            remedy = "Call a declared operator, or a helper that has a keyword-only argument `ops`"
            raise self.refuse(node, f"calls the unknown function {name!r}", instead_of(name) or _meant(near) + remedy)

    def subscript(self, node: ast.Subscript) -> None:
        """Check indexing; slices and `...` may stand inside."""
        if isinstance(node.value, ast.Constant):
            raise self.refuse(node, "indexes a constant: {}", "Write the item itself")
        node.value = self.check(node.value)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self.index(item) for item in node.slice.elts]
        else:
            node.slice = self.index(node.slice)

    def index(self, node: ast.expr) -> ast.expr:
        """Check one index: an expression, a slice or `...`."""
        if isinstance(node, ast.Slice):
            node.lower = self.check(node.lower) if node.lower is not None else None
            node.upper = self.check(node.upper) if node.upper is not None else None
            node.step = self.check(node.step) if node.step is not None else None
            return node
        return node if isinstance(node, ast.Constant) and node.value is ... else self.check(node)

    def choice(self, node: ast.IfExp | ast.Tuple | ast.List, text_allowed: bool) -> None:
        """Check `a if c else b`, a tuple or a list: strings may stand in it where it may be a string."""
        if isinstance(node, ast.IfExp):
            node.test = self.check(node.test)
            node.body, node.orelse = self.check(node.body, text_allowed), self.check(node.orelse, text_allowed)
        else:
            node.elts = [self.check(item, text_allowed) for item in node.elts]

    def operation(self, node: ast.expr) -> None:
        """Check an operation; anything else is refused."""
        match node:
            case ast.BinOp(op=op) if isinstance(op, _BINARY):
                self.bounded(node)
                node.left, node.right = self.check(node.left), self.check(node.right)
            case ast.UnaryOp(op=op) if isinstance(op, _UNARY):
                node.operand = self.check(node.operand)
            case ast.BoolOp():
                node.values = [self.check(value) for value in node.values]
            case ast.Compare():
                self.identity(node)
                node.left = self.check(node.left, text_allowed=True)
                node.comparators = [self.check(right, text_allowed=True) for right in node.comparators]
            case _:
                kind = type(node.op) if isinstance(node, ast.UnaryOp | ast.BinOp) else type(node)
                what, remedy = _INSTEAD.get(kind, (kind.__name__, "Move it into a helper function"))
                raise self.refuse(node, f"contains {what}: {{}}", remedy)

    def bounded(self, node: ast.BinOp) -> None:
        """Refuse a power or a repetition that could fill the memory."""
        if isinstance(node.op, ast.Pow) and _is_constant(node.right):
            power, base_fits = _number(node.right), not _is_constant(node.left) or _number(node.left) is not None
            if power is None or abs(power) > MAX_EXPONENT or not base_fits:
                remedy = f"Write its value, or a number of at most {MAX_EXPONENT} as exponent"
                raise self.refuse(node, "has the power {}", remedy)
        sides = (node.left, node.right)
        if isinstance(node.op, ast.Mult) and any(isinstance(side, ast.Tuple | ast.List) for side in sides):
            raise self.refuse(node, "repeats a sequence: {}", "Write its items one by one, or a helper function")

    def identity(self, node: ast.Compare) -> None:
        """Refuse `is` with anything but None, True and False."""
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot):
                single = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
                if not single or isinstance(node.left, ast.Constant):
                    raise self.refuse(node, "compares by identity: {}", "Write ==, or `x is None`")


def _meant(near: str | None) -> str:
    """Begin a remedy with the nearest known word."""
    return "" if near is None else f"Did you mean {near!r}? "


def _is_constant(node: ast.expr) -> bool:
    """True if nothing but constants stands in `node`."""
    return not any(isinstance(part, ast.Name) for part in ast.walk(node))


def _number(node: ast.expr) -> float | None:
    """Return the value of a plain number, with or without a sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) < MAX_INTEGER:
        return float(node.value)
    return None
