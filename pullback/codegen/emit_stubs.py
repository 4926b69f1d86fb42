"""Declarations -> stubs: what a type checker and an editor know of operators, a definition for each form of call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pullback.codegen.emit_row import RowEmitter
from pullback.codegen.model import NativeFunction, Registry, camel
from pullback.codegen.naming import public_name
from pullback.codegen.signature import Return, Type
from pullback.codegen.user_signature import Shown, shown_parameters

# Flags that change what is returned, and what then is: each is a form of call of its own.
_FORKS = {
    "as_tuple": "tuple[Tensor, ...]", "return_inverse": "tuple[Tensor, ...]", "return_counts": "tuple[Tensor, ...]",
    "return_indices": "tuple[Tensor, Tensor]",
}  # fmt: skip
_SPELLINGS = {"dim": "axis", "keepdim": "keepdims"}
# No builtin name: in the modules that these stand in, `float`, `complex` or `bool` may be something else.
_TYPES = {
    "Scalar": "Number", "int": "Int", "float": "Real", "bool": "Flag", "str": "str", "ScalarType": "DTypeLike",
    "Generator": "Generator", "index": "Any", "any": "Any",
}  # fmt: skip
NAMES = (
    "ArrayLike", "ArrayLikes", "Bool", "DTypeLike", "Flag", "Int", "IntOrInts", "Ints", "Number", "Real", "TensorLike",
)  # fmt: skip


class StubEmitter:
    """Writes the stubs of one operator: all its overloads."""

    def __init__(self, overloads: Sequence[NativeFunction], registry: Registry) -> None:
        self.overloads, self.registry = overloads, registry
        self.shown = public_name(overloads[0].name, overloads[0].python_module or "")

    def functions(self, name: str, inplace: bool = False) -> list[str]:
        """The definitions of the function under that name."""
        return self._definitions(name, "function", inplace)

    def methods(self, name: str, inplace: bool = False) -> list[str]:
        """The definitions of the method under that name."""
        return self._definitions(name, "method", inplace)

    def _definitions(self, name: str, form: str, inplace: bool) -> list[str]:
        chosen = [n for n in self.overloads if not inplace or "inplace" in n.variants]
        forms = [text for native in chosen for text in self._forms(native, name, form == "method", inplace)]
        forms = list(dict.fromkeys(forms))
        return [f"@overload\n{text}" for text in forms] if len(forms) > 1 else forms

    def _forms(self, native: NativeFunction, name: str, method: bool, inplace: bool) -> list[str]:
        """One form, and more where NumPy's spelling of a required `dim` is a call of its own or a flag is set."""
        parameters = shown_parameters(native, self.registry, inplace)
        emitter = RowEmitter(native, self.registry).signature
        given = {p.name: p for p in parameters}
        returns = "Tensor" if inplace else returned(native)
        spelled = [key for key in ("dim", "keepdim") if getattr(emitter, f"takes_{_SPELLINGS[key]}")]
        optional = [_spelled(given[key]) for key in spelled if given[key].default]
        if forks := [p for p in parameters if p.name in _FORKS]:
            return self._forked(name, [*parameters, *optional], forks, native, method)
        forms = [self._definition(name, [*parameters, *optional], native, method, returns)]
        if "dim" in spelled and not given["dim"].default and given["dim"].kind == "positional":
            at = parameters.index(given["dim"])
            later = [replace(p, kind="keyword") for p in parameters[at + 1 :]]
            numpy = [*parameters[:at], *later, *optional, _spelled(given["dim"])]
            forms.append(self._definition(name, numpy, native, method, returns))
        return forms

    def _forked(
        self, name: str, parameters: Sequence[Shown], forks: Sequence[Shown], native: NativeFunction, method: bool
    ) -> list[str]:
        """The form without the flags that change the result, one for each of them, and that of flags not known."""
        unset = {p.name: "Literal[False]" for p in forks}
        forms = [self._definition(name, parameters, native, method, "Tensor", unset)]
        for fork in forks:
            at = parameters.index(fork)
            later = [replace(p, kind="keyword") for p in parameters[at + 1 :]]
            on = [*parameters[:at], replace(fork, kind="keyword", default=""), *later]
            forms.append(self._definition(name, on, native, method, _FORKS[fork.name], {fork.name: "Literal[True]"}))
        return [*forms, self._definition(name, parameters, native, method, "Any")]

    def _definition(
        self,
        name: str,
        parameters: Sequence[Shown],
        native: NativeFunction,
        method: bool,
        returns: str,
        known: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        pieces: list[str] = []
        starred = False
        for nr, p in enumerate(parameters):
            if p.kind == "keyword" and not starred:
                pieces.append("*")
            starred = starred or p.kind != "positional"
            default = f" = {p.default}" if p.default and p.kind != "variadic" else ""
            if p.kind == "variadic" and not p.default and not p.arg.type.is_tensor_list:
                pieces += [f"{p.name}: IntOrInts", "*more: Int"]  # one at least, which may have its name
                continue
            star = "*" if p.kind == "variadic" else ""
            type_ = known.get(p.name) or self._type(p, native, nr)
            pieces.append("self" if method and nr == 0 else f"{star}{p.name}: {type_}{default}")
        return f"def {name}({', '.join(pieces)}) -> {returns}: ..."

    def _type(self, p: Shown, native: NativeFunction, place: int) -> str:
        if p.name == "out":
            several = len(native.schema.returns) > 1
            return "Sequence[Tensor] | None" if several else "Tensor | None"
        type_ = p.arg.type
        if p.kind == "variadic":
            return "ArrayLike | ArrayLikes" if type_.is_tensor_list else "IntOrInts"
        text = self._plain_type(type_, native, place)
        return f"{text} | None" if (type_.optional or p.default == "None") and text != "Any" else text

    def _plain_type(self, type_: Type, native: NativeFunction, place: int) -> str:
        if type_.is_tensor:
            numbers = "pointwise" in native.tags and not native.tags & {"no_numbers", "tensor_first"}
            # linspace(0, 1, 5): what it makes begins at a number.
            return "TensorLike" if numbers or place or native.schema.args[0].name == "start" else "ArrayLike"
        if type_.is_tensor_list:
            return "ArrayLikes"
        if type_.is_list:
            return ("IntOrInts" if type_.list_size else "Ints") if type_.base == "int" else "Sequence[Any]"
        return _TYPES[type_.base]


def _spelled(p: Shown) -> Shown:
    """A parameter in NumPy's spelling, keyword-only."""
    return replace(p, name=_SPELLINGS[p.name], kind="keyword", default=p.default and "...")


def returned(native: NativeFunction) -> str:
    """The type of what an overload gives."""
    returns = native.schema.returns
    if not returns:
        return "None"
    if native.schema.returns_list:
        return "tuple[Tensor, ...]"
    if len(returns) > 1:
        return tuple_name(native) if _named(native) else f"tuple[{', '.join(map(_field, returns))}]"
    base = returns[0].type.base
    return "Tensor" if base == "Tensor" else {"bool": "Bool"}.get(base, "Any")


def tuple_name(native: NativeFunction) -> str:
    """The class of several results: ValuesIndices."""
    return "".join(name if name[:1].isupper() else camel(name) for name in native.schema.output_names)


def tuple_classes(natives: Iterable[NativeFunction]) -> list[str]:
    """The classes of several results, each once."""
    found = {}
    for native in natives:
        if len(native.schema.returns) > 1 and _named(native):
            fields = zip(native.schema.output_names, native.schema.returns, strict=True)
            lines = [f"    {name}: {_field(given)}" for name, given in fields]
            found[tuple_name(native)] = "\n".join([f"class {tuple_name(native)}(NamedTuple):", *lines])
    return [found[name] for name in sorted(found)]


def _named(native: NativeFunction) -> bool:
    return any(given.name for given in native.schema.returns)


def _field(given: Return) -> str:
    return "Tensor" if given.type.base == "Tensor" else "Any"
