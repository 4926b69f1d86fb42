"""The contents of a node: its edges, and in which slots it keeps what the backward formulas need."""

from __future__ import annotations

from dataclasses import dataclass

from pullback.codegen.formula import Formula
from pullback.codegen.model import NON_DIFFERENTIABLE, Derivative, InputFormula, Marker, Registry, Saved
from pullback.codegen.naming import node_class, parameter
from pullback.codegen.signature import Arg


@dataclass(frozen=True)
class Slot:
    """One slot of a node: its name, the statement that fills it when the node is recorded, and what is saved by it."""

    name: str
    fill: str  # "" where another slot's statement fills this one too
    saves: str  # the name of the tensor whose value it keeps; "" for anything else, which is always kept


class NodeLayout:
    """How one derivative's node is laid out; its class and its record function agree on this."""

    def __init__(self, derivative: Derivative, registry: Registry) -> None:
        self.derivative, self.native, self.schema = derivative, derivative.native, derivative.native.schema
        self.cls = node_class(self.native, registry)
        self.inputs: list[Arg] = [
            arg
            for arg in self.native.differentiable_args
            if derivative.formula_for(arg.name).formula is not NON_DIFFERENTIABLE
        ]
        self.formulas = list(dict.fromkeys(derivative.formula_for(arg.name) for arg in self.inputs))
        self.has_list = any(arg.type.is_tensor_list for arg in self.inputs)
        self.in_slots = not self.has_list and len(self.inputs) <= 2  # edges in _next0 and _next1
        self.own_edges = self.has_list and len(self.inputs) > 1  # the edges of each input in a slot of their own
        self.masking = "masking" in self.native.tags
        self.multi = self.schema.returns_list or len(self.schema.returns) > 1
        # The only tensor argument of an operator is no constant when its node is recorded.
        self.sure_tensor = len(self.native.differentiable_args) == 1
        self.slots = self._slots()

    def edge(self, arg: Arg, owner: str = "self") -> str:
        """The text of the edge (or tuple of edges) towards one input."""
        position = self.inputs.index(arg)
        if self.in_slots:
            return f"{owner}._next{position}"
        if self.own_edges:
            return f"{owner}._edges_{arg.name}"
        return f"{owner}._nexts[{position}]" if not self.has_list else f"{owner}._nexts"

    def needed(self, arg: Arg, owner: str = "self") -> str:
        """The text of the question whether one input needs a gradient."""
        edge = self.edge(arg, owner)
        return f"any({edge})" if arg.type.is_tensor_list else f"{edge} is not None"

    def inputs_of(self, formula: InputFormula) -> list[Arg]:
        """The inputs whose gradients a formula gives, in its order."""
        return [next(arg for arg in self.inputs if arg.name == name) for name in formula.inputs]

    def users(self, name: str) -> list[InputFormula]:
        """The formulas that need a saved value unpacked: for itself, or for an attribute that is not saved apart."""
        if not self.unpacked(name):
            return []
        apart = self.derivative.saved[name].how - {"value"}
        return [
            f
            for f in self.formulas
            if isinstance(f.formula, Formula) and not f.formula.uses.get(name, frozenset()) <= apart
        ]

    def runs(self, formula: InputFormula, owner: str = "self") -> str:
        """The text of the question whether a formula will run."""
        return " or ".join(self.flags(formula, owner))

    def flags(self, formula: InputFormula, owner: str = "self") -> list[str]:
        """The texts of the flags of a formula's grad_input_mask."""
        return [self.needed(arg, owner) for arg in self.inputs_of(formula)]

    def when_used(self, name: str, owner: str = "self") -> str:
        """The text of the question whether a saved value will be needed unpacked; "" for always."""
        users, parts, always = self.users(name), [], 0
        for formula in users:
            assert isinstance(formula.formula, Formula)
            wrapped = formula.formula.when_wrapped(name, self.flags(formula, owner))
            parts += wrapped or [self.runs(formula, owner)]
            always += not wrapped
        return "" if always == len(self.formulas) else " or ".join(dict.fromkeys(parts))

    def unpacked(self, name: str) -> bool:
        """True if a saved thing is a tensor (or list of them), to be checked and unpacked in backward."""
        saved = self.derivative.saved[name]
        return saved.kind != "attribute" and "value" in saved.how

    def lets_go(self, name: str) -> bool:
        """True if a saved argument is an index: it goes after a backward if it holds arrays."""
        arg = self.schema.arg(name)
        return arg is not None and arg.type.base == "index"

    def readers_of_the_value(self, name: str) -> str:
        """When the value of a saved input is needed, where some formulas need no more than its shape; "" for always."""
        users = self.users(name)
        readers = [f for f in users if isinstance(f.formula, Formula) and "value" in f.formula.uses[name]]
        if len(readers) == len(users):
            return ""
        return " or ".join(self.runs(formula, "node") for formula in readers)

    def is_wrapped(self, name: str) -> bool:
        """True if a formula has a saved value from `wrap_opt_if`."""
        return any(isinstance(f.formula, Formula) and name in f.formula.guards for f in self.formulas)

    def is_list(self, name: str) -> bool:
        """True if this is the name of a Tensor[] argument."""
        arg = self.schema.arg(name)
        return arg is not None and arg.type.is_tensor_list

    @property
    def saves_self(self) -> bool:
        """True if the value of the first argument is kept, so that an in-place variant must copy it first."""
        first = self.schema.args[0].name
        saved = self.derivative.saved.get(first)
        return saved is not None and saved.kind == "input" and "value" in saved.how

    def _slots(self) -> list[Slot]:
        slots: list[Slot] = []
        for saved in self.derivative.saved.values():
            slots += [Slot(name, fill, "") for name, fill in self._apart(saved)]
            if self.unpacked(saved.name):
                slots += [Slot(name, fill, saved.name) for name, fill in self._value(saved)]
        if self.own_edges:
            slots += [Slot(f"_edges_{arg.name}", "", "") for arg in self.inputs]
        return slots

    def _apart(self, saved: Saved) -> list[tuple[str, str]]:
        """The (slot, statement that fills it) pairs of what is no tensor: an argument, or attributes of a tensor."""
        name, value = saved.name, parameter(saved.name)
        arg = self.schema.arg(name)
        if saved.kind == "attribute":
            return [_fill(f"arg_{name}", _as_it_is_now(value, arg))]
        sure = self.sure_tensor and arg is not None and not arg.type.optional
        fills = []
        for how in sorted(saved.how - {"value"}):
            if saved.kind == "output":
                text = f"tuple(x.{how} for x in out)" if self.schema.returns_list else f"{self._output(name)}.{how}"
            elif self.is_list(name):
                text = f'tuple(attribute(x, "{how}") for x in {value})'
            else:
                text = _attribute(value, how) if sure else f'attribute({value}, "{how}")'
            fills.append(_fill(f"{name}_{how}", text))
        return fills

    def _value(self, saved: Saved) -> list[tuple[str, str]]:
        """The (slot, statement that fills it) pairs of a tensor, or list of them, that is unpacked in backward."""
        name, value = saved.name, parameter(saved.name)
        if saved.kind == "output":
            out = self._output(name)
            return [_fill(f"saved_{name}", f"{out}._array"), _fill(f"version_{name}", f"watch_output({out})")]
        if self.sure_tensor and not self.is_list(name):
            counter = f"{value}._counter and {value}._counter.save()"
            return [_fill(f"saved_{name}", value), _fill(f"version_{name}", counter)]
        fixed = ", True" if isinstance(self.derivative.formula_for(name).formula, Marker) else ""
        save = f"save_list({value})" if self.is_list(name) else f"save_input({value}{fixed})"
        both = f"node.saved_{name}, node.version_{name} = {save}"
        if not self.is_list(name) and (readers := self.readers_of_the_value(name)):
            form = f"node.saved_{name}, node.version_{name} = Form({value}), None"
            both = f"if {readers}:\n    {both}\nelse:\n    {form}"
        return [(f"saved_{name}", both), (f"version_{name}", "")]

    def _output(self, name: str) -> str:
        """The text of one output when the node is recorded."""
        return f"out[{self.schema.output_names.index(name)}]" if self.multi else "out"


def _fill(slot: str, value: str) -> tuple[str, str]:
    """A slot and the statement that puts a value into it."""
    return slot, f"node.{slot} = {value}"


def _attribute(tensor: str, how: str) -> str:
    """The text of an attribute of a Tensor; two that are the array's are asked of it, without a call."""
    return f"{tensor}._array.{how}" if how in ("shape", "dtype") else f"{tensor}.{how}"


def _as_it_is_now(value: str, arg: Arg | None) -> str:
    """The text of an argument that is no tensor, of which a copy is kept where the caller could change it later."""
    if arg is None or arg.type.base in ("bool", "str", "ScalarType", "Generator"):
        return value
    return f"{value} if type({value}) in FIXED else snapshot({value})"
