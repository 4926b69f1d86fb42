"""A declaration -> the public Python function of one overload, on Tensors."""

from __future__ import annotations

from textwrap import indent

from pullback.codegen.model import Derivative, NativeFunction, Registry
from pullback.codegen.naming import function_name, parameter
from pullback.codegen.schema import REQUIRED, Arg


class FunctionEmitter:
    """Writes the operator's record for dispatch, its function and its in-place variant."""

    def __init__(self, native: NativeFunction, derivative: Derivative | None, registry: Registry) -> None:
        self.native, self.derivative, self.schema = native, derivative, native.schema
        self.name = function_name(native, registry)
        self.operator = f"OP_{self.schema.unique_name}"
        self.tensors = [arg for arg in self.schema.args if arg.type.is_tensor]
        self.lists = [arg for arg in self.schema.args if arg.type.is_tensor_list]
        self.is_creation = native.area in ("creation", "random") and not self.tensors and self.returns_tensor
        self.varargs = self._varargs()

    @property
    def records(self) -> bool:
        """Whether a node is recorded, be it one that says that the derivative is not implemented."""
        returns = self.schema.returns
        tensors = bool(returns) and all(r.type.base == "Tensor" for r in returns) and bool(self.native.differentiable_args)
        return self.derivative is not None or (tensors and "nondifferentiable" not in self.native.tags)

    @property
    def returns_tensor(self) -> bool:
        """Whether there is one Tensor result."""
        returns = self.schema.returns
        return len(returns) == 1 and returns[0].type.is_tensor

    def _varargs(self) -> Arg | None:
        """The list argument whose items may be given one by one.

        That is an int[] which is the only positional one besides the tensor, or the last one of an operator tagged
        variadic.
        """
        positional = [a for a in self.schema.args if not a.kwarg_only]
        if "variadic" in self.native.tags:
            return positional[-1]
        if positional and positional[0].type.is_tensor:
            positional = positional[1:]
        if len(positional) == 1 and positional[0].type.base == "int" and positional[0].type.is_list:
            return positional[0] if positional[0].type.list_size is None else None
        return None

    # -- the operator's record -------------------------------------------------------------------------------
    def emit_operator(self, saves_self: bool) -> str:
        """What dispatch must know, or nothing for a composite."""
        if self.native.is_composite:
            return ""
        positions = {arg.name: i for i, arg in enumerate(self.schema.args)}

        def listed(args: list[Arg]) -> str:
            return "(" + "".join(f'({positions[a.name]}, "{parameter(a.name)}"), ' for a in args).strip() + ")"

        options = []
        if self.lists:
            options.append(f"lists={listed(self.lists)}")
        if self.records:
            options.append(f"record=record_{self.schema.unique_name}")
        if self.schema.returns_list:
            options.append("returns_list=True")
        elif len(self.schema.returns) > 1:
            names = ", ".join(f'"{n}"' for n in self.schema.output_names)
            options.append(f'multi=namedtuple("{self.schema.name}", [{names}])')
        elif self.schema.returns and self.schema.returns[0].type.base != "Tensor":
            options.append("returns_value=True")
        if self.native.is_view:
            options.append("view=True")
        if saves_self:
            options.append("saves_self=True")
        extra = "".join(f", {o}" for o in options)
        return f'{self.operator} = Operator("{self.schema.full_name}", "{self.native.kernel}", {listed(self.tensors)}{extra})'

    # -- the function ----------------------------------------------------------------------------------------
    def emit(self) -> str:
        """The function."""
        body = [*self._normalise()]
        if self.native.is_composite:
            body.append(self._composite_call())
        elif self.native.is_mutating:
            body.append(f"return mutate({self.operator}, {self._args_tuple()})")
        else:
            body += self._primitive_body()
        return "\n".join([f"def {self.name}({self.signature()}):", indent(self._doc(), "    "), indent("\n".join(body), "    ")])

    def emit_inplace(self) -> str:
        """The in-place variant, or nothing."""
        if "inplace" not in self.native.variants:
            return ""
        body = [*self._normalise()]
        if self.native.is_composite:
            body.append(f"return assign({parameter(self.schema.args[0].name)}, {self._composite_call()[len('return ') :]})")
        else:
            body.append(f"return inplace({self.operator}, {self._args_tuple()})")
        doc = f'"""In-place form of `{self.schema.name}`."""'
        return "\n".join([f"def {self.inplace_name}({self.signature(variant='inplace')}):", f"    {doc}", indent("\n".join(body), "    ")])

    @property
    def inplace_name(self) -> str:
        """Name of the in-place variant's function."""
        return f"inplace_{self.name}"

    def signature(self, variant: str = "function") -> str:
        """The parameter list."""
        parts: list[str] = []
        starred = False
        for arg in self.schema.args:
            if arg is self.varargs:
                parts.append(f"*{parameter(arg.name)}_")
                starred = True
                continue
            if arg.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(self._parameter(arg))
        extra = []
        if self.varargs is not None:
            extra.append(f"{parameter(self.varargs.name)}=UNSET")
        names = {arg.name for arg in self.schema.args}
        if "dim" in names and "axis" not in names:
            extra.append("axis=UNSET")
        if "keepdim" in names:
            extra.append("keepdims=UNSET")
        if self.is_creation:
            extra += ['device="cpu"', "requires_grad=False"]
        if variant == "function" and self._has_out:
            extra.append("out=None")
        if extra and not starred:
            parts.append("*")
        return ", ".join(parts + extra)

    @property
    def _has_out(self) -> bool:
        return "out" in self.native.variants

    def _parameter(self, arg: Arg) -> str:
        name = parameter(arg.name)
        if arg.default is not REQUIRED:
            return f"{name}={arg.default!r}"
        return f"{name}=UNSET" if arg in self._checked_late() else name

    def _checked_late(self) -> list[Arg]:
        """The required arguments that Python cannot check: `dim`, which may be spelled `axis`, and those after it."""
        args = [a for a in self.schema.args if a is not self.varargs]
        first = next((i for i, a in enumerate(args) if a.name == "dim" and a.default is REQUIRED), len(args))
        return [a for a in args[first:] if a.default is REQUIRED and (a.name == "dim" or not a.kwarg_only)]

    def _normalise(self) -> list[str]:
        """Statements that turn the accepted spellings into the schema's arguments."""
        lines: list[str] = []
        names = {arg.name: arg for arg in self.schema.args}
        if self.varargs is not None:
            name = parameter(self.varargs.name)
            default = self.varargs.default
            shown = "UNSET" if default is REQUIRED else repr(default)
            kind = "tensor_list" if self.varargs.type.is_tensor_list else "int_list"
            lines.append(f'{name} = {kind}("{self.schema.name}", "{name}", {name}_, {name}, {shown})')
        if "dim" in names and "axis" not in names:
            lines.append("if axis is not UNSET:")
            lines.append("    dim = axis")
        if "keepdim" in names:
            lines.append("if keepdims is not UNSET:")
            lines.append("    keepdim = keepdims")
        for arg in self._checked_late():
            name = parameter(arg.name)
            lines += [f"if {name} is UNSET:", f'    raise missing_argument("{self.schema.name}", "{name}")']
        return lines

    def _args(self) -> list[str]:
        return [parameter(arg.name) for arg in self.schema.args]

    def _args_tuple(self) -> str:
        args = self._args()
        return "(" + ", ".join(args) + ("," if len(args) == 1 else "") + ")"

    def _composite_call(self) -> str:
        args = ", ".join(
            f"{arg.name}={parameter(arg.name)}" if arg.kwarg_only else parameter(arg.name) for arg in self.schema.args
        )
        call = f"composite_{self.native.area}.{self.native.composite}({args}{', ' if args else ''}ops=TENSOR)"
        if self.is_creation:
            return f"return created({call}, device, requires_grad)"
        if self._has_out:
            return f"return {call} if out is None else assign(out, {call})"
        return f"return {call}"

    def _primitive_body(self) -> list[str]:
        lines: list[str] = []
        if self._has_out:
            lines += ["if out is not None:", f"    return write_out({self.operator}, {self._args_tuple()}, out)"]
        if self.is_creation:
            call = f"kernels.{self.native.kernel}({', '.join(self._args())})"
            return [*lines, f"return created({call}, device, requires_grad)"]
        simple = self.returns_tensor and not self.lists and not any(a.type.base == "any" for a in self.schema.args)
        if simple and len(self.tensors) in (1, 2) and not any(a.type.optional for a in self.tensors):
            lines += self._fast_path()
        lines.append(f"return dispatch({self.operator}, {self._args_tuple()})")
        return lines

    def _fast_path(self) -> list[str]:
        """The common case, without dispatch: tensors of one level around ndarrays, every mode plain."""
        names = [parameter(a.name) for a in self.tensors]
        call_args = []
        if len(names) == 1:
            x = names[0]
            condition = f"type({x}) is Tensor and current().plain"
            data = {x: f"{x}._data"}
            level, needs = f"{x}._level", f"{x}._requires_grad"
            prepare: list[str] = []
        else:
            a, b = names
            prepare = [f"a, b = type({a}), type({b})"]
            condition = (
                f"(a is Tensor and (b is Tensor and {a}._level == {b}._level or b in CONSTANTS) "
                f"or b is Tensor and a in CONSTANTS) and current().plain"
            )
            data = {a: f"{a}._data if a is Tensor else {a}", b: f"{b}._data if b is Tensor else {b}"}
            level = f"({a} if a is Tensor else {b})._level"
            needs = f"a is Tensor and {a}._requires_grad or b is Tensor and {b}._requires_grad"
        for arg in self.schema.args:
            name = parameter(arg.name)
            call_args.append(data.get(name, name))
        lines = [*prepare, f"if {condition}:", "    try:"]
        lines.append(f"        result = kernels.{self.native.kernel}({', '.join(call_args)})")
        lines += ["    except Exception as error:", f"        raise explain({self.operator}, {self._args_tuple()}, error) from error"]
        lines.append(f"    out = wrap_result(result, {level})")
        if self.records:
            lines += [f"    if {needs}:", f"        record_{self.schema.unique_name}({', '.join(['out', *self._args()])})"]
        if self.native.is_view:
            x = names[0]
            lines += [f"    if shares_memory(result, {x}._data):", f"        make_view(out, {x})"]
        lines.append("    return out")
        return lines

    def _doc(self) -> str:
        text = self.native.doc or f"{self.schema.name}."
        text = text.replace("\\", "\\\\").replace('"""', "'''")
        return f'"""{text}\n\n{self.schema}\n"""'
