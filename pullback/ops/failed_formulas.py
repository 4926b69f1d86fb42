"""Describes a formula that fails when it runs: the operator, file and line of the declaration, the names' shapes.

Nothing is kept for it while formulas succeed. The traceback of the error has the frame in which the formula ran, with
what its names stood for; which formula it was shows in the line that failed. Our own declarations are then read as
text, and a third party's module has a table of its formulas.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import sys
import textwrap
import threading
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeAlias

from pullback.dispatch.operator import OPERATORS, Operator
from pullback.explain.calls import IN_FORMULA, described, raises_itself
from pullback.graph.node import Node

_DECLARATIONS = Path(__file__).with_name("derivatives.yaml")
_AUTOMATIC = ("auto_element_wise", "auto_linear")
_NO_FORMULA = ("non_differentiable", "not_implemented")
# Helpers that refuse what has no derivative, and say so: an answer to the user, not a failure.
_ANSWERING = ("pullback.ops.formulas", "pullback.graph.undifferentiable")
# Where a node's gradients are checked. Of other frames nothing is read: a frame keeps what was read, its error too.
_CHECKING = {
    "run_fast": ("pullback.autograd.engine.fast_loop",),
    "run_plainly": ("pullback.autograd.engine.plain_loop",),
    "<genexpr>": ("pullback.autograd.graph",),
}
_RENAMED = frozenset({"node", "ops", "out", "result", "self", "unpack"})  # in generated code `self_` stands for these

_parsing = (
    threading.Lock()
)  # Python 3.11 miscounts its recursion where two threads parse at once, and raises SystemError


def tell(error: BaseException) -> None:
    """Add a note to an error that came out of a formula; once, however many frames it comes through."""
    steps = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    module = steps[-1].tb_frame.f_globals.get("__name__", "")
    if module.startswith(_ANSWERING) and raises_itself(steps[-1]) and not isinstance(error, AssertionError):
        return
    with _parsing:
        text = next((text for step in reversed(steps) if (text := _told(step)) is not None), None)
    if text is not None and "unpack" in str(error) and steps[-1].tb_frame.f_code.co_name == "apply":
        text += ". The formula of several inputs must give a tuple of gradients, one for each of them"
    if text is not None and text not in getattr(error, "__notes__", ()):
        error.add_note(text)


# By key, the place ("file:line") and the text of a formula.
Entry: TypeAlias = dict[str, tuple[str, str]]


def _told(step: TracebackType) -> str | None:
    """The note, if a formula was running in this step of a traceback; innermost first, only one is looked for."""
    frame = step.tb_frame
    if frame.f_code.co_name in _CHECKING and frame.f_globals.get("__name__") in _CHECKING[frame.f_code.co_name]:
        return _refused(step)
    if frame.f_code.co_name in ("apply", "pull"):
        node = frame.f_locals.get("self")
        op = next((op for op in OPERATORS.values() if op.node is type(node)), None) if isinstance(node, Node) else None
        formula = vars(type(node)).get(frame.f_code.co_name)  # its own: an inherited apply() only unpacks
        if op is None or getattr(formula, "__code__", None) is not frame.f_code:
            return None
        module = sys.modules[type(node).__module__].__dict__  # the frame's, but where a rule is made of slopes
        variables = frame.f_locals
        if (key := variables.get("slope_of")) is not None:
            variables = {"grad": variables["grad"], **dict(zip(variables["names"], variables["values"], strict=True))}
            names = functools.partial(_in_slopes, {name: x for name, x in variables.items() if x is not None})
            if not frame.f_locals["parts"]:  # nobody has derived it, as the error says
                return None
        else:
            key, names = _gradient(step, _entry(op, module)), functools.partial(_in_node, node, variables)
    elif frame.f_code.co_name == "slopes_tangent" and "rule" in frame.f_locals:
        name, parameters = frame.f_locals["rule"]
        op = OPERATORS[name]
        module = sys.modules[op.node.__module__].__dict__
        outputs = parameters[-len(op.multi._fields) :] if op.multi is not None else ["result"]
        entry, key = _entry(op, module), outputs[frame.f_locals.get("nr", 0)]
        key = key if key in entry else "result"
        values = dict(zip(parameters, frame.f_locals["given"], strict=True))
        names = functools.partial(_in_tangent, values)
    elif frame.f_code.co_name.endswith("_tangent"):
        functions = frame.f_globals.get("TANGENTS", {})
        name = next((name for name, f in functions.items() if getattr(f, "__code__", None) is frame.f_code), None)
        op = None if name is None else OPERATORS.get(name)
        if op is None:
            return None
        module = frame.f_globals
        key, names = _output(step, op, _entry(op, module)), functools.partial(_in_tangent, frame.f_locals)
    else:
        return None
    return None if key is None else _text(op, key, _entry(op, module), names, frame)


def _refused(step: TracebackType) -> str | None:
    """The note, if this step refused what a formula gave for an edge: it has the node, and what the node returned."""
    frame, later, called = step.tb_frame, step.tb_next, []
    node, edge, g = (frame.f_locals.get(name) for name in ("node", "edge", "g"))
    while later is not None:
        called.append(later.tb_frame.f_code.co_name)
        later = later.tb_next
    if called[:1] == ["deliver"]:
        del called[0]
    if called[:1] != ["validate_grad"] and (called or hasattr(g, "shape")):
        return None  # it is not the check that failed
    op = next((op for op in OPERATORS.values() if op.node is type(node)), None)
    if op is None or g is None:
        return None
    entry = _entry(op, sys.modules[type(node).__module__].__dict__)
    keys = {name: key for key, (_, text) in entry.items() if text != "non_differentiable" for name in key.split(", ")}
    names = ["self" if name == "input" and name not in keys else name for _, name in sorted((*op.tensors, *op.lists))]
    inputs = [name for name in names if name in keys]
    if len(inputs) > 1 and op.lists:
        return None  # whose edges are counted otherwise
    assert isinstance(node, Node)
    edges, grads = node.edges(), frame.f_locals.get("grads")
    grads = grads if isinstance(grads, Sequence) and len(grads) == len(edges) else (g,) * len(edges)
    pairs = enumerate(zip(edges, grads, strict=True))
    place = next((i for i, pair in pairs if pair[0] is edge and pair[1] is g), None)
    if place is None:
        return None  # a step that only has the node towards which the gradient went
    key = keys[inputs[0 if op.lists else place]]
    given = "" if hasattr(g, "shape") else f", which gave {_described(g)}"
    return _text(op, key, entry, functools.partial(_gone), frame) + given


def _gone(name: str) -> tuple[object, ...]:
    """The value of a name when its formula has run: nobody has it any more."""
    return ()


def _text(op: Operator, key: str, entry: Entry, names: functools.partial[tuple[object, ...]], frame: FrameType) -> str:
    place, formula = entry[key]
    shown, words = f"`{formula}`", _words(formula)
    if formula in _AUTOMATIC:
        words = [name.removesuffix("_p") for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]]
        if formula == "auto_element_wise":
            shown = f"`{entry[_only_gradient(entry) or key][1]}`, by auto_element_wise, in which grad is the tangent"
    values = [(word, names(word)) for word in words]
    given = ", ".join(f"{word}: {_described(value[0])}" for word, value in values if value)
    what = "tangent of" if names.func is _in_tangent else "gradient of"
    return f"{IN_FORMULA}{op.shown} for the {what} {key!r} ({place}): {shown}{given and f', with {given}'}"


def _words(formula: str) -> list[str]:
    """The names in a formula, in the order in which they stand there."""
    if formula in _AUTOMATIC:
        return []
    found = [n for n in ast.walk(ast.parse(formula, mode="eval")) if isinstance(n, ast.Name)]
    return list(dict.fromkeys(n.id for n in sorted(found, key=lambda n: n.col_offset)))


def _described(value: object) -> str:
    try:
        return described(value)
    except Exception:  # noqa: BLE001 - the repr of an object of the user's, which is not what failed here
        return type(value).__name__


# -- where a name's value is, as a tuple of one; () for that of a function or a constant -----------------------------
def _in_node(node: Node | None, variables: Mapping[str, Any], name: str) -> tuple[object, ...]:
    local = f"{name}_" if name in _RENAMED else name
    if local in variables:
        return (variables[local],)
    if hasattr(node, f"arg_{name}"):
        return (getattr(node, f"arg_{name}"),)
    slots = {how: f"{name}_{how}" for how in ("shape", "ndim", "dtype", "size")}
    kept = {how: getattr(node, slot) for how, slot in slots.items() if hasattr(node, slot)}
    return (_Kept(kept),) if kept else ()


class _Kept:
    """The attributes that a node kept of a tensor."""

    def __init__(self, attributes: dict[str, object]) -> None:
        self.attributes = attributes

    def __repr__(self) -> str:
        return " and ".join(f"{how} {value}" for how, value in self.attributes.items())


def _in_slopes(variables: Mapping[str, Any], name: str) -> tuple[object, ...]:
    return (variables[name],) if name in variables else ()


def _in_tangent(variables: Mapping[str, Any], name: str) -> tuple[object, ...]:
    found = next((n for n in (name, f"{name}_p") if n in variables and n != "ops"), None)
    return () if found is None else (variables[found],)


# -- which formula of an entry a step was in -------------------------------------------------------------------------
def _statement(step: TracebackType) -> ast.Assign | ast.Return | None:
    """The assignment or return that a step stopped at, as syntax; None without source."""
    code = step.tb_frame.f_code
    lines = linecache.getlines(code.co_filename, step.tb_frame.f_globals)[code.co_firstlineno - 1 :]
    if not lines:
        return None
    try:
        tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
    except (SyntaxError, tokenize.TokenError):  # the file is no longer what was imported
        return None
    line = step.tb_lineno - code.co_firstlineno + 1
    statements = [s for s in ast.walk(tree) if isinstance(s, (ast.Assign, ast.Return))]
    return next((s for s in statements if s.lineno <= line <= (s.end_lineno or s.lineno)), None)


def _gradient(step: TracebackType, entry: Entry) -> str | None:
    """The key of the gradient that a node was computing; None if that was not what failed."""
    statement = _statement(step)
    if isinstance(statement, ast.Return):
        return _only_gradient(entry)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    names = [n.id for n in getattr(target, "elts", [target]) if isinstance(n, ast.Name)]
    inputs = [name.removeprefix("grad_of_") for name in names if name.startswith("grad_of_")]
    return next((key for key in entry if inputs and inputs[0] in map(str.strip, key.split(","))), None)


def _only_gradient(entry: Entry) -> str | None:
    """The key of the first gradient that has a formula: what a node of one formula returns."""
    return next((key for key, (_, formula) in entry.items() if formula not in _NO_FORMULA), None)


def _output(step: TracebackType, op: Operator, entry: Entry) -> str | None:
    """The key of the tangent that was computed."""
    statement = _statement(step)
    if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Tuple):
        return None
    outputs = op.multi._fields if op.multi is not None else ()
    flags = getattr(op.node, "differentiable_outputs", ()) or (True,) * len(outputs)
    moving = [i for i, moves in enumerate(flags) if moves] or [0]
    number = 0
    if len(moving) > 1:
        line, _, column, _ = list(step.tb_frame.f_code.co_positions())[step.tb_lasti // 2]
        at = ((line or 0) - step.tb_frame.f_code.co_firstlineno + 1, column)
        parts = statement.value.elts
        number = max(i for i, part in enumerate(parts) if i == 0 or (part.lineno, part.col_offset) <= at)
    place = moving[number]
    keys = [*(outputs[place : place + 1]), f"result{place}", "result"]
    return next((key for key in keys if key in entry), None)


# -- what stands in the declarations ---------------------------------------------------------------------------------
def _entry(op: Operator, module: Mapping[str, Any]) -> Entry:
    """The formulas of an operator: place ("file:line") and text by key, those of gradients first."""
    of_module = module.get("FORMULAS")  # a third party's
    if of_module is None:
        return own_formulas().get(op.name, {})
    if type(of_module) is str:  # of a module of the package, beside its declarations
        of_module = _written(Path(module["__file__"]).with_name(of_module), of_module)
    return of_module[op.name.partition(".")[2]]


def own_formulas() -> dict[str, Entry]:
    """The entries of derivatives.yaml by the operators' names."""
    return _written(_DECLARATIONS, str(_DECLARATIONS))


@functools.cache
def _written(path: Path, shown: str) -> dict[str, Entry]:
    """The entries of a file of declarations by the operators' names; `shown` is the file in their places."""
    found: dict[str, Any] = {}
    written: list[Any] = []
    entry: Any = None
    indent = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if begin := re.match(r"( *)- (name|func): (.*?)\(", line):
            indent, kind, name = begin.groups()
            entry = found.setdefault(name, {}) if kind == "name" else None
            continue
        line = line.removeprefix(indent)
        if entry is None:
            continue
        if key := re.match(r"  (\w[\w, ]*): ", line):
            written = [line[key.end() :]]
            if key[1] not in ("node", "output_differentiability", "recompute"):
                entry[key[1]] = (f"{shown}:{number}", written)
        elif line.startswith("    "):
            written.append(line.strip())
    return {name: {key: (place, _joined(text)) for key, (place, text) in e.items()} for name, e in found.items()}


def _joined(written: Iterable[str]) -> str:
    text = re.sub(r"^>-? ", "", " ".join(written)).partition(" #")[0].strip()
    return text[1:-1] if text[:1] == text[-1:] == '"' else text
