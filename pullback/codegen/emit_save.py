"""A derivative -> what its node keeps for the backward formulas, in the words of graph.saving."""

from __future__ import annotations

from pullback.codegen.model import Marker, Saved
from pullback.codegen.node_layout import NodeLayout
from pullback.codegen.quoting import tuple_of
from pullback.codegen.signature import Arg


def emit_slots(layout: NodeLayout) -> str:
    """The value of `__slots__`."""
    others = [f'"_edges_{arg.name}"' for arg in layout.inputs] if layout.own_edges else []
    if not layout.derivative.saved:
        return tuple_of(others)
    words = f'"{words_of(layout)}"'
    return f"Saves({', '.join([words, *others])})"


def words_of(layout: NodeLayout) -> str:
    """A word for each argument, then for each output that is kept or has such a one behind it."""
    saved, schema = layout.derivative.saved, layout.schema
    given = [_input(layout, saved[arg.name], arg) if arg.name in saved else "_" for arg in schema.args]
    outputs = [_output(layout, saved[name]) if name in saved else "_" for name in schema.output_names]
    while outputs and outputs[-1] == "_":
        outputs.pop()
    return " ".join(given + (["->", *outputs] if outputs else []))


def keeps_argument_alone(layout: NodeLayout) -> bool:
    """True if the node keeps its only tensor, never a constant, and nothing else: it is one of graph.saving_nodes."""
    first, *others = words_of(layout).split()
    formula = layout.formulas[0].formula if len(layout.formulas) == 1 else None
    alone = first == "self" and not set(others) - {"_"} and layout.inputs == [layout.schema.args[0]]
    return alone and layout.sure_tensor and not layout.multi and not isinstance(formula, Marker)


def _input(layout: NodeLayout, saved: Saved, arg: Arg) -> str:
    """The word of an argument that is kept."""
    name = saved.name
    if saved.kind == "attribute":
        if layout.lets_go(name):
            return f"{name}=index"
        return f"{name}=" if arg.type.base in ("bool", "str", "ScalarType", "Generator") else f"{name}=copy"
    name += "*" * layout.is_list(name)
    words = [f"{name}.{how}" for how in sorted(saved.how - {"value"})]
    if not layout.unpacked(saved.name):
        return "+".join(words)
    if isinstance(layout.derivative.formula_for(saved.name).formula, Marker):
        name += "!" * (not layout.is_list(saved.name))
    needed, readers = _joined(layout.when_used(saved.name, "")), ""
    if not layout.is_list(saved.name):
        readers = _joined(layout.readers_of_the_value(saved.name, ""))
    if readers:
        otherwise = f"/form:{needed}" if needed else "/form"
        return "+".join([*words, f"{name}:{readers}{otherwise}"])
    return "+".join([*words, f"{name}:{needed}" if needed else name])


def _output(layout: NodeLayout, saved: Saved) -> str:
    """The word of an output that is kept."""
    name = saved.name + "*" * layout.schema.returns_list
    words = [f"{name}.{how}" for how in sorted(saved.how - {"value"})]
    if layout.unpacked(saved.name):
        needed = _joined(layout.when_used(saved.name, ""))
        words.append(f"{name}:{needed}" if needed else name)
    return "+".join(words)


def _joined(question: str) -> str:
    """A question about edges without spaces, so that it stands in a word."""
    return question.replace(" or ", "|").replace(" and ", "&")
