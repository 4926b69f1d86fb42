"""The schema language: `max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`.

schema   name[.overload](arguments) -> returns
argument type name[=default]; a lone `*` makes those after it keyword-only
returns  type, or (), or (type name, ...)
type     base[(alias)][?][[] or [size]][?]: Tensor?, Tensor[], Tensor(a) (a view of that argument), Tensor(a!)
         (mutated), int[1] (one int is accepted for the list), Tensor?[] (a list whose items may be None)
default  a number, True, False, None, "text", or a list of those
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from typing import Final

from pullback.codegen.errors import Where, shorten, suggest
from pullback.codegen.expression import parse_expression
from pullback.codegen.of_pytorch import instead_of
from pullback.codegen.signature import REQUIRED, Arg, Default, Required, Return, Schema, Type

__all__ = [
    "BASES",
    "REQUIRED",
    "Arg",
    "Default",
    "Required",
    "Return",
    "Schema",
    "Type",
    "is_dotted_name",
    "parse_schema",
]

BASES: Final = ("Tensor", "Scalar", "int", "float", "bool", "str", "ScalarType", "Generator", "index", "any")
RESERVED: Final = frozenset({"grad", "grads", "result", "grad_input_mask", "ops"})
_REPLACED = {
    "SymInt": "int", "Device": "str", "complex": "Scalar", "double": "float", "string": "str", "dtype": "ScalarType",
    "Dimname": "str", "TensorList": "Tensor[]", "Layout": "str", "MemoryFormat": "str", "Any": "any",
}  # fmt: skip

_HEAD = re.compile(r"\s*([A-Za-z_]\w*)(?:\.(\w+))?\s*\(", re.ASCII)
_TYPE = re.compile(r"([A-Za-z_]\w*)(?:\(([^()]*)\))?(\?)?(?:\[(\d*)\](\?)?)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ALIAS = re.compile(r"([a-z])(!?)")
_OPEN, _CLOSE = "([", ")]"
_MAX_LENGTH = 2000


def is_dotted_name(text: str) -> bool:
    """True if `text` is Python names joined by dots, none of them a keyword."""
    return all(_NAME.fullmatch(part) is not None and not keyword.iskeyword(part) for part in text.split("."))


def parse_schema(text: str, where: Where | None = None) -> Schema:
    """Parse the text of a schema; `where` is the place that errors point to.

    Parameters
    ----------
    text : str
    where : Where, optional
        The place that errors name; default `<schema>`.

    Returns
    -------
    Schema

    Raises
    ------
    DeclarationError

    Examples
    --------
    >>> schema = parse_schema("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    >>> schema.full_name, schema.unique_name, [arg.name for arg in schema.args], schema.args[2].default
    ('max.dim', 'max_dim', ['self', 'dim', 'keepdim'], False)
    """
    where = where or Where("<schema>", 1, text)
    if len(text) > _MAX_LENGTH:
        raise where.error(
            f"the schema is {len(text)} characters long, more than {_MAX_LENGTH}", "Give it fewer arguments"
        )
    head = _HEAD.match(text)
    end = _closing(text, head.end() - 1) if head is not None else None
    if head is None or end is None:
        remedy = "Write it as name.overload(Tensor self, int dim=0) -> Tensor"
        if "::" in text.partition("(")[0]:
            raise where.error("the name has a namespace", f"{remedy}; the namespace is given once, under `namespace:`")
        raise where.error("the schema has no argument list", remedy)
    name, overload = head[1], head[2] or ""
    unique_name = f"{name}_{overload}" if overload else name
    if name.startswith("__") or keyword.iskeyword(unique_name) or keyword.iskeyword(name):
        raise where.error(
            f"{name!r} cannot be an operator's name", "Choose a name that is not a keyword and has no leading '__'"
        )
    arrow = text[end + 1 :].strip()
    if not arrow.startswith("->"):
        raise where.error(
            f"expected '->' after the arguments, found {arrow[:20]!r}", "End the schema with -> Tensor, or -> ()"
        )
    args = _arguments(text[head.end() : end], where)
    returns = _returns(arrow[2:].strip(), where)
    _check_names(args, returns, where)
    _check_aliases(args, returns, where)
    returns_list = len(returns) == 1 and returns[0].type.is_list
    return Schema(name, overload, args, returns, returns_list, text)


def _closing(text: str, start: int) -> int | None:
    """The index of the bracket that closes the one at `start`, text in quotes left out."""
    for i, character, depth in _unquoted(text, start):
        if character in _CLOSE and depth == 0:
            return i
    return None


def _unquoted(text: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """Index, character and depth of brackets after it, for what stands from `start` on and not in quotes."""
    depth, quote = 0, ""
    for i in range(start, len(text)):
        character = text[i]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in _OPEN) - (character in _CLOSE)
            yield i, character, depth


def _split(text: str) -> list[str]:
    """`text` split at its commas outside of brackets and quotes."""
    pieces, start = [], 0
    for i, character, depth in _unquoted(text):
        if character == "," and depth == 0:
            pieces.append(text[start:i].strip())
            start = i + 1
    pieces.append(text[start:].strip())
    return [] if pieces == [""] else pieces


def _arguments(text: str, where: Where) -> tuple[Arg, ...]:
    """The arguments between the parentheses."""
    args: list[Arg] = []
    kwarg_only = False
    for piece in _split(text):
        if piece == "*":
            if kwarg_only:
                raise where.error("the schema has '*' twice", "Keep one '*' before the keyword-only arguments")
            kwarg_only = True
            continue
        arg = _argument(piece, kwarg_only, where)
        if not kwarg_only and arg.default is REQUIRED and args and args[-1].default is not REQUIRED:
            raise where.error(
                f"argument {arg.name!r} has no default, but follows {args[-1].name!r}, which has one",
                f"Give {arg.name!r} a default, move it forward, or put '*' before it",
            )
        args.append(arg)
    if kwarg_only and not (args and args[-1].kwarg_only):
        raise where.error("no argument follows '*'", "Remove the '*'")
    return tuple(args)


def _argument(piece: str, kwarg_only: bool, where: Where) -> Arg:
    """One argument: type name[=default]."""
    declared, equals, default = piece.partition("=")
    type_text, _, name = declared.strip().rpartition(" ")
    if not type_text or not _NAME.fullmatch(name):
        raise where.error(
            f"cannot read the argument {piece!r}", "Write each argument as `type name` or `type name=default`"
        )
    if keyword.iskeyword(name) or name.startswith("__"):
        raise where.error(
            f"argument {name!r} is a Python keyword or begins with '__'", f"Rename it, {name.strip('_')}_ say"
        )
    type_ = _type(type_text.strip(), where)
    return Arg(name, type_, _default(default.strip(), type_, name, where) if equals else REQUIRED, kwarg_only)


def _type(text: str, where: Where) -> Type:
    """Parses a type, such as `Tensor(a!)?` or `int[2]`."""
    match = _TYPE.fullmatch(text)
    if match is None:
        raise where.error(
            f"cannot read the type {text!r}", "Write it as Tensor, Tensor?, Tensor[], Tensor(a!), int[2] or int[]?"
        )
    base, alias, inner, size, outer = match.groups()
    is_list = size is not None
    if base not in BASES:
        remedy = f"Write {_REPLACED[base]}" if base in _REPLACED else suggest(base, BASES)
        raise where.error(f"unknown type {base!r} in {text!r}", remedy)
    letter = None
    if alias is not None:
        letter = _ALIAS.fullmatch(alias.strip())
        if letter is None or base != "Tensor":
            raise where.error(
                f"cannot read the alias annotation of {text!r}", "Write Tensor(a) for a view, Tensor(a!) for mutation"
            )
    return Type(
        base=base,
        optional=bool(outer if is_list else inner),
        is_list=is_list,
        list_size=int(size) if size else None,
        alias=letter[1] if letter else None,
        is_write=bool(letter and letter[2]),
        optional_items=bool(is_list and inner),
    )


def _returns(text: str, where: Where) -> tuple[Return, ...]:
    """The returns after the arrow."""
    in_parentheses = text.startswith("(") and _closing(text, 0) == len(text) - 1
    pieces = _split(text[1:-1]) if in_parentheses else [text]
    returns = []
    for piece in pieces:
        type_text, _, name = piece.rpartition(" ")
        if not type_text:
            type_text, name = piece, ""
        if name and (not _NAME.fullmatch(name) or keyword.iskeyword(name) or name.startswith("__")):
            raise where.error(
                f"cannot read the return {piece!r}", "Write -> Tensor, -> (), or -> (Tensor values, Tensor indices)"
            )
        type_ = _type(type_text.strip(), where)
        if type_.is_tensor_list and len(pieces) > 1:
            raise where.error(
                "a list is returned beside other outputs", "Return a Tensor[] alone, or the tensors one by one"
            )
        returns.append(Return(name or None, type_))
    return tuple(returns)


def _check_names(args: tuple[Arg, ...], returns: tuple[Return, ...], where: Where) -> None:
    """Refuse a name that is taken twice, or that formulas use for something else."""
    seen: set[str] = set()
    outputs = [returned.name for returned in returns if returned.name is not None]
    for name in [arg.name for arg in args] + [name for name in outputs if name != "result"]:
        derived = name[:-2] if name.endswith(("_t", "_p")) else ""
        if name in seen:
            raise where.error(f"the name {name!r} occurs twice", "Rename one of the two")
        if (
            name in RESERVED
            or re.fullmatch(r"result\d+", name)
            or (derived and any(arg.name == derived for arg in args))
        ):
            raise where.error(f"the name {name!r} means something else in formulas", f"Rename it, {name}_ say")
        seen.add(name)
    if (clash := next((name for name in outputs if f"grad_{name}" in seen), None)) is not None:
        raise where.error(f"the name 'grad_{clash}' is the gradient of the output {clash!r}", "Rename one of the two")


def _check_aliases(args: tuple[Arg, ...], returns: tuple[Return, ...], where: Where) -> None:
    """Refuse a return that is the alias of no argument."""
    writes = {arg.type.alias: arg.type.is_write for arg in args if arg.type.alias is not None}
    for returned in returns:
        alias = returned.type.alias
        if alias is not None and writes.get(alias) is not returned.type.is_write:
            mark = f"{alias}!" if returned.type.is_write else alias
            raise where.error(
                f"the schema returns Tensor({mark}), but no argument is Tensor({mark})",
                f"Write Tensor({mark}) at the argument too, or -> Tensor",
            )


def _default(text: str, type_: Type, name: str, where: Where) -> Default:
    """The Python value of a default that fits the argument's type."""
    try:
        value = _literal(parse_expression(text))
    except ValueError:
        allowed = 'a number, True, False, None, "text", or a list such as [0, 1]'
        remedy = (
            f'Write `{name}="{text.lower()}"` for a text, or {allowed}' if _NAME.fullmatch(text) else f"Write {allowed}"
        )
        remedy = instead_of(text) or remedy
        raise where.error(f"cannot read the default {shorten(text)!r} of argument {name!r}", remedy) from None
    if not _fits(value, type_):
        remedy = f"Declare `{type_}? {name}=None`" if value is None else "Change the default or the type"
        raise where.error(f"the default {shorten(text)} of argument {name!r} is no {type_}", remedy)
    return value


def _literal(node: ast.expr) -> Default:
    """The value of a literal; ValueError for any other expression."""
    if isinstance(node, ast.List):
        return tuple(_literal(item) for item in node.elts)
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, int | float | str)):
        if sign == 1:
            return node.value
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return -node.value
    raise ValueError("not a literal")


def _fits(value: Default, type_: Type) -> bool:
    """True if `value` is of the type."""
    if value is None:
        return type_.optional or type_.base == "any"
    if isinstance(value, tuple):
        item = Type(type_.base, optional=type_.optional_items)
        return type_.base == "any" or (type_.is_list and all(_fits(element, item) for element in value))
    if type_.is_list and type_.list_size is None:
        return False
    if isinstance(value, bool):
        return type_.base in ("bool", "Scalar", "any")
    if isinstance(value, int):
        return type_.base in ("int", "float", "Scalar", "any")
    if isinstance(value, float):
        return type_.base in ("float", "Scalar", "any")
    return type_.base in ("str", "any")
