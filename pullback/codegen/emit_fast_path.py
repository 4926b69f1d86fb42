"""The common case of a primitive's function, without dispatch: tensors of one level around ndarrays, modes plain.

This is where the time of a small operator goes: what is written here is measured by `make bench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import parameter, unused
from pullback.codegen.quoting import tuple_of
from pullback.codegen.signature import Arg


@dataclass(frozen=True)
class _Case:
    """Texts: statements before, whether the case is given, the raw arrays, the level, whether a gradient is wanted."""

    prepare: list[str]
    condition: str
    data: dict[str, str]
    level: str
    needs: str


def fast_path(native: NativeFunction, operator: str, records: bool) -> list[str]:
    """Statements that return the result in the common case, and otherwise go on."""
    tensors = [arg for arg in native.schema.args if arg.type.is_tensor]
    args = [parameter(arg.name) for arg in native.schema.args]
    first = parameter(tensors[0].name)
    case = _case(native, tensors)
    inside = guarded_kernel(native, operator, [case.data.get(name, name) for name in args])
    # core.tensor.wrap written out, because a call costs a tenth of a small operator.
    inside += [
        "out = new(Tensor)",
        "out._array = result if type(result) is ndarray else asarray(result)",
        "out._fn = out._counter = out._extra = None",
        "out._requires_grad = False",
        f"out._level = {case.level}",
    ]
    state = unused("state", native)
    if records:
        recording = f"({state}.records_all or {state}.records({case.level}))"
        needs = f"({case.needs})" if " or " in case.needs else case.needs
        inside += [
            f"if {needs} and {recording}:",
            f"    record_{native.schema.unique_name}({', '.join(['out', *args])})",
        ]
    else:
        # Nothing is recorded: should a transform find that its result depends on nothing, this may be why.
        inside += [
            "if WATCHED:",
            f"    note_operator({', '.join([repr(native.name), *map(parameter, _names(tensors))])})",
        ]
    if native.is_view:
        # The usual case of shares_memory without the call: a slice of an array that owns its memory.
        asked = f"out._array.base is {first}._array or shares_memory(result, {first}._array)"
        inside += [f"if {asked}:", f"    make_view(out, {first})"]
    inside.append("return out")
    plain = f"({state} := current()).plain" if records else "current().plain"
    if "floating" in native.tags:
        plain = f"({case.needs} or {_fractions(tensors, case)}) and {plain}"  # what requires grad is no whole number
    return [*case.prepare, f"if {case.condition} and {plain}:", *(f"    {line}" for line in inside)]


def _fractions(tensors: list[Arg], case: _Case) -> str:
    """Whether a tensor argument is floating: the first usually is, which is quick to see."""
    first = parameter(tensors[0].name)
    if len(tensors) == 1:
        return f'{first}._array.dtype.kind in "fc"'
    given = ", ".join(case.data[parameter(arg.name)] for arg in tensors)
    return f'type({first}) is Tensor and {first}._array.dtype.kind in "fc" or not is_whole({given})'


def _names(args: Sequence[Arg]) -> list[str]:
    return [arg.name for arg in args]


def guarded_kernel(native: NativeFunction, operator: str, args: Sequence[str]) -> list[str]:
    """Statements that run the kernel; its errors name the operator and what it was given."""
    given = tuple_of([parameter(arg.name) for arg in native.schema.args])
    return [
        "try:",
        f"    result = kernels.{native.kernel}({', '.join(args)})",
        "except Exception as error:",
        f"    raise explain({operator}, {given}, error)",
    ]


def _case(native: NativeFunction, tensors: list[Arg]) -> _Case:
    if len(tensors) == 1:
        x = parameter(tensors[0].name)
        return _Case([], f"type({x}) is Tensor", {x: f"{x}._array"}, f"{x}._level", f"{x}._requires_grad")
    if len(tensors) == 2 and not tensors[1].type.optional:
        return _two(native, *(parameter(arg.name) for arg in tensors))
    return _all_tensors(tensors)


def _two(native: NativeFunction, x: str, y: str) -> _Case:
    """Two tensors, either of which may be a constant."""
    a, b = unused("a", native), unused("b", native)
    return _Case(
        prepare=[f"{a}, {b} = type({x}), type({y})"],
        condition=(
            f"({a} is Tensor and ({b} is Tensor and {x}._level == {y}._level or {_constant(y, b)}) "
            f"or {b} is Tensor and ({_constant(x, a)}))"
        ),
        data={x: f"{x}._array if {a} is Tensor else {x}", y: f"{y}._array if {b} is Tensor else {y}"},
        level=f"({x} if {a} is Tensor else {y})._level",
        needs=f"{a} is Tensor and {x}._requires_grad or {b} is Tensor and {y}._requires_grad",
    )


def _constant(x: str, kind: str) -> str:
    """core.dispatch.is_constant written out; numbers are asked for first, because arrays cost more anyway."""
    return f"{kind} in SCALARS or {kind} is ndarray and {x}.dtype.kind in NUMERIC"


def _all_tensors(tensors: list[Arg]) -> _Case:
    """Any number of tensors: every argument given is one, none a constant."""
    first, others = parameter(tensors[0].name), tensors[1:]
    conditions, data, needs = [f"type({first}) is Tensor"], {first: f"{first}._array"}, [f"{first}._requires_grad"]
    for arg in others:
        x = parameter(arg.name)
        same = f"type({x}) is Tensor and {x}._level == {first}._level"
        optional = arg.type.optional
        conditions.append(f"({x} is None or {same})" if optional else same)
        data[x] = f"None if {x} is None else {x}._array" if optional else f"{x}._array"
        needs.append(f"{x} is not None and {x}._requires_grad" if optional else f"{x}._requires_grad")
    return _Case([], " and ".join(conditions), data, f"{first}._level", " or ".join(needs))
