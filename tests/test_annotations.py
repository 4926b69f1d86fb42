"""Annotations that are Any alone say nothing: their share is written here where it has fallen, and never rises."""

import ast
from pathlib import Path

import pytest

import pullback as pb

PACKAGE = Path(pb.__file__).parent
GENERATED = ("pullback/ops/generated/", "operators.py")
# Of each folder at most this share.
CEILINGS = {
    "array_api": 0.11, "arrays": 0.38, "autograd": 0.14, "checkup": 0.26, "codegen": 0.01, "compiler": 0.17,
    "core": 0.25, "dispatch": 0.23, "distributed": 0.39, "exchange": 0.12, "explain": 0.04, "func": 0.32,
    "graph": 0.23, "interop": 0.13, "library": 0.28, "ops": 0.15, "optim": 0.15, "optimize": 0.14, "scipy": 0.04,
    "testing": 0.20, "viz": 0.09, "workers": 0.15,
}  # fmt: skip


def annotations(tree):
    """Those of arguments, results and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            yield from (argument.annotation for argument in arguments if argument is not None and argument.annotation)
            yield from [node.returns] if node.returns else []
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


@pytest.mark.parametrize("folder", CEILINGS)
def test_few_annotations_say_nothing(folder):
    files = [
        file for file in (PACKAGE / folder).rglob("*.py") if not any(part in file.as_posix() for part in GENERATED)
    ]
    found = [x for file in files for x in annotations(ast.parse(file.read_text(encoding="utf-8")))]
    nothing = sum(isinstance(x, ast.Name) and x.id == "Any" for x in found)
    assert nothing <= CEILINGS[folder] * len(found), f"{nothing} of {len(found)} annotations in {folder} are Any"
