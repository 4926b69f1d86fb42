"""A derivative -> the function that pushes tangents forward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from textwrap import indent

from pullback.codegen.conjugation import transposed
from pullback.codegen.formula import Formula
from pullback.codegen.model import (
    AUTO_ELEMENT_WISE,
    AUTO_LINEAR,
    NON_DIFFERENTIABLE,
    NOT_IMPLEMENTED,
    Derivative,
    Tangent,
)
from pullback.codegen.signature import Arg
from pullback.codegen.tangent_terms import groups, term_of


class TangentEmitter:
    """Writes one function: primals, tangents (None where undefined) and outputs in, a tuple of tangents out.

    `tables` says where formulas find operators (see `Formula.render`).
    """

    def __init__(self, derivative: Derivative, tables: Mapping[str, str]) -> None:
        self.derivative, self.native, self.schema = derivative, derivative.native, derivative.native.schema
        self.tables = tables
        self.inputs = [
            arg
            for arg in self.native.differentiable_args
            if derivative.formula_for(arg.name).formula is not NON_DIFFERENTIABLE
        ]
        self.formulas = [tangent for tangent in derivative.tangents.values() if isinstance(tangent, Formula)]

    @property
    def rendered(self) -> list[Formula]:
        """The formulas that the function computes."""
        if AUTO_ELEMENT_WISE in self.derivative.tangents.values():
            return [*self.formulas, self._backward(self.inputs[0])]
        return self.formulas

    @property
    def has_formula(self) -> bool:
        """True if the tangent of any output is known."""
        return any(
            tangent is not None and tangent is not NOT_IMPLEMENTED for tangent in self.derivative.tangents.values()
        )

    @property
    def underived(self) -> tuple[tuple[int, str], ...]:
        """The positions and names of inputs of which nobody has derived how the outputs move with them."""
        return tuple(
            (i, arg.name)
            for i, arg in enumerate(self.schema.args)
            if arg in self.inputs
            and self.derivative.formula_for(arg.name).formula is NOT_IMPLEMENTED
            and not any(f"{arg.name}_t" in formula.uses for formula in self.formulas)
        )

    def parameters(self) -> list[str]:
        """For each argument its primal and, if it is differentiable, its tangent; then the outputs."""
        names: list[str] = []
        for arg in self.schema.args:
            names.append(f"{arg.name}_p")
            if arg in self.inputs:
                names.append(f"{arg.name}_t")
        return [*names, *self.schema.output_names]

    def emit(self) -> str:
        """The function's source."""
        lines = [f"{arg.name}_t = {self._or_zeros(arg)}" for arg in self.inputs if self._stands_in(arg)]
        lines += self._returns()
        head = f"def {self.schema.unique_name}_tangent({', '.join(self.parameters())}, *, ops):"
        return "\n".join([head, indent("\n".join(lines), "    ")])

    def _returns(self) -> list[str]:
        """The lines that return the tangents, without the terms of undefined ones."""
        groups = self.groups
        if len(groups) > 2:
            return [self._return(groups)]
        lines = []
        if len(groups) == 2:
            lines = [f"if {_undefined(absent)}:\n    {self._return([rest])}" for absent, rest in (groups, groups[::-1])]
        elif groups and len(groups[0]) < len(self.inputs):  # some of the inputs move nothing
            lines = [f"if {_undefined(groups[0])}:\n    {self._return([frozenset()])}"]
        return [*lines, self._return([])]

    def _return(self, parts: Sequence[frozenset[str]]) -> str:
        """The line that returns the sum of the terms of these groups of tangents; none: the formula as it is."""
        results = [self._tangent(output, tangent, parts) for output, tangent in self.derivative.tangents.items()]
        return f"return ({', '.join(results)},)"

    @property
    def _names(self) -> list[str]:
        return [f"{arg.name}_t" for arg in self.inputs]

    @cached_property
    def groups(self) -> list[frozenset[str]]:
        """The tangents of the inputs, each alone or with those that a formula takes together with it."""
        return groups(self.formulas, self._names)

    def _stands_in(self, arg: Arg) -> bool:
        """True if zeros stand in for the tangent where it is undefined: where a formula takes it with others."""
        group = next((group for group in self.groups if f"{arg.name}_t" in group), frozenset())
        return arg.type.is_tensor_list or (len(group) > 1 and "undefined" not in self.native.tags) if group else False

    def _tangent(self, output: str, tangent: Tangent, parts: Sequence[frozenset[str]]) -> str:
        """The text of one output's tangent."""
        if tangent == AUTO_LINEAR:
            return self._same_operator()
        if tangent == AUTO_ELEMENT_WISE:
            return self._from_backward(self.inputs[0])
        if not isinstance(tangent, Formula):
            return f'no_tangent("{self.schema.full_name}", "{output}")'
        terms = [(group, term_of(tangent, group, self._names)) for group in parts] or [(frozenset(), tangent)]
        texts = ["None" if term is None else term.render(self._rename, self.tables) for _, term in terms]
        if len(texts) == 1:
            return texts[0]
        texts = [
            text if {text} == group or text == "None" else f"None if {_undefined(group)} else {text}"
            for (group, _), text in zip(terms, texts, strict=True)
        ]
        return f"sum_of_terms({', '.join(texts)})"

    def _rename(self, name: str, how: str) -> str | None:
        if self.schema.arg(name) is not None:
            return f"{name}_p" if how == "value" else f"{name}_p.{how}"
        return None

    def _or_zeros(self, arg: Arg) -> str:
        """The tangent of one input, zeros for an undefined one."""
        function = "tangents_or_zeros" if arg.type.is_tensor_list else "tangent_or_zeros"
        return f"{function}({arg.name}_t, {arg.name}_p, ops)"

    def _same_operator(self) -> str:
        """A linear operator maps tangents as it maps primals."""
        args = []
        for arg in self.schema.args:
            value = f"{arg.name}_t" if arg in self.inputs else f"{arg.name}_p"
            if arg in self.inputs and (arg.type.is_tensor_list or len(self.inputs) > 1):
                value = self._or_zeros(arg)
            args.append(f"{arg.name}={value}" if arg.kwarg_only else value)
        return f"{self.tables.get(self.schema.name, 'ops')}.{self.schema.name}({', '.join(args)})"

    def _backward(self, arg: Arg) -> Formula:
        formula = self.derivative.formula_for(arg.name).formula
        assert isinstance(formula, Formula)
        return formula

    def _from_backward(self, arg: Arg) -> str:
        """An element-wise operator's Jacobian is diagonal: its tangent is the conjugate of its cotangent's formula."""
        names = self.derivative.grad_names
        real = [other.name for other in self.schema.args if other.type.base in ("int", "float", "bool")]

        def rename(name: str, how: str) -> str | None:
            if name in names:
                return f"{arg.name}_t" if how == "value" else f"{arg.name}_t.{how}"
            return self._rename(name, how)

        return transposed(self._backward(arg), names, real).render(rename, self.tables)


def _undefined(names: Collection[str]) -> str:
    return " and ".join(f"{name} is None" for name in sorted(names))
