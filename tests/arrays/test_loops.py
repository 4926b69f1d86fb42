"""Every loop of Python in the kernels is declared where it stands, with what it goes over; nothing else is."""

import ast
from pathlib import Path

import pytest

import pullback.arrays.numpy as kernels
from pullback.arrays.numpy.declarations import loops

ROOT = Path(kernels.__path__[0])


def functions(node, name=""):
    """(name, whether it declares loops, whether it has a `for` or `while` statement of its own) of all functions."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inner = f"{name}.{child.name}".lstrip(".")
        if isinstance(child, ast.FunctionDef):
            decorators = [d.func.id for d in child.decorator_list if isinstance(d, ast.Call) and hasattr(d.func, "id")]
            yield inner, "loops" in decorators, any(own_loops(child))
        yield from functions(child, inner)


def own_loops(node):
    """The loops in a function or module, not those in functions that are inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.For, ast.While)):
            yield child
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield from own_loops(child)


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in sorted(ROOT.rglob("*.py"))])
def test_what_loops_is_declared_and_what_is_declared_loops(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not list(own_loops(tree)), "a loop outside of functions"
    wrong = {name: (declared, has) for name, declared, has in functions(tree) if declared != has}
    assert not wrong, 'see pullback/arrays/numpy/declarations.py: @loops("blocks"), say, or a call of NumPy instead'


def test_loops_are_found_where_they_are():
    source = '@loops("steps")\ndef f():\n    def g():\n        while x: pass\n'
    source += "class C:\n    def h(self):\n        for i in y: pass"
    assert list(functions(ast.parse(source))) == [("f", True, False), ("f.g", False, True), ("C.h", False, True)]
    assert list(own_loops(ast.parse("if x:\n    for i in y: pass")))


@pytest.mark.parametrize("over", [(), ("elements",), ("steps", "elements")])
def test_a_loop_over_something_else_cannot_be_declared(over):
    with pytest.raises(ValueError, match="expected some of"):
        loops(*over)
