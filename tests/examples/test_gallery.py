"""The gallery of the site: each program of the examples is in a picture, drawn here as the site does it.

The pictures of numpy_as_is and scipy_as_is are drawn by their own tests.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="extra demo")

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"


def run(folder, *command):
    """A process in a folder of examples, as the site starts one."""
    python = [sys.executable, "-W", "ignore", *map(str, command)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(SITE))), "MPLBACKEND": "Agg"}
    return subprocess.run(python, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transforms", "implicit", "distributed", "third_party_ops"])
def test_the_pictures_are_drawn(name, tmp_path):
    drawn = run(ROOT / "examples" / name, SITE / "pictures.py", name, tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    for entry in json.loads((tmp_path / "index.json").read_text()):
        assert entry["title"].endswith((".", "?"))
        assert entry["programs"]
        assert (tmp_path / f"{entry['name']}.png").stat().st_size > 5000


@pytest.mark.parametrize("name", ["numpy_as_is", "scipy_as_is"])
def test_every_program_is_in_a_picture(name):
    code = f"import pictures; print(*sum(pictures.shown({name!r}, pictures.programs()).values(), []))"
    found = run(ROOT / "examples" / name, "-P", "-c", code)  # -P: the site's module, not the folder's
    assert found.returncode == 0, found.stderr
    assert set(found.stdout.split()) == {path.stem for path in (ROOT / "examples" / name / "programs").glob("*.py")}


def test_a_program_without_a_picture_is_named_before_anything_is_drawn(tmp_path):
    for name in ("shown", "forgotten"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "pictures.py").write_text(
        "import shown\n\ndef picture():\n    shown.f()\n    raise AssertionError\n\nPICTURES = (picture,)\n"
    )
    drawn = run(tmp_path, SITE / "pictures.py", "some", tmp_path / "out")
    assert drawn.returncode == 1
    assert drawn.stderr.strip() == "examples/some: no picture shows forgotten. Add one to its pictures.py."
