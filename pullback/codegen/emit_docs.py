"""Declaration, derivative, vocabulary and what trying it found -> an operator's documentation, in numpydoc form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from types import MappingProxyType
from typing import Any

from pullback.codegen.errors import DeclarationError
from pullback.codegen.formula import Formula
from pullback.codegen.model import (
    AUTO_ELEMENT_WISE,
    AUTO_LINEAR,
    NON_DIFFERENTIABLE,
    NOT_IMPLEMENTED,
    Derivative,
    Marker,
    NativeFunction,
    Registry,
)
from pullback.codegen.naming import parameter, public_name
from pullback.codegen.signature import Type
from pullback.codegen.user_signature import Shown, merged_parameters, shown_parameters, signature_text
from pullback.codegen.whitelist import CONSTANTS

_WIDTH = 100
_SENTENCE = re.compile(r"(?<=[^.]\.) ")  # its end; three points go on
_PLAIN = ("e", "inf", "nan", "pi")  # constants that need no word
_KEYS = ("example", "inplace_example", "notes", "parameters", "raises", "returns", "shape", "source")


@dataclass(frozen=True)
class Found:
    """Holds what the records and a trial of the operator say of it; empty where they say nothing."""

    dtypes: str = ""  # of the tensors that it takes
    returns: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # text by output; "" for the only one
    raises: Sequence[tuple[str, str]] = ()
    limits: Sequence[str] = ()
    differentiable: bool | None = None
    example: str = ""
    inplace_example: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """The texts of `documentation.yaml`, and the first line of each helper's docstring."""

    parameters: Mapping[str, Any]
    operators: Mapping[str, Mapping[str, Any]]
    helpers: Mapping[str, str]


class Page:
    """The documentation of one operator, all its overloads together."""

    def __init__(
        self, overloads: Sequence[NativeFunction], registry: Registry, words: Vocabulary, found: Found
    ) -> None:
        self.overloads, self.registry, self.words, self.found = overloads, registry, words, found
        self.first = overloads[0]
        home = self.first.python_module or ""
        self.name = public_name(self.first.name, home)
        self.called = f"{home}.{self.name}" if home else self.name
        self.own = words.operators.get(self.called, {})
        self.parameters = merged_parameters(overloads, registry)
        self.names = frozenset(shown.name for shown in self.parameters if shown.kind != "variadic")

    def check(self) -> None:
        """Refuse words about what is not there."""
        unknown = set(self.own) - set(_KEYS) | set(self.own.get("parameters", {})) - {p.name for p in self.parameters}
        if unknown:
            raise DeclarationError(
                "documentation.yaml", 0, self.called, f"has {', '.join(sorted(map(repr, unknown)))}",
                f"Name a parameter, or write one of: {', '.join(_KEYS)}",
            )  # fmt: skip

    def text(self) -> str:
        """The docstring."""
        sections = [self.summary(), *self._section("Parameters", self._parameters())]
        sections += self._section("Returns", self._returns())
        sections += self._section("Raises", self._raises())
        notes = "\n\n".join(self._notes())
        sections += self._section("Notes", [notes] if notes else [])
        sources = [self.own["source"]] if isinstance(self.own.get("source"), str) else self.own.get("source", [])
        references = [_filled(f".. [{nr}] {source}", "   ") for nr, source in enumerate(sources, 1)]
        sections += self._section("References", references)
        sections += self._section("Examples", [self.found.example] if self.found.example else [])
        return "\n\n".join(sections)

    def inplace_text(self) -> str:
        """The docstring of the form that writes into its first argument."""
        refused = (
            "`input` is a leaf that requires grad, or a view that may not be written into, while gradients are recorded"
        )
        if self.first.is_view:
            head = f"`{self.called}` in place: nothing is written, `input` itself becomes that view and is returned."
        else:
            head = f"`{self.called}` in place: the result is written into `input`, which is returned."
            refused += "; or the result does not fit its shape or dtype"
        if all(native.variants <= {"inplace"} for native in self.overloads):  # there is no other form
            head = "Works in place: the result is written into `input`, which is returned."
        changing = [native for native in self.overloads if "inplace" in native.variants]
        changed, *others = map(self._parameter, merged_parameters(changing, self.registry, inplace=True))
        changed = re.sub(r"Tensor(, ndarray)? or (ndarray|number)", "Tensor", changed, count=1)
        sections = [head, self._first_paragraph(), *self._section("Parameters", [changed, *others])]
        sections += self._section("Returns", [_entry("Tensor", "`input` itself.")])
        sections += self._section("Raises", [_entry("RuntimeError", f"{refused}.")])
        sections += self._section("Examples", [self.found.inplace_example] if self.found.inplace_example else [])
        return "\n\n".join(sections)

    # -- the sections ----------------------------------------------------------------------------------------
    def _section(self, title: str, entries: Sequence[str]) -> list[str]:
        return ["\n".join([title, "-" * len(title), *entries])] if entries else []

    def summary(self) -> str:
        """Return what it computes, and the forms of the call if there are several."""
        texts = [_said(native.doc or f"{native.name}.") for native in self.overloads]
        if len(self.overloads) == 1 or len(set(texts)) == 1:
            return self._first_paragraph()
        forms = [signature_text(shown_parameters(native, self.registry)) for native in self.overloads]
        lines = [
            f"{self.name}{form}\n{_filled('    ' + _capital(t, self.names), '    ')}"
            for form, t in zip(forms, texts, strict=True)
        ]
        return "\n\n".join([self._first_paragraph(), "Forms of the call:", *lines])

    def _first_paragraph(self) -> str:
        """The summary of the first overload, its first sentence in a paragraph of its own."""
        text = _capital(_said(self.first.doc or f"{self.first.name}."), self.names)
        parts = _SENTENCE.split(" ".join(text.split()), maxsplit=1)
        return "\n\n".join(_filled(part) for part in (parts if len(parts) > 1 else [text]))

    def _parameters(self) -> list[str]:
        return [self._parameter(shown) for shown in self.parameters]

    def _parameter(self, shown: Shown) -> str:
        types = ["Tensor"] if shown.name == "out" else [self._type(t) for t in self._types(shown)]
        if shown.name == "out" and any(len(native.schema.returns) > 1 for native in self.overloads):
            types.append("tuple of Tensors")
        elif shown.name == "out" and any(native.schema.returns_list for native in self.overloads):
            types = ["tuple of Tensors"]
        kind = " or ".join(dict.fromkeys(types))
        if shown.arg.type.is_tensor and self._is_main(shown) and self.found.dtypes:
            kind += f", {self.found.dtypes}"
        if shown.default == "None":
            kind += ", optional"
        elif shown.default == "...":
            kind += ", in some forms"
        elif shown.default and shown.kind != "variadic":
            kind += f", default {shown.default}"
        name = f"*{shown.name}" if shown.kind == "variadic" else shown.name
        if shown.kind == "variadic":
            kind = "Tensors, or one sequence of them" if shown.arg.type.is_tensor_list else "int, or one tuple of int"
        text = self._meaning(shown)
        return f"{name} : {kind}" + (f"\n{_filled('    ' + text, '    ')}" if text else "")

    def _is_main(self, shown: Shown) -> bool:
        tensors = [p.name for p in self.parameters if p.arg.type.is_tensor]
        return shown.name == ("input" if "input" in tensors else tensors[0])

    def _types(self, shown: Shown) -> list[Type]:
        args = [arg for native in self.overloads for arg in native.schema.args if parameter(arg.name) == shown.name]
        return [arg.type for arg in args] or [shown.arg.type]

    def _type(self, type_: Type) -> str:
        tags = self.first.tags
        if type_.is_tensor:
            # Plain numbers are for operators on single elements; a tag says where even these want a tensor.
            numbers = "pointwise" in tags and not tags & {"no_numbers", "tensor_first"}
            return "Tensor, ndarray or number" if numbers else "Tensor or ndarray"
        if type_.is_list and type_.base == "int":
            return "int or tuple of int" if type_.list_size else "tuple of int"
        if type_.is_list:
            return {"Tensor": "sequence of Tensors"}.get(type_.base, f"sequence of {type_.base}")
        return {"Scalar": "number", "ScalarType": "dtype", "index": "object", "any": "object"}.get(
            type_.base, type_.base
        )

    def _meaning(self, shown: Shown) -> str:
        own = self.own.get("parameters", {})
        if shown.name in own:
            return str(own[shown.name])
        name = "self" if shown.name == "input" and shown.arg.name == "self" else shown.name
        entry = self.words.parameters.get(name)
        if entry is None:
            raise DeclarationError(
                "documentation.yaml", 0, self.called, f"has no text for the parameter {name!r}",
                "Write one under `parameters:`, or under those of this operator",
            )  # fmt: skip
        if isinstance(entry, Mapping):
            like = ["like"] if self.first.schema.arg("self") is not None else []
            area = [*like, self.first.area] if self.first.area in ("creation", "random") else []
            kinds = [shown.kind, *area, *(str(t) for t in self._types(shown))]
            entry = next((entry[kind] for kind in kinds if kind in entry), None) or entry.get("else", "")
        return _said(str(entry))

    def _returns(self) -> list[str]:
        if "returns" in self.own:
            lines = re.sub(r"\n +(?=\S)", "\n    ", str(self.own["returns"]))
            return [_filled(line, "    ") for line in re.sub(r"(\n    .*)\n    ", r"\1 ", lines).splitlines()]
        entries: list[str] = []
        for native in self.overloads:
            for entry in self._returned(native):
                if entry not in entries:
                    entries.append(entry)
        return entries

    def _returned(self, native: NativeFunction) -> list[str]:
        returns, texts = native.schema.returns, dict(self.found.returns)
        shapes = self.own.get("shape", {})  # of the only result, or by the names of several
        for name, shape in (shapes if isinstance(shapes, dict) else {"": shapes}).items():
            texts[name] = f"{shape} {texts.get(name, '')}".strip()
        if not returns:
            return []
        if native.schema.returns_list:
            return [_entry("tuple of Tensors", texts.get("", ""))]
        if len(returns) > 1:
            names = native.schema.output_names
            return [_entry(f"{name} : Tensor", texts.get(name, "")) for name in names]
        base = returns[0].type.base
        kind = {"Scalar": "number", "any": "object", "ScalarType": "dtype"}.get(base, base)
        single = texts.get("", "") if len({len(n.schema.returns) for n in self.overloads}) == 1 else ""
        return [_entry(kind, single)]

    def _raises(self) -> list[str]:
        own = dict(self.own.get("raises", {}))
        pairs = [*own.items(), *((e, t) for e, t in self.found.raises if t not in own.values())]
        by_error: dict[str, list[str]] = {}
        for error, text in pairs:
            by_error.setdefault(error, []).append(text)
        return [
            "\n".join([error, *([_filled(f"    {texts[0]}", "    ")] if len(texts) == 1 else map(_point, texts))])
            for error, texts in by_error.items()
        ]

    # -- notes -----------------------------------------------------------------------------------------------
    def _notes(self) -> list[str]:
        notes = [_filled(note) for note in self._lines("notes")]
        notes += self._derivatives()
        if self.found.limits:
            notes.append(
                "At special points:\n\n" + "\n".join(_filled(f"- {limit}", "  ") for limit in self.found.limits)
            )
        return notes

    def _lines(self, key: str) -> list[str]:
        return [line for line in str(self.own.get(key, "")).splitlines() if line.strip()]

    def _derivatives(self) -> list[str]:
        known = [self.registry.derivatives.get(native.schema.unique_name) for native in self.overloads]
        derivatives = [derivative for derivative in known if derivative is not None]
        if derivatives:
            return [part for derivative in derivatives for part in self._formulas(derivative, len(self.overloads) > 1)]
        if self.found.differentiable is False:
            return ["Not differentiable: no gradient goes back through it."]
        if all(native.is_composite for native in self.overloads) and self.found.differentiable:
            return ["Differentiated through the operators that it is made of."]
        return []

    def _formulas(self, derivative: Derivative, named: bool) -> list[str]:
        vjp, jvp = _vjp(derivative, self._readable), _jvp(derivative, self._readable)
        parts = []
        if lines := [*vjp.lines, *jvp.lines]:
            form = signature_text(shown_parameters(derivative.native, self.registry))
            legend = _legend(vjp, jvp, f" of {self.name}{form}" if named else "")
            parts.append(f"{legend}::\n\n" + "\n".join(_code(line) for line in lines))
        parts += [_filled(" ".join(jvp.sentences))] if jvp.sentences else []
        if explained := self._helpers([*vjp.formulas, *jvp.formulas]):
            parts.append(explained)
        return parts + vjp.sentences

    def _helpers(self, formulas: Sequence[Formula]) -> str:
        """Return what the names in the formulas mean, but for those that are public."""
        said = {name: f"{CONSTANTS[name]}." for f in formulas for name in f.constants if name not in _PLAIN}
        for name in {name for f in formulas for name in f.operators}:
            native = self.registry.namesakes[name][0]
            if native.is_internal:
                form = ", ".join(parameter(arg.name) for arg in native.schema.args)
                said[f"{name}({form})"] = _said(native.doc or "")
        for name in {name for f in formulas for name in f.helpers}:
            said[name] = _said(self.words.helpers.get(name, ""))
        lines = [_filled(f"- `{name}`: {text}", "  ") for name, text in sorted(said.items()) if text]
        return "\n".join(["Names in the formulas:\n", *lines]) if lines else ""

    def _readable(self, formula: Formula) -> str:
        """A formula with the names that a user knows: `input`, its tangent `input_t`, and `special.zeta`."""
        text = re.sub(r"wrap_opt_if\((\w+), [^()]*\)", r"\1", formula.text)  # what is saved is no user's concern
        text = re.sub(r"\b(\w+)_p\b", r"\1", text)
        text = re.sub(r"\bself(_t)?\b", lambda found: f"input{found[1] or ''}", text)
        for name in sorted(formula.operators):
            homes = {native.python_module for native in self.registry.namesakes[name]}
            if None not in homes and (home := min(map(str, homes))):
                text = re.sub(rf"\b{name}\(", f"{home}.{public_name(name, home)}(", text)
        return text


@dataclass
class _Rules:
    """Holds what an entry of derivatives.yaml says: formulas, their lines, and sentences."""

    lines: list[str] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


def _vjp(derivative: Derivative, readable: Callable[[Formula], str]) -> _Rules:
    rules = _Rules()
    others: dict[Marker, list[str]] = {NOT_IMPLEMENTED: [], NON_DIFFERENTIABLE: []}
    for given in derivative.formulas:
        names = [parameter(name) for name in given.inputs]
        if isinstance(given.formula, Formula):
            rules.formulas.append(given.formula)
            rules.lines.append(f"{', '.join(f'grad_{name}' for name in names)} = {readable(given.formula)}")
        else:
            others[given.formula] += names
    if unknown := others[NOT_IMPLEMENTED]:
        rules.sentences.append(f"The derivative with respect to {_listed(unknown)} is not implemented.")
    if without := others[NON_DIFFERENTIABLE]:
        rules.sentences.append(f"No gradient goes to {_listed(without)}.")
    return rules


def _jvp(derivative: Derivative, readable: Callable[[Formula], str]) -> _Rules:
    rules = _Rules()
    for output, tangent in derivative.tangents.items():
        if isinstance(tangent, Formula):
            rules.formulas.append(tangent)
            rules.lines.append(f"{output}_t = {readable(tangent)}")
        elif tangent == AUTO_ELEMENT_WISE:
            rules.sentences.append("jvp: the tangent times the slope by which the vjp multiplies (without conj).")
        elif tangent == AUTO_LINEAR:
            rules.sentences.append("jvp: the operator is linear, so it is applied to the tangent.")
        elif tangent is NOT_IMPLEMENTED:
            rules.sentences.append("The jvp is not implemented.")
    rules.sentences = list(dict.fromkeys(rules.sentences))
    return rules


def _legend(vjp: _Rules, jvp: _Rules, form: str) -> str:
    """Return what the names in the formulas mean."""
    kinds, names = [], []
    if vjp.lines:
        kinds.append("vjp")
        several = any(re.search(r"\bgrads\b", line) for line in vjp.lines)
        names.append(
            "`grads` for the cotangents of the results" if several else "`grad` for the cotangent of the result"
        )
    if jvp.lines:
        kinds.append("jvp")
        names.append("`x_t` for the tangent of `x`")
    return _filled(f"{' and '.join(kinds)}{form}, with {' and '.join(names)}")


def _code(line: str) -> str:
    """A formula, indented; one that is too long goes on below."""
    if len(line) <= _WIDTH - 4:
        return f"    {line}"
    return fill(
        line,
        _WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _entry(head: str, text: str) -> str:
    return f"{head}\n{_filled('    ' + text, '    ')}" if text else head


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in dict.fromkeys(names)]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _said(text: str) -> str:
    """A text of the declarations in the words of a user, for whom the first argument is `input`."""
    return re.sub(r"(?<![`\w])self(?![\w`])", "input", text.replace("`self`", "`input`"))


def _capital(text: str, names: frozenset[str]) -> str:
    """The text with a capital, unless it begins with a parameter's name, nan or a formula."""
    word = re.match(r"[a-z]{2,}\b(?![(_.\d])", text)
    formula = re.match(r"\w+ [-+*/<=>|&^!~]", text)
    if word is None or formula is not None or word[0] in names | {"nan"}:
        return text
    return text[:1].upper() + text[1:]


def _point(text: str) -> str:
    return _filled(f"    - {text}", "      ")


def _filled(text: str, further: str = "") -> str:
    """A paragraph in lines of at most 100 characters; its own line breaks stay."""
    return "\n".join(
        fill(line, _WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )
