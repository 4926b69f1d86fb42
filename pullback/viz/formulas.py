"""The rule that a node follows, as whoever wrote it has it: an entry of derivatives.yaml, or a custom backward."""

from __future__ import annotations

import functools
import inspect
import sys
import textwrap
from pathlib import Path

from pullback.autograd.function.node import FunctionNode
from pullback.graph.node import Node

_OWN = Path(__file__).parents[1] / "ops" / "derivatives.yaml"
_LONGEST = 60  # lines of a custom backward that a card has room for


def rule_of(node: Node) -> tuple[str, str]:
    """(where it is written, the text). Without an entry or a source, what the node's class says of itself."""
    if isinstance(node, FunctionNode):
        return _custom(node)
    return _declared(type(node))  # type: ignore[arg-type]  # mypy takes a class for an instance


def _custom(node: FunctionNode) -> tuple[str, str]:
    name = node._function.__qualname__
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(node._function.backward))
    except (OSError, TypeError):  # typed into an interpreter, or no Python function
        return f"{name}.backward", f"{name}.backward, whose source is not at hand"
    if len(lines) > _LONGEST:
        lines = [*lines[:_LONGEST], "...\n"]
    return f"{name}.backward, line {first}", textwrap.dedent("".join(lines)).rstrip()


@functools.cache
def _declared(cls: type[Node]) -> tuple[str, str]:
    """The entry whose declaration is the docstring of the class, as the generator writes it."""
    declaration = cls.__doc__ or cls.__name__
    for path in _declarations(cls):
        entry = _entries(path).get(declaration)
        if entry is not None:
            return path.name, entry
    return cls.__name__, declaration


def _declarations(cls: type[Node]) -> list[Path]:
    """The files that may declare a node: the package's own, or those beside the module that was generated."""
    if cls.__module__.startswith("pullback.ops.generated."):
        return [_OWN]
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None or cls.__module__.startswith(("pullback.graph", "pullback.autograd")):
        return []
    return sorted(Path(file).parent.glob("*.yaml"))


@functools.cache
def _entries(path: Path) -> dict[str, str]:
    """Every derivative of a file by its declaration, with the comment above it, as text: YAML takes seconds to read."""
    entries: dict[str, str] = {}
    comment: list[str] = []
    entry: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), "- name: "]:
        bare = line.strip()
        if bare.startswith("- name: "):
            _keep(entries, entry)
            entry, comment = [*comment, line], []
        elif bare.startswith("- ") or not bare or not line.startswith((" ", "#")):
            _keep(entries, entry)
            entry, comment = [], []
        elif bare.startswith("#"):
            comment = [*comment, line] if not bare.startswith("# ---") else []
        elif entry:
            entry += [*comment, line]
            comment = []
    return entries


def _keep(entries: dict[str, str], lines: list[str]) -> None:
    name = next((line for line in lines if line.strip().startswith("- name: ")), None)
    if name is not None:
        declaration = name.strip().removeprefix("- name: ").strip("\"'")
        entries.setdefault(declaration, textwrap.dedent("\n".join(lines)))
