"""The checked declarations (Registry): the front end's result, from which the emitters write code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from pullback.codegen.formula import Formula
from pullback.codegen.schema import Arg, Schema

VARIANTS: Final = ("function", "method", "inplace", "out")
# What an array type made of pieces, or a lazy one, asks of a kernel: see docs/declarations.md.
ARRAY_TAGS: Final = ("combines", "matrices", "vectors", "rows", "value", "creation")
NUMBER_TAGS: Final = ("no_numbers", "tensor_first", "some_tensor")  # see core.arguments.refusing_numbers
# undefined: formulas receive None, not zeros, for the gradient of one of several outputs that is undefined, and for the
# tangent of one of several inputs where a helper takes them together.
TAGS: Final = (
    "pointwise",
    "reduction",
    "view",
    "random",
    "nondifferentiable",
    "undefined",
    "masking",
    "structural",
    "copying",
    "buffer",
    "floating",
    "variadic",
    "internal",
    *NUMBER_TAGS,
    *ARRAY_TAGS,
)
AREAS: Final = (
    "pointwise", "reductions", "shape", "indexing", "joining", "linalg", "nn", "random", "creation",
    "decompositions", "special", "fft", "spatial", "masked",
)  # fmt: skip


@cache
def camel(name: str) -> str:
    """max_pool -> MaxPool, fft_c2c -> FftC2C; normal and normal_ are both Normal, as in PyTorch."""
    return "".join(re.sub(r"(?:^|(?<=[0-9]))[a-z]", lambda found: found[0].upper(), part) for part in name.split("_"))


class Marker(Enum):
    """The words that may stand in place of a formula, such as `not_implemented`."""

    NOT_IMPLEMENTED = "not_implemented"
    NON_DIFFERENTIABLE = "non_differentiable"


NOT_IMPLEMENTED: Final = Marker.NOT_IMPLEMENTED
NON_DIFFERENTIABLE: Final = Marker.NON_DIFFERENTIABLE

Tangent: TypeAlias = "Formula | Literal['auto_element_wise', 'auto_linear', Marker.NOT_IMPLEMENTED] | None"
AUTO_ELEMENT_WISE: Final = "auto_element_wise"
AUTO_LINEAR: Final = "auto_linear"


@dataclass(frozen=True)
class NativeFunction:
    """One operator overload, an entry of native_functions.yaml.

    `kernel` names the primitive's kernel; `composite` the Python function of a composite: one of the two is None.
    """

    schema: Schema
    area: str
    variants: frozenset[str]
    kernel: str | None
    composite: str | None
    aliases: tuple[str, ...]
    numpy: tuple[str, ...]
    tags: frozenset[str]
    along: str | None  # the argument that says which dimensions must be whole
    doc: str
    python_module: str | None
    file: str
    line: int

    @property
    def name(self) -> str:
        """The operator's name, without the overload."""
        return self.schema.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which formulas, and `ops`, call it: its own and its aliases, special.expit as special_expit."""
        home = f"{self.python_module}." if self.python_module is not None else ""
        dotted = (alias if "." in alias else home + alias for alias in self.aliases)
        aliases = (alias.removeprefix("nn.functional.").replace(".", "_") for alias in dotted)
        return (self.name, *(alias for alias in aliases if alias != self.name))

    @property
    def is_composite(self) -> bool:
        """True if autograd sees only what it calls."""
        return self.kernel is None

    @property
    def is_view(self) -> bool:
        """True if an output is a view of an argument."""
        return any(returned.type.alias is not None and not returned.type.is_write for returned in self.schema.returns)

    @property
    def is_internal(self) -> bool:
        """True if formulas, composites and other transforms may call it, and users not."""
        return "internal" in self.tags

    @property
    def is_mutating(self) -> bool:
        """True if it writes to an argument."""
        return any(arg.type.is_write for arg in self.schema.args)

    @cached_property
    def differentiable_args(self) -> tuple[Arg, ...]:
        """The Tensor, Tensor? and Tensor[] arguments, in order."""
        return tuple(arg for arg in self.schema.args if arg.type.base == "Tensor")


@dataclass(frozen=True)
class InputFormula:
    """The formula for the gradient of one input, or of several at once (it then returns a tuple).

    `grads` are the positions, among the differentiable outputs, of the gradients that the formula uses; a Tensor[]
    output is position 0. `grad_input_mask` in the formula has one flag an input in `inputs`.
    """

    inputs: tuple[str, ...]
    formula: Formula | Marker
    grads: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Saved:
    """Something that backward formulas need of the forward.

    kind "input" is a Tensor argument (Tensor? and Tensor[] too), "output" an output, "attribute" any other argument.
    `how` is {"value"}, or the attributes that suffice, such as {"shape", "dtype"} (of a
    Tensor[] argument, a list with that of each tensor), or both where `wrap_opt_if` says when to keep the value.
    """

    name: str
    kind: Literal["input", "output", "attribute"]
    how: frozenset[str]


@dataclass(frozen=True)
class Derivative:
    """The derivative of one primitive, an entry of derivatives.yaml.

    `formulas` cover `native.differentiable_args`. `tangents` has one item an output that is differentiable, None where
    the entry gives no tangent. `saved` is in the order of the arguments, then the outputs. `grad_names` maps the
    names by which formulas call a single gradient (grad, grad_values) to its position among the differentiable outputs.
    `written` has the line and the text of each formula and tangent, by its key. `node` is the name of the node's class,
    where the entry gives one. `recompute` computes the result again, if it may be written into after it was saved.
    """

    native: NativeFunction
    formulas: tuple[InputFormula, ...]
    tangents: Mapping[str, Tangent]
    output_differentiability: tuple[bool, ...]
    saved: Mapping[str, Saved]
    grad_names: Mapping[str, int]
    line: int
    written: Mapping[str, tuple[int, str]]
    file: str = ""
    node: str | None = None
    recompute: Formula | None = None

    @property
    def differentiable_outputs(self) -> tuple[int, ...]:
        """The indices, among the returns, of the outputs with a gradient: `grads[i]` belongs to the i-th of these."""
        return tuple(i for i, flag in enumerate(self.output_differentiability) if flag)

    @property
    def parsed(self) -> list[Formula]:
        """The formulas that are expressions, of gradients and of tangents."""
        given = [*(formula.formula for formula in self.formulas), *self.tangents.values(), self.recompute]
        return [formula for formula in given if isinstance(formula, Formula)]

    def formula_for(self, arg: str) -> InputFormula:
        """Return the formula that covers the argument `arg`; KeyError if none does."""
        for formula in self.formulas:
            if arg in formula.inputs:
                return formula
        raise KeyError(arg)


@dataclass(frozen=True)
class Registry:
    """All declarations of one source.

    `natives` are in file order, `derivatives` by the unique name of their function, `helper_modules` says which module
    each helper is in, `composite_modules` likewise for composites, by area and name. The last four are what a third
    party's file names.
    """

    natives: list[NativeFunction]
    derivatives: dict[str, Derivative]
    helper_modules: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    composite_modules: Mapping[tuple[str, str], str] = field(default_factory=lambda: MappingProxyType({}))
    kernels: str | None = None
    helpers: str | None = None
    composites: str | None = None
    namespace: str | None = None

    def composite_home(self, native: NativeFunction) -> str:
        """The name under which generated code imports the module of a composite."""
        module = self.composite_modules.get((native.area, native.composite or ""))
        return f"composite_{native.area if module is None else module.rpartition('.')[2]}"

    @cached_property
    def operators(self) -> frozenset[str]:
        """The names of the operators, without overloads."""
        return frozenset(self.namesakes)

    @cached_property
    def namesakes(self) -> Mapping[str, list[NativeFunction]]:
        """The overloads by the operator's name, in file order: looked up for each, so never searched for."""
        found: dict[str, list[NativeFunction]] = {}
        for native in self.natives:
            found.setdefault(native.name, []).append(native)
        return found

    @cached_property
    def in_home(self) -> Counter[tuple[str, str | None]]:
        """How many overloads share a name and a public home."""
        return Counter((native.name, native.python_module) for native in self.natives)

    @cached_property
    def with_kernel(self) -> Counter[str]:
        """How many overloads share a kernel."""
        return Counter(native.kernel or "" for native in self.natives)

    @cached_property
    def in_area(self) -> Counter[tuple[str, str]]:
        """How many share a name and an area."""
        return Counter((native.name, native.area) for native in self.natives)

    @cached_property
    def node_numbers(self) -> Mapping[str, int]:
        """The number in each primitive's node (MaxBackward1), by unique name: in the order of declaration."""
        found: dict[str, int] = {}
        counts: dict[str, int] = {}
        for native in self.natives:
            if not native.is_composite:
                name = camel(native.name)
                found[native.schema.unique_name] = counts.setdefault(name, 0)
                counts[name] += 1
        return found

    @cached_property
    def operator_tables(self) -> Mapping[str, str]:
        """Where formulas find this source's operators, if not in `ops` itself: `ops.<namespace>`, a third party's."""
        names = (name for native in self.natives for name in native.names)
        return dict.fromkeys(names, f"ops.{self.namespace}") if self.namespace is not None else {}
