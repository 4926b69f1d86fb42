"""A derivative -> its node class: what it saves, and `apply`, which pulls cotangents back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent

from pullback.codegen.emit_save import emit_slots, keeps_argument_alone, words_of
from pullback.codegen.formula import Formula
from pullback.codegen.model import InputFormula
from pullback.codegen.naming import gradient, local, parameter, public_name
from pullback.codegen.node_layout import NodeLayout
from pullback.codegen.quoting import docstring, tuple_of
from pullback.codegen.signature import Arg
from pullback.codegen.whitelist import MASK

# x * x has one gradient twice. Not None: another thread may release the node. Where a hook is on one of the two saved
# tensors alone, it stands in the place of the version.
_SAME_FACTORS = (
    "twice = grad_of_self is not None and self.saved_self is self.saved_other is not None",
    "if twice and self.version_self == self.version_other:",
    "    grad_of_other = grad_of_self",
    "else:",
)

# What a node that is `placing` returns: see graph.node.
_PLACING = "return (ops.slice_backward(grad, self.self_shape, self.arg_index),)"


class NodeEmitter:
    """Writes the class of one derivative's node.

    `source` is the file that its docstring sends readers to, `tables` where formulas find operators (see
    `Formula.render`).
    """

    def __init__(self, layout: NodeLayout, source: str, tables: Mapping[str, str]) -> None:
        self.layout, self.derivative, self.schema = layout, layout.derivative, layout.schema
        self.source, self.tables = source, tables

    def emit(self) -> str:
        """The class."""
        layout = self.layout
        alone = keeps_argument_alone(layout)
        base = "SavesSelf" if alone else "MultiNode" if layout.multi else "Node"
        lines = [
            f"class {layout.cls}({', '.join([base, *self._traits(alone)])}):",
            f'    """{docstring(str(self.schema))}"""',
            "",
            f"    __slots__ = {'()' if alone else emit_slots(layout)}",
        ]
        if layout.own_edges:
            lines.append(f"    list_edges = {tuple(f'_edges_{arg.name}' for arg in layout.inputs)!r}")
        if layout.multi and not self.schema.returns_list:
            lines.append(f"    output_names = {self.schema.output_names!r}")
            lines.append(f"    differentiable_outputs = {self.derivative.output_differentiability!r}")
        if alone:
            formula = layout.formulas[0]
            assert isinstance(formula.formula, Formula)
            lines += ["", f"    def pull(self, ops, grad, {local('self')}):"]
            return "\n".join([*lines, f"        return {self._render(formula.formula, formula)}"])
        grad = "grads" if layout.multi else "grad"
        lines += ["", f"    def apply(self, ops, {grad}, unpack):", indent("\n".join(self._apply()), " " * 8)]
        return "\n".join(lines)

    def _traits(self, alone: bool) -> list[str]:
        """The keywords of the class: what the engine asks of it."""
        tags, found = self.derivative.native.tags, []
        if not alone:
            found.append(f"inputs={tuple(self.schema.args.index(arg) for arg in self.layout.inputs)!r}")
        apart = len(self.derivative.differentiable_outputs) == 1 or "undefined" in tags  # the share of each output
        if "pointwise" in tags and not self.schema.returns_list and apart:
            found.append("pointwise=True")
        if self.layout.masking:
            found.append("masking=True")
            if self._only(self.layout.formulas[0]) == [_PLACING]:
                found.append("placing=True")
        elif tags & {"structural", "view"}:
            found.append("structural=True")
        return found

    def _apply(self) -> list[str]:
        """The body of apply(): what several formulas share first, then each formula where its gradient is needed."""
        layout = self.layout
        single = len(layout.formulas) == 1
        shared = [
            name for name in self.derivative.saved if layout.unpacked(name) and (single or len(layout.users(name)) > 1)
        ]
        lines = self._gradients() + self._unpacking(shared)
        if single:
            return [*lines, *self._only(layout.formulas[0])]
        lines.append(" = ".join(gradient(arg.name) for arg in layout.inputs) + " = None")
        for formula in layout.formulas:
            own = [name for name in self.derivative.saved if name not in shared and layout.users(name) == [formula]]
            body = [*self._unpacking(own, layout.runs(formula)), self._assign(formula)]
            if formula is layout.formulas[-1] and self._is_symmetric():
                body = [*_SAME_FACTORS, *(f"    {line}" for line in body)]
            lines.append(f"if {layout.runs(formula)}:")
            lines += [f"    {line}" for line in body]
        return [*lines, self._return()]

    def _is_symmetric(self) -> bool:
        """True if `self` and `other`, kept for each other, have the same formula, each with the other's name."""
        if words_of(self.layout) != "self:1 other:0":
            return False
        first, second = (f.formula for f in self.layout.formulas)
        assert isinstance(first, Formula)
        assert isinstance(second, Formula)
        exchanged = {"self": "other", "other": "self"}
        return first.render(lambda name, how: exchanged.get(name) if how == "value" else None) == second.render(
            lambda *_: None
        )

    def _gradients(self) -> list[str]:
        """Of several outputs: their gradients, zeros where undefined (None with that tag), by the names of formulas."""
        if not self.layout.multi:
            return []
        used = {name for f in self.layout.formulas if isinstance(f.formula, Formula) for name in f.formula.names}
        named = [f"{name} = grads[{nr}]" for name, nr in self.derivative.grad_names.items() if name in used]
        if "undefined" in self.derivative.native.tags:
            return named
        return ["grads = self.materialize(grads, ops)", *named]

    def _only(self, formula: InputFormula) -> list[str]:
        """The computation of a node all of whose gradients come from one formula."""
        args = self.layout.inputs
        if not isinstance(formula.formula, Formula) or len(args) > 1:
            return [self._assign(formula)] + ([self._return()] if isinstance(formula.formula, Formula) else [])
        text = self._render(formula.formula, formula)
        return [f"return tuple({text})" if args[0].type.is_tensor_list else f"return ({text},)"]

    def _assign(self, formula: InputFormula) -> str:
        args = self.layout.inputs_of(formula)
        if not isinstance(formula.formula, Formula):
            names = ", ".join(parameter(arg.name) for arg in args)
            home = self.derivative.native.python_module or ""
            shown = f"{home}.".lstrip(".") + public_name(self.schema.full_name, home)
            return f'raise derivative_not_implemented(self, "{shown}", "{names}")'
        targets = ", ".join(gradient(arg.name) for arg in args)
        return f"{targets} = {self._render(formula.formula, formula)}"

    def _return(self) -> str:
        parts = [self._returned(arg) for arg in self.layout.inputs]
        return "return " + ", ".join(parts) + ("," if len(parts) == 1 else "")

    def _returned(self, arg: Arg) -> str:
        """One gradient for each edge of an input."""
        if not arg.type.is_tensor_list:
            return gradient(arg.name)
        return f"*({gradient(arg.name)} or (None,) * len({self.layout.edge(arg)}))"

    def _unpacking(self, names: Iterable[str], known: str = "") -> list[str]:
        """The lines that unpack saved tensors, each where it will be used; `known` is what is asked already.

        What a formula has from `wrap_opt_if` is None where it was not saved.
        """
        groups: dict[str, list[str]] = {"": []}
        for name in names:
            needed = self.layout.when_used(name)
            groups.setdefault("" if needed == known else needed, []).append(name)
        lines = [self._unpack(name) for name in groups.pop("")]
        for needed, group in groups.items():
            wrapped = [local(name) for name in group if self.layout.is_wrapped(name)]
            if len(wrapped) == len(group) <= 2:  # no longer than a block
                lines += [f"{self._unpack(name)} if {needed} else None" for name in group]
                continue
            lines += [" = ".join([*wrapped, "None"])] if wrapped else []
            lines += [f"if {needed}:", *(f"    {self._unpack(name)}" for name in group)]
        return lines

    def _unpack(self, name: str) -> str:
        if self.layout.is_list(name):
            pairs = f"zip(self.saved_{name}, self.version_{name}, strict=False)"  # one version, if released
            return f"{local(name)} = [unpack(x, version, self) for x, version in {pairs}]"
        unpack, again = f"unpack(self.saved_{name}, self.version_{name}, self)", self.derivative.recompute
        if name == "result" and again is not None:
            unpack += f" if unwritten(self.version_{name}) else {self._render(again, self.layout.formulas[0])}"
        return f"{local(name)} = {unpack}"

    def _render(self, formula: Formula, of: InputFormula) -> str:
        """A formula as Python text, every name read from where apply() has it."""

        def rename(name: str, how: str) -> str | None:
            if name == MASK:
                flags = self.layout.flags(of)
                return tuple_of(flags) if how == "value" else flags[int(how)]
            if name in ("grads", *self.derivative.grad_names):
                return None
            if self.derivative.saved[name].kind == "attribute":
                kept = f"self.arg_{name}"
                if self.layout.lets_go(name):
                    kept = f"unpack({kept}, None, self)"
                return kept if how == "value" else None
            if how != "value" and how in self.derivative.saved[name].how:
                return f"self.{name}_{how}"
            if how == "value":
                return local(name)
            # An attribute of a list is the tuple of its items'.
            return f"tuple(x.{how} for x in {local(name)})" if self.layout.is_list(name) else f"{local(name)}.{how}"

        return formula.render(rename, self.tables)
