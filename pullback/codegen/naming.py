"""The names that generated code uses for what the declarations name."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from types import MappingProxyType

from pullback.codegen.errors import Where
from pullback.codegen.model import NativeFunction, Registry

# What generated code may use, and where it comes from. Only what a module names is imported.
CORE: dict[str, tuple[str, ...]] = {
    "collections": ("namedtuple",),
    "math": ("inf", "nan", "pi"),
    "numpy": ("asarray", "ndarray"),
    "pullback.core.arguments": ("UNSET", "int_list", "missing_argument", "number_type", "tensor_list"),
    "pullback.core.dispatch": (
        "NUMERIC", "SCALARS", "TENSOR", "Operator", "attribute", "created", "dispatch", "explain", "wrap_result",
    ),
    "pullback.core.inplace_views": ("become_view",),
    "pullback.core.modes": ("current",),
    "pullback.core.mutation": ("assign", "inplace", "mutate"),
    "pullback.core.node": ("MASKING", "MultiNode", "Node", "port", "start_multi"),
    "pullback.core.out": ("assign_out", "write_out"),
    "pullback.core.saved": ("Released", "version_when_saved", "watch_output"),
    "pullback.core.sequence": ("next_sequence_nr",),
    "pullback.core.tangent_rules": ("Rule",),
    "pullback.core.tensor": ("Tensor", "new"),
    "pullback.core.undifferentiable": (
        "derivative_not_implemented", "no_tangent", "not_implemented", "sum_of_terms", "tangent_or_zeros",
        "tangents_or_zeros",
    ),
    "pullback.core.view": ("make_view", "shares_memory"),
    "pullback.ops.extension": ("enter",),
    "pullback.ops.tables": ("Overload",),
}  # fmt: skip

# Names that generated methods use themselves; a local variable for an argument of that name gets an underscore.
_TAKEN = frozenset({"grad", "grads", "ops", "unpack", "node", "out", "kernels", "self", "result"})


def parameter(arg: str) -> str:
    """The Python parameter of a public function: PyTorch calls the first one `input`."""
    return "input" if arg == "self" else arg


def public_name(name: str, home: str) -> str:
    """What an operator is called in its public home: linalg_svd is linalg.svd."""
    return name.removeprefix(home.replace(".", "_") + "_") if home else name


def local(name: str) -> str:
    """The local variable for an argument or an output inside a node's apply()."""
    return f"{name}_" if name in _TAKEN else name


def gradient(arg: str) -> str:
    """The local variable for the gradient of an argument inside a node's apply()."""
    return f"grad_of_{arg}"


def unused(name: str, native: NativeFunction) -> str:
    """`name`, or with underscores before it, so that no parameter of the function is called so."""
    taken = {parameter(arg.name) for arg in native.schema.args}
    while name in taken:
        name = f"_{name}"
    return name


# Operators whose node PyTorch has written by hand, under a name of its own.
_OWN_NAMES = MappingProxyType({"copy": "CopyBackwards"})


def node_class(native: NativeFunction, registry: Registry) -> str:
    """PyTorch's name of the node, MulBackward0: given under `node:`, or numbered in the order of declaration."""
    if registry.namespace is None and native.name in _OWN_NAMES:
        return _OWN_NAMES[native.name]
    derivative = registry.derivatives.get(native.schema.unique_name)
    if derivative is not None and derivative.node is not None:
        return derivative.node
    camel = _camel(native.name)
    overloads = [n for n in registry.natives if not n.is_composite and _camel(n.name) == camel]
    return f"{camel}Backward{overloads.index(native)}"


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


@functools.cache
def _camel(name: str) -> str:
    """max_pool -> MaxPool, fft_c2c -> FftC2C; normal and normal_ are both Normal, as in PyTorch."""
    return "".join(re.sub(r"(?:^|(?<=[0-9]))[a-z]", lambda found: found[0].upper(), part) for part in name.split("_"))


def function_name(native: NativeFunction, registry: Registry) -> str:
    """The generated Python function of one overload; the plain name is the resolver's when there are several."""
    if is_overloaded(native, registry):
        return f"{native.name}_{native.schema.overload or 'plain'}"
    # A namesake with another public home may be in the same area, whose functions share one module.
    namesake = any(n is not native and n.name == native.name and n.area == native.area for n in registry.natives)
    return native.schema.unique_name if namesake else native.name


def is_overloaded(native: NativeFunction, registry: Registry) -> bool:
    """Whether another overload shares the name and the public home."""
    return sum(n.name == native.name and n.python_module == native.python_module for n in registry.natives) > 1


def qualified(name: str, registry: Registry) -> str:
    """A name in the tables that all sources share: that of a third party has its namespace before it."""
    return name if registry.namespace is None else f"{registry.namespace}.{name}"


def operator_tables(registry: Registry) -> Mapping[str, str]:
    """Where formulas find the operators of this source, if not in `ops` itself: `ops.<namespace>`, a third party's."""
    if registry.namespace is None:
        return MappingProxyType({})
    return dict.fromkeys(registry.operators, f"ops.{registry.namespace}")
