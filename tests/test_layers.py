"""The package is built in layers: a module imports from layers below its own, and nowhere is there a circle.

Imports inside functions count, and so do modules named by strings, which are imported when something is first used.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pullback"

# From the ground up; a line's parts do not know each other. Parts are named by their path below `pullback`.
LAYERS = (
    ("core",),
    ("explain", "workers"),
    ("graph",),
    ("dispatch",),
    ("arrays",),
    ("ops",),
    ("autograd",),
    ("func",),
    ("compiler", "distributed", "exchange", "interop", "optim", "optimize", "testing", "viz"),  # features
    (
        "array_api",
        "checkup",
        "extend",
        "fft",
        "library",
        "linalg",
        "masked",
        "nn",
        "overrides",
        "random",
        "scipy",
        "signal",
        "special",
        "utils",
    ),  # the public face ...
    ("",),  # ... and the package itself, `import pullback`
)
LAYER = {part: number for number, parts in enumerate(LAYERS, start=1) for part in parts}
PROGRAMS = {"demo", "lab", "__main__"}  # they use the layers, as a user would; only the command line starts them
# Beside the layers. It knows nothing of the rest, and few know it: code is generated ahead of time.
GENERATOR = "codegen"
# Calls whose strings name modules: at once, or when the function or attribute is first used.
NAMED_LATER = {"calling", "from_module", "LateAttribute"}
IMPORTERS = {"import_module", "import", *NAMED_LATER}
USERS_OF_THE_GENERATOR = {"pullback.ops.loading", "pullback.__main__"}


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module's dotted name and file."""
    return {module_name(path, package): path for path in sorted(package.rglob("*.py"))}


def module_name(path: Path, package: Path) -> str:
    """`pullback/core/node.py` -> `pullback.core.node`."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(name: str, known: dict[str, Path]) -> dict[str, int]:
    """The modules of the package that module `name` imports, wherever in it, and the line that does."""
    path = known[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: dict[str, int] = {}
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)))
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for node in nodes:
        for target in targets(node, package):
            module = target if target in known else target.rpartition(".")[0]
            if module in known:
                found.setdefault(module, node.lineno)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            for module in called_for(node, name, words, known):
                found.setdefault(module, node.lineno)
    return found


def called_for(node: ast.Call, name: str, words: set[str], known: dict[str, Path]) -> Iterator[str]:
    """The modules that a call imports by a string, now or later: a part that varies is any word of the file."""
    function = ast.unparse(node.func).rpartition(".")[2].strip("_")
    if function not in IMPORTERS:
        return
    for argument in node.args if function in NAMED_LATER else node.args[:1]:
        if isinstance(argument, ast.Constant):
            yield from known.keys() & {argument.value}
            continue
        if isinstance(argument, ast.Name) and function in NAMED_LATER:
            continue  # a class or a function, say
        pieces = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        pattern = "".join(
            re.escape(piece.value)
            if isinstance(piece, ast.Constant)
            else re.escape(name)
            if ast.unparse(piece) in ("{__name__}", "f'{__name__}'")
            else "(.+)"
            for piece in pieces
        )
        for module in known:
            if (match := re.fullmatch(pattern, module)) and words.issuperset(match.groups()):
                yield module


def targets(node: ast.AST, package: str) -> Iterator[str]:
    """What an import statement names: modules, or names in modules."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, base] if base else above)
        yield from (f"{base}.{alias.name}" for alias in node.names)


def part(module: str) -> str:
    """`pullback.core.node` -> `core`."""
    below = module.partition(".")[2]
    return below.partition(".")[0]


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, int]]:
    """Of each module, what it imports."""
    known = modules()
    return {name: imports(name, known) for name in known}


def is_allowed(module: str, target: str) -> bool:
    home, other = part(module), part(target)
    if GENERATOR in (home, other):
        return home == other or module in USERS_OF_THE_GENERATOR
    if other in PROGRAMS:
        return home in (other, "__main__")
    return home == other or home in PROGRAMS or LAYER[other] < LAYER[home]


def test_imports_go_down(found):
    homes = {part(module) for module in found} - {GENERATOR, *LAYER, *PROGRAMS}
    assert not homes, f"say in {Path(__file__).name} in which layer they are"
    wrong = [
        f"{module}:{line} imports {target}"
        for module, targets in found.items()
        for target, line in targets.items()
        if not is_allowed(module, target)
    ]
    assert not wrong, "\n".join(["upward or sideways:", *wrong])


@pytest.mark.parametrize(
    ("page", "row"),
    [("CONTRIBUTING.md", r"^\d+\. (`[^:]*`):"), ("docs/design/overview.md", r"^\| (`[^|]*`) \| [^|]*[a-z]")],
)
def test_documents_name_these_layers(page, row):
    text = (PACKAGE.parent / page).read_text(encoding="utf-8").partition("layers")[2]
    named = [tuple(re.findall("`(.*?)`", parts)) for parts in re.findall(row, text, re.MULTILINE)][: len(LAYERS)]
    assert named == [tuple(part or "pullback" for part in parts) for parts in LAYERS]


def test_layers_exist(found):
    assert {*LAYER, *PROGRAMS, GENERATOR} == {part(module) for module in found}


def test_no_circle(found):
    graph = {name: set(targets) - {name} for name, targets in found.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("a circle of imports: " + " <- ".join(error.args[1]))


def written(package, files):
    """The folder of a package, with these files in it."""
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_reader_sees_every_kind_of_import(tmp_path):
    files = {
        "__init__.py": "",
        "core/__init__.py": "from . import node",
        "core/node.py": "import pullback.core.tensor\ndef f():\n    from ..ops import load",
        "core/tensor.py": "from pullback.core.node import Node\nimport numpy",
        "ops/__init__.py": "",
        "ops/load.py": "from pullback import ops, __version__",
    }
    known = modules(written(tmp_path / "pullback", files))
    assert imports("pullback.core", known) == {"pullback.core.node": 1}
    assert imports("pullback.core.node", known) == {"pullback.core.tensor": 1, "pullback.ops.load": 3}
    assert imports("pullback.core.tensor", known) == {"pullback.core.node": 1}
    assert imports("pullback.ops.load", known) == {"pullback.ops": 1, "pullback": 1}


def test_reader_sees_modules_named_by_strings(tmp_path):
    files = {
        "__init__.py": "",
        "core/__init__.py": "",
        "core/late.py": "importlib.import_module('pullback.ops.load')\ncalling('pullback.func', 'vmap')",
        "ops/__init__.py": "LATER = ('load',)\ndef __getattr__(x):\n    return _import_module(f'{__name__}.{x}')",
        "ops/load.py": "HOMES = {'vmap': 'pullback.func'}\ndef find(name):\n    return import_module(HOMES[name])",
        "ops/other.py": "",
        "func/__init__.py": "LateAttribute(Tensor, 'x', from_module, 'pullback.ops.other', '')\nprint('pullback.core')",
    }
    known = modules(written(tmp_path / "pullback", files))
    assert imports("pullback.core.late", known) == {"pullback.ops.load": 1, "pullback.func": 2}
    assert imports("pullback.ops", known) == {"pullback.ops.load": 3}
    assert imports("pullback.ops.load", known) == {"pullback.func": 3}
    assert imports("pullback.func", known) == {"pullback.ops.other": 1}
