"""A derivative -> how its node keeps what the backward formulas need: by a common pattern, or a method `save`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pullback.codegen.model import Marker
from pullback.codegen.naming import parameter
from pullback.codegen.node_layout import NodeLayout, Slot

# The classes of graph.saving_nodes: the positions of their inputs, and what they keep, with its condition if any.
SAVING_PATTERNS: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]] = MappingProxyType({
    "SavesSelf": ((0,), ("self",)),
    "SavesResult": ((0,), ("result",)),
    "SavesSelfAndResult": ((0,), ("self", "result")),
    "SavesPair": ((0, 1), ("self", "other")),
    "SavesForEachOther": ((0, 1), ("self if node._next1 is not None", "other if node._next0 is not None")),
})  # fmt: skip


def saving_pattern(layout: NodeLayout) -> str:
    """The class of graph.saving_nodes that does what this node needs; "" for none."""
    if layout.multi or not layout.in_slots or not all(slot.saves for slot in layout.slots):
        return ""
    positions = tuple(layout.schema.args.index(arg) for arg in layout.inputs)
    # One that keeps its only tensor reads the counter of whatever is there: no constant may be.
    kept = []
    if any(isinstance(formula.formula, Marker) for formula in layout.derivative.formulas):
        return ""
    for name in layout.derivative.saved:
        slot = next(slot for slot in layout.slots if slot.saves == name)
        if layout.readers_of_the_value(name):
            return ""
        needed = condition(layout, slot)
        kept.append(f"{name} if {needed}" if needed else name)
    wanted = (positions, tuple(kept))
    found = next((name for name, pattern in SAVING_PATTERNS.items() if pattern == wanted), "")
    sure = found in ("SavesSelf", "SavesSelfAndResult")
    return "" if sure and not layout.sure_tensor else found


def emit_save(layout: NodeLayout) -> list[str]:
    """The method that fills the slots; what one of several formulas needs is kept only if that one will run."""
    lines: list[str] = []
    guarded: dict[str, list[str]] = {}
    for slot in layout.slots:
        if not slot.fill:
            continue
        if needed := condition(layout, slot):
            guarded.setdefault(needed, []).extend(slot.fill.splitlines())
        else:
            lines += slot.fill.splitlines()
    for needed, texts in guarded.items():
        lines += [f"if {needed}:", *(f"    {text}" for text in texts)]
    if not lines:
        return []
    args = ", ".join(["node", "out", *(parameter(arg.name) for arg in layout.schema.args)])
    return ["", f"    def save({args}):", *(f"        {line}" for line in lines)]


def condition(layout: NodeLayout, slot: Slot) -> str:
    """When a slot must be filled; "" for always."""
    return layout.when_used(slot.saves, "node") if slot.saves else ""
