"""Every loop of the kernels is in the reviewed list of docs/design/kernels.md, and the list names no other."""

import ast
import re
from pathlib import Path

import pullback.arrays.numpy as kernels

ROOT = Path(kernels.__path__[0])
PAGE = Path(__file__).parents[2] / "docs" / "design" / "kernels.md"


def functions_with_loops():
    """`module.function` (nested names joined by dots) of each `for` and `while` statement of the kernels."""
    found = set()
    for path in ROOT.rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found |= {f"{module}.{name}" for name in names_below(ast.parse(path.read_text(encoding="utf-8")), "")}
    return found


def names_below(node, name):
    """The functions below a node that have a loop of their own."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inner = f"{name}.{child.name}".lstrip(".")
        if isinstance(child, (ast.For, ast.While)):
            yield inner
        yield from names_below(child, inner)


def reviewed():
    """The names in the list."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## What loops")[1].split("\n## ")[0]
    return {name for name in re.findall(r"`([\w.]+)`", section) if "." in name}


def test_every_loop_has_been_reviewed():
    missing = sorted(functions_with_loops() - reviewed())
    assert not missing, f"Loops without a reason in docs/design/kernels.md: {', '.join(missing)}"


def test_the_list_names_no_loop_that_is_gone():
    assert not sorted(reviewed() - functions_with_loops())


def test_loops_are_found_where_they_are():
    source = "def f():\n    def g():\n        while x: pass\n    for i in y: pass\nclass C:\n    def h(self): pass\n"
    assert set(names_below(ast.parse(source), "")) == {"f", "f.g"}
