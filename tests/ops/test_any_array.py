"""Composites and formulas run on every type of array: they call operators, and NumPy for dtypes and shapes alone."""

import ast
from pathlib import Path

import pytest

import pullback.ops

OPS = Path(pullback.ops.__file__).parent
FILES = sorted(path for folder in ("composite", "formulas") for path in (OPS / folder).rglob("*.py"))
# Questions about dtypes and shapes, which have the same answer for every type of array.
ABOUT_DTYPES = frozenset(
    {
        "bool_",
        "complex64",
        "complex128",
        "dtype",
        "finfo",
        "float16",
        "float32",
        "float64",
        "iinfo",
        "int64",
        "result_type",
    }
) | {"broadcast_shapes"}
# They read numbers, through `plain_of` and `sizes_of`, and decide by them whether a derivative exists.
DECIDE_BY_NUMBERS = {"plain_values.py", "equal_values.py", "spectra_in_use.py"}


def computing(source):
    """What a module takes from NumPy, SciPy or the kernels in order to compute."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if name.startswith(("numpy", "scipy", "pullback.arrays")))
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.asname != "np"]
            yield from (name for name in names if name.startswith(("numpy", "scipy", "pullback.arrays")))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
            if node.attr not in ABOUT_DTYPES:
                yield f"np.{node.attr} in line {node.lineno}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(OPS)))
def test_no_kernel_and_nothing_of_numpy_but_dtypes(path):
    found = [] if path.name in DECIDE_BY_NUMBERS else list(computing(path.read_text(encoding="utf-8")))
    assert not found, f"{path} computes with {', '.join(found)}; call operators, or write a primitive with a kernel"


def test_what_the_search_finds():
    source = "import numpy as np, scipy.special\nfrom pullback.arrays.numpy import nn\nnp.where(a, np.dtype(t), b)"
    assert list(computing(source)) == ["scipy.special", "pullback.arrays.numpy.nn", "np.where in line 3"]
    assert list(computing("import numpy as np\nnp.finfo(x.dtype).eps, np.dtype(bool)")) == []


def test_the_exceptions_are_there():
    assert {path.name for path in FILES} >= DECIDE_BY_NUMBERS
