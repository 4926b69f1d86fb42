"""A schema -> the parameters of its Python function, and the statements that accept other spellings of them."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import parameter
from pullback.codegen.signature import REQUIRED, Arg

MISSPELT = "misspelt"  # the keywords that a creation function does not have


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
        if self.is_creation:
            extra.append(f"**{MISSPELT}")  # elsewhere it would cost what a call cannot spare
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

    def _renamed(self, arg: Arg, spelling: str) -> str:
        """The value of an argument that was given in NumPy's spelling."""
        default = "UNSET" if arg.default is REQUIRED else repr(arg.default)
        return f'renamed(run.__name__, "{arg.name}", {arg.name}, {default}, "{spelling}", {spelling})'

    def call(self, values: Sequence[str]) -> str:
        """The body of the function: a call of `run` with these values."""
        call = f"run({', '.join(values)})"
        if not self.is_creation:
            return call
        known = tuple(text.partition("=")[0] for text in self.parameters() if text[0] != "*")
        return f"refuse_keyword(run.__name__, {MISSPELT}, {known!r}) if {MISSPELT} else {call}"

    def value(self, arg: Arg) -> str:
        """The expression for one of the schema's arguments, looked at, in whatever spelling it was given."""
        name = parameter(arg.name)
        given, missing = name, f'missing_argument(run.__name__, "{name}")' if arg in self._checked_late() else ""
        if arg is self.varargs:
            default = "UNSET" if arg.default is REQUIRED else repr(arg.default)
            kind = "tensor_list" if arg.type.is_tensor_list else "int_list"
            given = f'{kind}(run.__name__, "{name}", {name}_, {name}, {default})'
        elif name == "dim" and self.takes_axis:
            given = f"{self._renamed(arg, 'axis')} if axis is not UNSET else dim"
            given += f" if dim is not UNSET else {missing}" if missing else ""
        elif name == "keepdim" and self.takes_keepdims:
            given = f"keepdim if keepdims is UNSET else {self._renamed(arg, 'keepdims')}"
        elif missing:
            given = f"{name} if {name} is not UNSET else {missing}"
        elif arg.default == ():  # None stands for no element, as in PyTorch
            given = f"() if {name} is None else {name}"
        if arg.type.base == "ScalarType":
            checked = f"number_type(run.__name__, {name})"
            return f"None if {name} is None else {checked}" if arg.type.optional else checked
        return given if self.native.is_internal else _looked_at(arg, given)


# By the type of an argument, and whether it is a list: what passes at once, and what looks at the rest.
_LOOKS = {
    ("float", False): ("A_NUMBER", "a_number"),
    ("Scalar", False): ("A_NUMBER", "a_number"),
    ("int", False): ("AN_INT", "an_int"),
    ("int", True): ("SOME_INTS", "some_ints"),
}


def _looked_at(arg: Arg, given: str) -> str:
    """`given`, refused where it is not of the argument's type and would otherwise be taken for something else.

    None is asked for first where it is the default: such a call hardly notices.
    """
    name = parameter(arg.name)
    first = name if given == name else f"({name} := {given})"  # looked at more than once, so named
    if arg.type.base == "bool" and not arg.type.is_list:
        right, look = f"{first} is False or {name} is True", "a_flag"
    elif (arg.type.base, arg.type.is_list) in _LOOKS and not arg.type.optional_items:
        kinds, look = _LOOKS[arg.type.base, arg.type.is_list]
        optional = arg.type.optional or arg.default is None
        right = f"{first} is None or type({name}) in {kinds}" if optional else f"type({first}) in {kinds}"
        return f'{name} if {right} else {look}(run.__name__, "{name}", {name})'
    else:
        return given
    if arg.type.optional or arg.default is None:
        right = f"{first} is None or {name} is False or {name} is True"
    return f'{name} if {right} else {look}(run.__name__, "{name}", {name})'
