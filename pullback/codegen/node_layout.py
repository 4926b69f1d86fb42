"""The contents of a node: its edges, and in which slots it keeps what the backward formulas need."""

from __future__ import annotations

from pullback.codegen.formula import Formula
from pullback.codegen.model import NON_DIFFERENTIABLE, Derivative, InputFormula, Registry
from pullback.codegen.naming import node_class
from pullback.codegen.signature import Arg


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
        self.slots = self._slots()  # their names

    def edge(self, arg: Arg, owner: str = "self") -> str:
        """The text of the edge (or tuple of edges) towards one input."""
        position = self.inputs.index(arg)
        if self.in_slots:
            return f"{owner}._next{position}"
        if self.own_edges:
            return f"{owner}._edges_{arg.name}"
        return f"{owner}._nexts[{position}]" if not self.has_list else f"{owner}._nexts"

    def needed(self, arg: Arg, owner: str = "self") -> str:
        """The text of the question whether one input needs a gradient; without an owner in the words of Saves."""
        if not owner:
            return f"{arg.name}{'*' * arg.type.is_tensor_list}" if self.own_edges else f"{self.inputs.index(arg)}"
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

    def readers_of_the_value(self, name: str, owner: str) -> str:
        """When the value of a saved input is needed, where some formulas need no more than its shape; "" for always."""
        users = self.users(name)
        readers = [f for f in users if isinstance(f.formula, Formula) and "value" in f.formula.uses[name]]
        if len(readers) == len(users):
            return ""
        return " or ".join(self.runs(formula, owner) for formula in readers)

    def is_wrapped(self, name: str) -> bool:
        """True if a formula has a saved value from `wrap_opt_if`."""
        return any(isinstance(f.formula, Formula) and name in f.formula.guards for f in self.formulas)

    def is_list(self, name: str) -> bool:
        """True if this is the name of a Tensor[] argument."""
        arg = self.schema.arg(name)
        return arg is not None and arg.type.is_tensor_list

    def _slots(self) -> list[str]:
        slots: list[str] = []
        for saved in self.derivative.saved.values():
            if saved.kind == "attribute":
                slots.append(f"arg_{saved.name}")
                continue
            slots += [f"{saved.name}_{how}" for how in sorted(saved.how - {"value"})]
            if self.unpacked(saved.name):
                slots += [f"saved_{saved.name}", f"version_{saved.name}"]
        return [*slots, *(f"_edges_{arg.name}" for arg in self.inputs if self.own_edges)]
