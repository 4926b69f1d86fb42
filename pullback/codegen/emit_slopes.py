"""A derivative that is a slope for each argument -> the statement that makes its node and tangent of these."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from textwrap import wrap

from pullback.codegen.expression import parse_expression
from pullback.codegen.formula import Formula
from pullback.codegen.model import NON_DIFFERENTIABLE, NOT_IMPLEMENTED, Derivative, Registry
from pullback.codegen.naming import node_class, public_name

# The results' slopes weighed by their cotangents, as formulas write it.
WEIGHED = "weighed_slopes"
_WIDTH = 105  # of a line, which may get a comment


def slopes_of(derivative: Derivative) -> dict[str, tuple[Formula, ...]] | None:
    """The slopes in each argument, none of them where nobody has derived any; None if the rule says anything else."""
    native, schema = derivative.native, derivative.native.schema
    if "pointwise" not in native.tags or schema.returns_list or not all(derivative.output_differentiability):
        return None
    if derivative.recompute is not None or any(arg.type.is_tensor_list or arg.name == "self" for arg in schema.args):
        return None
    found: dict[str, tuple[Formula, ...]] = {}
    for arg in native.differentiable_args:
        given = derivative.formula_for(arg.name)
        if given.formula is NON_DIFFERENTIABLE:
            continue
        if given.formula is NOT_IMPLEMENTED:
            found[arg.name] = ()
            continue
        slopes = _pulled(given.formula) if isinstance(given.formula, Formula) and len(given.inputs) == 1 else None
        if slopes is None or len(slopes) != len(schema.output_names):
            return None
        found[arg.name] = slopes
    for nr, tangent in enumerate(derivative.tangents.values()):
        terms = {name: slopes[nr] for name, slopes in found.items() if slopes}
        if terms and not (
            isinstance(tangent, Formula) and _says(tangent, terms, [a.name for a in schema.args if a.type.is_tensor])
        ):
            return None
    return found


def _pulled(formula: Formula) -> tuple[Formula, ...] | None:
    """The slopes in `grad * conj(slope)` or `weighed_slopes(grads, slope, ...)`."""
    tree = formula.tree
    if any(how - {"value"} for name, how in formula.uses.items() if name not in ("grad", "grads")):
        return None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult) and ast.unparse(tree.left) == "grad":
        conj = tree.right
        if isinstance(conj, ast.Call) and ast.unparse(conj.func) == "conj":
            return (replace(formula, tree=conj.args[0]),)
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == WEIGHED and ast.unparse(tree.args[0]) == "grads":
        return tuple(replace(formula, tree=slope) for slope in tree.args[1:])
    return None


def _says(tangent: Formula, terms: Mapping[str, Formula], args: Collection[str]) -> bool:
    """True if the tangent is the sum of the arguments' tangents times these slopes."""

    def rename(name: str, how: str) -> str:
        return f"{name}_p" if name in args else name

    texts = [f"{name}_t * ({slope.render(rename, {})})" for name, slope in terms.items()]
    expected = ast.unparse(parse_expression(" + ".join(texts)))
    return ast.unparse(parse_expression(tangent.render(lambda name, how: name, {}))) == expected


def emit_slopes(derivative: Derivative, registry: Registry) -> str:
    """The statement."""
    schema, slopes = derivative.native.schema, slopes_of(derivative)
    assert slopes is not None
    home = derivative.native.python_module or ""
    cls = node_class(derivative.native, registry)
    names = [*(arg.name for arg in schema.args), *schema.output_names]
    entries = []
    for name, formulas in slopes.items():
        texts = [_function(formula, names, registry.operator_tables) for formula in formulas]
        shown = f"{home}.".lstrip(".") + public_name(schema.full_name, home)
        given = f"({', '.join(texts)})" if len(texts) > 1 else "".join(texts)
        entries.append(f"{name}={given or json.dumps(shown)}")
    lines = [f'{cls} = define("{cls}",']
    for piece in (f"{json.dumps(str(schema))},", *(f"{entry}," for entry in entries)):
        if len(lines[-1]) + len(piece) + 1 <= _WIDTH:
            lines[-1] += f" {piece}"
        else:  # inside of the parentheses of a call a line may end at any space
            lines += wrap(piece, _WIDTH, initial_indent="    ", subsequent_indent=" " * 8, break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return "\n".join([*lines[:-1], f"{lines[-1].removesuffix(',')})  # fmt: skip"])


def _function(slope: Formula, names: list[str], tables: Mapping[str, str]) -> str:
    used = {node.id for node in ast.walk(slope.tree) if isinstance(node, ast.Name)}
    takes = ", ".join(["ops", *(name for name in names if name in used)])
    return f"lambda {takes}: {slope.render(lambda name, how: None, tables)}"
