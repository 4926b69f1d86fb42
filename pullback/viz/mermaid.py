"""A drawing in Mermaid's language."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pullback.viz.boxes import Arrow, Vertex
from pullback.viz.dot import COLOURS, printable


def source(vertices: Iterable[Vertex], arrows: Iterable[Arrow]) -> str:
    """The whole drawing; every text in it is escaped."""
    lines = ["flowchart TB"]
    for vertex in vertices:
        text = "<br/>".join([f"<b>{quoted(vertex.label)}</b>", *map(quoted, vertex.detail.splitlines())])
        lines.append(f'  {vertex.key}("{text}"):::{vertex.kind}')
    for arrow in arrows:
        label = f"|{arrow.label}|" if arrow.label else ""
        lines.append(f"  {arrow.tail} -->{label} {arrow.head}")
    for kind, (fill, border) in COLOURS.items():
        lines.append(f"  classDef {kind} fill:{fill},stroke:{border},color:#1e293b")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text for a label; Mermaid reads "#" before a name or a number as HTML reads "&"."""
    text = escape(printable(text), quote=False).replace('"', "&quot;").replace("#", "#35;")
    return text.replace("\n", "<br/>")
