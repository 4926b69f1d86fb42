"""A derivative -> the node class and the function that records one."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from pullback.codegen.formula import Formula
from pullback.codegen.model import NON_DIFFERENTIABLE, NOT_IMPLEMENTED, Derivative, InputFormula, Registry
from pullback.codegen.naming import local, node_class, parameter
from pullback.codegen.schema import Arg


@dataclass(frozen=True)
class Slot:
    """One saved thing: the slot's name, and the text that fills it when the node is recorded."""

    name: str
    fill: str


class NodeEmitter:
    """Writes the class and the record function of one derivative."""

    def __init__(self, derivative: Derivative, registry: Registry) -> None:
        self.derivative, self.native = derivative, derivative.native
        self.schema = self.native.schema
        self.cls = node_class(self.native, registry)
        self.inputs: list[Arg] = [
            arg for arg in self.native.differentiable_args if self._formula(arg.name).formula is not NON_DIFFERENTIABLE
        ]
        self.has_list = any(arg.type.is_tensor_list for arg in self.inputs)
        self.in_slots = not self.has_list and len(self.inputs) <= 2
        self.multi = self.schema.returns_list or len(self.schema.returns) > 1
        self.formulas = list(dict.fromkeys(self._formula(arg.name) for arg in self.inputs))

    def _formula(self, arg: str) -> InputFormula:
        return self.derivative.formula_for(arg)

    # -- edges -----------------------------------------------------------------------------------------------
    def edge(self, arg: Arg) -> str:
        """The text of the edge(s) towards one input, inside apply()."""
        position = self.inputs.index(arg)
        if self.in_slots:
            return f"self._next{position}"
        if not self.has_list:
            return f"self._nexts[{position}]"
        if len(self.inputs) == 1:
            return "self._nexts"
        return f"self._edges_{arg.name}"

    def needed(self, arg: Arg, owner: str = "self") -> str:
        """The text of the question whether one input needs a gradient."""
        edge = self.edge(arg).replace("self.", f"{owner}.")
        return f"any({edge})" if arg.type.is_tensor_list else f"{edge} is not None"

    # -- what is saved ---------------------------------------------------------------------------------------
    def slots(self) -> list[Slot]:
        """Every slot of the node for saved things, in order."""
        slots: list[Slot] = []
        for name, saved in self.derivative.saved.items():
            arg = self.schema.arg(name)
            value = parameter(name)
            if saved.kind == "attribute":
                slots.append(Slot(f"arg_{name}", value))
            elif saved.kind == "output":
                slots += self._output_slots(name, saved.how)
            elif "value" not in saved.how and arg is not None and arg.type.is_tensor_list:
                slots += [
                    Slot(f"{name}_{how}", f'tuple(attribute(x, "{how}") for x in {value})') for how in sorted(saved.how)
                ]
            elif "value" not in saved.how:
                only = len(self.native.differentiable_args) == 1 and arg is not None and not arg.type.optional
                for how in sorted(saved.how):
                    fill = f"{value}.{how}" if only else f'attribute({value}, "{how}")'
                    if arg is not None and arg.type.is_tensor_list:
                        fill = f'tuple(attribute(x, "{how}") for x in {value})'
                    slots.append(Slot(f"{name}_{how}", fill))
            elif arg is not None and arg.type.is_tensor_list:
                slots.append(Slot(f"saved_{name}", f"tuple({value})"))
                slots.append(Slot(f"version_{name}", f"tuple(version_when_saved(x) for x in {value})"))
            else:
                slots.append(Slot(f"saved_{name}", value))
                alone = len(self.native.differentiable_args) == 1
                version = f"{value}._counter and {value}._counter.n"
                if not alone:  # it may be a constant
                    version += f" if type({value}) is Tensor else version_when_saved({value})"
                slots.append(Slot(f"version_{name}", version))
        if self.has_list and len(self.inputs) > 1:
            slots += [Slot(f"_edges_{arg.name}", "") for arg in self.inputs]
        return slots

    def _output_slots(self, name: str, how: frozenset[str]) -> list[Slot]:
        out = "out"
        if self.schema.returns_list:
            return [Slot(f"{name}_{h}", f"tuple(x.{h} for x in out)") for h in sorted(how - {"value"})]
        if self.multi:
            out = f"out[{self.schema.output_names.index(name)}]"
        if "value" not in how:
            return [Slot(f"{name}_{h}", f"{out}.{h}") for h in sorted(how)]
        return [Slot(f"saved_{name}", f"{out}._data"), Slot(f"version_{name}", f"watch_output({out})")]

    def released(self) -> list[str]:
        """Names of what is let go after backward."""
        return [slot.name[len("saved_") :] for slot in self.slots() if slot.name.startswith("saved_")]

    def users(self, name: str) -> list[InputFormula]:
        """The formulas that need a saved value unpacked: for itself, or for an attribute that is not saved apart."""
        if "value" not in self.derivative.saved[name].how:
            return []
        return [f for f in self.formulas if isinstance(f.formula, Formula) and name in f.formula.uses]

    # -- the class -------------------------------------------------------------------------------------------
    def emit_class(self) -> str:
        """The node class."""
        base = "MultiNode" if self.multi else "Node"
        slots = sorted(slot.name for slot in self.slots())
        listed = "".join(f'"{slot}", ' for slot in slots).strip()
        if len(slots) > 1:
            listed = listed.rstrip(",")
        lines = [
            f"class {self.cls}({base}):",
            f'    """{self.schema}',
            "",
            f"    Generated from the entry `{self.schema.full_name}` of derivatives.yaml; edit there.",
            '    """',
            "",
            f"    __slots__ = ({listed})",
        ]
        if self.in_slots:
            lines.append(f"    arity = {len(self.inputs)}")
        if self.multi:
            if not self.schema.returns_list:
                lines.append(f"    output_names = {self.schema.output_names!r}")
                lines.append(f"    differentiable_outputs = {self.derivative.output_differentiability!r}")
        grad = "grads" if self.multi else "grad"
        lines += ["", f"    def apply(self, ops, {grad}, unpack):", indent(self._apply_body(), " " * 8)]
        if self.released():
            lines += ["", "    def release(self):"]
            for name in self.released():
                lines.append(f"        self.saved_{name} = None")
                lines.append(f"        self.version_{name} = Released")
        return "\n".join(lines)

    def _apply_body(self) -> str:
        lines: list[str] = []
        if self.multi:
            lines += self._gradient_locals()
        single = len(self.formulas) == 1
        shared = [
            name
            for name, saved in self.derivative.saved.items()
            if saved.kind != "attribute" and "value" in saved.how and (single or len(self.users(name)) > 1)
        ]
        lines += [self._unpack(name) for name in shared]
        if single:
            return "\n".join(lines + self._compute(self.formulas[0], shared))
        results = [self._result(arg) for arg in self.inputs]
        lines.append(" = ".join(results) + " = None")
        for formula in self.formulas:
            args = [arg for arg in self.inputs if arg.name in formula.inputs]
            condition = " or ".join(self.needed(arg) for arg in args)
            body = [
                self._unpack(name)
                for name, saved in self.derivative.saved.items()
                if saved.kind != "attribute" and self.users(name) == [formula] and name not in shared
            ]
            body.append(self._assign(formula, args))
            lines.append(f"if {condition}:")
            lines.append(indent("\n".join(body), "    "))
        lines.append(self._return())
        return "\n".join(lines)

    def _gradient_locals(self) -> list[str]:
        lines = ["grads = self.materialize(grads, ops)"]
        used = {name for f in self.formulas if isinstance(f.formula, Formula) for name in f.formula.names}
        for name, position in self.derivative.grad_names.items():
            if name in used:
                lines.append(f"{name} = grads[{position}]")
        return lines

    def _compute(self, formula: InputFormula, shared: list[str]) -> list[str]:
        """The body for a node all of whose gradients come from one formula."""
        args = self.inputs
        if not isinstance(formula.formula, Formula):
            return [self._not_implemented(args)]
        text = self._render(formula)
        if len(args) == 1 and not args[0].type.is_tensor_list:
            return [f"return ({text},)"]
        if len(args) == 1:
            return [f"return tuple({text})"]
        return [self._assign(formula, args), self._return()]

    def _return(self) -> str:
        parts = [f"*{self._result(a)}" if a.type.is_tensor_list else self._result(a) for a in self.inputs]
        if self.has_list:
            parts = [
                f"*({self._result(a)} or (None,) * len({self.edge(a)}))" if a.type.is_tensor_list else self._result(a)
                for a in self.inputs
            ]
        return "return " + ", ".join(parts) + ("," if len(parts) == 1 else "")

    def _result(self, arg: Arg) -> str:
        return f"grad_of_{arg.name}"

    def _assign(self, formula: InputFormula, args: list[Arg]) -> str:
        if not isinstance(formula.formula, Formula):
            return self._not_implemented(args)
        return ", ".join(self._result(a) for a in args) + f" = {self._render(formula)}"

    def _not_implemented(self, args: list[Arg]) -> str:
        names = ", ".join(a.name for a in args)
        return f'raise derivative_not_implemented(self, "{self.schema.full_name}", "{names}")'

    def _unpack(self, name: str) -> str:
        arg = self.schema.arg(name)
        if arg is not None and arg.type.is_tensor_list:
            pairs = f"zip(self.saved_{name}, self.version_{name}, strict=True)"
            return f"{local(name)} = [unpack(x, version, self) for x, version in {pairs}]"
        return f"{local(name)} = unpack(self.saved_{name}, self.version_{name}, self)"

    def _render(self, formula: InputFormula) -> str:
        assert isinstance(formula.formula, Formula)

        def rename(name: str, how: str) -> str | None:
            if name == "grad_input_mask":
                return "(" + ", ".join(self.needed(a) for a in self.inputs if a.name in formula.inputs) + ",)"
            if name in ("grads", *self.derivative.grad_names):
                return None
            saved = self.derivative.saved[name]
            if saved.kind == "attribute":
                return f"self.arg_{name}" if how == "value" else None
            if "value" in saved.how:
                arg = self.schema.arg(name)
                if how != "value" and arg is not None and arg.type.is_tensor_list:
                    return f"tuple(x.{how} for x in {local(name)})"
                return local(name) if how == "value" else self._attribute(name, how)
            return f"self.{name}_{how}"

        return formula.formula.render(rename)

    def _attribute(self, name: str, how: str) -> str:
        """An attribute of a saved value; of a list, the tuple of its items'."""
        arg = self.schema.arg(name)
        if arg is not None and arg.type.is_tensor_list:
            return f"tuple(x.{how} for x in {local(name)})"
        return f"{local(name)}.{how}"

    # -- recording -------------------------------------------------------------------------------------------
    def emit_record(self) -> str:
        """The function that makes a node the function of `out`."""
        params = ", ".join(["out", *(parameter(arg.name) for arg in self.schema.args)])
        lines = [
            f"def record_{self.schema.unique_name}({params}):",
            f'    """Make {"each of `out` an output" if self.multi else "`out` the result"} of a {self.cls} node."""',
        ]
        if self.schema.returns_list:
            lines.append(f"    node = start_multi({self.cls}, out, (True,) * len(out))")
        elif self.multi:
            lines.append(f"    node = start_multi({self.cls}, out, {self.derivative.output_differentiability!r})")
        else:
            lines.append(f"    node = start_node({self.cls}, out)")
        lines += self._record_edges()
        lines += self._record_saved()
        return "\n".join(lines)

    def _record_edges(self) -> list[str]:
        if self.in_slots:
            return [f"    node._next{i} = {self._edge_of(arg)}" for i, arg in enumerate(self.inputs)]
        if not self.has_list:
            edges = ", ".join(f"port({parameter(arg.name)})" for arg in self.inputs)
            return [f"    node._nexts = ({edges},)"]
        if len(self.inputs) == 1:
            return [f"    node._nexts = tuple(port(x) for x in {parameter(self.inputs[0].name)})"]
        lines = []
        for arg in self.inputs:
            text = f"tuple(port(x) for x in {parameter(arg.name)})" if arg.type.is_tensor_list else self._edge_of(arg)
            lines.append(f"    node._edges_{arg.name} = {text}")
        parts = ", ".join(
            f"*node._edges_{arg.name}" if arg.type.is_tensor_list else f"node._edges_{arg.name}" for arg in self.inputs
        )
        return [*lines, f"    node._nexts = ({parts},)"]

    def _edge_of(self, arg: Arg) -> str:
        name = parameter(arg.name)
        if len(self.native.differentiable_args) == 1:
            return f"{name}._fn if {name}._extra is None else port({name})"
        return f"{name}._fn if type({name}) is Tensor and {name}._extra is None else port({name})"

    def _record_saved(self) -> list[str]:
        lines: list[str] = []
        guarded: dict[str, list[str]] = {}
        for slot in self.slots():
            if not slot.fill:
                continue
            name = slot.name.removeprefix("saved_").removeprefix("version_")
            text = f"node.{slot.name} = {slot.fill}"
            users = self.users(name) if slot.name != name else []
            if len(users) == 1 and len(self.formulas) > 1:
                args = [a for a in self.inputs if a.name in users[0].inputs]
                guarded.setdefault(" or ".join(self.needed(a, "node") for a in args), []).append(text)
            else:
                lines.append(f"    {text}")
        for condition, texts in guarded.items():
            lines.append(f"    if {condition}:")
            lines += [f"        {text}" for text in texts]
        return lines

    @property
    def saves_self(self) -> bool:
        """Whether the value of the first argument is kept, so that an in-place variant must copy it first."""
        first = self.schema.args[0].name if self.schema.args else ""
        saved = self.derivative.saved.get(first)
        return saved is not None and saved.kind == "input" and "value" in saved.how


def not_implemented_inputs(derivative: Derivative) -> bool:
    """Whether any input's derivative is not implemented."""
    return any(f.formula is NOT_IMPLEMENTED for f in derivative.formulas)
