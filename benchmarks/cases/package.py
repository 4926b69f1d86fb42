"""The package itself: how long it takes to import, how much of it is generated.

As a script (``python -m benchmarks.cases.package WHAT CLOCK``) it measures ``uncached`` or ``lines`` and prints JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.case import Goal, ProcessCase
from benchmarks.contenders import MODULES

SCRIPT = """
import json, sys, time
now = {{"wall": time.perf_counter, "cpu": time.process_time}}[sys.argv[1]]
start = now()
import {module}
print(json.dumps({{"seconds": now() - start}}))
"""
MODULE = "benchmarks.cases.package"

CASES = [
    ProcessCase(
        name="import",
        title="import in a fresh process, bytecode cached",
        command={name: ["-c", SCRIPT.format(module=module)] for name, (module, _) in MODULES.items()},
        goals=[Goal(1.5, of="numpy")],
        rounds=9,
    ),
    ProcessCase(
        name="import-uncached",
        title="import of pullback without cached bytecode of its own (NumPy's and SciPy's are cached)",
        command={"pullback": ["-m", MODULE, "uncached"]},
        goals=[Goal(0.7, of=None)],
    ),
    ProcessCase(
        name="generated",
        title="lines in pullback/ops/generated, documentation apart",
        command={"pullback": ["-m", MODULE, "lines"]},
        goals=[Goal(10_000, of=None, what="lines")],
        rounds=1,
    ),
]


def package() -> Path:
    """Where pullback lies; it is not imported."""
    spec = find_spec("pullback")
    assert spec is not None
    return Path(str(spec.origin)).parent


def uncached(clock_name: str) -> str:
    """Import a copy without bytecode, and write none."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(package(), Path(folder, "pullback"), ignore=shutil.ignore_patterns("__pycache__"))
        return subprocess.run(
            [sys.executable, "-c", SCRIPT.format(module="pullback"), clock_name],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": folder},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


def lines(_: str) -> str:
    """Count them."""
    generated = (package() / "ops" / "generated").glob("*.py")
    return json.dumps({"lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in generated)})


if __name__ == "__main__":
    print({"uncached": uncached, "lines": lines}[sys.argv[1]](sys.argv[2]))
