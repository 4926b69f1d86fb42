"""A schema -> the parameters of its Python function, and the statements that accept other spellings of them."""

from __future__ import annotations

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
        self.takes_axis = "dim" in names and "axis" not in names
        self.takes_keepdims = "keepdim" in names and "keepdims" not in names

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
        args = [arg for arg in self.schema.args if arg is not self.varargs]
        first = next((i for i, arg in enumerate(args) if arg.name == "dim" and arg.default is REQUIRED), len(args))
        return [arg for arg in args[first:] if arg.default is REQUIRED and (arg.name == "dim" or not arg.kwarg_only)]

    def normalise(self, called: str) -> list[str]:
        """Statements that turn the accepted spellings into the schema's arguments; `called` is what the user wrote."""
        lines: list[str] = []
        if self.is_creation:
            known = [text.partition("=")[0] for text in self.parameters() if text[0] != "*"]
            lines += [f"if {MISSPELT}:", f'    raise unknown_keyword("{called}", {MISSPELT}, {tuple(known)!r})']
        if self.varargs is not None:
            name = parameter(self.varargs.name)
            default = "UNSET" if self.varargs.default is REQUIRED else repr(self.varargs.default)
            kind = "tensor_list" if self.varargs.type.is_tensor_list else "int_list"
            lines.append(f'{name} = {kind}("{called}", "{name}", {name}_, {name}, {default})')
        if self.takes_axis:
            lines += ["if axis is not UNSET:", "    dim = axis"]
        if self.takes_keepdims:
            lines += ["if keepdims is not UNSET:", "    keepdim = keepdims"]
        for arg in self.schema.args:
            if arg.type.base == "ScalarType":
                name = parameter(arg.name)
                checked = f'{name} = number_type("{called}", {name})'
                lines += [f"if {name} is not None:", f"    {checked}"] if arg.type.optional else [checked]
        for arg in self._checked_late():
            name = parameter(arg.name)
            lines += [f"if {name} is UNSET:", f'    raise missing_argument("{called}", "{name}")']
        if not self.native.is_internal:  # formulas and composites know what they write
            lines += [line for arg in self.schema.args for line in _look_at(arg, called)]
        return lines


# By the type of an argument, and whether it is a list: what passes at once, and what looks at the rest.
_LOOKS = {
    ("float", False): ("A_NUMBER", "a_number"),
    ("Scalar", False): ("A_NUMBER", "a_number"),
    ("int", False): ("AN_INT", "an_int"),
    ("int", True): ("SOME_INTS", "some_ints"),
}


def _look_at(arg: Arg, called: str) -> list[str]:
    """Statements that refuse what is not of the argument's type and would otherwise be taken for something else.

    None is asked for first where it is the default: such a call hardly notices.
    """
    name = parameter(arg.name)
    if arg.type.base == "bool" and not arg.type.is_list:
        odd, look = f"{name} is not False and {name} is not True", "a_flag"
    elif (arg.type.base, arg.type.is_list) in _LOOKS and not arg.type.optional_items:
        kinds, look = _LOOKS[arg.type.base, arg.type.is_list]
        odd = f"type({name}) not in {kinds}"
    else:
        return []
    if arg.type.optional or arg.default is None:
        odd = f"{name} is not None and {odd}"
    return [f"if {odd}:", f'    {name} = {look}("{called}", "{name}", {name})']
