"""A derivative -> the function that records its node: edges, and what the backward formulas need."""

from __future__ import annotations

from pullback.codegen.naming import parameter, unused
from pullback.codegen.node_layout import NodeLayout, Slot
from pullback.codegen.signature import Arg


def emit_record(layout: NodeLayout) -> str:
    """The function that makes a node the function of `out`."""
    schema = layout.schema
    params = ", ".join(["out", *(parameter(arg.name) for arg in schema.args)])
    outcome = "each of `out` an output" if layout.multi else "`out` the result"
    if schema.returns_list:
        start = f"start_multi({layout.cls}, out, (True,) * len(out))"
    elif layout.multi:
        start = f"start_multi({layout.cls}, out, {layout.derivative.output_differentiability!r})"
    else:
        start = f"new({layout.cls})"
    lines = [f'"""Make {outcome} of a {layout.cls} node."""']
    if any(arg.type.base == "ScalarType" for arg in schema.args) and not (layout.multi or schema.returns_list):
        lines += ['if out._array.dtype.kind not in "fc":', "    return  # whole numbers have no derivative"]
    lines.append(f"node = {start}")
    if not layout.multi:
        lines += _start(layout)
    elif layout.masking:
        lines.append("node._extra = MASKING")
    lines += [*_edges(layout), *_saved(layout)]
    return "\n".join([f"def record_{schema.unique_name}({params}):", *(f"    {line}" for line in lines)])


def _start(layout: NodeLayout) -> list[str]:
    """What every node has: core.node.start_node written out, because a call costs a tenth of a small operator."""
    data = unused("data", layout.native)
    return [
        "node._sequence_nr = next_sequence_nr()",
        f"node._next0 = node._next1 = node._nexts = {'None' if layout.masking else 'node._extra = None'}",
        *(["node._extra = MASKING"] if layout.masking else []),
        f"{data} = out._array",
        f"node._shape, node._dtype = {data}.shape, {data}.dtype",
        "out._fn, out._requires_grad = node, True",
    ]


def _edges(layout: NodeLayout) -> list[str]:
    """Statements that lead the edges to the inputs."""
    if layout.in_slots:
        return [f"node._next{i} = {_edge(layout, arg)}" for i, arg in enumerate(layout.inputs)]
    if not layout.has_list:
        return [f"node._nexts = ({', '.join(f'port({parameter(arg.name)})' for arg in layout.inputs)},)"]
    if not layout.own_edges:
        return [f"node._nexts = {_edge(layout, layout.inputs[0])}"]
    lines = [f"node._edges_{arg.name} = {_edge(layout, arg)}" for arg in layout.inputs]
    parts = [f"{'*' if arg.type.is_tensor_list else ''}node._edges_{arg.name}" for arg in layout.inputs]
    return [*lines, f"node._nexts = ({', '.join(parts)},)"]


def _edge(layout: NodeLayout, arg: Arg) -> str:
    """The text that finds the edge (or edges) towards one input, the usual case without a call."""
    name = parameter(arg.name)
    if arg.type.is_tensor_list:
        return f"tuple(port(x) for x in {name})"
    if layout.sure_tensor:
        return f"{name}._fn if {name}._extra is None else port({name})"
    return f"{name}._fn if type({name}) is Tensor and {name}._extra is None else port({name})"


def _saved(layout: NodeLayout) -> list[str]:
    """Statements that save; what one of several formulas needs is saved only if that one will run."""
    lines: list[str] = []
    guarded: dict[str, list[str]] = {}
    for slot in layout.slots:
        if not slot.fill:
            continue
        if condition := _condition(layout, slot):
            guarded.setdefault(condition, []).extend(slot.fill.splitlines())
        else:
            lines += slot.fill.splitlines()
    for condition, texts in guarded.items():
        lines += [f"if {condition}:", *(f"    {text}" for text in texts)]
    return lines


def _condition(layout: NodeLayout, slot: Slot) -> str:
    """When a slot must be filled; "" for always."""
    users = layout.users(slot.saves)
    if len(users) != 1 or len(layout.formulas) == 1:
        return ""
    return " or ".join(layout.needed(arg, "node") for arg in layout.inputs_of(users[0]))
