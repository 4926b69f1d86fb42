"""A derivative -> the function that pushes tangents forward."""

from __future__ import annotations

from textwrap import indent

from pullback.codegen.formula import Formula
from pullback.codegen.model import AUTO_ELEMENT_WISE, AUTO_LINEAR, NON_DIFFERENTIABLE, Derivative, Tangent
from pullback.codegen.schema import Arg


class TangentEmitter:
    """Writes one function: primals, tangents (None where undefined) and outputs in, a tuple of tangents out."""

    def __init__(self, derivative: Derivative) -> None:
        self.derivative, self.native, self.schema = derivative, derivative.native, derivative.native.schema
        self.inputs = [
            arg
            for arg in self.native.differentiable_args
            if derivative.formula_for(arg.name).formula is not NON_DIFFERENTIABLE
        ]

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
        lines = []
        explicit = any(isinstance(t, Formula) for t in self.derivative.tangents.values())
        if explicit:
            for arg in self.inputs:
                if any(
                    isinstance(t, Formula) and f"{arg.name}_t" in t.uses for t in self.derivative.tangents.values()
                ):
                    lines.append(f"{arg.name}_t = tangent_or_zeros({arg.name}_t, {arg.name}_p, ops)")
        results = [self._tangent(output, tangent) for output, tangent in self.derivative.tangents.items()]
        lines.append(f"return ({', '.join(results)},)")
        head = f"def {self.schema.unique_name}_tangent({', '.join(self.parameters())}, *, ops):"
        return "\n".join([head, f'    """Tangent of {self.schema.full_name}."""', indent("\n".join(lines), "    ")])

    def _tangent(self, output: str, tangent: Tangent) -> str:
        if tangent == AUTO_LINEAR:
            return self._same_operator()
        if tangent == AUTO_ELEMENT_WISE:
            return self._from_backward(self.inputs[0])
        if isinstance(tangent, Formula):
            return tangent.render(self._rename)
        return f'no_tangent("{self.schema.full_name}", "{output}")'

    def _rename(self, name: str, how: str) -> str | None:
        if self.schema.arg(name) is not None:
            return f"{name}_p" if how == "value" else f"{name}_p.{how}"
        return None

    def _same_operator(self) -> str:
        """A linear operator maps tangents as it maps primals."""
        args = []
        for arg in self.schema.args:
            value = f"{arg.name}_t" if arg in self.inputs else f"{arg.name}_p"
            if arg in self.inputs and arg.type.is_tensor_list:
                value = f"tangents_or_zeros({arg.name}_t, {arg.name}_p, ops)"
            elif arg in self.inputs and len(self.inputs) > 1:
                value = f"tangent_or_zeros({arg.name}_t, {arg.name}_p, ops)"
            args.append(f"{arg.name}={value}" if arg.kwarg_only else value)
        return f"ops.{self.schema.name}({', '.join(args)})"

    def _from_backward(self, arg: Arg) -> str:
        """An element-wise operator's Jacobian is diagonal: its tangent is the conjugate of its cotangent's formula."""
        formula = self.derivative.formula_for(arg.name).formula
        assert isinstance(formula, Formula)

        def rename(name: str, how: str) -> str | None:
            if name in self.derivative.grad_names:
                return f"{arg.name}_t.conj()" if how == "value" else f"{arg.name}_t.{how}"
            return self._rename(name, how)

        return f"({formula.render(rename)}).conj()"
