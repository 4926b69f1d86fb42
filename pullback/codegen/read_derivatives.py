"""Entries of derivatives.yaml -> Derivative: formulas and tangents, checked against the function's schema."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pullback.codegen.errors import Where, nearest, shorten, suggest
from pullback.codegen.formula import ATTRIBUTES, Formula, parse_formula
from pullback.codegen.linear_in import is_zero, made_of, made_of_or_zero, not_linear
from pullback.codegen.model import (
    AUTO_ELEMENT_WISE,
    AUTO_LINEAR,
    NON_DIFFERENTIABLE,
    NOT_IMPLEMENTED,
    Derivative,
    InputFormula,
    NativeFunction,
    Saved,
    Tangent,
)
from pullback.codegen.schema import Schema, Type, parse_schema
from pullback.codegen.whitelist import MASK
from pullback.codegen.yaml_source import Entry

_OWN_KEYS = ("name", "output_differentiability", "node", "recompute")
_NOT_IMPLEMENTED = re.compile(rf"""{NOT_IMPLEMENTED.value}(\(\s*("[^"]*"|'[^']*')?\s*\))?""")
_NODE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*Backward[0-9]+")


@dataclass(frozen=True)
class Vocabulary:
    """The names that formulas may call: operators, helpers; `unmoved` are the operators without a derivative."""

    operators: Collection[str]
    helpers: Collection[str]
    unmoved: Collection[str] = frozenset()


def read_derivatives(
    entries: Iterable[Entry], natives: Mapping[str, NativeFunction], vocabulary: Vocabulary
) -> dict[str, Derivative]:
    """Read the entries; `natives` are the functions by unique name."""
    derivatives: dict[str, Derivative] = {}
    for entry in entries:
        native = _match(entry, natives)
        name = native.schema.unique_name
        if name in derivatives:
            raise entry.where().error(
                f"{native.schema.full_name!r} has a derivative already (line {derivatives[name].line})",
                "Remove one of the two",
            )
        derivatives[name] = _Reader(entry, native, vocabulary).read()
    return derivatives


def _match(entry: Entry, natives: Mapping[str, NativeFunction]) -> NativeFunction:
    """The primitive that the entry is about."""
    where = entry.where("name")
    schema = parse_schema(entry.title, where)
    native = natives.get(schema.unique_name)
    if native is None or native.schema.full_name != schema.full_name:
        overloads = [other.schema for other in natives.values() if other.name == schema.name]
        if overloads:
            remedy = f"Declared are: {'; '.join(f'`{other}`' for other in overloads)}"
        else:
            near = nearest(schema.name, {other.name for other in natives.values()})
            meant = [other.schema for other in natives.values() if other.name == near]
            remedy = f"Did you mean `{meant[0]}`? " if meant else ""
            remedy += "Declare it in native_functions.yaml, or correct the name"
        raise where.error(f"no function {schema.full_name!r} is declared", remedy)
    if str(native.schema) != str(schema):
        raise where.error(
            f"the signature `{schema}` differs from the declared one, `{native.schema}`",
            f"Copy the declared one, from {native.file}:{native.line}",
        )
    if native.is_composite:
        raise where.error(
            f"{schema.full_name!r} is composite: autograd differentiates what {native.composite!r} calls",
            "Remove this entry, or give the function a `kernel`",
        )
    if "nondifferentiable" in native.tags:
        raise where.error(f"{schema.full_name!r} is tagged nondifferentiable", "Remove this entry, or the tag")
    return native


class _Reader:
    """Reads one entry."""

    def __init__(self, entry: Entry, native: NativeFunction, vocabulary: Vocabulary) -> None:
        self.entry, self.native, self.schema, self.vocabulary = entry, native, native.schema, vocabulary
        self.outputs = self.schema.output_names
        self.output_aliases = _output_aliases(self.schema)
        self.differentiable = self.output_differentiability()
        self.grad_names = self.gradient_names()
        if "output_differentiability" not in entry and sum(self.differentiable) > 1:
            self.differentiable = self.outputs_in_use()
            self.grad_names = self.gradient_names()

    def read(self) -> Derivative:
        """Read the entry into a Derivative."""
        input_keys = self.input_keys()
        formulas = tuple(self.input_formula(key, inputs) for key, inputs in input_keys.items())
        self.check_complete(formulas)
        tangents = self.tangents(formulas)
        recompute = self.recompute(formulas)
        self.check_against_tangents(formulas, tangents)
        return Derivative(
            native=self.native,
            formulas=tuple(formula for formula in formulas if formula.inputs),
            tangents=tangents,
            output_differentiability=self.differentiable,
            saved=self.saved(formulas, recompute),
            grad_names=self.grad_names,
            line=self.entry.fields.line,
            written=self.written(),
            file=self.entry.file,
            node=self.node_name(),
            recompute=recompute,
        )

    def written(self) -> dict[str, tuple[int, str]]:
        """The line and the text of each formula, by its key."""
        fields = self.entry.fields
        keys = [key for key in fields.items if key not in _OWN_KEYS]
        return {key: (fields.lines[key], " ".join((self.entry.text(key) or "").split())) for key in keys}

    def node_name(self) -> str | None:
        """The name of the node's class, where one is given under `node:`."""
        if "node" not in self.entry:
            return None
        name = self.entry.text("node") or ""
        if _NODE_NAME.fullmatch(name) is None:
            raise self.entry.where("node").error(
                f"{name!r} is not the name of a node", "Write one such as `node: MaxBackward1`"
            )
        return name

    def recompute(self, formulas: tuple[InputFormula, ...]) -> Formula | None:
        """The formula by which the result is computed again once it has been written into, None if it may not be."""
        key = "recompute"
        if key not in self.entry:
            return None
        where = self.entry.where(key)
        if not any(isinstance(f.formula, Formula) and "result" in f.formula.uses for f in formulas):
            raise where.error("says how to compute 'result' again, which no formula uses", "Remove the line")
        return self.parse(self.entry.text(key) or "", where, [arg.name for arg in self.schema.args])

    def output_differentiability(self) -> tuple[bool, ...]:
        """Which outputs may have gradients: the flags given, else all Tensors."""
        tensors = tuple(returned.type.base == "Tensor" for returned in self.schema.returns)
        flags = self.entry.flags("output_differentiability")
        key = "output_differentiability" if flags is not None else "name"
        if flags is not None and len(flags) != len(tensors):
            raise self.entry.where(key).error(
                f"{key!r} has {len(flags)} flags for {len(tensors)} outputs", "Write one True or False an output"
            )
        flags = tensors if flags is None else tuple(map(bool.__and__, flags, tensors))
        if not any(flags):
            raise self.entry.where(key).error(
                "no output is differentiable", "Remove this entry, and tag the function nondifferentiable"
            )
        return flags

    def outputs_in_use(self) -> tuple[bool, ...]:
        """Which outputs have gradients where no flags are given: those whose gradients the formulas use, as in PyTorch.

        All have where nobody has derived a formula: a backward from any of them is then refused.
        """
        formulas = [self.input_formula(key, inputs) for key, inputs in self.input_keys().items()]
        used = {position for formula in formulas for position in formula.grads}
        if not used:
            return self.differentiable
        every = [i for i, flag in enumerate(self.differentiable) if flag]
        flags = tuple(i in {every[position] for position in used} for i in range(len(self.outputs)))
        by_number = any(isinstance(f.formula, Formula) and "grads" in f.formula.names for f in formulas)
        if by_number and max(used) >= len(used):  # grads[1], and no formula uses the first
            raise self.entry.where().error(
                f"no formula uses the gradient of {self.named(set(every) - {every[p] for p in used})}, and others are "
                "called by number",
                f"Write `output_differentiability: {list(flags)}`, and count the gradients of those that are True from "
                "grads[0] on",
            )
        return flags

    def named(self, outputs: Iterable[int]) -> str:
        """Outputs in words, by their positions."""
        return " and ".join(repr(self.outputs[i]) for i in sorted(outputs))

    def gradient_names(self) -> dict[str, int]:
        """The names of single gradients, with their position among the differentiable outputs."""
        if self.schema.returns_list:
            return {}
        outputs = [name for name, flag in zip(self.outputs, self.differentiable, strict=True) if flag]
        return {"grad": 0} | {f"grad_{name}": position for position, name in enumerate(outputs)}

    def input_keys(self) -> dict[str, tuple[str, ...]]:
        """The keys that name inputs, with the inputs they name; any key that means nothing is refused."""
        args = {arg.name: arg for arg in self.schema.args}
        keys: dict[str, tuple[str, ...]] = {}
        covered: dict[str, str] = {}
        for key in self.entry.fields.items:
            if key in _OWN_KEYS or key in self.outputs or key in self.output_aliases:
                continue
            inputs = tuple(part.strip() for part in key.split(","))
            for name in inputs:
                if name not in args:
                    raise self.unknown_key(key, name)
                if name in covered:
                    raise self.entry.where(key).error(
                        f"two formulas for the argument {name!r}", "Remove one of the two"
                    )
                covered[name] = key
            keys[key] = inputs
        return keys

    def unknown_key(self, key: str, name: str) -> Exception:
        """Make the error about a key that names neither an input nor an output."""
        if name == "result":
            outputs = ", ".join(f"`{output}:`" for output in self.outputs)
            remedy = f"Write one tangent for each output: {outputs}" if self.outputs else "Remove the line"
            found = f"has {len(self.outputs)} outputs" if self.outputs else "returns nothing"
            return self.entry.where(key).error(f"gives a tangent for 'result', but the function {found}", remedy)
        tensors = [arg.name for arg in self.native.differentiable_args]
        return self.entry.where(key).error(
            f"unknown key {name!r}: neither an argument nor an output of the function",
            suggest(name, [*tensors, *self.outputs, *_OWN_KEYS[1:]]),
        )

    def input_formula(self, key: str, inputs: tuple[str, ...]) -> InputFormula:
        """The formula for the inputs that a key names."""
        where, text = self.entry.where(key), self.entry.text(key) or ""
        tensors = tuple(name for name in inputs if name in {arg.name for arg in self.native.differentiable_args})
        if text == NON_DIFFERENTIABLE.value:
            return InputFormula(tensors, NON_DIFFERENTIABLE)
        for name in inputs:
            if name not in tensors:
                arg = self.schema.arg(name)
                raise where.error(
                    f"gives a formula for {name!r}, which is {arg.type if arg else 'unknown'}, not a Tensor",
                    "Remove the line, or write non_differentiable: only Tensor arguments have gradients",
                )
        if _is_not_implemented(text):
            return InputFormula(inputs, NOT_IMPLEMENTED)
        if text in (AUTO_ELEMENT_WISE, AUTO_LINEAR):
            raise where.error(f"{text} stands for the gradient of {key!r}", "It is a tangent: write it under `result:`")
        formula = self.parse(text, where, self.backward_names())
        if len(inputs) > 1 and isinstance(formula.tree, ast.Tuple) and len(formula.tree.elts) != len(inputs):
            raise where.error(
                f"the formula is a tuple of {len(formula.tree.elts)} for {len(inputs)} inputs",
                "Write one item an input",
            )
        self.check_mask(formula, inputs, where)
        self.check_cotangent(formula, inputs, where)
        return InputFormula(inputs, formula, self.grads_of(formula, where))

    def check_mask(self, formula: Formula, inputs: tuple[str, ...], where: Where) -> None:
        """Refuse a flag of no input, and wrap_opt_if where it saves nothing: of no Tensor, or for a single input."""
        for node in ast.walk(formula.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == MASK:
                position = _integer(node.slice)
                if position is not None and not 0 <= position < len(inputs):
                    raise where.error(
                        f"formula uses {MASK}[{position}], but has {len(inputs)} flags, one for each of its inputs",
                        "Write " + " or ".join(f"{MASK}[{i}] for {name!r}" for i, name in enumerate(inputs)),
                    )
        for name in formula.guards:
            if (type_ := self.type_of(name)) is None or type_.base != "Tensor":
                raise where.error(
                    f"formula wraps {name!r}, which is neither a Tensor argument nor an output", f"Write {name} alone"
                )
            if len(inputs) == 1:
                raise where.error(
                    f"formula wraps {name!r}, but runs, and saves, only where the gradient of {inputs[0]!r} is needed",
                    f"Write {name} alone",
                )

    def check_cotangent(self, formula: Formula, inputs: tuple[str, ...], where: Where) -> None:
        """Refuse a gradient that is not made of the incoming one."""
        tree, grads = formula.tree, {*self.grad_names, "grads"}
        parts = [(", ".join(inputs), tree)]
        if len(inputs) > 1 and isinstance(tree, ast.Tuple):
            parts = list(zip(inputs, tree.elts, strict=True))
        for name, part in parts:
            if len(inputs) == len(parts) and (bad := self.several(name, part)) is not None:
                piece = shorten(formula.text[bad.col_offset : bad.end_col_offset])
                raise where.error(f"the gradient of {name!r} is several values, `{piece}`", "Write its gradient alone")
            if not made_of(part, grads, self.vocabulary.unmoved):
                piece = shorten(formula.text[part.col_offset : part.end_col_offset])
                slope = "`grads[i]`" if self.schema.returns_list else f"`grad * ({piece})` for a slope"
                raise where.error(
                    f"the gradient of {name!r}, `{piece}`, does not name the incoming gradient, in which every "
                    "backward is linear, in each of its branches",
                    f"Write {slope}, `zeros_like(grad)` for a slope of 0, `{name}: {NON_DIFFERENTIABLE.value}` for an "
                    f"index, which has none, `{name}: {NOT_IMPLEMENTED.value}` for what nobody has derived",
                )
        self.check_linear(formula, grads, "the incoming gradient", where)

    def check_linear(self, formula: Formula, names: Collection[str], whose: str, where: Where) -> None:
        """Refuse arithmetic that is not linear in a cotangent or a tangent."""
        if (bad := not_linear(formula.tree, names, self.vocabulary.unmoved)) is not None:
            piece = shorten(formula.text[bad.col_offset : bad.end_col_offset])
            raise where.error(
                f"`{piece}` is not linear in {whose}",
                "Write a sum whose every term has one factor of it, and divide by nothing that is made of it",
            )

    def several(self, name: str, tree: ast.expr) -> ast.expr | None:
        """The part of a formula that gives several values, in one of its branches, to an input that is one tensor."""
        arg = self.schema.arg(name)
        if arg is None or arg.type.is_tensor_list:
            return None
        if isinstance(tree, ast.IfExp):
            return self.several(name, tree.body) or self.several(name, tree.orelse)
        return tree if isinstance(tree, ast.Tuple | ast.List) or _is_grads(tree) else None

    def backward_names(self) -> list[str]:
        """The names that a backward formula may use."""
        return [*(arg.name for arg in self.schema.args), *self.grad_names, "grads", *self.outputs, MASK]

    def parse(self, text: str, where: Where, names: list[str]) -> Formula:
        """Parse a formula, and refuse an attribute of what is no tensor (that of a list of tensors is a list)."""
        if (marker := _meant(text, names)) is not None:
            raise where.error(f"unknown word {text!r}", f"Write {marker}, if that is meant")
        formula = parse_formula(
            text, names, self.vocabulary.operators, self.vocabulary.helpers, where, self.output_aliases
        )
        for name, how in formula.uses.items():
            type_ = self.type_of(name)
            if type_ is None or type_.base in ("Tensor", "any") or not (wrong := how.intersection(ATTRIBUTES)):
                continue
            raise where.error(f"formula takes .{min(wrong)} of {name!r}, which is {type_}", f"Write {name} alone")
        return formula

    def type_of(self, name: str) -> Type | None:
        """Return the type of an argument or an output; None for other names."""
        if (arg := self.schema.arg(name)) is not None:
            return arg.type
        return self.schema.returns[self.outputs.index(name)].type if name in self.outputs else None

    def grads_of(self, formula: Formula, where: Where) -> frozenset[int]:
        """The positions of the gradients that a formula uses."""
        count = sum(self.differentiable)
        used = self.grads_in(formula.tree)
        if "grads" not in formula.names or self.schema.returns_list:
            return used
        if len(self.outputs) == 1:
            raise where.error("formula uses grads, but the function has one output", "Write grad")
        for position in used:
            if not 0 <= position < count:
                raise where.error(
                    f"formula uses grads[{position}], but the function has {count} differentiable outputs",
                    f"Write grads[0] to grads[{count - 1}]" if count > 1 else "Write grad",
                )
        return used

    def grads_in(self, tree: ast.expr) -> frozenset[int]:
        """The positions of the gradients that a part of a formula uses, as it writes them."""
        nodes = list(ast.walk(tree))
        used = {self.grad_names[node.id] for node in nodes if isinstance(node, ast.Name) and node.id in self.grad_names}
        occurrences = sum(map(_is_grads, nodes))
        if self.schema.returns_list:
            return frozenset({0} if occurrences else used)
        indices = [node.slice for node in nodes if isinstance(node, ast.Subscript) and _is_grads(node.value)]
        positions = [position for node in indices if (position := _integer(node)) is not None]
        return frozenset(used.union(positions if len(positions) == occurrences else range(sum(self.differentiable))))

    def check_against_tangents(self, formulas: tuple[InputFormula, ...], tangents: Mapping[str, Tangent]) -> None:
        """Refuse an entry whose gradients leave out what its tangents have, or the other way round.

        The gradient of an input uses that of an output just when the tangent of that output uses the input's. Where
        several outputs are differentiable and one has no tangent, nobody has said with which inputs it moves.
        """
        for key, formula in zip(self.input_keys(), formulas, strict=True):
            if not isinstance(formula.formula, Formula):
                continue
            tree, inputs = formula.formula.tree, formula.inputs
            by_input = len(inputs) > 1 and isinstance(tree, ast.Tuple)
            parts = tree.elts if isinstance(tree, ast.Tuple) and by_input else [tree] * len(inputs)
            for name, part in zip(inputs, parts, strict=True):
                used = self.grads_in(part)
                for position, (output, tangent) in enumerate(tangents.items()):
                    moves = f"{name}_t" in tangent.names if isinstance(tangent, Formula) else None
                    if position in used and moves is False and not is_zero(part):
                        raise self.left_out_of_tangent(name, output)
                    if position not in used and moves is not False and len(tangents) > 1:
                        raise self.left_out_of_gradient(key, name, output, moves)

    def left_out_of_tangent(self, name: str, output: str) -> Exception:
        """Make the error about a tangent without a term of an input that has a gradient."""
        key = next(key for key in self.entry.fields.items if self.output_aliases.get(key, key) == output)
        return self.entry.where(key).error(
            f"the tangent of {output!r} leaves out {name}_t, though the gradient of {name!r} uses that of {output!r}",
            f"Add the term of {name}_t; or, if {output!r} does not move with {name!r}, leave that out of the formula "
            "(`zeros_like(grad)` where nothing else is left)",
        )

    def left_out_of_gradient(self, key: str, name: str, output: str, moves: bool | None) -> Exception:
        """Make the error about a gradient that does not use that of an output."""
        why, remedy = f"whose tangent uses {name}_t", f"take {name}_t out of the tangent"
        if not moves:
            why, remedy = "which is differentiable", f"write its tangent, or add zeros_like(grad_{output})"
        return self.entry.where(key).error(
            f"the gradient of {name!r} ignores that of the output {output!r}, {why}",
            f"Use grad_{output}; or, if {output!r} does not move with {name!r}, {remedy}",
        )

    def check_complete(self, formulas: tuple[InputFormula, ...]) -> None:
        """Refuse an entry that leaves out a Tensor argument, or differentiates nothing."""
        covered = {name for formula in formulas for name in formula.inputs}
        for arg in self.native.differentiable_args:
            if arg.name in _OWN_KEYS:
                raise self.entry.where("name").error(
                    f"the differentiable input {arg.name!r} has the name of a key of its entry", "Rename it"
                )
            if arg.name not in covered:
                raise self.entry.where().error(
                    f"no formula for the differentiable input {arg.name!r}",
                    f"Write `{arg.name}: <formula>`, or `{arg.name}: not_implemented`, "
                    f"or `{arg.name}: non_differentiable` for an index",
                )
        if all(formula.formula is NON_DIFFERENTIABLE for formula in formulas):
            raise self.entry.where().error(
                "no input is differentiable", "Remove this entry, and tag the function nondifferentiable"
            )

    def saved(self, formulas: tuple[InputFormula, ...], recompute: Formula | None) -> dict[str, Saved]:
        """The values of the forward that the backward formulas use, to be saved."""
        uses: dict[str, set[str]] = {}
        wrapped: set[str] = set()
        for formula in (*(f.formula for f in formulas), recompute):
            if isinstance(formula, Formula):
                wrapped.update(formula.guards)
                for name, how in formula.uses.items():
                    uses.setdefault(name, set()).update(how)
        saved: dict[str, Saved] = {}
        for arg in self.schema.args:
            if arg.name in uses:
                how = _needed(uses[arg.name], arg.name in wrapped)
                saved[arg.name] = Saved(arg.name, "input" if arg.type.base == "Tensor" else "attribute", how)
        for name in self.outputs:
            if name in uses:
                saved[name] = Saved(name, "output", _needed(uses[name], name in wrapped))
        return saved

    def tangents(self, formulas: tuple[InputFormula, ...]) -> dict[str, Tangent]:
        """The tangent of each differentiable output."""
        given = {self.output_aliases.get(key, key): key for key in self.entry.fields.items}
        tangents: dict[str, Tangent] = {}
        for output, flag in zip(self.outputs, self.differentiable, strict=True):
            key = given.get(output)
            if flag:
                tangents[output] = None if key is None else self.tangent(key, formulas)
            elif key is not None:
                raise self.entry.where(key).error(
                    f"gives a tangent for the output {output!r}, which is not differentiable",
                    "Remove the line, or correct output_differentiability"
                    if "output_differentiability" in self.entry
                    else f"Use grad_{output} in the formulas, or remove the line",
                )
        return tangents

    def tangent(self, key: str, formulas: tuple[InputFormula, ...]) -> Tangent:
        """The tangent under `key`."""
        where, text = self.entry.where(key), self.entry.text(key) or ""
        inputs = [name for formula in formulas if formula.formula is not NON_DIFFERENTIABLE for name in formula.inputs]
        if text in (AUTO_ELEMENT_WISE, AUTO_LINEAR) and sum(self.differentiable) > 1:
            raise where.error(f"{text} is for functions of one output", "Write the tangent of each output")
        if text == AUTO_LINEAR:
            return AUTO_LINEAR
        if text == AUTO_ELEMENT_WISE:
            if len(inputs) != 1:
                raise where.error(
                    f"{text} is for one differentiable input, here are {len(inputs)}: {', '.join(inputs)}",
                    "Write the sum, such as `self_t * other_p + other_t * self_p`",
                )
            if any(inputs[0] in formula.inputs and formula.formula is NOT_IMPLEMENTED for formula in formulas):
                raise where.error(
                    f"{text} makes the tangent of the gradient of {inputs[0]!r}, which is {NOT_IMPLEMENTED.value}",
                    f"Write the tangent, or `{key}: {NOT_IMPLEMENTED.value}`, or remove the line",
                )
            return AUTO_ELEMENT_WISE
        if _is_not_implemented(text):
            return NOT_IMPLEMENTED
        names = [arg.name for arg in self.schema.args]
        names += [f"{arg.name}_p" for arg in self.native.differentiable_args] + [f"{name}_t" for name in inputs]
        formula = self.parse(text, where, [*names, *self.outputs])
        if not made_of_or_zero(formula.tree, [f"{name}_t" for name in inputs], self.vocabulary.unmoved):
            raise where.error(
                f"the tangent `{shorten(text)}` names no tangent of an input, in which it is linear, in each of its "
                "branches",
                f"Write one of: {', '.join(f'{name}_t' for name in inputs)}; or `zeros_like({key})` where the "
                "output does not move",
            )
        self.check_linear(formula, [f"{name}_t" for name in inputs], "the tangents", where)
        return formula


def _is_not_implemented(text: str) -> bool:
    """True if a text says that nobody has derived the formula; PyTorch gives the operator's name in parentheses."""
    return _NOT_IMPLEMENTED.fullmatch(text) is not None


def _meant(text: str, names: Collection[str]) -> str | None:
    """The word of the language that a lone unknown word most resembles, one such as auto_linear."""
    if not text.isidentifier() or text in names or nearest(text, names) is not None:
        return None
    return nearest(text, (AUTO_ELEMENT_WISE, AUTO_LINEAR, NOT_IMPLEMENTED.value, NON_DIFFERENTIABLE.value))


def _is_grads(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Name) and tree.id == "grads"


def _integer(tree: ast.expr) -> int | None:
    """The value of a whole number, with or without a sign; None for anything else."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        value = _integer(tree.operand)
        return None if value is None else -value
    return tree.value if isinstance(tree, ast.Constant) and type(tree.value) is int else None


def _needed(how: set[str], wrapped: bool) -> frozenset[str]:
    """Decide what to save for these uses of a name: the value, from which every attribute can be had, or attributes.

    Both, where the value is `wrapped` and so not always there.
    """
    return frozenset({"value"}) if "value" in how and not wrapped else frozenset(how)


def _output_aliases(schema: Schema) -> dict[str, str]:
    """The positional names of outputs that have declared ones: result, result0, ..."""
    single = len(schema.returns) == 1
    names = {("result" if single else f"result{i}"): name for i, name in enumerate(schema.output_names)}
    return {alias: name for alias, name in names.items() if alias != name}
