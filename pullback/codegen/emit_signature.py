"""A schema -> the parameters of its Python function, and the statements that accept other spellings of them."""

from __future__ import annotations

from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import parameter
from pullback.codegen.signature import REQUIRED, Arg


class SignatureEmitter:
    """Writes the parameters of one overload's function.

    A list argument may be given item by item (`varargs`), `dim` and `keepdim` in NumPy's spelling, and creation
    functions (`is_creation`) take `device` and `requires_grad` too.
    """

    def __init__(self, native: NativeFunction, is_creation: bool) -> None:
        self.native, self.schema = native, native.schema
        self.is_creation = is_creation
        self.has_out = "out" in native.variants
        self.varargs = self._varargs()
        names = {arg.name for arg in self.schema.args}
        # NumPy's spellings are for users, who do not see internal operators.
        self.takes_axis = "dim" in names and "axis" not in names and not native.is_internal
        self.takes_keepdims = "keepdim" in names and "keepdims" not in names and not native.is_internal

    def _varargs(self) -> Arg | None:
        """The list argument whose items may be given one by one.

        That is an int[] which is the only positional one besides the tensor, or the last one of an operator tagged
        variadic.
        """
        positional = [arg for arg in self.schema.args if not arg.kwarg_only]
        if "variadic" in self.native.tags:
            return positional[-1]
        if positional and positional[0].type.is_tensor:
            positional = positional[1:]
        if len(positional) == 1 and positional[0].type.base == "int" and positional[0].type.is_list:
            return positional[0] if positional[0].type.list_size is None else None
        return None

    def parameters(self, inplace: bool = False) -> list[str]:
        """The parameters, `*` included."""
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
        extra = self._extra(inplace)
        if extra and not starred:
            parts.append("*")
        return parts + extra

    def _extra(self, inplace: bool) -> list[str]:
        """Keyword-only parameters beside the schema's."""
        extra = [] if self.varargs is None else [f"{parameter(self.varargs.name)}=UNSET"]
        if self.takes_axis:
            extra.append("axis=UNSET")
        if self.takes_keepdims:
            extra.append("keepdims=UNSET")
        if self.is_creation:
            extra += ['device="cpu"', "requires_grad=False"]
        if self.has_out and not inplace:
            extra.append("out=None")
        return extra

    def _parameter(self, arg: Arg) -> str:
        name = parameter(arg.name)
        if arg.default is not REQUIRED:
            return f"{name}={arg.default!r}"
        return f"{name}=UNSET" if arg in self._checked_late() else name

    def _checked_late(self) -> list[Arg]:
        """The required arguments that Python cannot check: `dim`, which may be spelled `axis`, and those after it."""
        if not self.takes_axis:
            return []
        args = [arg for arg in self.schema.args if arg is not self.varargs]
        first = next((i for i, arg in enumerate(args) if arg.name == "dim" and arg.default is REQUIRED), len(args))
        return [arg for arg in args[first:] if arg.default is REQUIRED and (arg.name == "dim" or not arg.kwarg_only)]

    def value(self, arg: Arg) -> str:
        """The expression for one of the schema's arguments, in whatever spelling it was given."""
        name = parameter(arg.name)
        if arg is self.varargs:
            default = "UNSET" if arg.default is REQUIRED else repr(arg.default)
            kind = "tensor_list" if arg.type.is_tensor_list else "int_list"
            return f'{kind}(run, "{name}", {name}_, {name}, {default})'
        missing = f'missing_argument(run, "{name}")' if arg in self._checked_late() else ""
        if name == "dim" and self.takes_axis:
            other = f"dim if dim is not UNSET else {missing}" if missing else "dim"
            return f"axis if axis is not UNSET else {other}"
        if name == "keepdim" and self.takes_keepdims:
            return "keepdim if keepdims is UNSET else keepdims"
        if arg.type.base == "ScalarType":
            checked = f"number_type(run, {name})"
            return f"None if {name} is None else {checked}" if arg.type.optional else checked
        return f"{name} if {name} is not UNSET else {missing}" if missing else name
