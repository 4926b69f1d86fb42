"""A declaration -> the public Python function of one overload, on Tensors."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill, indent

from pullback.codegen.emit_fast_path import fast_path, guarded_kernel
from pullback.codegen.emit_signature import SignatureEmitter
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.naming import function_name, parameter, qualified, shown_name
from pullback.codegen.quoting import docstring, tuple_of
from pullback.codegen.signature import REQUIRED, Arg


class FunctionEmitter:
    """Writes the operator's record for dispatch, its function and its in-place variant."""

    def __init__(self, native: NativeFunction, registry: Registry) -> None:
        self.native, self.schema, self.registry = native, native.schema, registry
        self.name = function_name(native, registry)
        self.operator = f"OP_{self.schema.unique_name}"
        self.tensors = [arg for arg in self.schema.args if arg.type.is_tensor]
        self.lists = [arg for arg in self.schema.args if arg.type.is_tensor_list]
        returns = self.schema.returns
        self.returns_tensor = len(returns) == 1 and returns[0].type.is_tensor
        takes_dtype = any(arg.type.base == "ScalarType" for arg in self.schema.args)  # zeros_like, new_zeros
        self.is_creation = native.area in ("creation", "random") and self.returns_tensor
        self.is_creation = self.is_creation and (takes_dtype or not self.tensors)
        self.shown = shown_name(native, registry)
        self.signature = SignatureEmitter(native, self.is_creation)
        self.args = [parameter(arg.name) for arg in self.schema.args]

    @property
    def inplace_name(self) -> str:
        """Name of the in-place variant's function."""
        return f"inplace_{self.name}"

    @property
    def records(self) -> bool:
        """Whether a node is recorded, be it one that says that the derivative is not implemented."""
        if self.schema.unique_name in self.registry.derivatives:
            return True
        if self.native.is_composite or "nondifferentiable" in self.native.tags:
            return False
        returns = self.schema.returns
        return bool(self.native.differentiable_args and returns) and all(r.type.base == "Tensor" for r in returns)

    # -- the operator's record -------------------------------------------------------------------------------
    def emit_operator(self, saves_self: bool) -> str:
        """What dispatch must know of a primitive."""
        options = [f"lists={self._positions(self.lists)}"] if self.lists else []
        if self.records:
            options.append(f"record=record_{self.schema.unique_name}")
        if self.schema.returns[0].type.base != "Tensor":
            options.append("returns_value=True")
        elif self.schema.returns_list:
            options.append("returns_list=True")
        elif len(self.schema.returns) > 1:
            outputs = ", ".join(f'"{name}"' for name in self.schema.output_names)
            options.append(f'multi=namedtuple("{self.schema.name}", [{outputs}])')
        if self.native.is_view:
            options.append("view=True")
        if "floating" in self.native.tags:
            options.append("floating=True")
        if saves_self:
            options.append("saves_self=True")
        if self.shown != qualified(self.schema.full_name, self.registry):
            options.append(f'shown="{self.shown}"')
        names = [f'"{qualified(n, self.registry)}"' for n in (self.schema.full_name, self.native.kernel or "")]
        given = [*names, self._positions(self.tensors), self._declared(), *options]
        return f"{self.operator} = Operator({', '.join(given)})"

    def _declared(self) -> str:
        """The arguments as a text, by which an error tells which of them does not fit."""
        texts = []
        for arg in self.schema.args:
            default = "" if arg.default is REQUIRED else f"={arg.default!r}"
            texts.append(f"{replace(arg.type, alias=None, is_write=False)} {parameter(arg.name)}{default}")
        return repr(", ".join(texts))

    def _positions(self, args: list[Arg]) -> str:
        """The (position, name) pairs of some arguments."""
        return tuple_of([f'({self.schema.args.index(arg)}, "{parameter(arg.name)}")' for arg in args])

    # -- the functions ---------------------------------------------------------------------------------------
    def emit(self) -> str:
        """The function."""
        paragraphs = (self.native.doc or f"{self.schema.name}.").splitlines()
        filled = (fill(line, 116, break_long_words=False) for line in paragraphs)
        doc = docstring("\n".join([*filled, "", str(self.schema), ""]))
        return self._function(self.name, self.shown, self.signature.parameters(), f'"""{doc}"""', self._body())

    def emit_inplace(self) -> str:
        """The in-place variant, or nothing."""
        if "inplace" not in self.native.variants:
            return ""
        doc = f'"""In-place form of `{self.schema.name}`."""'
        if self.native.is_view:
            given = [f"{a.name}={parameter(a.name)}" if a.kwarg_only else parameter(a.name) for a in self.schema.args]
            made = f'return become_view({given[0]}, "{self.shown}", {", ".join([self.name, *given[1:]])})'
            body = self._guarded(made, f"{self.shown}_")
            doc = f'"""Make `{given[0]}` itself the view that `{self.schema.name}` gives."""'
        elif self.native.is_composite:
            made = f'return assign({self.args[0]}, {self._composition()}, "{self.shown}_")'
            body = self._guarded(made, f"{self.shown}_")
        else:
            body = [f"return inplace({self.operator}, {tuple_of(self.args)})"]
        return self._function(self.inplace_name, f"{self.shown}_", self.signature.parameters(inplace=True), doc, body)

    def _function(self, name: str, called: str, parameters: list[str], doc: str, body: list[str]) -> str:
        inside = "\n".join([doc, *self.signature.normalise(called), *body])
        return f"def {name}({', '.join(parameters)}):\n{indent(inside, '    ')}"

    def _body(self) -> list[str]:
        if self.native.is_composite:
            return self._guarded(self._composite_call(), self.shown)
        if self.native.is_mutating:
            return [f"return mutate({self.operator}, {tuple_of(self.args)})"]
        return self._primitive_body()

    def _guarded(self, statement: str, called: str) -> list[str]:
        """A call of other operators: its errors name what the user called, and what that was given."""
        given = tuple_of(self.args)
        return [
            "try:",
            f"    {statement}",
            "except Exception as error:",
            f'    raise explained("{called}", {self._declared()}, {given}, error)',
        ]

    def _composition(self) -> str:
        args = [f"{a.name}={parameter(a.name)}" if a.kwarg_only else parameter(a.name) for a in self.schema.args]
        return f"composite_{self.native.area}.{self.native.composite}({', '.join([*args, 'ops=TENSOR'])})"

    def _composite_call(self) -> str:
        call = self._composition()
        made = f"created({call}, device, requires_grad)" if self.is_creation else call
        if self.signature.has_out:
            return f'return {made} if out is None else assign_out(out, {call}, "{self.shown}")'
        return f"return {made}"

    def _primitive_body(self) -> list[str]:
        given = tuple_of(self.args)
        lines: list[str] = []
        if self.signature.has_out:
            lines += ["if out is not None:", f"    return write_out({self.operator}, {given}, out)"]
        if self.is_creation and self.tensors:
            made = f"return created(dispatch({self.operator}, {given}), device, requires_grad)"
            return [*lines, *self._guarded(made, self.shown)]
        if self.is_creation:
            lines += guarded_kernel(self.native, self.operator, self.args)
            return [*lines, *self._guarded("return created(result, device, requires_grad)", self.shown)]
        one = self.returns_tensor and not self.lists
        if one and self.tensors and not self.tensors[0].type.optional:
            lines += fast_path(self.native, self.operator, self.records)
        return [*lines, f"return dispatch({self.operator}, {given})"]
