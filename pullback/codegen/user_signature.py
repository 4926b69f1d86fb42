"""A declaration -> the parameters of its function as a user sees them: no placeholders, no second spellings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pullback.codegen.emit_row import RowEmitter
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.naming import parameter
from pullback.codegen.signature import REQUIRED, Arg, Type

OMITTED = "..."  # the default of a parameter that only some overloads have
_CREATION = (
    Arg("device", Type("str"), "cpu", kwarg_only=True),
    Arg("requires_grad", Type("bool"), default=False, kwarg_only=True),
)
OUT = Arg("out", Type("Tensor", optional=True), None, kwarg_only=True)


@dataclass(frozen=True)
class Shown:
    """A parameter: its name, its default as text ("" if it is required), how it is given, and what it is."""

    name: str
    default: str
    kind: Literal["positional", "variadic", "keyword"]
    arg: Arg

    def __str__(self) -> str:
        mark = "*" if self.kind == "variadic" else ""
        return f"{mark}{self.name}={self.default}" if self.default and not mark else f"{mark}{self.name}"


def shown_parameters(native: NativeFunction, registry: Registry, inplace: bool = False) -> list[Shown]:
    """The parameters of one overload."""
    emitter = RowEmitter(native, registry).signature
    found = []
    starred = False
    for arg in native.schema.args:
        default = "" if arg.default is REQUIRED else repr(arg.default)
        if arg is emitter.varargs:
            found.append(Shown(parameter(arg.name), default, "variadic", arg))
            starred = True
        else:
            kind: Literal["positional", "keyword"] = "keyword" if arg.kwarg_only or starred else "positional"
            found.append(Shown(parameter(arg.name), default, kind, arg))
    more = [*(_CREATION if emitter.is_creation else ()), *((OUT,) if emitter.has_out and not inplace else ())]
    return found + [Shown(arg.name, repr(arg.default), "keyword", arg) for arg in more]


def merged_parameters(overloads: Sequence[NativeFunction], registry: Registry, inplace: bool = False) -> list[Shown]:
    """The parameters of all overloads together: two at the same place share the name of the first."""
    forms = [shown_parameters(native, registry, inplace) for native in overloads]
    if len(forms) == 1:
        return forms[0]
    places = [[p for p in form if p.kind != "keyword"] for form in forms]
    width = max(map(len, places))
    first = [next(place[i] for place in places if len(place) > i) for i in range(width)]
    names = {p.name for p in first}
    if len(names) < width:  # the same name at two places, as in randint(high, size) and randint(low, high, size)
        first = max(reversed(places), key=len)
        names = {p.name for p in first}
        places.append([])  # what comes where depends on how many are given
    others = {p.name: p for form in forms for p in form if p.name not in names}
    keywords = sorted(others.values(), key=lambda p: p.name in ("device", "requires_grad", "out"))
    positional: list[Shown] = []
    for i, p in enumerate(first):
        everywhere = all(len(place) > i for place in places) or i == 0
        default = _default(p, forms, everywhere)
        if positional and positional[-1].default and not default:  # Python has no required one after an optional one
            default = OMITTED
        positional.append(Shown(p.name, default, p.kind, p.arg))
    return positional + [Shown(p.name, _default(p, forms, everywhere=False), "keyword", p.arg) for p in keywords]


def _default(given: Shown, forms: Sequence[Sequence[Shown]], everywhere: bool) -> str:
    """The default where the overloads agree; OMITTED for what one requires and another does not have."""
    defaults = {p.default for form in forms for p in form if p.name == given.name}
    if defaults != {""}:
        return max(defaults)
    return "" if everywhere else OMITTED


def signature_text(parameters: Sequence[Shown]) -> str:
    """`(input, dim, keepdim=False, *, out=None)`."""
    pieces: list[str] = []
    starred = False
    for p in parameters:
        if p.kind == "keyword" and not starred:
            pieces.append("*")
        starred = starred or p.kind != "positional"
        pieces.append(str(p))
    return f"({', '.join(pieces)})"
