"""Checks before emitting: clashes of names, and forms of declarations that generated code cannot express."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pullback.codegen.emit_row import RowEmitter
from pullback.codegen.errors import DeclarationError, Where
from pullback.codegen.model import Derivative, NativeFunction, Registry
from pullback.codegen.naming import CORE, gradient, local
from pullback.codegen.node_layout import NodeLayout

_BUILTINS = frozenset({"any", "len", "tuple", "type", "zip"})  # those that generated code calls
_MATH = frozenset(CORE["pullback.ops.constants"])  # formulas read an argument of such a name as the argument
_CORE = frozenset(name for names in CORE.values() for name in names) - _MATH
_OF_COMPOSITES = frozenset({
    "AN_INT", "A_NUMBER", "SOME_INTS", "TENSOR", "UNSET", "a_flag", "a_number", "an_int", "int_list",
    "missing_argument", "number_type", "renamed", "run", "some_ints", "tensor_list", "type", "refuse_keyword",
})  # fmt: skip
_OF_PRIMITIVES = _CORE | _BUILTINS | {"kernels", "node", "out", "run"}


def check_emittable(natives: Sequence[NativeFunction], registry: Registry) -> None:
    """Refuse what cannot be written as one module.

    Raises
    ------
    DeclarationError
    """
    for native in natives:
        _check_form(native)
        _check_parameters(native, registry)
        if (derivative := registry.derivatives.get(native.schema.unique_name)) is not None:
            _check_node(derivative, registry)
    _check_definitions(natives, registry)


def refuse(native: NativeFunction, problem: str, remedy: str) -> DeclarationError:
    """The error about one declaration."""
    return Where(native.file, native.line, native.schema.text).error(problem, remedy)


def _check_form(native: NativeFunction) -> None:
    """Refuse arguments and returns that dispatch has no meaning for."""
    args = native.schema.args
    if native.variants & {"method", "inplace"} and not args[0].type.is_tensor:
        raise refuse(native, "has a method, but its first argument is not a Tensor", "Put the Tensor first")
    if "method" in native.variants and any(arg.name == "self" for arg in args[1:]):
        raise refuse(native, "has a method, but self is not its first argument", "Put self first, or drop the method")
    if native.is_composite:
        return
    returns = native.schema.returns
    if not returns:
        raise refuse(native, "is a primitive that returns nothing", "Return a Tensor: -> Tensor, or -> Tensor(a!)")
    if any(returned.type.optional for returned in returns):
        raise refuse(native, "is a primitive that may return None", "Return a Tensor always, or make it a composite")
    if len(returns) > 1 and any(returned.type.base != "Tensor" for returned in returns):
        raise refuse(
            native,
            "is a primitive that returns tensors and other values",
            "Return Tensors alone, or make it a composite",
        )
    for arg in args:
        if arg.type.is_tensor_list and arg.type.optional:
            raise refuse(native, f"{arg.name!r} is a list of tensors or None", f"Write Tensor[] {arg.name}")
        if arg.type.alias is not None and not (arg.type.is_tensor and arg is native.differentiable_args[0]):
            raise refuse(
                native, f"{arg.name!r} is viewed or written, but is not the first tensor", f"Put {arg.name!r} first"
            )
    if native.is_mutating and not (len(returns) == 1 and returns[0].type.is_write):
        raise refuse(native, "writes to an argument and does not return it", "Write -> Tensor(a!)")


def _check_parameters(native: NativeFunction, registry: Registry) -> None:
    """Refuse a parameter that means something else in the generated function."""
    parameters = [text.lstrip("*").partition("=")[0] for text in RowEmitter(native, registry).signature.parameters()]
    for name in filter(None, _repeated(parameters)):
        raise refuse(native, f"its function would have two parameters {name!r}", "Rename one of the two")
    reserved = _OF_COMPOSITES | {registry.composite_home(native)}
    if not native.is_composite:
        reserved = _OF_PRIMITIVES
    for name in [*parameters, *native.schema.output_names]:
        taken = name in reserved or (not native.is_composite and name in registry.helper_modules)
        if taken and not (name == "out" and "out" in native.variants):
            raise refuse(native, f"the name {name!r} means something else in generated code", f"Rename it, {name}_ say")


def _check_node(derivative: Derivative, registry: Registry) -> None:
    """Refuse names that would be one in a node, and the values of a list of outputs, which no node keeps."""
    native, layout = derivative.native, NodeLayout(derivative, registry)
    names = [local(name) for name in [*(arg.name for arg in native.schema.args), *native.schema.output_names]]
    names += [gradient(arg.name) for arg in layout.inputs] + list(derivative.grad_names)
    for name in (*_repeated(names), *_repeated(layout.slots)):
        raise refuse(native, f"two things would be called {name!r} in its node", "Rename an argument or an output")
    for saved in derivative.saved.values():
        if saved.kind == "output" and native.schema.returns_list and "value" in saved.how:
            raise refuse(
                native,
                f"a formula uses the values of {saved.name!r}, a list of tensors that the function returns",
                "Compute them from the arguments again",
            )


def _check_definitions(natives: Sequence[NativeFunction], registry: Registry) -> None:
    """Refuse two definitions of one name in a module, and one that hides what the module imports."""
    hidden = reserved_names(natives, registry)
    owner: dict[str, NativeFunction] = {}
    for native in natives:
        for name in definitions(native, registry):
            if name in hidden:
                raise refuse(native, f"its definition of {name!r} would hide what generated code uses", "Rename it")
            if (other := owner.setdefault(name, native)) is not native:
                raise refuse(
                    native, f"{other.schema.full_name!r} and it would both define {name!r}", "Rename one of the two"
                )


def reserved_names(natives: Sequence[NativeFunction], registry: Registry) -> frozenset[str]:
    """The names that a module may not define: it imports them, or calls them as Python's own."""
    composites = (registry.composite_home(native) for native in natives)
    own = {"kernels", "CHOICES", "DOCS", "OPERATORS", "TANGENTS", "UNDERIVED", *registry.helper_modules, *composites}
    # pullback.any has the name of a builtin, in a module that calls no any()
    constants = {name for d in registry.derivatives.values() for formula in d.parsed for name in formula.constants}
    return _CORE | _MATH | constants | (_BUILTINS - {"any"}) | own


def definitions(native: NativeFunction, registry: Registry) -> Iterator[str]:
    """The names that a module gets from one declaration."""
    unique = native.schema.unique_name
    if not native.is_composite:
        yield f"{unique}_tangent"
        if unique in registry.derivatives:
            yield NodeLayout(registry.derivatives[unique], registry).cls


def _repeated(names: Sequence[str]) -> list[str]:
    """The names that occur again."""
    return [name for name, count in Counter(names).items() for _ in range(count - 1)]
