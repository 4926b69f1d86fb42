"""The names that generated code uses for what the declarations name."""

from __future__ import annotations

from types import MappingProxyType

from pullback.codegen.emit_calls import CALLS
from pullback.codegen.errors import Where
from pullback.codegen.model import NativeFunction, Registry, camel

# What generated code may use, and where it comes from. Only what a module names is imported.
CORE: dict[str, tuple[str, ...]] = {
    "pullback.core.arguments": (
        "AN_INT", "A_NUMBER", "SOME_INTS", "UNSET", "a_flag", "a_number", "an_int", "given", "int_list", "is_array",
        "is_bool", "is_int", "is_list", "is_no_array", "is_no_bool", "is_text", "missing_argument", "number_type",
        "refuse_keyword", "renamed", "some_ints", "tensor_list",
    ),
    "pullback.core.array_type": ("TENSOR",),
    "pullback.graph.node": ("MultiNode", "Node"),
    "pullback.graph.saved": ("unwritten",),
    "pullback.graph.saving": ("Saves",),
    "pullback.graph.saving_nodes": ("SavesSelf",),
    "pullback.graph.slopes": ("Slopes",),
    "pullback.graph.undifferentiable": (
        "derivative_not_implemented", "no_tangent", "sum_of_terms", "tangent_or_zeros", "tangents_or_zeros",
    ),
    "pullback.ops.constants": ("inf", "nan", "pi"),  # may be defaults of arguments; the others stand in formulas alone
    "pullback.ops.declarations": ("composite", "creating", "primitive", "primitives_with", "writing"),
    "pullback.ops.extension": ("enter",),
    "pullback.ops.generated.calls": CALLS,
    "pullback.ops.tangent_names": ("tangents_of",),
}  # fmt: skip

# Names that generated methods use themselves; a local variable for an argument of that name gets an underscore.
_TAKEN = frozenset({"grad", "grads", "ops", "unpack", "node", "out", "kernels", "self", "result"})


def parameter(arg: str) -> str:
    """The Python parameter of a public function: PyTorch calls the first one `input`."""
    return "input" if arg == "self" else arg


def public_name(name: str, home: str) -> str:
    """The name of an operator in its public home: linalg_svd is linalg.svd."""
    return name.removeprefix(home.replace(".", "_") + "_") if home else name


def local(name: str) -> str:
    """The local variable for an argument or an output inside a node's apply()."""
    return f"{name}_" if name in _TAKEN else name


def gradient(arg: str) -> str:
    """The local variable for the gradient of an argument inside a node's apply()."""
    return f"grad_of_{arg}"


# Operators whose node PyTorch has written by hand, under a name of its own.
_OWN_NAMES = MappingProxyType({"copy": "CopyBackwards"})


def node_class(native: NativeFunction, registry: Registry) -> str:
    """PyTorch's name of the node, MulBackward0: given under `node:`, or numbered in the order of declaration."""
    if registry.namespace is None and native.name in _OWN_NAMES:
        return _OWN_NAMES[native.name]
    derivative = registry.derivatives.get(native.schema.unique_name)
    if derivative is not None and derivative.node is not None:
        return derivative.node
    return f"{camel(native.name)}Backward{registry.node_numbers[native.schema.unique_name]}"


def check_node_names(registry: Registry) -> None:
    """Refuse a name under `node:` that another entry's node has too."""
    if not any(derivative.node for derivative in registry.derivatives.values()):
        return
    taken: dict[str, NativeFunction] = {}
    for derivative in sorted(registry.derivatives.values(), key=lambda d: d.node is not None):
        name = node_class(derivative.native, registry)
        other = taken.setdefault(name, derivative.native)
        if other is not derivative.native:
            raise Where(derivative.file, derivative.line, str(derivative.native.schema)).error(
                f"the node's name {name!r} is that of {other.schema.full_name!r} too",
                "Give each a name of its own under `node:`",
            )


def function_name(native: NativeFunction, registry: Registry) -> str:
    """The generated Python function of one overload; the plain name is the resolver's when there are several."""
    if is_overloaded(native, registry):
        return f"{native.name}_{native.schema.overload or 'plain'}"
    # A namesake with another public home may be in the same area, whose functions share one module.
    return native.schema.unique_name if registry.in_area[native.name, native.area] > 1 else native.name


def is_overloaded(native: NativeFunction, registry: Registry) -> bool:
    """True if another overload shares the name and the public home."""
    return registry.in_home[native.name, native.python_module] > 1


def qualified(name: str, registry: Registry) -> str:
    """A name in the tables that all sources share: that of a third party has its namespace before it."""
    return name if registry.namespace is None else f"{registry.namespace}.{name}"
