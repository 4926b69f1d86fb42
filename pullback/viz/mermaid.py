"""A drawing in Mermaid's language."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pullback.viz.boxes import Arrow, Vertex
from pullback.viz.dot import COLOURS


def source(vertices: Iterable[Vertex], arrows: Iterable[Arrow]) -> str:
    """The whole drawing; every text in it is escaped."""
    lines = ["flowchart TB"]
    for vertex in vertices:
        text = "<br/>".join([f"<b>{escape(vertex.label)}</b>", *map(escape, vertex.detail.splitlines())])
        lines.append(f'  {vertex.key}("{text}"):::{vertex.kind}')
    for arrow in arrows:
        label = f"|{arrow.label}|" if arrow.label else ""
        lines.append(f"  {arrow.tail} -->{label} {arrow.head}")
    for kind, (fill, border) in COLOURS.items():
        lines.append(f"  classDef {kind} fill:{fill},stroke:{border},color:#1e293b")
    return "\n".join(lines) + "\n"
