"""The names that generated code uses for what the declarations name."""

from __future__ import annotations

import keyword

from pullback.codegen.model import NativeFunction, Registry

# Names that generated functions use themselves; an argument with one of them gets a trailing underscore.
_TAKEN = frozenset({"grad", "grads", "ops", "unpack", "node", "out", "kernels", "self", "result"})


def parameter(arg: str) -> str:
    """The Python parameter of a public function: PyTorch calls the first one `input`."""
    if arg == "self":
        return "input"
    return f"{arg}_" if keyword.iskeyword(arg) else arg


def local(arg: str) -> str:
    """The local variable for an argument inside a node's apply()."""
    return f"{arg}_" if arg in _TAKEN or keyword.iskeyword(arg) else arg


def node_class(native: NativeFunction, registry: Registry) -> str:
    """PyTorch's name of the node: MulBackward0; overloads are numbered in the order of their declaration."""
    overloads = [n for n in registry.natives if n.name == native.name and not n.is_composite]
    camel = "".join(part[:1].upper() + part[1:] for part in native.name.split("_") if part)
    return f"{camel}Backward{overloads.index(native)}"


def function_name(native: NativeFunction, registry: Registry) -> str:
    """The generated Python function of one overload; the plain name is the resolver's when there are several."""
    if is_overloaded(native, registry):
        return f"{native.name}_{native.schema.overload or 'plain'}"
    # A namesake with another public home may be in the same area, whose functions share one module.
    namesake = any(n is not native and n.name == native.name and n.area == native.area for n in registry.natives)
    name = native.schema.unique_name if namesake else native.name
    return f"{name}_" if keyword.iskeyword(name) else name


def is_overloaded(native: NativeFunction, registry: Registry) -> bool:
    """Whether another overload shares the name and the public home."""
    return sum(n.name == native.name and n.python_module == native.python_module for n in registry.natives) > 1
