"""A declaration -> its row: the statement that makes an overload's functions from kernel, node and signature."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pullback.codegen.emit_calls import call_name
from pullback.codegen.emit_overloads import OverloadsEmitter
from pullback.codegen.emit_signature import SignatureEmitter
from pullback.codegen.model import ARRAY_TAGS, NUMBER_TAGS, NativeFunction, Registry
from pullback.codegen.naming import function_name, is_overloaded, node_class, parameter, public_name
from pullback.codegen.quoting import tuple_of
from pullback.codegen.signature import REQUIRED, Arg


class RowEmitter:
    """Writes the row of one overload."""

    def __init__(self, native: NativeFunction, registry: Registry) -> None:
        self.native, self.schema, self.registry = native, native.schema, registry
        self.name = function_name(native, registry)
        self.tensors = [arg for arg in self.schema.args if arg.type.is_tensor]
        self.lists = [arg for arg in self.schema.args if arg.type.is_tensor_list]
        returns = self.schema.returns
        self.returns_tensor = len(returns) == 1 and returns[0].type.is_tensor
        takes_dtype = any(arg.type.base == "ScalarType" for arg in self.schema.args)  # zeros_like, new_zeros
        self.is_creation = native.area in ("creation", "random") and self.returns_tensor
        self.is_creation = self.is_creation and (takes_dtype or not self.tensors)
        self.takes_dtype = takes_dtype
        self.signature = SignatureEmitter(native, self.is_creation)
        self.args = [parameter(arg.name) for arg in self.schema.args]

    @property
    def records(self) -> bool:
        """True if a node is recorded, be it one that says that the derivative is not implemented."""
        if self.schema.unique_name in self.registry.derivatives:
            return True
        if self.native.is_composite or "nondifferentiable" in self.native.tags:
            return False
        returns = self.schema.returns
        return bool(self.native.differentiable_args and returns) and all(r.type.base == "Tensor" for r in returns)

    def emit(self) -> list[str]:
        """The pieces of the row, a call: its head, then its arguments."""
        return self._composite() if self.native.is_composite else self._primitive()

    def signature_text(self) -> str:
        """The function that gives a call its public parameters; "" where they are those of the call itself.

        Operators with the same parameters have the same text, whatever they are called.
        """
        parameters = self.signature.parameters()
        if (self._call(), parameters) in _OWN_SIGNATURES and not self.native.is_composite:
            return ""
        by_name = self.native.is_composite  # whose functions take arguments as the schema says
        values = [f"{a.name}={v}" if a.kwarg_only and by_name else v for a, v in self._values()]
        if self.is_creation:
            values += ["device=device", "requires_grad=requires_grad"]
        if self.signature.has_out:
            values.append("out=out")
        return f"lambda {', '.join(parameters)}: {self.signature.call(values)}"

    def _values(self) -> list[tuple[Arg, str]]:
        """Each argument of the schema with the expression for it, in whatever spelling it was given."""
        return [(arg, self.signature.value(arg)) for arg in self.schema.args]

    # -- composites ------------------------------------------------------------------------------------------
    def _composite(self) -> list[str]:
        function = f"{self.registry.composite_home(self.native)}.{self.native.composite}"
        options = ["creates=True"] if self.is_creation else []
        if self.native.is_view and "inplace" in self.native.variants:
            options.append("view=True")
        named = len(self.schema.returns) > 1 and all(returned.name for returned in self.schema.returns)
        if named and not self.native.is_internal:
            options.append(f"outputs={self.schema.output_names!r}")
        return ["composite", self._title(), function, f"<{self.signature_text()}>", *options, *self._facts()]

    # -- primitives ------------------------------------------------------------------------------------------
    def _primitive(self) -> list[str]:
        derivative = self.registry.derivatives.get(self.schema.unique_name)
        node = node_class(self.native, self.registry) if derivative is not None else "None"
        call, signature = self._call(), self.signature_text()
        head = [self._title(), f"kernels.{self.native.kernel}", node, call or "None"]
        head.append(f"<{signature}>" if signature else "None")
        while head[-1] == "None":
            head.pop()
        return ["primitive", *head, *self._returned(), *self._options(derivative is not None), *self._facts()]

    def _returned(self) -> list[str]:
        """The keyword arguments of the row for results that are several arrays, a list, or a view."""
        returns = self.schema.returns
        if returns[0].type.base != "Tensor":
            return ['returns="value"']
        view = ["view=True"] if self.native.is_view else []
        if self.schema.returns_list:
            return ['returns="list"', *view]
        return [f"outputs={self.schema.output_names!r}", *view] if len(returns) > 1 else view

    def _options(self, derived: bool) -> list[str]:
        """The keyword arguments of the row that differ from the defaults for primitives."""
        native, options = self.native, []
        if self._positions(self.tensors) != '((0, "input"),)':
            options.append(f"tensors={self._positions(self.tensors)}")
        if self.lists:
            options.append(f"lists={self._positions(self.lists)}")
        if native.kernel != self.schema.name:
            options.append(f'kernel_name="{native.kernel}"')
        if not derived and self.records:
            options.append("underived=True")
        if self.takes_dtype and derived and self.returns_tensor:
            options.append("takes_dtype=True")
        if tags := sorted(native.tags & _KEPT_TAGS):
            options.append(f'tags="{" ".join(tags)}"')
        if native.along is not None:
            options.append(f'along="{native.along}"')
        tensors = (*self.tensors, *self.lists)
        if optional := [parameter(arg.name) for arg in tensors if arg.type.optional or arg.type.optional_items]:
            options.append(f'optional="{" ".join(optional)}"')
        if self.registry.with_kernel[native.kernel or ""] > 1:
            options.append(f"arity={len(self.schema.args)}")
        if self.registry.namespace is not None:
            options.append(f'namespace="{self.registry.namespace}"')
        return options

    def _call(self) -> str:
        """The factory of the common case; "" for none."""
        if self.native.is_mutating:
            return "writing"
        if self.is_creation:
            return "creating"
        args, returns = self.schema.args, self.schema.returns
        if returns[0].type.base != "Tensor":
            return ""
        first = len(self.tensors)
        if self.lists:
            fits = self.lists == [args[0]] and not self.tensors and self.returns_tensor
            return "list_of_tensors" if fits else ""
        if self.tensors != list(args[:first]) or any(arg.type.optional for arg in self.tensors[:1]):
            return ""
        further = len(args) - first
        if self.returns_tensor:
            if first == 2 and self.tensors[1].type.optional:
                return ""
            return call_name(first, further)
        return "several_results" if first == 1 else ""

    # -- both ------------------------------------------------------------------------------------------------
    def _title(self) -> str:
        return f'"{self.schema.full_name}"'

    def _positions(self, args: list[Arg]) -> str:
        """The (position, name) pairs of some arguments."""
        return tuple_of([f'({self.schema.args.index(arg)}, "{parameter(arg.name)}")' for arg in args])

    def _facts(self) -> list[str]:
        """The keyword arguments of the row that give the public names of the overload."""
        native, home = self.native, self.native.python_module or ""
        facts = []
        forms = " ".join(form for form in ("function", "method") if form in native.variants)
        if forms != "function method":
            facts.append(f'forms="{forms}"')
        if "inplace" in native.variants:
            facts.append("inplace=True")
        if home:
            facts.append(f'home="{home}"')
            if public_name(native.name, home) != native.name:
                facts.append(f'shown="{public_name(native.name, home)}"')
        for key, names in (("aliases", native.aliases), ("numpy", native.numpy)):
            if names:
                facts.append(f'{key}="{" ".join(names)}"')
        if native.is_internal:
            facts.append("internal=True")
        if rules := sorted(native.tags.intersection(NUMBER_TAGS)):
            names = tuple(parameter(arg.name) for arg in self.tensors)
            facts.append(f'refuses=("{rules[0]}", {names!r})')
        if is_overloaded(native, self.registry):
            facts.append(f"params={tuple_of([_parameter(arg) for arg in self.schema.args])}")
        return facts


_KEYWORD = re.compile(r"[a-z_]+=")

# Those that are asked for at run time.
_KEPT_TAGS = frozenset(
    {*ARRAY_TAGS, "buffer", "copying", "floating", "masking", "pointwise", "random", "reduction", "structural", "view"}
)
_OWN_SIGNATURES = [
    ("one_tensor_0", ["input", "*", "out=None"]),
    ("two_tensors_0", ["input", "other", "*", "out=None"]),
]


def _parameter(arg: Arg) -> str:
    """A parameter as the choice among overloads takes it: name, kind, optional, required, keyword-only."""
    kind = arg.type.base if not arg.type.is_list else f"{arg.type.base}[]"
    return f'("{parameter(arg.name)}", "{kind}", {arg.type.optional}, {arg.default is REQUIRED}, {arg.kwarg_only})'


def emit_rows(natives: Sequence[NativeFunction], registry: Registry, compact: bool = False) -> str:
    """The signatures that the rows name, each once, and the list of rows; `compact` says once what all rows share."""
    names: dict[str, str] = {}  # text of a signature -> its name, after the first operator that has it
    rows = []
    for native in natives:
        emitter = RowEmitter(native, registry)
        text, row = emitter.signature_text(), emitter.emit()
        if text:
            name = names.setdefault(text, f"like_{native.schema.unique_name}")
            row = [name if piece == f"<{text}>" else piece for piece in row]
        rows.append(row)
    shared = _shared(rows) if compact else []
    own = [f"row = primitives_with({', '.join(shared)})"] if shared else []
    texts = [_filled(["row", *(piece for piece in row[1:] if piece not in shared)] if shared else row) for row in rows]
    signatures = [_signature(name, text) for text, name in names.items()]
    chosen = [OverloadsEmitter(group) for group in overload_groups(natives)]
    choices = {emitter.overloads[0]: emitter.emit() for emitter in chosen if emitter.is_possible}
    entries = [f'"{_key(first)}": choose_{first.name}' for first in choices]
    ends = [*own, "OPERATORS = [", *texts, "]", f"CHOICES = {{{', '.join(entries)}}}", "# fmt: on"]
    return "\n".join(["\n\n\n".join(choices.values()), "", "", "# fmt: off", *signatures, "", *ends])


def _shared(rows: Sequence[Sequence[str]]) -> list[str]:
    """The keyword arguments that all rows have; none if any is a composite's."""
    if any(row[0] != "primitive" for row in rows):
        return []
    return [piece for piece in rows[0] if _KEYWORD.match(piece) and all(piece in row for row in rows)]


def overload_groups(natives: Sequence[NativeFunction]) -> list[list[NativeFunction]]:
    """The overloads of each operator that has several."""
    groups: dict[str, list[NativeFunction]] = {}
    for native in natives:
        groups.setdefault(_key(native), []).append(native)
    return [group for group in groups.values() if len(group) > 1]


def _key(native: NativeFunction) -> str:
    return f"{native.python_module or ''}:{native.name}"


def _signature(name: str, text: str) -> str:
    whole = f"{name} = lambda run: {text}"
    if len(whole) <= 120:
        return whole
    parameters, call, values = text.partition("run(" if ": run(" in text else " else run(")
    return f"{name} = lambda run: {parameters}{call}\n    {values}"


def _filled(row: list[str]) -> str:
    """A row in as few lines as it needs."""
    head, *arguments = row
    lines = [f"    {head}("]
    for nr, argument in enumerate(arguments):
        piece = argument + ("," if nr + 1 < len(arguments) else "),")
        if len(lines[-1]) + len(piece) + 1 > 120:
            lines.append(f"        {piece}")
        else:
            lines[-1] += piece if lines[-1].endswith("(") else f" {piece}"
    return "\n".join(lines)
