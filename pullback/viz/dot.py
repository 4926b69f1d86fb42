"""A drawing in Graphviz's language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pullback.viz.boxes import Arrow, Vertex

# Fill, border: dark text reads on all of them, and they differ in brightness too, for those who see no hues.
COLOURS = {
    "leaf": ("#cfe8d5", "#2f855a"),
    "operator": ("#eef2f7", "#64748b"),
    "result": ("#fde8c8", "#c05621"),
    "fused": ("#d6e4fb", "#2b5fb0"),
}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# The margin has room for names in bold, and for the wider fonts of systems without Helvetica.
HEAD = """\
digraph autograd {
  graph [rankdir=TB, nodesep=0.3, ranksep=0.35, pad=0.2, bgcolor=white, fontname=Helvetica]
  node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=12, margin="0.28,0.08"]
  edge [color="#94a3b8", arrowsize=0.7, fontname=Helvetica, fontsize=9, fontcolor="#64748b"]
"""


LARGE = 100  # boxes
# Steps that Graphviz may take for each box to make arrows short. Without them 450 boxes, each of which a leaf leads to,
# take it more than ten minutes.
STEPS = "  graph [nslimit=2, nslimit1=2]\n"


def source(vertices: Sequence[Vertex], arrows: Iterable[Arrow]) -> str:
    """The whole drawing; every text in it is quoted."""
    head = HEAD + STEPS if len(vertices) > LARGE else HEAD
    lines = [f"  {vertex.key} [{attributes(vertex)}]" for vertex in vertices]
    for arrow in arrows:
        label = f' [label="  {arrow.label}"]' if arrow.label else ""
        lines.append(f"  {arrow.tail} -> {arrow.head}{label}")
    return head + "\n".join(lines) + "\n}\n"


def attributes(vertex: Vertex) -> str:
    """The text of a box, its colours, and its kind, by which a style sheet finds it."""
    fill, border = COLOURS[vertex.kind]
    label = quoted("\n".join(filter(None, [vertex.label, vertex.detail])))
    return f'label={label}, fillcolor="{fill}", color="{border}", class={vertex.kind}'


def quoted(text: str) -> str:
    """A Graphviz string, in which backslashes and HTML's entities stand for themselves."""
    text = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return '"' + text.replace("\n", "\\n") + '"'


def printable(text: str) -> str:
    """The same with a mark for what no file of text may hold: control characters, and halves of characters."""
    return _UNPRINTABLE.sub("\ufffd", text)
