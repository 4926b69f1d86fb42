"""The declarations -> the table by which forward mode finds the tangent function of a kernel."""

from __future__ import annotations

from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.emit_tangent import TangentEmitter
from pullback.codegen.model import NOT_IMPLEMENTED, Derivative, NativeFunction, Registry
from pullback.codegen.signature import Arg


def emit_rules(registry: Registry) -> str:
    """`RULES`: kernel name -> a `Rule` for each overload; operators without derivative by their nature have none."""
    by_kernel: dict[str, list[str]] = {}
    for native in registry.natives:
        if native.kernel is not None and FunctionEmitter(native, registry).records:
            derivative = registry.derivatives.get(native.schema.unique_name)
            by_kernel.setdefault(native.kernel, []).append(_rule(native, derivative))
    entries = "".join(f'    "{kernel}": ({", ".join(rules)},),\n' for kernel, rules in by_kernel.items())
    return f"RULES = {{\n{entries}}}"


def _rule(native: NativeFunction, derivative: Derivative | None) -> str:
    """The text that makes one rule; without a derivative, or without any tangent formula, it has no function."""
    schema = native.schema
    start = f'"{schema.full_name}"'
    if derivative is None or all(t is None or t is NOT_IMPLEMENTED for t in derivative.tangents.values()):
        return f"Rule({start}, None, {len(schema.args)})"
    emitter = TangentEmitter(derivative, {})
    inputs = emitter.inputs
    options = {
        "inputs": tuple(i for i, arg in enumerate(schema.args) if arg in inputs),
        "tensors": tuple(i for i, arg in enumerate(schema.args) if arg.type.base == "Tensor"),
        "outputs": len(schema.output_names),
        "moving": tuple(schema.output_names.index(name) for name in derivative.tangents),
        "returns_list": schema.returns_list,
        "mutates": native.is_mutating,
        "pointwise": "pointwise" in native.tags,
        "structural": bool(native.tags & {"masking", "structural", "view"}),
        "masking": "masking" in native.tags and "view" not in native.tags,
        "placing": "structural" in native.tags and "view" not in native.tags,
        "underived": tuple((i, arg.name) for i, arg in enumerate(schema.args) if _is_underived(arg, emitter)),
    }
    usual: dict[str, object] = {
        "underived": (), "outputs": 1, "moving": (0,), "returns_list": False, "mutates": False, "pointwise": False,
        "structural": False, "masking": False, "placing": False,
    }  # fmt: skip
    told = [f"{name}={value!r}" for name, value in options.items() if usual.get(name) != value]
    return f"Rule({', '.join([start, f'{schema.unique_name}_tangent', str(len(schema.args)), *told])})"


def _is_underived(arg: Arg, emitter: TangentEmitter) -> bool:
    """Whether nobody has derived how the outputs move with this input."""
    if arg not in emitter.inputs or emitter.derivative.formula_for(arg.name).formula is not NOT_IMPLEMENTED:
        return False
    return not any(f"{arg.name}_t" in formula.uses for formula in emitter.formulas)
