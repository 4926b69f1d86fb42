"""A type checker passes right_calls.py and finds every error in wrong_calls.py."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_FOUND = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[\w-]+)\]$")
_MEANT = re.compile(r"# error: ([\w-]+)$")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: it comes with the extra `lint`")
def test_mypy_passes_what_is_right_and_finds_what_is_wrong():
    files = [str(path.relative_to(ROOT)) for path in (HERE / "right_calls.py", HERE / "wrong_calls.py")]
    command = [sys.executable, "-m", "mypy", "--show-error-codes", *files]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [match for line in run.stdout.splitlines() if (match := _FOUND.match(line))]
    assert found, run.stdout + run.stderr
    errors = {(Path(match["file"]).name, int(match["line"]), match["code"]) for match in found}
    lines = (HERE / "wrong_calls.py").read_text(encoding="utf-8").splitlines()
    meant = {("wrong_calls.py", nr, match[1]) for nr, line in enumerate(lines, 1) if (match := _MEANT.search(line))}
    assert sorted(errors - meant) == []
    assert sorted(meant - errors) == []


def test_what_is_right_runs():
    subprocess.run([sys.executable, "-m", "tests.typing.right_calls"], cwd=ROOT, check=True)
